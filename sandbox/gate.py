"""The daemon's Unix socket: its place, who may bind it, who may speak on it.

The folder is 0700 and ours, the socket is 0600 from its first moment, a lock file decides which
daemon may remove a stale socket, and the kernel says who is on the other end.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct
from typing import Final

from sandbox.admission import (
    Refusal,
    allowed_host,
    allowed_origin,
    check_content_type,
    check_length,
    check_request,
    check_token,
    is_loopback,
)
from sandbox.dial import (
    SOCKET_PATH_BYTES,
    GateError,
    UnsafePlace,
    connect,
    default_socket_path,
    may_speak,
    peer,
    peer_uid,
)

__all__ = [
    "SOCKET_PATH_BYTES",
    "AlreadyRunning",
    "GateError",
    "GateSocket",
    "Refusal",
    "SocketPathTooLong",
    "UnsafePlace",
    "adopt",
    "allowed_host",
    "allowed_origin",
    "bind",
    "check_content_type",
    "check_length",
    "check_request",
    "check_token",
    "connect",
    "default_socket_path",
    "handed_over",
    "is_loopback",
    "may_speak",
    "peer",
    "peer_uid",
    "pid_of",
]

_PID_BYTES: Final = 32
_FIRST_HANDED_FD: Final = 3
"""SD_LISTEN_FDS_START of sd_listen_fds(3)."""

_LOCK_SUFFIX: Final = ".lock"
_FLOCK: Final = struct.Struct("hhqqi4x")
"""struct flock of 64-bit Linux: type, whence, start, length, pid."""


class AlreadyRunning(GateError):
    """Raised when another daemon holds the socket's lock; pid is its process, 0 if unknown."""

    def __init__(self, message: str, pid: int) -> None:
        super().__init__(message)
        self.pid = pid


class SocketPathTooLong(GateError):
    """Raised when a path does not fit into a Unix socket's address."""


class GateSocket:
    """A bound socket and the lock that makes it the only one of its path.

    adopted: it came from a service manager, which goes on listening: its name stays at the end.
    """

    def __init__(
        self,
        sock: socket.socket,
        path: str,
        folder_fd: int,
        lock_fd: int,
        *,
        adopted: bool = False,
    ) -> None:
        self.socket = sock
        self.path = path
        self._folder_fd = folder_fd
        self._lock_fd = lock_fd
        self._identity = None if adopted else _identity(folder_fd, os.path.basename(path))

    def close(self) -> None:
        """Remove the socket if it is still the one that was bound, then let go of the lock.

        The lock file stays: a daemon that removed it could remove one that another just locked.
        """
        if self._lock_fd < 0:
            return
        name = os.path.basename(self.path)
        if self._identity is not None and _identity(self._folder_fd, name) == self._identity:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder_fd)
        self.socket.close()
        with contextlib.suppress(OSError):
            os.ftruncate(self._lock_fd, 0)
        os.close(self._lock_fd)
        os.close(self._folder_fd)
        self._lock_fd = self._folder_fd = -1


def bind(path: str) -> GateSocket:
    """A socket bound at the path, 0600 from its first moment, a stale one replaced.

    The folder is made where missing (0700). Raises AlreadyRunning, SocketPathTooLong, or
    UnsafePlace: a folder that is a link, not ours, or writable by others; a link or a file in the
    socket's place.
    """
    path = os.path.abspath(path)
    size = len(os.fsencode(path))
    if size > SOCKET_PATH_BYTES:
        raise SocketPathTooLong(
            f"expected a socket path of at most {SOCKET_PATH_BYTES} bytes, got {size}: {path}; "
            "give a shorter one with --socket PATH"
        )
    folder, name = os.path.split(path)
    folder_fd = _open_folder(folder)
    try:
        lock_fd = _lock(folder_fd, name, path)
        try:
            _remove_stale(folder_fd, name, path)
            sock = _bind(folder_fd, name)
            try:
                return GateSocket(sock, path, folder_fd, lock_fd)
            except BaseException:
                sock.close()
                raise
        except BaseException:
            os.close(lock_fd)
            raise
    except BaseException:
        os.close(folder_fd)
        raise


def handed_over() -> tuple[int, ...]:
    """Descriptors that a service manager opened for this process, by sd_listen_fds(3).

    They are close-on-exec from here on, and the variables that tell of them are removed. Raises
    GateError where a descriptor is told of and is not there.
    """
    pid = os.environ.pop("LISTEN_PID", "")
    count = os.environ.pop("LISTEN_FDS", "")
    for name in ("LISTEN_FDNAMES", "LISTEN_PIDFDID"):
        os.environ.pop(name, None)
    if pid != str(os.getpid()) or not count.isdigit():
        return ()
    fds = []
    for fd in range(_FIRST_HANDED_FD, _FIRST_HANDED_FD + int(count)):
        try:
            os.set_inheritable(fd, False)
        except OSError as exc:
            raise GateError(f"expected LISTEN_FDS={count} descriptors, got none at {fd}") from exc
        fds.append(fd)
    return tuple(fds)


