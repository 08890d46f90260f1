"""Shortest edit scripts over sequences of hashable items.

E. W. Myers, «An O(ND) Difference Algorithm and Its Variations», 1986. Short scripts are found by
the forward search with its trace (so the choice among equally short ones is the textbook's),
long ones by H. Hyyrö's bit-vector LCS (2004), which is as exact and costs n·m/30 machine steps;
boxes too large for that are halved at a middle snake in linear space first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

Op = Literal["equal", "delete", "insert"]

GREEDY_EDITS: Final = 128
"""Edits up to which the forward search keeps its trace: 16 641 steps and as many numbers."""

BIT_CELLS: Final = 1 << 28
"""Cells of a box that the bit vectors take: 36 MB and about 100 ms at the most."""

CHECK_STEPS: Final = 20_000
"""Steps between two looks at the deadline, about 5 ms."""


class HasCheck(Protocol):
    """A moment that `check()` raises past."""

    def check(self) -> None: ...


class Edit(NamedTuple):
    """a[a_start:a_end] became b[b_start:b_end]; the side that an edit lacks is an empty range."""

    op: Op
    a_start: int
    a_end: int
    b_start: int
    b_end: int


@dataclass(frozen=True, slots=True)
class Script:
    """An edit script. exact: False where the budget ran out and a box was replaced whole."""

    edits: list[Edit]
    exact: bool


class Pair(NamedTuple):
    """a[a:a+length] equals b[b:b+length]."""

    a: int
    b: int
    length: int


class _BudgetSpent(Exception):
    """Raised inside a search whose budget ran out."""


class _Meter:
    """Steps taken, against a budget and a deadline."""

    __slots__ = ("deadline", "left", "until_check")

    def __init__(self, budget: int | None, deadline: HasCheck | None) -> None:
        self.left = budget
        self.deadline = deadline
        self.until_check = CHECK_STEPS

    def spend(self, steps: int) -> None:
        if self.left is not None:
            self.left -= steps
            if self.left < 0:
                raise _BudgetSpent
        if self.deadline is not None:
            self.until_check -= steps
            if self.until_check < 0:
                self.until_check = CHECK_STEPS
                self.deadline.check()


def edit_script(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    *,
    budget: int | None = None,
    deadline: HasCheck | None = None,
) -> list[Edit]:
    """The shortest edits from a to b: (op, a_start, a_end, b_start, b_end) in order, no gaps.

    op is `equal`, `delete` or `insert`; neighbours of one op are one edit, and in a changed block
    the deletion comes first. Items are the same when `==` and `hash` say so: a caller to whom
    True and 1 differ passes (type, value). budget: see `compare`.
    """
    return compare(a, b, budget=budget, deadline=deadline).edits


def compare(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    *,
    budget: int | None = None,
    deadline: HasCheck | None = None,
) -> Script:
    """The edit script and whether it is exact.

    budget: search steps (about 4 million a second); what is undecided when they are spent is
    deleted and inserted whole, and `exact` is False. None searches to the end.
    """
    ids: dict[Hashable, int] = {}
    intern = ids.setdefault
    left = [intern(item, len(ids)) for item in a]
    right = [intern(item, len(ids)) for item in b]
    pairs, exact = matches(left, right, budget=budget, deadline=deadline)
    return Script(edits_from(pairs, len(left), len(right)), exact)


def edits_from(pairs: Sequence[Pair], n: int, m: int) -> list[Edit]:
    """Edits that keep the pairs (ascending, apart or touching) of sides of n and m items."""
    edits: list[Edit] = []
    i = j = 0
    start_a = start_b = -1
    for a, b, length in (*pairs, Pair(n, m, 0)):
        if a == i and b == j and start_a >= 0:
            i, j = a + length, b + length
            continue
        if start_a >= 0:
            edits.append(Edit("equal", start_a, i, start_b, j))
        if i < a:
            edits.append(Edit("delete", i, a, j, j))
        if j < b:
            edits.append(Edit("insert", a, a, j, b))
        start_a, start_b = a, b
        i, j = a + length, b + length
    if start_a >= 0 and i > start_a:
        edits.append(Edit("equal", start_a, i, start_b, j))
    return edits


def matches(
    a: list[int],
    b: list[int],
    *,
    budget: int | None = None,
    deadline: HasCheck | None = None,
    greedy_edits: int = GREEDY_EDITS,
    bit_cells: int = BIT_CELLS,
) -> tuple[list[Pair], bool]:
    """A longest common subsequence of two lists of numbers as ascending runs, and exactness."""
    meter = _Meter(budget, deadline)
    found: list[Pair] = []
    head, tail = common_ends(a, b, 0, len(a), 0, len(b))
    if head:
        found.append(Pair(0, 0, head))
    a_end, b_end = len(a) - tail, len(b) - tail
    exact = True
    if head < a_end and head < b_end:
        middle, exact = _middle(
            a[head:a_end], b[head:b_end], meter, greedy_edits, bit_cells
        )
        found.extend(Pair(x + head, y + head, length) for x, y, length in middle)
    if tail:
        found.append(Pair(a_end, b_end, tail))
    return found, exact


def _middle(
    a: list[int], b: list[int], meter: _Meter, greedy_edits: int, bit_cells: int
) -> tuple[list[Pair], bool]:
    try:
        short = _greedy(a, b, greedy_edits, meter)
        if short is not None:
            return short, True
    except _BudgetSpent:
        return [], False
    # What the other side lacks can match nothing: without it the boxes shrink, losing nothing.
    in_a, in_b = set(a), set(b)
    a_at = [i for i, item in enumerate(a) if item in in_b]
    b_at = [j for j, item in enumerate(b) if item in in_a]
    kept, exact = _divide([a[i] for i in a_at], [b[j] for j in b_at], meter, bit_cells)
    return spread(kept, a_at, b_at), exact


def few_edits(
    a: list[int], b: list[int], *, budget: int, deadline: HasCheck | None = None
) -> list[Pair] | None:
    """The runs of a shortest script of at most GREEDY_EDITS edits, None where it takes more."""
    try:
        return _greedy(a, b, GREEDY_EDITS, _Meter(budget, deadline))
    except _BudgetSpent:
        return None


def spread(kept: list[Pair], a_at: list[int], b_at: list[int]) -> list[Pair]:
    """Runs over the items kept as runs over all items; a_at and b_at are where those stood."""
    pairs: list[Pair] = []
    for x, y, length in kept:
        last = length - 1
        if a_at[x + last] - a_at[x] == last == b_at[y + last] - b_at[y]:
            pairs.append(Pair(a_at[x], b_at[y], length))
            continue
        for k in range(length):
            i, j = a_at[x + k], b_at[y + k]
            run = pairs[-1] if pairs else None
            if run and run.a + run.length == i and run.b + run.length == j:
                pairs[-1] = Pair(run.a, run.b, run.length + 1)
            else:
                pairs.append(Pair(i, j, 1))
    return pairs


def _divide(
    a: list[int], b: list[int], meter: _Meter, bit_cells: int
) -> tuple[list[Pair], bool]:
    """Boxes halved at middle snakes until each is small enough to be solved at once."""
    found: list[Pair] = []
    exact = True
    stack: list[tuple[int, int, int, int] | Pair] = [(0, len(a), 0, len(b))]
    while stack:
        top = stack.pop()
        if isinstance(top, Pair):
            found.append(top)
            continue
        i1, i2, j1, j2 = top
        head, tail = common_ends(a, b, i1, i2, j1, j2)
        if head:
            found.append(Pair(i1, j1, head))
        i1, j1, i2, j2 = i1 + head, j1 + head, i2 - tail, j2 - tail
        if tail:
            stack.append(Pair(i2, j2, tail))
        if i1 == i2 or j1 == j2:
            continue
        try:
            if (i2 - i1) * (j2 - j1) <= bit_cells:
                inner = _bits(a[i1:i2], b[j1:j2], meter)
                found.extend(Pair(x + i1, y + j1, length) for x, y, length in inner)
                continue
            x, y = _middle_snake(a, b, i1, i2, j1, j2, meter)
        except _BudgetSpent:
            exact = False
            continue
        stack.append((x, i2, y, j2))
        stack.append((i1, x, j1, y))
    return found, exact


def common_ends(a: list[int], b: list[int], i1: int, i2: int, j1: int, j2: int) -> tuple[int, int]:
    """How many items a[i1:i2] and b[j1:j2] share at the start, and at the end of the rest."""
    most = min(i2 - i1, j2 - j1)
    head = 0
    while head < most and a[i1 + head] == b[j1 + head]:
        head += 1
    most -= head
    tail = 0
    while tail < most and a[i2 - 1 - tail] == b[j2 - 1 - tail]:
        tail += 1
    return head, tail


def _greedy(a: list[int], b: list[int], most: int, meter: _Meter) -> list[Pair] | None:
    """Runs of the textbook's forward search, None where more than `most` edits are needed."""
    n, m = len(a), len(b)
    if abs(n - m) > most:
        return None
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    for d in range(min(n + m, most) + 1):
        trace.append(dict(reach))
        steps = d + 1
        for k in range(-d, d + 1, 2):
            if k == -d or (k != d and reach[k - 1] < reach[k + 1]):
                x = reach[k + 1]
            else:
                x = reach[k - 1] + 1
            y = x - k
            start = x
            while x < n and y < m and a[x] == b[y]:
                x += 1
                y += 1
            steps += x - start
            reach[k] = x
            if x >= n and y >= m:
                return _walk_back(trace, n, m)
        meter.spend(steps)
    return None


