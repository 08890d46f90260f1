"""What a plan is made of: for each path what stands there and what shall stand there."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass, field

from sandbox.errors import Changed, NotAFile, SandboxError
from sandbox.folders import Folders, Spot
from sandbox.journal import Done
from sandbox.limits import READ_CHUNK_BYTES
from sandbox.resolve import READ_FLAGS
from sandbox.root import Root, Stamp, kind_of


@dataclass(frozen=True, slots=True)
class Old:
    """A regular file as it was found."""

    stamp: Stamp
    sha256: str
    mode: int
    links: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A file in an open folder that is not the workspace's: an old file of the history."""

    folder_fd: int
    name: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Stage:
    """How new content comes about.

    data: the bytes, or None for those of `like`. like: the path of the plan, or the kept file,
    whose mode, owner and attributes are taken too. link: the very inode moves.
    """

    data: bytes | None
    like: bytes | Kept | None
    executable: bool | None
    link: bool
    sha256: str
    size: int


@dataclass(slots=True)
class Planned:
    """One path."""

    spot: Spot
    old: Old | None = None
    stage: Stage | None = None
    stage_folder: bytes = b""
    backup: bytes | None = None
    shifted: bytes | None = None
    goes: bool = False
    """Whether nothing stands there afterwards; a copy's source has no stage and stays."""


@dataclass(slots=True)
class Plan:
    """All of it, in path order."""

    files: list[Planned] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    made: list[bytes] = field(default_factory=list)
    emptied: list[tuple[bytes, int]] = field(default_factory=list)


def look_at(root: Root, folders: Folders, spot: Spot) -> Old:
    """The regular file at a spot: its stamp, and the hash of exactly those bytes."""
    try:
        fd = os.open(spot.name, READ_FLAGS | os.O_NOFOLLOW, dir_fd=folders.fd(spot.folder))
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise NotAFile(
                f"expected a file at {spot.shown}, got a link", at={"path": spot.shown}
            ) from None
        raise root.refusal(exc, spot.shown) from None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise NotAFile(
                f"expected a file at {spot.shown}, got a {kind_of(found.st_mode)}",
                at={"path": spot.shown},
            )
        digest = hash_file(fd)
        after = os.fstat(fd)
        if Stamp.from_stat(after) != Stamp.from_stat(found):
            raise Changed(
                f"{spot.shown} changed while it was read",
                hint="call again when whatever writes it is done",
                at={"path": spot.shown},
            )
    except OSError as exc:
        raise SandboxError(f"{spot.shown} cannot be read: {exc.strerror}") from None
    finally:
        os.close(fd)
    return Old(Stamp.from_stat(found), digest, found.st_mode & 0o7777, found.st_nlink)


def hash_file(fd: int) -> str:
    """The hex SHA-256 from the descriptor's place to the end."""
    digest = hashlib.sha256()
    while True:
        part = os.read(fd, READ_CHUNK_BYTES)
        if not part:
            return digest.hexdigest()
        digest.update(part)
