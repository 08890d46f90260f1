"""`toolbox call`, alone and through the daemon, and every verb through a running daemon."""

from __future__ import annotations

import json
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Shell

MESSAGE = """Let me look.
<tool_call name="@json" args='{"cmd":"get","args":{"file":"r.json","path":"a"}}' id="one" />
and
<tool_call name="json" args='{"cmd":"gte","args":{}}' />
```
<tool_call name="@json" args='{"cmd":"keys","args":{"file":"r.json"}}' />
```
"""

EXPECTED = """<tool_result name="@json" cmd="get" id="one" status="ok" bytes="4">
1.10
</tool_result>
"""


@pytest.fixture
def daemon(toolbox: Shell) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon on the workspace's socket, which answers when the test begins."""
    process = subprocess.Popen(
        [sys.executable, "-m", "toolbox", "serve", "--socket", "--quiet"],
        cwd=toolbox.folder, env=toolbox.env, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    give_up = time.monotonic() + 60
    while toolbox("status").status != 0:
        assert process.poll() is None and time.monotonic() < give_up
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(60)


def _steady(data: bytes) -> bytes:
    data = re.sub(rb'"elapsed_ms":[0-9.]+', b'"elapsed_ms":0', data)
    return data.replace(b'"cached":true', b'"cached":false')


def _shown(toolbox: Shell) -> list[tuple[int, bytes, str]]:
    """What a set of commands gives, alone or through a daemon."""
    runs = [
        toolbox("call", stdin=MESSAGE.encode()),
        toolbox("call", "message.txt"),
        toolbox("json", "get", "r.json", "a"),
        toolbox("json", "get", "r.json", "a", "--json"),
        toolbox("json", "get", "r.json", "b", "--json"),
        toolbox("json", "get", "r.json", "b"),
        toolbox("json", "get", "-", "x", stdin=b'{"x": "\xc3\xbc\\ud800"}'),
        toolbox("json", "validate", "--text", "{"),
        toolbox("diff", "files", "r.json", "message.txt", "--json"),
        toolbox("json", "pretty", "r.json", "--max-bytes", "300"),
        toolbox("diff", "apply", "-", stdin=b"--- a/n\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n"),
    ]
    return [(r.status, _steady(r.out), r.err) for r in runs]


def test_the_same_bytes_alone_and_through_the_daemon(
    toolbox: Shell, request: pytest.FixtureRequest
) -> None:
    numbers = ",".join(f'"k{k}": [{k}, 1.50]' for k in range(200))
    toolbox.write({"r.json": f'{{"a": 1.10, {numbers}}}', "message.txt": MESSAGE, "n": "x\n"})
    alone = _shown(toolbox)
    assert alone[0][1].decode().startswith(EXPECTED)
    assert alone[0] == alone[1]
    assert alone[6] == (0, '"ü\\ud800"\n'.encode(), "")
    request.getfixturevalue("daemon")
    through = _shown(toolbox)
    assert through == alone
    calls = json.loads(toolbox("status", "--json").out)["verbs"]
    assert calls["json.get"]["calls"] >= 6, "the daemon answered"


def test_jsonl_and_explain(toolbox: Shell, tmp_path: pathlib.Path) -> None:
    toolbox.write({"r.json": '{"a": 1.10}', "message.txt": MESSAGE})
    lines = [json.loads(line) for line in toolbox("call", "--jsonl", "message.txt").out.splitlines()]
    ops = sorted((entry["index"], entry["ok"], entry["op"]) for entry in lines)
    assert ops[:2] == [(0, True, "json.get"), (1, False, "json.gte")]
    ran = toolbox("call", "--explain", "message.txt")
    kinds = [json.loads(line)["kind"] for line in ran.out.splitlines()]
    assert ran.status == 0 and kinds.count("skipped") == 1 and kinds[0] == "call"
    assert not (toolbox.folder / ".toolbox").exists()
    ran = toolbox("call", "nowhere.txt")
    assert (ran.status, ran.out) == (2, b"") and "nowhere.txt: No such file" in ran.err


def test_the_daemon_writes_for_the_command_line(toolbox: Shell, daemon: object) -> None:
    toolbox.write({"n": "x\n"})
    patch = b"--- a/n\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n"
    ran = toolbox("diff", "apply", "-", "--write", "--json", stdin=patch)
    ident = json.loads(ran.out)["result"]["undo"]
    assert (ran.status, toolbox.read("n")) == (0, b"y\n")
    assert toolbox("diff", "undo", ident, "--write", "--no-daemon").status == 0
    assert toolbox.read("n") == b"x\n"
    assert toolbox("stop").status == 0
    assert toolbox("json", "get", "--text", "[1]", "[0]").text == "1\n"
