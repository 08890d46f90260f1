"""A document: the verbatim JSON text that questions are asked of, and where it came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

import msgspec

Format = Literal["json", "jsonl", "yaml"]


class Place(msgspec.Struct, frozen=True):
    """Where a value stands in its source: 1-based line, and [start, end) in bytes."""

    line: int
    start: int
    end: int


class SourceMap(msgspec.Struct, frozen=True):
    """Places for JSON text that was made from another format (YAML, JSON Lines).

    The arrays run side by side, sorted by `text_starts`: the offset in the JSON text at which a
    value starts, and the value's start, end (bytes) and line in the source. Arrays of machine
    integers take an eighth of what tuples do.
    """

    text_starts: Sequence[int]
    source_starts: Sequence[int]
    source_ends: Sequence[int]
    lines: Sequence[int]

    def text_start(self, text_start: int) -> int:
        """Where the value that starts at, or nearest before, this offset starts in the text."""
        return self.text_starts[max(bisect_right(self.text_starts, text_start) - 1, 0)]

    def place(self, text_start: int) -> Place:
        """The source place of the value that starts at, or nearest before, this offset."""
        k = max(bisect_right(self.text_starts, text_start) - 1, 0)
        return Place(self.lines[k], self.source_starts[k], self.source_ends[k])


class Document(msgspec.Struct, frozen=True, eq=False):
    """One opened document.

    `text` is valid UTF-8 JSON without a byte order mark, nested no deeper than the limit. For JSON
    it is the source itself (less its BOM, whose size is `text_offset`); for YAML and JSON Lines it
    is made from the source, with `source_map` leading back. Numbers in it are spelled as in the
    source; a YAML number that is no JSON (0x1F, .inf, +1) stands in it as a string, and
    `spellings` holds the offset in `text` at which each such string starts.
    """

    format: Format
    text: bytes
    source_bytes: int
    text_offset: int = 0
    source_map: SourceMap | None = None
    spellings: frozenset[int] = frozenset()
    surrogates: bool = False
    """True where the text has lone surrogate escapes, which only the slower reader accepts."""
    notes: tuple[str, ...] = ()
    """What every reply from this document says: 1 of N documents, a byte order mark …"""
    kept: dict[str, object] = msgspec.field(default_factory=dict)
    """What engines keep beside the document between calls (an index, compiled structs)."""

    def place(self, start: int, end: int) -> Place:
        """The source place of the value at [start, end) of `text`."""
        if self.source_map is not None:
            place = self.source_map.place(start)
            if self.format == "jsonl" and start:
                # A line stands in the text as it does in the source.
                within = start - self.source_map.text_start(start)
                return Place(place.line, place.start + within, place.start + within + end - start)
            return place
        line = self.text.count(b"\n", 0, start) + 1
        return Place(line, start + self.text_offset, end + self.text_offset)
