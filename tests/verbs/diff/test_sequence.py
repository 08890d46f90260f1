"""`@diff sequence`: exact hunks, strict limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.verbs.diff.calls import call
from toolbox.errors import InvalidArg
from toolbox.verbs.diff.sequence import ITEMS, SAFE_INTEGER, STRING_BYTES, TEXT_BYTES, VERB

SIGN = {"equal": " ", "delete": "-", "insert": "+"}


def hunks(folder: Path, left: list[Any], right: list[Any], context: int | None = None) -> list[tuple[Any, ...]]:
    args: dict[str, Any] = {"left": left, "right": right}
    result = call(VERB, folder, args if context is None else {**args, "context": context}).result
    assert list(result) == ["hunks", "identical"]
    assert result["identical"] is (not result["hunks"])
    told = []
    for hunk in result["hunks"]:
        assert list(hunk) == ["old_start", "old_count", "new_start", "new_count", "ops"]
        assert all(list(op) == ["op", "value"] for op in hunk["ops"])
        ops = " ".join(SIGN[op["op"]] + json.dumps(op["value"]) for op in hunk["ops"])
        told.append((hunk["old_start"], hunk["old_count"], hunk["new_start"], hunk["new_count"], ops))
    return told


@pytest.mark.parametrize(
    ("left", "right", "context", "expected"),
    [
        ("ABC", "AXC", 0, [(1, 1, 1, 1, '-"B" +"X"')]),
        ("ABC", "ABC", 0, []),
        ("", "", None, []),
        ("", "A", 0, [(0, 0, 0, 1, '+"A"')]),
        ("A", "", 3, [(0, 1, 0, 0, '-"A"')]),
        ("AB", "AXB", 0, [(1, 0, 1, 1, '+"X"')]),
        ("AB", "ABX", 0, [(2, 0, 2, 1, '+"X"')]),
        ("AB", "ABX", 1, [(1, 1, 1, 2, ' "B" +"X"')]),
        ([None, 0, "0", False], [None, False, "0", 0], 0, [(1, 2, 1, 0, '-0 -"0"'), (4, 0, 2, 2, '+"0" +0')]),
        ([True], [1], 3, [(0, 1, 0, 1, "-true +1")]),
        ([1], ["1"], 3, [(0, 1, 0, 1, '-1 +"1"')]),
        (["__proto__"], ["__proto__", "constructor"], 0, [(1, 0, 1, 1, '+"constructor"')]),
        ([SAFE_INTEGER], [-SAFE_INTEGER], 0, [(0, 1, 0, 1, f"-{SAFE_INTEGER} +-{SAFE_INTEGER}")]),
    ],
)  # fmt: skip
def test_hunks(left: Any, right: Any, context: int | None, expected: list[Any], tmp_path: Path) -> None:
    assert hunks(tmp_path, list(left), list(right), context) == expected


@pytest.mark.parametrize(
    ("gap", "context", "count"),
    [(1, 0, 2), (1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 2, 2), (5, 3, 1), (6, 3, 2), (7, 3, 2)],
)
def test_closer_than_twice_the_context_merges(gap: int, context: int, count: int, tmp_path: Path) -> None:
    same = [f"s{i}" for i in range(gap)]
    assert len(hunks(tmp_path, ["a", *same, "b"], ["A", *same, "B"], context)) == count


ITEM = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["", "0", "a"]))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ITEM, max_size=20), st.lists(ITEM, max_size=20), st.integers(0, 16))
def test_hunks_rebuild_the_right_side(tmp_path: Path, left: list[Any], right: list[Any], context: int) -> None:
    result = call(VERB, tmp_path, {"left": left, "right": right, "context": context}).result
    out: list[Any] = []
    at = 0
    for hunk in result["hunks"]:
        assert hunk["old_start"] >= at
        out += left[at : hunk["old_start"]]
        assert len(out) == hunk["new_start"]
        old = [op["value"] for op in hunk["ops"] if op["op"] != "insert"]
        new = [op["value"] for op in hunk["ops"] if op["op"] != "delete"]
        assert (len(old), len(new)) == (hunk["old_count"], hunk["new_count"])
        assert json.dumps(old) == json.dumps(left[hunk["old_start"] : hunk["old_start"] + len(old)])
        out += new
        at = hunk["old_start"] + len(old)
    assert json.dumps(out + left[at:]) == json.dumps(right)
    assert result["identical"] is (json.dumps(left) == json.dumps(right))


def test_default_context_is_three(tmp_path: Path) -> None:
    left = [f"{i}" for i in range(20)]
    (hunk,) = hunks(tmp_path, left, [*left[:10], "X", *left[11:]])
    assert hunk[:4] == (7, 7, 7, 7)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"left": [1.5], "right": []}, r"left\[0\]: expected"),
        ({"left": [SAFE_INTEGER + 1], "right": []}, r"left\[0\]: expected"),
        ({"left": [], "right": [-SAFE_INTEGER - 1]}, r"right\[0\]: expected"),
        ({"left": [[1]], "right": []}, r"left\[0\]: expected"),
        ({"left": [{}], "right": []}, r"left\[0\]: expected"),
        ({"left": "A", "right": []}, "left: expected a list"),
        ({"left": []}, "right: missing"),
        ({"left": [], "right": [], "context": 17}, "context: expected an integer from 0 to 16"),
        ({"left": [], "right": [], "context": -1}, "context: expected"),
        ({"left": [], "right": [], "fuzzy": True}, "fuzzy: unknown argument"),
        ({"left": ["\ud800"], "right": []}, "lone surrogate"),
        ({"left": [0] * (ITEMS + 1), "right": []}, "left: expected at most 1024 items, got 1025"),
        ({"left": [], "right": ["é" * (STRING_BYTES // 2) + "x"]}, r"right\[0\]: expected at most 4096 bytes, got 4097"),
        ({"left": ["x" * 4096] * 64, "right": ["y"]}, "at most 262144 bytes of strings in all, got 262145"),
    ],
)  # fmt: skip
def test_refused(args: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArg, match=told):
        call(VERB, tmp_path, args)


def test_limits_themselves_are_taken(tmp_path: Path) -> None:
    left = ["x" * STRING_BYTES] * (TEXT_BYTES // STRING_BYTES)
    assert len(hunks(tmp_path, left, [], 16)) == 1
    many = [i % 7 for i in range(ITEMS)]
    assert hunks(tmp_path, many, many) == []
    apart = [0 if i % 2 else i for i in range(ITEMS)]
    assert len(hunks(tmp_path, apart, [0] * ITEMS, 0)) <= ITEMS


def test_a_cut_is_said(tmp_path: Path) -> None:
    left = [f"{i}" for i in range(900)]
    right = [f"{i}!" if i % 20 == 0 else f"{i}" for i in range(900)]
    got = call(VERB, tmp_path, {"left": left, "right": right, "context": 1}, 2000)
    assert got.truncated and "of 45 hunks" in got.text
    assert 0 < len(got.result["hunks"]) < 45
