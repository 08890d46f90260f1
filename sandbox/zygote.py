"""The process that workers are forked from: single-threaded, everything imported, nothing else.

The daemon forks it before it starts a thread or a loop. It sits on a control socket, forks a
worker for each request, hands back the worker's socket and a pidfd (so that a kill can never hit
a reused pid), and reaps. It dies with the daemon, workers die with it.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

ROLES: Final = ("read", "write")
_MESSAGE_BYTES: Final = 64
_PR_SET_PDEATHSIG: Final = 1
_FDS: Final = 2


class ZygoteDied(Exception):
    """Raised when the process that forks workers is gone: the daemon cannot go on."""


class ForkFailed(Exception):
    """Raised when there was no process or descriptor left for one more worker; it may pass."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """A fresh worker: its pid, a pidfd for it, and our end of its socket."""

    pid: int
    pidfd: int
    channel: socket.socket

    def kill(self) -> None:
        """SIGKILL it; no error where it is gone already."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Give back the descriptors."""
        self.channel.close()
        os.close(self.pidfd)


Main = Callable[[str, socket.socket], None]
"""What a worker does: role and channel; it returns when the channel closes."""


def die_with_parent(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent's thread ends; exit where it has already.

    parent: its pid, noted before the fork. It may be 1: a daemon is the first process of its
    container.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class Zygote:
    """The daemon's side: ask for workers, one answer for each request, in order."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self.control = control

    @classmethod
    def start(cls, preload: Callable[[], None], main: Main) -> Zygote:
        """Fork it. The caller must be single-threaded; both functions run in children only."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            ours.close()
            _run(theirs, preload, main, parent)
        theirs.close()
        ours.setblocking(False)
        return cls(pid, ours)

    def request(self, role: str) -> None:
        """Ask for a worker; its answer comes later, see `receive`."""
        try:
            self.control.send(role.encode())
        except (BrokenPipeError, ConnectionResetError) as exc:
            raise ZygoteDied("the process that forks workers is gone") from exc

    def receive(self) -> Spawned:
        """The next answer; BlockingIOError where none has come yet, ForkFailed for a refusal."""
        fds = array.array("i")
        data, ancillary, _, _ = self.control.recvmsg(
            _MESSAGE_BYTES, socket.CMSG_SPACE(_FDS * fds.itemsize), socket.MSG_CMSG_CLOEXEC
        )
        if not data:
            raise ZygoteDied("the process that forks workers is gone")
        for level, kind, blob in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(blob[: len(blob) - len(blob) % fds.itemsize])
        if len(fds) != _FDS:
            for fd in fds:
                os.close(fd)
            raise ForkFailed(f"no worker could be forked: {data.decode(errors='replace')}")
        return Spawned(int(data), fds[1], socket.socket(fileno=fds[0]))

    def stop(self) -> None:
        """End it, also while it still imports; its workers end with it."""
        self.control.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _run(control: socket.socket, preload: Callable[[], None], main: Main, parent: int) -> NoReturn:
    status = 1
    try:
        die_with_parent(parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)  # the daemon's standard output is a door
        os.close(null)
        preload()
        _loop(control, main)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _loop(control: socket.socket, main: Main) -> None:
    wake_r, wake_w = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(wake_r, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if wake_r in ready:
                with contextlib.suppress(BlockingIOError):
                    while os.read(wake_r, 4096):
                        pass
                _reap()
            if control.fileno() in ready:
                role = control.recv(_MESSAGE_BYTES)
                if not role:
                    return
                _fork(control, role.decode(), main, (wake_r, wake_w, selector.fileno()))


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork(control: socket.socket, role: str, main: Main, private: tuple[int, ...]) -> None:
    theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as exc:
        control.send(f"error {exc.strerror}".encode()[:_MESSAGE_BYTES])
        theirs.close()
        ours.close()
        return
    if pid == 0:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            die_with_parent(parent)
            theirs.close()
            control.close()
            for fd in private:
                os.close(fd)
            main(role, ours)
            status = 0
        except (BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
            status = 0  # the daemon went away first
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    pidfd = os.pidfd_open(pid)
    rights = array.array("i", [theirs.fileno(), pidfd]).tobytes()
    control.sendmsg([str(pid).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    theirs.close()
    ours.close()
    os.close(pidfd)
