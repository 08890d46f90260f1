"""JSON sources opened as documents: checked whole in one native pass, decoded not at all."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Final

import msgspec

from toolbox import limits
from toolbox.engines.documents import chains, nesting, surrogates
from toolbox.engines.documents.diagnose import diagnose, name_wide_encoding
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.kept import CHAIN, SHADOW
from toolbox.engines.documents.positions import BOM, locate, snippet
from toolbox.errors import ParseFailed

_CHUNK_BYTES: Final = 64 * 1024
"""Bytes whose UTF-8 is checked at once: small enough for the decoded text to stay in the cache."""

_FEW_BYTES: Final = 64 * 1024
"""A text up to this size is asked for its brackets before the guard is set: mostly they are few."""

_raw = msgspec.json.Decoder(msgspec.Raw)

BOM_NOTE: Final = "the text starts with a byte order mark (3 bytes), which is no part of it"


def open_json(
    source: bytes,
    *,
    chain: Sequence[str] = (),
    indexed: bool = False,
    nesting_levels: int = limits.NESTING_LEVELS,
) -> Document:
    """The document of a JSON source.

    chain: the keys of the path that is asked next, from the root, and `indexed` where an array
    index follows them. The pass that checks the whole text then also finds that value; without it
    the first question costs a pass of its own.

    ParseFailed with line, column (1-based, code points) and byte offset where the source is no
    JSON of RFC 8259: trailing data, another encoding, nesting past the limit included. Lone
    surrogate escapes are accepted and stay escapes.
    """
    at = len(BOM) if source.startswith(BOM) else 0
    text = source[at:] if at else source
    if name_wide_encoding(source) or not is_utf8(text):
        raise parse_failed(source)
    notes = (BOM_NOTE,) if at else ()
    shadow: surrogates.Shadow | None = None
    found: chains.Found | None = None

    def check() -> None:
        nonlocal found, shadow
        keys = chains.usable(tuple(chain))
        if keys == tuple(chain) and (keys or indexed):
            try:
                found = chains.decode(text, keys, indexed)
                return
            except (msgspec.DecodeError, RecursionError):
                pass  # a key on the way holds another type, or the text is at fault: ask it alone
        try:
            _raw.decode(text)
        except msgspec.DecodeError:
            shadow = surrogates.make_shadow(text)
            if shadow is None:
                raise
            _raw.decode(shadow.text)

    try:
        if len(text) <= _FEW_BYTES and nesting.has_few_brackets(text, nesting_levels):
            with nesting.room(nesting_levels):
                check()
            exact = True
        else:
            _, exact = nesting.guarded(nesting_levels, check)
    except RecursionError:
        raise too_deep(source, text, nesting_levels) from None
    except msgspec.DecodeError:
        raise parse_failed(source) from None
    if not exact and nesting.is_deeper(text, nesting_levels):
        raise too_deep(source, text, nesting_levels)
    document = Document(
        "json", text, len(source), text_offset=at, surrogates=shadow is not None, notes=notes
    )
    if shadow is not None:
        document.kept[SHADOW] = shadow
    elif found is not None:
        document.kept[CHAIN] = found
    return document


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8 (encoded surrogates and overlong forms are not)."""
    if data.isascii():
        return True
    view = memoryview(data)
    decode = codecs.utf_8_decode
    at, size = 0, len(data)
    try:
        while at < size:
            last = at + _CHUNK_BYTES >= size
            at += decode(view[at : at + _CHUNK_BYTES], "strict", last)[1]
    except UnicodeDecodeError:
        return False
    return True


def parse_failed(source: bytes) -> ParseFailed:
    """The error that tells why a source is not JSON, and where."""
    found = diagnose(source)
    if found is None:
        return ParseFailed("the text is no JSON that can be read")
    at = {
        "line": found.line, "column": found.column, "offset": found.offset,
        "message": found.message, "cause": found.cause, "snippet": found.snippet,
    }  # fmt: skip
    cause = f": {found.cause}" if found.cause else ""
    return ParseFailed(
        f"not valid JSON at line {found.line} column {found.column}: {found.message}{cause}\n"
        f"{found.snippet}",
        hint="validate tells the place and likely cause of the first fault",
        at=at,
    )


def too_deep(source: bytes, text: bytes, levels: int) -> ParseFailed:
    """The error for nesting past the limit, with the bracket that goes past it."""
    offset = (nesting.find_deeper(text, levels) or 0) + len(source) - len(text)
    line, column = locate(source, offset)
    return ParseFailed(
        f"nested deeper than the limit of {levels:,} levels at line {line} column {column}".replace(
            ",", " "
        ),
        hint="such depth is nearly always a fault of what wrote the file",
        at={
            "line": line, "column": column, "offset": offset,
            "cause": "nesting", "snippet": snippet(source, offset),
        },
    )  # fmt: skip
