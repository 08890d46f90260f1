"""The record of a transaction: enough to roll it back, and later to undo it.

It is the transaction's journal while it is open and its entry in the history afterwards. Each
carries its own inode number and the root's: one that came with a copied, cloned or unpacked folder
is somebody else's and is not followed.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from typing import Final, Literal

import msgspec

from sandbox.changes import Action
from sandbox.folders import require_plain

VERSION: Final = 1
NAME: Final = b"journal"
STAGING_NAME: Final = b"journal.tmp"
ID: Final = re.compile(r"[0-9a-f]{12}-[0-9a-f]{16}\Z")
_BACKUP: Final = re.compile(rb"\.bak(\.[1-9][0-9]*)?\Z")
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")

Kind = Literal["apply", "undo"]
Use = Literal["new", "old", "gone", "bak"]


class Before(msgspec.Struct, frozen=True):
    """A file as it was."""

    sha256: str
    size: int
    mode: int
    ino: int


class After(msgspec.Struct, frozen=True):
    """A file as it shall be; the mode is known once it was staged."""

    sha256: str
    size: int
    mode: int | None = None


class FileEntry(msgspec.Struct, frozen=True):
    """One path that changes. Paths and names are bytes, relative to the root."""

    folder: bytes
    name: bytes
    before: Before | None
    after: After | None
    stage: bytes
    """The existing folder in which the new content is prepared."""
    backup: bytes | None = None
    """The name of the backup beside it."""
    stays: bool = False
    """Whether it is only read, the source of a copy."""
    shifted: bytes | None = None
    """The name that the older backup moves to."""


class Done(msgspec.Struct, frozen=True):
    """One change as its caller asked for it, for receipts."""

    action: Action
    path: bytes
    source: bytes | None
    sha256_before: str | None
    sha256_after: str | None
    backup: bytes | None
    notes: tuple[str, ...]


class Journal(msgspec.Struct, frozen=True):
    """The whole record."""

    version: int
    id: str
    kind: Kind
    undoes: str | None
    ino: int
    """Its own inode number."""
    root_ino: int
    time_ns: int
    files: tuple[FileEntry, ...]
    made: tuple[bytes, ...]
    """Folders that it makes, shallowest first."""
    emptied: tuple[tuple[bytes, int], ...]
    """Folders that it removes where they are empty, deepest first, with their modes."""
    done: tuple[Done, ...]


class Foreign(Exception):
    """Raised for a journal that is not this workspace's own; the text says why."""


def new_id() -> str:
    """A fresh id; ids sort by time."""
    return f"{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(8)}"


def encode(journal: Journal) -> bytes:
    return msgspec.json.encode(journal)


def decode(data: bytes, *, id: str, ino: int, root_ino: int) -> Journal:
    """The journal in a file, checked in every field; Foreign where it is not our own."""
    try:
        journal = msgspec.json.decode(data, type=Journal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Foreign("it is not a journal") from None
    if journal.version != VERSION:
        raise Foreign(f"expected version {VERSION}, got {journal.version}")
    if journal.id != id or ID.match(id) is None:
        raise Foreign("its id is not its folder's name")
    if journal.ino != ino or journal.root_ino != root_ino:
        raise Foreign("it was written elsewhere and copied here")
    try:
        _check(journal)
    except Exception as exc:  # whatever a hostile record provokes, it is foreign
        raise Foreign(f"it contradicts itself: {exc}") from None
    return journal


def _check(journal: Journal) -> None:
    seen: set[bytes] = set()
    for entry in journal.files:
        require_plain(entry.name)
        _require_folder(entry.folder)
        _require_folder(entry.stage)
        path = entry.folder + b"/" + entry.name
        if path in seen:
            raise ValueError("a path twice")
        seen.add(path)
        for side in (entry.before, entry.after):
            if side is not None and _SHA256.match(side.sha256) is None:
                raise ValueError("a hash that is none")
        for name in (entry.backup, entry.shifted):
            if name is not None:
                require_plain(name)
                if _BACKUP.search(name) is None:
                    raise ValueError("a backup that is none")
    for folder in (*journal.made, *(one for one, _ in journal.emptied)):
        if not folder:
            raise ValueError("the root itself")
        _require_folder(folder)


def _require_folder(folder: bytes) -> None:
    if folder:
        for part in folder.split(b"/"):
            require_plain(part)


def old_name(index: int) -> bytes:
    """The undo copy of a file, in the transaction's folder."""
    return b"old.%d" % index


def gone_name(index: int) -> bytes:
    """Where a file that goes waits for the commit, in the transaction's folder."""
    return b"gone.%d" % index


READY: Final = b"ready"
"""Made once all is prepared: without it no path was touched yet."""


def temp_name(id: str, index: int, use: Use) -> bytes:
    """A temporary beside the files: unguessable through the id, recognisable afterwards."""
    return os.fsencode(f".toolbox-{id}-{index}.{use}.tmp")
