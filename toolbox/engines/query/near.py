"""The names nearest to one that misses: other case, slips, prefixes, parts."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Final

SLIPS_FOR: Final = 50_000
"""Names up to which the edit distance is measured; past it only case, prefix and part count."""

_SLIPS: Final = 8
"""Edits past which two long names are not one and the same mistyped."""

_SEPARATORS: Final = str.maketrans("", "", "-_. /:")

_NAME_CHARACTERS: Final = 256
"""Of longer names only so much is compared."""


def fold(name: str) -> str:
    """A name without what people get wrong first: case and separators."""
    return name.casefold().translate(_SEPARATORS)


def distance(a: str, b: str, most: int) -> int:
    """Edits between two names, swaps of neighbours as one; most + 1 where there are more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    head = 0
    while head < len(a) and head < len(b) and a[head] == b[head]:
        head += 1
    a, b = a[head:], b[head:]
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        new = [i]
        for j, y in enumerate(b, 1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        if min(new) > most:
            return most + 1
        before, row = row, new
    return min(row[-1], most + 1)


def rank(name: str, other: str, *, slips: bool = True) -> tuple[int, int] | None:
    """How near another name is, small is near; None where it is not."""
    name, other = name[:_NAME_CHARACTERS], other[:_NAME_CHARACTERS]
    if not name or not other:
        return None
    a, b = fold(name), fold(other)
    if a == b and a:
        return 0, abs(len(name) - len(other))
    if slips:
        most = min(min(len(a), len(b)) // 3, _SLIPS)
        found = distance(a, b, most)
        if found <= most:
            return 1, found
    if not a or not b:
        return None
    if b.startswith(a) or a.startswith(b):
        return 2, abs(len(a) - len(b))
    if (len(a) > 2 and a in b) or (len(b) > 2 and b in a):
        return 3, abs(len(a) - len(b))
    return None


def nearest(name: str, others: Iterable[str], most: int, total: int) -> list[str]:
    """At most so many of the names, nearest first; those that are not near stay out."""
    slips = total <= SLIPS_FOR
    ranked = (
        (found, place, other)
        for place, other in enumerate(others)
        if (found := rank(name, other, slips=slips)) is not None
    )
    return [other for _, _, other in heapq.nsmallest(most, ranked)]


def closest(name: str, others: Sequence[str]) -> str:
    """Of several names the one with the fewest edits to it, the first of equals."""
    most = 2 * _NAME_CHARACTERS
    edits = [distance(name, other[:_NAME_CHARACTERS], most) for other in others]
    return others[edits.index(min(edits))]
