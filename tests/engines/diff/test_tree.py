"""Structural diffs of JSON: what is reported, applied to before, gives after."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolbox.engines.diff import json_patch, tree
from toolbox.engines.diff.excerpts import excerpt
from toolbox.engines.diff.tree import Options
from toolbox.engines.diff.tree_paths import pointer, render
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.formats import open_document
from toolbox.engines.query import decimals
from toolbox.engines.query.paths import Index, parse

KEYS = ["id", "a", "b", "a.b", "x[y]", "we\"ird", "it's", "", "$", "~", "/", "0", "-1", "ä", "*", "back\\slash", "n\nl"]
NUMBERS = ["0", "-0", "1", "1.0", "1e0", "10E-1", "2", "1.10", "1.1", "9007199254740993", "9007199254740992", "1E400", "0.5"]


class Num(str):
    """A number as it is spelled."""


def dump(value: Any, r: Any = None) -> str:
    if isinstance(value, Num):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {dump(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dump(v) for v in value) + "]"
    return json.dumps(value)


def read(text: str | bytes) -> Any:
    return json.loads(text, parse_int=Num, parse_float=Num)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, Num) and isinstance(b, Num):
        return decimals.equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


scalars = st.none() | st.booleans() | st.sampled_from(["", "x", "X", "é", "\u2028"]) | st.sampled_from(NUMBERS).map(Num)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=14,
)
records = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 9).map(lambda n: Num(str(n)))}, optional={"v": scalars, "w": values}),
    max_size=7, unique_by=lambda one: one["id"],
)  # fmt: skip


def related(base: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Two values, the second often made of the first."""

    @st.composite
    def draw_pair(draw: st.DrawFn) -> tuple[Any, Any]:
        before = draw(base)

        def edit(value: Any) -> Any:
            if draw(st.integers(0, 7)) == 0:
                return draw(values)
            if isinstance(value, dict):
                kept = {k: edit(v) for k, v in value.items() if draw(st.integers(0, 5))}
                if draw(st.integers(0, 3)) == 0:
                    kept[draw(st.sampled_from(KEYS))] = draw(scalars)
                return dict(draw(st.permutations(list(kept.items()))))
            if isinstance(value, list):
                kept_items = [edit(v) for v in value if draw(st.integers(0, 5))]
                if draw(st.integers(0, 2)) == 0:
                    kept_items.insert(draw(st.integers(0, len(kept_items))), draw(values))
                if draw(st.integers(0, 3)) == 0:
                    kept_items = list(draw(st.permutations(kept_items)))
                return kept_items
            return value

        return before, edit(before)

    return draw_pair()


def document(text: str) -> Document:
    return tree.compact(open_document(text.encode()))


Steps = tuple[str | int, ...]


def steps_of(path: str) -> Steps:
    """The steps of a printed path, by the reader that `@json get` uses."""
    return tuple(one.n if isinstance(one, Index) else one.name for one in parse(path))  # type: ignore[union-attr]


def value_of(node: Any) -> Any:
    return read(excerpt(node, None)[0])


def apply_changes(before: Any, found: tree.Comparison) -> Any:
    """After, from before and the changes: the places of each are in the side that it names."""
    by: dict[str, dict[Steps, Any]] = {"add": {}, "remove": {}, "replace": {}, "move": {}}
    for change in found.changes:
        path = steps_of(tree.path_text(change.place))
        by[change.op][path] = change

    moves_from = {steps_of(tree.path_text(c.other)): at for at, c in by["move"].items()}

    def build(value: Any, old: Steps, new: Steps) -> Any:
        if old in by["replace"]:
            change = by["replace"][old]
            assert same(value_of(change.before), value)
            assert steps_of(tree.path_text(change.other)) == new or not change.shifted
            return value_of(change.after)
        if isinstance(value, dict):
            made = {k: build(v, (*old, k), (*new, k)) for k, v in value.items() if (*old, k) not in by["remove"]}
            for at, change in by["add"].items():
                if at[:-1] == new and at and isinstance(at[-1], str):
                    assert at[-1] not in made
                    made[at[-1]] = value_of(change.after)
            return made
        if isinstance(value, list):
            placed: dict[int, tuple[str, Any]] = {}
            for at, change in by["add"].items():
                if at and at[:-1] == new:
                    placed[at[-1]] = ("add", change)  # type: ignore[index]
            still = []
            for i in range(len(value)):
                here = (*old, i)
                if here in by["remove"]:
                    assert same(value_of(by["remove"][here].before), value[i])
                elif here in moves_from:
                    placed[moves_from[here][-1]] = ("move", i)  # type: ignore[index]
                else:
                    still.append(i)
            out: list[Any] = []
            for j in range(len(still) + len(placed)):
                if j in placed:
                    how, what = placed[j]
                    out.append(value_of(what.after) if how == "add" else build(value[what], (*old, what), (*new, j)))
                else:
                    i = still.pop(0)
                    out.append(build(value[i], (*old, i), (*new, j)))
            return out
        return value

    return build(before, (), ())


