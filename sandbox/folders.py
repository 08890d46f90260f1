"""Where a write goes: resolved places, and the folders they are in, held open while it lasts."""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from typing import Final, NamedTuple

from sandbox.errors import (
    Changed,
    InvalidPath,
    NotAFile,
    NotFound,
    OutsideWorkspace,
    SandboxError,
)
from sandbox.resolve import FOLDER_FLAGS, Leaves, Place
from sandbox.root import RelPath, Root

HELD_FOLDERS: Final = 128
"""Folder descriptors of one transaction; a folder past it is opened again and must be the same."""


class Spot(NamedTuple):
    """A resolved place: every link on the way followed, no `..` left. Both parts are relative to
    the root; the folder may not exist yet and is empty for the root."""

    folder: bytes
    name: bytes

    @property
    def path(self) -> bytes:
        return join(self.folder, self.name)

    @property
    def shown(self) -> RelPath:
        return RelPath(os.fsdecode(self.path))


class Found(NamedTuple):
    """A spot, and what stood there when it was resolved."""

    spot: Spot
    exists: bool
    through_link: bool
    blocked_by: bytes | None
    """The path of a file that stands where a folder on the way would have to."""


def join(folder: bytes, name: bytes) -> bytes:
    """The two as one path; either may be empty."""
    return folder + b"/" + name if folder and name else folder or name


def parents(folder: bytes) -> list[bytes]:
    """The folder and every folder above it, deepest first, without the root."""
    found = []
    while folder:
        found.append(folder)
        folder = folder.rpartition(b"/")[0]
    return found


def find_spot(root: Root, folders: Folders, given: str) -> Found:
    """The spot that a path names; its folders need not exist yet.

    What exists is resolved by the walker, so a link that leaves the workspace is refused even
    where the leaf below it does not exist.
    """
    plain = root.relative(given)
    if plain == "." or given.endswith(("/", "/.")):
        raise NotAFile(
            f"expected the path of a file, got {plain if plain == '.' else given}, a folder",
            at={"path": plain},
        )
    near = _find_near(folders, plain)
    if near is not None:
        return near
    parts = plain.split("/")
    missing: list[str] = []
    first: NotFound | NotAFile | None = None
    while True:
        head = "/".join(parts)
        if not head:
            place = Place(-1, b"", b"", True, False)
            break
        try:
            place = root.locate(head)
            place.close()
            break
        except (NotFound, NotAFile) as exc:
            first = first or exc
            missing.insert(0, parts.pop())
            if missing[0] == "..":
                raise first from None
    if not missing:
        return Found(Spot(place.folder, place.name), place.exists, place.through_link, None)
    if not place.exists:
        if place.through_link:  # a link to nothing stands where a folder would have to be
            raise first or NotFound(f"{given} is not there")
        folder = place.path
        blocked = None
    else:
        folder = place.path if place.path != b"." else b""
        blocked = folder if folder and root.kind(os.fsdecode(folder)) != "folder" else None
        if blocked is None and isinstance(first, NotAFile):
            raise first
    for part in missing[:-1]:
        folder = join(folder, os.fsencode(part))
    return Found(Spot(folder, os.fsencode(missing[-1])), False, False, blocked)


def _find_near(folders: Folders, plain: str) -> Found | None:
    """The spot where nothing on the way is a link, which is nearly always; else None.

    Folders are opened without following links, so one that opens under its own path is resolved.
    """
    if ".." in plain:
        return None
    folder, _, name = os.fsencode(plain).rpartition(b"/")
    try:
        found = folders.look(Spot(folder, name))
        if found is None and not folders.exists(folder):
            return None
    except (OSError, SandboxError):
        return None  # the long way finds the words for it
    if found is not None and stat.S_ISLNK(found.st_mode):
        return None
    return Found(Spot(folder, name), found is not None, False, None)


class Folders:
    """Open folders by resolved path. One that was swapped since it was first opened is Changed."""

    def __init__(self, root: Root, held: int = HELD_FOLDERS) -> None:
        self._root = root
        self._held = held
        self._fds: OrderedDict[bytes, int] = OrderedDict()
        self._identities: dict[bytes, tuple[int, int]] = {}

    def fd(self, folder: bytes) -> int:
        """The folder's descriptor; FileNotFoundError where it does not exist.

        It stays open until `held` other folders were asked for.
        """
        known = self._fds.get(folder)
        if known is not None:
            self._fds.move_to_end(folder)
            return known
        fd = self._open(folder)
        try:
            found = os.fstat(fd)
            identity = (found.st_dev, found.st_ino)
            if self._identities.setdefault(folder, identity) != identity:
                raise Changed(
                    f"the folder {os.fsdecode(folder) or '.'} was replaced while it was written to",
                    hint="call again when whatever renames it is done",
                )
        except BaseException:
            os.close(fd)
            raise
        self._fds[folder] = fd
        while len(self._fds) > self._held:
            os.close(self._fds.popitem(last=False)[1])
        return fd

    def _open(self, folder: bytes) -> int:
        fd = os.open(b".", FOLDER_FLAGS, dir_fd=self._root.fd)
        for part in folder.split(b"/") if folder else ():
            try:
                step = self._root.walker.open_child(fd, part, FOLDER_FLAGS)
            except Leaves as exc:
                raise OutsideWorkspace(
                    f"{os.fsdecode(folder)} is a mount, which counts as outside the workspace"
                ) from exc
            except OSError as exc:
                if exc.errno == errno.ELOOP:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
                raise
            finally:
                os.close(fd)
            fd = step
        return fd

    def exists(self, folder: bytes) -> bool:
        """Whether the folder is there."""
        try:
            self.fd(folder)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def nearest(self, folder: bytes) -> bytes:
        """The folder itself or the nearest above it that exists."""
        for one in parents(folder):
            if self.exists(one):
                return one
        return b""

    def look(self, spot: Spot) -> os.stat_result | None:
        """lstat of what stands at a spot, None where nothing does."""
        try:
            return os.stat(spot.name, dir_fd=self.fd(spot.folder), follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def forget(self, folder: bytes) -> None:
        """Let go of a folder that was removed or is about to be made."""
        fd = self._fds.pop(folder, None)
        if fd is not None:
            os.close(fd)
        self._identities.pop(folder, None)

    def close(self) -> None:
        """Give back every descriptor."""
        while self._fds:
            os.close(self._fds.popitem()[1])


def require_plain(name: bytes) -> None:
    """Raise InvalidPath for a name that is no single component."""
    if not name or b"/" in name or b"\0" in name or name in (b".", b".."):
        raise InvalidPath("expected the name of one file")
