"""Bounded reads: the bytes of one version of a file, or an error that says why not."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sandbox.errors import Changed, SandboxError, TooLarge
from sandbox.limits import READ_CHUNK_BYTES
from sandbox.root import OpenFile, RelPath, Root, Stamp


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held while its stamp was the one told."""

    data: bytes
    stamp: Stamp
    path: RelPath
    mode: int
    """Its permission bits."""


def read_file(root: Root, path: str, *, limit_bytes: int, what: str = "file") -> Content:
    """The whole file at a path, at most limit_bytes; `what` names its use in a refusal."""
    with root.open_file(path) as opened:
        return read_open(opened, limit_bytes=limit_bytes, what=what)


def read_open(opened: OpenFile, *, limit_bytes: int, what: str = "file") -> Content:
    """The whole open file, at most limit_bytes.

    The bytes that come are counted, whatever the size says: files grow, and pseudo files say 0.
    A change while reading is an error, never half of one version and half of another. The file is
    read, not mapped: a mapping of a file that others truncate kills the process.
    """
    before = opened.stamp
    if before.size > limit_bytes:
        raise _too_large(opened.path, before.size, limit_bytes, what)
    data = read_bytes(opened.fd, before.size, limit_bytes, opened.path, what)
    after = Stamp.of(opened.fd)
    if after != before:
        raise Changed(
            f"{opened.path} changed while it was read",
            hint="call again when whatever writes it is done",
            at={"path": opened.path},
        )
    return Content(data, before, opened.path, opened.mode)


def read_bytes(fd: int, size: int, limit_bytes: int, path: str, what: str = "file") -> bytes:
    """From the descriptor's place to the end; size is a guess that saves copies."""
    try:
        # One byte more than the size says: a shorter answer is the end, without another call.
        data = os.read(fd, min(size, limit_bytes) + 1)
        if size and len(data) == size:
            return data
        parts = [data]
        total = len(data)
        while data and total <= limit_bytes:
            data = os.read(fd, min(READ_CHUNK_BYTES, limit_bytes + 1 - total))
            parts.append(data)
            total += len(data)
    except OSError as exc:
        raise SandboxError(f"{path} cannot be read: {exc.strerror}", at={"path": path}) from None
    if total > limit_bytes:
        raise _too_large(path, None, limit_bytes, what)
    return b"".join(parts)


def _too_large(path: str, size: int | None, limit_bytes: int, what: str) -> TooLarge:
    got = f"{size:,}".replace(",", " ") if size is not None else "more"
    limit = f"{limit_bytes:,}".replace(",", " ")
    return TooLarge(
        f"{path} is too large for a {what}: it has {got} bytes, at most {limit} are read",
        hint="split it, or take the part that matters into a smaller file first",
        at={"path": path, "size_bytes": size, "limit_bytes": limit_bytes},
    )
