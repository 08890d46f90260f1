"""The HTTP door: starlette on uvicorn in the daemon's own loop, with MCP at `/mcp`.

What is refused before any route (Host, Origin, token, size, time) is decided in `Guard`, by the
rules of `sandbox.admission`.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox import admission
from toolbox import limits
from toolbox.daemon.patience import PatientProtocol
from toolbox.daemon.service import Client
from toolbox.daemon.session import Session
from toolbox.dispatch import Call, failure
from toolbox.errors import InvalidArg, ToolboxError
from toolbox.output import Reply
from toolbox.wire import http as wire

if TYPE_CHECKING:
    from toolbox.daemon.runtime import Daemon

BODY_BYTES: Final = limits.MESSAGE_BYTES
"""A request's body; past it 413."""

BODY_SECONDS: Final = 20.0
"""How long a body may take to come; past it 408."""

CLIENTS: Final = 64
"""Callers whose place in the queue is remembered."""

JSON: Final = "application/json"


class HttpDoor:
    """uvicorn serving one daemon."""

    def __init__(self, daemon: Daemon) -> None:
        assert daemon.settings.http is not None
        self._daemon = daemon
        self._host, self._port = daemon.settings.http
        self._server: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._mcp: Any = None

    async def start(self) -> None:
        """Bind, make the token, serve; the URL and a fresh token go to standard error."""
        settings = self._daemon.settings
        if settings.no_token:
            if not admission.is_loopback(self._host):
                raise InvalidArg("--no-token is for loopback only", hint="listen on 127.0.0.1")
            token = None
        elif settings.token_file:
            with open(settings.token_file, encoding="utf-8") as handle:
                token = handle.read().strip()
            if not token:
                raise InvalidArg(f"the token file {settings.token_file} is empty")
        else:
            token = secrets.token_urlsafe(32)
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._host, self._port))
        port = listener.getsockname()[1]
        host = f"[{self._host}]" if ":" in self._host else self._host
        self._daemon.http_url = f"http://{host}:{port}"
        from toolbox.daemon.mcp_http import McpHttp

        self._mcp = McpHttp(self._daemon)
        app = Guard(
            build_app(self._daemon, self._mcp), token=token, bound_host=self._host, port=port
        )
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            http=PatientProtocol,
            ws="none",
            timeout_keep_alive=15,
            h11_max_incomplete_event_size=64 * 1024,
            server_header=False,
            limit_concurrency=512,
        )
        self._server = uvicorn.Server(config)
        await self._mcp.start()
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._server._serve(sockets=[listener]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)
        self._daemon.log(
            "http",
            url=self._daemon.http_url,
            token=token if token and not settings.token_file else None,
        )

    async def stop(self) -> None:
        """No new requests; those that run get their replies."""
        if self._mcp is not None:
            await self._mcp.stop()
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            try:
                await asyncio.wait_for(self._task, 5)
            except TimeoutError:
                self._server.force_exit = True


class Guard:
    """Refuses what must not reach a route; counts the body as it comes."""

    def __init__(self, app: ASGIApp, *, token: str | None, bound_host: str, port: int) -> None:
        self._app = app
        self._token = token
        self._bound = bound_host
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        # Blanks around a value are no part of it (RFC 9110, 5.5); the parser leaves some.
        stripped = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": stripped}
        headers = admission.read_headers(stripped)
        if isinstance(headers, admission.Refusal):
            await _refuse(send, headers.status, headers.code, headers.message)
            return
        refusal = admission.check_request(
            host=headers.get("host"),
            origin=headers.get("origin"),
            authorization=headers.get("authorization"),
            token=self._token,
            bound_host=self._bound,
            open_path=scope["path"] == "/healthz",
        )
        refusal = refusal or admission.check_length(
            headers.get("content-length"), headers.get("transfer-encoding"), BODY_BYTES
        )
        if refusal is not None:
            await _refuse(send, refusal.status, refusal.code, refusal.message)
            return
        body = bytearray()
        if scope["method"] in ("POST", "PUT", "PATCH"):
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    while True:
                        message = await receive()
                        if message["type"] == "http.disconnect":
                            return
                        body += message.get("body", b"")
                        if len(body) > BODY_BYTES:
                            await _refuse(
                                send,
                                413,
                                "E_TOO_LARGE",
                                f"the body is larger than {BODY_BYTES} bytes",
                            )
                            return
                        if not message.get("more_body"):
                            break
            except TimeoutError:
                await _refuse(
                    send, 408, "E_TIMEOUT", f"the body did not come within {BODY_SECONDS:g} s"
                )
                return
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": bytes(body), "more_body": False}
            return await receive()

        await self._app(scope, replay, send)


