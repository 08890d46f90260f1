"""validate: the place and cause of the first fault, warnings, and JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.verbs.conftest import Workspace

CASES_FOLDER = Path(__file__).parents[2] / "cases"
SUITE = Path(__file__).resolve().parents[4] / "shared/suites/JSONTestSuite/test_parsing"


def _cases(name: str) -> list[Any]:
    lines = (CASES_FOLDER / name).read_text("utf-8").splitlines()
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


@pytest.mark.parametrize("case", _cases("validate.jsonl"))
def test_question(case: Any, corpus: Workspace) -> None:
    asked = corpus.json("validate", file=case["file"], **case["args"])
    expect, result = case["expect"], asked.result
    if expect["ok"] is not None:
        assert result["valid"] is expect["ok"]
        assert asked.reply.negative is not expect["ok"]
    if "line" in expect:
        assert int(result["line"]) == expect["line"]
    if "line_any" in expect:
        assert int(result["line"]) in expect["line_any"]
    if "column_any" in expect:
        assert int(result["column"]) in expect["column_any"]
    if "error_any" in expect:
        assert any(word in asked.text for word in expect["error_any"])
    if expect["ok"] is False:
        assert result["message"] and result["snippet"].split("\n")[-1].strip() == "^"
        assert result["format"] in ("json", "jsonl", "yaml")


@pytest.mark.parametrize("case", _cases("validate_bugs.jsonl"))
def test_bug(case: Any, workspace: Workspace) -> None:
    repro, expect = case["repro"], case["expect"]
    ((name, content),) = repro["files"].items()
    if "generate" in repro:
        content = eval(repro["generate"])
    workspace.write({name: content})
    asked = workspace.json("validate", file=name)
    result = asked.result
    if "ok" in expect:
        assert result["valid"] is expect["ok"]
    if "line" in expect:
        assert int(result["line"]) == expect["line"]
    if "column_any" in expect:
        assert int(result["column"]) in expect["column_any"]
    for word in expect.get("warn_contains", []):
        assert any(word in one["message"] for one in result["warnings"])
    for word in expect.get("contains", []):
        assert word in asked.text
    if "error_any" in expect:
        assert any(word in asked.text for word in expect["error_any"])


def test_the_parsing_suite(workspace: Workspace) -> None:
    if not SUITE.is_dir():
        pytest.skip("no suite beside the project")
    suite = Workspace(SUITE)
    for path in sorted(SUITE.glob("*.json")):
        result = suite.json("validate", file=path.name).result
        if path.name[0] in "yn":
            assert result["valid"] is (path.name[0] == "y"), path.name
        if not result["valid"]:
            assert int(result["line"]) >= 1 and int(result["column"]) >= 1, path.name
    suite.root.close()


def _validate(workspace: Workspace, text: str, **args: Any) -> Any:
    return workspace.json("validate", text=text, **args).result


def test_warnings(workspace: Workspace) -> None:
    asked = workspace.json("validate", text='{"a":1,\n "b":12345678901234567890,"a":1E400}')
    warnings = asked.result["warnings"]
    assert [w["kind"] for w in warnings] == ["duplicate key", "number", "number"]
    assert (warnings[0]["path"], warnings[0]["line"], warnings[0]["column"], warnings[0]["count"]) == ("a", "2", "27", "2")
    assert (warnings[1]["path"], warnings[1]["line"], warnings[1]["column"]) == ("b", "2", "6")
    assert "precision" in warnings[1]["message"] and "12345678901234567890" in warnings[1]["message"]
    assert "range" in warnings[2]["message"]
    assert asked.text.startswith("valid JSON\nwarning: duplicate key a: 2 times")


def test_byte_order_mark(workspace: Workspace) -> None:
    workspace.write({"a.json": b"\xef\xbb\xbf{}"})
    result = workspace.json("validate", file="a.json").result
    assert result["valid"] is True
    assert [w["kind"] for w in result["warnings"]] == ["byte order mark"]


def test_documents_are_counted(workspace: Workspace) -> None:
    workspace.write({"a.yaml": "a: 1\n---\nb: 2\n---\nc: 3\n"})
    asked = workspace.json("validate", file="a.yaml")
    assert asked.result["documents"] == "3"
    assert asked.text.startswith("valid YAML, 3 documents")


def test_a_broken_later_document_makes_the_file_invalid(workspace: Workspace) -> None:
    workspace.write({"a.yaml": "a: 1\n---\nb: [\n"})
    result = workspace.json("validate", file="a.yaml").result
    assert result["valid"] is False
    assert result["format"] == "yaml"


def test_json_lines_names_every_broken_line(workspace: Workspace) -> None:
    workspace.write({"a.jsonl": '{"a":1}\n{"a":2,}\n\n{"a":3}\n{a\n'})
    asked = workspace.json("validate", file="a.jsonl")
    result = asked.result
    assert (result["valid"], result["format"]) == (False, "jsonl")
    assert (result["line"], result["column"], result["offset"]) == ("2", "7", "14")
    assert "trailing comma" in result["cause"]
    assert result["snippet"].startswith("2 | ")
    assert [(w["kind"], w["line"]) for w in result["warnings"]] == [("invalid line", "5")]
    assert asked.reply.negative


def test_a_json_file_that_is_json_lines_is_told(workspace: Workspace) -> None:
    result = _validate(workspace, '{"a":1}\n{"a":2}\n')
    assert (result["line"], result["column"]) == ("2", "1")
    assert "JSON Lines" in result["cause"]


def test_nesting_past_the_limit_is_valid_with_a_warning(workspace: Workspace) -> None:
    result = _validate(workspace, "[" * 5000 + "]" * 5000)
    assert result["valid"] is True
    assert result["warnings"][0]["kind"] == "nesting"
    assert result["warnings"][0]["column"] == "1001"
    result = _validate(workspace, "[" * 5000 + "]" * 4999 + "}")
    assert result["valid"] is False
    assert result["column"] == "10000"


def test_a_missing_file_is_a_failed_call(workspace: Workspace) -> None:
    assert workspace.json("validate", file="no.json").error["code"] == "E_NOT_FOUND"


# JSON Schema


def _check(workspace: Workspace, text: str, schema: Any) -> list[tuple[str, str]]:
    result = _validate(workspace, text, schema=json.dumps(schema) if not isinstance(schema, str) else schema)
    assert result["valid"] is (not result["violations"])
    return [(v["path"], v["keyword"]) for v in result["violations"]]


SCHEMAS = [
    ("integer", "[1, 1.0, 1e2, 1.5]", {"items": {"type": "integer"}}, [("[3]", "type")]),
    ("big-integer", "[12345678901234567891]", {"items": {"maximum": 12345678901234567890}}, [("[0]", "maximum")]),
    ("exact-decimal", "[0.3, 0.35]", {"items": {"multipleOf": 0.1}}, [("[1]", "multipleOf")]),
    ("beyond-double", "[1E400, 1]", {"items": {"minimum": 10}}, [("[1]", "minimum")]),
    ("huge-exponent", "[1E999999999]", {"items": {"type": "number"}}, []),
    ("const", "[1.0, true]", {"items": {"const": 1}}, [("[1]", "const")]),
    ("path", '{"a.b": {"c": ["x"]}}', {"properties": {"a.b": {"properties": {"c": {"items": {"type": "null"}}}}}},
     [('["a.b"].c[0]', "type")]),
    ("required", '{"a": 1}', {"required": ["b", "c"]}, [("", "required"), ("", "required")]),
    ("draft-7", '[1, "x"]', {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
     [("[0]", "type")]),
    ("2020-12", '[1, "x"]', {"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]},
     [("[0]", "type")]),
    ("local-ref", '{"a": "x"}', {"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
     [("a", "type")]),
    ("meta-ref", '{"type": 7}', {"$ref": "https://json-schema.org/draft/2020-12/schema"}, [("type", "anyOf")]),
    ("pattern", '["ab", "cd"]', {"items": {"pattern": "^a"}}, [("[1]", "pattern")]),
    ("look-ahead", '["ab", "cd"]', {"items": {"pattern": "^(?!a)"}}, [("[0]", "pattern")]),
    ("unique", "[1, 1.0, true]", {"uniqueItems": True}, [("", "uniqueItems")]),
    ("unique-kinds", '[1, true, "1", [1], {"a": 1}]', {"uniqueItems": True}, []),
    ("false", "{}", "false", [("", "None")]),
    ("additional", '{"a":1,"b":2}', {"properties": {"a": {}}, "additionalProperties": False},
     [("", "additionalProperties")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "schema", "expected"), [c[1:] for c in SCHEMAS], ids=[c[0] for c in SCHEMAS])
def test_schema(workspace: Workspace, text: str, schema: Any, expected: list[Any]) -> None:
    assert _check(workspace, text, schema) == expected


def test_schema_of_a_file_and_of_yaml(workspace: Workspace) -> None:
    workspace.write({
        "s.yaml": "properties:\n  n: {type: integer, maximum: 31}\n  x: {type: number}\n",
        "d.yaml": "n: 0x1F\nx: .inf\n",
        "e.yaml": "a: 1\nn: 0x20\n",
    })
    assert workspace.json("validate", file="d.yaml", schema="s.yaml").result["valid"] is True
    asked = workspace.json("validate", file="e.yaml", schema="s.yaml")
    (violation,) = asked.result["violations"]
    assert (violation["path"], violation["line"], violation["keyword"]) == ("n", "2", "maximum")
    assert violation["message"] == "expected at most 31, got 32"
    assert violation["schema"] == "/properties/n/maximum"
    assert asked.reply.negative


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ('{"$ref": "https://example.com/s.json"}', "nothing is fetched"),
        ('{"$ref": "#/$defs/none"}', "leads out of the schema"),
        ('{"$ref": "file:///etc/passwd"}', "nothing is fetched"),
        ('{"type": "nothing"}', "not a JSON Schema"),
        ('{"$schema": "http://example.com/own"}', "no known dialect"),
        ('[1]', "expected a JSON Schema"),
        ('{"items": {"pattern": "("}}', "is not a 'regex'"),
        ('{"$ref": "#"}', "deeper than can be followed"),
    ],
)
def test_a_schema_that_cannot_be_used_is_an_error(workspace: Workspace, schema: str, word: str) -> None:
    error = workspace.json("validate", text='["x"]', schema=schema).error
    assert error["code"] == "E_INVALID_ARG"
    assert word in error["message"]


def test_a_broken_schema_is_told_apart_from_the_document(workspace: Workspace) -> None:
    error = workspace.json("validate", text="1", schema='{"type": }').error
    assert error["code"] == "E_PARSE"
    assert error["message"].startswith("schema: not valid JSON at line 1")


def test_violations_are_bounded_and_counted(workspace: Workspace) -> None:
    text = json.dumps(["x"] * 3000)
    asked = workspace.json("validate", text=text, schema='{"items": {"type": "integer"}}')
    assert asked.result["violations_total"] == "3000"
    assert len(asked.text.encode()) <= 24_000
    assert "3 000 violations" in asked.text


def test_deep_documents_against_recursive_schemas(workspace: Workspace) -> None:
    text = '{"n":' * 150 + '"x"' + "}" * 150
    schema = {"anyOf": [{"type": "null"}], "properties": {}}
    schema = {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"n": {"$ref": "#/$defs/t"}}, "type": "object"}}}
    assert _check(workspace, text, schema) == [(".".join(["n"] * 150), "type")]


def test_previews_are_bounded(workspace: Workspace) -> None:
    result = _validate(workspace, json.dumps({"a": "x" * 5000, "b": [1] * 5000}), schema='{"properties": {"a": {"type": "null"}, "b": {"enum": [1]}}}')
    assert all(len(v["message"]) < 300 for v in result["violations"])
