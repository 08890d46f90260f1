"""Calls through real workers: parallel, killed, replaced, bounded; everyone else is answered."""

from __future__ import annotations

import json
import os
import pathlib
import signal
from collections.abc import Callable

import pytest

from tests.daemon.conftest import Stdio

Serve = Callable[..., Stdio]


def _write(path: pathlib.Path, value: object) -> None:
    path.write_text(json.dumps(value))


def test_a_call_is_answered_with_the_source_s_own_digits(workspace: pathlib.Path, serve: Serve) -> None:
    (workspace / "a.json").write_text('{"id":12345678901234567890123,"p":1.10}')
    daemon = serve()
    daemon.post("@json", "get", file="a.json", path="id")
    line = daemon.lines.get(timeout=60)
    assert line is not None and b'"value":12345678901234567890123' in line
    daemon.post("@json", "get", file="a.json", path="p")
    line = daemon.lines.get(timeout=60)
    assert line is not None and b'"value":1.10' in line
    assert daemon.close() == 0


def test_a_second_call_is_answered_from_the_kept_document(workspace: pathlib.Path, serve: Serve) -> None:
    _write(workspace / "a.json", {"a": [1, 2, 3]})
    os.utime(workspace / "a.json", (1_000_000, 1_000_000))
    daemon = serve()
    assert daemon.call("@json", "get", file="a.json", path="a[0]")["ok"]
    for path in ("a[1]", "a[2]", "a"):
        reply = daemon.call("@json", "get", file="a.json", path=path)
        assert reply["ok"] and reply["meta"]["cached"] is True


def test_a_changed_file_is_never_answered_from_an_older_version(workspace: pathlib.Path, serve: Serve) -> None:
    daemon = serve()
    for k in range(30):
        (workspace / "a.json").write_text(f'{{"k":{k:02}}}'.replace("0", "1"))
        expected = int(f"{k:02}".replace("0", "1"))
        reply = daemon.call("@json", "get", file="a.json", path="k")
        assert reply["result"]["value"] == expected


def test_a_worker_killed_by_hand_fails_its_own_call_only(workspace: pathlib.Path, serve: Serve) -> None:
    _write(workspace / "a.json", {"a": 1})
    daemon = serve("--workers", "2")
    assert daemon.call("@json", "get", file="a.json", path="a")["ok"]
    before = set(daemon.workers())
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    replies = [daemon.call("@json", "get", file="a.json", path="a") for _ in range(10)]
    codes = {r.get("error", {}).get("code") for r in replies}
    assert codes <= {None, "E_INTERNAL"}
    assert replies[-1]["ok"]
    assert not before & set(daemon.workers())


def test_the_daemon_s_death_takes_its_workers_with_it(workspace: pathlib.Path, serve: Serve) -> None:
    daemon = serve("--workers", "2")
    daemon.call("@json", "validate", text="{}")
    workers = daemon.workers()
    assert workers
    daemon.process.kill()
    daemon.process.wait()
    for pid in workers:
        # A pidfd becomes readable when its process ends; a gone process has none to open.
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        import select

        assert select.select([fd], [], [], 30)[0]
        os.close(fd)


def test_a_catastrophic_pattern_is_answered_at_once(workspace: pathlib.Path, serve: Serve) -> None:
    _write(workspace / "a.json", [{"s": "a" * 5000 + "!"}])
    daemon = serve()
    reply = daemon.call("@json", "query", file="a.json", where="s~(a+)+$")
    assert reply["ok"] and reply["result"]["total"] == 0


