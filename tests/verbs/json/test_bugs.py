"""What went wrong for people elsewhere, each as a small reproduction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.verbs.conftest import Workspace, compact

CASES = [
    pytest.param(case, id=case["id"])
    for line in (Path(__file__).parents[2] / "cases/get_pretty_bugs.jsonl").read_text("utf-8").splitlines()
    for case in [json.loads(line)]
]


@pytest.mark.parametrize("case", CASES)
def test_bug(case: Any, workspace: Workspace) -> None:
    repro, expect = case["repro"], case["expect"]
    (name, content), *rest = repro["files"].items()
    assert not rest
    if "generate" in repro:
        content = eval(repro["generate"], {"json": json})
    workspace.write({name: content})
    asked = workspace.json(repro["verb"], file=name, **repro["args"])
    told = asked.text + (asked.reply.hint or "")
    if expect.get("ok") is False:
        assert not asked.ok
    if "value" in expect:
        assert compact(asked.result["value"]) == expect["value"]
    if "output" in expect:
        assert asked.text == asked.result["text"] == expect["output"]
    for part in expect.get("contains", []):
        assert part in told.replace(" ", "")
    for word in ("error_any", "error_or_warn_any"):
        if word in expect:
            assert any(part in told for part in expect[word])
    if "note_any" in expect:
        assert asked.reply.truncated
        assert "showing" in told or "too long" in told


def test_the_dotted_key_is_hinted(workspace: Workspace) -> None:
    text = '{"plugins":{"io.demo.v1.cri":{"mirror":{"docker.io":["u"]}}}}'
    error = workspace.json("get", text=text, path="plugins.io.demo.v1.cri.mirror").error
    assert error["at"]["segment"] == "io"
    assert 'plugins["io.demo.v1.cri"].mirror' in error["hint"]


def test_a_raw_character_finds_an_escaped_key(workspace: Workspace) -> None:
    asked = workspace.json("get", text='{"\\ud83e\\uddea":"lab"}', path="🧪")
    assert asked.text == '"lab"'
