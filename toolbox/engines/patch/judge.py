"""One hunk held against one file: it fits, it fits elsewhere when that was asked, or it is "
"refused."""

from __future__ import annotations

from toolbox.engines.patch.explain import already_at, explain
from toolbox.engines.patch.hunks import sides
from toolbox.engines.patch.locate import Target, bare_line, candidates, place_of, search, stands
from toolbox.engines.patch.malformed import line_zero, malformed, starts_disagree
from toolbox.engines.patch.preview import quote
from toolbox.engines.patch.records import UNENDED, Hunk, header_text
from toolbox.engines.patch.verdict import Effort, HunkVerdict, Repairs, apart, header_of, refused


def judge(hunk: Hunk, target: Target, shift: int, repairs: Repairs, effort: Effort) -> HunkVerdict:
    """The verdict on one hunk. shift: new lines less old ones in the hunks before it."""
    notes: list[str] = []
    fault = hunk.fault
    countless = False
    if fault is not None:
        mends = repairs.recount and hunk.changes and (
            fault.kind in ("counts", "left-over")
            or (fault.kind == "header" and repairs.relocate and bool(hunk.old))
        )  # fmt: skip
        if not mends:
            return malformed(hunk, target, shift, effort)
        countless = hunk.old_start is None
        notes.append(
            "the header's counts were corrected to those of the body, "
            f"{len(hunk.old)} old / {len(hunk.new)} new"
        )
    if hunk.old_start == 0 and hunk.old:
        return line_zero(hunk, target, shift, effort)
    place = -1 if countless else place_of(hunk.old_start or 0, len(hunk.old))
    if not countless:
        agreed = place + shift + (1 if hunk.new else 0)
        if hunk.new_start != agreed:
            if not hunk.context:
                return starts_disagree(hunk, place, shift)
            notes.append(
                f"hunk {hunk.number}: the + start says {hunk.new_start}, the lines before it make "
                f"it "
                f"{agreed}; the context proves the place"
            )
    lines, old, new = (
        (target.bare(), [bare_line(x) for x in hunk.old], [bare_line(x) for x in hunk.new])
        if repairs.file_ends
        else (target.lines, hunk.old, hunk.new)
    )
    if not countless and stands(lines, place, old):
        return _at_place(hunk, lines, place, shift, notes)
    if repairs.relocate and old and already_at(lines, place, shift, hunk, new) is None:
        hay = target.loosened("crlf-mismatch") if repairs.file_ends else target.hay()
        wanted = [x.removesuffix(UNENDED) for x in old] if repairs.file_ends else old
        places, whole = search(hay, wanted, clock=effort.clock)
        if whole and len(places) == 1 and stands(lines, places[0], old):
            there = _at_place(hunk, lines, places[0], shift, notes)
            if there.verdict != "fits":
                return there
            moved = "" if countless else f", {apart(places[0] - place)} than its header says"
            return HunkVerdict(
                hunk.number, header_of(hunk), "relocated", "offset", hunk.patch_line,
                f"stands only at line {places[0] + 1}{moved}", file_line=places[0] + 1,
                place=places[0], notes=there.notes,
                candidates=tuple(candidates(hunk, places, shift)),
            )  # fmt: skip
    if countless:
        return malformed(hunk, target, shift, effort)
    return explain(hunk, target, lines, old, new, place, shift, effort)


def _at_place(
    hunk: Hunk, lines: list[bytes], place: int, shift: int, notes: list[str]
) -> HunkVerdict:
    """The last checks on a hunk whose old lines stand at a place."""
    stop = place + len(hunk.old)
    if hunk.trailer:
        more_old, more_new = sides(hunk.trailer)
        if more_old != more_new and stands(lines, stop, more_old):
            at = next(k for k, line in enumerate(hunk.trailer) if line[:1] in (b"+", b"-"))
            line = hunk.patch_line + 1 + len(hunk.body) + at
            return refused(
                hunk, "left-over",
                f"{quote(hunk.trailer[at])} (patch line {line}) follows the promised lines after a "
                f"blank one, "
                "and would fit the file as part of the hunk; the header that takes it in is "
                f'"{_wider(hunk, place, shift, len(more_old), len(more_new))}". If it is no part '
                f'of it, remove it',
                family="malformed", patch_line=line,
            )  # fmt: skip
    unended = bool(hunk.new) and hunk.new[-1].endswith(UNENDED)
    if unended and stop < len(lines):
        return refused(
            hunk, "final-newline",
            f'the patch says "\\ No newline at end of file" after its last line, but the file goes '
            f'on '
            f"after line {stop} ({len(lines)} lines)",
            file_line=stop + 1, found=lines[stop],
        )  # fmt: skip
    if not hunk.old and place > 0 and lines[place - 1].endswith(UNENDED):
        return refused(
            hunk, "final-newline",
            f"adds lines after line {place}, the file's last, which has no newline at its end; "
            "the patch must remove that line and add it again with its newline",
            file_line=place, found=lines[place - 1],
        )  # fmt: skip
    if hunk.body[-1][:1] == b"+" and stands(lines, place, hunk.new):
        notes = [
            *notes,
            f"hunk {hunk.number}: the added lines stand there already; if the patch was applied "
            f"before, "
            "this adds them twice",
        ]
    span = f"lines {place + 1}-{stop}" if len(hunk.old) > 1 else f"line {place + 1}"
    return HunkVerdict(
        hunk.number, header_of(hunk), "fits", "fits", hunk.patch_line,
        f"stands at {span}" if hunk.old else f"goes after line {place}",
        file_line=place + 1 if hunk.old else place, place=place, notes=tuple(notes),
    )  # fmt: skip


def _wider(hunk: Hunk, place: int, shift: int, more_old: int, more_new: int) -> str:
    return header_text(
        place + 1, len(hunk.old) + more_old, place + shift + 1, len(hunk.new) + more_new
    )
