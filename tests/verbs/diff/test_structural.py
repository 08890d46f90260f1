"""Facts of the structural comparisons: by case, and over real files."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from tests.verbs.diff.calls import Reply, call, write
from toolbox import errors
from toolbox.registry import load

CASES = pathlib.Path(__file__).resolve().parents[2] / "cases"
CORPUS = pathlib.Path(__file__).resolve().parents[4] / "shared" / "corpus"
corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")


class Num(str):
    """A number as the reply spells it."""


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text().splitlines()]


def expand(value: Any) -> Any:
    if isinstance(value, dict):
        if "$repeat" in value:
            return value["$repeat"][0] * value["$repeat"][1]
        if "$lines" in value:
            template, count = value["$lines"]
            suffix = value.get("suffix_when_mod10_is_5", "")
            return "\n".join(template.replace("{i}", str(i)) + (suffix if i % 10 == 5 else "") for i in range(count))
        return {key: expand(one) for key, one in value.items()}
    return [expand(one) for one in value] if isinstance(value, list) else value


def check(got: Any, want: Any, where: str) -> None:
    """Hold what is expected against a result; members that are not named may be anything."""
    if isinstance(want, dict):
        assert isinstance(got, dict), where
        for key, one in want.items():
            named = re.fullmatch(r"(\w+)_(over|count|contains|matches)", key)
            if named is None:
                check(got.get(key), one, f"{where}.{key}")
                continue
            here = got.get(named[1])
            if named[2] == "over":
                assert float(here) > one, f"{where}.{key}"
            elif named[2] == "count":
                assert len(here) == one, f"{where}.{key}"
            elif named[2] == "contains":
                assert all(part in json.dumps(here) for part in ([one] if isinstance(one, str) else one)), f"{where}.{key}"
            else:
                assert re.search(one, here), f"{where}.{key}"
    elif isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), where
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            check(a, b, f"{where}[{k}]")
    else:
        assert got == want, where


@pytest.mark.parametrize("case", rows("structural.jsonl"), ids=lambda case: case["id"])
def test_facts(case: dict[str, Any], tmp_path: pathlib.Path) -> None:
    args, expect = expand(case["args"]), expand(case["expect"])
    verb = load("diff", case["action"])
    if "error_matches" in expect:
        with pytest.raises(errors.ToolboxError, match=expect["error_matches"]):
            call(verb, tmp_path, args, 30_000)
        return
    got = call(verb, tmp_path, args, 30_000)
    if (most := expect.pop("output_bytes_at_most", None)) is not None:
        assert len(got.text.encode()) <= most and got.result_bytes <= most
    if (cut := expect.pop("if_patchComplete_false", None)) is not None and not got.result["patchComplete"]:
        check(got.result, cut, "result")
    check(got.result, expect, "result")


def diff(folder: pathlib.Path, old: str, new: str, args: dict[str, Any]) -> Reply:
    kind = {"json": "json", "yaml": "json", "csv": "csv", "md": "markdown"}[old.rsplit(".", 1)[1]]
    return call(load("diff", kind), folder, {"a": old, "b": new, **args})


def plain(path: str) -> str:
    return path.removeprefix("$").removeprefix(".")


@pytest.mark.parametrize("case", rows("structural_bugs.jsonl"), ids=lambda case: case["id"])
def test_what_went_wrong_elsewhere(case: dict[str, Any], tmp_path: pathlib.Path) -> None:
    write(tmp_path, case["files"])
    names = list(case["files"])
    got = diff(tmp_path, *names, case["args"])
    expect, result = case["expect"], got.result
    for key, want in expect.items():
        if key == "changed" and "changedRows" in result:
            cells = [[r["key"], c["column"], c["before"], c["after"]] for r in result["changedRows"] for c in r["changes"]]
            assert cells == want
        elif key == "changed":
            exact = json.loads(json.dumps(result))
            assert [plain(c["path"]) for c in exact["changes"]] == [w[0] for w in want]
            for _, before, after in want:
                assert before in got.text and after in got.text
        elif key == "changed_paths":
            below = [plain(c["path"]) for c in result["changes"]]
            assert len(below) == len(want) and all(b == w or b.startswith(w) for b, w in zip(below, want, strict=True))
        elif key == "removed":
            assert [plain(c["path"]) for c in result["changes"] if c["op"] == "remove"] == want
        elif key == "equal":
            assert result["equal"] == want
        elif key == "warn_any":
            assert any(word in got.text for word in want)
        elif key == "not_contains":
            assert not any(word in got.text for word in want)
        elif key == "contains":
            assert all(word in got.text for word in want)
        elif key == "changed_count":
            assert result["summary"]["changedCells"] == want
            assert result["summary"]["addedRows"] == result["summary"]["removedRows"] == 0
        else:
            raise AssertionError(f"unknown expectation {key}")


@corpus
def test_key_order_is_no_difference() -> None:
    assert diff(CORPUS, "diff/reorder.old.json", "diff/reorder.new.json", {}).result["equal"]


@corpus
@pytest.mark.parametrize("args", [{"arrays": "align"}, {"key": "id"}], ids=["align", "key"])
def test_an_element_put_first_changes_no_other(args: dict[str, Any]) -> None:
    got = diff(CORPUS, "diff/array.old.json", "diff/array.new.json", args).result["changes"]
    assert [(c["op"], c["path"], c.get("afterPath"), c.get("before"), c.get("after")) for c in got] == [
        ("add", "$[0]", None, None, {"id": "z", "v": 0}), ("replace", "$[1].v", "$[2].v", 2, 22),
    ]  # fmt: skip


@corpus
def test_a_table_whose_rows_were_rotated() -> None:
    got = diff(CORPUS, "csv/airports.csv", "csv/airports.edited.csv", {"key": "iata"}).result
    assert [row["iata"] for row in got["addedRows"]] == ["ZZZ"]
    assert [row["iata"] for row in got["removedRows"]] == ["04M"]
    assert [(r["key"], r["changes"]) for r in got["changedRows"]] == [
        ("07C", [{"column": "country", "before": "USA", "after": "US"}])
    ]
    assert got["addedColumns"] == got["removedColumns"] == []


@corpus
def test_a_key_that_is_not_unique_loses_no_row() -> None:
    got = diff(CORPUS, "csv/dupkeys-old.csv", "csv/dupkeys-new.csv", {"key": "id"})
    assert [row["id"] for row in got.result["addedRows"]] == ["3"]
    assert "is not unique" in got.text and not got.result["equal"]


@corpus
def test_a_mark_at_the_start_and_line_ends_are_not_data_but_line_ends_in_a_cell_are() -> None:
    got = diff(CORPUS, "csv/bom-crlf.csv", "csv/nobom-lf.csv", {"key": "id"}).result
    assert [(r["key"], [c["column"] for c in r["changes"]]) for r in got["changedRows"]] == [("2", ["name"])]
    assert got["changes"] == 1


@corpus
def test_a_document_with_every_kind_of_change() -> None:
    got = diff(CORPUS, "diff/doc.old.md", "diff/doc.new.md", {"ignore_whitespace": True})
    result = got.result
    assert [(h["op"], h["before"], h["after"]) for h in result["headingChanges"]] == [("rename", "A", "A renamed")]
    assert [(c["op"], c["language"], c["changed"]) for c in result["codeBlockChanges"]] == [("replace", "js", True)]
    assert [(b["type"], [(r["op"], r["cells"]) for r in b["rows"]]) for b in result["blockChanges"]] == [
        ("table", [
            ("replace", [{"column": "v", "before": "1", "after": "2"}]),
            ("add", [{"column": "k", "before": None, "after": "y"}, {"column": "v", "before": None, "after": "3"}]),
        ]),
    ]  # fmt: skip


@corpus
def test_two_large_documents() -> None:
    got = call(load("diff", "json"), CORPUS / "big", {"a": "bcd-7.0.0.json", "b": "bcd-8.1.9.json"}, 30_000)
    summary = got.result["summary"]
    assert (summary["added"], summary["removed"], summary["replaced"]) == (11_253, 4_860, 18_821)
    assert got.truncated and got.result_bytes <= 30_000
    same = call(load("diff", "json"), CORPUS / "big", {"a": "bcd-7.0.0.json", "b": "bcd-7.0.0.json"}, 30_000)
    assert same.result["equal"]


@pytest.mark.parametrize("verb", ["json", "csv", "markdown", "patch"])
def test_each_side_is_given_once(verb: str, tmp_path: pathlib.Path) -> None:
    write(tmp_path, {"f": "1"})
    for args in ({}, {"before": "1"}, {"before": "1", "a": "f", "after": "1"}, {"before": "1", "after": "2", "b": "f"}):
        with pytest.raises(errors.InvalidArg, match="expected one of"):
            call(load("diff", verb), tmp_path, args)
    mixed = call(load("diff", verb), tmp_path, {"a": "f", "after": "1"})
    assert mixed.result["equal"]
    with pytest.raises(errors.TooLarge, match="inline"):
        call(load("diff", verb), tmp_path, {"before": "1" * (256 * 1024 + 1), "after": "1"})
    with pytest.raises(errors.InvalidArg, match="lone surrogate"):
        call(load("diff", verb), tmp_path, {"before": "\ud800", "after": "1"})


@pytest.mark.parametrize("verb", ["csv", "markdown", "patch"])
def test_files_that_are_no_utf8_are_told_with_the_place(verb: str, tmp_path: pathlib.Path) -> None:
    write(tmp_path, {"f": b"a\nb\xff\n", "g": "a\n"})
    with pytest.raises(errors.ParseFailed, match="0xff at offset 3, line 2"):
        call(load("diff", verb), tmp_path, {"a": "f", "b": "g"})
