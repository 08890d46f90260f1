"""Members and elements of valid JSON text, sliced one after the other without decoding.

Slower than a native pass but with nothing kept: for containers of very many values, where an
object for each would take more memory than the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

BLANKS: Final = re.compile(rb"[ \t\n\r]*+")
GAP: Final = re.compile(rb"[ \t\n\r]*+,[ \t\n\r]*+")
"""Between two elements."""
KEY: Final = re.compile(rb'[ \t\n\r]*+("(?:[^"\\]++|\\.)*+")[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
"""A member's key with what stands around it, up to its value."""

_SCALAR: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^\s,\]}"\[{]++', re.DOTALL)
_STRUCTURE: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_QUOTE: Final = re.compile(rb'\\.|"', re.DOTALL)
_AFTER: Final = re.compile(rb"[ \t\n\r]*+([,\]}])")


def end_of(text: bytes, start: int) -> int:
    """The end of the value that starts at this offset."""
    if text[start] not in b"[{":
        found = _SCALAR.match(text, start)
        assert found is not None
        return found.end()
    depth = 0
    for token in _STRUCTURE.finditer(text, start):
        first = text[token.start()]
        if first in b"[{":
            depth += 1
        elif first != 0x22:
            depth -= 1
            if depth == 0:
                return token.end()
    raise AssertionError("the text is not valid JSON")


def skip_blanks(text: bytes, at: int) -> int:
    """The first offset from here on that holds no JSON whitespace."""
    found = BLANKS.match(text, at)
    assert found is not None
    return found.end()


def walk_elements(text: bytes, start: int) -> Iterator[tuple[int, int]]:
    """[start, end) of each element of the array that starts at this offset."""
    at = skip_blanks(text, start + 1)
    if text[at] == 0x5D:
        return
    while True:
        end = end_of(text, at)
        yield at, end
        after = _AFTER.match(text, end)
        assert after is not None
        if after[1] != b",":
            return
        at = skip_blanks(text, after.end())


def walk_members(text: bytes, start: int) -> Iterator[tuple[bytes, int, int]]:
    """The key as it is spelled, with quotes, and [start, end) of the value, of each member."""
    at = start + 1
    while found := KEY.match(text, at):
        end = end_of(text, found.end())
        yield found[1], found.end(), end
        after = _AFTER.match(text, end)
        assert after is not None
        at = after.end()
        if after[1] != b",":
            return


_WINDOW_BYTES: Final = 2 * 1024


def opening_before(text: bytes, at: int, reach_bytes: int) -> int | None:
    """Where the container starts that holds the value at this offset; None past the reach.

    It reads backwards in growing windows: the text ends outside a string, so the quotes counted
    from there tell what is inside one.
    """
    window = _WINDOW_BYTES
    while True:
        low = max(at - window, 0)
        while low > 0 and text[low - 1] == 0x5C:
            low -= 1
        quotes = [m.start() for m in _QUOTE.finditer(text, low, at) if m[0] == b'"']
        depth = 0
        right = at
        for k in range(len(quotes), -1, -1):
            if (len(quotes) - k) % 2 == 0:  # between this quote and `right` no string stands
                left = quotes[k - 1] + 1 if k else low
                for i in range(right - 1, left - 1, -1):
                    byte = text[i]
                    if byte in b"]}":
                        depth += 1
                    elif byte in b"[{":
                        if depth == 0:
                            return i
                        depth -= 1
            right = quotes[k - 1] if k else low
        if low == 0 or window >= reach_bytes:
            return None
        window *= 8
