"""JSON Lines opened as one array of its lines; a broken line is named and hides no other."""

from __future__ import annotations

from array import array
from typing import Final

import msgspec

from toolbox import limits
from toolbox.engines.documents import nesting, surrogates
from toolbox.engines.documents.diagnose import diagnose, name_wide_encoding
from toolbox.engines.documents.document import Document, SourceMap
from toolbox.engines.documents.json_text import BOM_NOTE, is_utf8, parse_failed
from toolbox.engines.documents.kept import LEVELS, SHADOW
from toolbox.engines.documents.positions import BOM
from toolbox.errors import ParseFailed

BROKEN_LINES: Final = "jsonl.broken"
"""Key of `Document.kept`: (number, offset, end) of each broken line, the first thousand."""

_LINES_NAMED: Final = 5
"""Broken lines that a note names; all are counted."""

_BROKEN_KEPT: Final = 1_000
"""Broken lines whose place is kept for `validate`."""

_raw = msgspec.json.Decoder(msgspec.Raw)


def open_jsonl(source: bytes, *, nesting_levels: int = limits.NESTING_LEVELS) -> Document:
    """The document of a JSON Lines source: an array of its lines, blank ones left out.

    Lines end in `\\n` or `\\r\\n`. A line that is no JSON, or nests too deep, is left out of the
    array and named in the notes; `kept[BROKEN_LINES]` has the (number, offset, end) of the first
    thousand. ParseFailed only where no line at all is JSON, or the source is in another encoding.
    """
    if name_wide_encoding(source):
        raise parse_failed(source)
    head = len(BOM) if source.startswith(BOM) else 0
    reader = _Reader(source, nesting_levels)
    reader.read(head)
    if not reader.starts and reader.broken:
        number, low, high = reader.broken[0]
        failed = parse_failed(source[head:high] if number == 1 else source[low:high])
        at = dict(failed.at or {})
        at["line"] = number
        at["offset"] = at.get("offset", 0) + (head if number == 1 else low)
        raise ParseFailed(f"no line is JSON; line {number}: {failed.message}", at=at)
    text = b"[" + b",".join(reader.pieces) + b"]"
    places = SourceMap(
        array("I", [0, *reader.text_starts]), array("I", [head, *reader.starts]),
        array("I", [len(source), *reader.ends]), array("I", [1, *reader.numbers]),
    )  # fmt: skip
    notes = [BOM_NOTE] if head else []
    if reader.broken_count:
        notes.append(_name_broken(source, reader))
    shadow = surrogates.make_shadow(text) if reader.lone else None
    document = Document(
        "jsonl", text, len(source), source_map=places, surrogates=shadow is not None,
        notes=tuple(notes),
    )  # fmt: skip
    if shadow is not None:
        document.kept[SHADOW] = shadow
    if reader.broken:
        document.kept[BROKEN_LINES] = tuple(reader.broken)
    return document


class _Reader:
    """The lines of a source, sorted into values and broken ones."""

    def __init__(self, source: bytes, levels: int) -> None:
        self._source = source
        self._levels = levels - 1  # the array around the lines is a level too
        self.pieces: list[bytes] = []
        self.text_starts: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.numbers: list[int] = []
        self.broken: list[tuple[int, int, int]] = []
        self.broken_count = 0
        self.lone = False

    def read(self, head: int) -> None:
        source = self._source
        at, made = head, 1
        for number, line in enumerate(source[head:].split(b"\n"), 1):
            value = line.strip(b" \t\r")
            if value:
                low = at + line.index(value[:1])
                if self._is_value(value):
                    self.pieces.append(value)
                    self.text_starts.append(made)
                    self.starts.append(low)
                    self.ends.append(low + len(value))
                    self.numbers.append(number)
                    made += len(value) + 1
                else:
                    self.broken_count += 1
                    if len(self.broken) < _BROKEN_KEPT:
                        self.broken.append((number, at, at + len(line)))
            at += len(line) + 1

    def _is_value(self, value: bytes) -> bool:
        try:
            _raw.decode(value)
        except (RecursionError, msgspec.DecodeError):
            shadow = surrogates.make_shadow(value)
            try:
                with nesting.room(LEVELS):
                    _raw.decode(shadow.text if shadow else value)
            except (RecursionError, msgspec.DecodeError):
                return False
            self.lone = self.lone or shadow is not None
        return is_utf8(value) and not nesting.is_deeper(value, self._levels)


def _name_broken(source: bytes, reader: _Reader) -> str:
    named = []
    for number, low, high in reader.broken[:_LINES_NAMED]:
        found = diagnose(source[low:high])
        said = f"column {found.column}: {found.cause or found.message}" if found else "too deep"
        named.append(f"line {number} ({said})")
    more = reader.broken_count - len(named)
    lines = "; ".join(named) + (f"; and {more} more" if more else "")
    what = "line is" if reader.broken_count == 1 else "lines are"
    return f"{reader.broken_count} {what} no JSON and left out of the array: {lines}"
