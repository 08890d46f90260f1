"""MCP in the daemon, by the official SDK's low-level server: on the socket and over HTTP.

The SDK is imported when the first client that speaks MCP arrives, in a thread, so that other
doors go on meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from toolbox.daemon.runtime import Daemon

LINE_BYTES: Final = 20 * 1024 * 1024
"""A JSON-RPC line: a message's 16 MiB with room for escapes."""


def attach_stream(
    daemon: Daemon, options: dict[str, str], transport: asyncio.Transport, rest: bytes
) -> None:
    """Speak MCP on a socket connection from here on."""
    shape = "verbs" if options.get("tools") == "verbs" else "tools"
    door = McpStream(transport, rest, daemon.left)
    transport.set_protocol(door)
    task = asyncio.get_running_loop().create_task(_serve(daemon, door, shape))
    door.task = task
    daemon.keep(task)


async def _serve(daemon: Daemon, door: McpStream, shape: str) -> None:
    loop = asyncio.get_running_loop()
    try:
        server = await loop.run_in_executor(
            None, importlib.import_module, "toolbox.daemon.mcp_server"
        )
        await server.serve_stream(daemon, door, shape)
    finally:
        door.close()


class McpStream(asyncio.Protocol):
    """Newline-delimited JSON-RPC on a transport: lines in by a queue, lines out by `write`."""

    def __init__(
        self, transport: asyncio.Transport, rest: bytes, on_lost: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._on_lost = on_lost
        self._buffer = bytearray()
        self._searched = 0
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.task: asyncio.Task[Any] | None = None
        if rest:
            self.data_received(rest)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        start = 0
        while (end := buffer.find(b"\n", max(self._searched, start))) >= 0:
            line = bytes(memoryview(buffer)[start:end])
            start = end + 1
            if line.strip():
                self.lines.put_nowait(line)
        del buffer[:start]
        self._searched = len(buffer)
        if len(buffer) > LINE_BYTES:
            self._transport.close()

    def eof_received(self) -> bool:
        self.lines.put_nowait(None)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost()
        self.lines.put_nowait(None)
        if self.task is not None and exc is not None:
            self.task.cancel()

    def write(self, line: bytes) -> None:
        self._transport.write(line + b"\n")

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._transport.close()
