"""One line of the JSON Lines framing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbox.wire.jsonl import Bad, Direct, Message, decode

GET = b'{"cmd":"get","args":{"file":"a.json"}}'


@pytest.mark.parametrize(
    "line, expected",
    [
        (b'{"id":1,"name":"@json","args":%b}\n' % GET, Direct(b"1", "@json", "get", b'{"file":"a.json"}')),
        (b'{"name":"json","args":%b}' % GET, Direct(None, "json", "get", b'{"file":"a.json"}')),
        (b'{"id":1.10,"name":"@json","args":{"cmd":"get","n":1.10,"m":[1E400]}}', Direct(b"1.10", "@json", "get", b'{"n":1.10,"m":[1E400]}')),
        (b' { "id" : "a:b" , "name" : "@json" , "args" : { "cmd" : "get" , "args" : { "a" : 1.0 } } } ', Direct(b'"a:b"', "@json", "get", b'{ "a" : 1.0 }')),
        (b'{"id":null,"name":"@json","args":{"cmd":"keys"}}', Direct(b"null", "@json", "keys", b"{}")),
        (b'{"id":false,"name":"@json"}', Direct(b"false", "@json", "", b"{}")),
        (b'{"id":"\\u0041","message":"x"}', Message(b'"\\u0041"', "x")),
        (b'{"message":"a\\nb"}', Message(None, "a\nb")),
        (b'{"id":1,"name":"@nothing","args":{"args":{}}}', Direct(b"1", "@nothing", "", b"{}")),
        (b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"a":"x:y","b":{"c":1}}}}', Direct(b"1", "@json", "get", b'{"a":"x:y","b":{"c":1}}')),
    ],
)  # fmt: skip
def test_lines(line: bytes, expected: Direct | Message) -> None:
    assert decode(line) == expected


@pytest.mark.parametrize(
    "line, ident, op, says",
    [
        (b'{"id":1,"message":"x"', None, "message", "character 22"),
        (b'{"id":1,"message":"x"} y', None, "message", "more after its end"),
        (b'{"id":1,"message":"a\tb"}', None, "message", "control character"),
        (b'{"id":1,"message":"x","message":"y"}', b"1", "message", "'message' stands twice"),
        (b'{"id":1,"id":1,"name":"@json","args":%b}' % GET, b"1", "message", "'id' stands twice"),
        (b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"a":1,"a":2}}}', b"1", "message", "'a' stands twice"),
        (b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"a":{"b":1,"b":2}}}}', b"1", "message", "'b' stands twice"),
        (b'{"id":1,"name":"@json","args":{"cmd":"get","cmd":"get","args":{}}}', b"1", "message", "'cmd' stands twice"),
        (b'{"id":1,"name":"@json","args":{"cmd":"get","args":{},"x":1}}', b"1", "json", "'x' beside cmd and args"),
        (b'{"id":1,"name":"@json","args":[]}', b"1", "json", "an array"),
        (b'{"id":1,"name":"@json","args":{"cmd":"get","args":"{}"}}', b"1", "json", "a string"),
        (b'{"id":1,"name":"@json","args":{"cmd":7}}', b"1", "json", "a number"),
        (b'{"id":1,"name":7,"args":{}}', b"1", "message", "a number"),
        (b'{"id":1,"name":"@json","args":%b,"message":"x"}' % GET, b"1", "json", "not both"),
        (b'{"id":1,"message":7}', b"1", "message", "a number"),
        (b'{"id":{},"message":"x"}', None, "message", "an object"),
        (b'{"id":[1],"name":"@json","args":%b}' % GET, None, "json", "an array"),
        (b'{"id":1,"text":"x"}', b"1", "message", "'text'"),
        (b'{"id":1,"tool":"@json","args":%b}' % GET, b"1", "message", "'tool'"),
        (b'{"id":1}', b"1", "message", "neither message nor name"),
        (b"[]", None, "message", "an array"),
        (b'{"id":1,"message":"\xff"}', None, "message", "not UTF-8"),
        (b'{"name":"@json","args":{"cmd":"get","args":{"a":"\xff"}}}', None, "message", "not UTF-8"),
        (b'{"name":"@json","args":{"cmd":"get","args":{"a":NaN}}}', None, "message", "NaN"),
        (b'{"message":' + b"[" * 100_000, None, "message", "no JSON"),
    ],
)  # fmt: skip
def test_bad_lines(line: bytes, ident: bytes | None, op: str, says: str) -> None:
    bad = decode(line)
    assert isinstance(bad, Bad)
    assert (bad.id, bad.op) == (ident, op)
    assert says in bad.message or says == "no JSON"
    assert bad.hint is not None and '"message"' in bad.hint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.none() | st.integers() | st.text(), st.text(), st.text(), st.dictionaries(st.text(), JSON)
)
def test_a_written_line_reads_back(
    ident: int | str | None, name: str, cmd: str, args: dict[str, Any]
) -> None:
    frame = {"id": ident, "name": name, "args": {"cmd": cmd, "args": args}}
    read = decode(json.dumps(frame, ensure_ascii=False).encode())
    assert isinstance(read, Direct)
    assert read.id is not None and json.loads(read.id) == ident
    assert (read.name, read.cmd, json.loads(read.args)) == (name, cmd, args)


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_any_line_is_answered(line: bytes) -> None:
    decode(line)
    decode(b'{"id":1,"name":"@json","args":' + line)
