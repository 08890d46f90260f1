"""The official conformance suite for MCP servers, and the Inspector's command line, against `/mcp`.

Run where they are installed, with Node 22 or newer first on PATH
(`npm install @modelcontextprotocol/conformance @modelcontextprotocol/inspector`):

    TOOLBOX_MCP_TOOLS=…/node_modules/.bin python3 dev.py test tests/conformance

What is not found is skipped. `APPLIES` and `NOT_FOR_US` together are the suite's whole list, so a
scenario that a newer suite adds is noticed.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

FOLDER_VARIABLE = "TOOLBOX_MCP_TOOLS"
ROOT = pathlib.Path(__file__).resolve().parents[2]

APPLIES: dict[str, set[str]] = {
    "server-initialize": set(),
    "server-session-lifecycle": set(),
    "server-stateless": {
        # A tool that needs the client's sampling would be refused; none of ours does.
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
    },
    "ping": set(),
    "tools-list": set(),
    "tools-call-simple-text": set(),
    "tools-call-error": set(),
    "tools-call-with-progress": set(),
    "json-schema-2020-12": set(),
    "server-sse-multiple-streams": set(),
    "dns-rebinding-protection": set(),
    "http-header-validation": set(),
    "sep-2164-resource-not-found": set(),
    "caching": {
        # tools/list has its hints; prompts and resources are not offered.
        "sep-2549-prompts-list-caching-hints",
        "sep-2549-resources-list-caching-hints",
        "sep-2549-resources-templates-list-caching-hints",
    },
    "tasks-status-notifications": set(),
}
"""Scenario → checks in it that are not for us; all others have to pass."""

_CONTENT = "answers are text"
_ASKS = "the tools never ask the client for anything"
_RESOURCES = "no resources are offered"
_PROMPTS = "no prompts are offered"
_TASKS = "an extension; calls end within their deadline, so there are no tasks"

NOT_FOR_US = {
    "logging-set-level": "no log messages are sent to clients",
    "completion-complete": "there are no prompts or resource templates to complete",
    "tools-call-image": _CONTENT,
    "tools-call-audio": _CONTENT,
    "tools-call-embedded-resource": _CONTENT,
    "tools-call-mixed-content": _CONTENT,
    "tools-call-with-logging": "no log messages are sent to clients",
    "tools-call-sampling": _ASKS,
    "tools-call-elicitation": _ASKS,
    "elicitation-sep1034-defaults": _ASKS,
    "elicitation-sep1330-enums": _ASKS,
    "server-sse-polling": "a stream is not closed in the middle of a call, so none is resumed",
    "resources-*": _RESOURCES,
    "prompts-*": _PROMPTS,
    "sep-2640-skills-*": "an extension over resources, which are not offered",
    "http-custom-header-server-validation": "no argument is mirrored into an HTTP header",
    "tasks-*": _TASKS,
    "input-required-result-*": _ASKS,
}
"""Scenario, or the beginning of several, → why it does not apply."""


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get(FOLDER_VARIABLE) or None)


def _listed() -> list[str]:
    program = _program("conformance")
    if program is None:
        return []
    listed = subprocess.run([program, "list", "--server"], capture_output=True, text=True, timeout=60)
    return re.findall(r"^  - (\S+) \[", listed.stdout.partition("Client scenarios")[0], re.MULTILINE)


SCENARIOS = _listed()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    workspace = tmp_path_factory.mktemp("ws")
    rows = [{"id": k, "name": f"n{k}", "tags": ["a", k]} for k in range(200_000)]
    (workspace / "large.json").write_text(json.dumps(rows))
    (workspace / "a.json").write_text('{"price": 1.10}')
    daemon = subprocess.Popen(
        [sys.executable, "-m", "tests.conformance.server", "serve", "--workspace", str(workspace),
         "--http", "127.0.0.1:0", "--no-token"],
        cwd=ROOT, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert daemon.stderr is not None
    try:
        for line in daemon.stderr:
            event = json.loads(line)
            if event["event"] == "http":
                yield event["url"] + "/mcp"
                break
    finally:
        daemon.terminate()
        daemon.stderr.read()
        daemon.wait(30)


def _reason(scenario: str) -> str | None:
    for name, reason in NOT_FOR_US.items():
        if scenario == name or (name.endswith("*") and scenario.startswith(name[:-1])):
            return reason
    return None


@pytest.mark.skipif(not SCENARIOS, reason="the conformance suite is not installed")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_conformance(url: str, scenario: str, tmp_path: pathlib.Path) -> None:
    if scenario not in APPLIES:
        reason = _reason(scenario)
        assert reason, f"a scenario that is not judged yet: {scenario}"
        pytest.skip(reason)
    program = _program("conformance")
    assert program is not None
    done = subprocess.run(
        [program, "server", "--url", url, "--scenario", scenario, "-o", str(tmp_path)],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    (found,) = tmp_path.rglob("checks.json")
    checks = json.loads(found.read_text())
    failed = {c["id"]: c.get("errorMessage") for c in checks if c["status"] == "FAILURE"}
    assert {k: v for k, v in failed.items() if k not in APPLIES[scenario]} == {}, done.stdout[-2000:]
    assert any(c["status"] == "SUCCESS" for c in checks) or scenario.startswith("tasks-")


INSPECTOR = _program("mcp-inspector")


@pytest.mark.skipif(INSPECTOR is None, reason="the Inspector is not installed")
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls(url: str, era: str, tmp_path: pathlib.Path) -> None:
    assert INSPECTOR is not None

    def inspect(*words: str) -> str:
        done = subprocess.run(
            [INSPECTOR, "--cli", "--server-url", url, "--transport", "http", "--protocol-era", era,
             "--format", "json", *words],
            capture_output=True, text=True, timeout=100, check=True,
            env={**os.environ, "HOME": str(tmp_path)},
        )  # fmt: skip
        return done.stdout

    listed = json.loads(inspect("--strict", "--method", "tools/list"))["result"]["tools"]
    assert [t["name"] for t in listed][:3] == ["json", "diff", "diff_apply"]
    arguments = json.dumps({"cmd": "get", "file": "a.json", "path": "price"})
    called = inspect("--method", "tools/call", "--tool-name", "json", "--tool-args-json", arguments)
    assert json.loads(called)["result"]["content"] == [{"type": "text", "text": "1.10"}]
