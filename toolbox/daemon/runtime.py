"""The running daemon: its event loop, its doors, its end."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson

from sandbox import gate
from sandbox.state import FOLDER
from toolbox.daemon.lifecycle import Settings, standard_streams
from toolbox.daemon.service import Client, Service
from toolbox.daemon.session import StreamDoor, decode_control
from toolbox.daemon.stdio import StdioDoor
from toolbox.daemon.telemetry import Log
from toolbox.daemon.watch import Watch
from toolbox.version import __version__

if TYPE_CHECKING:
    from sandbox.root import Root
    from sandbox.zygote import Zygote

_KEEP_THE_NAME: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""From Python 3.13 on a server would remove the socket's name; that is the gate's to decide."""

NAMED_CLIENTS = 64
"""Client names whose place in the queue is remembered."""

FLUSH_SECONDS = 2.0
FLUSH_LOOK_SECONDS = 0.005
"""How long a stopping daemon waits for slow readers to take their last replies."""

CONTROL_BYTES = 64 * 1024
"""What a control connection may send ahead; its requests are a few words."""

PENDING_BYTES = 8 * 1024 * 1024
"""Replies that wait for a slow reader before its input is no longer read."""


class Daemon:
    """One workspace's daemon."""

    def __init__(self, settings: Settings, root: Root, zygote: Zygote) -> None:
        self.settings = settings
        self.root = root
        self.workspace = os.path.realpath(root.configured)
        self.log = Log(quiet=settings.quiet)
        self.service = Service(zygote, workers=settings.workers, log=self.log)
        self.service.seconds = settings.seconds
        self._stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._gate: gate.GateSocket | None = None
        self._closers: list[Callable[[], Any]] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._mcp_clients: dict[str, Client] = {}
        self._connections = 0
        self.doors: set[StreamDoor | StdioDoor] = set()
        """Streams that may still have replies to send."""
        self._idle_timer: asyncio.TimerHandle | None = None
        self.watch = Watch(root, self.service, self.log)
        self.http_url: str | None = None

    async def run(self) -> int:
        """Serve until a signal, `toolbox stop`, or the end of standard input where that is the
        only door."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop, signal.Signals(number).name)
        self.service.failed.add_done_callback(lambda f: self.stop("failed"))
        if self.settings.socket_path is not None or self.settings.handed_fds:
            try:
                self._open_socket(self.settings.socket_path)
            except (gate.GateError, OSError) as exc:
                self.log("cannot_start", "error", reason=str(exc))
                await self.service.stop()
                return 2
        self.service.start(recover=self.root.exists(os.fsdecode(FOLDER)))
        self.watch.start()
        if self._gate is not None:
            server = await loop.create_unix_server(
                self._door, sock=self._gate.socket, **_KEEP_THE_NAME
            )
            self._closers.append(server.close)
        if self.settings.http is not None:
            from toolbox.daemon.http import HttpDoor

            door = HttpDoor(self)
            await door.start()
            self._closers.append(door.stop)
        if self.settings.stdio:
            await self._open_stdio()
        if self.settings.warm_mcp:
            self.keep(
                loop.create_task(
                    asyncio.to_thread(importlib.import_module, "toolbox.daemon.mcp_server")
                )
            )
        self._arm_idle()
        self.log(
            "started",
            version=__version__,
            pid=os.getpid(),
            workers=self.settings.workers,
            socket=self._gate.path if self._gate else None,
            http=self.http_url,
            stdio=self.settings.stdio,
            confine=self.settings.confine,
        )
        reason = await self._stop
        self.log("stopping", reason=reason)
        await self._close()
        if self.service.failed.done():
            self.log("failed", "error", reason=self.service.failed.result())
            return 2
        self.log("stopped")
        return 0

    def stop(self, reason: str) -> None:
        """Begin the end; a second call changes nothing."""
        if not self._stop.done():
            self._stop.set_result(reason)

    def _arm_idle(self) -> None:
        """Begin to count down to the idle end, where one was asked for."""
        if self.settings.idle_seconds is not None and self._connections == 0:
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            self._idle_timer = asyncio.get_running_loop().call_later(
                self.settings.idle_seconds, self.stop, "idle"
            )

    def joined(self) -> None:
        """A connection on the socket has come."""
        self._connections += 1
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def left(self) -> None:
        """A connection on the socket has gone."""
        self._connections -= 1
        self._arm_idle()

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold a task until it ends; the stop cancels it."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def mcp_client(self, name: str) -> Client:
        """The queue place of an MCP client: one for each name, so that none starves the rest."""
        key = f"mcp {name[:40]}"
        if key not in self._mcp_clients:
            if len(self._mcp_clients) >= NAMED_CLIENTS:
                self._mcp_clients.pop(next(iter(self._mcp_clients)))
            self._mcp_clients[key] = Client(key)
        return self._mcp_clients[key]

    async def _close(self) -> None:
        for close in self._closers:
            result = close()
            if asyncio.iscoroutine(result):
                await result
        await self.watch.stop()
        await self.service.stop()
        await self._said()
        if self._gate is not None:
            self._gate.close()
        for task in self._tasks:
            task.cancel()

    async def _said(self) -> None:
        """Wait until the last replies are out, but not for a reader that is stuck."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + FLUSH_SECONDS
        while not all(door.settled for door in self.doors) and loop.time() < give_up:
            await asyncio.sleep(FLUSH_LOOK_SECONDS)

    # -- the socket ------------------------------------------------------------------------------

    def _open_socket(self, path: str | None) -> None:
        if self.settings.handed_fds:
            self._gate = gate.adopt(self.settings.handed_fds)
        else:
            self._gate = gate.bind(path or gate.default_socket_path(self.workspace))
            self._gate.socket.listen(128)
        self._gate.socket.setblocking(False)

    def _door(self) -> asyncio.Protocol:
        return _SocketDoor(self)

    def _takeover(
        self, kind: str, options: dict[str, str], transport: asyncio.Transport, rest: bytes
    ) -> bool:
        if kind == "control":
            transport.set_protocol(_Control(self, transport, rest))
            return True
        if kind == "mcp":
            from toolbox.daemon.mcp import attach_stream

            attach_stream(self, options, transport, rest)
            return True
        return False

    def status(self) -> dict[str, Any]:
        """What `toolbox status` prints."""
        return {
            "version": __version__,
            "workspace": self.workspace,
            "socket": self._gate.path if self._gate else None,
            "http": self.http_url,
            "confine": self.settings.confine,
            **self.service.status(),
        }

    # -- standard input and output ---------------------------------------------------------------

    async def _open_stdio(self) -> None:
        only = self._gate is None and self.settings.http is None
        door = StdioDoor(
            self.service,
            self.settings.framing,
            pending_bytes=PENDING_BYTES,
            on_closed=self.stop if only else lambda reason: self.log("stdio_closed", reason=reason),
        )
        self.doors.add(door)
        await door.open(*standard_streams())


