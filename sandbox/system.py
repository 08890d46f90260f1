"""The system calls that Python's os module lacks, over ctypes: openat2, renameat2, statx.

Each raises OSError as os functions do, with no path in it. The ctypes objects are built once.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, Final

AT_EMPTY_PATH: Final = 0x1000
RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2
RESOLVE_NO_XDEV: Final = 0x01
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08

_SYS_OPENAT2: Final = 437  # the same on every architecture: numbers are shared since 5.1
_STATX_MNT_ID: Final = 0x1000
_SYNC_FILE_RANGE_WRITE: Final = 2

_libc: Final = ctypes.CDLL(None, use_errno=True)


class OpenHow(ctypes.Structure):
    """`struct open_how` of openat2(2)."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class _Statx(ctypes.Structure):
    """The fields of `struct statx` that are used, 256 bytes as the kernel fills them."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("between", ctypes.c_char * 140),
        ("mount_id", ctypes.c_uint64),
        ("after", ctypes.c_char * 104),
    )


_HOW_BYTES: Final = ctypes.sizeof(OpenHow)


def _function(name: str, *types: Any, result: Any = ctypes.c_int) -> Any:
    """The C library's function of that name, or None where it has none."""
    try:
        found = ctypes.CDLL(None, use_errno=True)[name]  # an own object: own argument types
    except AttributeError:
        return None
    found.argtypes = types
    found.restype = result
    return found


_openat2: Final = _function(
    "syscall",
    ctypes.c_long,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    result=ctypes.c_long,
)
_renameat2: Final = _function(
    "renameat2", ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint
)
_statx: Final = _function(
    "statx", ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p
)


_sync_file_range: Final = _function(
    "sync_file_range", ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint
)


def open_how(flags: int, resolve: int) -> int:
    """The address of an `open_how` that lives as long as the process; build each one once."""
    how = OpenHow(flags, 0, resolve)
    _KEPT.append(how)
    return ctypes.addressof(how)


_KEPT: Final[list[OpenHow]] = []


def openat2(folder_fd: int, path: bytes, how: int) -> int:
    """A descriptor, or the negative errno: a failure is common here and an exception is slow.

    how: what `open_how` gave. path must hold no NUL: ctypes would cut it there.
    """
    fd: int = _openat2(_SYS_OPENAT2, folder_fd, path, how, _HOW_BYTES)
    return fd if fd >= 0 else -ctypes.get_errno()


def rename_special(
    source_fd: int, source: bytes, target_fd: int, target: bytes, flags: int
) -> None:
    """rename with RENAME_NOREPLACE or RENAME_EXCHANGE; ENOSYS where the C library lacks it."""
    if _renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if _renameat2(source_fd, source, target_fd, target, flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def start_writeback(fd: int) -> None:
    """Ask the kernel to begin writing a file's data out, without waiting; a hint only."""
    if _sync_file_range is not None:
        _sync_file_range(fd, 0, 0, _SYNC_FILE_RANGE_WRITE)


def mount_of(fd: int) -> tuple[str, int]:
    """What tells one mount from another: the mount's id, or the device where statx has no ids.

    The device alone cannot tell a bind mount of the same file system.
    """
    if _statx is not None:
        record = _Statx()
        if (
            _statx(fd, b"", AT_EMPTY_PATH, _STATX_MNT_ID, ctypes.addressof(record)) == 0
            and record.mask & _STATX_MNT_ID
        ):
            return "mount", record.mount_id
    return "device", os.fstat(fd).st_dev
