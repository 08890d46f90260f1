"""Attacks 12, 13, 15, 16, 34, 39, 58, 60 and 63 through real daemons."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import races
from tests.attacks.calls import RESOLVERS, daemon, readers
from tests.daemon.conftest import Stdio, dial
from tests.sandbox.world import mount_bind, unmount

Serve = Callable[..., Stdio]


def code(reply: dict[str, Any]) -> str:
    return "ok" if reply["ok"] else str(reply["error"]["code"])


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("resolver", RESOLVERS)
def test_12_a_mount_below_the_workspace_is_outside(tmp_path: Path, workspace: Path, resolver: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/canary").write_text('{"CANARY":1}')
    for name in ("plain", "doc.json"):
        (workspace / name).write_text("{}")
    (workspace / "mounted").mkdir()
    mount_bind(tmp_path / "outside", workspace / "mounted")
    try:
        assert "CANARY" in (workspace / "mounted/canary").read_text(), "the control: a plain open"
        with daemon(workspace, resolver, "--workers", "1") as closed:
            for tool, cmd, args in readers("mounted/canary").values():
                reply = closed.call(f"@{tool}", cmd, **args)
                assert code(reply) == "E_OUTSIDE_WORKSPACE" and "CANARY" not in json.dumps(reply)
        with daemon(workspace, resolver, "--workers", "1", "--cross-mounts") as opened:
            assert opened.call("@json", "get", file="mounted/canary", path="CANARY")["ok"]
    finally:
        unmount(workspace / "mounted")


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("race", races.RACES)
def test_13_14_no_verb_leaks_under_a_rename_race(tmp_path: Path, race: str, resolver: str) -> None:
    """The short form; `python -m bench.races` counts 400 000 opens each."""
    with races.RACES[race](tmp_path) as (folder, path), daemon(folder, resolver, "--workers", "1") as attacked:
        seen = set()
        for k in range(150):
            for cmd, args in (("files", {"a": path, "b": path}), ("patch", {"a": path, "b": path})):
                reply = attacked.call("@diff", cmd, **args)
                told = json.dumps(reply).replace("E_OUTSIDE_WORKSPACE", "")
                assert races.OUTSIDE.decode() not in told
                seen.add(code(reply))
            change = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{races.OUTSIDE.decode()}\n\\ No newline at end of file\n+x\n"
            reply = attacked.call("@diff", "apply", patch=change, dry_run=k % 2 == 0)
            assert not reply["ok"], "the lines stand outside only"
        assert (tmp_path / "outside").exists()
        assert "E_INTERNAL" not in seen


def test_15_a_workspace_that_is_replaced_serves_on_from_the_held_one(
    tmp_path: Path, workspace: Path, serve: Serve
) -> None:
    (workspace / "a.json").write_text('{"a":"held"}')
    started = serve("--workers", "1")
    assert started.call("@json", "get", file="a.json", path="a")["result"]["value"] == "held"
    workspace.rename(tmp_path / "moved")
    workspace.mkdir()
    (workspace / "a.json").write_text('{"a":"planted"}')
    for _ in range(3):
        assert started.call("@json", "get", file="a.json", path="a")["result"]["value"] == "held"
    patch = '--- a/a.json\n+++ b/a.json\n@@ -1 +1 @@\n-{"a":"held"}\n\\ No newline at end of file\n+{"a":"new"}\n'
    reply = started.call("@diff", "apply", patch=patch, dry_run=False)
    assert (workspace / "a.json").read_text() == '{"a":"planted"}', "never by the path again"
    if reply["ok"]:
        assert (tmp_path / "moved/a.json").read_text() == '{"a":"new"}\n'


def test_16_a_workspace_that_is_a_link_has_two_spellings(tmp_path: Path, workspace: Path) -> None:
    (workspace / "a.json").write_text('{"a":1}')
    (tmp_path / "alias").symlink_to(workspace)
    with daemon(tmp_path / "alias", "openat2", "--workers", "1") as started:
        for name in (tmp_path / "alias/a.json", workspace / "a.json", "a.json"):
            assert started.call("@json", "get", file=str(name), path="a")["ok"]
        assert code(started.call("@json", "get", file=str(tmp_path / "a.json"), path="a")) == "E_OUTSIDE_WORKSPACE"


# 39, and two daemons


def _count_up(door: str, names: tuple[str, str], times: int, seen: list[int], faults: list[str]) -> None:
    """Add one to both files, each time from what a read shows; refusals are tried again."""
    try:
        with dial(door, b"TOOLBOX/1 jsonl\n") as channel, channel.makefile("rb") as lines:
            def ask(tool: str, cmd: str, **args: Any) -> dict[str, Any]:
                line = {"id": 1, "name": tool, "args": {"cmd": cmd, "args": args}}
                channel.sendall(json.dumps(line).encode() + b"\n")
                reply: dict[str, Any] = json.loads(lines.readline())
                return reply

            last = -1
            while times:
                shown = ask("@json", "get", file=names[0], path="[0]")
                if not shown["ok"]:
                    assert code(shown) == "E_CHANGED", shown  # replaced while it was read
                    continue
                n = shown["result"]["value"]
                assert n >= last, "a later call sees what an earlier one wrote"
                last = n
                patch = "".join(
                    f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-[{n}]\n+[{n + 1}]\n" for name in names
                )
                reply = ask("@diff", "apply", patch=patch, dry_run=False)
                if reply["ok"]:
                    seen.append(n + 1)
                    last, times = n + 1, times - 1
                else:
                    assert code(reply) in ("E_PATCH_MISMATCH", "E_CHANGED", "E_BUSY"), reply
    except BaseException as exc:
        faults.append(repr(exc))


def test_39_two_daemons_and_eight_clients_apply_one_after_the_other(
    tmp_path: Path, workspace: Path, serve: Serve
) -> None:
    names, each = ("a.json", "b.json"), 3
    for name in names:
        (workspace / name).write_text("[0]\n")
    doors = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir(mode=0o700)
        doors.append(str(tmp_path / name / "s"))
        serve("--socket", doors[-1], "--workers", "1")
    seen, faults = list[int](), list[str]()
    clients = [
        threading.Thread(target=_count_up, args=(doors[k % 2], names, each, seen, faults)) for k in range(8)
    ]
    for one in clients:
        one.start()
    for one in clients:
        one.join(100)
    assert not faults
    assert sorted(seen) == list(range(1, 8 * each + 1)), "each number was written once"
    assert {(workspace / name).read_text() for name in names} == {f"[{8 * each}]\n"}


# 58


def test_58_a_flooding_client_does_not_hold_up_another(tmp_path: Path, serve: Serve) -> None:
    """Counted in replies, not in seconds: between two of the quiet one's at most a few others."""
    (tmp_path / "run").mkdir(mode=0o700)
    door = str(tmp_path / "run" / "s")
    started = serve("--socket", door, "--workers", "1")
    call = b'{"id":%d,"name":"@json","args":{"cmd":"get","args":{"text":"[7]","path":"[0]"}}}\n'
    with dial(door, b"TOOLBOX/1 jsonl name=flood\n") as flood, dial(door, b"TOOLBOX/1 jsonl name=quiet\n") as quiet:
        flood.sendall(b"".join(call % k for k in range(600)))
        quiet.sendall(b"".join(call % k for k in range(10)))
        with quiet.makefile("rb") as lines:
            assert all(json.loads(lines.readline())["ok"] for _ in range(10))
        with flood.makefile("rb") as lines:
            codes = [json.loads(lines.readline()) for _ in range(600)]
    assert {code(r) for r in codes} <= {"ok", "E_BUSY"}
    assert all(r["error"]["at"]["retry_after_ms"] > 0 for r in codes if not r["ok"])
    assert started.call("@json", "get", text="[7]", path="[0]")["ok"]
    names = [line["client"] for line in started.log if line["event"] == "call" and line["outcome"] == "ok"]
    places = [k for k, name in enumerate(names) if "quiet" in name]
    assert len(places) == 10
    assert max(b - a for a, b in itertools.pairwise(places)) <= 4, names


