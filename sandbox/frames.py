"""Bounded frames on a stream socket: four bytes of length, little-endian, then the body."""

from __future__ import annotations

import socket
import struct
from typing import Final

HEADER: Final = struct.Struct("<I")
CHUNK_BYTES: Final = 1 << 18


class FrameTooLarge(Exception):
    """Raised when a frame announces more than its reader takes."""


def send_frame(channel: socket.socket, body: bytes) -> None:
    """Send one frame whole."""
    if len(body) < CHUNK_BYTES:
        channel.sendall(HEADER.pack(len(body)) + body)
    else:
        channel.sendall(HEADER.pack(len(body)))
        channel.sendall(body)


class FrameReader:
    """Frames as they come from a blocking socket."""

    def __init__(self, channel: socket.socket, limit_bytes: int) -> None:
        self._channel = channel
        self._limit = limit_bytes
        self._buffer = bytearray()

    def next(self) -> bytes | None:
        """The next frame's body; None where the other side closed, also in the middle of one."""
        header = self._take(HEADER.size)
        if header is None:
            return None
        (size,) = HEADER.unpack(header)
        if size > self._limit:
            raise FrameTooLarge(f"a frame of {size} bytes, at most {self._limit} expected")
        return self._take(size)

    def _take(self, size: int) -> bytes | None:
        buffer = self._buffer
        while len(buffer) < size:
            chunk = self._channel.recv(max(CHUNK_BYTES, size - len(buffer)))
            if not chunk:
                return None
            buffer += chunk
        taken = bytes(memoryview(buffer)[:size])
        del buffer[:size]
        return taken
