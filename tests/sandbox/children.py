"""Run a function in a forked child, confined or not, and see what became of it."""

from __future__ import annotations

import ctypes
import errno
import os
import pickle
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox import confine

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


def call(number: int, *arguments: object) -> int:
    """A system call by number; OSError as os functions raise it."""
    result: int = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


@dataclass(frozen=True)
class Outcome:
    """What a child did: `value` where it returned, `error` where it raised, `status` its end."""

    value: Any = None
    error: BaseException | None = None
    status: int = 0

    @property
    def went_through(self) -> bool:
        return self.error is None and self.status == 0

    @property
    def refused(self) -> bool:
        """Refused by the kernel, not failed for another reason."""
        return isinstance(self.error, OSError) and self.error.errno in (
            errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOSYS, errno.EBADF,
        )  # fmt: skip

    @property
    def killed_by(self) -> int:
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0


def in_child(act: Callable[[], Any]) -> Outcome:
    """Run it in a forked child; a child that became another program went through with None."""
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(source)
            os.set_inheritable(sink, False)
            try:
                report = pickle.dumps((act(), None))
            except BaseException as exc:
                report = _dump_error(exc)
            view = memoryview(report)
            while view:
                view = view[os.write(sink, view) :]
        finally:
            os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as pipe:
        data = pipe.read()
    status = os.waitpid(pid, 0)[1]
    if status and not os.WIFEXITED(status):
        return Outcome(status=status)
    if not data:
        return Outcome(status=status)
    value, error = pickle.loads(data)
    return Outcome(value, error, status)


def _dump_error(exc: BaseException) -> bytes:
    try:
        return pickle.dumps((None, exc))
    except BaseException:
        return pickle.dumps((None, RuntimeError(repr(exc))))


def confined(
    act: Callable[[], Any],
    root_fd: int,
    mode: confine.landlock.Mode,
    *,
    keep: tuple[int, ...] | None = None,
    policy: confine.Confinement = confine.Confinement.REQUIRE,
    before: Callable[[], object] | None = None,
    **more: Any,
) -> Outcome:
    """Run it in a forked child that was confined first. keep: None keeps every descriptor."""

    def run() -> Any:
        if before is not None:
            before()
        confine.apply(policy, root_fd, mode, keep=keep, **more)
        return act()

    return in_child(run)


def with_deadline(act: Callable[[], Any], seconds: int = 5) -> Callable[[], Any]:
    """The same, ended by SIGALRM where it hangs."""

    def run() -> Any:
        signal.alarm(seconds)
        return act()

    return run