def test_a_document_nested_a_hundred_thousand_deep_is_an_answer(workspace: pathlib.Path, serve: Serve) -> None:
    (workspace / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    daemon = serve()
    reply = daemon.call("@json", "get", file="deep.json", path="[0]")
    assert reply["error"]["code"] == "E_PARSE" and "nest" in reply["error"]["message"]
    assert daemon.call("@json", "get", text='{"a":1}', path="a")["result"]["value"] == 1


def test_a_stopped_worker_passes_the_deadline_and_is_replaced(workspace: pathlib.Path, serve: Serve) -> None:
    daemon = serve("--workers", "1", "--deadline", "0.3")
    assert daemon.call("@json", "validate", text="{}")["ok"]
    (worker,) = daemon.workers()
    os.kill(worker, signal.SIGSTOP)
    reply = daemon.call("@json", "validate", text="{}")
    assert reply["error"]["code"] == "E_TIMEOUT"
    assert daemon.call("@json", "validate", text="{}")["ok"]
    assert worker not in daemon.workers()


def test_a_thousand_waiting_calls_each_get_one_reply(workspace: pathlib.Path, serve: Serve) -> None:
    _write(workspace / "a.json", {"a": 1})
    daemon = serve()
    assert daemon.call("@json", "get", file="a.json", path="a")["ok"]
    idents = [daemon.post("@json", "get", file="a.json", path="a") for _ in range(1000)]
    replies = daemon.gather(idents)
    codes = [r.get("error", {}).get("code") for r in replies.values()]
    assert set(codes) <= {None, "E_BUSY"}
    assert codes.count(None) >= 100
    busy = [r for r in replies.values() if not r["ok"]]
    assert all(r["error"]["at"]["retry_after_ms"] > 0 for r in busy)


def test_end_of_input_answers_what_was_asked_and_ends(workspace: pathlib.Path, serve: Serve) -> None:
    _write(workspace / "a.json", {"a": 1})
    daemon = serve()
    idents = [daemon.post("@json", "get", file="a.json", path="a") for _ in range(20)]
    assert daemon.close() == 0
    assert {r["ok"] for r in daemon.gather(idents).values()} == {True}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_a_signal_stops_it_cleanly(workspace: pathlib.Path, serve: Serve, number: signal.Signals) -> None:
    daemon = serve()
    assert daemon.call("@json", "validate", text="{}")["ok"]
    daemon.process.send_signal(number)
    assert daemon.process.wait(60) == 0


def test_log_lines_name_calls_and_never_their_contents(workspace: pathlib.Path, serve: Serve) -> None:
    (workspace / "a.json").write_text('{"secret":"hunter2"}')
    daemon = serve()
    daemon.call("@json", "get", file="a.json", path="secret")
    daemon.call("@json", "get", file="a.json", path="nope")
    daemon.close()
    calls = [line for line in daemon.log if line["event"] == "call"]
    assert [(c["op"], c["outcome"]) for c in calls] == [("json.get", "ok"), ("json.get", "E_NO_PATH")]
    assert "hunter2" not in json.dumps(daemon.log)


BAD_LINES = [
    ("not json", b"nonsense\n"),
    ("an array", b"[1]\n"),
    ("no name", b'{"id":"1"}\n'),
    ("no cmd", b'{"id":"1","name":"@json","args":{}}\n'),
    ("args not an object", b'{"id":"1","name":"@json","args":[1]}\n'),
    ("unknown tool", b'{"id":"1","name":"@jsn","args":{"cmd":"get"}}\n'),
    ("unknown verb", b'{"id":"1","name":"@json","args":{"cmd":"gte"}}\n'),
    ("not UTF-8", b'{"id":"1","name":"@json","args":{"cmd":"\xff"}}\n'),
    ("duplicate key", b'{"id":"1","name":"@json","args":{"cmd":"get","args":{"text":"1","text":"2"}}}\n'),
]


@pytest.mark.parametrize("line", [b for _, b in BAD_LINES], ids=[a for a, _ in BAD_LINES])
def test_a_bad_line_gets_a_typed_error_and_the_next_is_answered(serve: Serve, line: bytes) -> None:
    daemon = serve()
    daemon.send(line)
    reply = daemon.receive()
    assert reply["ok"] is False
    assert reply["error"]["code"] in {"E_BAD_CALL", "E_INVALID_ARG", "E_UNKNOWN_TOOL", "E_UNKNOWN_VERB"}
    assert reply["error"]["message"]
    assert daemon.call("@json", "get", text="[7]", path="[0]")["result"]["value"] == 7
