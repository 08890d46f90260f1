"""Streams that end, stall, flood or hang up: no reply lost, none doubled, nothing left waiting."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.daemon.conftest import ANSWER_SECONDS, Stdio, dial

Serve = Callable[..., Stdio]
SERVE = (sys.executable, "-m", "toolbox", "serve", "--stdio")


def call(ident: object, cmd: str, tool: str = "@json", **args: object) -> bytes:
    line = {"id": ident, "name": tool, "args": {"cmd": cmd, "args": args}}
    return json.dumps(line).encode() + b"\n"


def tag(ident: object, cmd: str, tool: str = "@json", **args: object) -> str:
    """A call as a tag; no apostrophe in it."""
    return f"""<tool_call id="{ident}" name="{tool}" args='{json.dumps({"cmd": cmd, "args": args})}' />\n"""


def tagged_ids(data: bytes) -> list[str]:
    return re.findall(r'<tool_result [^>]*\bid="([^"]*)"', data.decode())


def read_all(channel: socket.socket) -> bytes:
    parts = []
    while chunk := channel.recv(1 << 16):
        parts.append(chunk)
    return b"".join(parts)


@pytest.fixture
def door(tmp_path: pathlib.Path, serve: Serve) -> Iterator[tuple[str, Stdio]]:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    path = str(folder / "s")
    yield path, serve("--socket", path)


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.kill()
    daemon.wait()
    for stream in (daemon.stdin, daemon.stdout, daemon.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _big(workspace: pathlib.Path) -> None:
    (workspace / "big.json").write_text(json.dumps([{"i": k} for k in range(20_000)]))


def test_replies_larger_than_a_pipe_all_reach_a_reader_that_starts_late(workspace: pathlib.Path) -> None:
    _big(workspace)
    daemon = subprocess.Popen(
        [*SERVE, "--workspace", str(workspace), "--format", "jsonl"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert daemon.stdin is not None and daemon.stdout is not None and daemon.stderr is not None
    try:
        daemon.stdin.write(b"".join(call(k, "get", file="big.json", path="") for k in range(30)))
        daemon.stdin.close()
        seen = 0
        for line in daemon.stderr:  # nothing of the output is read until all calls have ended
            seen += json.loads(line)["event"] == "call"
            if seen == 30:
                break
        replies = [json.loads(line) for line in daemon.stdout]
        assert sorted(r["id"] for r in replies) == list(range(30))
        assert all(r["ok"] for r in replies)
        assert daemon.wait(ANSWER_SECONDS) == 0
    finally:
        _end(daemon)


def test_a_log_that_nobody_reads_stops_no_call(workspace: pathlib.Path) -> None:
    daemon = subprocess.Popen(
        [*SERVE, "--workspace", str(workspace), "--format", "jsonl"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert daemon.stdin is not None and daemon.stdout is not None and daemon.stderr is not None
    try:
        for k in range(800):  # about 150 bytes of log each: twice what a pipe holds
            daemon.stdin.write(call(k, "get", text="[1]", path="[0]"))
            daemon.stdin.flush()
            assert json.loads(daemon.stdout.readline())["id"] == k
        daemon.stdin.close()
        assert daemon.wait(ANSWER_SECONDS) == 0
    finally:
        _end(daemon)


@pytest.mark.parametrize("framing", ["jsonl", "tags"])
def test_files_as_input_and_output(workspace: pathlib.Path, tmp_path: pathlib.Path, framing: str) -> None:
    calls = tmp_path / "calls"
    if framing == "jsonl":
        calls.write_bytes(b"".join(call(str(k), "get", text="[7]", path="[0]") for k in range(50)))
    else:
        calls.write_text("".join(tag(k, "get", text="[7]", path="[0]") for k in range(50)))
    with open(calls, "rb") as source, open(tmp_path / "out", "wb") as sink:
        done = subprocess.run(
            [*SERVE, "--workspace", str(workspace), "--format", framing],
            stdin=source, stdout=sink, stderr=subprocess.DEVNULL, timeout=ANSWER_SECONDS,
        )  # fmt: skip
    out = (tmp_path / "out").read_bytes()
    assert done.returncode == 0
    if framing == "jsonl":
        assert sorted(int(json.loads(x)["id"]) for x in out.splitlines()) == list(range(50))
    else:
        assert tagged_ids(out) == [str(k) for k in range(50)]


def test_an_output_that_cannot_be_written_ends_the_daemon(workspace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "calls").write_bytes(call(1, "get", text="[7]", path="[0]") * 3)
    with open(tmp_path / "calls", "rb") as source, open("/dev/full", "wb") as sink:
        done = subprocess.run(
            [*SERVE, "--workspace", str(workspace), "--format", "jsonl"],
            stdin=source, stdout=sink, stderr=subprocess.PIPE, timeout=ANSWER_SECONDS,
        )  # fmt: skip
    assert done.returncode == 0
    assert b"No space left" in done.stderr and b"Traceback" not in done.stderr


def test_an_output_whose_reader_left_ends_the_daemon(workspace: pathlib.Path, serve: Serve) -> None:
    read, write = os.pipe()
    daemon = subprocess.Popen(
        [*SERVE, "--workspace", str(workspace)], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    os.close(read)
    try:
        assert daemon.wait(ANSWER_SECONDS) == 0
    finally:
        _end(daemon)


def test_started_without_standard_streams(workspace: pathlib.Path) -> None:
    command = " ".join([*SERVE, "--workspace", str(workspace), "<&-", ">&-", "2>&-"])
    assert subprocess.run(["sh", "-c", command], timeout=ANSWER_SECONDS).returncode == 0


def test_a_message_of_more_calls_than_may_wait_runs_them_all(door: tuple[str, Stdio]) -> None:
    path, _ = door
    message = "".join(tag(k, "get", text="[7]", path="[0]") for k in range(300))
    with dial(path, b"TOOLBOX/1 tags\n" + message.encode() + b"\0") as channel:
        channel.shutdown(socket.SHUT_WR)
        data = read_all(channel)
    assert tagged_ids(data) == [str(k) for k in range(300)]
    assert data.count(b'status="ok"') == 300


def test_messages_sent_ahead_are_answered_one_after_the_other(
    door: tuple[str, Stdio], workspace: pathlib.Path
) -> None:
    path, _ = door
    _big(workspace)
    slow = "".join(tag(f"a{k}", "schema", file="big.json", sample=0) for k in range(4))
    quick = tag("b0", "get", text="[1]", path="[0]") + "`" + tag("b1", "get").strip() + "`"
    with dial(path, f"TOOLBOX/1 tags\n{slow}\0{quick}\0\0{quick}".encode()) as channel:
        channel.shutdown(socket.SHUT_WR)
        parts = read_all(channel).split(b"\0")
    assert [tagged_ids(p) for p in parts] == [["a0", "a1", "a2", "a3"], ["b0"], [], ["b0"]]
    assert [p.count(b"<tool_note") for p in parts] == [0, 1, 1, 1]


def test_a_flood_of_empty_messages_is_read_in_linear_time(door: tuple[str, Stdio]) -> None:
    path, _ = door
    with dial(path, b"TOOLBOX/1 tags\n" + b"\0" * 20_000) as channel:
        channel.shutdown(socket.SHUT_WR)
        assert read_all(channel).count(b"\0") == 20_000


def test_a_line_too_long_that_ends_with_the_stream_is_refused_once(door: tuple[str, Stdio]) -> None:
    path, _ = door
    with dial(path, b"TOOLBOX/1 jsonl\n") as channel:
        channel.sendall(b"x" * (16 * 1024 * 1024 + 70_000))
        channel.shutdown(socket.SHUT_WR)
        (reply,) = map(json.loads, read_all(channel).splitlines())
    assert reply["error"]["code"] == "E_TOO_LARGE"


ODD_LINES = {
    "deep": b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"text":"1","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}}}\n",
    "deep from the start": b"[" * 100_000 + b"\n",
    "deep id": b'{"id":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n",
    "surrogate tool": b'{"id":1,"name":"\\ud800","args":{"cmd":"get","args":{}}}\n',
    "surrogate verb": b'{"id":1,"name":"@json","args":{"cmd":"\\ud800","args":{}}}\n',
    "surrogate argument": b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"\\udc00":"\\ud800"}}}\n',
    "surrogate message": b'{"id":1,"message":"\\ud800 <tool_call name=\\"\\udc00\\"/>"}\n',
    "surrogate id": b'{"id":"\\ud800","name":"@json","args":{"cmd":"get","args":{"text":"1","path":""}}}\n',
    "huge number": b'{"id":1,"name":"@json","args":{"cmd":"query","args":{"text":"[]","where":"","limit":' + b"9" * 5000 + b"}}}\n",
    "huge exponent": b'{"id":1,"name":"@json","args":{"cmd":"query","args":{"text":"[]","where":"","limit":1e999}}}\n',
    "NUL": b'{"id":1,"name":"@js\\u0000on","args":{"cmd":"get","args":{"file":"a\\u0000b"}}}\n',
    "long names": b'{"id":1,"name":"@' + b"x" * 5000 + b'","args":{"cmd":"' + b"y" * 5000 + b'"}}\n',
}  # fmt: skip


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stdio]:
    daemon = Stdio(tmp_path_factory.mktemp("odd"))
    yield daemon
    daemon.close()


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES.keys())
def test_an_odd_line_gets_one_reply_and_the_next_is_answered(patient: Stdio, line: bytes) -> None:
    patient.send(line)
    first = patient.receive()
    if first["op"] == "message" and first["ok"]:  # the note that closes a message
        first = {"ok": False, "error": {"message": first["text"]}}
    assert first["ok"] or first["error"]["message"]
    reply = patient.call("@json", "get", text="[7]", path="[0]")
    assert reply["result"]["value"] == 7
    assert not [x for x in patient.log if x["event"] == "text"], patient.log[-3:]


def test_a_client_that_never_reads_holds_up_nobody(door: tuple[str, Stdio], workspace: pathlib.Path) -> None:
    path, daemon = door
    (workspace / "wide.json").write_text(json.dumps(["x" * 1000] * 3000))
    with dial(path, b"TOOLBOX/1 jsonl cap=0\n") as stuck:
        for k in range(60):  # 60 times 6 MB of replies: far more than is held for one reader
            stuck.sendall(call(k, "get", file="wide.json", path=""))
        with dial(path, b"TOOLBOX/1 jsonl\n" + call(1, "get", text="[7]", path="[0]")) as other:
            assert json.loads(other.makefile("rb").readline())["result"]["value"] == 7
        with dial(path, b'TOOLBOX/1 control\n{"op":"status"}\n') as control:
            status = json.loads(control.makefile("rb").readline())["result"]
        assert status["waiting"] > 0, "all replies were made for a client that reads none"
        stuck.shutdown(socket.SHUT_WR)
        replies = [json.loads(line) for line in read_all(stuck).splitlines()]
    assert sorted(r["id"] for r in replies) == list(range(60))
    assert all(r["ok"] for r in replies)
    assert daemon.process.poll() is None


def test_calls_held_back_by_a_write_are_dropped_with_their_client(
    door: tuple[str, Stdio], workspace: pathlib.Path
) -> None:
    path, daemon = door
    (workspace / "n.json").write_text('{"n": 0}\n')
    with dial(path, b'TOOLBOX/1 jsonl\n{"id":0,"name":"@json","args":{"cmd":"get","args":{"file":"n.json","path":"n"}}}\n') as first:
        first.recv(1)
    workers = daemon.workers()
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    patch = '@@ -1 +1 @@\n-{"n": 0}\n+{"n": 1}\n'
    channel = dial(path, b"TOOLBOX/1 jsonl\n" + call(1, "get", file="n.json", path="n"))
    channel.sendall(call(2, "apply", "@diff", file="n.json", patch=patch, dry_run=False))
    with dial(path, b'TOOLBOX/1 control\n') as control:
        lines = control.makefile("rb")
        running = 0
        while not running:
            control.sendall(b'{"op":"status"}\n')
            running = json.loads(lines.readline())["result"]["running"]
        channel.close()
        while running:
            control.sendall(b'{"op":"status"}\n')
            running = json.loads(lines.readline())["result"]["running"]
    for pid in workers:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    with dial(path, b"TOOLBOX/1 jsonl\n" + call(3, "get", file="n.json", path="n")) as after:
        assert json.loads(after.makefile("rb").readline())["result"]["value"] == 0
    assert (workspace / "n.json").read_text() == '{"n": 0}\n'
    codes = [x["outcome"] for x in daemon.log if x["event"] == "call" and x["op"] == "diff.apply"]
    assert codes == ["E_CANCELLED"]


def test_a_signal_to_the_whole_group_leaves_workers_to_end_their_calls(
    door: tuple[str, Stdio], workspace: pathlib.Path
) -> None:
    path, daemon = door
    (workspace / "n.json").write_text('{"n": 0}\n')
    with dial(path, b"TOOLBOX/1 jsonl\n") as channel:
        lines = channel.makefile("rb")
        for k in range(2):
            channel.sendall(call(k, "get", file="n.json", path="n"))
            assert json.loads(lines.readline())["ok"]
            for pid in (before := daemon.workers()):
                os.kill(pid, signal.SIGTERM)
                os.kill(pid, signal.SIGINT)
        assert daemon.workers() == before


def test_a_stop_answers_running_waiting_and_held_calls(
    tmp_path: pathlib.Path, workspace: pathlib.Path, serve: Serve
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    path = str(tmp_path / "run" / "s")
    daemon = serve("--socket", path, "--workers", "1", "--deadline", "1")
    (workspace / "n.json").write_text('{"n": 0}\n')
    assert daemon.call("@json", "get", file="n.json", path="n")["ok"]
    (worker,) = daemon.workers()
    os.kill(worker, signal.SIGSTOP)
    patch = '@@ -1 +1 @@\n-{"n": 0}\n+{"n": 1}\n'
    calls = [call(k, "get", file="n.json", path="n") for k in range(3)]
    calls.append(call(3, "apply", "@diff", file="n.json", patch=patch, dry_run=False))
    calls += [call(k, "get", file="n.json", path="n") for k in range(4, 8)]
    with dial(path, b"TOOLBOX/1 jsonl\n" + b"".join(calls)) as channel, dial(path, b"TOOLBOX/1 control\n") as control:
        lines = control.makefile("rb")
        waiting = 0
        while waiting < 2:
            control.sendall(b'{"op":"status"}\n')
            waiting = json.loads(lines.readline())["result"]["waiting"]
        daemon.process.send_signal(signal.SIGTERM)
        replies = {r["id"]: r for r in map(json.loads, read_all(channel).splitlines())}
    assert sorted(replies) == list(range(8))
    assert [replies[k]["error"]["code"] for k in range(8)] == ["E_TIMEOUT"] + ["E_CANCELLED"] * 7
    assert (workspace / "n.json").read_text() == '{"n": 0}\n'
    assert daemon.process.wait(ANSWER_SECONDS) == 0


def test_a_write_worker_that_dies_is_undone_before_its_caller_hears_of_it(
    door: tuple[str, Stdio], workspace: pathlib.Path
) -> None:
    path, _ = door
    (workspace / "n.json").write_text('{"n": 0}\n')
    with dial(path, b"TOOLBOX/1 jsonl\n") as channel, dial(path, b"TOOLBOX/1 control\n") as control:
        lines, answers = channel.makefile("rb"), control.makefile("rb")

        def writer() -> int:
            control.sendall(b'{"op":"status"}\n')
            return (json.loads(answers.readline())["result"]["workers"]["write"] or {}).get("pid", 0)

        patch = '@@ -1 +1 @@\n-{"n": 0}\n+{"n": 1}\n'
        channel.sendall(call(0, "apply", "@diff", file="n.json", patch=patch, dry_run=False))
        assert json.loads(lines.readline())["result"]["applied"]
        pid = writer()
        os.kill(pid, signal.SIGSTOP)
        back = '@@ -1 +1 @@\n-{"n": 1}\n+{"n": 2}\n'
        channel.sendall(call(1, "apply", "@diff", file="n.json", patch=back, dry_run=False))
        channel.sendall(call(2, "get", file="n.json", path="n"))
        control.sendall(b'{"op":"status"}\n')
        while not json.loads(answers.readline())["result"]["running"]:
            control.sendall(b'{"op":"status"}\n')
        os.kill(pid, signal.SIGKILL)
        failed, after = json.loads(lines.readline()), json.loads(lines.readline())
        assert failed["error"]["code"] == "E_INTERNAL" and "history" in failed["error"]["hint"]
        assert writer() not in (0, pid)
        assert after["result"]["value"] == 1
        channel.sendall(call(3, "apply", "@diff", file="n.json", patch=back, dry_run=False))
        assert json.loads(lines.readline())["result"]["applied"]
