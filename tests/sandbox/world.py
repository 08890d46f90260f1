"""A workspace with hostile links in it, canaries around it, and ways to open it."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import SandboxError
from sandbox.reader import read_file
from sandbox.root import Root
from tests.sandbox.children import in_child

CANARY = b"CANARY"
MODES = ("openat2", "walk", "ENOSYS", "EPERM")
"""The kernel's resolver, ours, and the kernel's refused to the process in two ways."""

_REFUSED_WITH = {"ENOSYS": 38, "EPERM": 1}
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SYS_OPENAT2 = 437


def build(top: Path) -> Path:
    """The workspace `top/root`; what is around it must never show."""
    root = top / "root"
    (root / "d/e").mkdir(parents=True)
    (root / "plain").write_bytes(b"plain")
    (root / "d/f").write_bytes(b"d/f")
    (root / "d/e/g").write_bytes(b"d/e/g")
    (root / "e").mkdir()
    (root / "e/f").write_bytes(b"e/f")
    (top / "outside").mkdir()
    (top / "outside/canary").write_bytes(CANARY)
    (top / "canary").write_bytes(CANARY)
    (top / "rootevil").mkdir()
    (top / "rootevil/canary").write_bytes(CANARY)
    links = {
        "out-relative": "../canary",
        "out-absolute": str(top / "canary"),
        "out-prefix": str(top / "rootevil/canary"),
        "chain-1": "chain-2",
        "chain-2": "d/chain-3",
        "d/chain-3": "../../canary",
        "out-folder": "../outside",
        "d/out-folder": "../../outside",
        "up": "..",
        "in-relative": "d/f",
        "in-absolute": str(root / "d/f"),
        "in-dots": str(root / "d/../plain"),
        "in-folder": "d/e",
        "in-folder-absolute": str(root / "d/e"),
        "root-absolute": str(root),
        "self": ".",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "dangling": "nothing",
        "dangling-out": "../new-outside",
        "out-and-in": "../root/plain",
        "slashed": "d/e/",
        "file-slashed": "plain/",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    for number in range(41):
        (root / f"hop-{number}").symlink_to(f"hop-{number + 1}" if number < 40 else "plain")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(root, os.O_RDONLY)  # a long tmp path does not fit a socket's address
        try:
            bound.bind(f"/proc/self/fd/{here}/socket")
        finally:
            os.close(here)
    return root


def outcome(root: Root, path: str) -> str:
    """What opening a path came to: `ok:` with the content, or the error's code."""
    try:
        content = read_file(root, path, limit_bytes=1000)
    except SandboxError as exc:
        assert str(root.configured).rpartition("/")[0] not in exc.message + str(exc.hint), exc
        return exc.code
    return "ok:" + content.data.decode()


def with_mode(mode: str, folder: Path, act: Callable[[Root], Any]) -> Any:
    """Run it on the folder's root through one way of resolving."""
    if mode in _REFUSED_WITH:

        def confined() -> Any:
            refuse_openat2(_REFUSED_WITH[mode])
            with Root.open(folder) as root:
                assert root.resolver.name == "walk"
                return act(root)

        result = in_child(confined)
        if result.error is not None:
            raise result.error
        assert result.status == 0, result
        return result.value
    with Root.open(folder, resolver=mode) as root:  # type: ignore[arg-type]
        return act(root)


def refuse_openat2(code: int) -> None:
    """From now on the kernel answers openat2 with that errno, for this process for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    steps = [
        (0x20, 0, 0, 0),  # load the call's number
        (0x15, 0, 1, _SYS_OPENAT2),
        (0x06, 0, 0, 0x00050000 | code),
        (0x06, 0, 0, 0x7FFF0000),
    ]
    code_bytes = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code_bytes)
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer))
    assert libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(_PR_SET_SECCOMP, 2, program, 0, 0) == 0


def mount_bind(source: Path, target: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(bytes(source), bytes(target), None, 4096, None) != 0:
        pytest.skip(f"no mount here: {os.strerror(ctypes.get_errno())}")


def unmount(target: Path) -> None:
    ctypes.CDLL(None).umount2(bytes(target), 2)


def snapshot(folder: Path) -> dict[str, tuple[str, object, int]]:
    """Every path below a folder with its kind, content and mode, but the toolbox's own state."""
    found: dict[str, tuple[str, object, int]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == ".toolbox" or name.startswith(".toolbox/"):
            continue
        mode = path.lstat().st_mode & 0o7777
        if path.is_symlink():
            found[name] = ("link", os.readlink(path), 0)
        elif path.is_dir():
            found[name] = ("folder", None, mode)
        elif path.is_file():
            found[name] = ("file", path.read_bytes(), mode)
        else:
            found[name] = ("other", None, mode)
    return found
