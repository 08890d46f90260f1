"""Line, column and a snippet with a caret for a byte offset in a source."""

from __future__ import annotations

import unicodedata
from typing import Final

BOM: Final = b"\xef\xbb\xbf"
SNIPPET_CHARACTERS: Final = 78
"""A snippet's width: it fits a terminal, and a 20 MB line costs no more than a short one."""


def _line_start(source: bytes, offset: int) -> int:
    start = max(source.rfind(b"\n", 0, offset), source.rfind(b"\r", 0, offset)) + 1
    return len(BOM) if start == 0 and source.startswith(BOM) and offset >= len(BOM) else start


def locate(source: bytes, offset: int) -> tuple[int, int]:
    """The 1-based line and column of a byte offset; a column is one code point, a tab too.

    `\\n`, `\\r\\n` and a lone `\\r` end a line; a byte order mark takes no column.
    """
    # The \n of a \r\n belongs to the line that the \r ends.
    within_crlf = source[offset - 1 : offset] == b"\r" and source[offset : offset + 1] == b"\n"
    head = offset - 1 if within_crlf else offset
    breaks = (
        source.count(b"\n", 0, head) + source.count(b"\r", 0, head)
        - source.count(b"\r\n", 0, head)
    )  # fmt: skip
    start = _line_start(source, head)
    return breaks + 1, len(source[start:offset].decode("utf-8", "replace")) + 1


def show_character(character: str) -> str:
    """One character as it can be read: controls as pictures, the invisible by number."""
    code = ord(character)
    if code < 0x20:
        return "→" if code == 9 else chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if character.isprintable():
        return character
    return f"<U+{code:04X}>"


def _width(shown: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in shown
    )


def snippet(source: bytes, offset: int, *, encoding: str = "utf-8") -> str:
    """The line around the offset, cut to a window, and a second line with a caret under it.

    Where nothing but blanks stands before the offset in its line, the line before comes first.
    """
    line, _ = locate(source, offset)
    start = _line_start(source, offset)
    reach = SNIPPET_CHARACTERS * 4
    low = max(start, offset - reach)
    while low < offset and source[low] & 0xC0 == 0x80:
        low += 1
    ends = [source.find(mark, offset, offset + reach) for mark in (b"\n", b"\r")]
    high = min([e for e in ends if e >= 0], default=min(offset + reach, len(source)))
    before = source[low:offset].decode(encoding, "backslashreplace")
    after = source[offset:high].decode(encoding, "backslashreplace")
    room = SNIPPET_CHARACTERS * 3 // 5
    cut_left = low > start or len(before) > room
    before = before[-room:] if cut_left else before
    rest = SNIPPET_CHARACTERS - len(before)
    cut_right = len(after) > rest or high == offset + reach
    after = after[:rest] if cut_right else after
    label = f"{line} | " + ("…" if cut_left else "")
    above = "" if before.strip() or cut_left else _line_above(source, start, encoding, line)
    shown = "".join(map(show_character, before))
    tail = "".join(map(show_character, after)) + ("…" if cut_right else "")
    return f"{above}{label}{shown}{tail}\n{' ' * (_width(label) + _width(shown))}^"


def _line_above(source: bytes, start: int, encoding: str, below: int) -> str:
    stop = len(source[max(0, start - 4096) : start].rstrip(b" \t\r\n"))
    stop += max(0, start - 4096)
    if stop == max(0, start - 4096):
        return ""
    line, _ = locate(source, stop)
    low = max(_line_start(source, stop), stop - SNIPPET_CHARACTERS * 4)
    text = source[low:stop].decode(encoding, "backslashreplace")
    cut = "…" if len(text) > SNIPPET_CHARACTERS else ""
    shown = "".join(map(show_character, text[:SNIPPET_CHARACTERS]))
    return f"{str(line).rjust(len(str(below)))} | {shown}{cut}\n"
