"""A system call filter for workers: what Landlock leaves open, closed.

`program(...)` builds the filter as bytes (no I/O, so that tests can run it on paper), `install`
hands it to the kernel. What is denied and why stands with the tables in `sandbox.syscalls`; the
calls judged by their arguments stand here. A filter sees registers, never memory: a path, or the
structure of openat2 and clone3, cannot be looked into.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Final

from sandbox import syscalls
from sandbox.landlock import Mode
from sandbox.syscalls import JUDGED, Architecture

ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
REFUSE: Final = _ERRNO | errno.EPERM
UNKNOWN: Final = _ERRNO | errno.ENOSYS
"""The answer to calls that have an older spelling: the C library falls back to that one."""

# Classic BPF: load a word, compare it, return. Offsets are those of struct seccomp_data.
_LOAD: Final = 0x20
_AND: Final = 0x54
_JUMP_EQUAL: Final = 0x15
_JUMP_MORE: Final = 0x25
_JUMP_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_NUMBER_AT: Final = 0
_ARCH_AT: Final = 4
_ARGUMENTS_AT: Final = 16

_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_SECCOMP_MODE_FILTER: Final = 2

_WRITING_FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CLONE_THREAD: Final = 0x00010000

IOCTLS: Final = (
    0x5401,  # TCGETS: isatty
    0x5413,  # TIOCGWINSZ: the width of a terminal
    0x541B,  # FIONREAD
    0x5421,  # FIONBIO
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
    0x80086601,  # FS_IOC_GETFLAGS
)
"""Device commands that are let through. All others are refused, TIOCSTI first: on the daemon's
terminal, which may be a worker's standard error, it types into the user's shell."""

_F_SETSIG: Final = 10
FCNTL_REFUSED: Final = (8, _F_SETSIG, 15, 1024, 1026)
"""F_SETOWN, F_SETSIG and F_SETOWN_EX send signals to any process; F_SETLEASE and F_NOTIFY watch
what others do to a file."""

PRCTLS: Final = (2, 3, 15, 16, 21, 23, 27, 39, 0x53564D41)
"""PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ,
PR_GET_SECUREBITS, PR_GET_NO_NEW_PRIVS and PR_SET_VMA, with which the C library names its memory.
PR_SET_DUMPABLE and PR_SET_PDEATHSIG are not among them: a worker could let itself be traced, or
outlive the daemon."""

Instruction = tuple[int, int, int, int]


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _return(action: int) -> Instruction:
    return (_RETURN, 0, 0, action)


def _argument(index: int, *, high: bool = False) -> Instruction:
    """Load the low or high half of an argument; both architectures are little-endian."""
    return _load(_ARGUMENTS_AT + 8 * index + (4 if high else 0))


def _only(index: int, values: tuple[int, ...], action: int) -> list[Instruction]:
    """Allow where the argument, an int, is one of the values, else the action."""
    rules = [_argument(index)]
    for value in values:
        rules += [(_JUMP_EQUAL, 0, 1, value), _return(ALLOW)]
    return [*rules, _return(action)]


def _never(index: int, values: tuple[int, ...], action: int) -> list[Instruction]:
    """The action where the argument, an int, is one of the values, else allow."""
    rules = [_argument(index)]
    for value in values:
        rules += [(_JUMP_EQUAL, 0, 1, value), _return(action)]
    return [*rules, _return(ALLOW)]


def _null(index: int, action: int) -> list[Instruction]:
    """Allow where the argument, a pointer, is null, else the action."""
    return [
        _argument(index),
        (_JUMP_EQUAL, 1, 0, 0),
        _return(action),
        _argument(index, high=True),
        (_JUMP_EQUAL, 1, 0, 0),
        _return(action),
        _return(ALLOW),
    ]


def _bits(index: int, mask: int, some: int, none: int) -> list[Instruction]:
    """One action where any bit of the mask is set in the argument, another where none is."""
    return [_argument(index), (_JUMP_ANY_BIT, 0, 1, mask), _return(some), _return(none)]


def _judged(mode: Mode, pid: int, landlocked: bool) -> dict[str, list[Instruction]]:
    rules = {
        "sendto": _null(4, REFUSE),  # with an address it is no longer the socket we have
        "clone": _bits(0, _CLONE_THREAD, ALLOW, REFUSE),
        "clone3": [_return(UNKNOWN)],
        "kill": _only(0, (pid,), REFUSE),
        "tgkill": _only(0, (pid,), REFUSE),
        "prlimit64": _null(2, REFUSE),
        "ioctl": _only(1, IOCTLS, REFUSE),
        "fcntl": _never(1, FCNTL_REFUSED, REFUSE),
        "prctl": _only(0, PRCTLS, REFUSE),
    }
    if mode == "write":
        rules["utimensat"] = _null(1, REFUSE)  # futimens: the descriptor itself
        return rules
    rules["open"] = _bits(1, _WRITING_FLAGS, REFUSE, ALLOW)
    rules["openat"] = _bits(2, _WRITING_FLAGS, REFUSE, ALLOW)
    if not landlocked:
        # Its flags lie in memory. Without it the component-wise walk opens with openat, whose
        # flags are seen: a read worker then cannot write even where Landlock is missing.
        rules["openat2"] = [_return(UNKNOWN)]
    return rules


def program(machine: Architecture, mode: Mode, *, pid: int, landlocked: bool) -> bytes:
    """The filter for one role, as the kernel's instructions of eight bytes each.

    pid: the only process that may be signalled. landlocked: whether Landlock holds the files.
    """
    rules: list[Instruction] = [
        _load(_ARCH_AT),
        (_JUMP_EQUAL, 1, 0, machine.audit),
        _return(KILL_PROCESS),  # a 32-bit call on a 64-bit kernel: other numbers, other meaning
        _load(_NUMBER_AT),
        (_JUMP_MORE, 0, 2 * len(syscalls.NEWER_ALLOWED) + 1, syscalls.LAST_TABLED),
    ]
    for number in syscalls.NEWER_ALLOWED:
        rules += [(_JUMP_EQUAL, 0, 1, number), _return(ALLOW)]
    rules.append(_return(UNKNOWN))  # newer than the tables, and x32
    judged = _judged(mode, pid, landlocked)
    denied = [*syscalls.EVERYWHERE, *([syscalls.WRITES] if mode == "read" else [])]
    for calls in denied:
        for name in calls:
            call = syscalls.number(calls, name, machine)
            if call is not None:
                rules += [(_JUMP_EQUAL, 0, 1, call), _return(REFUSE)]
    for name, block in judged.items():
        call = syscalls.number(JUDGED, name, machine)
        if call is not None:
            rules += [(_JUMP_EQUAL, 0, len(block), call), *block]
    rules.append(_return(ALLOW))
    return b"".join(struct.pack("<HBBI", *rule) for rule in rules)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


_prctl: Final = ctypes.CDLL(None, use_errno=True)["prctl"]
_prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_prctl.restype = ctypes.c_int


def prctl(option: int, *arguments: int) -> int:
    """prctl(2); OSError where the kernel refuses."""
    result: int = _prctl(option, *(*arguments, 0, 0, 0, 0)[:4])
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def set_no_new_privs() -> None:
    """Nothing this process executes can gain privileges; both Landlock and filters ask for it."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def install(code: bytes) -> None:
    """Put the filter on this thread and what it starts, for good; OSError where refused."""
    loaded = _Program(len(code) // 8, code)
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(loaded))
