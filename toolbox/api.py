"""The toolbox from Python: in this process, or through a running daemon, sync or async."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import Any, Final

from sandbox import gate
from toolbox.dispatch import UNCAPPED, Call
from toolbox.errors import BadCall, ToolboxError

LINE_BYTES: Final = 512 * 1024 * 1024


class NoDaemon(ToolboxError):
    """Raised when no daemon answers for a workspace, or it went away in the middle of a call."""

    code = "E_CANCELLED"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call gave back.

    `text` is what a model reads; `result` the typed result as Python values, whole numbers as
    `int` and all others as `Decimal` with the source's digits; `raw` the envelope's own bytes.
    A failed call has `ok` False, and `error` with code, message, hint and place.
    """

    ok: bool
    op: str
    text: str
    result: Any
    truncated: bool
    hint: str | None
    error: Mapping[str, Any] | None
    raw: bytes

    def unwrap(self) -> Any:
        """The result, or the error raised."""
        if self.ok:
            return self.result
        assert self.error is not None
        raised = ToolboxError(
            str(self.error["message"]), hint=self.error.get("hint"), at=self.error.get("at")
        )
        raised.code = self.error["code"]  # type: ignore[misc]
        raise raised


def read_reply(envelope: bytes) -> Reply:
    """An envelope as a `Reply`."""
    value = json.loads(envelope, parse_float=Decimal)
    error = value.get("error")
    text = value.get("text", "")
    if error is not None:
        text = f"{error['code']}: {error['message']}"
        if error.get("hint"):
            text += f"\nhint: {error['hint']}"
    return Reply(
        ok=value["ok"],
        op=value["op"],
        text=text,
        result=value.get("result"),
        truncated=value.get("truncated", False),
        hint=value.get("hint") if error is None else error.get("hint"),
        error=error,
        raw=envelope,
    )


def _encode(args: Mapping[str, Any]) -> bytes:
    return json.dumps(args, ensure_ascii=False).encode("utf-8", "surrogatepass")


class Toolbox:
    """Calls answered in this process: the same resolver and engines, no workers.

    >>> Toolbox("/path/to/workspace").call("@json", "get", file="resp.json", path="data.id").result
    """

    def __init__(self, workspace: str | os.PathLike[str], *, seconds: float = 60.0) -> None:
        from sandbox.root import Root
        from toolbox import limits
        from toolbox.store import DocumentStore

        self._root = Root.open(os.fspath(workspace))
        self._documents = DocumentStore(self._root, budget_bytes=limits.KEPT_DOCUMENT_BYTES)
        self._seconds = seconds

    def call(self, tool: str, cmd: str, **args: Any) -> Reply:
        """The reply to one call; output is whole unless `max_bytes` is given."""
        from toolbox.dispatch import run

        call = Call(tool.removeprefix("@"), cmd, _encode(args), UNCAPPED, self._seconds)
        return read_reply(run(call, self._root, self._documents).envelope())


def _request(ident: int, tool: str, cmd: str, args: Mapping[str, Any]) -> bytes:
    name = "@" + tool.removeprefix("@")
    head = json.dumps({"id": ident, "name": name}, ensure_ascii=False)[:-1].encode()
    return b'%s,"args":{"cmd":%s,"args":%s}}\n' % (head, json.dumps(cmd).encode(), _encode(args))


def _first_line(cap_bytes: int | None) -> bytes:
    cap = "" if cap_bytes is None else f" cap={cap_bytes}"
    return f"TOOLBOX/1 jsonl{cap} name=python\n".encode()


def _socket_path(workspace: str | os.PathLike[str], path: str | None) -> str:
    from sandbox.gate import default_socket_path

    return path or default_socket_path(os.path.realpath(workspace))


class Client:
    """A connection to a workspace's running daemon; one call at a time.

    cap_bytes: 0 (the default) for whole output, None for each verb's own cap.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        *,
        socket_path: str | None = None,
        cap_bytes: int | None = UNCAPPED,
    ) -> None:
        path = _socket_path(workspace, socket_path)
        try:
            self._channel = gate.connect(path)
            self._channel.sendall(_first_line(cap_bytes))
        except (OSError, gate.GateError) as exc:
            raise NoDaemon(
                f"no daemon answers for {os.fspath(workspace)}: "
                f"{getattr(exc, 'strerror', None) or exc}",
                hint="start one: toolbox serve --workspace DIR --socket",
            ) from exc
        self._file = self._channel.makefile("rb")
        self._count = 0

    def call(self, tool: str, cmd: str, **args: Any) -> Reply:
        """The reply to one call."""
        self._count += 1
        self._channel.sendall(_request(self._count, tool, cmd, args))
        line = self._file.readline()
        if not line:
            raise NoDaemon("the daemon went away before it answered")
        return read_reply(line.rstrip(b"\n"))

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient:
    """A connection to a workspace's running daemon; many calls at once.

    >>> async with AsyncClient("/path/to/workspace") as client:
    ...     reply = await client.call("@json", "keys", file="resp.json")
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        *,
        socket_path: str | None = None,
        cap_bytes: int | None = UNCAPPED,
    ) -> None:
        self._path = _socket_path(workspace, socket_path)
        self._cap = cap_bytes
        self._count = 0
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> AsyncClient:
        try:
            reader, self._writer = await asyncio.open_unix_connection(self._path, limit=LINE_BYTES)
        except OSError as exc:
            raise NoDaemon(
                f"no daemon answers: {exc.strerror}",
                hint="start one: toolbox serve --workspace DIR --socket",
            ) from exc
        if not gate.may_speak(self._writer.get_extra_info("socket")):
            self._writer.close()
            raise NoDaemon(f"the daemon at {self._path} belongs to another user")
        self._writer.write(_first_line(self._cap))
        self._task = asyncio.create_task(self._read(reader))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def call(self, tool: str, cmd: str, **args: Any) -> Reply:
        """The reply to one call."""
        if self._writer is None or self._task is None:
            raise BadCall("expected an open client: use `async with AsyncClient(…)`")
        if self._task.done():
            raise NoDaemon("the daemon has gone away")
        self._count += 1
        ident = self._count
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = future
        self._writer.write(_request(ident, tool, cmd, args))
        try:
            await self._writer.drain()
            return await future
        finally:
            self._waiting.pop(ident, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                ident = json.loads(line)["id"]
                future = self._waiting.get(ident)
                if future is not None and not future.done():
                    future.set_result(read_reply(line.rstrip(b"\n")))
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(NoDaemon("the daemon went away before it answered"))
