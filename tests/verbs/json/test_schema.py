"""schema: the shape of unknown data, sampled evenly, in lines, records and as a JSON Schema."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.verbs.conftest import Workspace
from toolbox.engines.documents import lazy
from toolbox.engines.documents.json_text import open_json
from toolbox.engines.query import shapes
from toolbox.engines.query.schema_text import Renderer
from toolbox.engines.query.shapes import measure
from toolbox.engines.query.tallies import pick

CASES = [
    pytest.param(case, id=case["id"])
    for case in map(json.loads, (Path(__file__).parents[2] / "cases/schema.jsonl").read_text().splitlines())
]


def _fields(shape: Any) -> dict[str, Any]:
    shape = shape.get("items", shape)
    found: dict[str, Any] = shape.get("fields", {})
    return found


@pytest.mark.parametrize("case", CASES)
def test_question(case: Any, corpus: Workspace) -> None:
    expect = case["expect"]
    asked = corpus.json("schema", file=case["file"], **case["args"])
    if "facts" not in expect:
        # Deeper than any document that opens: the place is told, nothing of what is below.
        assert not asked.ok
        assert asked.error["code"] == "E_PARSE" and "deeper" in asked.error["message"]
        return
    result = asked.result
    assert (int(result["of"]), int(result["sampled"])) == (expect["elements"], expect["elements"])
    fields = _fields(result["shape"])
    assert len(fields) == expect["keys_union"]
    for fact in expect["facts"]:
        field = fields[fact["key"]]
        assert (int(field["present"]), int(field["of"])) == (fact["present"], fact["of"])
        wanted = set(fact["types"]) - {"number_spelled_integer"}
        if "number_spelled_integer" in fact["types"]:
            wanted = {"integer"}
        assert {field["type"]} == wanted


def _shape(workspace: Workspace, value: Any, **args: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    return workspace.json("schema", text=text, **args).result["shape"]


def test_types_shares_and_null_apart(workspace: Workspace) -> None:
    fields = _fields(_shape(workspace, '[{"a":1,"b":null},{"a":1.0,"b":"x"},{"a":2,"c":[]},{"a":"2"}]'))
    assert fields["a"]["type"] == ["integer", "string", "number"]
    assert fields["a"]["types"] == {"integer": "2", "number": "1", "string": "1"}
    assert (fields["b"]["type"], fields["b"]["nullable"], fields["b"]["nulls"]) == ("string", True, "1")
    assert (fields["b"]["present"], fields["b"]["of"]) == ("2", "4")
    assert "nullable" not in fields["a"]
    assert fields["c"]["elements"] == ["0", "0"]


def test_ranges_are_exact_and_as_spelled(workspace: Workspace) -> None:
    fields = _fields(_shape(workspace, '[{"a":1.10,"b":9007199254740993.0,"c":1E400,"d":12345678901234567890123},'
                                       '{"a":-2.50,"b":9007199254740992.5,"c":-1,"d":3}]'))
    spans = {key: (field["min"], field["max"]) for key, field in fields.items()}
    assert spans == {
        "a": ("-2.50", "1.10"), "b": ("9007199254740992.5", "9007199254740993.0"),
        "c": ("-1", "1E400"), "d": ("3", "12345678901234567890123"),
    }  # fmt: skip


def test_few_values_are_listed_and_content_is_not(workspace: Workspace) -> None:
    rows = [{"s": "ab"[k % 2], "n": k % 3, "u": f"user {k}", "t": "x" * 41, "y": k % 2 == 0} for k in range(40)]
    fields = _fields(_shape(workspace, rows))
    assert fields["s"]["values"] == ["a", "b"]
    assert fields["n"]["values"] == ["0", "1", "2"]
    for key in "uty":
        assert "values" not in fields[key]
    assert fields["u"]["length"] == ["6", "7"]
    eight = [{"k": k % 8} for k in range(80)]
    assert len(_fields(_shape(workspace, eight))["k"]["values"]) == 8
    nine = [{"k": k % 9} for k in range(90)]
    assert "values" not in _fields(_shape(workspace, nine))["k"]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", ["2026-03-02T10:00:00Z", "2026-03-02t10:00:00.123+02:00"], "2026-13-02T10:00:00Z"),
        ("date", ["2026-03-02"], "2026-3-2"),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], "123e4567e89b12d3a456426614174000"),
        ("uri", ["https://example.com/a?b=c#d", "urn://x"], "example.com"),
        ("email", ["a.b+c@example.co.uk"], "a@b"),
    ],
)
def test_formats(workspace: Workspace, name: str, good: list[str], bad: str) -> None:
    assert _shape(workspace, good)["items"]["format"] == name
    assert "format" not in _shape(workspace, [*good, bad])["items"]


def test_maps_collapse_with_an_example(workspace: Workspace) -> None:
    packages = {f"node_modules/{k}": {"version": f"1.{k}", "dev": True} for k in range(40)}
    shape = _shape(workspace, {"packages": packages, "version": 3})
    found = shape["fields"]["packages"]
    assert list(found["fields"]) == ["{*}"]
    assert (found["example"], found["keys"]) == ("node_modules/0", "40")
    assert found["fields"]["{*}"]["fields"]["version"]["type"] == "string"
    text = workspace.json("schema", text=json.dumps({"packages": packages})).text
    assert 'packages  object{40 keys}\n    {*}  (as node_modules/0)  object' in text


def test_records_do_not_collapse(workspace: Workspace) -> None:
    record = {f"field_{k}": "x" * k for k in range(40)}
    assert len(_fields(_shape(workspace, [record] * 50))) == 40
    parts = {f"part_{k}": {f"own_{k}": k} for k in range(20)}
    assert len(_shape(workspace, parts)["fields"]) == 20


def test_many_keys_collapse_without_keeping_them_apart(workspace: Workspace) -> None:
    rows = [{f"id-{k}-{n}": n for n in range(5)} for k in range(200)]
    shape = _shape(workspace, rows)["items"]
    assert list(shape["fields"]) == ["{*}"]
    assert shape["keys"] == "1000"
    assert shape["fields"]["{*}"]["max"] == "4"


def test_depth(workspace: Workspace) -> None:
    value = {"a": {"b": {"c": {"d": {"bottom": 1}}}}}
    asked = workspace.json("schema", text=json.dumps(value))
    assert "c  object, …" in asked.text and "bottom" not in asked.text
    assert "a greater depth" in (asked.reply.hint or "")
    asked = workspace.json("schema", text=json.dumps(value), depth=8)
    assert "bottom" in asked.text and asked.reply.hint is None
    assert "8" in workspace.json("schema", text="1", depth=9).text
    deep = [[[[[[[[[[1]]]]]]]]]]
    assert "…" in workspace.json("schema", text=json.dumps(deep)).text


def test_the_deepest_document(workspace: Workspace) -> None:
    for text in ("[" * 999 + "1" + "]" * 999, '{"k":' * 999 + "1" + "}" * 999, '{"k":[' * 499 + "1" + "]}" * 499):
        assert "…" in workspace.json("schema", text=text, depth=8).text


def test_elements_are_sampled_evenly(workspace: Workspace) -> None:
    rows = [{"k": k} for k in range(5000)]
    asked = workspace.json("schema", text=json.dumps(rows))
    assert (asked.result["sampled"], asked.result["of"]) == ("1000", "5000")
    assert asked.text.startswith("1 000 of 5 000 elements sampled, evenly\n")
    found = _fields(asked.result["shape"])["k"]
    assert (found["min"], found["max"]) == ("0", "4999")
    whole = workspace.json("schema", text=json.dumps(rows), sample=0)
    assert (whole.result["sampled"], whole.result["of"]) == ("5000", "5000")
    nested = workspace.json("schema", text=json.dumps({"a": {"b": rows}}), sample=7).result
    inner = nested["shape"]["fields"]["a"]["fields"]["b"]
    assert (inner["sampled"], inner["total"]) == ("7", "5000")


@pytest.mark.parametrize(("count", "sample"), [(10, 10), (11, 10), (1000, 7), (5, 1), (3, 0)])
def test_picks_are_spread(count: int, sample: int) -> None:
    picked = pick(count, sample)
    assert len(picked) == len(set(picked)) == (min(count, sample) if sample else count)
    gaps = {b - a for a, b in itertools.pairwise(picked)}
    assert max(gaps, default=0) - min(gaps, default=0) <= 1
    if sample != 1:
        assert (picked[0], picked[-1]) == (0, count - 1)


def test_a_fan_out_is_one_group(workspace: Workspace) -> None:
    asked = workspace.json("schema", text='[{"p":{"a":1}},{"p":{"b":2}},{}]', path="[*].p")
    assert (asked.result["sampled"], asked.result["of"], asked.result["missing"]) == ("2", "2", "1")
    assert asked.result["shape"]["fields"]["a"]["present"] == "1"


def test_yaml_numbers_are_numbers(workspace: Workspace) -> None:
    workspace.write({"a.yaml": "- {n: 0x1F, f: .5, s: '0x1F'}\n- {n: 0o7, f: .inf, s: x}\n"})
    fields = _fields(workspace.json("schema", file="a.yaml").result["shape"])
    assert [fields[k]["type"] for k in "nfs"] == ["integer", "number", "string"]


def test_lone_surrogates_stay_escapes(workspace: Workspace) -> None:
    asked = workspace.json("schema", text='[{"\\ud83d":"\\ud83e"},{"\\ud83d":"\\ud83e"}]')
    assert asked.ok
    assert '"\\ud83e"' in asked.text
    assert workspace.json("schema", text='[{"\\ud83d":"x"}]', format="json-schema").ok


def test_a_cut_falls_between_places(workspace: Workspace) -> None:
    value = {f"key_{k}": {f"inner_{n}_{k}": n for n in range(8)} for k in range(200)}
    asked = workspace.json("schema", text=json.dumps(value), max_bytes=2000)
    assert asked.reply.truncated
    assert len(asked.text.encode()) <= 2000 and len(asked.reply.result) <= 2000
    shown = int(re.search(r"showing (\d+) of [\d ]+ places", asked.text).group(1))  # type: ignore[union-attr]

    def places(shape: Any) -> int:
        return 1 + sum(map(places, shape.get("fields", {}).values()))

    assert places(asked.result["shape"]) == shown
    assert int(asked.result["shape"]["omitted"]) > 0


def test_json_schema_is_cut_to_a_valid_one(workspace: Workspace) -> None:
    value = {f"key_{k}": {f"inner_{n}_{k}": n for n in range(8)} for k in range(100)}
    asked = workspace.json("schema", text=json.dumps(value), format="json-schema", max_bytes=9000)
    assert asked.reply.truncated and len(asked.text.encode()) <= 9000
    rules = json.loads(asked.reply.result)["json_schema"]
    Draft202012Validator.check_schema(rules)
    Draft202012Validator(rules).validate(value)
    assert "inner" not in json.dumps(rules)


def test_a_path_that_is_missing(workspace: Workspace) -> None:
    assert workspace.json("schema", text="{}", path="a").error["code"] == "E_NO_PATH"


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6) | st.sampled_from(["2026-03-02", "a@b.cd"]),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=3), inner, max_size=16),
    max_leaves=40,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(value=_values, levels=st.integers(1, 8), sample=st.sampled_from([0, 1, 3, 1000]), whole=st.sampled_from([8, 64, 1 << 21]))
def test_the_json_schema_fits_what_it_came_from(value: Any, levels: int, sample: int, whole: int) -> None:
    document = open_json(json.dumps(value).encode())
    before = shapes.WHOLE_BYTES
    shapes.WHOLE_BYTES = whole  # type: ignore[misc]
    try:
        measured = measure(document, [lazy.root(document)], levels, sample)
    finally:
        shapes.WHOLE_BYTES = before  # type: ignore[misc]
    renderer = Renderer(measured.root, None)
    rules = renderer.json_schema()
    Draft202012Validator.check_schema(rules)
    if sample in (0, 1000):
        Draft202012Validator(rules).validate(value)
    lines = renderer.lines()
    assert len(lines) == _places(renderer.shape())
    for most in (1, 2, len(lines)):
        assert _places(renderer.shape(most)) == min(most, len(lines))


def _places(shape: Any) -> int:
    inner = list((shape.fields or {}).values()) + ([shape.items] if shape.items else [])
    return 1 + sum(map(_places, inner))


LONG_NUMBERS = ["9" * 4301, "9" * 100_000, "-" + "1" * 5000, "1e" + "9" * 40, "1e-" + "9" * 5000, "0." + "3" * 100_000]


@pytest.mark.parametrize("number", LONG_NUMBERS, ids=lambda n: n[:4] + str(len(n)))
def test_numbers_of_any_length_have_a_shape(workspace: Workspace, number: str) -> None:
    workspace.write({"a.json": '[{"n":1},{"n":' + number + '},{"n":2.50}]'})
    asked = workspace.json("schema", file="a.json", path="")
    assert asked.ok, asked.text
    field = asked.result["shape"]["items"]["fields"]["n"]
    assert set(field["type"] if isinstance(field["type"], list) else [field["type"]]) <= {"integer", "number"}
    assert len(asked.text) < 1000
