"""`toolbox mcp`: a thin pump between standard input and output and the workspace's daemon.

It imports neither the SDK nor an engine: what an agent waits for at its start is a connect.
"""

from __future__ import annotations

import os
import select
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
    """Start a daemon that is nobody's child; why it did not come up, or None.

    Agents end the whole tree below a server that they started (opencode does), and other agents
    use this daemon too: so it is started by a process between, which ends at once.
    """
    from sandbox.gate import default_socket_path

    path = default_socket_path(os.path.realpath(workspace))
    log = _open_log(path + ".log")
    ended, held = os.pipe()
    try:
        between = os.fork()
        if between == 0:
            try:
                _spawn(workspace, confine, held, log)
            finally:
                os._exit(0)
        os.close(held)
        os.waitpid(between, 0)
        return _wait(ended, path, log)
    finally:
        os.close(ended)
        os.close(log)


def _spawn(workspace: str, confine: str, held: int, log: int) -> None:
    """The daemon's own process; it holds a pipe's end as standard output while it lives."""
    words = ["serve", "--workspace", workspace, "--socket", "--idle", str(IDLE_SECONDS)]
    words += ["--warm-mcp", "--quiet", "--confine", confine]
    subprocess.Popen(
        [sys.executable, "-m", "toolbox", *words],
        stdin=subprocess.DEVNULL,
        stdout=held,
        stderr=log,
        start_new_session=True,
    )


def _open_log(path: str) -> int:
    """Where a daemon that outlives us says what went wrong: beside its socket, ours alone."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _wait(ended: int, path: str, log: int) -> str | None:
    """Until the socket answers: None; or why it will not. `ended` is readable once it is over."""
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
                return None
            except OSError:
                pass
        if select.select([ended], [], [], 0.01)[0]:
            # Another bridge may have won the race; then its daemon answers now.
            if _alive(path):
                return None
            said = os.pread(log, CHUNK_BYTES, 0).decode("utf-8", "replace").strip().splitlines()
            return said[-1] if said else "it ended without a word"
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
