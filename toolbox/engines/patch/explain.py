"""Why a hunk's old lines do not stand where its header says, and where they or their like do."""

from __future__ import annotations

from toolbox.engines.patch.kinds import classify
from toolbox.engines.patch.locate import (
    Candidate,
    Target,
    candidates,
    loose_places,
    nearest_block,
    nearest_line,
    search,
    stands,
)
from toolbox.engines.patch.preview import plural, quote
from toolbox.engines.patch.records import Hunk
from toolbox.engines.patch.verdict import (
    Effort,
    HunkVerdict,
    first_difference,
    line_in_body,
    pair,
    places_text,
    refused,
)


def already_at(
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


def explain(
    hunk: Hunk, target: Target, lines: list[bytes], old: list[bytes], new: list[bytes],
    place: int, shift: int, effort: Effort,
) -> HunkVerdict:  # fmt: skip
    """Why old lines do not stand where the header says, and where they or their like do."""
    size = len(lines)
    has = f"the file has {plural(size, 'line')}"
    if not old:
        return refused(
            hunk, "beyond-eof", f"adds after line {place}, but {has}", file_line=place,
            patch_line=hunk.patch_line,
        )  # fmt: skip
    if (at := already_at(lines, place, shift, hunk, new)) is not None:
        return refused(
            hunk, "already-applied",
            f"the new lines already stand at line {at + 1}; this hunk seems to be applied already",
            file_line=at + 1,
        )  # fmt: skip
    if not effort.compare():
        return refused(
            hunk, "context-mismatch", f"does not stand at line {place + 1}", file_line=place + 1
        )
    k = first_difference(lines, place, old)
    assert k is not None
    found = lines[place + k] if place + k < size else None
    patch_line, removed = line_in_body(hunk, k)
    kind = classify(old[k], found, first_line=place + k == 0)
    code, clause = kind.code, kind.clause
    if found is None and k == 0:
        what = f"starts at line {place + 1}, but {has}"
    elif found is None:
        what = f"line {place + k + 1}: {pair(old[k], found, removed=removed)} ({has})"
    else:
        what = f"line {place + k + 1}: {pair(old[k], found, removed=removed)} ({clause})"
    if k:
        before = f"line {place + 1} matches" if k == 1 else f"lines {place + 1}-{place + k} match"
        what = f"{before}, {what}"
    rest = stands(lines, place + k + 1, old[k + 1 :])
    if rest and found is not None and code != "context-mismatch" and k + 1 < len(old):
        what += "; the rest of the hunk matches"
    told: list[Candidate] = []
    if effort.spend(len(target.data)):
        code, more, told = _elsewhere(hunk, target, lines, old, new, place, k, code, shift, effort)
        what += more
    return refused(
        hunk, code, what, patch_line=patch_line, expected=old[k], found=found, places=told,
        file_line=place + k + 1 if found is not None else None,
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
        text = ". " + places_text(hunk, places, whole, place, shift)
        return code, text, candidates(hunk, places, shift)
    if code == "context-mismatch" or code == "beyond-eof":
        if len(new) >= len(hunk.old) and any(line.strip() for line in new):
            applied, _ = search(target.hay(), hunk.new, clock=effort.clock)
            if len(applied) == 1:
                return (
                    "already-applied",
                    f". The hunk's new lines stand at line {applied[0] + 1}: it seems to be "
                    f"applied already",
                    [],
                )
        if loose := loose_places(target, old, effort.clock):
            kind, at = loose
            if at[0] != place or len(at) > 1:
                j = first_difference(lines, at[0], old)
                clause = ""
                if j is not None and at[0] + j < len(lines):
                    why = classify(old[j], lines[at[0] + j], first_line=at[0] + j == 0)
                    kind = why.code
                    both = pair(old[j], lines[at[0] + j])
                    clause = f" (there line {at[0] + j + 1}: {both}; {why.clause})"
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
        j = first_difference(lines, near.place, old)
        if j is not None:
            there = lines[near.place + j] if near.place + j < len(lines) else None
            text += (
                f". Nearest: at line {near.place + 1} {near.equal} of {len(old)} old lines match; "
                f"there line "
                f"{near.place + j + 1} differs: {pair(old[j], there)}"
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
