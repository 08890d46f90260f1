"""Edit scripts: right, shortest, in the textbook's order, bounded."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.diff.myers import Edit, compare, edit_script, edits_from, matches

SHORT = st.lists(st.integers(0, 3), max_size=24)


def longest_common(a: Sequence[Any], b: Sequence[Any]) -> int:
    """The length of an LCS by the quadratic table: the reference."""
    row = [0] * (len(b) + 1)
    for x in a:
        above = row
        row = [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
    return row[-1]


def replay(edits: Sequence[Edit], a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """b, from a and the edits; asserts that they are in order, whole and well-formed."""
    out: list[Any] = []
    i = j = 0
    previous = ""
    for op, a_start, a_end, b_start, b_end in edits:
        assert (a_start, b_start) == (i, j)
        assert op != previous
        if op == "equal":
            assert a_end - a_start == b_end - b_start > 0
            assert list(a[a_start:a_end]) == list(b[b_start:b_end])
            out += a[a_start:a_end]
        elif op == "delete":
            assert previous != "insert"
            assert a_end > a_start and b_end == b_start
        else:
            assert a_end == a_start and b_end > b_start
            out += b[b_start:b_end]
        i, j, previous = a_end, b_end, op
    assert (i, j) == (len(a), len(b))
    return out


def kept(edits: Sequence[Edit]) -> int:
    return sum(e.a_end - e.a_start for e in edits if e.op == "equal")


@settings(max_examples=200, deadline=None)
@given(SHORT, SHORT, st.sampled_from([(128, 1 << 28), (0, 1 << 28), (0, 0), (3, 16), (0, 9)]))
def test_shortest_by_every_way(a: list[int], b: list[int], limits: tuple[int, int]) -> None:
    pairs, exact = matches(a, b, greedy_edits=limits[0], bit_cells=limits[1])
    edits = edits_from(pairs, len(a), len(b))
    assert exact
    assert replay(edits, a, b) == b
    assert kept(edits) == longest_common(a, b)


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 6), st.integers(0, 1))
def test_shortest_on_longer_ones(random: Any, symbols: int, bits: int) -> None:
    a = [random.randrange(symbols) for _ in range(random.randrange(200))]
    b = [random.randrange(symbols) for _ in range(random.randrange(200))]
    pairs, _ = matches(a, b, greedy_edits=0, bit_cells=bits * 10_000)
    edits = edits_from(pairs, len(a), len(b))
    assert replay(edits, a, b) == b
    assert kept(edits) == longest_common(a, b)


@pytest.mark.parametrize(
    ("a", "b", "script"),
    [
        ("", "", ""),
        ("A", "", "-A"),
        ("", "A", "+A"),
        ("ABC", "AXC", "=A -B +X =C"),
        ("ABCABBA", "CBABAC", "-AB =C +B =AB -B =A +C"),
        ("AA", "A", "=A -A"),
        ("A", "AA", "=A +A"),
        ("ABAB", "AB", "=AB -AB"),
        ("XAY", "AZ", "-X =A -Y +Z"),
    ],
)
def test_textbook_choice(a: str, b: str, script: str) -> None:
    sign = {"equal": "=", "delete": "-", "insert": "+"}
    shown = [
        sign[e.op] + (b[e.b_start : e.b_end] if e.op == "insert" else a[e.a_start : e.a_end])
        for e in edit_script(a, b)
    ]
    assert " ".join(shown) == script


def test_any_hashable_items() -> None:
    a = [("str", "__proto__"), ("int", 1), None]
    b = [("str", "__proto__"), ("bool", 1), None]
    assert [e.op for e in edit_script(a, b)] == ["equal", "delete", "insert", "equal"]


def test_budget_replaces_whole() -> None:
    a = [i % 2 for i in range(900)]
    b = [i % 3 % 2 for i in range(900)]
    whole = compare(a, b)
    short = compare(a, b, budget=500)
    assert whole.exact and not short.exact
    assert replay(short.edits, a, b) == b
    assert kept(short.edits) < kept(whole.edits)


def test_budget_keeps_what_was_settled() -> None:
    a = [i % 5 for i in range(400)]
    b = [i % 7 % 5 for i in range(400)]
    pairs, exact = matches(a, b, budget=40_000, greedy_edits=0, bit_cells=64)
    edits = edits_from(pairs, len(a), len(b))
    assert replay(edits, a, b) == b
    assert not exact or kept(edits) == longest_common(a, b)


def test_deadline_is_looked_at() -> None:
    class Passed(Exception):
        pass

    class Deadline:
        def check(self) -> None:
            raise Passed

    random = Random(1)
    a = [random.randrange(9) for _ in range(3000)]
    b = [random.randrange(9) for _ in range(3000)]
    with pytest.raises(Passed):
        matches(a, b, deadline=Deadline(), bit_cells=0)


def test_one_sided_items_cost_nothing() -> None:
    a = list(range(50_000))
    b = list(range(50_000, 100_000))
    edits = compare(a, b, budget=100_000)
    assert edits.exact
    assert [tuple(e) for e in edits.edits] == [
        ("delete", 0, 50_000, 0, 0),
        ("insert", 50_000, 50_000, 0, 50_000),
    ]

