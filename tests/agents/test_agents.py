"""Real agents against a stand-in model on loopback: what the model is given is whole and verbatim.

Run where the agents are installed (`npm install @openai/codex @google/gemini-cli opencode-ai`):

    TOOLBOX_AGENTS=…/node_modules/.bin python3 dev.py test tests/agents

An agent that is not found is skipped; nothing is downloaded here, and no agent reaches a network.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.agents.clients import AGENTS, Agent
from tests.agents.standin import StandIn
from toolbox import Toolbox
from toolbox.wire.mcp import cap_for

RUN_SECONDS = 110
ROOT = pathlib.Path(__file__).resolve().parents[2]

CLIENT_NAMES = {
    "codex": "codex-mcp-client",
    "gemini": "gemini-cli-mcp-client",
    "opencode": "opencode",
}

CALLS = {
    "a number with its zero": ("json", {"cmd": "get", "file": "a.json", "path": "price"}),
    "a whole number past 2^53": ("json", {"cmd": "get", "file": "a.json", "path": "id"}),
    "a string": ("json", {"cmd": "get", "file": "a.json", "path": "name"}),
    "a list": ("json", {"cmd": "get", "file": "a.json", "path": "tags"}),
    "an object": ("json", {"cmd": "get", "file": "a.json", "path": "part"}),
    "nothing": ("json", {"cmd": "get", "file": "a.json", "path": "none"}),
    "a miss": ("json", {"cmd": "get", "file": "a.json", "path": "prise"}),
    "a cut answer": ("json", {"cmd": "get", "file": "a.json", "path": "rows"}),
    "a cut diff": ("diff", {"cmd": "files", "a": "old.txt", "b": "new.txt"}),
    "a refused patch": (
        "diff_apply",
        {
            "cmd": "apply",
            "file": "t.txt",
            "patch": "@@ -1,3 +1,3 @@\n one\n-tow\n+2\n three\n",
            "dry_run": False,
        },
    ),
}  # fmt: skip

VERB_CAPS_BYTES = {"json": 24_000, "diff": 30_000, "diff_apply": 30_000}


def _fill(workspace: pathlib.Path) -> None:
    rows = ",".join(f'{{"i": {k}, "price": {k}.10, "text": "é{k:030d}"}}' for k in range(3000))
    (workspace / "a.json").write_text(
        '{"price": 1.10, "id": 12345678901234567890123, "name": "ä \\"quoted\\" </tool>", '
        f'"tags": [1.10, "b", null], "part": {{"v": 1E400}}, "none": null, "rows": [{rows}]}}'
    )
    (workspace / "t.txt").write_text("one\ntwo\nthree\n")
    old = [f"line {k} of the text\n" for k in range(4000)]
    (workspace / "old.txt").write_text("".join(old))
    (workspace / "new.txt").write_text("".join(x.upper() if k % 9 == 0 else x for k, x in enumerate(old)))


@dataclass(frozen=True)
class Run:
    """One agent's whole run."""

    agent: Agent
    workspace: pathlib.Path
    model: StandIn
    said: str


@pytest.fixture(scope="module", params=AGENTS, ids=[a.program for a in AGENTS])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    agent: Agent = request.param
    program = agent.find()
    if program is None:
        pytest.skip(f"{agent.program} is not installed")
    base = tmp_path_factory.mktemp(agent.program)
    home, workspace, runtime = base / "home", base / "ws", base / "run"
    for folder in (home, workspace):
        folder.mkdir()
    runtime.mkdir(mode=0o700)
    _fill(workspace)
    model = StandIn(list(CALLS.values()))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PWD": str(workspace),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "XDG_RUNTIME_DIR": str(runtime),
        **{f"XDG_{n}_HOME": str(home / n.lower()) for n in ("CONFIG", "DATA", "CACHE", "STATE")},
        "PYTHONPATH": str(ROOT),
    }
    environment |= agent.prepare(home, workspace, model.url)

    def ours(*words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "toolbox", *words, "--workspace", str(workspace)],
            env=environment, check=True, capture_output=True, timeout=60,
        )  # fmt: skip

    ours("attach", agent.client, "--yes")
    try:
        done = subprocess.run(
            [program, *agent.arguments], cwd=workspace, env=environment, timeout=RUN_SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
        yield Run(agent, workspace, model, (done.stdout + done.stderr)[-4000:])
    finally:
        ours("stop")
        model.close()


def test_the_model_is_offered_our_tools_with_their_schemas(run: Run) -> None:
    assert not run.model.problems, run.model.problems
    assert len(run.model.declared) == 3, run.said
    words = json.dumps(run.model.declared)
    for needed in ("dry_run", "cmd", "max_bytes", "without reading it whole"):
        assert needed in words


@pytest.mark.parametrize("case", CALLS)
def test_what_the_model_is_given_is_whole_and_verbatim(run: Run, case: str) -> None:
    k = list(CALLS).index(case)
    assert len(run.model.outputs) > k, run.said
    name, arguments = CALLS[case]
    cap = cap_for(CLIENT_NAMES[run.agent.program]) or VERB_CAPS_BYTES[name]
    values = {key: value for key, value in arguments.items() if key != "cmd"}
    tool = "json" if name == "json" else "diff"
    reply = Toolbox(run.workspace).call(tool, str(arguments["cmd"]), **values, max_bytes=cap)
    assert run.agent.bare(run.model.outputs[k]) == reply.text
    assert reply.truncated is case.startswith("a cut")
    assert reply.ok is (case not in ("a miss", "a refused patch"))


def test_a_refused_patch_changed_nothing(run: Run) -> None:
    assert (run.workspace / "t.txt").read_text() == "one\ntwo\nthree\n"
    assert not (run.workspace / "t.txt.bak").exists()
