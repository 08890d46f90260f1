"""`@diff lines`: records of changed lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.verbs.diff.calls import call
from toolbox.errors import TooLarge
from toolbox.verbs.diff.lines import RECORDS, TEXT_CHARACTERS, VERB


def lines(folder: Path, old: str, new: str, cap: int | None = None) -> Any:
    return call(VERB, folder, {"oldText": old, "newText": new}, cap).result


def short(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    for record in records:
        assert list(record) == ["change", "lineOld", "lineNew", "textOld", "textNew"]
    return [tuple(record.values()) for record in records]


@pytest.mark.parametrize(
    ("old", "new", "records"),
    [
        ("", "", []),
        ("a\nb", "a\nb", []),
        ("a", "a\n", []),
        ("a\r\nb\r\n", "a\r\nb", []),
        ("", "\n", []),
        ("a", "a\r\n", []),
        ("a\r", "a\r\n", []),
        ("", "c\r\n", [("inserted", None, 1, None, "c\r")]),
        ("b", "c\r\n", [("replaced", 1, 1, "b", "c\r")]),
        ("a", "b", [("replaced", 1, 1, "a", "b")]),
        ("a ", "a", [("replaced", 1, 1, "a ", "a")]),
        ("A", "a", [("replaced", 1, 1, "A", "a")]),
        ("", "a", [("inserted", None, 1, None, "a")]),
        ("a\n", "", [("deleted", 1, None, "a", None)]),
        ("a", "a\n\n", [("inserted", None, 2, None, "")]),
        ("a\r\n", "a\n", [("replaced", 1, 1, "a\r", "a")]),
        ("x\u2028y\x0c", "x\u2028z\x0c", [("replaced", 1, 1, "x\u2028y\x0c", "x\u2028z\x0c")]),
        ("k\n1\n2\nk", "k\nA\nB\nC\nD\nE\nk", [
            ("replaced", 2, 2, "1", "A"), ("replaced", 3, 3, "2", "B"), ("inserted", None, 4, None, "C"),
            ("inserted", None, 5, None, "D"), ("inserted", None, 6, None, "E")]),
        ("k\n1\n2\n3\nk", "k\nA\nk", [
            ("replaced", 2, 2, "1", "A"), ("deleted", 3, None, "2", None), ("deleted", 4, None, "3", None)]),
        ("a\nb\nc\nd", "b\nc\nX\nd", [("deleted", 1, None, "a", None), ("inserted", None, 3, None, "X")]),
    ],
)  # fmt: skip
def test_records(old: str, new: str, records: list[tuple[Any, ...]], tmp_path: Path) -> None:
    assert short(lines(tmp_path, old, new)) == records


TEXT = st.lists(st.sampled_from(["a", "b", "", "c\rd", "\u2028"]), max_size=12).map("\n".join)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXT, TEXT)
def test_records_rebuild_the_new_text(tmp_path: Path, old: str, new: str) -> None:
    got = lines(tmp_path, old, new)
    before = old.removesuffix("\n").split("\n") if old.removesuffix("\n") else []
    gone = {r["lineOld"] for r in got if r["lineOld"]}
    kept = [line for k, line in enumerate(before, 1) if k not in gone]
    come = {r["lineNew"]: r["textNew"] for r in got if r["lineNew"]}
    after: list[str] = []
    while kept or len(after) + 1 in come:
        after.append(come[len(after) + 1] if len(after) + 1 in come else kept.pop(0))
    assert after == (new.removesuffix("\n").split("\n") if new.removesuffix("\n") else [])


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_ceiling(over: int, tmp_path: Path) -> None:
    count = RECORDS + over
    got = lines(tmp_path, "".join(f"a{i}\n" for i in range(count)), "".join(f"b{i}\n" for i in range(count)))
    assert [r["change"] for r in got[:RECORDS]] == ["replaced"] * min(count, RECORDS)
    if over > 0:
        (last,) = got[RECORDS:]
        assert list(last) == ["change", "message"] and last["change"] == "truncated"
        assert "showing 500 of 501 changed lines" in last["message"] and "unrelated" in last["message"]
    else:
        assert len(got) == count


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_characters(over: int, tmp_path: Path) -> None:
    text = "é" * (TEXT_CHARACTERS + over)
    if over > 0:
        with pytest.raises(TooLarge, match="new_text: expected at most 200 000 characters, got 200 001") as caught:
            lines(tmp_path, "", text)
        assert "narrow the comparison" in str(caught.value.hint)
    else:
        assert lines(tmp_path, text, text) == []


def test_text_is_the_array_too(tmp_path: Path) -> None:
    got = call(VERB, tmp_path, {"old_text": "a\nb", "new_text": "c\nb\nd"})
    assert json.loads(got.text) == got.result
    assert call(VERB, tmp_path, {"old_text": "", "new_text": ""}).text == "[]"


def test_a_cut_is_said_in_the_array(tmp_path: Path) -> None:
    old = "".join(f"old {'x' * 60} {i}\n" for i in range(300))
    got = call(VERB, tmp_path, {"old_text": old, "new_text": old.upper()}, 4000)
    assert got.truncated and len(got.text.encode()) <= 4000 and got.result_bytes <= 4000
    shown = len(got.result) - 1
    assert got.result[-1] == {
        "change": "truncated",
        "message": f"showing {shown} of 300 changed lines: the output is full; compare smaller sections",
    }
