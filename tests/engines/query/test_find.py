"""What a path leads to, how a fan-out counts, and what a miss teaches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.documents.formats import open_document
from toolbox.engines.query import near
from toolbox.engines.query.find import find
from toolbox.engines.query.paths import parse
from toolbox.errors import NoPath, TimedOut

SHOP = """{"items": [{"id": 1, "tags": ["a", "b"]}, {"id": 2}, {"id": 3, "tags": []}, null, 7],
 "map": {"x": {"v": 1}, "y": {}, "z": {"v": null}}, "0": "zero", "a.b": {"c": 1}, "a": {"b": {"d": 2}},
 "text": "{\\"k\\": 1}", "empty": {}, "none": [], "Name": "n"}"""


def raws(path: str, text: str = SHOP) -> list[str]:
    return [m.node.raw.decode() for m in find(open_document(text.encode()), path).matches]


@pytest.mark.parametrize(
    ("path", "values", "missing"),
    [
        ("items[*].id", ["1", "2", "3"], 2),
        ("items.*.tags[*]", ['"a"', '"b"'], 3),
        ("items[*].tags", ['["a", "b"]', "[]"], 3),
        ("map.*.v", ["1", "null"], 1),
        ("none[*].x", [], 0),
        ("empty.*", [], 0),
        ("items[*].tags[*].deep", None, 5),
    ],
)
def test_fan_out(path: str, values: list[str] | None, missing: int) -> None:
    document = open_document(SHOP.encode())
    if values is None:
        with pytest.raises(NoPath) as caught:
            find(document, path)
        assert f"all {missing} branches miss" in caught.value.message
        return
    found = find(document, path)
    assert [m.node.raw.decode() for m in found.matches] == values
    assert found.missing == missing
    for match in found.matches:
        assert find(document, match.path).one.node == match.node


def test_digits_are_a_key_or_an_index() -> None:
    assert raws("0") == ['"zero"']
    assert raws("items.0.id") == ["1"]
    assert raws("/items/1/id") == ["2"]
    assert raws("items[-2]") == ["null"]


@pytest.mark.parametrize(
    ("path", "segment", "deepest", "type_", "says", "hint"),
    [
        ("item[0].id", "item", "", "object{9}", 'no key "item"', "path: items[0].id"),
        ("name", "name", "", "object{9}", 'no key "name"', "path: Name"),
        ("itmes[0]", "itmes", "", "object{9}", 'no key "itmes"', "path: items[0]"),
        ("items[9].id", "9", "items", "array[5]", "valid: 0 to 4, or -5 to -1", "items[-1].id"),
        ("items[-6]", "-6", "items", "array[5]", "valid: 0 to 4", "items[0]"),
        ("none[0]", "0", "none", "array[0]", "it is empty", None),
        ("items.id", "id", "items", "array[5]", 'got the key "id"', "path: items[*].id"),
        ("items.length", "length", "items", "array[5]", "valid", "5 elements"),
        ('items["0"]', "0", "items", "array[5]", "index", "path: items[0]"),
        ("[0]", "0", "", "object{9}", "expected an array", 'path: ["0"]'),
        ("map[0].v", "0", "map", "object{3}", "expected an array", "path: map[*].v"),
        ("map.z.v.w", "w", "map.z.v", "null", "map.z.v is null", "path: map.z.v"),
        ("items[0].id.x", "x", "items[0].id", "number", "is number", None),
        ("items[0].id[0]", "0", "items[0].id", "number", "needs an array", None),
        ("items[0].id.*", "*", "items[0].id", "number", "objects and arrays", None),
        ("text.k", "k", "text", "string(8)", "is string(8)", "raw: true"),
        ("empty.x", "x", "empty", "object{0}", "it is empty", None),
        ("a.b.c", "c", "a.b", "object{1}", 'no key "c"', 'path: ["a.b"].c'),
        ("map.x.q", "q", "map.x", "object{1}", 'its keys: "v"', None),
    ],
)
def test_a_miss(
    path: str, segment: str, deepest: str, type_: str, says: str, hint: str | None
) -> None:
    document = open_document(SHOP.encode())
    with pytest.raises(NoPath) as caught:
        find(document, path)
    at = caught.value.at
    assert at is not None
    assert (at["segment"], at["path"], at["type"]) == (segment, deepest, type_)
    assert says in caught.value.message
    if hint is not None:
        assert hint in (caught.value.hint or "")
        if "path: " in hint:
            find(document, (caught.value.hint or "").rsplit("path: ", 1)[1])
    if type_.startswith("object"):
        assert at["keys_total"] == int(type_[7:-1])


def test_a_dotted_key_that_only_begins_so() -> None:
    text = json.dumps({"defs": {"io.k8s.v1.Pod": {"x": 1}, "io.k8s.v1.PodList": {"x": 2}}})
    with pytest.raises(NoPath) as caught:
        find(open_document(text.encode()), "defs.io.k8s.v1.Pods.x")
    assert caught.value.hint is not None
    assert 'path: defs["io.k8s.v1.Pod"].x' in caught.value.hint


@pytest.mark.parametrize("total", [49, 50, 51, 5_000])
def test_a_miss_lists_at_most_fifty_keys_nearest_first(total: int) -> None:
    text = json.dumps({f"k{i}": i for i in range(total - 1)} | {"statuses": 1})
    with pytest.raises(NoPath) as caught:
        find(open_document(text.encode()), "status")
    at = caught.value.at
    assert at is not None
    assert at["keys_total"] == total
    assert len(at["keys"]) == min(total, 50)
    assert at["keys"][0] == "statuses"
    assert len(caught.value.message) < 3_000


def test_duplicates_on_the_way_are_told() -> None:
    text = '{"a": {"x": 1},\n "a": {"x": 2,\n "\\u0078": 3}}'
    found = find(open_document(text.encode()), "a.x")
    assert found.one.node.raw == b"3"
    assert found.warnings == (
        "duplicate key: a stands 2 times in its object; the last, on line 2, counts",
        "duplicate key: a.x stands 2 times in its object; the last, on line 3, counts",
    )
    fanned = find(open_document(b'[{"k": 1, "k": 2}]'), "[*].*")
    assert [m.node.raw for m in fanned.matches] == [b"2"]
    assert len(fanned.warnings) == 1


@pytest.mark.parametrize("way", ["a", "a.b", "a.b[0]", '["q\\"t"]', "0", "[0]", "[-1]", "[1]", ""])
def test_matches_are_the_same_one_by_one_and_all(way: str) -> None:
    values = [
        {"a": {"b": [1]}, 'q"t': 5, "0": 7}, [], [1], [1, 2], {"a": {"b": 2}, "a2": 3}, None, "a",
        {"a": {"b": [4]}}, {"x": {"a": 1}}, {"\u0061": {"b": [9]}},
    ]  # fmt: skip
    text = json.dumps(values).replace('"b": [4]', '"b": [3], "b": [4]').replace('"x"', '"\\u0061"')
    document = open_document(text.encode())
    path = f"[*]{way}" if way.startswith("[") or not way else f"[*].{way}"
    found = find(document, path)
    taken = [found.matches[n] for n in range(len(found.matches))]
    assert list(found.matches) == taken == found.matches[:]
    plain = []
    for n in range(len(values)):
        single = path.replace("[*]", f"[{n}]", 1)
        try:
            plain.append(find(document, single).one)
        except NoPath:
            continue
    assert taken == plain
    assert found.missing == len(values) - len(plain)
    assert taken[-1] == found.matches[-1]


def test_a_kept_answer_is_the_same() -> None:
    document = open_document(b'{"a": {"x": 1, "x": 2}}')
    assert find(document, "a.x") == find(document, "a.x")
    assert find(document, "a.x").warnings


def test_the_deadline_is_looked_at() -> None:
    class Past:
        def check(self) -> None:
            raise TimedOut("late")

    document = open_document(json.dumps([{"k": [1]}] * 10_000).encode())
    for path in ("[*].k", "[*].k[*]", "[*][*][*]"):
        with pytest.raises(TimedOut):
            find(document, path, Past())


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc0"), inner, max_size=3)
    ),
    max_leaves=12,
)


def expand(value: Any, segments: list[Any]) -> tuple[list[Any], int]:
    """The rule of the fan-out, plainly."""
    if not segments:
        return [value], 0
    head, *rest = segments
    if head == "*":
        if not isinstance(value, list | dict):
            return [], 1
        found: list[Any] = []
        missing = 0
        for one in value if isinstance(value, list) else value.values():
            more, lacking = expand(one, rest)
            found += more
            missing += lacking
        return found, missing
    try:
        if isinstance(value, list):
            return expand(value[int(head)], rest)
        return expand(value[head], rest)
    except (KeyError, IndexError, ValueError, TypeError):
        return [], 1


@given(json_values, st.lists(st.sampled_from(["a", "b", "0", "*", "*"]), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_fan_out_follows_the_plain_rule(value: Any, names: list[str]) -> None:
    if isinstance(value, str):
        value = [value]
    document = open_document(json.dumps(value).encode())
    path = ".".join(names)
    wanted, missing = expand(value, names)
    try:
        found = find(document, path)
    except NoPath:
        assert not wanted and missing
        return
    assert [json.loads(m.node.raw) for m in found.matches] == wanted
    assert found.missing == missing
    assert len(parse(path)) == len(names)


def test_distance_counts_edits() -> None:
    assert near.distance("items", "itmes", 3) == 1
    assert near.distance("kitten", "sitting", 5) == 3
    assert near.distance("kitten", "sitting", 2) == 3
    assert near.distance("", "abc", 5) == 3
    assert near.nearest("userName", ["x", "user_name", "name", "username2"], 5, 4)[0] == "user_name"
