"""The door on standard input and output: pipes by the loop, files and terminals by a thread.

Where the reader of our output is slow, input is no longer read and no waiting call is started
until it catches up; where it is gone, its calls are dropped as those of a client that left.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Callable
from typing import Final

from toolbox.daemon.service import Client, Service
from toolbox.daemon.session import Framing, Session

CHUNK_BYTES: Final = 1 << 16


class StdioDoor:
    """One session on two descriptors, which it owns from here on."""

    def __init__(
        self,
        service: Service,
        framing: Framing,
        *,
        pending_bytes: int,
        on_closed: Callable[[str], None],
    ) -> None:
        self._service = service
        self._framing = framing
        self._pending_bytes = pending_bytes
        self._on_closed = on_closed
        self._client = Client("stdio")
        self._session: Session | None = None
        self._sink: asyncio.WriteTransport | None = None
        self._source: asyncio.ReadTransport | None = None
        self._sink_fd = -1
        self._closed = False

    @property
    def settled(self) -> bool:
        """Whether every reply is out of our hands."""
        if self._closed or self._session is None:
            return True
        buffered = self._sink.get_write_buffer_size() if self._sink is not None else 0
        return self._session.idle and not buffered

    async def open(self, source: int, sink: int) -> None:
        """Serve what comes from `source`; on_closed is told once when either end is done."""
        loop = asyncio.get_running_loop()
        if _is_pipe(sink):
            self._sink, _ = await loop.connect_write_pipe(
                lambda: _Sink(self), os.fdopen(sink, "wb", 0)
            )
            self._sink.set_write_buffer_limits(high=self._pending_bytes)
            write: Callable[[bytes], None] = self._sink.write
        else:
            self._sink_fd = sink
            write = self._write_blocking
        self._session = Session(
            self._service, self._client, self._framing, write, seconds=self._service.seconds
        )
        self._session.done.add_done_callback(lambda _: self._answered())
        if _is_pipe(source):
            self._source, _ = await loop.connect_read_pipe(
                lambda: _Source(self), os.fdopen(source, "rb", 0)
            )
        else:
            threading.Thread(
                target=self._pump, args=(loop, source), name="stdin", daemon=True
            ).start()

    def _pump(self, loop: asyncio.AbstractEventLoop, source: int) -> None:
        """Feed the session from a file or terminal, a chunk at a time."""
        taken = threading.Event()
        try:
            while True:
                try:
                    data = os.read(source, CHUNK_BYTES)
                except OSError:  # the terminal is gone, or it was a folder
                    data = b""
                loop.call_soon_threadsafe(self.take, data, taken.set)
                if not data:
                    return
                taken.wait()
                taken.clear()
        except RuntimeError:
            return  # the loop was closed before the input was

    def take(self, data: bytes, then: Callable[[], None] | None = None) -> None:
        """What has come; nothing for the end of the input."""
        if self._session is not None and not self._closed:
            if data:
                self._session.feed(data)
            else:
                self._session.end()
        if then is not None:
            then()

    def _write_blocking(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view and not self._closed:
                view = view[os.write(self._sink_fd, view) :]
        except OSError as exc:
            self.lost(exc.strerror or "cannot be written")

    def block(self) -> None:
        """The reader of our output is behind."""
        self._service.block(self._client)
        if self._source is not None:
            self._source.pause_reading()

    def unblock(self) -> None:
        """It has caught up."""
        self._service.unblock(self._client)
        if self._source is not None:
            self._source.resume_reading()

    def _answered(self) -> None:
        """Every call has its reply: close our output once they are out, so its reader ends too."""
        if self._sink is not None:
            self._sink.close()  # what is buffered goes out first, then `lost` is told
        elif not self._closed:
            self._closed = True
            os.close(self._sink_fd)
            self._on_closed("end of standard input")

    def lost(self, reason: str | None) -> None:
        """Our output is closed: by us when all was said, else by who read it."""
        if self._closed:
            return
        self._closed = True
        self._service.leave(self._client)
        if self._source is not None:
            self._source.close()
        said = self._session is not None and self._session.done.done()
        self._on_closed(
            "end of standard input" if said else f"standard output: {reason or 'closed'}"
        )


class _Sink(asyncio.BaseProtocol):
    def __init__(self, door: StdioDoor) -> None:
        self._door = door

    def pause_writing(self) -> None:
        self._door.block()

    def resume_writing(self) -> None:
        self._door.unblock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.lost(getattr(exc, "strerror", None))


class _Source(asyncio.Protocol):
    def __init__(self, door: StdioDoor) -> None:
        self._door = door
        self._ended = False

    def data_received(self, data: bytes) -> None:
        self._door.take(data)

    def eof_received(self) -> bool:
        self._end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._door.take(b"")


def _is_pipe(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
