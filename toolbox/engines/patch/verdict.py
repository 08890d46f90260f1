"""One hunk held against one file: it fits, it fits elsewhere, or why not and what would repair it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from toolbox.engines.patch.hunks import sides
from toolbox.engines.patch.kinds import classify, is_elided
from toolbox.engines.patch.locate import (
    PLACES,
    Candidate,
    Target,
    bare_line,
    candidates,
    header_at,
    loose_places,
    nearest_block,
    nearest_line,
    place_of,
    search,
    stands,
)
from toolbox.engines.patch.preview import plural, quote, visible
from toolbox.engines.patch.records import UNENDED, Clock, Family, Hunk, header_text

EXPLAINED_HUNKS: Final = 50
"""Refused hunks of one patch whose nearest lines are sought; the others are only compared."""
_HEADERS_TOLD: Final = 5
"""Corrected headers in a sentence; all of them are in `candidates`."""

Verdict = Literal["fits", "relocated", "refused", "unchecked"]


@dataclass(slots=True)
class Effort:
    """What one patch may still spend on explanations, and the clock of its call."""

    clock: Clock | None = None
    explained: int = EXPLAINED_HUNKS

    def spend(self) -> bool:
        if self.clock is not None:
            self.clock.check()
        self.explained -= 1
        return self.explained >= 0


@dataclass(frozen=True, slots=True)
class Repairs:
    """What the caller asked to be repaired; nothing is unless asked."""

    relocate: bool = False
    recount: bool = False
    file_ends: bool = False
    """CRLF and LF lines match, and added lines take the file's own ends."""


@dataclass(frozen=True, slots=True)
class HunkVerdict:
    """What became of one hunk. place is its 0-based index in the file's lines, -1 for none."""

    hunk: int
    header: str
    verdict: Verdict
    kind: str
    patch_line: int
    reason: str
    family: Family | None = None
    file_line: int | None = None
    expected: str | None = None
    found: str | None = None
    candidates: tuple[Candidate, ...] = ()
    place: int = -1
    notes: tuple[str, ...] = field(default=())


def header_of(hunk: Hunk) -> str:
    return visible(hunk.header)


def unchecked(hunk: Hunk, reason: str) -> HunkVerdict:
    """The verdict on a hunk that no file could be held against."""
    if hunk.fault is not None:
        return _refused(
            hunk,
            hunk.fault.kind,
            fault_text(hunk),
            family="malformed",
            patch_line=hunk.fault.patch_line,
        )
    return HunkVerdict(
        hunk.number, header_of(hunk), "unchecked", "unchecked", hunk.patch_line, reason
    )


def _refused(
    hunk: Hunk,
    kind: str,
    reason: str,
    *,
    family: Family = "mismatch",
    patch_line: int | None = None,
    file_line: int | None = None,
    expected: bytes | None = None,
    found: bytes | None = None,
    places: Sequence[Candidate] = (),
) -> HunkVerdict:
    return HunkVerdict(
        hunk.number, header_of(hunk), "refused", kind, patch_line or hunk.patch_line, reason,
        family=family, file_line=file_line, expected=_shown(expected), found=_shown(found),
        candidates=tuple(places),
    )  # fmt: skip


