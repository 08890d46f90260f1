"""`toolbox mcp`: a thin pump between standard input and output and the workspace's daemon.

It imports neither the SDK nor an engine: what an agent waits for at its start is a connect.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import time
from typing import Final

CHUNK_BYTES: Final = 1 << 16
START_SECONDS: Final = 20.0
"""How long a daemon that we start may take to open its socket."""

IDLE_SECONDS: Final = 900
"""A daemon that a bridge started ends this long after its last client."""


def run(workspace: str, *, tools: str, confine: str = "warn") -> int:
    """Pump until either side closes; the exit status."""
    first = f"TOOLBOX/1 mcp tools={tools}\n"
    channel = _connect(workspace, first)
    if channel is None:
        problem = _start(workspace, confine)
        channel = None if problem else _connect(workspace, first)
        if channel is None:
            print(f"toolbox mcp: no daemon for {workspace}: {problem}", file=sys.stderr)
            return 2
    return _pump(channel)


def _connect(workspace: str, first: str) -> socket.socket | None:
    from toolbox.cli.client import connect

    return connect(workspace, first)


def _start(workspace: str, confine: str) -> str | None:
    """Start a daemon of its own session; why it did not come up, or None."""
    from sandbox.gate import default_socket_path

    path = default_socket_path(os.path.realpath(workspace))
    log = _open_log(path + ".log")
    try:
        daemon = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "toolbox",
                "serve",
                "--workspace",
                workspace,
                "--socket",
                "--idle",
                str(IDLE_SECONDS),
                "--warm-mcp",
                "--quiet",
                "--confine",
                confine,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        return _wait(daemon, path, log)
    finally:
        os.close(log)


def _open_log(path: str) -> int:
    """Where a daemon that outlives us says what went wrong: beside its socket, ours alone."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _wait(daemon: subprocess.Popen[bytes], path: str, log: int) -> str | None:
    """Until the socket answers: None; or why it will not."""
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
                return None
            except OSError:
                pass
        if daemon.poll() is not None:
            # Another bridge may have won the race; then its daemon answers now.
            if _alive(path):
                return None
            said = os.pread(log, CHUNK_BYTES, 0).decode("utf-8", "replace").strip().splitlines()
            return said[-1] if said else f"exit status {daemon.returncode}"
        time.sleep(0.01)
    return f"its socket did not open within {START_SECONDS:g} s"


def _alive(path: str) -> bool:
    for _ in range(100):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
                return True
            except OSError:
                time.sleep(0.02)
    return False


def _pump(channel: socket.socket) -> int:
    source, sink = sys.stdin.fileno(), sys.stdout.fileno()
    channel.setblocking(True)
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(source, selectors.EVENT_READ, "in")
            polled = True
        except PermissionError:  # a regular file is always ready
            polled = False
        selector.register(channel, selectors.EVENT_READ, "out")
        while True:
            if not polled:
                data = os.read(source, CHUNK_BYTES)
                if data:
                    channel.sendall(data)
                else:
                    channel.shutdown(socket.SHUT_WR)
                    polled = True
            for key, _ in selector.select(0 if not polled else None):
                if key.data == "in":
                    data = os.read(source, CHUNK_BYTES)
                    if data:
                        channel.sendall(data)
                    else:
                        selector.unregister(source)
                        channel.shutdown(socket.SHUT_WR)
                    continue
                data = channel.recv(CHUNK_BYTES)
                if not data:
                    return 0
                view = memoryview(data)
                while view:
                    view = view[os.write(sink, view) :]
