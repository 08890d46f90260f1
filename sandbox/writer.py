"""New files prepared aside, and put in place without ever losing what stood there.

Each function works on names in open folders. Where a name is given up or taken over, what was
really there is looked at after the atomic call, and the call is reversed where it was not what the
plan had seen: between a check and a rename anybody may have written.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from sandbox.errors import Changed, Exists
from sandbox.limits import READ_CHUNK_BYTES
from sandbox.operations import Operations
from sandbox.root import Stamp

_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEVER_COPIED: Final = frozenset({"security.capability", "security.ima", "security.evm"})
"""Attributes that vouch for the old content; the kernel drops them on a write too."""
_ACCESS_LIST: Final = "system.posix_acl_access"
_KEPT_MODE: Final = 0o1777  # set-uid and set-gid do not survive a write
_NEW_MODE: Final = 0o666
_NEW_EXECUTABLE_MODE: Final = 0o777


def write_new(
    operations: Operations,
    folder: int,
    name: bytes,
    *,
    data: bytes | None,
    like_fd: int | None,
    executable: bool | None,
    sync: bool = True,
) -> int:
    """Write and, where asked, sync a new file; its mode comes back.

    Without like_fd it gets what new files get here (umask, the folder's default access list).
    With it: mode, owner, attributes and, where data is None, the content of that open file.
    FileExistsError where the name is taken: never opened, never followed.
    """
    if like_fd is None:
        mode = _NEW_EXECUTABLE_MODE if executable else _NEW_MODE
        fd = operations.create(folder, name, mode)
    else:
        fd = operations.create(folder, name, 0o600)
    try:
        if data is not None:
            operations.write(fd, data)
        elif like_fd is not None:
            _copy_content(operations, like_fd, fd)
        if like_fd is not None:
            _copy_metadata(operations, like_fd, fd, executable)
        if sync:
            operations.fsync(fd)
        return os.fstat(fd).st_mode & 0o7777
    finally:
        os.close(fd)


def _copy_content(operations: Operations, source: int, target: int) -> None:
    at = 0
    while True:
        part = os.pread(source, READ_CHUNK_BYTES, at)
        if not part:
            return
        operations.write(target, part)
        at += len(part)


def _copy_metadata(
    operations: Operations, source: int, target: int, executable: bool | None
) -> None:
    """Owner, attributes and access list, mode: in that order, since each can clear the next."""
    old = os.fstat(source)
    new = os.fstat(target)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            operations.set_owner(target, old.st_uid, old.st_gid)
        except PermissionError:
            pass  # another's file, written by right of its folder: it becomes ours
    kept = set(_attributes(source)) - _NEVER_COPIED
    for name in sorted(kept):
        try:
            operations.set_attribute(target, name, os.getxattr(source, name))
        except OSError as exc:
            if exc.errno not in (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENODATA):
                raise
    if _ACCESS_LIST not in kept and _ACCESS_LIST in _attributes(target):
        operations.remove_attribute(target, _ACCESS_LIST)
    mode = old.st_mode & _KEPT_MODE
    if executable is True:
        mode |= (mode & 0o444) >> 2
    elif executable is False:
        mode &= ~0o111
    operations.set_mode(target, mode)


def _attributes(fd: int) -> list[str]:
    try:
        return os.listxattr(fd)
    except OSError:
        return []  # a file system without them


def link_or_copy(
    operations: Operations, folder: int, name: bytes, to_folder: int, to_name: bytes
) -> None:
    """Another name for a file; a copy of it where links are not to be had."""
    if operations.link(folder, name, to_folder, to_name):
        return
    copy_file(operations, folder, name, to_folder, to_name)


def copy_file(
    operations: Operations, folder: int, name: bytes, to_folder: int, to_name: bytes
) -> None:
    """A copy with mode, owner and attributes, synced."""
    fd = open_regular(folder, name)
    try:
        write_new(operations, to_folder, to_name, data=None, like_fd=fd, executable=None)
    finally:
        os.close(fd)


def open_regular(folder: int, name: bytes) -> int:
    """A regular file, never through a link; Changed where it is something else by now."""
    fd = os.open(name, _READ_FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Changed("a file was replaced by something else while it was written to")
    return fd


def is_same(found: os.stat_result, seen: Stamp) -> bool:
    """Whether it is the file that was seen, unedited.

    The change time is left out: it moves with each link and rename of our own.
    """
    return (
        stat.S_ISREG(found.st_mode)
        and (found.st_dev, found.st_ino) == (seen.dev, seen.ino)
        and (found.st_size, found.st_mtime_ns) == (seen.size, seen.mtime_ns)
    )


def look(folder: int, name: bytes) -> os.stat_result | None:
    """lstat in an open folder, None where nothing stands."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def changed(shown: str) -> Changed:
    """The refusal for a file that somebody else wrote meanwhile."""
    return Changed(
        f"{shown} was changed by somebody else while it was written to; nothing was changed by us",
        hint="read it again and make the change anew",
        at={"path": shown},
    )


def take_away(
    operations: Operations,
    folder: int,
    name: bytes,
    to_folder: int,
    to_name: bytes,
    seen: Stamp,
    shown: str,
) -> None:
    """Move a file out of sight; Changed, and back again, where it was not the one seen."""
    try:
        operations.rename_new(folder, name, to_folder, to_name)
    except FileNotFoundError:
        raise changed(shown) from None
    found = look(to_folder, to_name)
    if found is None or not is_same(found, seen):
        operations.rename_new(to_folder, to_name, folder, name)
        raise changed(shown)


def put_new(
    operations: Operations, from_folder: int, temp: bytes, folder: int, name: bytes, shown: str
) -> None:
    """Move a prepared file onto a free name; Exists where it is not free."""
    try:
        operations.rename_new(from_folder, temp, folder, name)
    except FileExistsError:
        raise Exists(
            f"expected nothing at {shown}, got something that came meanwhile",
            hint="look at it, then choose another name or change what is there",
            at={"path": shown},
        ) from None


def put_over(
    operations: Operations, folder: int, temp: bytes, name: bytes, seen: Stamp, shown: str
) -> None:
    """Swap a prepared file with the one seen, which then has the temporary's name."""
    try:
        swapped = operations.exchange(folder, temp, name)
    except FileNotFoundError:
        raise changed(shown) from None
    if swapped:
        found = look(folder, temp)
        if found is None or not is_same(found, seen):
            operations.exchange(folder, temp, name)
            raise changed(shown)
        return
    found = look(folder, name)  # a file system that cannot swap: the smallest window there is
    if found is None or not is_same(found, seen):
        raise changed(shown)
    operations.rename(folder, temp, folder, name)
