"""Names that are never written: version control, editors' and agents' configuration, our own state.

What stands in them runs with the user's rights the next time a tool starts, so a patch that writes
there has left the workspace in all but name. They are judged on the resolved path, as every file
system that folds case, composes accents, ignores characters or cuts trailing dots would see it,
and by inode. Reading them stays allowed.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from typing import Final

from sandbox.errors import Protected, SandboxError
from sandbox.resolve import PATH_FLAGS
from sandbox.root import Root

PROTECTED_NAMES: Final = frozenset(
    {
        ".git",
        ".gitmodules",
        ".mcp.json",
        ".vscode",
        ".idea",
        ".claude",
        ".codex",
        ".cursor",
        ".gemini",
        ".toolbox",
    }
)
"""Protected at every depth, whether or not they exist."""

_SHORT_NAME: Final = re.compile(r"([^.~]{1,6})~[0-9]{1,6}(\.[^.]{0,3})?\Z")
_SHORT_STEMS: Final = frozenset(
    {name.lstrip(".").partition(".")[0][:6] for name in PROTECTED_NAMES} | {"gi7eba"}
)
"""What 8.3 aliases of the names begin with; the last is the hashed alias of `.gitmodules`."""

_IGNORABLE: Final = frozenset(
    [
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0xFE00, 0xFE10),
        *range(0xE0000, 0xE1000),
    ]
)
"""Unicode's Default_Ignorable_Code_Point beyond the category Cf; HFS+ and ext4 drop them."""

_GITFILE_BYTES: Final = 4096


def plain_name(name: str) -> str:
    """A component as the most forgiving file system would compare it."""
    kept = "".join(
        one
        for one in name
        if unicodedata.category(one) not in ("Cf", "Cc") and ord(one) not in _IGNORABLE
    )
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", kept).casefold())
    stream = folded.partition(":")[0]  # NTFS: `.git::$INDEX_ALLOCATION` is `.git`
    return stream.rstrip(". ")


@lru_cache(maxsize=4096)  # a patch names the same folders over and over
def is_protected_name(name: str) -> bool:
    """Whether a component is protected on any file system."""
    plain = plain_name(name)
    if plain in PROTECTED_NAMES:
        return True
    short = _SHORT_NAME.fullmatch(plain)
    return short is not None and short[1] in _SHORT_STEMS


class Guard:
    """What may not be written below one root; look at it anew for each transaction."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._identities = _identities(root)
        self._folders: dict[bytes, bool] = {b"": False}

    def check(self, resolved: bytes, shown: str) -> None:
        """Raise Protected where a resolved path has a protected component."""
        for part in resolved.split(b"/"):
            if is_protected_name(os.fsdecode(part)):
                raise Protected(
                    f"{shown} is never written: {os.fsdecode(part)} belongs to version control, "
                    "an editor, an agent or the toolbox itself",
                    hint="it can be read; a person has to make this change by hand",
                    at={"path": shown},
                )
        if self._identities and self._is_alias(resolved):
            raise Protected(
                f"{shown} is never written: it is another name of a protected file or folder",
                hint="it can be read; a person has to make this change by hand",
                at={"path": shown},
            )

    def _is_alias(self, resolved: bytes) -> bool:
        folder, _, name = resolved.rpartition(b"/")
        if self._in_protected_folder(folder):
            return True
        identity = self._identity(resolved)
        return bool(name) and identity in self._identities

    def _in_protected_folder(self, folder: bytes) -> bool:
        known = self._folders.get(folder)
        if known is None:
            known = False
            upto = b""
            for part in folder.split(b"/"):
                upto = upto + b"/" + part if upto else part
                if self._identity(upto) in self._identities:
                    known = True
                    break
            self._folders[folder] = known
        return known

    def _identity(self, path: bytes) -> tuple[int, int] | None:
        try:
            fd = self._root.resolver.open(self._root.fd, path, PATH_FLAGS)
        except OSError:
            return None
        try:
            found = os.fstat(fd)
            return found.st_dev, found.st_ino
        finally:
            os.close(fd)


def _identities(root: Root) -> frozenset[tuple[int, int]]:
    """The protected names at the root that exist, links followed, and where a `.git` file leads."""
    found: set[tuple[int, int]] = set()
    for name in PROTECTED_NAMES:
        try:
            fd = root.resolver.open(root.fd, name.encode(), PATH_FLAGS)
        except OSError:
            continue
        try:
            one = os.fstat(fd)
            found.add((one.st_dev, one.st_ino))
        finally:
            os.close(fd)
    found |= _gitfile_folder(root)
    found.discard(root.identity)  # a link `.git -> .` must not protect everything
    return frozenset(found)


def _gitfile_folder(root: Root) -> set[tuple[int, int]]:
    """The repository's own folder where `.git` is a file that names one inside the workspace."""
    try:
        with root.open_file(".git") as opened:
            text = os.read(opened.fd, _GITFILE_BYTES)
        if not text.startswith(b"gitdir:"):
            return set()
        with root.open_folder(os.fsdecode(text[7:].strip())) as folder:
            found = os.fstat(folder.fd)
            return {(found.st_dev, found.st_ino)}
    except (SandboxError, OSError):
        return set()
