"""Questions over real files: what get, keys and pretty answer, and how a miss is told."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.verbs.conftest import Workspace, compact

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases/get_keys_pretty.jsonl").read_text("utf-8").splitlines()
]


def plain(path: str) -> str:
    return path.lstrip("$").lstrip(".")


def of(verb: str, ok: bool = True) -> list[Any]:
    return [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["verb"] == verb and case["expect"].get("ok") is ok
    ]


@pytest.mark.parametrize("case", of("get"))
def test_get(case: Any, corpus: Workspace) -> None:
    expect = case["expect"]
    if "count" not in expect:
        result = corpus.json("get", file=case["file"], **case["args"]).result
        value = compact(result["value"])
        if "value" in expect:
            wanted = expect["value"]
            assert value == wanted or json.loads(value) == json.loads(wanted) == "\ud83d"
        if "value_any" in expect:
            assert value in expect["value_any"] or expect["contains"][0] in value
        return
    # Cut at the usual cap, and whole.
    result = corpus.json("get", file=case["file"], **case["args"]).result
    assert (int(result["count"]), int(result["missing"])) == (expect["count"], expect["missing"])
    assert [compact(m["value"]) for m in result["matches"][: len(expect["first"])]] == expect["first"]
    result = corpus.json("get", cap_bytes=0, file=case["file"], **case["args"]).result
    values = [compact(m["value"]) for m in result["matches"]]
    assert len(values) == expect["count"]
    assert values[-1] == expect["last"]
    assert hashlib.sha256("\n".join(values).encode()).hexdigest()[:16] == expect["values_sha"]
    paths = [m["path"] for m in result["matches"]]
    for path, wanted in zip(paths, expect["paths_first"], strict=False):
        # A concrete path counts from the start; the case repeats the [-1] that was asked.
        assert re.fullmatch(re.escape(plain(wanted)).replace(r"\[\-1\]", r"\[\d+\]"), plain(path))
    for path, value in list(zip(paths, values, strict=True))[:: max(len(paths) // 20, 1)]:
        again = corpus.json("get", file=case["file"], path=path).result
        assert compact(again["value"]) == value


@pytest.mark.parametrize("case", of("get", ok=False) + of("keys", ok=False))
def test_a_miss(case: Any, corpus: Workspace) -> None:
    asked = corpus.json(case["verb"], file=case["file"], **case["args"])
    expect, error = case["expect"], asked.error
    told = json.dumps(error, ensure_ascii=False)
    for part in expect.get("error_contains", []):
        assert part in told
    assert error["code"] == "E_NO_PATH"
    at = error["at"]
    if "failing_segment" in expect:
        assert at["segment"] == expect["failing_segment"]
        assert plain(at["path"]) == plain(expect["failing_at"]).replace("(root)", "")
    if "found_there" in expect:
        assert at["type"] == expect["found_there"]
    if "keys_available" in expect:
        assert at["keys_total"] == expect["keys_available"]
        assert len(at["keys"]) == min(50, at["keys_total"])
    if "want_suggest" in expect:
        assert at["keys"][0] == expect["want_suggest"]
        assert expect["want_suggest"] in error["hint"]


@pytest.mark.parametrize("case", of("keys"))
def test_keys(case: Any, corpus: Workspace) -> None:
    expect = case["expect"]
    result = corpus.json("keys", cap_bytes=0, file=case["file"], **case["args"]).result
    assert int(result["total"]) == expect["total"]
    assert result["type"] == expect["type"]
    keys = [[k["key"], k["type"]] for k in result["keys"]]
    if "keys" in expect:
        assert keys == expect["keys"]
    if "first" in expect:
        assert keys[: len(expect["first"])] == expect["first"]
        assert keys[-1] == expect["last"]


@pytest.mark.parametrize("case", of("pretty"))
def test_pretty(case: Any, corpus: Workspace) -> None:
    expect = case["expect"]
    for compacted in (False, True):
        args = {**case["args"], "compact": compacted}
        text = corpus.json("pretty", cap_bytes=0, file=case["file"], **args).result["text"]
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
        numbers = re.findall(r"-?\d[\d.eE+-]*", outside)
        assert len(numbers) == expect["number_tokens"]
        source = (corpus.folder / case["file"]).read_text("utf-8")
        assert json.loads(text) == json.loads(source)
        assert json.loads(text, object_pairs_hook=lambda pairs: [k for k, _ in pairs]) == json.loads(
            source, object_pairs_hook=lambda pairs: [k for k, _ in pairs]
        )
