"""A real daemon in a real process, spoken to through its doors."""

from __future__ import annotations

import json
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ANSWER_SECONDS = 60


class Stdio:
    """`toolbox serve --stdio --format jsonl` with a thread that reads its lines."""

    def __init__(
        self, workspace: pathlib.Path, *more: str, start: tuple[str, ...] = ("-m", "toolbox")
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *start, "serve", "--workspace", str(workspace),
             "--stdio", "--format", "jsonl", *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.log: list[dict[str, Any]] = []
        self._count = 0
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_log, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.log.append({"event": "text", "text": line.decode()})

    def send(self, value: Any) -> None:
        assert self.process.stdin is not None
        raw = value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        line = self.lines.get(timeout=ANSWER_SECONDS)
        assert line is not None, f"the daemon ended: {self.log[-5:]}"
        return json.loads(line)

    def post(self, tool: str, cmd: str, **args: Any) -> str:
        """Send one call; its id."""
        self._count += 1
        ident = str(self._count)
        self.send({"id": ident, "name": tool, "args": {"cmd": cmd, "args": args}})
        return ident

    def call(self, tool: str, cmd: str, **args: Any) -> dict[str, Any]:
        ident = self.post(tool, cmd, **args)
        reply = self.receive()
        assert reply["id"] == ident
        return reply

    def gather(self, idents: list[str]) -> dict[str, dict[str, Any]]:
        """Replies by id, however they are ordered; each exactly once."""
        found: dict[str, dict[str, Any]] = {}
        while len(found) < len(idents):
            reply = self.receive()
            assert reply["id"] not in found
            found[reply["id"]] = reply
        assert set(found) == set(idents)
        return found

    def logged(self, event: str) -> dict[str, Any]:
        """The first log line of that event, waited for."""
        give_up = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < give_up:
            for line in list(self.log):
                if line["event"] == event:
                    return line
            time.sleep(0.005)
        raise AssertionError(f"no log line {event!r}: {self.log[-5:]}")

    def workers(self) -> list[int]:
        """Pids of the processes below the daemon's zygote."""
        children = _children(self.process.pid)
        return [w for z in children for w in _children(z)]

    def close(self) -> int:
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            return self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as handle:
            found += [int(word) for word in handle.read().split()]
    return found


@pytest.fixture
def workspace(tmp_path: pathlib.Path) -> pathlib.Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.fixture
def serve(workspace: pathlib.Path) -> Iterator[Callable[..., Stdio]]:
    """Start daemons on the workspace; all are ended after the test."""
    started: list[Stdio] = []

    def start(*more: str) -> Stdio:
        daemon = Stdio(workspace, *more)
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        if daemon.process.poll() is None:
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.wait()


def dial(path: str, first: bytes = b"") -> socket.socket:
    """A connection to a Unix socket that may not be there yet."""
    give_up = time.monotonic() + ANSWER_SECONDS
    while True:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            channel.connect(path)
            channel.settimeout(ANSWER_SECONDS)
            channel.sendall(first)
            return channel
        except OSError:
            channel.close()
            if time.monotonic() > give_up:
                raise
            time.sleep(0.01)
