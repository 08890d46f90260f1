"""The pieces of a JSON text under construction, each value's place, and ranges that are copied."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

OPENERS: Final = frozenset("{[")
CLOSERS: Final = frozenset("}]")


class Pieces:
    """A JSON text as pieces, and, side by side, for each value: its first piece and its place.

    Pieces are brackets, commas, keys (`"k":`, with a comma before where one is needed) and
    scalars; only a key ends in a colon. `at` ascends.
    """

    __slots__ = ("at", "ends", "kept", "lines", "out", "spelled", "starts")

    def __init__(self) -> None:
        self.out: list[str] = []
        self.at = array("I")
        self.starts = array("I")
        self.ends = array("I")
        self.lines = array("I")
        self.spelled: list[int] = []
        """Pieces that are numbers which JSON spells otherwise, so strings here."""
        self.kept: list[Region] = []
        """Regions that point into this text, in the order of their ends."""

    def keep(self, piece: int, entry: int) -> Region:
        """The region from this piece, and this value, to the end."""
        region = Region(self, piece, entry)
        self.kept.append(region)
        return region

    def cut(self, piece: int, entry: int) -> Region:
        """Take the text from this piece on away; what was kept of it stays valid."""
        while self.kept and self.kept[-1].first_piece >= piece:
            self.kept.pop().detach()
        region = Region(self, piece, entry)
        region.detach()
        del self.out[piece:], self.at[entry:], self.starts[entry:]
        del self.ends[entry:], self.lines[entry:]
        del self.spelled[bisect_left(self.spelled, piece) :]
        return region

    def paste(self, region: Region, low: int = 0, high: int | None = None) -> None:
        """Append the region's pieces [low, high) with the values that start in them."""
        source, base = region.source, region.first_piece
        first = base + low
        last = region.last_piece if high is None else base + high
        shift = len(self.out) - first
        entry = bisect_left(source.at, first, region.first_entry, region.last_entry)
        stop = bisect_left(source.at, last, entry, region.last_entry)
        self.out += source.out[first:last]
        self.at.extend([piece + shift for piece in source.at[entry:stop]])
        self.starts += source.starts[entry:stop]
        self.ends += source.ends[entry:stop]
        self.lines += source.lines[entry:stop]
        if source.spelled:
            mark = bisect_left(source.spelled, first)
            until = bisect_left(source.spelled, last, mark)
            self.spelled += [piece + shift for piece in source.spelled[mark:until]]


class Region:
    """A range of a text: the pieces and values of one node."""

    __slots__ = ("_characters", "first_entry", "first_piece", "last_entry", "last_piece", "source")

    def __init__(self, source: Pieces, piece: int, entry: int) -> None:
        self.source = source
        self.first_piece = piece
        self.last_piece = len(source.out)
        self.first_entry = entry
        self.last_entry = len(source.at)
        self._characters = -1

    @property
    def nodes(self) -> int:
        return self.last_entry - self.first_entry

    @property
    def characters(self) -> int:
        if self._characters < 0:
            self._characters = sum(map(len, self.pieces()))
        return self._characters

    def pieces(self) -> list[str]:
        return self.source.out[self.first_piece : self.last_piece]

    def detach(self) -> None:
        """Copy the range, so that the text it points into may change."""
        own = Pieces()
        own.paste(self)
        self.source = own
        self.first_piece = self.first_entry = 0
        self.last_piece = len(own.out)
        self.last_entry = len(own.at)


def find_elements(pieces: list[str], low: int) -> Iterator[tuple[int, int]]:
    """Ranges of the members (key first), or elements, of the container whose inside begins here.

    Ends at its closing bracket, or at the end of the pieces.
    """
    depth = 0
    first = low
    for k in range(low, len(pieces)):
        piece = pieces[k]
        if piece in OPENERS:
            depth += 1
        elif piece in CLOSERS:
            if depth == 0:
                if k > first:
                    yield first, k
                return
            depth -= 1
        elif depth == 0 and k > first and (piece == "," or piece[-1] == ":"):
            yield first, k
            first = k + 1 if piece == "," else k
    if len(pieces) > first:
        yield first, len(pieces)


def find_too_deep(pieces: list[str], low: int, levels: int) -> int | None:
    """The first piece, from `low` on, that opens a container below so many levels, or None."""
    depth = 0
    for k in range(low, len(pieces)):
        piece = pieces[k]
        if piece in OPENERS:
            depth += 1
            if depth > levels:
                return k
        elif piece in CLOSERS:
            depth -= 1
    return None
