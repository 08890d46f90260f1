"""Which elements of two arrays belong together: by place, by likeness, or by a member's value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbox.engines.diff import myers
from toolbox.engines.documents import lazy
from toolbox.engines.documents.nodes import Elements, Node

if TYPE_CHECKING:
    from toolbox.engines.diff.tree import Comparer, HasCheck

STEPS_MOST: Final = 4_000_000
"""Search steps for one array, about a second."""

LIKENESS_CELLS: Final = 2_500
"""Pairs of a changed block that are looked at for likeness; larger blocks pair by place."""

_LIKENESS_MEMBERS: Final = 200
_SAME_TYPE: Final = 0.1
_OTHER_TYPE: Final = 0.01


class Kept(NamedTuple):
    """Element i of before is element j of after."""

    i: int
    j: int
    moved: bool


class Pairing(NamedTuple):
    """What became of two arrays' elements."""

    kept: list[Kept]
    """In the order of after."""
    removed: list[int]
    added: list[int]


def by_index(n: int, m: int) -> Pairing:
    """Elements at the same place belong together."""
    both = min(n, m)
    return Pairing(
        [Kept(k, k, False) for k in range(both)], list(range(both, n)), list(range(both, m))
    )


def align(
    comparer: Comparer, a: Elements, b: Elements, deadline: HasCheck | None
) -> tuple[Pairing, bool]:
    """A longest common run of equal elements; what is between them is paired by likeness.

    The second value is False where the search ran out of steps.
    """
    left, right = _numbers(comparer, a, b)
    script = myers.compare(left, right, budget=STEPS_MOST, deadline=deadline)
    kept: list[Kept] = []
    removed: list[int] = []
    added: list[int] = []
    block: list[tuple[int, int]] = []  # a deletion waiting for what was put in its place
    for op, i1, i2, j1, j2 in script.edits:
        if op == "delete":
            block = [(i1, i2)]
            removed.extend(range(i1, i2))
            continue
        if op == "insert" and block:
            start, end = block[0]
            del removed[len(removed) - (end - start) :]
            pairs = _like(comparer, a[start:end], b[j1:j2])
            used_i = {i for i, _ in pairs}
            used_j = {j for _, j in pairs}
            kept.extend(Kept(start + i, j1 + j, False) for i, j in pairs)
            removed.extend(start + i for i in range(end - start) if i not in used_i)
            added.extend(j1 + j for j in range(j2 - j1) if j not in used_j)
        elif op == "insert":
            added.extend(range(j1, j2))
        else:
            kept.extend(Kept(i1 + k, j1 + k, False) for k in range(i2 - i1))
        block = []
    return Pairing(kept, removed, added), script.exact


def _numbers(comparer: Comparer, a: Elements, b: Elements) -> tuple[list[int], list[int]]:
    """A number for each element, the same for equal ones: by bytes, else by value."""
    ids: dict[bytes, int] = {}
    spelled = bool(a.doc.spellings or b.doc.spellings)
    raws_a = [b"" if spelled else node.raw for node in a]
    raws_b = [b"" if spelled else node.raw for node in b]
    both = set(raws_a) & set(raws_b) if not spelled else set()

    def number(node: Node, raw: bytes) -> int:
        key = raw if raw in both else b"\0" + comparer.digest(node)
        return ids.setdefault(key, len(ids))

    return (
        [number(node, raw) for node, raw in zip(a, raws_a, strict=True)],
        [number(node, raw) for node, raw in zip(b, raws_b, strict=True)],
    )


def _like(comparer: Comparer, a: Sequence[Node], b: Sequence[Node]) -> list[tuple[int, int]]:
    """Pairs in order that are most alike, for a block that was replaced."""
    n, m = len(a), len(b)
    if n * m > LIKENESS_CELLS:
        return [(k, k) for k in range(min(n, m))]
    sides = [[_facts(comparer, node) for node in side] for side in (a, b)]
    best = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            paired = best[i + 1][j + 1] + _likeness(sides[0][i], sides[1][j])
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs = []
    i = j = 0
    while i < n and j < m:
        if best[i][j] == best[i + 1][j + 1] + _likeness(sides[0][i], sides[1][j]):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


_Facts = tuple[str, frozenset[tuple[object, bytes]]]


def _facts(comparer: Comparer, node: Node) -> _Facts:
    """An element's type and some of its members, to tell how alike two are."""
    comparer.look()
    kind = node.type
    if kind == "object":
        members = lazy.members(node)
        return kind, frozenset((k, v.raw) for k, v in members[:_LIKENESS_MEMBERS])
    if kind == "array":
        return kind, frozenset((None, v.raw) for v in lazy.elements(node)[:_LIKENESS_MEMBERS])
    return kind, frozenset()


def _likeness(a: _Facts, b: _Facts) -> float:
    if a[0] != b[0]:
        return _OTHER_TYPE
    most = max(len(a[1]), len(b[1]))
    return _SAME_TYPE + (len(a[1] & b[1]) / most if most else 0.0)


def by_field(comparer: Comparer, a: Elements, b: Elements, name: str) -> Pairing | str | None:
    """Elements with the same value of a member belong together.

    Where that cannot be: why, or None where no element has the member at all.
    """
    olds, why_old = _keyed(comparer, a, name, "before")
    news, why_new = _keyed(comparer, b, name, "after")
    if olds is None or news is None:
        return why_old or why_new
    kept = [Kept(olds[value], j, False) for value, j in news.items() if value in olds]
    still = _longest_rise([one.i for one in kept])
    kept = [one if k in still else Kept(one.i, one.j, True) for k, one in enumerate(kept)]
    return Pairing(
        kept,
        [i for value, i in olds.items() if value not in news],
        [j for value, j in news.items() if value not in olds],
    )


def _keyed(
    comparer: Comparer, elements: Elements, name: str, side: str
) -> tuple[dict[tuple[str, object], int] | None, str | None]:
    found: dict[tuple[str, object], int] = {}
    lacking: int | None = None
    for at, node in enumerate(elements):
        comparer.look()
        value = lazy.child(node, name)
        if value is None or value.type in ("object", "array"):
            lacking = at if lacking is None else lacking
            continue
        key = comparer.scalar(value)
        if key in found:
            return None, (
                f"in {side}, elements {found[key]} and {at} have the same {name}, "
                f"{value.raw[:40].decode('utf-8', 'replace')}"
            )
        found[key] = at
    if lacking is not None:
        return None, f"in {side}, element {lacking} has no {name} to match by" if found else None
    return found, None


def _longest_rise(numbers: Sequence[int]) -> set[int]:
    """The places of a longest rising subsequence."""
    tops: list[int] = []
    at_top: list[int] = []
    before: list[int] = []
    for k, number in enumerate(numbers):
        place = bisect_left(tops, number)
        before.append(at_top[place - 1] if place else -1)
        if place == len(tops):
            tops.append(number)
            at_top.append(k)
        else:
            tops[place] = number
            at_top[place] = k
    found = set()
    k = at_top[-1] if at_top else -1
    while k >= 0:
        found.add(k)
        k = before[k]
    return found