def apply_patch(value: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902, from its text."""
    holder = [value]

    def walk(path: str) -> tuple[Any, Any]:
        here: Any = holder
        key: Any = 0
        for token in path.split("/")[1:]:
            here = here[key]
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(here, list):
                assert key == "0" or not key.startswith("0")
                key = int(key)
        return here, key

    def take(path: str) -> Any:
        parent, key = walk(path)
        return parent.pop(key)

    def put(path: str, new: Any) -> None:
        parent, key = walk(path)
        if isinstance(parent, list) and parent is not holder:
            assert 0 <= key <= len(parent)
            parent.insert(key, new)
        else:
            parent[key] = new

    for one in operations:
        if one["op"] == "add":
            put(one["path"], one["value"])
        elif one["op"] == "remove":
            take(one["path"])
        elif one["op"] == "move":
            put(one["path"], take(one["from"]))
        else:
            assert one["op"] == "replace"
            parent, key = walk(one["path"])
            _ = parent[key]
            parent[key] = one["value"]
    return holder[0]


MODES = [Options(), Options(arrays="align"), Options(key="id"), Options(key="id", arrays="align"), Options(sort_keys=False)]
ids = ["index", "align", "key", "key-align", "unsorted"]


@pytest.mark.parametrize("options", MODES, ids=ids)
@given(pair=related(values) | related(records))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_changes_make_after_of_before(options: Options, pair: tuple[Any, Any]) -> None:
    before, after = pair
    old, new = document(dump(before)), document(dump(after))
    found = tree.compare(old, new, options, most=10_000)
    assert found.summary.total == len(found.changes)
    assert same(apply_changes(before, found), after)
    assert (found.summary.total == 0) == same(before, after)


@pytest.mark.parametrize("options", MODES, ids=ids)
@given(pair=related(values) | related(records))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_patch_makes_after_of_before(options: Options, pair: tuple[Any, Any]) -> None:
    before, after = pair
    made, _ = json_patch.operations(document(dump(before)), document(dump(after)), options)
    operations = []
    for one in made:
        record: dict[str, Any] = {"op": one.op, "path": pointer(one.place.steps() if one.place else [])}
        if one.source is not None:
            record["from"] = pointer(one.source.steps())
        if one.value is not None:
            record["value"] = value_of(one.value)
        operations.append(record)
    assert same(apply_patch(read(dump(before)), operations), after)


@given(steps=st.lists(st.sampled_from(KEYS) | st.integers(0, 50) | st.text(max_size=6), max_size=5))
def test_a_printed_path_is_read_back(steps: list[str | int]) -> None:
    steps = [one for one in steps if isinstance(one, int) or not any(0xD800 <= ord(c) < 0xE000 for c in one)]
    assert list(steps_of(render(steps))) == steps


def _changes(a: str, b: str, **options: Any) -> list[tuple[str, str]]:
    found = tree.compare(document(a), document(b), Options(**options), most=100)
    return [(c.op, tree.path_text(c.place)) for c in found.changes]


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ("1", "1.0", True), ("1e2", "100", True), ("-0", "0", True), ("1E400", "10E399", True), ("9007199254740992", "9007199254740993", False),
        ("0.1", "0.10", True), ('"\\u0066"', '"f"', True), ('{"\\u0061":1}', '{"a":1}', True), ("1e-999999999999", "1e-999999999998", False),
        ("true", '"true"', False), ("[]", "{}", False), ("null", "false", False), ('"1"', "1", False), (" [ 1 ]", "[1]", True),
        ("1" + "0" * 6000, "1e6000", True), ('{"a":1,"a":2}', '{"a":2}', True),
    ],
)  # fmt: skip
def test_values_are_equal_by_what_they_mean(a: str, b: str, equal: bool) -> None:
    assert (_changes(a, b) == []) == equal


def test_only_what_is_asked_is_kept_and_all_is_counted() -> None:
    found = tree.compare(document("[1,2,3]"), document("[4,5,6]"), Options(), most=2)
    assert (len(found.changes), found.summary.replaced) == (2, 3)


def test_indexes_are_in_the_order_of_numbers() -> None:
    a = json.dumps(list(range(12)))
    assert [path for _, path in _changes(a, "[]")] == [f"$[{k}]" for k in range(12)]


def test_moves_are_few() -> None:
    a = json.dumps([{"id": k} for k in range(9)])
    b = json.dumps([{"id": k} for k in (8, 0, 1, 2, 3, 4, 5, 6, 7)])
    assert _changes(a, b, key="id") == [("move", "$[0]")]
    assert _changes(a, b) != []


def test_why_a_key_does_not_match_is_said() -> None:
    for b, says in (('[{"id":1},{"id":1.0}]', "same id"), ('[{"id":1},{"x":1}]', "has no id"), ("[[1]]", None)):
        found = tree.compare(document('[{"id":1}]'), document(b), Options(key="id"), most=9)
        assert (says is None and "has no id" not in str(found.notes)) or any(says in note for note in found.notes if says)


def test_a_yaml_number_that_is_no_json_is_a_number() -> None:
    a = open_document(b"n: 0x1F\ns: '0x1F'\ni: .inf\n", "a.yaml")
    b = open_document(b'{"n": 31, "s": "0x1F", "i": ".inf"}')
    found = tree.compare(a, b, Options(), most=9)
    assert [tree.path_text(c.place) for c in found.changes] == ["$.i"]
    swapped = open_document(b"n: '0x1F'\ns: 0x1F\ni: .inf\n", "a.yaml")
    assert {tree.path_text(c.place) for c in tree.compare(a, swapped, Options(), most=9).changes} == {"$.n", "$.s"}


@given(value=values, most=st.integers(24, 200))
@settings(max_examples=150, deadline=None)
def test_an_excerpt_is_valid_and_short(value: Any, most: int) -> None:
    from toolbox.engines.documents import lazy

    doc = document(dump(value))
    data, whole = excerpt(lazy.root(doc), most)
    msgspec.json.decode(data) if "E400" not in dump(value) else read(data)
    assert whole == same(read(data), value) or not whole
    assert len(data) <= most + 8
