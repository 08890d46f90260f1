"""`python -m bench.fuzz [TARGET …] [--minutes 2]`: random input for everything that reads input.

Most targets go through the dispatcher with a real workspace, as a worker runs it. Whatever comes
in, a typed reply goes out: no fault of our own, no exception, no output past its cap, no place
outside the workspace, and the same again when it is asked again. The suite runs each target briefly;
this runs each for minutes. A failure is printed with its smallest input; the status is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bench import fuzz_inputs as inputs
from sandbox.frames import HEADER, FrameReader, FrameTooLarge, send_frame
from sandbox.root import Root
from toolbox.arguments import fields_of
from toolbox.dispatch import RECURSION_LEVELS, Call, decode_args, run
from toolbox.errors import CODES
from toolbox.output import Reply
from toolbox.registry import TOOLS, all_verbs, find, is_write
from toolbox.store import DocumentStore
from toolbox.wire import jsonl
from toolbox.wire.tags import Bad, Skipped, TagParser
from toolbox.wire.tags import Call as TagCall

CANARY: Final = "canary-0f7c1d"
"""Stands in a file beside the workspace, and must never be in a reply."""

ERROR_BYTES: Final = 64_000
"""What an error reply may take: previews, near names and candidates are bounded each."""

FRAME_BYTES: Final = 300


def _no_constant(text: str) -> Any:
    raise AssertionError(f"{text} in a reply is no JSON")


class World:
    """A workspace with something for every verb, and a canary beside it."""

    def __init__(self, top: pathlib.Path) -> None:
        self.folder = top / "ws"
        self.folder.mkdir()
        (top / "canary").write_text(CANARY)
        (self.folder / "out").symlink_to("../canary")
        (self.folder / "up").symlink_to("..")
        for name, content in inputs.FILES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        _commit(self.folder)
        self.root = Root.open(self.folder)
        self.documents = DocumentStore(self.root, budget_bytes=1 << 22)

    def ask(self, tool: str, cmd: str, args: Any, *, again: bool = True) -> Reply:
        """The reply to a call that is held to what every reply must be."""
        raw = args if isinstance(args, bytes) else orjson.dumps(args)
        call = Call(tool, cmd, raw)
        reply = run(call, self.root, self.documents)
        self.check(call, reply)
        if again:
            second = run(call, self.root, DocumentStore(self.root, budget_bytes=1 << 22))
            for part in ("ok", "text", "result", "error", "truncated", "hint", "negative"):
                assert getattr(reply, part) == getattr(second, part), (
                    f"{part} differs when asked again"
                )
        return reply

    def check(self, call: Call, reply: Reply) -> None:
        """Typed, bounded, whole, and nothing from outside."""
        assert reply.code != "E_INTERNAL", f"a fault of our own: {reply.text}"
        assert reply.ok or reply.code in CODES
        json.loads(reply.envelope(), parse_constant=_no_constant, parse_int=str)
        text = reply.text.encode()
        for part in (text, reply.result, reply.error):
            assert CANARY.encode() not in part, "content from outside"
            assert os.fsencode(self.folder.parent) not in part, "a path from outside"
        if not reply.ok:
            assert len(text) <= ERROR_BYTES and len(reply.error) <= 2 * ERROR_BYTES, (
                "an endless error"
            )
            assert "Traceback" not in reply.text
            return
        verb = find(call.tool, call.cmd)
        if not verb.own_max_bytes:
            assert len(text) <= verb.cap_bytes, f"text of {len(text)} bytes"
            assert len(reply.result) <= verb.cap_bytes, f"result of {len(reply.result)} bytes"

    def snapshot(self) -> dict[str, bytes]:
        """Every file's content but the toolbox's own state and backups."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.is_symlink() and ".bak" not in path.name
            and not {".toolbox", ".git"} & {*path.parts}
        }  # fmt: skip

    def restore(self) -> None:
        """The files as they were at the start."""
        for name in self.snapshot():
            if name not in inputs.FILES:
                (self.folder / name).unlink()
        for name, content in inputs.FILES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _commit(folder: pathlib.Path) -> None:
    """A repository with two commits, a branch and a tag; without git there is none."""
    if shutil.which("git") is None:
        return
    git = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "-c",
        "commit.gpgSign=false",
    ]
    dated = {**os.environ, "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000",
             "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}  # fmt: skip
    for words in (
        ["init", "-q", "-b", "main"], ["add", "a.txt", "sub", "doc.json"], ["commit", "-qm", "one"],
        ["tag", "v1"], ["mv", "a.txt", "moved.txt"], ["add", "b.txt", "bytes.bin"], ["commit", "-qm", "two"],
        ["mv", "moved.txt", "a.txt"],
    ):  # fmt: skip
        subprocess.run([*git, *words], check=True, env=dated, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def world() -> Iterator[World]:
    """A fresh one, removed afterwards."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LEVELS)
    with tempfile.TemporaryDirectory(prefix="fuzz") as top:
        made = World(pathlib.Path(top))
        try:
            yield made
        finally:
            made.root.close()
            sys.setrecursionlimit(before)


@dataclass(frozen=True)
class Target:
    """What reads input, what it is given, and what is held."""

    strategy: st.SearchStrategy[Any]
    check: Callable[[World, Any], None]


# -- the wire ----------------------------------------------------------------------------------


def _parse(pieces: list[bytes]) -> list[Any]:
    parser = TagParser(TOOLS, is_write)
    items = [item for piece in pieces for item in parser.feed(piece)]
    return items + parser.finish()


def check_tags(world: World, value: tuple[bytes, list[int]]) -> None:
    """The same calls however the message is cut; each runs to a typed reply."""
    message, cuts = value
    whole = _parse([message])
    places = sorted({0, len(message), *(cut % (len(message) + 1) for cut in cuts)})
    assert _parse([message[a:b] for a, b in itertools.pairwise(places)]) == whole
    assert _parse([message[k : k + 1] for k in range(len(message))]) == whole
    for item in whole:
        assert isinstance(item, TagCall | Bad | Skipped)
        if isinstance(item, TagCall):
            call = Call(item.name, item.cmd or "", item.args_json)
            if not is_write(call.tool, {"cmd": call.cmd, "args": _object(item.args_json)}):
                world.check(call, run(call, world.root, world.documents))


def _object(raw: bytes) -> dict[str, Any]:
    """The arguments as the dispatcher reads them."""
    return decode_args(raw)


def check_jsonl(world: World, line: bytes) -> None:
    """One of the three records; a call among them runs to a typed reply."""
    decoded = jsonl.decode(line)
    assert isinstance(decoded, jsonl.Direct | jsonl.Message | jsonl.Bad)
    if decoded.id is not None:
        orjson.loads(decoded.id)
    if isinstance(decoded, jsonl.Direct):
        assert isinstance(_object(decoded.args), dict)
        if not is_write(decoded.name, {"cmd": decoded.cmd, "args": _object(decoded.args)}):
            call = Call(decoded.name, decoded.cmd, decoded.args)
            reply = run(call, world.root, world.documents)
            if reply.ok:
                world.check(call, reply)
            else:
                assert reply.code != "E_INTERNAL", reply.text
    elif isinstance(decoded, jsonl.Message):
        _parse([decoded.message.encode("utf-8", "surrogatepass")])


def check_frames(world: World, value: tuple[list[bytes], bytes]) -> None:
    """Frames come back as they were sent; torn or too large ones never as half a frame."""
    bodies, rest = value
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for body in bodies:
            send_frame(ours, body)
        ours.sendall(rest)
        ours.shutdown(socket.SHUT_WR)
        reader = FrameReader(theirs, FRAME_BYTES)
        got = []
        try:
            while (frame := reader.next()) is not None:
                got.append(frame)
        except FrameTooLarge:
            pass
    expected = []
    stream = b"".join(HEADER.pack(len(b)) + b for b in bodies) + rest
    while len(stream) >= HEADER.size:
        (size,) = HEADER.unpack_from(stream)
        if size > FRAME_BYTES or len(stream) < HEADER.size + size:
            break
        expected.append(stream[HEADER.size : HEADER.size + size])
        stream = stream[HEADER.size + size :]
    assert got == expected


# -- arguments -----------------------------------------------------------------------------------


def _arguments() -> st.SearchStrategy[tuple[str, str, dict[str, Any]]]:
    def one(verb: Any) -> st.SearchStrategy[tuple[str, str, dict[str, Any]]]:
        names = [f.name for f in fields_of(verb.args)]
        known = {
            f.name: st.one_of(
                st.sampled_from([*f.choices, f.minimum, f.maximum, f.default]),
                inputs.SCALARS,
                st.sampled_from(list(inputs.FILES)),
                inputs.VALUES,
            )
            for f in fields_of(verb.args)
        }
        strange = st.dictionaries(st.one_of(st.text(max_size=8), st.sampled_from(
            [n[:-1] for n in names] + ["max_bytes"])), inputs.SCALARS, max_size=2)  # fmt: skip
        args = st.tuples(st.fixed_dictionaries({}, optional=known), strange).map(
            lambda pair: {**pair[1], **pair[0]}
        )
        return st.tuples(st.just(verb.tool), st.just(verb.name), args)

    return st.sampled_from(all_verbs()).flatmap(one)


def check_arguments(world: World, value: tuple[str, str, dict[str, Any]]) -> None:
    """Any value in any argument of any verb."""
    tool, cmd, args = value
    if is_write(tool, {"cmd": cmd, "args": args}):
        args = {**args, "dry_run": True}
    raw = inputs.dump(args)
    # What git and folders say may change between two calls only where something writes.
    world.ask(tool, cmd, raw)


# -- engines through their verbs -----------------------------------------------------------------


def check_path(world: World, path: str) -> None:
    """A path in every verb that takes one."""
    for cmd in ("get", "keys", "schema", "pretty"):
        world.ask("json", cmd, inputs.dump({"file": "doc.json", "path": path}))
    world.ask("json", "get", inputs.dump({"file": "conf.yaml", "path": path}))


def check_where(world: World, where: str) -> None:
    """A filter."""
    args = {"file": "rows.json", "where": where, "limit": 3}
    reply = world.ask("json", "query", inputs.dump(args))
    if reply.ok:
        result = orjson.loads(reply.result)
        assert result["total"] <= result["of"] and result["shown"] <= 3


def check_document(name: str, make: Callable[[Any], bytes] = lambda raw: raw) -> Any:
    """A document read by every verb of `@json`, and compared with itself."""

    def check(world: World, raw: bytes) -> None:
        (world.folder / name).write_bytes(make(raw))
        for cmd, more in (
            ("validate", {}), ("get", {"path": ""}), ("keys", {}), ("schema", {}), ("pretty", {}),
            ("query", {"where": "a"}), ("get", {"path": "*.*"}),
        ):  # fmt: skip
            world.ask("json", cmd, {"file": name, **more})
        reply = world.ask("diff", "json", {"a": name, "b": name})
        if reply.ok:
            assert not reply.negative, "a document differs from itself"

    return check


def check_table(world: World, value: tuple[str, str, dict[str, Any]]) -> None:
    """Two tables."""
    before, after, more = value
    world.ask("diff", "csv", inputs.dump({"before": before, "after": after, **more}))
    reply = world.ask("diff", "csv", inputs.dump({"before": before, "after": before, **more}))
    assert not reply.ok or not reply.negative, "a table differs from itself"


def check_texts(world: World, value: tuple[str, str, dict[str, Any]]) -> None:
    """Two texts by every verb that compares texts."""
    a, b, more = value
    world.ask("diff", "text", inputs.dump({"a": a, "b": b, **more}))
    world.ask("diff", "markdown", inputs.dump({"before": a, "after": b}))
    world.ask("diff", "lines", inputs.dump({"old_text": a, "new_text": b}))
    reply = world.ask("diff", "patch", inputs.dump({"before": a, "after": b}))
    assert reply.ok or reply.code in ("E_PARSE", "E_INVALID_ARG", "E_TOO_LARGE"), reply.text


def check_patch(world: World, patch: str) -> None:
    """A patch in every mode, and for real: whole or not at all, and undone to the byte."""
    for more in ({}, {"relocate": True, "recount": True}, {"eol": "file"}, {"file": "a.txt"}):
        world.ask("diff", "apply", inputs.dump({"patch": patch, **more}))
    before = world.snapshot()
    dry = world.ask("diff", "apply", inputs.dump({"patch": patch}), again=False)
    reply = world.ask("diff", "apply", inputs.dump({"patch": patch, "dry_run": False}), again=False)
    assert (world.folder.parent / "canary").read_text() == CANARY
    try:
        if not reply.ok:
            assert not dry.ok, f"a dry run promised what was refused: {reply.text}"
            assert world.snapshot() == before, "a refused patch changed files"
            return
        assert dry.ok, f"a dry run refused what was applied: {dry.text}"
        result = orjson.loads(reply.result)
        if result.get("undo"):
            undone = world.ask(
                "diff", "undo", {"id": result["undo"], "dry_run": False}, again=False
            )
            assert undone.ok, undone.text
            assert world.snapshot() == before, "undo did not put back what was there"
    finally:
        if world.snapshot() != inputs.FILES:
            world.restore()


def check_cursor(world: World, value: tuple[str, str, list[tuple[int, int]]]) -> None:
    """Cursors made up, and real ones with characters changed."""
    made_up, verb, changes = value
    calls = {
        "text": {"a": inputs.LONG[0], "b": inputs.LONG[1], "max_bytes": 2000},
        "files": {"a": "long-a.txt", "b": "long-b.txt", "max_bytes": 2000},
        "dirs": {"a": "trees/a", "b": "trees/b", "max_bytes": 300},
    }
    args = calls[verb]
    real = orjson.loads(world.ask("diff", verb, args).result).get("cursor")
    for base in (made_up, real):
        if base is None:
            continue
        letters = list(base)
        for place, code in changes:
            if letters:
                letters[place % len(letters)] = chr(code)
        changed = "".join(letters)
        reply = world.ask("diff", verb, inputs.dump({**args, "cursor": changed}))
        assert changed == real or not reply.ok or verb == "dirs" or changed == "", (
            f"a changed cursor was taken: {changed!r}"
        )


def check_revisions(world: World, args: dict[str, Any]) -> None:
    """Any spelling of a revision, any page."""
    reply = world.ask("diff", "revisions", inputs.dump(args))
    if reply.ok:
        following = orjson.loads(reply.result).get("cursor")
        if following:
            world.ask("diff", "revisions", inputs.dump({**args, "cursor": following}))


def check_names(world: World, value: tuple[str, str]) -> None:
    """A file name in every verb that takes one."""
    name, other = value
    for tool, cmd, args in inputs.with_names(name, other):
        world.ask(tool, cmd, inputs.dump(args))


TARGETS: Final[dict[str, Target]] = {
    "tags": Target(inputs.MESSAGES, check_tags),
    "jsonl": Target(inputs.LINES, check_jsonl),
    "frames": Target(inputs.FRAMES, check_frames),
    "arguments": Target(st.deferred(_arguments), check_arguments),
    "paths": Target(inputs.PATHS, check_path),
    "where": Target(inputs.WHERES, check_where),
    "json": Target(inputs.JSON, check_document("fuzz.json")),
    "yaml": Target(inputs.YAML, check_document("fuzz.yaml")),
    "json lines": Target(inputs.JSON_LINES, check_document("fuzz.jsonl")),
    "any format": Target(st.one_of(inputs.JSON, inputs.YAML), check_document("fuzz.txt")),
    "tables": Target(inputs.TABLES, check_table),
    "texts": Target(inputs.TEXTS, check_texts),
    "patches": Target(inputs.PATCHES, check_patch),
    "cursors": Target(inputs.CURSORS, check_cursor),
    "revisions": Target(inputs.REVISIONS, check_revisions),
    "names": Target(inputs.NAMES, check_names),
}


def attempt(name: str, examples: int) -> int:
    """Run a target that often; raises what Hypothesis raises, smallest input first. Its count."""
    target = TARGETS[name]
    count = 0

    with world() as made:

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(target.strategy)
        def once(value: Any) -> None:
            nonlocal count
            count += 1
            target.check(made, value)

        once()
    return count


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET",
                        help=f"of {', '.join(TARGETS)} (default: all)")  # fmt: skip
    parser.add_argument("--minutes", type=float, default=2.0, help="for each target")
    given_words = parser.parse_args()
    failed = False
    for name in given_words.targets or TARGETS:
        until = time.monotonic() + given_words.minutes * 60
        count = 0
        try:
            while time.monotonic() < until:
                count += attempt(name, 200)
        except BaseException as exc:
            if isinstance(exc, KeyboardInterrupt):
                raise
            failed = True
            print(f"{name}: FAILED after {count} inputs", flush=True)
            traceback.print_exception(exc, limit=-6)
            for note in getattr(exc, "__notes__", ()):
                print(note)
        else:
            print(f"{name}: {count} inputs, nothing found", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
