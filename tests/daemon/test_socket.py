"""The Unix socket: framing chosen by the first line, order around writes, status and stop."""

from __future__ import annotations

import json
import pathlib
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.daemon.conftest import Stdio, dial


@pytest.fixture
def door(tmp_path: pathlib.Path, serve: Callable[..., Stdio]) -> Iterator[str]:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    path = str(folder / "s")
    serve("--socket", path)
    yield path


def _all(channel: socket.socket) -> bytes:
    parts = []
    while chunk := channel.recv(65536):
        parts.append(chunk)
    return b"".join(parts)


def test_jsonl_by_the_first_line(door: str) -> None:
    with dial(door, b"TOOLBOX/1 jsonl name=t\n") as channel:
        channel.sendall(b'{"id":7,"name":"@json","args":{"cmd":"get","args":{"text":"[1.50]","path":"[0]"}}}\n')
        channel.shutdown(socket.SHUT_WR)
        line = _all(channel)
    assert line.startswith(b'{"id":7,"index":0,"ok":true,"op":"json.get","api":1,"result":{')
    assert b'"value":1.50' in line


def test_tags_answer_in_call_order_and_end_with_a_nul(door: str) -> None:
    message = b"""hello <tool_call id="a" name="@json" args='{"cmd":"get","args":{"text":"[1]","path":"[0]"}}' />
    and `<tool_call name="@json"/>` <tool_call id="b" name="@json" args='{"cmd":"nope"}' />"""
    with dial(door, b"TOOLBOX/1 tags\n") as channel:
        channel.sendall(message + b"\0")
        got = b""
        while not got.endswith(b"\0"):
            got += channel.recv(65536)
    text = got.decode()
    assert text.startswith('<tool_result name="@json" cmd="get" id="a" status="ok" bytes="1">\n1\n</tool_result>\n')
    assert 'id="b" status="error"' in text and "E_UNKNOWN_VERB" in text
    assert "<tool_note" in text and "Markdown code" in text


def test_output_is_cut_by_default_and_whole_when_asked(door: str, workspace: pathlib.Path) -> None:
    (workspace / "big.json").write_text(json.dumps([{"i": k} for k in range(20_000)]))
    call = b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"file":"big.json","path":""}}}\n'
    for first, cut in ((b"TOOLBOX/1 jsonl\n", True), (b"TOOLBOX/1 jsonl cap=0\n", False)):
        with dial(door, first + call) as channel:
            channel.shutdown(socket.SHUT_WR)
            reply = json.loads(_all(channel))
        assert reply["truncated"] is cut
        assert (len(reply["text"].encode()) <= 24_000) is cut
        if not cut:
            assert reply["result"]["value"] == [{"i": k} for k in range(20_000)]


def test_calls_after_a_write_see_what_it_wrote(door: str, workspace: pathlib.Path) -> None:
    (workspace / "n.json").write_text('{"n": 0}\n')
    parts = []
    for k in range(6):
        patch = json.dumps(f'@@ -1 +1 @@\n-{{"n": {k}}}\n+{{"n": {k + 1}}}\n')
        parts.append("""<tool_call name="@json" args='{"cmd":"get","args":{"file":"n.json","path":"n"}}' />""")
        parts.append(f"""<tool_call name="@diff" args='{{"cmd":"apply","args":{{"file":"n.json","patch":{patch},"dry_run":false}}}}' />""")
    parts.append("""<tool_call name="@json" args='{"cmd":"get","args":{"file":"n.json","path":"n"}}' />""")
    with dial(door, b"TOOLBOX/1 jsonl\n") as channel:
        channel.sendall(json.dumps({"id": 1, "message": "\n".join(parts)}).encode() + b"\n")
        channel.shutdown(socket.SHUT_WR)
        replies = {r["index"]: r for r in map(json.loads, _all(channel).splitlines())}
    assert [replies[k]["result"]["value"] for k in range(0, 13, 2)] == list(range(7))
    assert all(replies[k]["result"]["applied"] for k in range(1, 12, 2))


def test_a_message_without_a_call_says_what_a_call_is(door: str) -> None:
    with dial(door, b"TOOLBOX/1 jsonl\n") as channel:
        channel.sendall(b'{"id":1,"message":"just talk"}\n')
        channel.shutdown(socket.SHUT_WR)
        (reply,) = map(json.loads, _all(channel).splitlines())
    assert reply["op"] == "message" and reply["result"]["calls"] == 0 and "tool_call" in reply["text"]


