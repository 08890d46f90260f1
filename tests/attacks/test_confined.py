"""Attack 52: every worked example in workers that are confined for sure, as without confinement."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import landlock
from sandbox.syscalls import architecture
from tests.daemon.conftest import Stdio
from toolbox.registry import all_verbs

EXAMPLES = [
    (f"{verb.tool}-{verb.name}-{k}", verb, example)
    for verb in all_verbs()
    for k, example in enumerate(verb.examples)
]


def _holds() -> bool:
    try:
        return architecture() is not None and landlock.abi() >= landlock.ABI_TRUNCATE
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not _holds(), reason="this kernel cannot confine a worker whole")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Path, Stdio]]]:
    """A confined daemon and one that is not, each with a workspace of its own."""
    made = []
    for policy in ("require", "off"):
        folder = tmp_path_factory.mktemp(policy)
        made.append((folder, Stdio(folder, "--workers", "1", f"--confine={policy}")))
    yield made
    for _, daemon in made:
        daemon.process.kill()
        daemon.process.wait()


def _refill(folder: Path, files: Any) -> None:
    for old in folder.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(("verb", "example"), [e[1:] for e in EXAMPLES], ids=[e[0] for e in EXAMPLES])
def test_52_an_example_answers_the_same_confined(
    pair: list[tuple[Path, Stdio]], verb: Any, example: Any
) -> None:
    replies = []
    for folder, daemon in pair:
        _refill(folder, example.files)
        reply = daemon.call(f"@{verb.tool}", verb.name, **dict(example.args))
        assert reply["ok"] or reply["error"]["code"] != "E_INTERNAL", reply
        replies.append({k: v for k, v in reply.items() if k not in ("id", "meta")})
    # An apply's id is made of its time and chance.
    confined, free = (
        re.sub(r"\b[0-9a-f]{12}-[0-9a-f]{16}\b", "ID", json.dumps(reply, sort_keys=True)) for reply in replies
    )
    assert confined == free


def test_52_the_confined_daemon_was_confined(pair: list[tuple[Path, Stdio]]) -> None:
    line = pair[0][1].logged("confined")
    assert not line["missing"] and {"files", "calls"} <= set(line["holds"])
