"""Objects of a git repository, read through libgit2's object database and nothing else of it.

No repository is opened: no configuration, attribute, hook, filter or alternates file is read. The
caller finds the folders of objects and says which may be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from toolbox.errors import BadRevision, NotARepo

ID_BYTES: Final = 20
"""SHA-1. Repositories of SHA-256 objects are refused by the caller, by name."""

_KINDS: Final = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_CHECK_EVERY: Final = 50_000


class Object(NamedTuple):
    """What an id stands for: commit, tree, blob or tag, and its bytes."""

    kind: str
    data: bytes


def preload() -> None:
    """Import libgit2 and set it up (no search paths), before a worker is confined."""
    import pygit2
    from pygit2.enums import ConfigLevel

    for level in (
        ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL,
    ):  # fmt: skip
        pygit2.settings.search_path[level] = ""
    # git checks an object's hash where it is written, not at each read; a fifth of the time.
    pygit2.settings.enable_strict_hash_verification(False)


class Store:
    """The objects below some folders (`objects`, and its alternates), by binary id."""

    def __init__(self, folders: Sequence[str]) -> None:
        import pygit2

        preload()
        self._oid: Callable[..., Any] = pygit2.Oid
        self._odb: Any = pygit2.Odb()
        try:
            for folder in folders:
                self._odb.add_backend(pygit2.OdbBackendPack(folder), 2)
                self._odb.add_backend(pygit2.OdbBackendLoose(folder, -1, False), 1)
        except (pygit2.GitError, OSError, KeyError, ValueError):
            raise NotARepo("its folder of objects cannot be read") from None
        self._read = self._odb.read
        # A repository of objects alone: blobs that it hands out are compared without a copy.
        self._blobs: Any = pygit2.Repository()
        self._blobs.set_odb(self._odb)
        self._damaged: tuple[type[Exception], ...] = (pygit2.GitError, OSError, ValueError)
        self._absent: tuple[type[Exception], ...] = (KeyError, *self._damaged)

    def read(self, ident: bytes) -> Object:
        """The object of an id; BadRevision where the repository lacks it or it is damaged."""
        try:
            kind, data = self._read(self._oid(raw=ident))
        except self._absent as exc:
            raise _unreadable(ident, exc) from None
        return Object(_KINDS.get(int(kind), "other"), data)

    def blob(self, ident: bytes) -> Any:
        """The blob of an id, as a buffer that libgit2 compares without a copy."""
        try:
            return self._blobs[self._oid(raw=ident)]
        except self._absent as exc:
            raise _unreadable(ident, exc) from None

    def has(self, ident: bytes) -> bool:
        """Whether the repository has an object of this id."""
        return bool(self._odb.exists(self._oid(raw=ident)))

    def kind(self, ident: bytes) -> str:
        """The kind of an object that is there."""
        return _KINDS.get(int(self._odb.read_header(self._oid(raw=ident))[0]), "other")

    def size(self, ident: bytes) -> int | None:
        """The size in bytes of an object, or None where it is missing."""
        try:
            return int(self._odb.read_header(self._oid(raw=ident))[1])
        except self._absent:
            return None

    def matching(self, prefix: str, check: Callable[[], None]) -> list[bytes]:
        """Every id that begins with these hex digits, sorted.

        The usual case of one is asked of the index; only where that is ambiguous are all ids read.
        """
        try:
            return [self._blobs.expand_id(prefix).raw]
        except KeyError:
            return []
        except self._damaged:
            return self._scan(prefix, check)

    def _scan(self, prefix: str, check: Callable[[], None]) -> list[bytes]:
        found = set()
        for count, oid in enumerate(self._odb):
            if str(oid).startswith(prefix):
                found.add(oid.raw)
            if count % _CHECK_EVERY == 0:
                check()
        return sorted(found)


def _unreadable(ident: bytes, why: Exception) -> BadRevision:
    if isinstance(why, KeyError):
        return BadRevision(
            f"the repository lacks the object {ident.hex()}",
            hint="a shallow or partial clone holds only a part: fetch the rest with git",
            at={"id": ident.hex()},
        )
    return BadRevision(f"the object {ident.hex()} is damaged", at={"id": ident.hex()})


_HEADERS: Final = re.compile(rb"(tree|parent|object) ([0-9a-f]{40})\n")


def links(data: bytes) -> tuple[bytes | None, list[bytes]]:
    """What a commit or tag names in its header: its tree or object, and its parents."""
    target: bytes | None = None
    parents = []
    at = 0
    while match := _HEADERS.match(data, at):
        ident = bytes.fromhex(match[2].decode())
        if match[1] == b"parent":
            parents.append(ident)
        elif target is None:
            target = ident
        at = match.end()
    return target, parents
