"""`@diff patch`: what it prints was tried, and a patch that is cut says that it is none."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.verbs.diff.calls import call, write
from toolbox.verbs.diff.patch import VERB

HERE = pathlib.Path(__file__).parent
texts = st.lists(st.sampled_from(["a", "b", "", " x", "\r", "-- a", "@@ -1 +1 @@", "\\ No newline", "é", "\x0c", "--- a", "+++ b"]), max_size=9).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n"])
)


@given(before=texts, after=texts, context=st.integers(0, 4))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_patch_is_valid(before: str, after: str, context: int) -> None:
    got = call(VERB, HERE, {"before": before, "after": after, "context": context}).result
    assert got["errors"] == []
    assert got["valid"] and got["targetMatchesAfter"] and got["patchComplete"] and not got["truncated"]
    assert got["equal"] == (before == after) == (got["changes"] == 0) == (got["hunks"] == 0)
    assert got["patch"].count("\n@@ -") == got["hunks"] or "@@ -1 +1 @@" in before + after


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies it too")
def test_git_applies_it_too(tmp_path: pathlib.Path) -> None:
    before = "".join(f"line {k}\n" for k in range(60))
    after = before.replace("line 7\n", "seven\n").replace("line 50\n", "") + "last"
    write(tmp_path, {"dir/a b.txt": before, "new": after})
    got = call(VERB, tmp_path, {"a": "dir/a b.txt", "b": "new"}).result["patch"]
    assert got.startswith("--- a/dir/a b.txt")
    done = subprocess.run(["git", "apply", "--unsafe-paths", "-"], cwd=tmp_path, input=got.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dir/a b.txt").read_text() == after


def test_a_cut_patch_is_not_valid() -> None:
    before = "\n".join(f"line{k}" for k in range(5_000))
    after = "\n".join(f"line{k}" + ("!" if k % 10 == 5 else "") for k in range(5_000))
    for cap in (1_000, 30_000):
        reply = call(VERB, HERE, {"before": before, "after": after}, cap)
        got = reply.result
        assert reply.result_bytes <= cap and len(reply.text.encode()) <= cap
        assert not got["valid"] and not got["patchComplete"] and not got["targetMatchesAfter"] and got["truncated"]
        assert 0 < got["hunks"] < got["hunksTotal"] and got["patch"].endswith("\n")
        assert (got["stats"]["addedLines"], got["stats"]["removedLines"], got["changes"]) == (500, 500, 1_000)
    whole = call(VERB, HERE, {"before": before, "after": after}, None).result
    assert whole["valid"] and whole["hunks"] == whole["hunksTotal"] == 500


def test_counts_of_a_final_newline() -> None:
    got = call(VERB, HERE, {"before": "a", "after": "a\n"}).result
    assert got["stats"] == {"addedLines": 1, "removedLines": 1, "unchangedLines": 0}
    assert "\\ No newline at end of file" in got["patch"]
