"""File names as the `---` and `+++` lines of a unified diff spell them."""

from __future__ import annotations

from typing import Final

_SHORT: Final = {
    0x07: b"\\a", 0x08: b"\\b", 0x09: b"\\t", 0x0A: b"\\n", 0x0B: b"\\v", 0x0C: b"\\f",
    0x0D: b"\\r", 0x22: b'\\"', 0x5C: b"\\\\",
}  # fmt: skip


def quote(name: str) -> bytes:
    """The name in git's style: in double quotes with C escapes where it needs them.

    Control characters, quotes, backslashes and bytes that are not UTF-8 (surrogate escapes in
    `name`) need them. A name with a blank gets a tab after it, as git writes it, so that `patch`
    does not take the rest for a date.
    """
    data = name.encode("utf-8", "surrogateescape")
    try:
        data.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    if valid and not any(byte < 0x20 or byte in (0x22, 0x5C, 0x7F) for byte in data):
        return data + b"\t" if b" " in data else data
    out = bytearray(b'"')
    for byte in data:
        if short := _SHORT.get(byte):
            out += short
        elif byte < 0x20 or byte >= 0x7F:
            out += b"\\%03o" % byte
        else:
            out.append(byte)
    out += b'"'
    return bytes(out)
