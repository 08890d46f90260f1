"""Streamable HTTP for MCP: the SDK's session manager behind our own guard."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from toolbox import limits

if TYPE_CHECKING:
    from toolbox.daemon.runtime import Daemon


class McpHttp:
    """An ASGI app at `/mcp`; the SDK is imported, and its manager started, at the first request."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._manager: Any = None
        self._ready = asyncio.Lock()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Nothing yet: most HTTP clients never speak MCP."""

    async def _start(self) -> None:
        async with self._ready:
            if self._manager is not None:
                return
            loop = asyncio.get_running_loop()
            server = await loop.run_in_executor(
                None, importlib.import_module, "toolbox.daemon.mcp_server"
            )
            managers = await loop.run_in_executor(
                None, importlib.import_module, "mcp.server.streamable_http_manager"
            )
            manager = managers.StreamableHTTPSessionManager(
                app=server.build(self._daemon, "tools", "mcp-http"),
                json_response=False,
                stateless=False,
                max_request_body_size=limits.MESSAGE_BYTES,
            )
            started = asyncio.Event()

            async def run() -> None:
                async with manager.run():
                    started.set()
                    await self._stop.wait()

            self._task = loop.create_task(run())
            await started.wait()
            self._manager = manager

    async def stop(self) -> None:
        """End every session."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=2)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            await self._start()
        await self._manager.handle_request(scope, receive, send)
