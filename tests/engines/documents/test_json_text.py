"""Opening JSON: what is accepted, where a fault is told, depth, encodings, lone surrogates."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.documents import lazy, nesting
from toolbox.engines.documents.json_text import is_utf8, open_json
from toolbox.engines.documents.surrogates import make_shadow
from toolbox.errors import ParseFailed

SUITE = Path(__file__).resolve().parents[4] / "shared/suites/JSONTestSuite/test_parsing"
FILES = sorted(SUITE.glob("*.json")) if SUITE.is_dir() else []


@pytest.mark.skipif(not FILES, reason="no JSONTestSuite beside the project")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_json_test_suite(path: Path) -> None:
    source = path.read_bytes()
    try:
        document = open_json(source)
    except ParseFailed as failed:
        assert path.name[0] in "ni", failed.message
        assert failed.at is not None
        assert failed.at["line"] >= 1 and failed.at["column"] >= 1
        return
    assert path.name[0] in "yi"
    assert lazy.root(document).raw == source.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")


def fails(source: bytes, **more: int) -> ParseFailed:
    with pytest.raises(ParseFailed) as caught:
        open_json(source, **more)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize(
    ("source", "line", "column", "offset"),
    [
        pytest.param(b'{"a": 1,}', 1, 8, 7, id="trailing comma"),
        pytest.param(b"[1]\n[2]", 2, 1, 4, id="trailing data"),
        pytest.param(b'{"a": 1', 1, 8, 7, id="truncated"),
        pytest.param("[\"é\", x]".encode(), 1, 7, 7, id="columns are code points"),
        pytest.param(b"[1,\r2,\rx]", 3, 1, 7, id="a lone CR ends a line"),
        pytest.param(b'[NaN]', 1, 2, 1, id="NaN"),
        pytest.param(b'{"a":[1,2', 1, 10, 9, id="open array"),
    ],
)  # fmt: skip
def test_the_place_of_a_fault(source: bytes, line: int, column: int, offset: int) -> None:
    at = fails(source).at
    assert at is not None
    assert (at["line"], at["column"], at["offset"]) == (line, column, offset)


@pytest.mark.parametrize("levels", [1, 2, 10, 999])
@pytest.mark.parametrize("kind", ["[]", '{"a":}'])
def test_nesting_at_its_limit(levels: int, kind: str) -> None:
    def nested(n: int) -> bytes:
        opening, closing = kind[:-1], kind[-1]
        return (opening * n + "0" + closing * n).encode()

    open_json(nested(levels - 1), nesting_levels=levels)
    open_json(nested(levels), nesting_levels=levels)
    failed = fails(nested(levels + 1), nesting_levels=levels)
    assert "nested deeper than the limit" in failed.message
    assert failed.at is not None
    assert failed.at["offset"] == len(kind[:-1]) * levels


def test_nesting_is_held_at_any_depth_of_the_caller() -> None:
    def called_from(depth: int) -> None:
        if depth:
            called_from(depth - 1)
            return
        open_json(b"[" * 1000 + b"]" * 1000)
        fails(b"[" * 1001 + b"]" * 1001)

    for depth in (0, 100, 500):
        called_from(depth)


def test_nesting_with_a_chain_of_keys() -> None:
    source = b'{"a":' * 1000 + b"1" + b"}" * 1000
    document = open_json(source, chain=["a", "a"])
    assert lazy.descend(lazy.root(document), ["a", "a"]).node is not None


def test_a_hundred_thousand_levels_in_a_small_stack() -> None:
    failures: list[ParseFailed] = []

    def work() -> None:
        for source in (b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000):
            failures.append(fails(source))
        deepest = open_json(b"[" * 1000 + b"]" * 1000)
        assert len(lazy.indented(lazy.root(deepest), 2)) > 1_000_000

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(failures) == 2


@given(st.recursive(st.none(), lambda inner: st.lists(inner, max_size=3)), st.integers(0, 6))
@settings(max_examples=150, deadline=None)
def test_counted_depth_is_the_depth(value: object, levels: int) -> None:
    def depth(v: object) -> int:
        return 1 + max(map(depth, v), default=0) if isinstance(v, list) else 0

    text = json.dumps([value, '"[[\\"{{\\\\']).encode()
    assert nesting.is_deeper(text, levels) == (depth([value]) > levels)
    assert (nesting.find_deeper(text, levels) is not None) == (depth([value]) > levels)


@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xb8"]
)
def test_bytes_that_are_not_utf8_are_refused_where_nobody_asks(bad: bytes) -> None:
    source = b'{"skipped": "' + bad + b'", "asked": 1}'
    failed = fails(source)
    assert failed.at is not None and failed.at["offset"] == 13


@given(st.binary(max_size=40), st.integers(0, 3))
@settings(max_examples=200)
def test_utf8_is_checked_as_python_does_across_chunks(tail: bytes, shift: int) -> None:
    data = b"a" * (64 * 1024 - shift) + "é".encode() + tail
    try:
        data.decode()
        wanted = True
    except UnicodeDecodeError:
        wanted = False
    assert is_utf8(data) is wanted


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_wide_encodings_are_named(encoding: str) -> None:
    assert encoding.upper()[:6] in fails('{"a": 1}'.encode(encoding)).message


def test_a_byte_order_mark_is_stripped_and_told() -> None:
    document = open_json(b'\xef\xbb\xbf{"n": 1.50}')
    node = lazy.child(lazy.root(document), "n")
    assert node is not None and node.raw == b"1.50"
    assert lazy.place(node).start == 9
    assert any("byte order mark" in note for note in document.notes)


LONE = [
    b'"\\ud83d"', b'"\\ude00"', b'"\\ude00\\ud83d"', b'"\\ud83d\\u0041"', b'{"\\uD83D": 1.10}',
    b'["\\ud83d\\ude00", "\\\\ud83d", "x\\udfffy"]', b'["\\ud800\\ud800\\udc00"]',
]  # fmt: skip


@pytest.mark.parametrize("source", LONE)
def test_lone_surrogates_stay_escapes(source: bytes) -> None:
    document = open_json(source)
    assert document.surrogates
    node = lazy.root(document)
    assert node.raw == source
    assert lazy.compact(node) == source.replace(b": ", b":").replace(b", ", b",")
    assert json.loads(lazy.indented(node, 2)) == json.loads(source)
    if node.type == "string":
        assert lazy.text_of(node) == json.loads(source)
    if node.type == "object":
        ((key, value),) = lazy.members(node)
        assert key == "\ud83d" and value.raw == b"1.10"
        assert lazy.child(node, key) == value


def test_a_pair_or_an_escaped_backslash_is_no_lone_surrogate() -> None:
    assert not open_json(b'["\\ud83d\\ude00", "\\\\ud83d"]').surrogates
    assert make_shadow(b'"\\\\ud83d"') is None


def test_private_characters_and_lone_surrogates_side_by_side() -> None:
    source = '{"\ue03d": 1, "\\ud83d": 2, "\\ue83d": 3}'.encode()
    node = lazy.root(open_json(source))
    assert [key for key, _ in lazy.members(node)] == ["\ue03d", "\ud83d", "\ue83d"]
    found = lazy.child(node, "\ud83d")
    assert found is not None and found.raw == b"2"


def test_a_fault_beside_lone_surrogates_is_told() -> None:
    failed = fails(b'["\\ud83d", x]')
    assert failed.at is not None and failed.at["offset"] == 11
    failed = fails(b'["\\ud83')
    assert failed.at is not None and failed.at["line"] == 1
