"""Every system call that changes the workspace, one method each, behind one seam.

The seam is for tests: a hook sees each call before it is made and may raise or end the process,
which is how the crash and full-disk tests stop a transaction at every single step. Everything is
relative to open folders; nothing here takes an absolute path.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Final

from sandbox.errors import SandboxError, WriteFailed
from sandbox.system import RENAME_EXCHANGE, RENAME_NOREPLACE, rename_special, start_writeback

Hook = Callable[[str], None]

_NEW_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SYNC_THREADS: Final = 4
_SYNC_TOGETHER: Final = 8  # below it threads cost more than they save
_SYNC_BATCH: Final = 128  # descriptors open at once
_LACKING: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})
_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES}
)


class Operations:
    """The calls. Each raises OSError as the kernel answers."""

    def __init__(self, hook: Hook | None = None) -> None:
        self._hook = hook

    def _before(self, name: str) -> None:
        if self._hook is not None:
            self._hook(name)

    def create(self, folder: int, name: bytes, mode: int) -> int:
        """A new file open for writing; FileExistsError where the name is taken by anything."""
        self._before("create")
        return os.open(name, _NEW_FLAGS, mode, dir_fd=folder)

    def write(self, fd: int, data: bytes | memoryview) -> None:
        """All of the data."""
        view = memoryview(data)
        while True:
            self._before("write")
            written = os.write(fd, view)
            if written >= len(view):
                return
            view = view[written:]

    def fsync(self, fd: int) -> None:
        self._before("fsync")
        os.fsync(fd)

    def fsync_all(self, opens: Sequence[Callable[[], int]]) -> None:
        """Sync what each function opens; side by side where there are many.

        A file system gathers syncs that wait at once into one commit: on a busy disk 200 files
        took 430 ms one after the other and 110 ms so.
        """
        waiting = list(reversed(opens))
        while waiting:
            fds: list[int] = []
            try:
                while waiting and len(fds) < _SYNC_BATCH:
                    self._before("fsync")
                    try:
                        fds.append(waiting[-1]())
                    except OSError as exc:
                        if exc.errno != errno.EMFILE or not fds:
                            raise
                        break  # these first, then there is room again
                    waiting.pop()
                _sync(fds)
            finally:
                for fd in fds:
                    os.close(fd)

    def set_mode(self, fd: int, mode: int) -> None:
        self._before("fchmod")
        os.fchmod(fd, mode)

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        self._before("fchown")
        os.fchown(fd, uid, gid)

    def set_attribute(self, fd: int, name: str, value: bytes) -> None:
        self._before("fsetxattr")
        os.setxattr(fd, name, value)

    def remove_attribute(self, fd: int, name: str) -> None:
        self._before("fremovexattr")
        os.removexattr(fd, name)

    def make_folder(self, folder: int, name: bytes, mode: int) -> None:
        self._before("mkdir")
        os.mkdir(name, mode, dir_fd=folder)

    def remove_folder(self, folder: int, name: bytes) -> None:
        self._before("rmdir")
        os.rmdir(name, dir_fd=folder)

    def unlink(self, folder: int, name: bytes) -> None:
        self._before("unlink")
        os.unlink(name, dir_fd=folder)

    def link(self, folder: int, name: bytes, to_folder: int, to_name: bytes) -> bool:
        """Another name for a file; False where the file system or the kernel allows none."""
        self._before("link")
        try:
            os.link(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
        except OSError as exc:
            if exc.errno in _NO_LINKS:
                return False
            raise
        return True

    def rename(self, folder: int, name: bytes, to_folder: int, to_name: bytes) -> None:
        """Plain rename: whatever has the new name is replaced."""
        self._before("rename")
        os.rename(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder)

    def rename_new(self, folder: int, name: bytes, to_folder: int, to_name: bytes) -> None:
        """Rename onto a free name; FileExistsError where it is taken, whatever the race."""
        self._before("renameat2")
        try:
            rename_special(folder, name, to_folder, to_name, RENAME_NOREPLACE)
            return
        except OSError as exc:
            if exc.errno == errno.EEXIST:
                raise FileExistsError(exc.errno, exc.strerror) from None
            if exc.errno not in _LACKING:
                raise
        if self.link(folder, name, to_folder, to_name):  # as atomic, in two steps
            self.unlink(folder, name)
            return
        try:
            os.stat(to_name, dir_fd=to_folder, follow_symlinks=False)
        except FileNotFoundError:
            self.rename(folder, name, to_folder, to_name)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    def exchange(self, folder: int, name: bytes, other: bytes) -> bool:
        """Swap two names of one folder; False where the file system cannot."""
        self._before("renameat2")
        try:
            rename_special(folder, name, folder, other, RENAME_EXCHANGE)
        except OSError as exc:
            if exc.errno in _LACKING:
                return False
            raise
        return True

    def discard(self, folder: int, name: bytes) -> None:
        """Unlink where it is there."""
        try:
            self.unlink(folder, name)
        except FileNotFoundError:
            pass


def _sync(fds: list[int]) -> None:
    """All of them, by this thread and some others; the first failure where there is one."""
    failures: list[OSError] = []
    if len(fds) < _SYNC_TOGETHER:
        _sync_in_turn(fds, failures)
    else:
        for fd in fds:
            start_writeback(fd)
        threads = [
            Thread(target=_sync_in_turn, args=(fds[first::_SYNC_THREADS], failures))
            for first in range(1, _SYNC_THREADS)
        ]
        for thread in threads:
            thread.start()
        _sync_in_turn(fds[::_SYNC_THREADS], failures)
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def _sync_in_turn(fds: list[int], failures: list[OSError]) -> None:
    try:
        for fd in fds:
            os.fsync(fd)
    except OSError as exc:
        failures.append(exc)


def write_failed(exc: OSError, shown: str | None) -> SandboxError:
    """What the caller is told about a write that the system refused."""
    where = f" at {shown}" if shown else ""
    at = {"path": shown} if shown else None
    code = exc.errno
    if code in (errno.ENOSPC, errno.EDQUOT):
        return WriteFailed(
            f"the disk or quota is full{where}; nothing was changed",
            hint="free some space, then send the same call again",
            at=at,
        )
    if code == errno.EROFS:
        return WriteFailed(
            f"the file system is read-only{where}; nothing was changed",
            hint="the workspace can be read only",
            at=at,
        )
    if code in (errno.EACCES, errno.EPERM):
        return WriteFailed(
            f"permission denied{where}; nothing was changed",
            hint="the folder must allow the user that runs the toolbox to write in it",
            at=at,
        )
    return WriteFailed(
        f"the file system refused a write{where}: {os.strerror(code or 0)}; nothing was changed",
        hint="look at the disk, then send the same call again",
        at=at,
    )
