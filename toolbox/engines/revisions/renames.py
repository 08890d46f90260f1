"""Which added files are deleted ones under another name, as `git diff -M` decides it.

Equal blobs first, then files whose base name is unique on both sides and that are alike by three
quarters, then the best pairs alike by half. The order in which git looks at candidates decides
between equals, so it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Final, NamedTuple, Protocol

from toolbox.engines.revisions.similarity import (
    FULL,
    Spectra,
    Spectrum,
    near_in_size,
    score,
    shared_bytes,
)
from toolbox.engines.revisions.trees import Side

LEAST: Final = 30_000
"""Alike by half."""
LEAST_SAME_NAME: Final = 45_000
"""Alike by three quarters, where only the folder changed."""

MATRIX_MOST: Final = 1_000 * 1_000
"""Pairs of added and deleted files; past it git looks for equal blobs and base names only."""

STEPS_MOST: Final = 15_000_000
"""Our own bound on pieces looked at, about three seconds; past it as past MATRIX_MOST."""

BYTES_MOST: Final = 64 * 1024 * 1024
"""Contents read to compare; past it as past MATRIX_MOST."""

_PER_TARGET: Final = 4
"""Candidates that are kept for each added file."""
_EQUALS_LOOKED_AT: Final = 100


class Blobs(Protocol):
    """What is asked about contents."""

    def size(self, side: Side) -> int: ...
    def data(self, side: Side) -> bytes: ...


class File(NamedTuple):
    """An added or deleted file."""

    path: bytes
    side: Side

    @property
    def base(self) -> bytes:
        return self.path.rpartition(b"/")[2]


class Pair(NamedTuple):
    """A rename: places in the lists of deleted and added files, and the score out of 60 000."""

    source: int
    target: int
    score: int


@dataclass(slots=True)
class Found:
    """The renames, and why some may be missing."""

    pairs: list[Pair] = field(default_factory=list)
    note: str | None = None


class _Candidate(NamedTuple):
    target: int
    source: int
    score: int
    same_name: bool


class _TooMuch(Exception):
    """Our bound is met; raised and caught here only."""


def find(
    deleted: Sequence[File],
    added: Sequence[File],
    blobs: Blobs,
    check: Callable[[], None],
    *,
    last_line_counts: bool = False,
    steps_most: int = STEPS_MOST,
    bytes_most: int = BYTES_MOST,
    matrix_most: int = MATRIX_MOST,
) -> Found:
    """The renames among deleted and added files, both in path order."""
    search = _Search(deleted, added, blobs, check, last_line_counts, steps_most, bytes_most)
    if not deleted or not added:
        return search.found
    search.equal_blobs()
    try:
        search.base_names()
        sources, targets = search.left()
        if len(sources) * len(targets) > matrix_most:
            search.found.note = _note(sources, targets)
        elif sources and targets:
            search.best_pairs(sources, targets)
    except _TooMuch:
        search.found.note = _note(*search.left())
    search.found.pairs.sort(key=lambda pair: pair.target)
    return search.found


def _note(sources: Sequence[int], targets: Sequence[int]) -> str:
    return (
        f"renames with edits were not looked for among {len(sources)} deleted and {len(targets)} "
        "added files, which are too many; narrow with paths"
    )


class _Search:
    def __init__(
        self,
        deleted: Sequence[File],
        added: Sequence[File],
        blobs: Blobs,
        check: Callable[[], None],
        last_line_counts: bool,
        steps_most: int,
        bytes_most: int,
    ) -> None:
        self.deleted, self.added, self.blobs, self.check = deleted, added, blobs, check
        self.steps, self.bytes = steps_most, bytes_most
        self.found = Found()
        self.used: set[int] = set()
        self.done: set[int] = set()
        self._spectra = Spectra(last_line_counts=last_line_counts)
        self._kept: dict[bytes, Spectrum] = {}

    def left(self) -> tuple[list[int], list[int]]:
        """The files that are in no pair yet."""
        return (
            [i for i in range(len(self.deleted)) if i not in self.used],
            [i for i in range(len(self.added)) if i not in self.done],
        )

    def _take(self, source: int, target: int, points: int) -> None:
        self.used.add(source)
        self.done.add(target)
        self.found.pairs.append(Pair(source, target, points))

    def equal_blobs(self) -> None:
        """Pair files of one blob, the same base name before others."""
        by_id: dict[bytes, list[int]] = {}
        for i, one in enumerate(self.deleted):
            by_id.setdefault(one.side.id, []).append(i)
        for target, new in enumerate(self.added):
            best, best_points = -1, -1
            for looked, source in enumerate(by_id.get(new.side.id, ())):
                if looked >= _EQUALS_LOOKED_AT:
                    break
                old = self.deleted[source]
                if source in self.used:
                    continue
                if not (old.side.is_file and new.side.is_file) and old.side.mode != new.side.mode:
                    continue
                points = 1 + (old.base == new.base)
                if points > best_points:
                    best, best_points = source, points
                    if points == 2:
                        break
            if best >= 0:
                self._take(best, target, FULL)

    def base_names(self) -> None:
        """Pair files whose base name is the only one of its kind on both sides."""
        sources, targets = self.left()
        by_base: dict[bytes, list[int]] = {}
        for i in targets:
            by_base.setdefault(self.added[i].base, []).append(i)
        times: dict[bytes, int] = {}
        for i in sources:
            base = self.deleted[i].base
            times[base] = times.get(base, 0) + 1
        for source in sources:
            base = self.deleted[source].base
            alike = by_base.get(base, ())
            if times[base] == 1 and len(alike) == 1:
                points = self._points(source, alike[0], LEAST_SAME_NAME)
                if points >= LEAST_SAME_NAME:
                    self._take(source, alike[0], points)

    def _points(self, source: int, target: int, least: int) -> int:
        old, new = self.deleted[source].side, self.added[target].side
        if not (old.is_file and new.is_file):
            return 0
        old_size, new_size = self.blobs.size(old), self.blobs.size(new)
        if not near_in_size(old_size, new_size, least):
            return 0
        return score(shared_bytes(self._spectrum(old), self._spectrum(new)), old_size, new_size)

    def _spectrum(self, side: Side) -> Spectrum:
        known = self._kept.get(side.id)
        if known is None:
            data = self.blobs.data(side)
            self.bytes -= len(data)
            if self.bytes < 0:
                raise _TooMuch
            self.check()
            known = self._kept[side.id] = self._spectra.of(data)
        return known

    def best_pairs(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Pair what is alike by half, the most alike first."""
        regular = [i for i in sources if self.deleted[i].side.is_file]
        sizes = {i: self.blobs.size(self.deleted[i].side) for i in regular}
        holders: dict[int, list[tuple[int, int]]] = {}
        indexed: set[int] = set()
        matrix: list[_Candidate] = []
        for target in targets:
            self.check()
            new = self.added[target]
            points: dict[int, int] = {}
            if new.side.is_file:
                size = self.blobs.size(new.side)
                near = {i for i in regular if near_in_size(sizes[i], size, LEAST)}
                for i in sorted(near - indexed):
                    for key, count in self._spectrum(self.deleted[i].side).items():
                        holders.setdefault(key, []).append((i, count))
                indexed |= near
                points = self._shared(holders, new.side, near) if near else {}
                points = {i: score(n, sizes[i], size) for i, n in points.items() if i in near}
            matrix.extend(self._candidates(target, sources, points))
        matrix.sort(key=cmp_to_key(_order))
        for one in matrix:
            if one.score < LEAST:
                break
            if one.target not in self.done and one.source not in self.used:
                self._take(one.source, one.target, one.score)

    def _shared(
        self, holders: dict[int, list[tuple[int, int]]], side: Side, near: set[int]
    ) -> dict[int, int]:
        shared = dict.fromkeys(near, 0)
        for key, count in self._spectrum(side).items():
            holding = holders.get(key)
            if holding is None:
                continue
            self.steps -= len(holding)
            if self.steps < 0:
                raise _TooMuch
            for i, there in holding:
                if i in shared:
                    shared[i] += there if there < count else count
        return shared

    def _candidates(
        self, target: int, sources: Sequence[int], points: dict[int, int]
    ) -> list[_Candidate]:
        """The best four for an added file, in the places where git's own search leaves them."""
        base = self.added[target].base
        kept: list[_Candidate] = []
        worst = 0
        for source in sources:
            one = _Candidate(
                target, source, points.get(source, 0), self.deleted[source].base == base
            )
            if len(kept) < _PER_TARGET:
                kept.append(one)
            elif _order(kept[worst], one) > 0:
                kept[worst] = one
            else:
                continue
            worst = 0
            for i in range(1, len(kept)):
                if _order(kept[i], kept[worst]) > 0:
                    worst = i
        return kept


def _order(a: _Candidate, b: _Candidate) -> int:
    return b.same_name - a.same_name if a.score == b.score else b.score - a.score
