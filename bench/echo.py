"""The least that a call through a socket and a worker costs: a line goes in, the same comes back.

Two processes as the daemon has them: an event loop that takes lines from a Unix socket and hands
each to a worker as a frame, and the worker, which sends it back. Nothing is parsed or looked up.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import socket
import tempfile
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from sandbox.frames import HEADER, FrameReader, send_frame

LIMIT_BYTES = 1 << 20


def _work(channel: socket.socket) -> None:
    reader = FrameReader(channel, LIMIT_BYTES)
    while (frame := reader.next()) is not None:
        send_frame(channel, frame)


class _Worker(asyncio.Protocol):
    def __init__(self) -> None:
        self.asked: asyncio.Transport | None = None
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        (size,) = HEADER.unpack_from(self._buffer)
        if len(self._buffer) >= HEADER.size + size and self.asked is not None:
            self.asked.write(self._buffer[HEADER.size :])
            self._buffer = b""


class _Door(asyncio.Protocol):
    def __init__(self, worker: _Worker, to_worker: asyncio.Transport) -> None:
        self._worker = worker
        self._to_worker = to_worker
        self._line = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._worker.asked = transport

    def data_received(self, data: bytes) -> None:
        self._line += data
        if self._line.endswith(b"\n"):
            self._to_worker.write(HEADER.pack(len(self._line)) + self._line)
            self._line = b""


async def _serve(path: str, channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    channel.setblocking(False)
    to_worker, worker = await loop.create_connection(_Worker, sock=channel)
    server = await loop.create_unix_server(lambda: _Door(worker, to_worker), path)
    await server.serve_forever()


class Echo:
    """An echo's two processes and one connection to them; one question at a time."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tb")
        path = str(pathlib.Path(self._folder.name) / "s")
        left, right = socket.socketpair()
        self._pids = [
            _fork(lambda: _work(right), left),
            _fork(lambda: asyncio.run(_serve(path, left)), right),
        ]
        left.close()
        right.close()
        self._channel = socket.socket(socket.AF_UNIX)
        give_up = time.monotonic() + 10
        while True:
            try:
                self._channel.connect(path)
                break
            except OSError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.01)
        self._file = self._channel.makefile("rb")

    def ask(self, line: bytes) -> None:
        """Send a line and wait for it to come back."""
        self._channel.sendall(line)
        if self._file.readline() != line:
            raise RuntimeError("the echo gave back something else")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._channel.close()
        for pid in self._pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        self._folder.cleanup()


def _fork(body: Callable[[], None], other: socket.socket) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        other.close()
        body()
    finally:
        os._exit(0)
