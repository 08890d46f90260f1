"""Where a hunk's old lines stand in a file, and why not where its header says.

Searching is done on bytes by the C library's two-way search, so that neither many repeated lines
nor a long hunk make it quadratic.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import Final

from toolbox.engines.patch.loosen import FORMS
from toolbox.engines.patch.records import UNENDED, Clock, Hunk, header_text, join_lines, split_lines

PLACES: Final = 20
"""Places that a refusal lists; more are only counted."""
SEARCH_BYTES: Final = 64 * 1024 * 1024
"""Bytes compared over all matches of one search; past it the count says `at least`."""
NEAR_LINES: Final = 2_000
"""Lines around the stated place that are compared by likeness."""
NEAR_BYTES: Final = 300
"""A longer line is not compared by likeness."""
NEAR_COMPARISONS: Final = 40
"""Lines whose likeness is worked out in full (quadratic in their length) for one answer."""
VOTING_LINES: Final = 24
"""Lines of a hunk that are sought one by one for the place most like it; each is a search."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a hunk's old lines stand: its 1-based line, and the header that says so."""

    line: int
    header: str


@dataclass(slots=True)
class Target:
    """A file's lines, with the forms that searches need made once."""

    data: bytes
    lines: list[bytes] = field(init=False)
    _bare: list[bytes] | None = None
    _hay: bytes | None = None
    _loose: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = split_lines(self.data)

    def hay(self) -> bytes:
        if self._hay is None:
            self._hay = b"\n" + self.data
        return self._hay

    def bare(self) -> list[bytes]:
        """The lines without the `\\r` of CRLF ends."""
        if self._bare is None:
            self._bare = [bare_line(line) for line in self.lines]
        return self._bare

    def loosened(self, kind: str) -> bytes:
        """The file with every line loosened, one leading newline, all lines ended."""
        if kind not in self._loose:
            hay = self.hay() if self.data.endswith(b"\n") or not self.data else self.hay() + b"\n"
            self._loose[kind] = FORMS[kind][0](hay)
        return self._loose[kind]


def bare_line(line: bytes) -> bytes:
    """A line without the `\\r` before its end; the mark of an unended line stays."""
    if line.endswith(b"\r"):
        return line[:-1]
    return line[:-2] + UNENDED if line.endswith(b"\r\n") else line


def place_of(start: int, count: int) -> int:
    """The 0-based index that a header's range means: with no lines, it is after line `start`."""
    return start if count == 0 else start - 1


def stands(lines: Sequence[bytes], at: int, wanted: list[bytes]) -> bool:
    return 0 <= at <= len(lines) - len(wanted) and lines[at : at + len(wanted)] == wanted


def search(
    hay: bytes, wanted: Sequence[bytes], *, clock: Clock | None = None
) -> tuple[list[int], bool]:
    """0-based indexes of the lines at which `wanted` stands (at most PLACES + 1), and whether the
    search went to the end. hay: a newline, then the file."""
    needle = b"\n" + join_lines(wanted)
    if wanted and wanted[-1].endswith(UNENDED):
        at = len(hay) - len(needle)
        found = at >= 0 and hay.endswith(needle)
        return ([hay.count(b"\n", 0, at)] if found else []), True
    return _find(hay, needle, clock)


def _find(hay: bytes, needle: bytes, clock: Clock | None) -> tuple[list[int], bool]:
    places: list[int] = []
    line = counted = spent = 0
    at = hay.find(needle)
    while at >= 0:
        line += hay.count(b"\n", counted, at)
        counted = at
        places.append(line)
        spent += len(needle) * 2
        if len(places) > PLACES or spent > SEARCH_BYTES:
            return places, False
        if clock is not None:
            clock.check()
        at = hay.find(needle, at + 1)
    return places, True


def candidates(hunk: Hunk, places: Sequence[int], shift: int) -> list[Candidate]:
    """Places with the header that would fit each; shift: new lines less old ones before it."""
    return [
        Candidate(place + 1 if hunk.old else place, header_at(hunk, place, shift))
        for place in places[:PLACES]
    ]


def header_at(hunk: Hunk, place: int, shift: int) -> str:
    """The header of the hunk's body when its first old line stands at the 0-based place."""
    old, new = len(hunk.old), len(hunk.new)
    section = hunk.section.decode("utf-8", "backslashreplace")
    return (
        header_text(
            place + 1 if old else place, old,
            place + shift + 1 if new else place + shift, new,
        )
        + section
    )  # fmt: skip


def loose_places(
    target: Target, wanted: list[bytes], clock: Clock | None = None
) -> tuple[str, list[int]] | None:
    """A kind of difference that, looked past, makes the lines stand somewhere, and where."""
    block = b"\n" + b"\n".join(line.removesuffix(UNENDED) for line in wanted) + b"\n"
    for kind, (loosen, applies) in FORMS.items():
        if not applies(target.data, block):
            continue
        if clock is not None:
            clock.check()
        needle = loosen(block)
        if not needle.strip():
            return None
        places, _ = _find(target.loosened(kind), needle, clock)
        if places:
            return kind, places
    return None


@dataclass(frozen=True, slots=True)
class Near:
    """The place in a file that is most like a hunk: 0-based start, lines equal there."""

    place: int
    equal: int


def nearest_block(target: Target, hunk: Hunk) -> Near | None:
    """The start at which most of the hunk's old lines stand where they should, or None.

    The longest of its lines are sought in the file, and each that stands there votes for the
    hunk's start; lines that stand everywhere say nothing.
    """
    firsts: dict[bytes, int] = {}
    for k, line in enumerate(hunk.old):
        if line.strip():
            firsts.setdefault(line, k)
    distinct = sorted(firsts, key=len, reverse=True)[:VOTING_LINES]
    votes: dict[int, int] = {}
    for line in distinct:
        places, whole = search(target.hay(), [line])
        if whole:
            for j in places:
                votes[j - firsts[line]] = votes.get(j - firsts[line], 0) + 1
    if not votes:
        return None
    stated = (hunk.old_start or 1) - 1
    place = max(max(votes, key=lambda p: (votes[p], -abs(p - stated))), 0)
    equal = sum(map(eq, target.lines[place : place + len(hunk.old)], hunk.old))
    return Near(place, equal) if equal else None


def nearest_line(target: Target, line: bytes, around: int) -> int | None:
    """The 0-based index of the line most like `line` near `around`, or None where none is."""
    line = line.removesuffix(UNENDED)
    if not line.strip() or len(line) > NEAR_BYTES:
        return None
    low = max(0, min(around, len(target.lines)) - NEAR_LINES // 2)
    window = target.lines[low : low + NEAR_LINES]
    matcher = difflib.SequenceMatcher(autojunk=False)
    wanted = line.decode("utf-8", "replace").strip()
    matcher.set_seq2(wanted)
    best, best_ratio, compared = None, 0.7, 0
    for k, other in enumerate(window):
        if len(other) > NEAR_BYTES or not other.strip():
            continue
        matcher.set_seq1(other.removesuffix(UNENDED).decode("utf-8", "replace").strip())
        if matcher.real_quick_ratio() <= best_ratio or matcher.quick_ratio() <= best_ratio:
            continue
        compared += 1
        if (ratio := matcher.ratio()) > best_ratio:
            best, best_ratio = low + k, ratio
        if compared >= NEAR_COMPARISONS:
            break
    return best
