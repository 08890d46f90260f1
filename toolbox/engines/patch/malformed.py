"""Hunks that contradict themselves: what is wrong, and the header that would fit their lines."""

from __future__ import annotations

import re
from typing import Final

from toolbox.engines.patch.hunks import is_mark, sides
from toolbox.engines.patch.kinds import is_elided
from toolbox.engines.patch.locate import (
    Candidate,
    Target,
    candidates,
    header_at,
    nearest_block,
    place_of,
    search,
    stands,
)
from toolbox.engines.patch.preview import plural, quote
from toolbox.engines.patch.records import Hunk
from toolbox.engines.patch.verdict import (
    Effort,
    HunkVerdict,
    first_difference,
    header_of,
    pair,
    places_text,
    refused,
)

_WORD_DIFF: Final = re.compile(rb"\{\+.*\+\}|\[-.*-\]")


def unchecked(hunk: Hunk, reason: str) -> HunkVerdict:
    """The verdict on a hunk that no file could be held against."""
    if hunk.fault is not None:
        return refused(
            hunk,
            hunk.fault.kind,
            fault_text(hunk),
            family="malformed",
            patch_line=hunk.fault.patch_line,
        )
    return HunkVerdict(
        hunk.number, header_of(hunk), "unchecked", "unchecked", hunk.patch_line, reason
    )


def line_zero(hunk: Hunk, target: Target, shift: int, effort: Effort) -> HunkVerdict:
    places, whole = search(target.hay(), hunk.old, clock=effort.clock)
    told = candidates(hunk, places, shift)
    return refused(
        hunk, "line-zero",
        f"starts at line 0, but it has {plural(len(hunk.old), 'old line')}; lines count from 1. "
        + places_text(hunk, places, whole, None, shift),
        family="malformed", places=told,
    )  # fmt: skip


def starts_disagree(hunk: Hunk, place: int, shift: int) -> HunkVerdict:
    """A hunk without context whose two starts name different places: neither is taken."""
    fits = header_at(hunk, place, shift)
    text = (
        f"has no context lines, and its two starts name different places: -{hunk.old_start} and "
        f"+{hunk.new_start}, where the lines before it make the second "
        f"{place + shift + (1 if hunk.new else 0)}. "
    )
    if hunk.old:
        return refused(
            hunk,
            "starts-disagree",
            text + f'For line {place + 1} the header is "{fits}"',
            family="malformed",
        )
    text += f'To add after line {place} the header is "{fits}"'
    if place > 0:
        text += f', before it "{header_at(hunk, place - 1, shift)}"'
    return refused(hunk, "starts-disagree", text + "; or give context lines", family="malformed")


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
                f"{plural(len(over), 'line')} left over after the {promise} lines that the header "
                f"promises: "
                f"{quote(over[0])} (patch line {first}{last}) {looks}"
            )
        case "broken-off":
            text = f"the body breaks off at patch line {fault.patch_line}: {fault.message} "
            if is_elided(hunk.trailer[0]):
                text += "stands for lines that were left out"
            elif _WORD_DIFF.search(hunk.trailer[0]):
                text += "looks like a word diff (git diff --word-diff), which is not applied"
            else:
                text += (
                    "begins with none of space, + and - (a context line needs a space before it)"
                )
            return f"{text}; the header promises {promise} lines, before that there are {has}"
        case _:
            return fault.message


def malformed(hunk: Hunk, target: Target, shift: int, effort: Effort) -> HunkVerdict:
    """A hunk that contradicts itself, with the header that would fit its body."""
    fault = hunk.fault
    assert fault is not None
    text = fault_text(hunk)
    told: list[Candidate] = []
    if fault.kind == "broken-off":
        text += _unsigned(hunk, target)
    elif fault.kind in ("header", "counts", "left-over"):
        repair, told = _fitting(hunk, target, shift, effort)
        text += ". " + repair
        if fault.kind == "header" and hunk.body:
            text += f" (its body starts at patch line {hunk.patch_line + 1})"
    return refused(
        hunk, fault.kind, text, family="malformed", patch_line=fault.patch_line, places=told
    )


def _unsigned(hunk: Hunk, target: Target) -> str:
    """Whether the hunk would fit with a space before each line that begins with no sign."""
    body = list(hunk.body)
    added, olds, news = 0, len(hunk.old), len(hunk.new)
    for line in hunk.trailer:
        if olds >= (hunk.old_count or 0) and news >= (hunk.new_count or 0):
            break
        mark = is_mark(line)
        signed = line[:1] in (b" ", b"+", b"-") or not line.strip() or mark
        added += not signed
        olds += not mark and line[:1] != b"+"
        news += not mark and line[:1] != b"-"
        body.append(line if signed else b" " + line)
    old, new = sides(body)
    if (len(old), len(new)) != (hunk.old_count, hunk.new_count) or not hunk.old_start:
        return ""
    if not stands(target.lines, hunk.old_start - 1, old):
        return ""
    where = "it" if added == 1 else f"{added} such lines"
    return f". With a space before {where} the hunk fits"


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
        search(target.hay(), hunk.old, clock=effort.clock)
        if effort.spend(len(target.data))
        else ([], True)
    )
    if places:
        return places_text(
            hunk, places, whole, None if start is None else start - 1, shift
        ), candidates(hunk, places, shift)
    if hunk.fault and hunk.fault.kind == "left-over":
        return "Remove it, or put a blank line before it", []
    text = "The lines of its body stand nowhere in the file"
    if start is not None:
        header = header_at(hunk, max(start - 1, 0), shift)
        text = f'The body has the counts of "{header}", but its lines stand nowhere in the file'
    if near := nearest_block(target, hunk):
        k = first_difference(target.lines, near.place, hunk.old)
        if k is not None:
            found = target.lines[near.place + k] if near.place + k < len(target.lines) else None
            text += (
                f"; most alike at line {near.place + 1} ({near.equal} of {len(hunk.old)} lines), "
                f"where line "
                f"{near.place + k + 1} differs: {pair(hunk.old[k], found)}"
            )
    return text, []
