"""JSON texts with lone surrogate escapes, which native decoders refuse.

Such a text gets a shadow of the same length in which each lone escape is that of a private-use
character; decoders work on the shadow, and every slice is taken from the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

_UNITS: Final = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|u([dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|.)",
    re.DOTALL,
)

_BLOCKS: Final = ((0xE000, b"[eE][0-7]", b"\xee[\x80-\x9f]."),
                  (0xE800, b"[eE][89a-fA-F]", b"\xee[\xa0-\xbf]."),
                  (0xF000, b"[fF][0-7]", b"\xef[\x80-\x9f]."))  # fmt: skip
"""Runs of 2 048 private-use characters, as many as there are surrogates: first, how its escapes
begin, its UTF-8."""

_HINT: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Shadow(msgspec.Struct, frozen=True):
    """The text that decoders may read, and how its private-use characters lead back."""

    text: bytes
    base: int
    """The private-use character that stands for U+D800."""

    def restore(self, text: str) -> str:
        """A decoded string with its lone surrogates back."""
        if text.isascii():
            return text
        low, high = self.base, self.base + 0x800
        if not any(low <= ord(c) < high for c in text):
            return text
        return "".join(chr(ord(c) - low + 0xD800) if low <= ord(c) < high else c for c in text)

    def hide(self, text: str) -> str:
        """A string as decoders read it from the shadow."""
        if not has_surrogate(text):
            return text
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return "".join(
            chr(ord(c) - 0xD800 + self.base) if 0xD800 <= ord(c) < 0xE000 else c for c in joined
        )


def has_surrogate(text: str) -> bool:
    """True where a string holds surrogate code points."""
    return not text.isascii() and any(0xD800 <= ord(c) < 0xE000 for c in text)


def _lone(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The offset and digits of each lone surrogate escape."""
    for found in _UNITS.finditer(text):
        if found[3] is not None:
            yield found.start(), found[3]
        elif found[1] is not None and found[2] is None:
            yield found.start(), found[1]


def make_shadow(text: bytes) -> Shadow | None:
    """The shadow of a text, or None where it has no lone surrogate escape."""
    if not _HINT.search(text):
        return None
    lone = list(_lone(text))
    if not lone:
        return None
    base = _BLOCKS[0][0]
    for first, escape, utf8 in _BLOCKS:
        if not re.search(rb"\\u" + escape + rb"|" + utf8, text, re.DOTALL):
            base = first
            break
    parts: list[bytes] = []
    at = 0
    for offset, digits in lone:
        parts.append(text[at:offset])
        parts.append(b"\\u%04x" % (int(digits, 16) - 0xD800 + base))
        at = offset + 6
    parts.append(text[at:])
    return Shadow(b"".join(parts), base)


def copy_escapes(original: bytes, made: bytes) -> bytes:
    """`made` from a shadow by moving whitespace only, with the original's lone escapes back."""
    escapes = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
    spelled = escapes.findall(original)
    if not spelled:
        return made
    each = iter(spelled)
    return escapes.sub(lambda _: next(each), made)
