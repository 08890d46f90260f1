"""The verdict on one hunk, and the words in which verdicts speak of lines and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from toolbox.engines.patch.locate import PLACES, Candidate, header_at
from toolbox.engines.patch.preview import plural, quote, visible
from toolbox.engines.patch.records import Clock, Family, Hunk

EXPLAINED_HUNKS: Final = 50
"""Refused hunks of one patch whose nearest lines are sought; the others are only compared."""
EXPLAINED_BYTES: Final = 48 * 1024 * 1024
"""File bytes that are searched through for explanations: twelve hunks of the largest files."""
COMPARED_HUNKS: Final = 1_000
"""Refused hunks whose first differing line is told; of more only that they do not stand."""
_HEADERS_TOLD: Final = 5
"""Corrected headers in a sentence; all of them are in `candidates`."""

Verdict = Literal["fits", "relocated", "refused", "unchecked"]


@dataclass(slots=True)
class Effort:
    """What one patch may still spend on explanations, and the clock of its call."""

    clock: Clock | None = None
    explained: int = EXPLAINED_HUNKS
    compared: int = COMPARED_HUNKS
    bytes_left: int = EXPLAINED_BYTES

    def spend(self, file_bytes: int) -> bool:
        """Whether one more hunk may be sought in the whole of its file."""
        if self.clock is not None:
            self.clock.check()
        self.explained -= 1
        self.bytes_left -= file_bytes
        return self.explained >= 0 and self.bytes_left >= 0

    def compare(self) -> bool:
        """Whether one more refused hunk may be told in detail."""
        self.compared -= 1
        if self.clock is not None and self.compared % 256 == 0:
            self.clock.check()
        return self.compared >= 0


@dataclass(frozen=True, slots=True)
class Repairs:
    """What the caller asked to be repaired; nothing is unless asked."""

    relocate: bool = False
    recount: bool = False
    file_ends: bool = False
    """CRLF and LF lines match, and added lines take the file's own ends."""


class HunkVerdict(msgspec.Struct, frozen=True):
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
    notes: tuple[str, ...] = ()


def header_of(hunk: Hunk) -> str:
    return visible(hunk.header)


def refused(
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


def apart(distance: int) -> str:
    return f"{plural(abs(distance), 'line')} {'lower' if distance > 0 else 'higher'}"


def places_text(hunk: Hunk, places: list[int], whole: bool, place: int | None, shift: int) -> str:
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
            f"{apart(places[0] - place)} (line {places[0] + 1})"
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
    more = ", …" if len(places) > _HEADERS_TOLD else ""
    return f"{text}. Correct the line number ({headers}{more}) or add context"


def first_difference(lines: Sequence[bytes], place: int, wanted: Sequence[bytes]) -> int | None:
    for k, line in enumerate(wanted):
        at = place + k
        if not 0 <= at < len(lines) or lines[at] != line:
            return k
    return None


def pair(expected: bytes, found: bytes | None, *, removed: bool = False) -> str:
    what = "to be removed" if removed else "expected"
    there = "the end of the file" if found is None else quote(found)
    return f"{what} {quote(expected)}, found {there}"


def line_in_body(hunk: Hunk, k: int) -> tuple[int, bool]:
    """The patch line of the k-th old line (0-based), and whether it is one to be removed."""
    seen = -1
    for j, line in enumerate(hunk.body):
        if line[:1] not in (b"+", b"\\"):
            seen += 1
            if seen == k:
                return hunk.patch_line + 1 + j, line[:1] == b"-"
    return hunk.patch_line, False
