"""Values as slices: held against the standard library's reader on random texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.documents import kept, lazy, walk
from toolbox.engines.documents.json_text import open_json
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.find import find
from toolbox.engines.query.paths import format_steps

BLANKS = st.sampled_from(["", "", "", " ", "\n", "\r\n\t", "  "])
NUMBERS = st.sampled_from(
    ["0", "-0", "1.10", "1E400", "1e-7", "-0.0E+2", "12345678901234567890123", "2.00", "5"]
)
KEYS = st.sampled_from(
    ["a", "b", "a.b", "é", "", "*", "0", "-1", "$", "/", 'q"t', "\\", "\n", "x y", "[0]", "😀", "\ud83d"]
)


def spell(text: str, draw: Any) -> str:
    """A string as JSON, its characters escaped now and then."""
    out = []
    for c in text:
        if c in '"\\\n' or 0xD800 <= ord(c) < 0xE000 or (ord(c) < 0x10000 and draw(st.integers(0, 5)) == 0):
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


@st.composite
def texts(draw: Any, depth: int = 4) -> str:
    def value(level: int) -> str:
        kind = draw(st.integers(0, 5 if level else 2))
        if kind == 0:
            return draw(NUMBERS)
        if kind == 1:
            return draw(st.sampled_from(["true", "false", "null"]))
        if kind == 2:
            return spell(draw(st.sampled_from(["", "x", "]}", '"{[', "a\\b", "é😀", "1.10"])), draw)
        parts = []
        for _ in range(draw(st.integers(0, 4))):
            part = draw(BLANKS) + value(level - 1) + draw(BLANKS)
            if kind == 5:
                part = draw(BLANKS) + spell(draw(KEYS), draw) + draw(BLANKS) + ":" + part
            parts.append(part)
        inside = ",".join(parts) or draw(BLANKS)
        return f"{{{inside}}}" if kind == 5 else f"[{inside}]"

    return draw(BLANKS) + value(depth) + draw(BLANKS)


class Spelled(str):
    """A number as the text spells it."""


def reference(text: str) -> Any:
    return json.loads(text, parse_float=Spelled, parse_int=Spelled)


def walk_all(node: Node, steps: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Node]]:
    yield steps, node
    if node.type == "array":
        for n, element in enumerate(lazy.elements(node)):
            yield from walk_all(element, (*steps, n))
    elif node.type == "object":
        for key, member in lazy.members(node):
            yield from walk_all(member, (*steps, key))


@pytest.fixture(params=["decoded", "walked", "indexed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Containers decoded natively, walked as huge ones are, or with every index kept."""
    if request.param == "walked":
        monkeypatch.setattr(lazy, "MANY", 0)
    if request.param == "indexed":
        monkeypatch.setattr(lazy, "INDEX_FROM_BYTES", 0)
        monkeypatch.setattr(kept, "INDEX_FROM_BYTES", 0)
    monkeypatch.setattr(walk, "_WINDOW_BYTES", 3)
    return str(request.param)


@given(text=texts())
@settings(max_examples=120, deadline=None, suppress_health_check=[])
def _check_walk(text: str) -> None:
    source = text.encode()
    wanted = reference(text)
    document = open_json(source)
    for steps, node in walk_all(lazy.root(document)):
        value = wanted
        for step in steps:
            value = value[step]
        assert reference(node.raw.decode()) == value
        assert walk.end_of(source, node.start) == node.end
        if isinstance(value, Spelled):
            assert node.type == "number" and node.raw == value.encode()
        elif isinstance(value, str):
            assert lazy.text_of(node) == value
        elif isinstance(value, list | dict):
            assert lazy.size(node) == len(value)
            assert reference(lazy.compact(node).decode()) == value
        path = format_steps(steps)
        found = find(document, path).one
        assert found.node == node and found.steps == steps
        # A fresh document whose first pass follows the path.
        fresh = open_json(source, chain=[s for s in steps if isinstance(s, str)]) if all(
            isinstance(s, str) for s in steps
        ) else open_json(source)  # fmt: skip
        again = find(fresh, path).one.node
        assert (again.start, again.end) == (node.start, node.end)


def test_every_path_of_a_walk_leads_to_the_source_bytes(way: str) -> None:
    _check_walk()


@given(text=texts())
@settings(max_examples=120, deadline=None)
def test_repeats_are_counted(text: str) -> None:
    document = open_json(text.encode())

    def pairs(found: list[tuple[str, Any]]) -> Any:
        return found

    def count(value: Any) -> int:
        if not isinstance(value, list) or not value or not isinstance(value[0], tuple):
            return 0
        return len(value) - len({k for k, _ in value})

    top = json.loads(text, object_pairs_hook=pairs)
    node = lazy.root(document)
    if node.type == "object":
        members = lazy.members(node)
        assert sum(n - 1 for n in members.repeats.values()) == count(top)
        fresh = open_json(text.encode())
        for key, value in members:
            here = lazy.root(fresh)
            got = lazy.child(here, key)
            assert got is not None and (got.start, got.end) == (value.start, value.end)
            assert lazy.repeats_of(here, key, got) == members.repeats.get(key, 1)


@given(text=texts())
@settings(max_examples=120, deadline=None)
def test_the_opening_bracket_before_a_value(text: str) -> None:
    source = text.encode()
    for _, node in walk_all(lazy.root(open_json(source))):
        if node.type == "array":
            for element in lazy.elements(node):
                assert walk.opening_before(source, element.start, 1 << 20) == node.start


def test_evenly_and_oddly_spaced_arrays() -> None:
    even = json.dumps([{"i": i} for i in range(300)], indent=2)
    odd = even.replace('"i": 7\n  },', '"i": 7\n  }  ,')
    for text in (even, odd, even.replace("\n", "\r\n"), json.dumps(list(range(300)))):
        source = text.encode()
        elements = lazy.elements(lazy.root(open_json(source)))
        spans = list(walk.walk_elements(source, 0))
        assert [(e.start, e.end) for e in elements] == spans


def test_a_string_compares_by_its_characters() -> None:
    node = lazy.root(open_json(b'"\\u0066ailed"'))
    assert lazy.text_of(node) == "failed"


def test_an_earlier_duplicate_of_another_type_does_not_hide_the_last() -> None:
    document = open_json(b'{"a": 1, "a": {"b": [5]}, "c": null}', chain=["a", "b"], indexed=True)
    found = find(document, "a.b[0]")
    assert found.one.node.raw == b"5"
    assert found.warnings == (
        "duplicate key: a stands 2 times in its object; the last, on line 1, counts",
    )


def test_slices_do_not_pin_the_document() -> None:
    document = open_json(b'{"a": "' + b"x" * 100_000 + b'", "b": [1, 2]}')
    raw = lazy.elements(lazy.child(lazy.root(document), "b"))[0].raw  # type: ignore[arg-type]
    assert type(raw) is bytes and raw == b"1"
