"""MCP through the bridge, line by line: both eras, progress, cancellation, hanging up, long lines.

A call is made to take as long as a test needs by stopping the workers with SIGSTOP.
"""

from __future__ import annotations

import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

WAIT_SECONDS = 60
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Bridge:
    """`toolbox mcp` in a process of its own, spoken to in JSON-RPC lines."""

    def __init__(self, workspace: pathlib.Path, environment: dict[str, str]) -> None:
        self.environment = environment
        self.workspace = workspace
        self.process = subprocess.Popen(
            [sys.executable, "-m", "toolbox", "mcp", "--workspace", str(workspace)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        self.lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, method: str, params: dict[str, Any] | None = None, ident: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if ident is not None:
            message["id"] = ident
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        got = self.lines.get(timeout=WAIT_SECONDS)
        assert got is not None, "the bridge ended"
        return got

    def ask(self, ident: int, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.send(method, params, ident)
        got = self.receive()
        assert got["id"] == ident
        return got

    def open(self, version: str = "2025-11-25") -> dict[str, Any]:
        got = self.ask(0, "initialize", {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"},
        })  # fmt: skip
        self.send("notifications/initialized")
        return got

    def call(self, ident: int, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask(ident, "tools/call", {"name": name, "arguments": arguments})

    def text(self, got: dict[str, Any]) -> str:
        (block,) = got["result"]["content"]
        return str(block["text"])

    def control(self, word: str, *more: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "toolbox", word, *more, "--workspace", str(self.workspace)],
            env=self.environment, capture_output=True, timeout=WAIT_SECONDS, check=True, text=True,
        ).stdout  # fmt: skip

    def status(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.control("status", "--json"))
        return value

    def readers(self) -> list[int]:
        return [w["pid"] for w in self.status()["workers"]["read"]]

    def until(self, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        give_up = time.monotonic() + WAIT_SECONDS
        while not true(status := self.status()):
            assert time.monotonic() < give_up, status
        return status


@pytest.fixture
def bridge(tmp_path: pathlib.Path) -> Iterator[Bridge]:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "a.json").write_text('{"price": 1.10, "rows": [1, 2]}')
    one = Bridge(workspace, {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    yield one
    for pid in one.readers():
        os.kill(pid, signal.SIGCONT)
    one.control("stop")
    one.process.kill()
    one.process.wait()


def _stop_workers(bridge: Bridge) -> list[int]:
    pids = bridge.readers()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


GET = {"name": "json", "arguments": {"cmd": "get", "file": "a.json", "path": "price"}}


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_an_older_handshake(bridge: Bridge, version: str) -> None:
    opened = bridge.open(version)["result"]
    assert opened["protocolVersion"] == version
    assert set(opened["capabilities"]) == {"tools"}
    assert len(bridge.ask(1, "tools/list")["result"]["tools"]) == 3
    assert bridge.text(bridge.ask(2, "tools/call", GET)) == "1.10"


def test_the_stateless_era_needs_no_handshake(bridge: Bridge) -> None:
    found = bridge.ask(1, "server/discover", {"_meta": META})["result"]
    assert "2026-07-28" in found["supportedVersions"]
    listed = bridge.ask(2, "tools/list", {"_meta": META})["result"]
    assert len(listed["tools"]) == 3 and listed["ttlMs"] > 0
    got = bridge.ask(3, "tools/call", {**GET, "_meta": META})
    assert bridge.text(got) == "1.10" and got["result"]["resultType"] == "complete"


def test_a_line_of_a_megabyte_and_one_split_anywhere(bridge: Bridge) -> None:
    bridge.open()
    text = json.dumps({"pad": "é" * 500_000, "price": 1.5})
    assert bridge.text(bridge.call(1, "json", cmd="get", text=text, path="price")) == "1.5"
    assert bridge.process.stdin is not None
    line = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": GET}).encode() + b"\n"
    for at in range(0, len(line), 7):
        bridge.process.stdin.write(line[at : at + 7])
        bridge.process.stdin.flush()
    assert bridge.text(bridge.receive()) == "1.10"


def test_lines_that_are_no_messages_do_not_end_the_session(bridge: Bridge) -> None:
    bridge.open()
    assert bridge.process.stdin is not None
    for junk in (b"not json\n", b"\n", b"[]\n", b'{"jsonrpc":"2.0"}\n', b"\xff\xfe\n"):
        bridge.process.stdin.write(junk)
    bridge.process.stdin.flush()
    bridge.send("tools/call", GET, 9)
    while (got := bridge.receive()).get("id") != 9:
        assert "error" in got
    assert bridge.text(got) == "1.10"


@pytest.mark.parametrize(
    "arguments",
    [
        {"cmd": "get", "args": '{"file": "a.json", "path": "price"}'},
        {"cmd": "get", "args": {"file": "a.json", "path": "price"}},
        {"cmd": "get", "file": "a.json", "path": "price", "max_bytes": "400"},
    ],
    ids=["args in a string", "args as an object", "a number in a string"],
)
def test_arguments_that_arrive_in_strings(bridge: Bridge, arguments: dict[str, Any]) -> None:
    bridge.open()
    assert bridge.text(bridge.call(1, "json", **arguments)) == "1.10"


def test_a_call_over_a_second_tells_that_it_is_alive(bridge: Bridge) -> None:
    bridge.open()
    bridge.ask(1, "tools/call", GET)
    stopped = _stop_workers(bridge)
    bridge.send("tools/call", {**GET, "_meta": {"progressToken": "p"}}, 2)
    told = [bridge.receive() for _ in range(2)]
    assert [t["method"] for t in told] == ["notifications/progress"] * 2
    assert [t["params"]["progressToken"] for t in told] == ["p"] * 2
    assert told[0]["params"]["progress"] < told[1]["params"]["progress"]
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    while "id" not in (got := bridge.receive()):
        assert got["method"] == "notifications/progress"
    assert got["id"] == 2 and bridge.text(got) == "1.10"


def test_a_call_without_a_token_tells_nothing(bridge: Bridge) -> None:
    bridge.open()
    bridge.ask(1, "tools/call", GET)
    _stop_workers(bridge)
    bridge.send("tools/call", GET, 2)
    bridge.until(lambda s: s["running"] == 1)
    bridge.send("notifications/cancelled", {"requestId": 2})
    bridge.until(lambda s: s["workers"]["replaced"] == 1)
    assert bridge.lines.empty() or bridge.receive().get("id") == 2


def test_cancelling_frees_the_worker(bridge: Bridge) -> None:
    bridge.open()
    bridge.ask(1, "tools/call", GET)
    stopped = _stop_workers(bridge)
    bridge.send("tools/call", GET, 2)
    bridge.until(lambda s: s["running"] == 1)
    bridge.send("notifications/cancelled", {"requestId": 2, "reason": "no longer wanted"})
    after = bridge.until(lambda s: s["running"] == 0 and s["workers"]["replaced"] == 1)
    left = {w["pid"] for w in after["workers"]["read"]} & set(stopped)
    assert len(left) == len(stopped) - 1
    for pid in left:
        os.kill(pid, signal.SIGCONT)
    bridge.send("tools/call", GET, 3)
    while (got := bridge.receive()).get("id") != 3:
        pass
    assert bridge.text(got) == "1.10"


@pytest.mark.parametrize("how", ["its input ends", "the bridge is killed"])
def test_a_client_that_hangs_up_frees_its_worker(bridge: Bridge, how: str) -> None:
    bridge.open()
    bridge.ask(1, "tools/call", GET)
    _stop_workers(bridge)
    bridge.send("tools/call", GET, 2)
    bridge.until(lambda s: s["running"] == 1)
    if how == "its input ends":
        assert bridge.process.stdin is not None
        bridge.process.stdin.close()
    else:
        bridge.process.kill()
    bridge.until(lambda s: s["running"] == 0 and s["workers"]["replaced"] == 1)


def test_the_daemon_is_no_child_of_the_bridge(bridge: Bridge) -> None:
    """Agents end the whole tree below a server; other agents use the daemon too."""
    bridge.open()
    pid = bridge.status()["pid"]
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as handle:
        parent, group, session = (int(w) for w in handle.read().rpartition(")")[2].split()[1:4])
    assert bridge.process.pid not in (parent, group, session)
    bridge.process.send_signal(signal.SIGKILL)
    bridge.process.wait()
    other = Bridge(bridge.workspace, bridge.environment)
    other.open()
    assert other.status()["pid"] == pid
    other.process.kill()
    other.process.wait()
