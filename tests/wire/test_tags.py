"""Tagged calls: what is one, what is not, and that the pieces of a stream do not matter."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.messages import GOOD, TOOLS, brief, by_bytes, is_write, parse
from toolbox.errors import BadCall, TooLarge, UnknownTool
from toolbox.wire.explain import explain, explain_lines
from toolbox.wire.tags import Bad, Call, Skipped, TagParser

CASES = [
    json.loads(line)
    for line in (pathlib.Path(__file__).parents[1] / "cases" / "tags.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
CALL = ("call", "{}")


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case(case: dict[str, Any]) -> None:
    found = [
        [e["kind"], e["name"], e["args"]] if e["kind"] == "call" else [e["kind"], e["reason"]]
        for e in explain(case["message"], TOOLS, is_write)
    ]
    assert found == case["expect"]


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case_byte_by_byte(case: dict[str, Any]) -> None:
    assert parse(by_bytes(case["message"])) == parse([case["message"]])


def tag(args: str, quote: str = "'", name: str = "@json") -> str:
    return f'<tool_call name="{name}" args={quote}{args}{quote} />'


EMBEDDED = GOOD.replace('"', '\\"')  # a tag inside a JSON string

MESSAGES: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    # the value, JSON first
    "apostrophe in single quotes": (tag('{"cmd":"get","args":{"a":"it\'s"}}'), [("call", '{"a":"it\'s"}')]),
    "the quote escaped within JSON": (tag('{"cmd":"get","args":{"a":"it\\\'s \\"q\\""}}'), [("call", '{"a":"it\'s \\"q\\""}')]),
    "real newlines and tabs in a string": (tag('{"cmd":"get","args":{"a":"x\n\ty"}}'), [("call", '{"a":"x\\u000a\\u0009y"}')]),
    "a tag in a string": (tag('{"cmd":"get","args":{"a":"' + EMBEDDED + '"}}') + GOOD, [("call", '{"a":"' + EMBEDDED + '"}'), CALL]),
    "a fence in a string": (tag('{"cmd":"get","args":{"a":"\n```\n"}}') + GOOD, [("call", '{"a":"\\u000a```\\u000a"}'), CALL]),
    "thinking in a string": (tag('{"cmd":"get","args":{"a":"<think>"}}') + GOOD, [("call", '{"a":"<think>"}'), CALL]),
    "white space around the object": (tag(' \n{"cmd":"keys"} '), [CALL]),
    "unquoted object": ('<tool_call name=@json args={"cmd":"keys"}/>', [CALL]),
    "numeric references": (tag("{&#34;cmd&#x22;:&#34;get&#34;,&#34;args&#34;:{&#34;n&#34;:1.10}}", '"'), [("call", '{"n":1.10}')]),
    "references decoded once": (tag("{&quot;cmd&quot;:&quot;get&quot;,&quot;args&quot;:{&quot;a&quot;:&quot;&amp;lt;&quot;}}", '"'), [("call", '{"a":"&lt;"}')]),
    "an object encoded twice": (tag('"{\\"cmd\\":\\"keys\\"}"'), [CALL]),
    "numbers as spelled": (tag('{"cmd":"get","args":{"n":[1E400,-0,1.10,' + "7" * 5000 + "]}}"), [("call", '{"n":[1E400,-0,1.10,' + "7" * 5000 + "]}")]),
    "lone surrogate escapes": (tag('{"cmd":"get","args":{"a":"\\ud800"}}'), [("call", '{"a": "\\ud800"}')]),
    "flat arguments": (tag('{"cmd":"get","file":"a.json","path":"x"}'), [("call", '{"file":"a.json","path":"x"}')]),
    "arguments as the attribute's name": ('<tool_call name="@json" arguments=\'{"cmd":"keys"}\'/>', [CALL]),
    # Python literals
    "python literal on a read verb": (tag("{'cmd':'get','args':{'a':None,'b':True}}", '"'), [("call", '{"a": null, "b": true}')]),
    "python literal in its own quotes": (tag("{'cmd':'keys'}"), [CALL]),
    "python literal, apostrophe in it": (tag("""{'cmd':'get','args':{'a':"it's"}}""", '"'), [("call", '{"a": "it\'s"}')]),
    "python literal on a write verb": (tag("{'cmd':'apply','args':{'patch':'x'}}", '"', "@diff"), [("bad", "bad_json")]),
    "python literal on undo": (tag("{'cmd':'undo','args':{'id':'x'}}", '"', "@diff"), [("bad", "bad_json")]),
    "python literal with a key twice": (tag("{'cmd':'get','cmd':'keys'}", '"'), [("bad", "duplicate_key")]),
    "python that is no literal": (tag("{'cmd': print('x')}", '"'), [("bad", "bad_json")]),
    "a trailing comma is no Python": (tag('{"cmd":"get",}') + GOOD, [("bad", "bad_json"), CALL]),
    # bodies
    "body without name": ("<tool_call>\n{\"cmd\":\"keys\"}\n</tool_call>" + GOOD, [("bad", "missing_name"), CALL]),
    "body, arguments as a string": ('<tool_call>{"name":"json","arguments":"{\\"cmd\\":\\"get\\",\\"args\\":{\\"n\\":1.10}}"}</tool_call>', [("call", '{"n":1.10}')]),
    "body, flat beside its name": ('<tool_call>{"name":"@json","cmd":"get","args":{"a":1}}</tool_call>', [("call", '{"a":1}')]),
    "body, closing tag in a string": ('<tool_call name="@json">{"cmd":"get","args":{"a":"</tool_call>"}}</tool_call>' + GOOD, [("call", '{"a":"</tool_call>"}'), CALL]),
    "body of references": ('<tool_call name="@json">{&quot;cmd&quot;:&quot;keys&quot;}</tool_call>' + GOOD, [CALL, CALL]),
    "body is prose": ('<tool_call name="@json"> does it. ' + GOOD, [("bad", "bad_json"), CALL]),
    "body is an array": ('<tool_call name="@json">[1]</tool_call>' + GOOD, [("bad", "args_not_object"), CALL]),
    "body and args": (tag('{"cmd":"keys"}')[:-3] + '>{"cmd":"get"}</tool_call>' + GOOD, [("bad", "duplicate_attribute"), CALL]),
    "body without its closing tag": ('<tool_call>{"name":"@json","arguments":{"cmd":"keys"}}\n' + GOOD, [("bad", "no_tag_end"), CALL]),
    "body names another tool": ('<tool_call name="@json">{"name":"@diff","arguments":{}}</tool_call>', [("bad", "name_conflict")]),
    # broken tags, and their neighbours
    "key twice": (tag('{"cmd":"get","args":{"a":1,"a":2}}') + GOOD, [("bad", "duplicate_key"), CALL]),
    "attribute twice": ('<tool_call name="@json" name="@diff" args=\'{}\'/>' + GOOD, [("bad", "duplicate_attribute"), CALL]),
    "args and arguments": ('<tool_call name="@json" args=\'{}\' arguments=\'{}\'/>' + GOOD, [("bad", "duplicate_attribute"), CALL]),
    "args of a string": (tag('"get"') + GOOD, [("bad", "bad_json"), CALL]),
    "empty args": (tag("") + GOOD, [("bad", "args_not_object"), CALL]),
    "inner args no object": (tag('{"cmd":"get","args":[1]}') + GOOD, [("bad", "args_not_object"), CALL]),
    "cmd no string": (tag('{"cmd":1}') + GOOD, [("bad", "bad_cmd"), CALL]),
    "members beside args": (tag('{"cmd":"get","args":{},"path":"x"}') + GOOD, [("bad", "stray_members"), CALL]),
    "a brace missing": (tag('{"cmd":"get"') + GOOD, [("bad", "bad_json"), CALL]),
    "a brace too many": (tag('{"cmd":"get"}}') + GOOD, [("bad", "bad_json"), CALL]),
    "a bracket that does not match": (tag('{"cmd":[1}') + GOOD, [("bad", "bad_json"), CALL]),
    "an unquoted value": (tag('{"cmd": get"}') + "\n" + GOOD, [("bad", "bad_json"), CALL]),
    "a string not closed": (tag('{"cmd":"get}') + "\n" + GOOD, [("bad", "bad_json"), CALL]),
    "an unquoted key": (tag('{cmd:"get"}') + GOOD, [("bad", "bad_json"), CALL]),
    "NaN": (tag('{"cmd":"get","args":{"a":NaN}}') + GOOD, [("bad", "bad_json"), CALL]),
    "a bad escape": (tag('{"cmd":"get","args":{"a":"C:\\d"}}') + GOOD, [("bad", "bad_json"), CALL]),
    "two objects": (tag('{"cmd":"get"}{"cmd":"keys"}') + GOOD, [("bad", "bad_json"), CALL]),
    "closing quote missing": ('<tool_call name="@json" args=\'{"cmd":"get"} />\n' + GOOD, [("bad", "bad_quotes"), CALL]),
    "closing quote missing, escaped": ('<tool_call name="@json" args="{\\"cmd\\":\\"get\\"} />\n' + GOOD, [("bad", "bad_json"), CALL]),
    "quote of the name missing": ('<tool_call name="@json args=\'{"cmd":"get"}\'/>\n' + GOOD, [("bad", "bad_attribute"), CALL]),
    "whole tag escaped": ('<tool_call name=\\"@json\\" args=\\"{\\"cmd\\":1}\\"/>' + GOOD, [("bad", "bad_quotes"), CALL]),
    "typographic quotes in JSON": (tag("{“cmd”:“get”}") + GOOD, [("bad", "bad_quotes"), CALL]),
    "typographic quotes, tag in them": ("<tool_call name=“@json” args=‘{\"a\":\"’/>\"}’/>" + GOOD, [("bad", "bad_quotes"), CALL]),
    "tag end missing, text follows": (tag('{"cmd":"get"}')[:-2] + "and then\n" + GOOD, [("bad", "bad_attribute"), CALL]),
    "tag end missing, a tag follows": (tag('{"cmd":"get"}')[:-2] + GOOD, [("bad", "no_tag_end"), CALL]),
    "embedded tag in a broken call does not run": (tag('{cmd:"apply","patch":"' + (EMBEDDED + EMBEDDED).replace("'", "\\u0027") + '"}', "'", "@diff") + GOOD, [("bad", "bad_json"), CALL]),
    "no name": ("<tool_call args='{\"cmd\":\"get\"}'/>" + GOOD, [("bad", "missing_name"), CALL]),
    "unknown tool before bad JSON": (tag("{", "'", "@nothing") + GOOD, [("bad", "unknown_tool"), CALL]),
    # the end of the message
    "tag end missing, read verb": (tag('{"cmd":"keys"}')[:-3], [CALL]),
    "quote missing too, read verb": (tag('{"cmd":"keys"}')[:-4], [CALL]),
    "slash, read verb": (tag('{"cmd":"keys"}')[:-1], [CALL]),
    "tag end missing, write verb": (tag('{"cmd":"undo","args":{"id":"x"}}', "'", "@diff")[:-3], [("bad", "truncated")]),
    "body end missing, read verb": ('<tool_call>{"name":"@json","arguments":{"cmd":"keys"}}', [CALL]),
    "body end half there": ('<tool_call name="@json">{"cmd":"keys"}</tool_', [CALL]),
    "body end missing, write verb": ('<tool_call>{"name":"@diff","arguments":{"cmd":"apply","patch":""}}', [("bad", "truncated")]),
    "cut in the name": ('<tool_call name="@js', [("bad", "truncated")]),
    "cut before args": ('<tool_call name="@json" ', [("bad", "truncated")]),
    "cut in a body": ('<tool_call name="@json">{"cmd":"ke', [("bad", "truncated")]),
    "cut after the opening tag": ('<tool_call name="@json">', [("bad", "truncated")]),
    "cut inside a string with a tag in it": ('<tool_call name="@diff" args=\'{"cmd":"apply","args":{"patch":"' + EMBEDDED, [("bad", "truncated")]),
    "a mention cut": ("see <tool_call", []),
    # prose
    "empty mention": ("<tool_call/> <tool_call></tool_call> <tool_call …> " + GOOD, [CALL]),
    "after a backslash": ("\\" + GOOD, [CALL]),
    "mention in code, half a tag": ("Use `<tool_call name=` and `args='{`: it's\n" + GOOD, [CALL]),
    "mention in code, quotes open": ("Pass `<tool_call name=\"@json\" args='` then it's " + GOOD, [CALL]),
    # inline code
    "unpaired backtick": ("a ` b " + GOOD, [CALL]),
    "unpaired backtick, another paragraph": ("a ` b\n\n" + GOOD + "\nc ` d", [CALL]),
    "unpaired backtick, blank line with spaces": ("a ` b\r\n \t\r\n" + GOOD + " ` d", [CALL]),
    "unpaired backtick, another list item": ("- a ` b\n" + GOOD + "\n- c ` d", [CALL]),
    "unpaired backtick, then a heading": ("a ` b\n" + GOOD + "\n# c ` d", [CALL]),
    "unpaired backtick, then a fence": ("a ` b\n" + GOOD + "\n```\n`\n```", [CALL]),
    "backtick inside the tag does not pair": ("a ` b " + tag('{"cmd":"get","args":{"a":"`"}}'), [("call", '{"a":"`"}')]),
    "paired over lines": ("a ` b\n" + GOOD + "\nc ` d", [("skipped", "code")]),
    "two backticks": ("``x " + GOOD + " ``", [("skipped", "code")]),
    "two backticks, one inside": ("`` ` " + GOOD + " ``" + GOOD, [("skipped", "code"), CALL]),
    "runs of other lengths pair": ("`` a ` " + GOOD + " ` b", [("skipped", "code")]),
    "runs of other lengths do not pair": ("`` a ` " + GOOD + " ``` b", [CALL]),
    "escaped backtick opens nothing": ("\\` " + GOOD + " `", [CALL]),
    "escaped backtick closes": ("` " + GOOD + " \\`", [("skipped", "code")]),
    "bad tag in code": ("`" + tag('{"cmd":}') + "`", [("skipped", "code")]),
    # fences
    "tildes": ("~~~\n" + GOOD + "\n```\n~~~\n" + GOOD, [("skipped", "code"), CALL]),
    "longer closer": ("```\n" + GOOD + "\n`````\n" + GOOD, [("skipped", "code"), CALL]),
    "shorter is no closer": ("````\n" + GOOD + "\n```\n" + GOOD + "\n````\n" + GOOD, [("skipped", "code"), ("skipped", "code"), CALL]),
    "closer with text is none": ("```\n``` x\n" + GOOD + "\n```\n" + GOOD, [("skipped", "code"), CALL]),
    "indented": ("  ```xml\n  " + GOOD + "\n  ```  \n" + GOOD, [("skipped", "code"), CALL]),
    "in a list": ("- ```\n  " + GOOD + "\n  ```\n" + GOOD, [("skipped", "code"), CALL]),
    "in a numbered list": ("1. ```\n   " + GOOD + "\n   ```\n" + GOOD, [("skipped", "code"), CALL]),
    "in a quote, which ends it": ("> ```\n> " + GOOD + "\n\n" + GOOD, [("skipped", "code"), CALL]),
    "begins within a line": ("Here: ```xml\n" + GOOD + "\n```\n" + GOOD, [("skipped", "code"), CALL]),
    "on one line": ("```" + GOOD + "```" + GOOD, [("skipped", "code"), CALL]),
    "not closed": ("```\n" + GOOD + "\n\n" + GOOD, [("skipped", "code"), ("skipped", "code")]),
    "CRLF": ("```xml\r\n" + GOOD + "\r\n```\r\n" + GOOD, [("skipped", "code"), CALL]),
    "two backticks at a line's start are no fence": ("``\n" + GOOD + "\n", [CALL]),
    "a mention in a fence is not told": ("```\n<tool_call> a\n```", []),
    # regions
    "thinking": ("<thinking>" + GOOD + "</thinking>" + GOOD, [("skipped", "thinking"), CALL]),
    "thinking, any case": ("<THINK>" + GOOD + "</Think >" + GOOD, [("skipped", "thinking"), CALL]),
    "thinking with a backtick": ("<think>a ` b " + GOOD + "</think>" + GOOD + "`", [("skipped", "thinking"), CALL]),
    "thinking not closed": ("<think>" + GOOD, [("skipped", "thinking")]),
    "thinking closed within a call's string": ("<think>" + tag('{"cmd":"get","args":{"a":"</think>"}}') + GOOD, [("skipped", "thinking"), CALL]),
    "thinking named in code": ("the `<think>` tag\n" + GOOD, [CALL]),
    "thinking named in code with its end": ("`<think>…</think>` is " + GOOD, [CALL]),
    "thinkers": ("<thinker>" + GOOD, [CALL]),
    "a fence in thinking": ("<think>\n```\n</think>" + GOOD, [CALL]),
    "comment not closed": ("<!-- " + GOOD, [("skipped", "comment")]),
    "shortest comments": ("<!--><!--->" + GOOD, [CALL]),
    "comment named in code": ("`<!--` begins one\n" + GOOD, [CALL]),
    "echo": ('<tool_result name="@json" status="ok">\n' + GOOD + "\n</tool_result>" + GOOD, [("skipped", "echo"), CALL]),
    "echo of a note": ("<tool_note>" + GOOD + "</tool_note>" + GOOD, [("skipped", "echo"), CALL]),
    "empty echo": ("<tool_result/>" + GOOD, [CALL]),
    "echo not closed": ("<tool_result x='1'>" + GOOD, [("skipped", "echo")]),
    "a tag in a string of a skipped one": ("<think>" + tag('{"cmd":"get","args":{"a":"' + EMBEDDED + '"}}') + "</think>", [("skipped", "thinking")]),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name: str) -> None:
    message, expected = MESSAGES[name]
    assert brief(parse([message])) == expected


@pytest.mark.parametrize("name", MESSAGES)
def test_message_byte_by_byte(name: str) -> None:
    message, _ = MESSAGES[name]
    assert parse(by_bytes(message)) == parse([message])


PARTS = st.sampled_from(
    [
        *(message for message, _ in MESSAGES.values() if len(message) < 400),
        *(case["message"] for case in CASES),
        "`", "``", "```", "~~~", "\n", "\n\n", "\r\n", "- ", "> ", "# ", "\\", "'", '"', " ",
        "<", "<think>", "</think>", "<!--", "-->", "<tool_result>", "</tool_result>", "é", "”",
        "<tool_call", "<tool_call name=@json args=", "'{", "\"{", '{"cmd":"get"', "}'", "/>", ">",
        '<tool_call name="@diff" args=\'{"cmd":"undo","args":{"id":"x","dry_run":false}}\'/>',
    ]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(PARTS, max_size=12).map("".join), st.data())
def test_splits_do_not_matter(message: str, data: st.DataObject) -> None:
    raw = message.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=12)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    whole = parse([message])
    assert parse(pieces) == whole
    assert [i.index for i in whole if not isinstance(i, Skipped)] == list(
        range(sum(not isinstance(i, Skipped) for i in whole))
    )


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(), st.lists(PARTS | st.text(max_size=5), max_size=10).map("".join)))
def test_any_text_is_read(message: str) -> None:
    for item in parse([message]):
        if isinstance(item, Call):
            value = json.loads(item.args_json)
            assert isinstance(value, dict)
            assert item.name.removeprefix("@") in TOOLS
        elif isinstance(item, Bad):
            assert item.error().hint


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    parse([data])
    parse([b'<tool_call name="@json" args=\'{"cmd":"' + data])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.text(), JSON, max_size=4),
    st.sampled_from(["'", '"', "body", "hermes", "string", "escaped", "references"]),
    st.booleans(),
)
def test_a_written_call_is_read_back(args: dict[str, Any], form: str, ascii_only: bool) -> None:
    value = {"cmd": "get", "args": args}
    text = json.dumps(value, ensure_ascii=ascii_only)
    if form in "'\"":
        message = f"<tool_call name='@json' args={form}{text}{form} />"
    elif form == "body":
        message = f"<tool_call name='@json'>{text}</tool_call>"
    elif form == "hermes":
        message = f'<tool_call>{{"name":"@json","arguments":{text}}}</tool_call>'
    elif form == "string":
        message = f'<tool_call>{{"name":"@json","arguments":{json.dumps(text)}}}</tool_call>'
    elif form == "escaped":
        message = f'<tool_call name="@json" args="{json.dumps(text, ensure_ascii=False)[1:-1]}"/>'
    else:
        coded = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        message = f'<tool_call name="@json" args="{coded}"/>'
    items = parse([message + GOOD])
    assert len(items) == 2
    call = items[0]
    assert isinstance(call, Call)
    assert json.loads(call.args_json) == args
    assert call.args == value
    assert brief(items[1:]) == [CALL]


@settings(max_examples=100, deadline=None)
@given(JSON.map(json.dumps), st.data())
def test_a_cut_write_never_runs(patch: str, data: st.DataObject) -> None:
    text = json.dumps({"cmd": "apply", "args": {"patch": patch, "dry_run": False}})
    message = f"<tool_call name='@diff' args='{text}'/>"
    cut = data.draw(st.integers(0, len(message) - 1))
    assert not any(isinstance(item, Call) for item in parse([message[:cut]]))


# -- what a call and a refusal carry ---------------------------------------------------------------


def test_a_call_comes_with_its_last_byte() -> None:
    parser = TagParser(TOOLS, is_write)
    data = f"text {GOOD} more".encode()
    end = data.index(b"/>") + 2
    for k in range(end - 1):
        assert parser.feed(data[k : k + 1]) == []
    (call,) = parser.feed(data[end - 1 : end])
    assert isinstance(call, Call) and call.cmd == "keys"


def test_ids_come_back() -> None:
    (a, b) = parse(
        [
            "<tool_call id='&lt;1&gt;' name='@json' args='{\"cmd\":\"keys\"}'/>"
            '<tool_call>{"id": 7, "name": "@json", "arguments": {"cmd": "keys"}}</tool_call>'
        ]
    )
    assert isinstance(a, Call) and isinstance(b, Call)
    assert (a.id, b.id, a.index, b.index) == ("<1>", "7", 0, 1)


def test_the_nearest_tool_is_named() -> None:
    (bad,) = parse(["<tool_call id='9' name='@jsn' args='{}'/>"])
    assert isinstance(bad, Bad) and bad.id == "9" and bad.code == "E_UNKNOWN_TOOL"
    error = bad.error()
    assert isinstance(error, UnknownTool) and "@json" in (error.hint or "")


def test_a_refusal_shows_the_place_and_the_right_form() -> None:
    (bad,) = parse([tag('{"cmd":"get",}')])
    assert isinstance(bad, Bad)
    error = bad.error()
    assert isinstance(error, BadCall) and error.at == {"reason": "bad_json"}
    # From Python 3.13 on the comma is named, before that the bracket after it.
    assert re.search("character 1[34]", error.message) and "<tool_call name=" in (error.hint or "")
    assert (bad.name, bad.code) == ("@json", "E_BAD_CALL")


@pytest.mark.parametrize("name", ["python literal on a read verb", "tag end missing, read verb"])
def test_an_unusual_reading_is_noted(name: str) -> None:
    (call,) = parse([MESSAGES[name][0]])
    assert isinstance(call, Call) and len(call.notes) == 1


def test_unknown_attributes_are_noted() -> None:
    (call,) = parse(["<tool_call name='@json' type='function' args='{\"cmd\":\"keys\"}'/>"])
    assert isinstance(call, Call) and "type" in call.notes[0]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_the_message_limit(over: int) -> None:
    message = GOOD + "x" * 100
    items = parse([message[: len(GOOD)], message[len(GOOD) :]], len(message) - over)
    if over <= 0:
        assert brief(items) == [CALL]
    else:
        assert brief(items) == [CALL, ("bad", "too_large")]
        bad = items[1]
        assert isinstance(bad, Bad) and isinstance(bad.error(), TooLarge)


def test_nothing_is_taken_after_the_end() -> None:
    parser = TagParser(TOOLS, is_write)
    assert parser.finish() == []
    assert parser.feed(GOOD) == [] and parser.finish() == []


def test_nesting_has_no_depth_that_breaks() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert brief(parse([tag('{"cmd":"get","args":{"a":' + deep + "}}") + GOOD])) == [
        ("bad", "bad_json"),
        CALL,
    ]
    assert brief(parse([tag('{"cmd":"get","args":{"a":' + "[" * 100_000)])) == [
        ("bad", "truncated")
    ]


def test_explained_numbers_are_as_spelled() -> None:
    (line,) = explain_lines(
        tag('{"cmd":"get","args":{"n":[1.10,1E400,' + "9" * 5000 + "]}}"), TOOLS, is_write
    )
    assert "1.10" in line and "1E400" in line and "9" * 5000 in line
    assert json.loads(line, parse_int=str)["name"] == "@json"


# Messages on which looking again would cost the square of their length: with a megabyte each, a
# parser that does so does not end within the test's own limit.
HOSTILE = {
    "open arguments": """<tool_call name="@json" args='{\"""",
    "escaped arguments": """<tool_call name="@json" args="{\\\"""",
    "nested quotes": """<tool_call name=@json args='{\\"<tool_call name=@json args="{""",
    "code and open arguments": """`<tool_call name="@json" args='{"`""",
    "openers": "<tool_call ",
    "thinking in code": "` a <think>` ",
    "fences": "```a\n",
    "odd runs": "` `` ``` ",
    "curly": "<tool_call name=“a",
    "bodies": '<tool_call>{"a":"',
    "comments": "<!-",
    "strings": '<tool_call name=@json args=\'{"a":"b\' ',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_work_is_linear(name: str) -> None:
    message = (HOSTILE[name] * (1 << 20))[: 1 << 20].encode()
    pieces = [message[k : k + (1 << 12)] for k in range(0, len(message), 1 << 12)]
    for item in parse(pieces):
        assert not isinstance(item, Call)
