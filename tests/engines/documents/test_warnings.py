"""Repeated keys and inexact numbers: found wherever they stand, against plain readers."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.documents import spans
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.duplicates import find_repeats
from toolbox.engines.documents.inexact import find_inexact
from toolbox.engines.documents.json_text import open_json
from toolbox.engines.query.paths import format_steps


def _repeats(source: bytes) -> list[tuple[str, int, int]]:
    found = find_repeats(open_json(source))
    assert found.total == len(found.told)
    return [(format_steps(one.steps), one.offset, one.count) for one in found.told]


REPEATS = [
    (b'{"svc":{"ports":[{"tcp":80,"tcp":81}]}}', [("svc.ports[0].tcp", 27, 2)]),
    (b'{"a":1, "b":2, "\\u0061":3, "a" : 4}', [("a", 15, 3)]),
    (b'{"a":1,"a b":{"a":1},"c":[{"a":1},{"a":1}]}', []),
    (b'{"x":{"k":1,"k":2},"x":{"k":3}}', [("x.k", 12, 2), ("x", 19, 2)]),
    (b'[":","x:y","{\\"a\\":1,\\"a\\":2}"]', []),
    (b'{"a\\\\":1,"a\\\\":2}', [("a\\", 9, 2)]),
    (b'{"a":"\\u003a","b":1,"b":2}', [("b", 20, 2)]),
    (b'{"\\ud83d":1,"\\uD83D":2,"\\ud83e":3}', [("\ud83d", 12, 2)]),
    (b'{"":1,"":2}', [('[""]', 6, 2)]),
    (b'{"n":1e400,"n":2}', [("n", 11, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), REPEATS)
@pytest.mark.parametrize("span_bytes", [1, 8, 1 << 20])
def test_repeats(
    source: bytes, expected: list[Any], span_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans.split, "__defaults__", (span_bytes,))
    got = _repeats(source)
    if (expected and expected[0][0] == "a\\") or (expected and "\ud83d" in expected[0][0]):
        assert [one[1:] for one in got] == [one[1:] for one in expected]
    else:
        assert got == expected


def test_repeats_are_counted_past_what_is_told() -> None:
    found = find_repeats(open_json(b"[" + b'{"k":1,"k":2},' * 99 + b"0]"), most=3)
    assert found.total == 99
    assert [one.steps for one in found.told] == [(0, "k"), (1, "k"), (2, "k")]


NUMBERS = [
    ("0.1", None), ("1.10", None), ("9007199254740992", None), ("9007199254740993", "9007199254740992.0"),
    ("12345678901234567890123", "1.2345678901234568e+22"), ("1e22", None), ("1E400", "infinity"),
    ("-1E400", "-infinity"), ("1e-400", "0.0"), ("0e-400", None), ("-0.0", None), ("1e308", None),
    ("3.14159265358979323846", "3.141592653589793"), ("0.016666666666666666", None),
    ("100000000000000000000", None), ("7203685477580001009", "7.203685477580001e+18"),
    ("7203685477580000000", None), ("18446744073709551616", None), ("9" * 39, "1e+39"),
    ("12345678901234560000000", None), ("1234567890123456789000", "1.2345678901234568e+21"),
    ("0.10000000000000000000", None), ("5e-324", None),
]  # fmt: skip


@pytest.mark.parametrize(("number", "becomes"), NUMBERS)
def test_numbers(number: str, becomes: str | None) -> None:
    source = f'{{"id":"{number}","n":[0,{number}]}}'.encode()
    found = find_inexact(open_json(source))
    assert found.whole
    if becomes is None:
        assert found.total == 0
    else:
        assert found.total == 1
        (one,) = found.told
        assert (format_steps(one.steps), one.becomes, one.spelling) == ("n[1]", becomes, number)
        assert source[one.offset :].startswith(number.encode())


def test_many_inexact_numbers_are_counted() -> None:
    found = find_inexact(open_json(b"[" + b"12345678901234567890," * 5000 + b"1e400]"), most=2)
    assert (found.total, len(found.told)) == (5001, 2)


@pytest.mark.parametrize("pad", [0, 300, 5000])
def test_paths_lead_to_numbers_in_containers_of_every_size(pad: int) -> None:
    rest = [0] * pad
    tree = {"a": {"l": rest, "id": 3}, "n": [*rest, [1, {"id": 3, "l": rest}]], "z": 3}
    source = json.dumps(tree).replace("3", "12345678901234567891")
    found = find_inexact(open_json(source.encode()))
    assert [one.steps for one in found.told] == [("a", "id"), ("n", pad, 1, "id"), ("z",)]
    assert len({one.offset for one in found.told}) == 3


def test_a_path_leads_into_the_earlier_value_of_a_repeated_key() -> None:
    rest = b"0," * 3000
    source = b'{"k":[%s1e400],"k":[%s0],"m":1e-400}' % (rest, rest)
    found = find_inexact(open_json(source))
    assert [one.steps for one in found.told] == [("k", 3000), ("m",)]


def test_the_first_of_too_many_are_compared() -> None:
    numbers = b",".join(b"0.%020d" % k for k in range(100))
    document = open_json(b"[[" + numbers + b"]," * 1 + b"[1]]")
    assert find_inexact(document, looked_at=99).whole is False


_keys = st.sampled_from(["a", "b", ":", "a\\", '"', "é", "\u003a:", ""])
_trees = st.recursive(
    st.integers(0, 9) | st.sampled_from([":", ":x", '":', "\\", 'a":1']),
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(_keys, inner), max_size=4).map(tuple),
    max_leaves=25,
)


def _write(tree: Any, spaced: bool) -> str:
    if isinstance(tree, tuple):
        colon = " : " if spaced else ":"
        return "{" + ",".join(json.dumps(k) + colon + _write(v, spaced) for k, v in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(_write(v, spaced) for v in tree) + "]"
    return json.dumps(tree)


@settings(max_examples=200, deadline=None)
@given(tree=_trees, spaced=st.booleans(), span_bytes=st.sampled_from([1, 16, 64, 1 << 20]))
def test_repeats_are_those_that_pairs_show(tree: Any, spaced: bool, span_bytes: int) -> None:
    source = _write(tree, spaced).encode()
    expected: list[tuple[str, int]] = []

    def pairs(found: list[tuple[str, Any]]) -> None:
        names = [k for k, _ in found]
        expected.extend((k, names.count(k)) for k in set(names) if names.count(k) > 1)

    json.loads(source, object_pairs_hook=pairs)
    before = spans.split.__defaults__
    spans.split.__defaults__ = (span_bytes,)
    try:
        found = find_repeats(open_json(source), most=10**6)
    finally:
        spans.split.__defaults__ = before
    assert sorted((str(one.steps[-1]), one.count) for one in found.told) == sorted(expected)
    for one in found.told:
        key, _ = json.JSONDecoder().raw_decode(source[one.offset :].decode())
        assert key == one.steps[-1]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.decimals(allow_nan=False, allow_infinity=False), max_size=8))
def test_inexact_numbers_are_those_that_doubles_change(values: list[float | int | Decimal]) -> None:
    spelled = [str(v).replace("E+", "e") if isinstance(v, Decimal) else repr(v) for v in values]
    found = find_inexact(open_json(("[" + ",".join(spelled) + "]").encode()))

    def changes(number: str) -> bool:
        double = float(number)
        if double in (float("inf"), float("-inf")):
            return True
        return Decimal(number) != Decimal(repr(double)) and not (
            number.lstrip("-").isdigit() and Decimal(number) == Decimal(double)
        )

    assert [one.steps[0] for one in found.told] == [k for k, n in enumerate(spelled) if changes(n)]


def test_spans_cover_each_value_once() -> None:
    source = json.dumps({"a": [{"k": [k] * 5} for k in range(50)], "b": {"c": list(range(99)), "d": "x" * 300}})
    document: Document = open_json(source.encode())
    covered = [part for part in spans.split(document, 64) if isinstance(part, spans.Span)]
    text = b" ".join(document.text[s.start : s.end] for s in sorted(covered, key=lambda s: s.start))
    for k in range(50):
        assert text.count(b'{"k": [%d, ' % k) == 1
    assert all(s.end - s.start < 400 for s in covered)
