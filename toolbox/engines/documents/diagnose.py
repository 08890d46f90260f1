"""Why a text is not JSON: the first fault, its place, what was expected, and the likely cause."""

from __future__ import annotations

import codecs
from typing import Final

import msgspec

from toolbox.engines.documents.positions import BOM, locate, show_character, snippet


class Diagnosis(msgspec.Struct, frozen=True):
    """The first fault of a text that is not JSON."""

    line: int
    """1-based; `\\n`, `\\r\\n` and a lone `\\r` end lines."""
    column: int
    """1-based, in code points; a tab is one, a byte order mark none."""
    offset: int
    """In bytes from the start of the source, its byte order mark included."""
    message: str
    """Expected X, got Y."""
    cause: str | None
    """What most likely went wrong, and how to mend it."""
    snippet: str
    kind: str = "syntax"
    """`encoding` and `json-lines` where it is that, else `syntax`."""


_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32 (little-endian)"),
    (codecs.BOM_UTF32_BE, "UTF-32 (big-endian)"),
    (codecs.BOM_UTF16_LE, "UTF-16 (little-endian)"),
    (codecs.BOM_UTF16_BE, "UTF-16 (big-endian)"),
)
_BARE_WIDE: Final = (  # an ASCII character first, then NULs: which bytes are not NUL
    ((1, 0, 0, 0), "UTF-32 (little-endian)"),
    ((0, 0, 0, 1), "UTF-32 (big-endian)"),
    ((1, 0, 1, 0), "UTF-16 (little-endian)"),
    ((0, 1, 0, 1), "UTF-16 (big-endian)"),
)


def name_wide_encoding(source: bytes) -> str | None:
    """The name of a UTF-16 or UTF-32 encoding that the source is in, else None."""
    for mark, name in _BOMS:
        if source.startswith(mark):
            return name
    if len(source) >= 2 and 0 in source[:4]:
        pattern = tuple(int(byte != 0) for byte in source[:4])
        for known, name in _BARE_WIDE:
            if pattern == known[: len(pattern)] and (len(pattern) == 4 or len(source) == 2):
                return name
    return None


def diagnose(source: bytes) -> Diagnosis | None:
    """The first fault of a JSON text (RFC 8259, UTF-8, a byte order mark allowed), or None.

    Depth and size have no limit here, and numbers no range; lone surrogate escapes are valid.
    """
    if wide := name_wide_encoding(source):
        return Diagnosis(
            1, 1, 0, f"expected UTF-8, got {wide}",
            f"the text is encoded as {wide}: save it as UTF-8", _wide_snippet(source, wide),
            "encoding",
        )  # fmt: skip
    start = len(BOM) if source.startswith(BOM) else 0
    broken: UnicodeDecodeError | None = None
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        broken = error
    end = broken.start if broken else len(source)
    # Only for a fault: their patterns take longer to compile than most documents to read.
    from toolbox.engines.documents.causes import explain
    from toolbox.engines.documents.scan import find_fault

    fault = find_fault(source, start, end)
    if broken and (fault is None or fault.offset >= end or fault.expected == "quote"):
        return _bad_utf8(source, broken)
    if fault is None:
        return None
    offset, message, cause, kind = explain(source, start, fault)
    line, column = locate(source, offset)
    return Diagnosis(line, column, offset, message, cause, snippet(source, offset), kind)


def _wide_snippet(source: bytes, wide: str) -> str:
    codec = wide[:6] + ("-LE" if "little" in wide else "-BE")
    text = source[:400].decode(codec, "replace").lstrip("\ufeff")
    return snippet(text.encode("utf-8", "replace"), 0)


def _bad_utf8(source: bytes, broken: UnicodeDecodeError) -> Diagnosis:
    line, column = locate(source, broken.start)
    message, cause = describe_bad_utf8(source, broken.start, broken.reason)
    return Diagnosis(
        line, column, broken.start, message, cause, snippet(source, broken.start), "encoding"
    )


def describe_bad_utf8(source: bytes, offset: int, reason: str) -> tuple[str, str]:
    """The message and cause for a byte that is not UTF-8; `reason` is the decoder's."""
    byte = source[offset]
    latin = bytes([byte]).decode("cp1252", "replace")
    return f"expected UTF-8, got the byte 0x{byte:02X}", (
        f"the bytes from here are not UTF-8 ({reason}); in Windows-1252 or Latin-1 this "
        f"byte is “{show_character(latin)}”: save the text as UTF-8"
    )
