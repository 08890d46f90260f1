"""Worker processes under one event loop: spawn, one request at a time, deadline, kill, replace."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from sandbox.frames import HEADER
from sandbox.zygote import ForkFailed, Spawned, Zygote, ZygoteDied

log = logging.getLogger("sandbox.pool")

HELLO_SECONDS: Final = 30.0
"""A worker says hello once it is confined; importing everything comes before the first one."""

GRACE_SECONDS: Final = 0.5
"""How long past a call's own deadline the kill comes: engines look at the deadline themselves and
then answer with a better message than a dead worker can."""


class WorkerDied(Exception):
    """Raised when a worker ended in the middle of a request, or before it could take one."""


class WorkerTimedOut(Exception):
    """Raised when a worker passed its request's deadline and was killed."""


class Worker(asyncio.Protocol):
    """One worker as the loop sees it: a request goes in, a frame comes out."""

    def __init__(self, spawned: Spawned, reply_limit_bytes: int) -> None:
        self.spawned = spawned
        self.hello = b""
        self.alive = True
        self._gone = False
        self.calls = 0
        self._limit = reply_limit_bytes
        self._buffer = bytearray()
        self._need = -1
        self._waiting: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self.on_lost: Callable[[Worker], None] | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def pid(self) -> int:
        return self.spawned.pid

    @property
    def busy(self) -> bool:
        return self._waiting is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        while True:
            if self._need < 0:
                if len(buffer) < HEADER.size:
                    return
                (self._need,) = HEADER.unpack_from(buffer)
                if self._need > self._limit:
                    log.error("worker %d announced a frame of %d bytes", self.pid, self._need)
                    self.kill()
                    return
                del buffer[: HEADER.size]
            if len(buffer) < self._need:
                return
            frame = bytes(memoryview(buffer)[: self._need])
            del buffer[: self._need]
            self._need = -1
            waiting, self._waiting = self._waiting, None
            if waiting is not None and not waiting.done():
                waiting.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self.kill()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(WorkerDied(f"worker {self.pid} ended"))
        self._waiting = None
        self._gone = True  # from here on its pidfd's number may be another worker's
        self.spawned.close()
        if self.on_lost is not None:
            self.on_lost(self)

    def expect(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[bytes]:
        """The next frame that it sends."""
        assert self._waiting is None, "one request at a time"
        self._waiting = loop.create_future()
        return self._waiting

    def post(self, body: bytes) -> None:
        """Send a frame that has no answer."""
        if self._transport is not None and self.alive:
            self._transport.write(HEADER.pack(len(body)) + body)

    def begin(self, body: bytes, seconds: float) -> asyncio.Future[bytes]:
        """Send a request; from here on the worker is busy. See `result` for its answer."""
        if not self.alive:
            raise WorkerDied(f"worker {self.pid} ended")
        future = self.expect(self._loop)
        self.calls += 1
        timer = self._loop.call_later(seconds + GRACE_SECONDS, self._expire, future, seconds)
        future.add_done_callback(lambda _: timer.cancel())
        self.post(body)
        return future

    async def result(self, future: asyncio.Future[bytes]) -> bytes:
        """The frame that answers a request; a caller that is cancelled takes the worker along."""
        try:
            return await future
        except asyncio.CancelledError:
            self.kill()
            raise

    def _expire(self, future: asyncio.Future[bytes], seconds: float) -> None:
        if not future.done():
            future.set_exception(WorkerTimedOut(f"no answer within {seconds:g} s"))
        self.kill()

    def kill(self) -> None:
        """SIGKILL it and let go of its socket; nothing where it is gone already."""
        self.alive = False
        if self._gone:
            return
        self.spawned.kill()
        if self._transport is not None:
            self._transport.abort()


class Pool:
    """Workers of every role; a dead one is replaced by itself."""

    def __init__(self, zygote: Zygote, reply_limit_bytes: int) -> None:
        self._zygote = zygote
        self._limit = reply_limit_bytes
        self._loop = asyncio.get_running_loop()
        self._spawning: deque[asyncio.Future[Spawned]] = deque()
        self._closed = False
        self.killed = 0
        self._loop.add_reader(zygote.control.fileno(), self._spawned)

    def _spawned(self) -> None:
        try:
            spawned = self._zygote.receive()
        except BlockingIOError:
            return
        except ForkFailed as exc:
            future = self._spawning.popleft()
            if not future.done():
                future.set_exception(WorkerDied(str(exc)))
            return
        except (ZygoteDied, OSError) as exc:
            self._loop.remove_reader(self._zygote.control.fileno())
            while self._spawning:
                future = self._spawning.popleft()
                if not future.done():
                    future.set_exception(ZygoteDied(str(exc)))
            return
        future = self._spawning.popleft()
        if future.done():
            spawned.kill()
            spawned.close()
        else:
            future.set_result(spawned)

    async def spawn(self, role: str, on_lost: Callable[[Worker], None]) -> Worker:
        """A fresh worker that has said hello; `worker.hello` is what it said.

        WorkerDied where this one could not be had and another may; ZygoteDied where none can.
        """
        future: asyncio.Future[Spawned] = self._loop.create_future()
        self._spawning.append(future)
        self._zygote.request(role)
        spawned = await future
        spawned.channel.setblocking(False)
        worker = Worker(spawned, self._limit)
        hello = worker.expect(self._loop)
        await self._loop.create_connection(lambda: worker, sock=spawned.channel)
        try:
            worker.hello = await asyncio.wait_for(hello, HELLO_SECONDS)
        except (TimeoutError, WorkerDied) as exc:
            worker.kill()
            raise WorkerDied(f"worker {spawned.pid} did not start: {exc}") from exc
        worker.on_lost = on_lost
        if not worker.alive:
            raise WorkerDied(f"worker {spawned.pid} ended at once")
        return worker

    def close(self) -> None:
        """End the zygote, and with it every worker."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(ValueError, OSError):
            self._loop.remove_reader(self._zygote.control.fileno())
        self._zygote.stop()
