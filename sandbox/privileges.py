"""What a worker gives up beside files and calls: capabilities, memory, descriptors, core dumps."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
from collections.abc import Iterable
from typing import Final

from sandbox import limits
from sandbox.landlock import Mode
from sandbox.seccomp import prctl

_PR_GET_PDEATHSIG: Final = 2
_PR_SET_DUMPABLE: Final = 4
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_CAPABILITY_VERSION_3: Final = 0x20080522

CAP_CHOWN: Final = 1 << 0
CAP_DAC_OVERRIDE: Final = 1 << 1
CAP_DAC_READ_SEARCH: Final = 1 << 2
CAP_FOWNER: Final = 1 << 3
CAP_FSETID: Final = 1 << 4

KEPT_CAPABILITIES: Final[dict[Mode, int]] = {
    "read": CAP_DAC_READ_SEARCH,
    "write": CAP_DAC_READ_SEARCH | CAP_DAC_OVERRIDE | CAP_CHOWN | CAP_FOWNER | CAP_FSETID,
}
"""What a daemon run by root leaves its workers, of what it has itself: reading files of other
users, and for the writer replacing them with their owner and mode kept. Both stay within the
folders that Landlock leaves; open_by_handle_at, the way round it, is refused by the filter. A
daemon of an ordinary user has none to begin with."""

_libc: Final = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def _capability_call(name: str, sets: ctypes.Array[_Sets]) -> None:
    header = _Header(_CAPABILITY_VERSION_3, 0)
    if getattr(_libc, name)(ctypes.byref(header), sets) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def capabilities() -> int:
    """The permitted set of this thread as a bit mask."""
    sets = (_Sets * 2)()
    _capability_call("capget", sets)
    return int(sets[0].permitted) | int(sets[1].permitted) << 32


def drop_capabilities(mode: Mode) -> int:
    """Give up every capability but those the role keeps; what is left, as a bit mask.

    The bounding set and the securebits stay: they only matter to an execve, which is refused.
    """
    left = capabilities() & KEPT_CAPABILITIES[mode]
    sets = (_Sets * 2)()
    for half, cell in enumerate(sets):
        cell.effective = cell.permitted = left >> 32 * half & 0xFFFFFFFF
    with contextlib.suppress(OSError):  # EINVAL before Linux 4.3, which had none
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    _capability_call("capset", sets)
    return left


def address_space_bytes() -> int:
    """What this process has mapped now; 0 where /proc cannot be read."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def set_limits(mode: Mode, memory_bytes: int | None) -> int:
    """Lower the resource limits of this process; the address space it is left with, in bytes.

    memory_bytes: the whole address space, at least what is mapped already and
    `limits.WORKER_HEADROOM_BYTES`; None for `limits.WORKER_MEMORY_BYTES`. Past it an allocation
    raises MemoryError in the call that asked, and no other process is hurt.
    """
    wanted = limits.WORKER_MEMORY_BYTES if memory_bytes is None else memory_bytes
    wanted = max(wanted, address_space_bytes() + limits.WORKER_HEADROOM_BYTES)
    _lower(resource.RLIMIT_AS, wanted)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, limits.WORKER_DESCRIPTORS)
    _lower(resource.RLIMIT_MSGQUEUE, 0)
    if mode == "write":
        _lower(resource.RLIMIT_FSIZE, limits.STAGED_BYTES)
    return resource.getrlimit(resource.RLIMIT_AS)[0]


def _lower(which: int, wanted: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard == resource.RLIM_INFINITY or hard > wanted:
        hard = wanted
    resource.setrlimit(which, (hard, hard))


def forbid_tracing() -> None:
    """Other processes of the same user cannot attach, and a crash leaves no core behind."""
    prctl(_PR_SET_DUMPABLE, 0)


def dies_with_parent() -> bool:
    """Whether the kernel sends SIGKILL when the process that forked this one ends."""
    signal_number = ctypes.c_int(0)
    prctl(_PR_GET_PDEATHSIG, ctypes.addressof(signal_number))
    return signal_number.value == 9


def thread_count() -> int:
    """How many threads this process has, those of libraries too; 0 where /proc is missing."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def open_descriptors() -> tuple[int, ...]:
    """Every open descriptor of this process, ascending.

    Where /proc is missing each number up to the limit is tried.
    """
    try:
        listed = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        listed = list(range(min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16)))
    return tuple(fd for fd in sorted(listed) if _is_open(fd))


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError as exc:
        return exc.errno != errno.EBADF
    return True


def close_descriptors(keep: Iterable[int]) -> tuple[int, ...]:
    """Close every descriptor but these; those that were closed.

    An object that still holds a closed one must not be closed later: its number may be another
    file's by then.
    """
    kept = frozenset(keep)
    closed = tuple(fd for fd in open_descriptors() if fd not in kept)
    for fd in closed:
        with contextlib.suppress(OSError):
            os.close(fd)
    return closed


def silence(fds: Iterable[int]) -> None:
    """Make these descriptors lead nowhere instead of closing them.

    A free number below 3 would be taken by the next file opened, and a stray print would then
    write into it.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        for fd in fds:
            if fd == null:
                null = os.dup(null)
            os.dup2(null, fd)
    finally:
        os.close(null)
