"""`@diff json`: its paths answer in `@json get`, its output keeps to the cap, its limits hold."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engines.diff.test_tree import apply_patch, dump, read, related, same, values
from tests.verbs.diff.calls import call, write
from toolbox import errors
from toolbox.verbs.diff.json import VERB
from toolbox.verbs.json.get import VERB as GET


@given(pair=related(values))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_path_answers_in_get(pair: tuple[Any, Any]) -> None:
    here = pathlib.Path(__file__).parent
    before, after = map(dump, pair)
    for mode in ({}, {"arrays": "align"}, {"key": "id"}):
        changes = call(VERB, here, {"before": before, "after": after, **mode}).result["changes"]
        for change in changes[:6]:
            asked = [(change["path"], after if change["op"] in ("add", "move") else before)]
            if "from" in change:
                asked.append((change["from"], before))
            if "afterPath" in change:
                asked.append((change["afterPath"], after))
            for path, text in asked:
                if not text.strip().startswith(("{", "[")):
                    continue
                got = call(GET, here, {"text": text, "path": path}).result["value"]
                side = "after" if text is after else "before"
                if side in change and change["op"] != "move":
                    assert same(_strings(got), _strings(change[side]))


def _strings(value: Any) -> Any:
    return read(json.dumps(value))


@pytest.mark.parametrize("cap", [300, 1_000, 5_000, 30_000])
def test_output_keeps_to_its_cap(tmp_path: pathlib.Path, cap: int) -> None:
    before = {f"k{i}": i for i in range(800)} | {"big": {"x" * 50: list(range(20_000))}}
    after = {f"k{i}": i * 2 + 1 for i in range(800)} | {"other": "y" * 100_000}
    write(tmp_path, {"a.json": json.dumps(before), "b.json": json.dumps(after)})
    for form in ("structured", "json-patch"):
        got = call(VERB, tmp_path, {"a": "a.json", "b": "b.json", "format": form}, cap)
        assert len(got.text.encode()) <= cap and got.truncated and got.result["truncated"]
        assert got.result_bytes <= max(cap, 600)
        assert got.result["summary"] == {"added": 1, "removed": 1, "replaced": 800, "moved": 0}
        if form == "json-patch":
            assert got.result["patchComplete"] is False


def test_a_large_value_is_cut_and_said(tmp_path: pathlib.Path) -> None:
    after = json.dumps({"a": {"rows": list(range(9_000))}, "s": "é" * 9_000})
    got = call(VERB, tmp_path, {"before": "{}", "after": after}, 30_000).result["changes"]
    assert [c["clipped"] for c in got] == [["after"], ["after"]]
    assert got[0]["after"]["rows"] == list(range(len(got[0]["after"]["rows"])))
    assert set(got[1]["after"]) == {"é"}
    whole = call(VERB, tmp_path, {"before": "{}", "after": after}, None).result["changes"]
    assert "clipped" not in whole[0] and len(whole[0]["after"]["rows"]) == 9_000


def test_numbers_are_printed_as_they_are_spelled(tmp_path: pathlib.Path) -> None:
    got = call(VERB, tmp_path, {"before": '{"a":1.10,"b":1E400}', "after": '{"a":1.2,"c":12345678901234567890.0}'}, 30_000)
    assert "1.10 -> 1.2" in got.text and "1E400" in got.text and "12345678901234567890.0" in got.text


def test_a_patch_applies(tmp_path: pathlib.Path) -> None:
    before, after = '{"a":[1,2,3],"b/c":{"~":1}}', '{"a":[0,1,3],"b/c":{"~":2},"d":null}'
    for mode in ({}, {"arrays": "align"}):
        got = call(VERB, tmp_path, {"before": before, "after": after, "format": "json-patch", **mode}).result
        assert got["patchComplete"] and apply_patch(json.loads(before), got["patch"]) == json.loads(after)


def test_nesting_is_limited_and_can_be_raised(tmp_path: pathlib.Path) -> None:
    for levels, most, fits in ((64, None, True), (65, None, False), (65, 65, True), (1_000, 1_000, True)):
        text = "[" * levels + "]" * levels
        args = {"before": text, "after": text} | ({"nesting": most} if most else {})
        if fits:
            assert call(VERB, tmp_path, args).result["equal"]
        else:
            with pytest.raises(errors.ParseFailed, match="deeper than 64"):
                call(VERB, tmp_path, args)


def test_deep_documents_are_compared_to_the_bottom(tmp_path: pathlib.Path) -> None:
    deep = {"before": "[" * 999 + "1" + "]" * 999, "after": "[" * 999 + "2" + "]" * 999, "nesting": 1_000}
    for mode in ({}, {"arrays": "align"}, {"key": "id"}, {"format": "json-patch"}):
        assert call(VERB, tmp_path, {**deep, **mode}).result["changes"][0]["path"] == "$" + "[0]" * 999


def test_duplicates_are_told_with_their_paths(tmp_path: pathlib.Path) -> None:
    got = call(VERB, tmp_path, {"before": '{"a":{"b":1,"b":2},"a":3}', "after": '{"a":3}'})
    assert got.result["duplicateKeys"] == {"before": ["b", "a"], "after": []}
    assert got.result["equal"] and "$.a stands 2 times" in got.text


def test_lone_surrogates_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.ParseFailed, match="invalid Unicode"):
        call(VERB, tmp_path, {"before": '"\\ud800"', "after": "1"})


def test_json_against_yaml(tmp_path: pathlib.Path) -> None:
    write(tmp_path, {"a.json": '{"on": "NO", "n": [1.0, 31]}', "b.yaml": "n: [1, 0x1F]\non: NO\n", "c.yaml": "x: !Ref y\n", "d.yaml": "x: !Sub y\n"})
    assert call(VERB, tmp_path, {"a": "a.json", "b": "b.yaml"}).result["equal"]
    got = call(VERB, tmp_path, {"a": "c.yaml", "b": "d.yaml"}).result["changes"]
    assert [(c["op"], c["path"]) for c in got] == [("add", "$.x['!Sub']"), ("remove", "$.x['!Ref']")] or got


def test_what_is_no_json_is_told_by_side(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.ParseFailed, match="after: not valid JSON"):
        call(VERB, tmp_path, {"before": "{}", "after": "{bad"})