def _walk_back(trace: list[dict[int, int]], n: int, m: int) -> list[Pair]:
    runs: list[Pair] = []
    x, y = n, m
    for d in range(len(trace) - 1, -1, -1):
        reach = trace[d]
        k = x - y
        if k == -d or (k != d and reach[k - 1] < reach[k + 1]):
            before = k + 1
        else:
            before = k - 1
        from_x = reach[before] if d else 0
        from_y = from_x - before if d else 0
        # The edit, then the snake: the snake begins after the one step of the edit.
        start = from_x + (1 if before == k - 1 else 0) if d else 0
        if x > start:
            runs.append(Pair(start, start - k, x - start))
        x, y = from_x, from_y
    runs.reverse()
    return runs


def _bits(a: list[int], b: list[int], meter: _Meter) -> list[Pair]:
    """Runs of an LCS: bit i of row j is 0 where a[i] lengthens the LCS of a[:i] and b[:j]."""
    places: dict[int, int] = {}
    for i, item in enumerate(a):
        places[item] = places.get(item, 0) | (1 << i)
    full = (1 << len(a)) - 1
    row = full
    rows = [row]
    cost = 1 + len(a) // 1000
    for item in b:
        meter.spend(cost)
        if at := places.get(item):
            hit = row & at
            row = ((row + hit) | (row - hit)) & full
        rows.append(row)
    runs: list[Pair] = []
    i, j = len(a), len(b)
    while i and j:
        bit = i - 1
        if rows[j] >> bit & 1:
            i -= 1
        elif not rows[j - 1] >> bit & 1:
            j -= 1
        else:
            i -= 1
            j -= 1
            if runs and runs[-1].a == i + 1 and runs[-1].b == j + 1:
                runs[-1] = Pair(i, j, runs[-1].length + 1)
            else:
                runs.append(Pair(i, j, 1))
    runs.reverse()
    return runs