# 34, 60


def _writes(started: Stdio, workspace: Path, count: int) -> None:
    for k in range(count):
        patch = "".join(
            f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{k}\n+{k + 1}\n" for name in ("a.txt", "b.txt", "c.txt")
        )
        started.post("@diff", "apply", patch=patch, dry_run=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.parametrize("after", [1, 4])
def test_60_a_signal_with_writes_running_leaves_none_half_done(
    workspace: Path, serve: Serve, number: signal.Signals, after: int
) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (workspace / name).write_text("0\n")
    started = serve("--workers", "1")
    _writes(started, workspace, 12)
    done = 0
    for _ in range(after):
        done += started.receive()["ok"]
    started.process.send_signal(number)
    status = started.process.wait(60)
    while (line := started.lines.get(timeout=60)) is not None:
        done += json.loads(line)["ok"]
    if number is not signal.SIGKILL:
        assert status == 0
    again = serve("--workers", "1")  # recovery comes before its first write
    entries = again.call("@diff", "undo", id="0" * 16)
    assert code(entries) == "E_NOT_FOUND" or not entries["ok"]
    reply = again.call("@diff", "history", limit=100)
    texts = {(workspace / name).read_text() for name in ("a.txt", "b.txt", "c.txt")}
    assert len(texts) == 1, "all of an apply or none"
    count = int(texts.pop())
    assert count == len(reply["result"]["entries"])
    assert count == done if number is not signal.SIGKILL else done <= count <= done + 1


# 63


WIDER = ["root", "workspace", "folder", "cwd", "dir", "base", "project", "roots", "socket"]


@pytest.mark.parametrize("word", WIDER)
def test_63_no_root_that_a_caller_sends_is_taken(tmp_path: Path, workspace: Path, serve: Serve, word: str) -> None:
    (tmp_path / "canary.json").write_text('{"CANARY":1}')
    (workspace / "plain").write_text("{}")
    started = serve("--workers", "1")
    for tool, cmd, args in readers("canary.json").values():
        reply = started.call(f"@{tool}", cmd, **args, **{word: str(tmp_path)})
        assert code(reply) == "E_INVALID_ARG" and word in reply["error"]["message"]
    args = {"cmd": "get", "args": {"file": "canary.json", "path": ""}}
    for line in ({"id": 1, "name": "@json", "args": args, word: str(tmp_path)},
                 {"id": 1, "name": "@json", "args": {**args, word: str(tmp_path)}},
                 {"id": 1, "message": f"<tool_call name=\"@json\" {word}=\"{tmp_path}\" args='{json.dumps(args)}' />"}):  # fmt: skip
        started.send(line)
        assert not started.receive()["ok"]


def test_63_no_root_in_a_socket_s_first_line_is_taken(tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "canary.json").write_text('{"CANARY":1}')
    (tmp_path / "run").mkdir(mode=0o700)
    door = str(tmp_path / "run" / "s")
    serve("--socket", door)
    for word in WIDER:
        with dial(door, f"TOOLBOX/1 jsonl {word}={tmp_path}\n".encode()) as channel:
            channel.sendall(b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"file":"canary.json","path":""}}}\n')
            channel.shutdown(socket.SHUT_WR)
            data = b""
            while chunk := channel.recv(1 << 16):
                data += chunk
        assert b"CANARY" not in data and b'"ok":false' in data


def test_63_control_the_canary_is_there_for_a_daemon_of_that_folder(tmp_path: Path) -> None:
    (tmp_path / "canary.json").write_text('{"CANARY":1}')
    with daemon(tmp_path, "openat2", "--workers", "1") as started:
        assert started.call("@json", "get", file="canary.json", path="CANARY")["ok"]
