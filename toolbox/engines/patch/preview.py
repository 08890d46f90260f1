"""Bytes made readable: bounded previews with blanks, tabs and stray bytes visible."""

from __future__ import annotations

import re
from typing import Final

from toolbox.engines.patch.records import UNENDED

PREVIEW_CHARACTERS: Final = 120
"""Of a line, in messages: enough to know it again, not enough to dump a file."""

_HIDDEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]"
)
_NAMED: Final = {"\t": "\\t", "\r": "\\r", "\x0c": "\\f", "\x0b": "\\v", "\0": "\\0"}


def _visible(match: re.Match[str]) -> str:
    c = match[0]
    if c in _NAMED:
        return _NAMED[c]
    return f"\\x{ord(c):02x}" if ord(c) < 0x100 else f"\\u{ord(c):04x}"


def text_of(data: bytes) -> str:
    """Text for people: bytes that are not UTF-8 as \\xNN, nothing else changed."""
    return data.decode("utf-8", "backslashreplace")


def visible(data: bytes) -> str:
    """Text with control and invisible characters spelled out."""
    return _HIDDEN.sub(_visible, text_of(data))


def quote(line: bytes, limit: int = PREVIEW_CHARACTERS) -> str:
    """A line in double quotes, cut in the middle of nowhere but said."""
    line = line.removesuffix(UNENDED)
    text = visible(line[: limit * 4])
    if len(text) > limit or len(line) > limit * 4:
        return f'"{text[:limit]}…" ({len(line)} bytes)'
    return f'"{text}"'


def name_text(path: str) -> str:
    """A path for people and JSON: undecodable bytes as \\xNN, control characters spelled out."""
    return visible(path.encode("utf-8", "surrogateescape"))


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