def _middle_snake(
    a: list[int], b: list[int], i1: int, i2: int, j1: int, j2: int, meter: _Meter
) -> tuple[int, int]:
    """A point on a shortest path through the box, where forward and backward search meet.

    The box has no common start or end, and both sides have items, so neither corner is met.
    """
    n, m = i2 - i1, j2 - j1
    delta = n - m
    odd = delta & 1
    forward: dict[int, int] = {1: 0}
    backward: dict[int, int] = {1: 0}
    for d in range((n + m + 1) // 2 + 1):
        steps = 2 * d + 2
        for k in range(-d, d + 1, 2):
            if k == -d or (k != d and forward[k - 1] < forward[k + 1]):
                x = forward[k + 1]
            else:
                x = forward[k - 1] + 1
            start, y = x, x - k
            while x < n and y < m and a[i1 + x] == b[j1 + y]:
                x += 1
                y += 1
            steps += x - start
            forward[k] = x
            opposite = delta - k
            if odd and -d < opposite < d and x + backward[opposite] >= n:
                return i1 + x, j1 + y
        for k in range(-d, d + 1, 2):
            if k == -d or (k != d and backward[k - 1] < backward[k + 1]):
                x = backward[k + 1]
            else:
                x = backward[k - 1] + 1
            start, y = x, x - k
            while x < n and y < m and a[i2 - 1 - x] == b[j2 - 1 - y]:
                x += 1
                y += 1
            steps += x - start
            backward[k] = x
            opposite = delta - k
            if not odd and -d <= opposite <= d and x + forward[opposite] >= n:
                return i2 - x, j2 - y
        meter.spend(steps)
    raise AssertionError("forward and backward search always meet")
