"""Attacks 1 to 9, 11, 16, 17, 19 to 22 and 40 by name: every verb, a real daemon, both resolvers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attacks import calls
from tests.attacks.calls import CANARY, NaiveRoot, daemon, others, readers, writers
from tests.daemon.conftest import Stdio
from tests.sandbox.test_resolving import BAD, BITES, BY_ID, GONE, KIND, OUT, TABLE
from tests.sandbox.world import build, snapshot
from toolbox.dispatch import Call, run
from toolbox.registry import all_verbs
from toolbox.store import DocumentStore

REFUSALS = {OUT, GONE, KIND, BAD}
READERS = tuple(readers(""))
WRITERS = tuple(writers(""))


def build_world(top: Path) -> Path:
    """The hostile workspace, its canaries documents that every reader would show."""
    root = build(top)
    for path in (top / "canary", top / "outside/canary", top / "rootevil/canary"):
        path.write_bytes(CANARY)
    (root / "doc.json").write_text('{"a":[1]}')
    if shutil.which("git"):
        git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "d", "e", "plain"], check=True)
        subprocess.run([*git, "commit", "-qm", "x"], check=True)
    return root


def spelled(root: Path, id: str) -> str:
    return BY_ID[id][0].replace("{root}", str(root))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_world(tmp_path_factory.mktemp("attacked"))


@pytest.fixture(scope="module", params=calls.RESOLVERS)
def attacked(request: pytest.FixtureRequest, world: Path) -> Iterator[Stdio]:
    with daemon(world, request.param, "--workers", "1") as started:
        yield started


def ask(attacked: Stdio, world: Path, id: str, call: calls.Call) -> dict[str, Any]:
    """The reply, held to what no reply may show: a fault of our own, or a path that leads out."""
    tool, cmd, args = call
    reply = attacked.call(f"@{tool}", cmd, **args)
    assert reply["ok"] or reply["error"]["code"] != "E_INTERNAL", (id, reply)
    outside = str(world.parent)
    assert outside not in json.dumps(reply) or outside in json.dumps(args), (id, reply)
    return reply


@pytest.mark.parametrize("verb", READERS)
def test_every_reader_refuses_what_leads_out(attacked: Stdio, world: Path, verb: str) -> None:
    """The same table as the resolver's own, the same codes, through every argument."""
    before = snapshot(world.parent)
    found, expected = {}, {}
    for id, _, came in TABLE:
        reply = ask(attacked, world, id, readers(spelled(world, id))[verb])
        code = "ok" if reply["ok"] else reply["error"]["code"]
        assert "CANARY" not in json.dumps(reply), (id, reply)
        found[id] = "opened" if code not in REFUSALS else code
        expected[id] = came if came in REFUSALS else "opened"
    assert found == expected
    assert snapshot(world.parent) == before


@pytest.mark.parametrize("verb", tuple(others("")))
def test_no_other_argument_leads_out(attacked: Stdio, world: Path, verb: str) -> None:
    before = snapshot(world.parent)
    for id, _, came in TABLE:
        reply = ask(attacked, world, id, others(spelled(world, id))[verb])
        code = "ok" if reply["ok"] else reply["error"]["code"]
        assert "canary" not in json.dumps(reply.get("result")).lower(), (id, reply)
        if verb in ("dirs-a", "dirs-b", "apply-header") and came == OUT:
            assert code in (OUT, "E_PATCH_MALFORMED", "E_PATCH_UNSUPPORTED", KIND), (id, reply)
    assert snapshot(world.parent) == before


@pytest.mark.parametrize("verb", WRITERS)
def test_22_40_nothing_outside_is_written(attacked: Stdio, world: Path, verb: str) -> None:
    """A whole patch is refused where one of its names leads out."""
    before = snapshot(world.parent)
    for id, _, came in TABLE:
        if came not in (OUT, BAD):
            continue
        name = spelled(world, id)
        if verb == "change-bare" and not name:
            continue
        reply = ask(attacked, world, id, writers(name)[verb])
        assert reply["ok"] is False, (id, reply)
    assert snapshot(world.parent) == before


def test_every_verb_that_names_a_file_is_attacked() -> None:
    attacked = {f"{tool}.{cmd}" for tool, cmd, _ in (*readers("").values(), *others("").values())}
    assert attacked | calls.NAMES_NO_FILE == {f"{v.tool}.{v.name}" for v in all_verbs()}
    assert not attacked & calls.NAMES_NO_FILE


@pytest.mark.parametrize("verb", READERS)
def test_control_a_naive_open_shows_the_canary(world: Path, verb: str) -> None:
    """The same verbs on a root that joins and opens: what is outside is read by each of them."""
    with NaiveRoot.open(world) as root:
        for id in BITES:
            tool, cmd, args = readers(spelled(world, id))[verb]
            call = Call(tool, cmd, json.dumps(args).encode())
            reply = run(call, root, DocumentStore(root, budget_bytes=1 << 20))
            assert reply.code not in REFUSALS or verb == "validate-schema", (id, reply.text)
            if verb not in ("apply-patch-file", "validate-schema", "validate"):
                assert "CANARY" in reply.text + reply.result.decode(), (id, reply.text)


@pytest.mark.parametrize("id", BITES)
def test_control_a_naive_write_changes_what_is_outside(tmp_path: Path, id: str) -> None:
    root = build_world(tmp_path)
    before = snapshot(tmp_path)
    with open(os.path.join(root, spelled(root, id)), "wb") as handle:
        handle.write(b"changed")
    changed = {path for path, found in snapshot(tmp_path).items() if found != before.get(path)}
    assert changed and all(not path.startswith("root/") for path in changed)
