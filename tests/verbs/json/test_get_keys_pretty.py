"""Shapes, cuts and wording of get, keys and pretty."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.root import Root
from tests.engines.documents.test_lazy import reference, texts
from tests.verbs.conftest import Workspace, compact
from toolbox.dispatch import Call, run
from toolbox.output import Reply
from toolbox.registry import load
from toolbox.store import DocumentStore
from toolbox.verb import Example, Verb

EXAMPLES = [
    pytest.param(verb, example, id=f"{verb.name}: {example.about}")
    for verb in (load("json", name) for name in ("get", "keys", "pretty"))
    for example in verb.examples
]


@pytest.mark.parametrize(("verb", "example"), EXAMPLES)
def test_examples(verb: Verb[Any], example: Example, workspace: Workspace) -> None:
    workspace.write(dict(example.files))
    asked = workspace.ask("json", verb.name, example.args)
    assert asked.ok is (example.fails is None), asked.text
    assert example.shows in asked.text
    if example.fails:
        assert asked.error["code"] == example.fails


# get


def test_one_value_has_its_place(workspace: Workspace) -> None:
    workspace.write({"a.json": b'\xef\xbb\xbf{\n "p": {"price":  1.10}}'})
    result = workspace.json("get", file="a.json", path="$.p['price']").result
    assert compact(result) == '{"path":"p.price","type":"number","value":1.10,"line":2,"span":[22,26]}'
    source = (workspace.folder / "a.json").read_bytes()
    assert source[22:26] == b"1.10"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a": [1, 2.50 ], "b": {} }', '{\n"a":[1,2.50],\n"b":{}\n}'),
        ('[ {"x" : "y z"}, null ]', '[\n{"x":"y z"},\nnull\n]'),
        ("{ }", "{}"), ("[\n]", "[]"), ("-0", "-0"), ('"\\u0041é"', '"\\u0041é"'),
    ],
)  # fmt: skip
def test_a_container_prints_one_member_a_line(workspace: Workspace, text: str, shown: str) -> None:
    asked = workspace.json("get", text=text, path="")
    assert asked.text == shown
    assert compact(asked.result["value"]) == compact(reference_numbers(shown))


def reference_numbers(text: str) -> Any:
    from tests.verbs.conftest import Number

    return json.loads(text, parse_float=Number, parse_int=Number)


def test_raw_prints_strings_without_quotes(workspace: Workspace) -> None:
    text = '{"s": "a\\n\\u0041", "n": 1.0, "l": ["x", "y"]}'
    assert workspace.json("get", text=text, path="s", raw=True).text == "a\nA"
    assert workspace.json("get", text=text, path="n", raw=True).text == "1.0"
    assert workspace.json("get", text=text, path="l[*]", raw=True).text == "2 matches\nx\ny"
    asked = workspace.json("get", text='"\\ud83d!"', path="", raw=True)
    assert asked.text == "\\ud83d!"


def test_path_is_required_and_exactly_one_source(workspace: Workspace) -> None:
    assert workspace.json("get", text="1").error["code"] == "E_INVALID_ARG"
    assert workspace.json("get", path="").error["code"] == "E_INVALID_ARG"
    assert workspace.json("get", path="", text="1", file="a").error["code"] == "E_INVALID_ARG"
    assert workspace.json("keys", text="{}", pth="").error["code"] == "E_INVALID_ARG"


def test_a_cut_falls_between_elements(workspace: Workspace) -> None:
    rows = [{"i": i, "s": "é" * 20} for i in range(1_000)]
    text = json.dumps({"rows": rows}, ensure_ascii=False)
    asked = workspace.json("get", text=text, path="rows")
    result = asked.result
    shown = int(result["shown"])
    assert asked.reply.truncated
    assert 0 < shown < 1_000 == int(result["total"])
    assert [int(r["i"]) for r in result["value"]] == list(range(shown))
    assert f"showing {shown} of 1 000 elements" in asked.text
    assert f"path: rows[{shown}]" in asked.text
    assert len(asked.text.encode()) <= 24_000 and len(asked.reply.result) <= 24_000
    assert int(workspace.json("get", text=text, path=f"rows[{shown}].i").result["value"]) == shown


def test_members_that_are_too_long_are_summed_up(workspace: Workspace) -> None:
    text = json.dumps({"rows": [{"d": "y" * 30_000} for _ in range(3)]})
    asked = workspace.json("get", text=text, path="rows")
    assert asked.result["value"] == []
    assert [s["path"] for s in asked.result["summaries"]] == ["rows[0]", "rows[1]", "rows[2]"]
    assert "rows[0]  object{1}  30 009 bytes" in asked.text
    assert asked.reply.truncated and asked.reply.hint
    fanned = workspace.json("get", text=text, path="rows[*].d")
    assert int(fanned.result["count"]) == 3 and fanned.result["matches"] == []
    assert "rows[2].d  string(30000)" in fanned.text


@pytest.mark.parametrize("piece", ["x", "é", "😀", "\n", '"', "\ud83d"])
@pytest.mark.parametrize("raw", [False, True])
def test_a_long_string_is_cut_to_its_first_part(
    workspace: Workspace, piece: str, raw: bool
) -> None:
    text = json.dumps({"s": piece * 40_000}, ensure_ascii=piece == "\ud83d")
    asked = workspace.json("get", text=text, path="s", raw=raw)
    result = asked.result
    assert asked.reply.truncated
    assert result["value"] == piece * int(result["shown"])
    assert int(result["total"]) == 40_000
    assert int(result["shown"]) > 1_000
    assert len(asked.text.encode()) <= 24_000 and len(asked.reply.result) <= 24_000


def test_a_long_number_is_cut_too(workspace: Workspace) -> None:
    asked = workspace.json("get", text="[" + "1" * 50_000 + "]", path="[0]")
    assert asked.reply.truncated
    assert "a number of 50 000 characters" in asked.text
    assert len(asked.reply.result) <= 24_000


def test_a_fan_out_is_told_first(workspace: Workspace) -> None:
    text = '{"m": {"x": {"v": 1.0}, "a.b": {"v": null}, "z": {}}}'
    asked = workspace.json("get", text=text, path="m.*.v")
    assert asked.text == '2 matches, 1 without it\nx  1.0\n["a.b"]  null'
    assert compact(asked.result) == (
        '{"count":2,"missing":1,"matches":[{"path":"m.x.v","value":1.0},'
        '{"path":"m[\\"a.b\\"].v","value":null}]}'
    )
    empty = workspace.json("get", text="[]", path="[*]")
    assert empty.text == "0 matches" and int(empty.result["count"]) == 0


def test_yaml_numbers_that_json_cannot_spell(workspace: Workspace) -> None:
    workspace.write({"a.yaml": "n: 0x1F\nl: [.inf, 1.10, +1]\n"})
    one = workspace.json("get", file="a.yaml", path="n")
    assert one.text.splitlines()[0] == "0x1F"
    assert (one.result["type"], one.result["value"], one.result["spelling"]) == ("number", "0x1F", ["n"])
    many = workspace.json("get", file="a.yaml", path="l")
    assert many.result["spelling"] == ["l[0]", "l[2]"]
    assert compact(many.result["value"]) == '[".inf",1.10,"+1"]'
    fanned = workspace.json("get", file="a.yaml", path="l[*]")
    assert fanned.text.startswith("3 matches\n[0]  .inf\n[1]  1.10\n[2]  +1")
    assert workspace.json("keys", file="a.yaml").text.startswith("n  number\nl  array[3]")


def test_yaml_documents_are_chosen(workspace: Workspace) -> None:
    workspace.write({"a.yaml": "a: 1\n---\na: 2\n"})
    first = workspace.json("get", file="a.yaml", path="a")
    assert first.text.startswith("1\n") and "1 of 2" in first.text
    assert workspace.json("get", file="a.yaml", path="a", doc=2).text.splitlines()[0] == "2"
    assert compact(workspace.json("get", file="a.yaml", path="[*].a", doc="*").result["count"]) == "2"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", "a: 1\n", "not valid JSON"),
        ("a.yaml", "{{ .Values.x }}\n", "template"),
        ("a.yaml", '{"a": 1', "not valid JSON"),
        ("a.txt", '{"a": 1}\n{"a": 2}\n', "JSON Lines"),
        ("a.txt", "just some prose\n", "neither JSON nor a YAML mapping"),
        ("a.json", '{"a": 1, // c\n}', "comment"),
        ("a.json", "{'a': 1}", "single quotes"),
        ("a.json", "", "empty"),
    ],
)
def test_what_is_no_document_is_named(
    workspace: Workspace, name: str, content: str, says: str
) -> None:
    workspace.write({name: content})
    asked = workspace.json("get", file=name, path="a")
    assert asked.error["code"] == "E_PARSE"
    assert says in asked.text
    assert int(asked.error["at"]["line"]) >= 1


def test_text_is_yaml_where_it_is_a_mapping_or_list(workspace: Workspace) -> None:
    assert workspace.json("get", text="a: 1.10\n", path="a").text == "1.10"
    assert workspace.json("get", text="- x\n- y\n", path="[-1]").text == '"y"'


def test_the_second_call_is_answered_from_memory(workspace: Workspace) -> None:
    asked = [workspace.json("get", text='{"a": 1}', path="a") for _ in range(2)]
    assert [a.reply.cached for a in asked] == [False, True]
    assert asked[0].reply.result == asked[1].reply.result


# keys


def test_keys_quotes_odd_names(workspace: Workspace) -> None:
    text = '{"a b": 1, "": null, "x\\n": true, "plain": "é😀", "0": [], "d.t": {}}'
    asked = workspace.json("keys", text=text)
    assert asked.text == (
        '"a b"  number\n""  null\n"x\\n"  boolean\nplain  string(2)\n"0"  array[0]\n"d.t"  object{0}'
    )
    assert [k["key"] for k in asked.result["keys"]] == ["a b", "", "x\n", "plain", "0", "d.t"]


def test_keys_of_an_array(workspace: Workspace) -> None:
    text = json.dumps([{"a": 1}, 2, "x"] * 100)
    result = workspace.json("keys", text=text).result
    assert compact(result["types"]) == '{"object":100,"number":100,"string":100}'
    assert (result["type"], int(result["total"]), len(result["keys"])) == ("array[300]", 300, 20)
    assert result["keys"][2] == {"key": "[2]", "type": "string(1)"}
    assert not workspace.json("keys", text="[]").reply.truncated


def test_many_keys_are_cut_with_the_count(workspace: Workspace) -> None:
    text = json.dumps({f"key number {i}": i for i in range(3_000)})
    asked = workspace.json("keys", text=text)
    assert int(asked.result["total"]) == 3_000
    assert len(asked.result["keys"]) < 3_000
    assert "of 3 000 keys" in asked.text and asked.reply.truncated
    assert len(workspace.json("keys", text=text, cap_bytes=0).result["keys"]) == 3_000


# pretty


def test_pretty_changes_whitespace_alone(workspace: Workspace) -> None:
    text = '{"b":1.10,"a":[1E400,-0,{}],"b":"\\u0041\\ud83d"}'
    shown = workspace.json("pretty", text=text).text
    assert shown == (
        '{\n  "b": 1.10,\n  "a": [\n    1E400,\n    -0,\n    {}\n  ],\n  "b": "\\u0041\\ud83d"\n}'
    )
    assert workspace.json("pretty", text=shown, compact=True).text == text
    assert workspace.json("pretty", text=text, path="a", indent=1).text == "[\n 1E400,\n -0,\n {}\n]"


def test_pretty_of_a_large_document_is_the_native_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    from toolbox.engines.documents import pretty

    monkeypatch.setattr(pretty, "PIECE_BYTES", 40)
    made = random.Random(3)

    def value(level: int) -> Any:
        if level == 0 or made.random() < 0.2:
            return made.choice([1, "x" * 50, None, [], {}, True])
        if made.random() < 0.5:
            return [value(level - 1) for _ in range(made.randrange(5))]
        return {f"k{i}": value(level - 1) for i in range(made.randrange(5))}

    for _ in range(30):
        text = json.dumps(value(6)).encode()
        shown = workspace.json("pretty", text=text.decode(), cap_bytes=0).text
        assert shown.encode() == msgspec.json.format(text, indent=2)
    twice = '{"k": [1, 2, 3, 4, 5, 6, 7, 8, 9], "k": {"z": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}}'
    assert workspace.json("pretty", text=twice, cap_bytes=0).text.count('"k": ') == 2


def test_pretty_is_cut_at_a_line(workspace: Workspace) -> None:
    text = json.dumps([{"i": i} for i in range(50_000)])
    for more in ({}, {"compact": True}):
        whole = workspace.json("pretty", text=text, cap_bytes=0, **more).text
        asked = workspace.json("pretty", text=text, **more)
        assert asked.reply.truncated
        assert len(asked.text.encode()) <= 24_000 and len(asked.reply.result) <= 24_000
        kept = asked.result["text"]
        assert len(kept) > 8_000
        assert whole.startswith(kept + "\n" if not more else kept)
        assert not more or kept.endswith(",")
        assert "of a value of" in asked.text


def test_deep_nesting_does_not_blow_up(workspace: Workspace) -> None:
    text = "[" + ",".join(["[" * 900 + "]" * 900] * 100) + "]"
    asked = workspace.json("pretty", text=text)
    assert asked.reply.truncated and len(asked.text.encode()) <= 24_000
    refused = workspace.json("pretty", text="[" + ",".join(["[" * 900 + "]" * 900] * 400) + "]", cap_bytes=0)
    assert refused.error["code"] == "E_TOO_LARGE"


# Properties


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    documents = DocumentStore(Root.open(tmp_path_factory.mktemp("alone")))

    def ask(cmd: str, cap_bytes: int | None, args: dict[str, Any]) -> Reply:
        return run(Call("json", cmd, json.dumps(args).encode(), cap_bytes), documents.root, documents)

    return ask


@given(text=texts())
@settings(max_examples=100, deadline=None)
def test_pretty_twice_is_pretty_once(alone: Any, text: str) -> None:
    for more in ({}, {"compact": True}, {"indent": 5}):
        once = alone("pretty", 0, {"text": text, **more}).text
        assert alone("pretty", 0, {"text": once, **more}).text == once
        assert reference(once) == reference(text)


@given(text=texts(), cap=st.integers(200, 700), path=st.sampled_from(["", "*", "*.*", "[0]", "a"]))
@settings(max_examples=200, deadline=None)
def test_output_is_never_over_its_cap(alone: Any, text: str, cap: int, path: str) -> None:
    big = "[" + ",".join([text] * 20) + "]"
    for cmd in ("get", "keys", "pretty"):
        reply = alone(cmd, None, {"text": big, "path": path, "max_bytes": cap})
        if not reply.ok:
            continue
        assert len(reply.text.encode()) <= cap
        json.loads(reply.result)
        assert len(reply.result) <= cap


def test_shared_folder_is_not_written(corpus: Workspace) -> None:
    assert not (Path(corpus.folder) / ".toolbox").exists()


def test_a_key_as_long_as_a_document(workspace: Workspace) -> None:
    text = json.dumps({"k" * 100_000: {"k" * 90_000: [1]}})
    for cmd in ("get", "keys", "pretty"):
        for path in ("", "*", "kk", "k" * 100_000, "k" * 100_000 + ".x"):
            asked = workspace.json(cmd, text=text, path=path)
            assert len(asked.text.encode()) <= 24_000
            if asked.ok:
                assert len(asked.reply.result) <= 24_000
            else:
                assert len(asked.reply.error) <= 24_000