class _SocketDoor(StreamDoor):
    """A connection on the Unix socket: only our own user may speak."""

    def __init__(self, daemon: Daemon) -> None:
        super().__init__(daemon.service, "socket", daemon.settings.framing, daemon._takeover)
        self._daemon = daemon

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._daemon.joined()
        sock: socket.socket = transport.get_extra_info("socket")
        uid = gate.peer_uid(sock)
        if uid != os.geteuid():
            self._daemon.log("refused", "warning", peer_uid=uid)
            transport.abort() if isinstance(transport, asyncio.Transport) else transport.close()
            return
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=PENDING_BYTES)

    def _begin(self, cap: int | None, rest: bytes) -> None:
        self._daemon.doors.add(self)
        super()._begin(cap, rest)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._daemon.doors.discard(self)
        self._daemon.left()


class _Control(asyncio.Protocol):
    """Status and stop, a JSON line each."""

    def __init__(self, daemon: Daemon, transport: asyncio.Transport, rest: bytes) -> None:
        self._daemon = daemon
        self._transport = transport
        self._buffer = bytearray()
        if rest:
            self.data_received(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        self._daemon.left()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > CONTROL_BYTES:
            self._transport.abort()
            return
        while (end := self._buffer.find(b"\n")) >= 0:
            request = decode_control(bytes(self._buffer[:end]))
            del self._buffer[: end + 1]
            match request.get("op"):
                case "status":
                    self._answer({"ok": True, "result": self._daemon.status()})
                case "metrics":
                    service = self._daemon.service
                    text = service.metrics.prometheus(service.gauges())
                    self._answer({"ok": True, "result": text})
                case "stop":
                    self._answer({"ok": True, "result": {"pid": os.getpid()}})
                    self._daemon.stop("toolbox stop")
                case other:
                    self._answer({"ok": False, "error": f"unknown control request {other!r}"})

    def _answer(self, value: dict[str, Any]) -> None:
        self._transport.write(orjson.dumps(value) + b"\n")
