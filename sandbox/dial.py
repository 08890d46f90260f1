"""The caller's side of the daemon's socket: its place, and whether the right user listens.

Apart from `sandbox.gate` because it imports little: the command line starts with it.
"""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import struct

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from typing import Final

SOCKET_PATH_BYTES: Final = 107
"""`sun_path` of sockaddr_un holds 108 bytes with the closing NUL; longer ones are refused."""

_FOLDER_NAME: Final = "toolbox"
_NAME_HEX: Final = 24  # 96 bits of SHA-256: no two workspaces of one user meet
_UCRED: Final = struct.Struct("iII")


class GateError(Exception):
    """The base of what keeps a daemon from opening its socket. `str()` of it is for people."""


class UnsafePlace(GateError):
    """Raised when others could swap the socket, or something that is no socket stands there."""


def default_socket_path(workspace: str) -> str:
    """Where the workspace's socket belongs: the same answer for every spelling of the folder.

    In `$XDG_RUNTIME_DIR/toolbox`, or, where that is not set or not safe, in a folder of this user
    in `$TMPDIR` or `/tmp`. Nothing is made here.
    """
    real = os.fsencode(os.path.realpath(workspace))
    name = hashlib.sha256(real).hexdigest()[:_NAME_HEX] + ".sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and _is_private(runtime):
        path = os.path.join(runtime, _FOLDER_NAME, name)
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
            return path
    temporary = os.environ.get("TMPDIR", "")
    if not os.path.isabs(temporary):
        temporary = "/tmp"
    return os.path.join(temporary, f"{_FOLDER_NAME}-{os.geteuid()}", name)


def _is_private(folder: str) -> bool:
    try:
        entry = os.stat(folder, follow_symlinks=False)
    except OSError:
        return False
    return (
        stat.S_ISDIR(entry.st_mode)
        and entry.st_uid == os.geteuid()
        and stat.S_IMODE(entry.st_mode) & 0o077 == 0
    )


def peer_uid(sock: socket.socket) -> int:
    """The effective uid of the process that connected, as the kernel noted it then.

    -1 where it is gone or was never known.
    """
    return peer(sock)[1]


def peer(sock: socket.socket) -> tuple[int, int]:
    """The pid and effective uid of the process on the other end; (0, -1) where unknown."""
    try:
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    except OSError:
        return 0, -1
    pid, uid, _ = _UCRED.unpack(raw)
    if uid == 0xFFFFFFFF:
        return 0, -1
    return pid, uid


def may_speak(sock: socket.socket) -> bool:
    """Whether the process on the other end runs as the daemon's own user."""
    return peer_uid(sock) == os.geteuid()


def connect(path: str, seconds: float | None = None) -> socket.socket:
    """A connection to the daemon at this path, its owner checked; OSError where none answers.

    seconds: how long connecting and every later operation may take. Raises UnsafePlace where the
    process that listens belongs to another user: it would read what is asked and could answer
    anything.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        sock.settimeout(seconds)
        sock.connect(path)
        if not may_speak(sock):
            raise UnsafePlace(f"the daemon at {path} belongs to uid {peer_uid(sock)}, not to you")
    except BaseException:
        sock.close()
        raise
    return sock
