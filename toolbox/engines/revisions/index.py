"""git's index file: which paths are tracked, and what their files were when git last looked."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from toolbox.engines.revisions.trees import Side, canonical

_HEAD: Final = struct.Struct(">4sII")
_ENTRY: Final = struct.Struct(">10I20sH")
_EXTENDED: Final = 0x4000
_NAME_MASK: Final = 0x0FFF
_STAGE_MASK: Final = 0x3000
_SKIP_WORKTREE: Final = 0x4000
_INTENT_TO_ADD: Final = 0x2000


class Tracked(NamedTuple):
    """A tracked path. The times and numbers are those of its file when `side` was recorded."""

    side: Side
    ctime_ns: int
    mtime_ns: int
    ino: int
    size: int
    skipped: bool
    """True where a sparse checkout leaves the file out."""


def parse(data: bytes) -> dict[bytes, Tracked] | None:
    """The tracked paths of an index of version 2, 3 or 4; None where it is none, or damaged.

    Of a conflict, the side of the branch that was checked out counts.
    """
    if len(data) < _HEAD.size:
        return None
    signature, version, count = _HEAD.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return None
    found: dict[bytes, Tracked] = {}
    at = _HEAD.size
    name = b""
    try:
        for _ in range(count):
            start = at
            (c_s, c_ns, m_s, m_ns, _, ino, mode, _, _, size, ident, flags) = _ENTRY.unpack_from(
                data, at
            )
            at += _ENTRY.size
            more = 0
            if flags & _EXTENDED:
                more = int.from_bytes(data[at : at + 2], "big")
                at += 2
            if version == 4:
                cut, at = _varint(data, at)
                end = data.index(b"\0", at)
                name = name[: len(name) - cut] + data[at:end]
                at = end + 1
            else:
                length = flags & _NAME_MASK
                end = at + length if length < _NAME_MASK else data.index(b"\0", at)
                name = data[at:end]
                at = start + ((end - start) // 8 + 1) * 8
            stage = (flags & _STAGE_MASK) >> 12
            if stage not in (0, 2) or more & _INTENT_TO_ADD:
                found.setdefault(name, Tracked(Side(0, b""), 0, 0, 0, 0, False))
                continue
            found[name] = Tracked(
                Side(canonical(mode), ident),
                c_s * 1_000_000_000 + c_ns,
                m_s * 1_000_000_000 + m_ns,
                ino,
                size,
                bool(more & _SKIP_WORKTREE),
            )
    except (struct.error, ValueError, IndexError):
        return None
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    value = byte & 0x7F
    while byte & 0x80:
        byte = data[at]
        at += 1
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at
