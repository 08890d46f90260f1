"""`@diff text`: two inline strings."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.verbs.diff.calls import call
from toolbox import limits
from toolbox.errors import InvalidArg, TooLarge
from toolbox.verbs.diff.text import VERB

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases" / "text.jsonl").read_text().splitlines()
]


def facts(result: dict[str, Any], args: dict[str, Any]) -> dict[str, Any]:
    """The result with what the cases call by other names."""
    lines = result["unified"].split("\n")
    return {
        **result,
        "all_equal": result["equal"],
        "op_count": sum(result["stats"].values()),
        "diff_line_after": dict(pairwise(lines)),
        "line_before_insert": next(
            (lines[k - 1][1:] for k, line in enumerate(lines) if k > 2 and line[:1] == "+"), None
        ),
    }


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_cases(case: dict[str, Any], tmp_path: Path) -> None:
    args = {{"before": "a", "after": "b"}.get(key, key): value for key, value in case["args"].items()}
    got = facts(call(VERB, tmp_path, args).result, args)
    for name, want in case["expect"].items():
        if name == "diff_not":
            assert got["diff"] != want
        elif name == "diff_contains":
            assert all(part in got["diff"] for part in want)
        elif isinstance(want, dict):
            assert {key: got[name].get(key) for key in want} == want
        else:
            assert got[name] == want


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_size_limit_counts_bytes(size: int, tmp_path: Path) -> None:
    text = "é" * (limits.DIFF_FILE_BYTES // 2) + "x" * size if size >= 0 else "x" * (limits.DIFF_FILE_BYTES - 1)
    if size > 0:
        with pytest.raises(TooLarge, match="b: expected at most 4 194 304 bytes, got 4 194 305"):
            call(VERB, tmp_path, {"a": "", "b": text})
    else:
        assert call(VERB, tmp_path, {"a": text, "b": text}).result["equal"]


def test_a_lone_surrogate_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(InvalidArg, match="lone surrogate"):
        call(VERB, tmp_path, {"a": "\ud800", "b": ""})


def test_separators_that_are_no_line_ends(tmp_path: Path) -> None:
    got = call(VERB, tmp_path, {"a": "x\u2028y\x0cz\rw\n", "b": "x\u2028y\x0cz\rv\n"})
    assert got.result["unified"].split("\n")[3:5] == ["-x\u2028y\x0cz\rw", "+x\u2028y\x0cz\rv"]


def test_long_diffs_are_given_once(tmp_path: Path) -> None:
    a = "".join(f"line {i}\n" for i in range(900))
    got = call(VERB, tmp_path, {"a": a, "b": a.upper()})
    assert "diff" not in got.result and "inserted" not in got.result
    assert got.result["insertions"] == 900
