"""The HTTP door under clients that are slow, that flood it, and that hang up."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import uvicorn

from sandbox import admission
from tests.daemon.conftest import Stdio
from toolbox.daemon import http as door
from toolbox.daemon import patience

WAIT_SECONDS = 30
LARGE_BYTES = 64 * 1024 * 1024


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """The door's own protocol and guard around a plain app, with short times."""
    monkeypatch.setattr(patience, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(patience, "WRITE_SECONDS", 0.2)
    monkeypatch.setattr(patience, "LINGER_SECONDS", 0.2)
    monkeypatch.setattr(door, "BODY_SECONDS", 0.2)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        size = LARGE_BYTES if scope["path"] == "/large" else 2
        await send({"type": "http.response.body", "body": b"x" * size})

    guarded = door.Guard(app, token=None, bound_host="127.0.0.1", port=0)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        guarded, log_config=None, lifespan="off", http=patience.PatientProtocol, ws="none"
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=lambda: asyncio.run(server._serve(sockets=[listener])))
    thread.start()
    yield listener.getsockname()[:2]
    server.should_exit = server.force_exit = True
    thread.join(WAIT_SECONDS)


def _all(channel: socket.socket) -> bytes:
    parts = []
    while chunk := channel.recv(65536):
        parts.append(chunk)
    return b"".join(parts)


def _ask(place: tuple[str, int], sent: bytes) -> bytes:
    with socket.create_connection(place, WAIT_SECONDS) as channel:
        channel.sendall(sent)
        return _all(channel)


HEAD = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST ", HEAD, HEAD + b"X-Slow: a", HEAD + b"Content-Length: 5\r\n\r\nab",
     HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"],
    ids=["nothing", "half a first line", "no end of headers", "half a header", "half a body", "half a chunk"],
)  # fmt: skip
def test_what_does_not_come_in_time_is_408(impatient: tuple[str, int], sent: bytes) -> None:
    got = _ask(impatient, sent)
    assert got.split(b" ")[1] == b"408"
    assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "E_TIMEOUT"


@pytest.mark.parametrize("size", [3 * admission.HEADER_BYTES, admission.HEADER_BYTES + 100])
@pytest.mark.parametrize("ends", [True, False])
def test_headers_past_their_size_are_431(impatient: tuple[str, int], size: int, ends: bool) -> None:
    got = _ask(impatient, HEAD + b"X-Long: " + b"a" * size + (b"\r\n\r\n" if ends else b""))
    # Where the end does not come, and the size is not past what is buffered, the time is up first.
    expected = b"431" if ends or size > 2 * admission.HEADER_BYTES else b"408"
    assert got.split(b" ")[1] == expected


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", b"400"),
        (HEAD + b"Content-Length: 5, 5\r\n\r\nabcde", b"400"),
        (HEAD + b"Content-Length: +5\r\n\r\nabcde", b"400"),
        (HEAD + b"Content-Length: -5\r\n\r\n", b"400"),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n", b"4"),
        (HEAD + b"Content-Length: 99999999999\r\n\r\n", b"413"),
        (HEAD + b"Host: evil.example\r\n\r\n", b"400"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nnothex\r\n", b"400"),
        (b"POST / HTTP/1.1\r\n\r\n", b"421"),
        (b"POST / HTTP/1.1\r\nHost: localhost.evil\r\n\r\n", b"421"),
    ],
    ids=["two lengths", "a list of lengths", "a signed length", "a negative length", "a length past 64 bits",
         "a length past the limit", "two hosts", "a chunk that is none", "no host", "another host"],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_refused(
    impatient: tuple[str, int], sent: bytes, status: bytes
) -> None:
    assert _ask(impatient, sent).split(b" ")[1].startswith(status)


def test_a_reader_that_does_not_read_is_dropped(impatient: tuple[str, int]) -> None:
    with socket.create_connection(impatient, WAIT_SECONDS) as channel:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        channel.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        give_up = time.monotonic() + WAIT_SECONDS
        while channel.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1:  # established
            assert time.monotonic() < give_up
        got = 0
        with pytest.raises(ConnectionError):
            while chunk := channel.recv(1 << 20):
                got += len(chunk)
            raise ConnectionResetError  # closed without a reset: then it must be short
        assert got < LARGE_BYTES
    assert b"200" in _ask(impatient, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")


# -- with a real daemon ---------------------------------------------------------------------------


@pytest.fixture
def daemon(workspace: pathlib.Path, serve: Callable[..., Stdio]) -> Iterator[Stdio]:
    (workspace / "a.json").write_text('{"p": 1.10}')
    one = serve("--http", "127.0.0.1:0", "--workers", "2")
    one.call("@json", "get", file="a.json", path="p")
    yield one
    for pid in one.workers():
        os.kill(pid, signal.SIGCONT)


def _client(daemon: Stdio, name: str) -> httpx.Client:
    line = daemon.logged("http")
    headers = {"authorization": f"Bearer {line['token']}", "user-agent": name}
    return httpx.Client(base_url=line["url"], headers=headers, timeout=60, trust_env=False,
                        limits=httpx.Limits(max_connections=None))  # fmt: skip


def _get(client: httpx.Client) -> httpx.Response:
    return client.post("/v1/tools/json-get/versions/1.0.0/execute", json={"file": "a.json", "path": "p"})


def _gauge(client: httpx.Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return float(next(x for x in lines if x.startswith(f"toolbox_{name} ")).split()[1])


def _until(client: httpx.Client, name: str, value: float) -> None:
    give_up = time.monotonic() + WAIT_SECONDS
    while _gauge(client, name) != value:
        assert time.monotonic() < give_up, (name, _gauge(client, name))


def test_a_client_that_floods_is_refused_and_others_go_first(daemon: Stdio) -> None:
    flooding, other = _client(daemon, "flood"), _client(daemon, "other")
    stopped = daemon.workers()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    ended: list[str] = []

    def ask(client: httpx.Client, name: str) -> httpx.Response:
        got = _get(client)
        if got.status_code == 200:
            ended.append(name)
        return got

    with ThreadPoolExecutor(140) as pool:
        flood = [pool.submit(ask, flooding, "flood") for _ in range(130)]
        _until(other, "calls_waiting", 100)
        one = pool.submit(ask, other, "other")
        _until(other, "calls_waiting", 101)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        assert one.result().json()["result"]["path"] == "p"
        replies = [f.result() for f in flood]
    refused = [r for r in replies if r.status_code == 429]
    assert len(refused) == 28 and all(r.headers["retry-after"] == "1" for r in refused)
    assert all(r.json()["error"]["code"] == "E_BUSY" for r in refused)
    assert ended.index("other") < 20  # behind what ran and a turn of each, not behind a hundred


@pytest.mark.parametrize("path", ["/v1/tools/json-get/versions/1.0.0/execute", "/v1/message"])
def test_a_caller_that_hangs_up_frees_its_worker(daemon: Stdio, path: str) -> None:
    watching = _client(daemon, "watching")
    line = daemon.logged("http")
    for pid in daemon.workers():
        os.kill(pid, signal.SIGSTOP)
    body, kind = b'{"file":"a.json","path":"p"}', "application/json"
    if path == "/v1/message":
        body, kind = b"""<tool_call name="@json" args='{"cmd":"get","args":{"file":"a.json","path":"p"}}' />""", "text/plain"
    place = (watching.base_url.host, watching.base_url.port)
    with socket.create_connection(place, WAIT_SECONDS) as channel:
        channel.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {line['token']}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        _until(watching, "calls_running", 1)
    _until(watching, "calls_running", 0)
    _until(watching, "workers_replaced_total", 1)