def test_an_unknown_framing_is_refused(door: str) -> None:
    with dial(door, b"TOOLBOX/1 smoke\n") as channel:
        assert json.loads(_all(channel))["error"]["code"] == "E_BAD_CALL"


def test_a_line_past_the_message_limit_is_refused_and_the_next_is_answered(door: str) -> None:
    with dial(door, b"TOOLBOX/1 jsonl\n") as channel:
        channel.sendall(b'{"id":1,"message":"' + b"x" * (16 * 1024 * 1024 + 10) + b'"}\n')
        channel.sendall(b'{"id":2,"name":"@json","args":{"cmd":"get","args":{"text":"3","path":""}}}\n')
        channel.shutdown(socket.SHUT_WR)
        first, second = map(json.loads, _all(channel).splitlines())
    assert first["ok"] is False and "larger" in first["error"]["message"]
    assert second["result"]["value"] == 3


def test_a_client_that_leaves_frees_its_worker(door: str, workspace: pathlib.Path) -> None:
    (workspace / "big.json").write_text("[" + ",".join('{"a":"' + "x" * 400 + '"}' for _ in range(20_000)) + "]")
    for _ in range(20):
        with dial(door, b"TOOLBOX/1 jsonl\n") as channel:
            for k in range(20):
                channel.sendall(b'{"id":%d,"name":"@json","args":{"cmd":"pretty","args":{"file":"big.json"}}}\n' % k)
    with dial(door, b"TOOLBOX/1 jsonl\n") as channel:
        channel.sendall(b'{"id":2,"name":"@json","args":{"cmd":"get","args":{"text":"3","path":""}}}\n')
        assert json.loads(channel.recv(65536))["ok"]


def test_two_daemons_do_not_share_a_socket(door: str, workspace: pathlib.Path) -> None:
    dial(door).close()
    done = subprocess.run(
        [sys.executable, "-m", "toolbox", "serve", "--workspace", str(workspace), "--socket", door],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2 and "already runs" in done.stderr


def _toolbox(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolbox", *words], capture_output=True, text=True, timeout=60, **more  # type: ignore[call-overload]
    )


def test_the_command_line_finds_the_daemon_and_answers_with_the_same_bytes(
    workspace: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (workspace / "a.json").write_text('{"b": [1.10, {"c": "é"}]}')
    words = ("json", "get", "--workspace", str(workspace), "a.json", "b", "--json")
    alone = json.loads(_toolbox(*words, "--no-daemon").stdout)
    daemon = subprocess.Popen(
        [sys.executable, "-m", "toolbox", "serve", "--workspace", str(workspace), "--socket"],
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert daemon.stderr is not None
        started = json.loads(daemon.stderr.readline())
        assert started["event"] == "started"
        through = json.loads(_toolbox(*words).stdout)
        assert {**through, "meta": 0} == {**alone, "meta": 0}
        status = json.loads(_toolbox("status", "--workspace", str(workspace), "--json").stdout)
        assert status["verbs"]["json.get"]["calls"] == 1
        assert {layer["name"] for layer in status["layers"]["read"]} >= {"files", "calls"}
        stopped = _toolbox("stop", "--workspace", str(workspace))
        assert stopped.returncode == 0 and str(daemon.pid) in stopped.stdout
        assert daemon.wait(60) == 0
        assert not pathlib.Path(started["socket"]).exists()
    finally:
        daemon.kill()
        daemon.wait()
    assert _toolbox("status", "--workspace", str(workspace)).returncode == 2


def test_a_message_of_broken_tags_is_given_up_and_others_are_answered(door: str) -> None:
    message = '<tool_call name="@json" args=\'{"cmd":' * 40_000
    with dial(door, b"TOOLBOX/1 jsonl\n") as channel:
        channel.sendall(json.dumps({"id": 1, "message": message}).encode() + b"\n")
        channel.shutdown(socket.SHUT_WR)
        replies = [json.loads(line) for line in _all(channel).splitlines()]
    assert 200 < len(replies) < 5_000
    assert "the rest of it was not read" in replies[-1]["error"]["message"]
    with dial(door, b"TOOLBOX/1 jsonl\n") as channel:
        channel.sendall(b'{"id":2,"name":"@json","args":{"cmd":"get","args":{"text":"3","path":""}}}\n')
        assert json.loads(channel.recv(65536))["ok"]