def _shown(line: bytes | None) -> str | None:
    return None if line is None else quote(line)[1:-1] if len(line) < 120 else quote(line)


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
            return _malformed(hunk, target, shift, effort)
        countless = hunk.old_start is None
        notes.append(
            "the header's counts were corrected to those of the body, "
            f"{len(hunk.old)} old / {len(hunk.new)} new"
        )
    if hunk.old_start == 0 and hunk.old:
        return _line_zero(hunk, target, shift, effort)
    place = -1 if countless else place_of(hunk.old_start or 0, len(hunk.old))
    if not countless:
        agreed = place + shift + (1 if hunk.new else 0)
        if hunk.new_start != agreed:
            if not hunk.context:
                return _starts_disagree(hunk, place, shift)
            notes.append(
                f"hunk {hunk.number}: the + start says {hunk.new_start}, the lines before it make it "
                f"{agreed}; the context proves the place"
            )
    lines, old, new = (
        (target.bare(), [bare_line(x) for x in hunk.old], [bare_line(x) for x in hunk.new])
        if repairs.file_ends
        else (target.lines, hunk.old, hunk.new)
    )
    if not countless and stands(lines, place, old):
        return _at_place(hunk, lines, place, shift, notes)
    if repairs.relocate and old and not _already(lines, place, shift, hunk, new):
        hay = target.loosened("crlf-mismatch") if repairs.file_ends else target.hay()
        wanted = [x.removesuffix(UNENDED) for x in old] if repairs.file_ends else old
        places, whole = search(hay, wanted, clock=effort.clock)
        if whole and len(places) == 1 and stands(lines, places[0], old):
            there = _at_place(hunk, lines, places[0], shift, notes)
            if there.verdict != "fits":
                return there
            moved = "" if countless else f", {_apart(places[0] - place)} than its header says"
            return HunkVerdict(
                hunk.number, header_of(hunk), "relocated", "offset", hunk.patch_line,
                f"stands only at line {places[0] + 1}{moved}", file_line=places[0] + 1,
                place=places[0], notes=there.notes,
                candidates=tuple(candidates(hunk, places, shift)),
            )  # fmt: skip
    if countless:
        return _malformed(hunk, target, shift, effort)
    return _explain(hunk, target, lines, old, new, place, shift, effort)


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
            return _refused(
                hunk, "left-over",
                f"{quote(hunk.trailer[at])} (patch line {line}) follows the promised lines after a blank one, "
                "and would fit the file as part of the hunk; the header that takes it in is "
                f'"{_wider(hunk, place, shift, len(more_old), len(more_new))}". If it is no part of it, remove it',
                family="malformed", patch_line=line,
            )  # fmt: skip
    unended = bool(hunk.new) and hunk.new[-1].endswith(UNENDED)
    if unended and stop < len(lines):
        return _refused(
            hunk, "final-newline",
            f'the patch says "\\ No newline at end of file" after its last line, but the file goes on '
            f"after line {stop} ({len(lines)} lines)",
            file_line=stop + 1, found=lines[stop],
        )  # fmt: skip
    if not hunk.old and place > 0 and lines[place - 1].endswith(UNENDED):
        return _refused(
            hunk, "final-newline",
            f"adds lines after line {place}, the file's last, which has no newline at its end; "
            "the patch must remove that line and add it again with its newline",
            file_line=place, found=lines[place - 1],
        )  # fmt: skip
    if hunk.body[-1][:1] == b"+" and stands(lines, place, hunk.new):
        notes = [
            *notes,
            f"hunk {hunk.number}: the added lines stand there already; if the patch was applied before, "
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


def _line_zero(hunk: Hunk, target: Target, shift: int, effort: Effort) -> HunkVerdict:
    places, whole = search(target.hay(), hunk.old, clock=effort.clock)
    told = candidates(hunk, places, shift)
    return _refused(
        hunk, "line-zero",
        f"starts at line 0, but it has {plural(len(hunk.old), 'old line')}; lines count from 1. "
        + _places_text(hunk, places, whole, None, shift),
        family="malformed", places=told,
    )  # fmt: skip


def _starts_disagree(hunk: Hunk, place: int, shift: int) -> HunkVerdict:
    """A hunk without context whose two starts name different places: neither is taken."""
    fits = header_at(hunk, place, shift)
    text = (
        f"has no context lines, and its two starts name different places: -{hunk.old_start} and "
        f"+{hunk.new_start}, where the lines before it make the second {place + shift + (1 if hunk.new else 0)}. "
    )
    if hunk.old:
        return _refused(
            hunk,
            "starts-disagree",
            text + f'For line {place + 1} the header is "{fits}"',
            family="malformed",
        )
    text += f'To add after line {place} the header is "{fits}"'
    if place > 0:
        text += f', before it "{header_at(hunk, place - 1, shift)}"'
    return _refused(hunk, "starts-disagree", text + "; or give context lines", family="malformed")


def fault_text(hunk: Hunk) -> str:
    """What is wrong with a hunk in itself."""
    fault = hunk.fault
    assert fault is not None
    promise = f"{hunk.old_count} old / {hunk.new_count} new"
    has = f"{len(hunk.old)} / {len(hunk.new)}"
    match fault.kind:
        case "header":
            header = quote(hunk.header)
            if (
                re.search(rb"\d", hunk.header.split(b"@@")[1] if b"@@" in hunk.header else b"")
                is None
            ):
                return f"patch line {hunk.patch_line}: {header} has no line numbers"
            return (
                f"patch line {hunk.patch_line}: {header} is no hunk header; "
                'expected "@@ -START,COUNT +START,COUNT @@"'
            )
        case "counts":
            return f"the header promises {promise} lines but the body has {has}"
        case "left-over":
            assert hunk.promised is not None
            over = hunk.body[hunk.promised :]
            sign = over[0][:1]
            looks = {b"-": "looks like a removed line", b"+": "looks like an added line"}.get(
                sign, "looks like a context line"
            )
            first = fault.patch_line or hunk.patch_line
            last = f" to patch line {first + len(over) - 1}" if len(over) > 1 else ""
            return (
                f"{plural(len(over), 'line')} left over after the {promise} lines that the header promises: "
                f"{quote(over[0])} (patch line {first}{last}) {looks}"
            )
        case "broken-off":
            line = fault.message
            text = f"the body breaks off at patch line {fault.patch_line}: {line} begins with none of space, + and -"
            if is_elided(line[1:-1].encode()):
                text = f"the body breaks off at patch line {fault.patch_line}: {line} stands for lines that were left out"
            else:
                text += " (a context line needs a space before it)"
            return f"{text}; the header promises {promise} lines, before that there are {has}"
        case _:
            return fault.message


def _malformed(hunk: Hunk, target: Target, shift: int, effort: Effort) -> HunkVerdict:
    """A hunk that contradicts itself, with the header that would fit its body."""
    fault = hunk.fault
    assert fault is not None
    text = fault_text(hunk)
    told: list[Candidate] = []
    if fault.kind in ("header", "counts", "left-over", "broken-off"):
        repair, told = _fitting(hunk, target, shift, effort)
        text += ". " + repair
        if fault.kind == "header" and hunk.body:
            text += f" (its body starts at patch line {hunk.patch_line + 1})"
    return _refused(
        hunk, fault.kind, text, family="malformed", patch_line=fault.patch_line, places=told
    )


def _fitting(hunk: Hunk, target: Target, shift: int, effort: Effort) -> tuple[str, list[Candidate]]:
    """The header that fits a body whose own header does not, where the file has its lines."""
    if not hunk.body or not hunk.changes:
        return "The body adds and removes nothing", []
    start = hunk.old_start
    if not hunk.old:
        if start is None:
            return "It has no old lines by which to find its place; give line numbers", []
        place = place_of(start, 0)
        return f'The body fits "{header_at(hunk, place, shift)}"', [
            Candidate(place, header_at(hunk, place, shift))
        ]
    if start and stands(target.lines, start - 1, hunk.old):
        header = header_at(hunk, start - 1, shift)
        text = f'The body fits "{header}"'
        if hunk.fault and hunk.fault.kind == "left-over":
            text += "; if that line is no part of the hunk, remove it or put a blank line before it"
        return text, [Candidate(start, header)]
    places, whole = (
        search(target.hay(), hunk.old, clock=effort.clock) if effort.spend() else ([], True)
    )
    if places:
        return _places_text(
            hunk, places, whole, None if start is None else start - 1, shift
        ), candidates(hunk, places, shift)
    if hunk.fault and hunk.fault.kind == "left-over":
        return "Remove it, or put a blank line before it", []
    text = "The lines of its body stand nowhere in the file"
    if start is not None:
        header = header_at(hunk, max(start - 1, 0), shift)
        text = f'The body has the counts of "{header}", but its lines stand nowhere in the file'
    if near := nearest_block(target, hunk):
        k = _first_difference(target.lines, near.place, hunk.old)
        if k is not None:
            found = target.lines[near.place + k] if near.place + k < len(target.lines) else None
            text += (
                f"; most alike at line {near.place + 1} ({near.equal} of {len(hunk.old)} lines), where line "
                f"{near.place + k + 1} differs: {_pair(hunk.old[k], found)}"
            )
    return text, []


def _apart(distance: int) -> str:
    return f"{plural(abs(distance), 'line')} {'lower' if distance > 0 else 'higher'}"


def _places_text(hunk: Hunk, places: list[int], whole: bool, place: int | None, shift: int) -> str:
    """Where the old lines stand, with headers ready to paste."""
    noun = f"{len(hunk.old)} old lines" if len(hunk.old) > 1 else "old line"
    if not places:
        return (
            f"The {noun} stand nowhere in the file"
            if len(hunk.old) > 1
            else f"The {noun} stands nowhere in the file"
        )
    verb = "stand" if len(hunk.old) > 1 else "stands"
    if len(places) == 1 and whole:
        away = (
            f"{_apart(places[0] - place)} (line {places[0] + 1})"
            if place is not None and places[0] != place
            else f"at line {places[0] + 1}"
        )
        return f'The {noun} {verb} once, {away}: use "{header_at(hunk, places[0], shift)}"'
    shown = [str(p + 1) for p in places[:PLACES]]
    listed = ", ".join(shown[:-1]) + f" and {shown[-1]}" if len(shown) > 1 else shown[0]
    many = f"{len(places)} places" if whole else f"more than {len(shown)} places, among them"
    text = (
        f"The {noun} {verb} at {many}: lines {listed}"
        if whole
        else f"The {noun} {verb} at {many} lines {listed}"
    )
    headers = " or ".join(f'"{header_at(hunk, p, shift)}"' for p in places[:_HEADERS_TOLD])
    return f"{text}. Correct the line number ({headers}{', …' if len(places) > _HEADERS_TOLD else ''}) or add context"


def _first_difference(lines: Sequence[bytes], place: int, wanted: Sequence[bytes]) -> int | None:
    for k, line in enumerate(wanted):
        at = place + k
        if not 0 <= at < len(lines) or lines[at] != line:
            return k
    return None


def _pair(expected: bytes, found: bytes | None, *, removed: bool = False) -> str:
    what = "to be removed" if removed else "expected"
    return f"{what} {quote(expected)}, found {'the end of the file' if found is None else quote(found)}"


def _line_in_body(hunk: Hunk, k: int) -> tuple[int, bool]:
    """The patch line of the k-th old line (0-based), and whether it is one to be removed."""
    seen = -1
    for j, line in enumerate(hunk.body):
        if line[:1] not in (b"+", b"\\"):
            seen += 1
            if seen == k:
                return hunk.patch_line + 1 + j, line[:1] == b"-"
    return hunk.patch_line, False


def _already(
    lines: list[bytes], place: int, shift: int, hunk: Hunk, new: list[bytes]
) -> int | None:
    """The 0-based line where the hunk's outcome stands, at one of the places its header names."""
    if not any(line.strip() for line in new):
        return None
    if len(new) < len(hunk.old) and not _enclosed(hunk):
        return None  # a removal leaves only context behind, which proves something if on both sides
    stated = (hunk.new_start or 1) - 1
    for at in (place, place + shift, stated):
        if stands(lines, at, new):
            return at
    return None


def _enclosed(hunk: Hunk) -> bool:
    if any(line[:1] == b"+" for line in hunk.body):
        return True
    shown = [line for line in hunk.body if line[:1] != b"\\"]
    return bool(shown) and all(
        line[:1] != b"-" and bool(line.strip()) for line in (shown[0], shown[-1])
    )


def _explain(
    hunk: Hunk, target: Target, lines: list[bytes], old: list[bytes], new: list[bytes],
    place: int, shift: int, effort: Effort,
) -> HunkVerdict:  # fmt: skip
    """Why old lines do not stand where the header says, and where they or their like do."""
    size = len(lines)
    has = f"the file has {plural(size, 'line')}"
    if not old:
        return _refused(
            hunk, "beyond-eof", f"adds after line {place}, but {has}", file_line=place,
            patch_line=hunk.patch_line,
        )  # fmt: skip
    if (at := _already(lines, place, shift, hunk, new)) is not None:
        return _refused(
            hunk, "already-applied",
            f"the new lines already stand at line {at + 1}; this hunk seems to be applied already",
            file_line=at + 1,
        )  # fmt: skip
    k = _first_difference(lines, place, old)
    assert k is not None
    found = lines[place + k] if place + k < size else None
    patch_line, removed = _line_in_body(hunk, k)
    kind = classify(old[k], found, first_line=place + k == 0)
    code, clause = kind.code, kind.clause
    if found is None and k == 0:
        what = f"starts at line {place + 1}, but {has}"
    elif found is None:
        what = f"line {place + k + 1}: {_pair(old[k], found, removed=removed)} ({has})"
    else:
        what = f"line {place + k + 1}: {_pair(old[k], found, removed=removed)} ({clause})"
    if k:
        before = f"line {place + 1} matches" if k == 1 else f"lines {place + 1}-{place + k} match"
        what = f"{before}, {what}"
    rest = stands(lines, place + k + 1, old[k + 1 :])
    if rest and found is not None and code != "context-mismatch" and k + 1 < len(old):
        what += "; the rest of the hunk matches"
    told: list[Candidate] = []
    if effort.spend():
        code, more, told = _elsewhere(hunk, target, lines, old, new, place, k, code, shift, effort)
        what += more
    return _refused(
        hunk, code, what, patch_line=patch_line, file_line=place + k + 1 if found is not None else None,
        expected=old[k], found=found, places=told,
    )  # fmt: skip


def _elsewhere(
    hunk: Hunk, target: Target, lines: list[bytes], old: list[bytes], new: list[bytes],
    place: int, k: int, code: str, shift: int, effort: Effort,
) -> tuple[str, str, list[Candidate]]:  # fmt: skip
    """(kind, sentence, candidates) from looking for the hunk in the rest of the file."""
    places, whole = search(target.hay(), hunk.old, clock=effort.clock)
    if places:
        if code in ("context-mismatch", "beyond-eof"):
            code = "offset"
        text = ". " + _places_text(hunk, places, whole, place, shift)
        return code, text, candidates(hunk, places, shift)
    if code == "context-mismatch" or code == "beyond-eof":
        if len(new) >= len(hunk.old) and any(line.strip() for line in new):
            applied, _ = search(target.hay(), hunk.new, clock=effort.clock)
            if len(applied) == 1:
                return (
                    "already-applied",
                    f". The hunk's new lines stand at line {applied[0] + 1}: it seems to be applied already",
                    [],
                )
        if loose := loose_places(target, old, effort.clock):
            kind, at = loose
            if at[0] != place or len(at) > 1:
                j = _first_difference(lines, at[0], old)
                clause = ""
                if j is not None and at[0] + j < len(lines):
                    why = classify(old[j], lines[at[0] + j], first_line=at[0] + j == 0)
                    kind = why.code
                    clause = f" (there line {at[0] + j + 1}: {_pair(old[j], lines[at[0] + j])}; {why.clause})"
                where = (
                    f"line {at[0] + 1}"
                    if len(at) == 1
                    else f"{len(at)} places, the first at line {at[0] + 1}"
                )
                return (
                    kind,
                    f". But for that kind of difference the old lines stand at {where}{clause}",
                    [],
                )
    text = ""
    near = nearest_block(target, hunk)
    if near is not None and near.place != place and near.equal > k:
        j = _first_difference(lines, near.place, old)
        if j is not None:
            there = lines[near.place + j] if near.place + j < len(lines) else None
            text += (
                f". Nearest: at line {near.place + 1} {near.equal} of {len(old)} old lines match; there line "
                f"{near.place + j + 1} differs: {_pair(old[j], there)}"
            )
            return code, text, []
    if code == "context-mismatch" or code == "beyond-eof":
        wanted = hunk.old[k]
        if wanted.strip() and wanted not in target.lines:
            text += (
                f", and {quote(wanted)} occurs nowhere in it"
                if code == "beyond-eof"
                else f". {quote(wanted)} occurs nowhere in the file"
            )
            like = nearest_line(target, wanted, place + k)
            if like is not None and like != place + k:
                text += f"; the line most like it is line {like + 1}: {quote(target.lines[like])}"
        elif wanted.strip():
            text += f". {quote(wanted)} stands at line {target.lines.index(wanted) + 1}"
    return code, text, []
