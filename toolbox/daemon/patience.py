"""uvicorn's HTTP protocol with an end to its patience."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sandbox import admission
from toolbox.wire import http as wire

HEADER_SECONDS: Final = 15.0
"""How long headers may take to come, and a connection may rest between requests; past it 408."""

LINGER_SECONDS: Final = 1.0
"""How long what a refused client still sends is read and dropped: closing at once would reset the
connection, and its answer with it."""

WRITE_SECONDS: Final = 30.0
"""How long an answer may wait for its reader; past it the connection is dropped."""


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's protocol with an end to its patience: headers have a size and a time, and an answer
    a time to be taken.

    uvicorn itself waits for headers and for readers for ever, and buffers whatever comes.
    """

    _header_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_headers()

    def _wait_for_headers(self) -> None:
        self._header_bytes = 0
        self._header_timer = self.loop.call_later(
            HEADER_SECONDS,
            self._give_up,
            b"408 Request Timeout",
            "E_TIMEOUT",
            f"the headers did not come within {HEADER_SECONDS:g} s",
        )

    def _stop_waiting(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._header_timer is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._header_timer is not None and self._header_bytes > 2 * admission.HEADER_BYTES:
            self._give_up(
                b"431 Request Header Fields Too Large",
                "E_TOO_LARGE",
                f"the headers are larger than {admission.HEADER_BYTES} bytes",
            )

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._wait_for_reader()
        if not self.transport.is_closing() and self._header_timer is None:
            self._wait_for_headers()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_writing()

    def _wait_for_reader(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_SECONDS, self._drop)

    def _stop_writing(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _drop(self) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size():
            # With a reset, so that the kernel keeps nothing for this reader either.
            channel = self.transport.get_extra_info("socket")
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_writing()
        super().connection_lost(exc)

    def _give_up(self, status: bytes, code: str, message: str) -> None:
        self._stop_waiting()
        if self.transport.is_closing():
            return
        body = wire.error_body(code, message)
        self.transport.write(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%s" % (status, len(body), body)
        )
        self._refused = True
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
