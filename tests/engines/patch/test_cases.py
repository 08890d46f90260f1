"""Patches written by hand: applied byte for byte, or refused with the facts named."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engines.patch.memory import Memory, words

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases" / "apply.jsonl").read_text("utf-8").splitlines()
]


def data(value: dict[str, Any]) -> bytes:
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return str(value.get("text", "")).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case(case: dict[str, Any]) -> None:
    memory = Memory({p: data(v) for p, v in case["files"].items()}, links=case.get("symlinks"))
    planned = memory.plan(data(case["patch"]), file=case["call"].get("target"))
    expect = case["expect"]
    if expect["verdict"] == "refuse":
        assert planned.refused
        said = words(planned)
        lacking = [m for m in expect.get("must_mention", []) if str(m) not in said]
        assert not lacking, said
    else:
        assert memory.after(planned) == {p: data(v) for p, v in expect["files_after"].items()}
        flipped = sorted(f.path for f in planned.files if f.executable_after and not f.executable_before)
        assert flipped == sorted(expect.get("executable_after", []))


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_every_hunk_has_a_verdict(case: dict[str, Any]) -> None:
    memory = Memory({p: data(v) for p, v in case["files"].items()}, links=case.get("symlinks"))
    patch = data(case["patch"])
    planned = memory.plan(patch)
    if planned.fault is None:
        headers = sum(line.startswith(b"@@ ") for line in patch.split(b"\n"))
        assert sum(len(f.hunks) for f in planned.files) == headers
        for file in planned.files:
            assert all(h.reason for h in file.hunks)
            if file.fits:
                assert all(h.verdict in ("fits", "relocated") for h in file.hunks)
