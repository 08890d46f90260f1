"""Lines made alike: what a hunk and a file are stripped of to see whether only that differs.

Every form works on a whole block of lines at native speed and leaves the line ends where they
are, so that a place found in it is a line of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_PUNCTUATION: Final = tuple(
    (character.encode(), plain)
    for characters, plain in (
        ("\u2018\u2019\u201a\u201b\u2032", b"'"),
        ("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", b'"'),
        ("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", b"-"),
        ("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", b" "),
        ("\u2026", b"..."),
        ("\u00d7", b"x"),
        ("\u200b\u200c\u200d\u2060\ufeff\u00ad", b""),
    )
    for character in characters
)
_ENTITIES: Final = (
    (b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&#34;", b'"'), (b"&#39;", b"'"),
    (b"&#x27;", b"'"), (b"&apos;", b"'"), (b"&nbsp;", b" "), (b"&#160;", b" "), (b"&#x2F;", b"/"),
    (b"&#96;", b"`"), (b"&#60;", b"<"), (b"&#62;", b">"), (b"&#38;", b"&"), (b"&amp;", b"&"),
)  # fmt: skip
_SPACES: Final = bytes.maketrans(b"\t\r\f\v", b"    ")


def drop_carriage_returns(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n")


def collapse_blanks(block: bytes) -> bytes:
    """Runs of blanks as one space, none at either end of a line."""
    block = block.translate(_SPACES)
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    return block.replace(b" \n", b"\n").replace(b"\n ", b"\n")


def plain_punctuation(block: bytes) -> bytes:
    """Typographic quotes, dashes and spaces as ASCII, invisible characters left out."""
    if block.isascii():
        return block
    for character, plain in _PUNCTUATION:
        if character in block:
            block = block.replace(character, plain)
    return block


def unescape_html(block: bytes) -> bytes:
    """The entities that escaping tools write as characters; `&amp;` last."""
    if b"&" in block:
        for entity, character in _ENTITIES:
            block = block.replace(entity, character)
    return block


def unescape_backslashes(block: bytes) -> bytes:
    """Quotes, slashes and backslashes without the backslash before them."""
    for escaped in (b'\\"', b"\\'", b"\\/", b"\\\\"):
        block = block.replace(escaped, escaped[1:])
    return block


def _always(file: bytes, hunk: bytes) -> bool:
    return True


FORMS: Final[dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes, bytes], bool]]]] = {
    "crlf-mismatch": (drop_carriage_returns, lambda file, hunk: b"\r\n" in file or b"\r\n" in hunk),
    "whitespace-mismatch": (collapse_blanks, _always),
    "typographic": (
        lambda block: collapse_blanks(plain_punctuation(block)),
        lambda file, hunk: not (file.isascii() and hunk.isascii()),
    ),
    "html-escaped": (
        lambda block: collapse_blanks(unescape_html(block)),
        lambda file, hunk: b"&" in file or b"&" in hunk,
    ),
    "backslash-escaped": (
        lambda block: collapse_blanks(unescape_backslashes(block)),
        lambda file, hunk: b"\\" in hunk,
    ),
}
"""Kind of difference → how it is looked past, and whether it can be there at all."""
