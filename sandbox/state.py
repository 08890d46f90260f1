"""The toolbox's own folder in the workspace: the lock, open transactions and the history.

    .toolbox/.gitignore      keeps it out of git
    .toolbox/lock            held while somebody writes
    .toolbox/open/<id>/      a transaction that runs, or that a crash left
    .toolbox/history/<id>/   one that is done: its journal and the old files

It is made at the first write. A workspace may come with a hostile one: nothing in it is followed
through links, and journals are only believed where they carry their own inode number.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sandbox.errors import Busy, WriteFailed
from sandbox.journal import ID, NAME, Foreign, Journal, decode
from sandbox.limits import JOURNAL_BYTES
from sandbox.operations import Operations, write_failed
from sandbox.resolve import FOLDER_FLAGS
from sandbox.root import Root

FOLDER: Final = b".toolbox"
OPEN: Final = b"open"
HISTORY: Final = b"history"
LOCK: Final = b"lock"
_FOLDER_MODE: Final = 0o700  # undo copies may hold what its owner alone may read
_LOCK_FLAGS: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_POLL_SECONDS: Final = 0.005  # a write takes some milliseconds


class State:
    """The folder, open; its descriptors are closed with it."""

    def __init__(self, fd: int, open_fd: int, history_fd: int) -> None:
        self.fd = fd
        self.open_fd = open_fd
        self.history_fd = history_fd

    @classmethod
    def find(cls, root: Root) -> State | None:
        """The state where there is one; nothing is made."""
        try:
            return cls._open(root, None)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise _unusable(exc) from None

    @classmethod
    def make(cls, root: Root, operations: Operations) -> State:
        """The state, made where it is missing; WriteFailed where it cannot be."""
        try:
            return cls._open(root, operations)
        except OSError as exc:
            raise _unusable(exc) from None

    @classmethod
    def _open(cls, root: Root, operations: Operations | None) -> State:
        fds: list[int] = []
        try:
            fds.append(_folder(root.fd, FOLDER, operations))
            if operations is not None:
                _ignore(fds[0], operations)
            fds.append(_folder(fds[0], OPEN, operations))
            fds.append(_folder(fds[0], HISTORY, operations))
        except BaseException:
            for fd in fds:
                os.close(fd)
            raise
        return cls(*fds)

    def close(self) -> None:
        for fd in (self.fd, self.open_fd, self.history_fd):
            os.close(fd)

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def locked(self, *, exclusive: bool, seconds: float) -> Iterator[None]:
        """Hold the lock; Busy where somebody else does for longer than that."""
        flags = _LOCK_FLAGS | os.O_CREAT
        try:
            fd = os.open(LOCK, flags, 0o600, dir_fd=self.fd)
        except OSError as exc:
            raise _unusable(exc) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise WriteFailed("`.toolbox/lock` is no regular file; remove it")
            _wait(fd, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, seconds)
            yield
        finally:
            os.close(fd)

    def open_ids(self) -> list[str]:
        """Transactions that are open, oldest first, whatever their names look like."""
        return sorted(os.listdir(self.open_fd))

    def history_ids(self) -> list[str]:
        """Transactions that are done, newest first."""
        return sorted((one for one in os.listdir(self.history_fd) if ID.match(one)), reverse=True)


def _folder(parent: int, name: bytes, operations: Operations | None) -> int:
    """An own folder, never through a link; made where operations are given."""
    try:
        return os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    except FileNotFoundError:
        if operations is None:
            raise
    try:
        operations.make_folder(parent, name, _FOLDER_MODE)
    except FileExistsError:
        pass  # another daemon was first
    return os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)


def _ignore(fd: int, operations: Operations) -> None:
    """The folder's own `.gitignore`, so that no repository ever sees it."""
    try:
        os.stat(b".gitignore", dir_fd=fd, follow_symlinks=False)
        return
    except FileNotFoundError:
        pass
    try:
        made = operations.create(fd, b".gitignore", 0o644)
    except FileExistsError:
        return
    try:
        operations.write(made, b"*\n")
    finally:
        os.close(made)


def _wait(fd: int, how: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise Busy(
                    f"another write to this workspace went on for more than {seconds:g} s",
                    hint="send the same call again in a moment",
                ) from None
            time.sleep(_POLL_SECONDS)


def _unusable(exc: OSError) -> Exception:
    if exc.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EISDIR):
        return WriteFailed(
            "`.toolbox` or something in it is a link or not of the kind the toolbox makes; "
            "nothing was changed",
            hint="a person should look at it and remove it",
            at={"path": ".toolbox"},
        )
    return write_failed(exc, ".toolbox")


def read_journal(folder_fd: int, id: str, root: Root) -> Journal | None:
    """The journal in a transaction's folder; None where there is none, Foreign where it is not
    this workspace's own."""
    try:
        fd = os.open(NAME, _READ_FLAGS, dir_fd=folder_fd)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Foreign(f"it cannot be read: {exc.strerror}") from None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > JOURNAL_BYTES:
            raise Foreign("it is no file of a journal's size")
        data = b""
        while len(data) < found.st_size:
            part = os.read(fd, found.st_size - len(data))
            if not part:
                break
            data += part
    finally:
        os.close(fd)
    return decode(data, id=id, ino=found.st_ino, root_ino=root.identity[1])
