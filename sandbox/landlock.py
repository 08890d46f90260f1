"""Landlock: a process gives up every file that is not beneath a folder, for good.

The kernel's interface grew in versions (ABIs); what a version can hold is computed here, and what
it cannot is told. Source: `Documentation/userspace-api/landlock.rst` and `linux/landlock.h`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from typing import Final, Literal

from sandbox.syscalls import LANDLOCK_ADD_RULE, LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF

Mode = Literal["read", "write"]

_CREATE_RULESET_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
REMOVE_DIR: Final = 1 << 4
REMOVE_FILE: Final = 1 << 5
MAKE_CHAR: Final = 1 << 6
MAKE_DIR: Final = 1 << 7
MAKE_REG: Final = 1 << 8
MAKE_SOCK: Final = 1 << 9
MAKE_FIFO: Final = 1 << 10
MAKE_BLOCK: Final = 1 << 11
MAKE_SYM: Final = 1 << 12
REFER: Final = 1 << 13
TRUNCATE: Final = 1 << 14
IOCTL_DEV: Final = 1 << 15

BIND_TCP: Final = 1 << 0
CONNECT_TCP: Final = 1 << 1
SCOPE_ABSTRACT_UNIX: Final = 1 << 0
SCOPE_SIGNAL: Final = 1 << 1

ABI_REFER: Final = 2
ABI_TRUNCATE: Final = 3
ABI_TCP: Final = 4
ABI_IOCTL: Final = 5
ABI_SCOPE: Final = 6

_FIRST_FILES: Final = (1 << 13) - 1
READ: Final = READ_FILE | READ_DIR
WRITE: Final = (
    READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
)
"""What the write worker keeps beneath the root: no links, sockets, FIFOs or devices are made."""

_libc: Final = ctypes.CDLL(None, use_errno=True)


class _RulesetAttr(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def _call(nr: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(nr), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def abi() -> int:
    """The kernel's Landlock version, from 1; OSError where there is none.

    ENOSYS: not built in, or a filter around this process hides it. EOPNOTSUPP: built in, switched
    off at boot. EPERM: refused by a filter around this process.
    """
    version = ctypes.c_uint32(_CREATE_RULESET_VERSION)
    return _call(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), version)


def why_missing(error: OSError) -> str:
    """The reason in words for an OSError of `abi`."""
    return {
        errno.ENOSYS: "the kernel has no Landlock (Linux 5.13 brought it), or a container hides it",
        errno.EOPNOTSUPP: "Landlock is in the kernel but off at boot: add it to lsm= there",
        errno.EPERM: "the container around this process refuses Landlock",
    }.get(error.errno or 0, f"Landlock answered {error.strerror}")


def handled_files(version: int) -> int:
    """Every file access that this version can take away."""
    handled = _FIRST_FILES
    if version >= ABI_REFER:
        handled |= REFER
    if version >= ABI_TRUNCATE:
        handled |= TRUNCATE
    if version >= ABI_IOCTL:
        handled |= IOCTL_DEV
    return handled


def restrict(version: int, root_fd: int, mode: Mode, extra_read: Iterable[int] = ()) -> None:
    """Give up, for this thread and what it starts, every file but those beneath the folder.

    version: what `abi` gave. root_fd: a descriptor of the folder, O_PATH will do. extra_read:
    descriptors of more files or folders to read. Also gives up TCP and, by version, abstract Unix
    sockets and signals to processes outside. no_new_privs must be set; OSError where refused.
    """
    attr = _RulesetAttr(handled_access_fs=handled_files(version))
    size = 8
    if version >= ABI_TCP:
        attr.handled_access_net = BIND_TCP | CONNECT_TCP
        size = 16
    if version >= ABI_SCOPE:
        attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL
        size = 24
    ruleset = _call(
        LANDLOCK_CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), ctypes.c_uint32(0)
    )
    try:
        wanted = (READ if mode == "read" else WRITE) & attr.handled_access_fs
        _allow(ruleset, root_fd, wanted)
        for fd in extra_read:
            _allow(ruleset, fd, READ if stat.S_ISDIR(os.fstat(fd).st_mode) else READ_FILE)
        _call(LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, fd: int, access: int) -> None:
    rule = _PathBeneathAttr(access, fd)
    _call(
        LANDLOCK_ADD_RULE,
        ctypes.c_int(ruleset),
        ctypes.c_int(_RULE_PATH_BENEATH),
        ctypes.byref(rule),
        ctypes.c_uint32(0),
    )
