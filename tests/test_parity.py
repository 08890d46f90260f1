"""Every worked example through every door of one daemon: the same reply, whoever asks how."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.daemon.conftest import Stdio, dial
from toolbox.cli import client, words
from toolbox.cli.help import command_line
from toolbox.cli.rows import Row
from toolbox.registry import all_verbs
from toolbox.verb import Example, Verb

CASES = [(verb, k, example) for verb in all_verbs() for k, example in enumerate(verb.examples)]
IDS = [f"{verb.tool}-{verb.name}-{k}" for verb, k, _ in CASES]


class Doors:
    """One daemon with a socket and HTTP, and a connection for each framing."""

    def __init__(self, folder: pathlib.Path) -> None:
        run = folder / "run"
        run.mkdir(mode=0o700)
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.path = str(run / "s")
        self.daemon = Stdio(self.workspace, "--socket", self.path, "--http", "127.0.0.1:0")
        self.daemon.call("@json", "validate", text="{}")
        line = self.daemon.logged("http")
        self.http = httpx.Client(
            base_url=line["url"], headers={"authorization": f"Bearer {line['token']}"}, timeout=60,
            trust_env=False,
        )  # fmt: skip
        self.tags = dial(self.path, b"TOOLBOX/1 tags\n")
        self.mcp = dial(self.path, b"TOOLBOX/1 mcp tools=tools\n")
        self._lines = self.mcp.makefile("rb")
        self._count = 0
        info = {"name": "parity", "version": "1"}
        self._request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        self.http.close()
        self._lines.close()
        for channel in (self.tags, self.mcp):
            channel.close()
        if self.daemon.process.poll() is None:
            self.daemon.process.send_signal(signal.SIGTERM)
            self.daemon.process.wait(60)

    def _send(self, value: dict[str, Any]) -> None:
        self.mcp.sendall(json.dumps(value).encode() + b"\n")

    def _request(self, method: str, params: dict[str, Any]) -> Any:
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        while line := self._lines.readline():
            value = json.loads(line)
            if value.get("id") == self._count:
                return value["result"]
        raise AssertionError("the MCP door closed")

    def fresh(self, example: Example) -> None:
        """The workspace as the example has it."""
        for entry in self.workspace.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for name, text in example.files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def files(self) -> dict[str, bytes]:
        """What the workspace holds, our own state aside."""
        found = [p for p in self.workspace.rglob("*") if p.is_file()]
        names = {str(p.relative_to(self.workspace)): p for p in found}
        return {n: p.read_bytes() for n, p in names.items() if not n.startswith(".toolbox/")}

    # Each answers with (ok, text); those that carry the envelope with its bytes too.

    def by_jsonl(self, verb: Verb[Any], args: dict[str, Any]) -> bytes:
        with dial(self.path, b"TOOLBOX/1 jsonl\n") as channel:
            call = {"id": None, "name": f"@{verb.tool}", "args": {"cmd": verb.name, "args": args}}
            channel.sendall(json.dumps(call).encode() + b"\n")
            channel.shutdown(socket.SHUT_WR)
            line = b"".join(iter(lambda: channel.recv(65536), b""))
        return b"{" + line.removeprefix(b'{"id":null,"index":0,').rstrip(b"\n")

    def by_tag(self, verb: Verb[Any], args: dict[str, Any]) -> tuple[bool, str]:
        call = json.dumps({"cmd": verb.name, "args": args}, ensure_ascii=False)
        self.tags.sendall(f"<tool_call name=\"@{verb.tool}\" args='{call}' />\0".encode())
        got = b""
        while not got.endswith(b"\0"):
            got += self.tags.recv(65536)
        head = re.match(
            rb'<tool_result name="@(\w+)" cmd="(\w+)" status="(\w+)" bytes="(\d+)"[^>]*>\n', got
        )
        assert head is not None, got[:200]
        assert (head[1].decode(), head[2].decode()) == (verb.tool, verb.name)
        body = got[head.end() : head.end() + int(head[4])]
        assert got[head.end() + len(body) :].strip(b"\n\0") == b"</tool_result>"
        text = body.decode()
        if b' escaped="true"' in head[0]:
            text = text.replace("&lt;tool_", "<tool_").replace("&lt;/tool_", "</tool_")
        return head[3] == b"ok", text

    def by_http(self, verb: Verb[Any], args: dict[str, Any]) -> bytes:
        url = f"/v1/tools/{verb.tool}-{verb.name}/versions/1.0.0/execute"
        return self.http.post(url, json=args).content

    def by_mcp(self, verb: Verb[Any], args: dict[str, Any]) -> tuple[bool, str]:
        tool = "diff_apply" if verb.name in ("apply", "undo") else verb.tool
        params = {"name": tool, "arguments": {"cmd": verb.name, **args}}
        result = self._request("tools/call", params)
        (block,) = result["content"]
        return not result.get("isError", False), block["text"]

    def by_command(self, line: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "toolbox", *shlex.split(line)[1:]], cwd=self.workspace,
            env={**self.daemon_env(), "TOOLBOX_SOCKET": self.path}, capture_output=True, timeout=60,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    @staticmethod
    def daemon_env() -> dict[str, str]:
        import os

        return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    made = Doors(tmp_path_factory.mktemp("parity"))
    yield made
    made.close()


def _steady(data: bytes) -> bytes:
    """An envelope without what differs from call to call: times, ids of transactions."""
    data = re.sub(rb'"elapsed_ms":[0-9.]+', b'"elapsed_ms":0', data)
    data = data.replace(b'"cached":true', b'"cached":false')
    return _ids(data.decode()).encode()


def _ids(text: str) -> str:
    text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "WHEN", text)
    return re.sub(r"\b[0-9a-f]{12}-[0-9a-f]{16}\b", "ID", text)


def _text(envelope: bytes) -> tuple[bool, str]:
    value = json.loads(envelope)
    if value["ok"]:
        return True, value["text"]
    error = value["error"]
    hint = f"\nhint: {error['hint']}" if error.get("hint") else ""
    return False, f"{error['code']}: {error['message']}{hint}"


@pytest.mark.parametrize(("verb", "k", "example"), CASES, ids=IDS)
def test_an_example_is_answered_alike_through_every_door(
    doors: Doors, verb: Verb[Any], k: int, example: Example
) -> None:
    args = dict(example.args)
    writes = verb.writes(args)
    doors.fresh(example)
    expected = _steady(doors.by_jsonl(verb, args))
    after = doors.files()
    ok, text = _text(expected)
    assert ok == (example.fails is None) and example.shows in text

    def again() -> None:
        if writes:
            doors.fresh(example)

    again()
    assert _steady(doors.by_http(verb, args)) == expected
    assert doors.files() == after
    again()
    tag_ok, tag_text = doors.by_tag(verb, args)
    assert (tag_ok, _ids(tag_text)) == (ok, text)
    assert doors.files() == after
    again()
    mcp_ok, mcp_text = doors.by_mcp(verb, args)
    if verb.name == "revisions" and mcp_text.startswith("{"):
        mcp_text = _text(mcp_text.encode())[1]
    assert (mcp_ok, _ids(mcp_text)) == (ok, text)
    assert doors.files() == after

    # The command that help prints: through the daemon, then alone.
    line = command_line(verb, args)
    again()
    ran = doors.by_command(line + " --json")
    assert (_steady(ran.stdout.rstrip(b"\n")), ran.stderr) == (expected, b"")
    negative = b'"negative":true' in expected
    assert ran.returncode == (1 if ok and negative else 0 if ok else 2)
    assert doors.files() == after
    again()
    given = words.parse(Row(verb.tool, verb.name), shlex.split(line)[3:])
    alone = client.answer_alone(
        str(doors.workspace), verb.tool, verb.name, words.encode(given.args)
    )
    assert _steady(alone) == expected
    assert doors.files() == after


def test_the_text_on_the_command_line_is_the_reply_s(doors: Doors) -> None:
    verb, _, example = next(c for c in CASES if c[0].name == "apply" and c[2].fails is None)
    doors.fresh(example)
    expected = _text(doors.by_jsonl(verb, dict(example.args)))[1]
    ran = doors.by_command(command_line(verb, dict(example.args)))
    assert ran.stdout.decode() == expected + "\n"