async def _refuse(send: Send, status: int, code: str, message: str) -> None:
    body = wire.error_body(code, message)
    headers = [
        (b"content-type", JSON.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def build_app(daemon: Daemon, mcp: Any) -> Starlette:
    """The routes."""
    clients: dict[str, Client] = {}

    def client_of(request: Request) -> Client:
        """Who asks: a program at an address, so that one that floods keeps nobody else waiting."""
        agent = request.headers.get("user-agent", "")
        key = f"http {request.client.host if request.client else ''} {agent[:80]}"
        if key not in clients:
            if len(clients) >= CLIENTS:
                clients.pop(next(iter(clients)))
            clients[key] = Client(key)
        return clients[key]

    def json_response(value: Any, status: int = 200) -> Response:
        return Response(orjson.dumps(value), status, media_type=JSON)

    async def tools(request: Request) -> Response:
        return json_response({"tools": wire.catalogue_entries()})

    async def tool(request: Request) -> Response:
        entry = wire.find_entry(request.path_params["id"])
        if entry is None:
            return error(404, "E_UNKNOWN_VERB", *wire.unknown_entry(request.path_params["id"]))
        return json_response(entry)

    async def execute(request: Request) -> Response:
        ident, version = request.path_params["id"], request.path_params["version"]
        entry = wire.find_entry(ident)
        if entry is None or entry["version"] != version:
            return error(404, "E_UNKNOWN_VERB", *wire.unknown_entry(ident, version))
        if problem := _not_json(request):
            return problem
        body = await request.body()
        tool, cmd = wire.verb_of(entry)
        op = f"{tool}.{cmd}"
        try:
            wire.check_object(body)
        except ToolboxError as exc:
            return Response(failure(op, exc).envelope(), 400, media_type=JSON)
        call = Call(tool, cmd, body, None, daemon.service.seconds)
        reply = await _run(daemon, client_of(request), call, request)
        if ident == wire.SEQUENCE_ID and reply.ok:
            return Response(reply.result, 200, media_type=JSON)
        return Response(
            reply.envelope(), wire.status_of(reply), media_type=JSON, headers=wire.headers_of(reply)
        )

    async def message(request: Request) -> Response:
        if problem := _not_message(request):
            return problem
        parts: list[bytes] = []
        caller = Client("http message")
        session = Session(
            daemon.service, caller, "tags", parts.append, seconds=daemon.service.seconds
        )
        session.feed(await wire.message_bytes(request))
        session.end()
        if not await _done_or_gone(request, session.done):
            daemon.service.leave(caller)
            await session.done
        return Response(b"".join(parts), 200, media_type="text/plain; charset=utf-8")

    async def openapi(request: Request) -> Response:
        return json_response(wire.openapi(daemon.http_url or ""))

    async def health(request: Request) -> Response:
        return json_response({"ok": True})

    async def metrics(request: Request) -> Response:
        text = daemon.service.metrics.prometheus(daemon.service.gauges())
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    routes = [
        Route("/v1/tools", tools, methods=["GET"]),
        Route("/v1/tools/{id}", tool, methods=["GET"]),
        Route("/v1/tools/{id}/versions/{version}/execute", execute, methods=["POST"]),
        Route("/v1/message", message, methods=["POST"]),
        Route("/openapi.json", openapi, methods=["GET"]),
        Route("/healthz", health, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/mcp", mcp, methods=["GET", "POST", "DELETE"]),
    ]
    return Starlette(
        routes=routes, exception_handlers={404: _not_found, 405: _wrong_method, 500: _fault}
    )


def error(status: int, code: str, message: str, hint: str | None = None) -> Response:
    """An error body: the envelope."""
    return Response(wire.error_body(code, message, hint), status, media_type=JSON)


async def _not_found(request: Request, exc: Exception) -> Response:
    return error(
        404,
        "E_NOT_FOUND",
        f"nothing at {request.url.path[:80]}",
        "GET /v1/tools lists the verbs, GET /openapi.json describes the routes",
    )


async def _wrong_method(request: Request, exc: Exception) -> Response:
    response = error(405, "E_INVALID_ARG", f"{request.method} is not for {request.url.path[:80]}")
    allow = getattr(exc, "headers", None) or {}
    response.headers.update(allow)
    return response


async def _fault(request: Request, exc: Exception) -> Response:
    reply = failure("http", exc)
    return Response(reply.envelope(), 500, media_type=JSON)


def _not_json(request: Request) -> Response | None:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == JSON:
        return None
    return error(415, "E_INVALID_ARG", f"expected content-type {JSON}, got {kind[:60] or 'none'}")


def _not_message(request: Request) -> Response | None:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind in (JSON, "text/plain"):
        return None
    return error(
        415,
        "E_INVALID_ARG",
        f"expected content-type text/plain or {JSON}, got {kind[:60] or 'none'}",
    )


async def _run(daemon: Daemon, client: Client, call: Call, request: Request) -> Reply:
    """The call's reply; a caller that hangs up frees its worker."""
    future = daemon.service.submit(client, call)
    if not await _done_or_gone(request, future):
        daemon.service.cancel(future)
    return await future


async def _done_or_gone(request: Request, future: asyncio.Future[Any]) -> bool:
    """True once the future is done, False where its caller hung up before."""
    if future.done():
        return True
    watcher = asyncio.ensure_future(_gone(request.receive))
    either: set[asyncio.Future[Any]] = {future, watcher}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return future.done()
    finally:
        watcher.cancel()


async def _gone(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