def adopt(fds: tuple[int, ...]) -> GateSocket:
    """The listening socket that a service manager handed over, held to the rules of `bind`.

    Raises GateError where it is not one listening Unix stream socket with a path, UnsafePlace
    where others could use or swap it, AlreadyRunning.
    """
    if len(fds) != 1:
        raise GateError(f"expected one socket from the service manager, got {len(fds)}")
    try:
        sock = socket.socket(fileno=fds[0])
    except OSError as exc:
        raise GateError(f"expected a socket at descriptor {fds[0]}, got: {exc.strerror}") from exc
    try:
        return _adopt(sock)
    except BaseException:
        sock.close()
        raise


def _adopt(sock: socket.socket) -> GateSocket:
    place = sock.getsockname()
    if (
        sock.family != socket.AF_UNIX
        or sock.type != socket.SOCK_STREAM
        or not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        or not isinstance(place, str)
        or not os.path.isabs(place)
    ):
        raise GateError(
            "expected a listening Unix stream socket with a path from the service manager; "
            "in its unit: ListenStream=/an/absolute/path, Accept=no"
        )
    folder, name = os.path.split(place)
    folder_fd = _open_folder(folder)
    try:
        entry = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        mode = stat.S_IMODE(entry.st_mode)
        if not stat.S_ISSOCK(entry.st_mode) or entry.st_uid != os.geteuid() or mode & 0o077:
            raise UnsafePlace(
                f"expected a socket of this user's own with mode 0600, got mode {mode:04o} of uid "
                f"{entry.st_uid}: {place}; in its unit: SocketMode=0600"
            )
        return GateSocket(sock, place, folder_fd, _lock(folder_fd, name, place), adopted=True)
    except BaseException:
        os.close(folder_fd)
        raise


def _open_folder(folder: str) -> int:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError as exc:
        raise UnsafePlace(
            f"the folder of the socket cannot be made: {folder} has no parent"
        ) from exc
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafePlace(
                f"expected a folder for the socket, got a link or a file: {folder}"
            ) from exc
        raise
    entry = os.fstat(fd)
    if entry.st_uid != os.geteuid():
        os.close(fd)
        raise UnsafePlace(
            f"the socket's folder belongs to uid {entry.st_uid}, not to this user: {folder}"
        )
    if entry.st_mode & 0o022:
        os.close(fd)
        mode = stat.S_IMODE(entry.st_mode)
        raise UnsafePlace(
            f"others may write into the socket's folder (mode {mode:04o}): {folder}; "
            "chmod 700 it, or give another place with --socket PATH"
        )
    return fd


def _lock(folder_fd: int, name: str, path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(name + _LOCK_SUFFIX, flags, 0o600, dir_fd=folder_fd)
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise UnsafePlace(f"the socket's lock file is a link: {path}{_LOCK_SUFFIX}") from exc
        raise
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except BlockingIOError:
        pid = _read_pid(fd)
        os.close(fd)
        raise _already_running(path, pid) from None
    except BaseException:
        os.close(fd)
        raise
    os.ftruncate(fd, 0)
    os.pwrite(fd, b"%d\n" % os.getpid(), 0)
    return fd


def _already_running(path: str, pid: int) -> AlreadyRunning:
    who = f" (process {pid})" if pid else ""
    return AlreadyRunning(
        f"a daemon already runs{who} on {path}; use it, or end it with: toolbox stop", pid
    )


def _read_pid(fd: int) -> int:
    text = os.pread(fd, _PID_BYTES, 0).strip()
    return int(text) if text.isdigit() else 0


def _remove_stale(folder_fd: int, name: str, path: str) -> None:
    """Unlink the socket of a daemon that is gone.

    The lock is ours, so nobody should be behind it; but a cleaner of old temporary files may have
    taken the lock file of a daemon that lives, so the socket is asked too.
    """
    try:
        entry = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(entry.st_mode):
        raise UnsafePlace(f"expected a socket or nothing, got a link: {path}; remove it first")
    if not stat.S_ISSOCK(entry.st_mode):
        raise UnsafePlace(f"expected a socket or nothing, got a file: {path}; remove it first")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        code = probe.connect_ex(_address(folder_fd, name))
        if code in (0, errno.EAGAIN, errno.EINPROGRESS):
            raise _already_running(path, peer(probe)[0] if code == 0 else 0)
    os.unlink(name, dir_fd=folder_fd)


def _address(folder_fd: int, name: str) -> str:
    """The socket by way of the folder's descriptor, so that a folder swapped since is not used."""
    return f"/proc/self/fd/{folder_fd}/{name}"


def _bind(folder_fd: int, name: str) -> socket.socket:
    """0600 from the first moment: a chmod afterwards would leave a gap."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    before = os.umask(0o177)
    try:
        sock.bind(_address(folder_fd, name))
    except BaseException:
        sock.close()
        raise
    finally:
        os.umask(before)
    return sock


def _identity(folder_fd: int, name: str) -> tuple[int, int] | None:
    try:
        entry = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except OSError:
        return None
    return entry.st_dev, entry.st_ino


def pid_of(path: str) -> int | None:
    """The process that holds the lock of the socket at this path; None where no daemon runs."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        fd = os.open(path + _LOCK_SUFFIX, flags)
    except OSError:
        return None
    try:
        if os.fstat(fd).st_uid != os.geteuid():
            return None
        # Asked, not taken: a lock taken for a moment could turn a starting daemon away.
        question = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = _FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_OFD_GETLK, question))
        return None if answer[0] == fcntl.F_UNLCK else _read_pid(fd) or None
    finally:
        os.close(fd)
