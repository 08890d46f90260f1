"""Public test data of patch tools: before, patch, and after or a refusal; read in place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engines.patch.memory import Memory

SUITE = Path(__file__).parents[4] / "shared" / "suites" / "patch-triples"
TRIPLES = sorted(SUITE.iterdir()) if SUITE.is_dir() else []

pytestmark = pytest.mark.skipif(not TRIPLES, reason="the suite is not at hand")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("strip", ["auto", "stated"])
@pytest.mark.parametrize("triple", TRIPLES, ids=[t.name for t in TRIPLES])
def test_triple(triple: Path, strip: str) -> None:
    meta = json.loads((triple / "meta.json").read_bytes())
    memory = Memory(tree(triple / "before"))
    planned = memory.plan(
        (triple / "patch").read_bytes(),
        file=meta.get("target"),
        strip=meta["strip"] if strip == "stated" else None,
    )
    if meta["expect"]["verdict"] == "refuse":
        assert planned.refused
    else:
        assert memory.after(planned) == tree(triple / "after")
