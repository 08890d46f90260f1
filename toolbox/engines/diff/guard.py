"""Line diffs too large for one pass of xdiff, cut into boxes that are not.

xdiff bounds each split, not the whole: two sides of two million two-symbol lines took it 27
seconds, and nothing can interrupt it. So past `lines_most` lines are numbered, those that the
other side lacks are dropped (they can match nothing), what remains is split at lines unique on
both sides (or at short runs of lines that are), and a box that is still too large is replaced
whole, which the caller tells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from toolbox.engines.diff import myers, xdiff
from toolbox.engines.diff.myers import HasCheck, Pair
from toolbox.engines.diff.xdiff import Change

LINES_MOST: Final = 500_000
"""Lines of both sides that one pass of xdiff may take: 1.2 s at the worst seen."""

BOX_SHARE: Final = 8
"""A split gives boxes of about that part of LINES_MOST: small ones are cheap at the worst too."""

NEIGHBOURS: Final = 16
"""Of unique lines that follow each other on both sides one in so many is looked at."""

PASSES_MOST: Final = 6
"""All passes together may take that many times LINES_MOST; past it boxes are replaced whole."""

SPLITS_MOST: Final = 8
"""How often a box is split at unique lines again before it is replaced whole."""

WINDOW_LINES: Final = 8
"""A power of two: lines taken together where none is unique alone."""

GREEDY_STEPS: Final = 4_000_000
"""Steps of the search for few edits that goes first, about a second."""


class Guarded(NamedTuple):
    """Changed blocks in order, and which of them stand for boxes that were too large."""

    changes: list[Change]
    blocks: list[Change]


def large_changes(
    a: Sequence[bytes],
    b: Sequence[bytes],
    *,
    deadline: HasCheck | None = None,
    lines_most: int = LINES_MOST,
) -> Guarded:
    """The changes between two long lists of lines, in bounded time."""
    ids: dict[bytes, int] = {}
    intern = ids.setdefault
    left = [intern(line, len(ids)) for line in a]
    right = [intern(line, len(ids)) for line in b]
    _look(deadline)
    few = myers.few_edits(left, right, budget=GREEDY_STEPS, deadline=deadline)
    if few is not None:
        return Guarded(_changes_from(few, len(left), len(right)), [])
    in_a, in_b = set(left), set(right)
    a_at = [i for i, line in enumerate(left) if line in in_b]
    b_at = [j for j, line in enumerate(right) if line in in_a]
    _look(deadline)
    boxes = _Boxes([left[i] for i in a_at], [right[j] for j in b_at], lines_most, deadline)
    boxes.run()
    pairs = myers.spread(boxes.pairs, a_at, b_at)
    changes = _changes_from(pairs, len(left), len(right))
    return Guarded(changes, _blocks(boxes.whole, a_at, b_at, changes))


def _blocks(
    boxes: list[Change], a_at: list[int], b_at: list[int], changes: list[Change]
) -> list[Change]:
    """The changes that hold a box replaced whole."""
    found: list[Change] = []
    starts = [change.a_start for change in changes]
    for box in boxes:
        at = bisect_left(starts, a_at[box.a_start] + 1) - 1
        if not found or found[-1] != changes[at]:
            found.append(changes[at])
    return found


def _changes_from(pairs: list[Pair], n: int, m: int) -> list[Change]:
    changes: list[Change] = []
    i = j = 0
    for a, b, length in (*pairs, Pair(n, m, 0)):
        if a > i or b > j:
            changes.append(Change(i, a, j, b))
        i, j = a + length, b + length
    return changes


def _look(deadline: HasCheck | None) -> None:
    if deadline is not None:
        deadline.check()


class _Boxes:
    """The search through boxes of two lists of numbers; `pairs` and `whole` are what it finds."""

    def __init__(
        self, a: list[int], b: list[int], lines_most: int, deadline: HasCheck | None
    ) -> None:
        self.a, self.b = a, b
        self.lines_most = lines_most
        self.lines_left = lines_most * PASSES_MOST
        self.deadline = deadline
        self.pairs: list[Pair] = []
        self.whole: list[Change] = []

    def run(self) -> None:
        stack: list[tuple[Change, int] | Pair] = [(Change(0, len(self.a), 0, len(self.b)), 0)]
        while stack:
            top = stack.pop()
            if isinstance(top, Pair):
                self.pairs.append(top)
                continue
            box, splits = top
            i1, i2, j1, j2 = box
            head, tail = myers.common_ends(self.a, self.b, i1, i2, j1, j2)
            if head:
                self.pairs.append(Pair(i1, j1, head))
            if tail:
                stack.append(Pair(i2 - tail, j2 - tail, tail))
            box = Change(i1 + head, i2 - tail, j1 + head, j2 - tail)
            lines = box.a_end - box.a_start + box.b_end - box.b_start
            if box.a_start == box.a_end or box.b_start == box.b_end:
                continue
            _look(self.deadline)
            if lines <= self.lines_most and lines <= self.lines_left:
                self.lines_left -= lines
                self.pairs.extend(self._pass(box))
                continue
            anchors = self._anchors(box) if splits < SPLITS_MOST else []
            if not anchors:
                self.whole.append(box)
                continue
            corners = [(box.a_start, box.b_start), *anchors, (box.a_end, box.b_end)]
            inner: list[tuple[Change, int] | Pair] = [
                (Change(i, k, j, m), splits + 1) for (i, j), (k, m) in pairwise(corners)
            ]
            stack.extend(reversed(inner))

    def _pass(self, box: Change) -> list[Pair]:
        """One pass of xdiff over the box, its lines spelled as numbers."""
        i1, i2, j1, j2 = box
        a = b"".join([b"%x\n" % line for line in self.a[i1:i2]])
        b = b"".join([b"%x\n" % line for line in self.b[j1:j2]])
        pairs = []
        i = j = 0
        found = xdiff.changes(a, b, minimal=False)
        for change in (*found, Change(i2 - i1, i2 - i1, j2 - j1, j2 - j1)):
            if change.a_start > i:
                pairs.append(Pair(i1 + i, j1 + j, change.a_start - i))
            i, j = change.a_end, change.b_end
        return pairs

    def _anchors(self, box: Change) -> list[tuple[int, int]]:
        """Places of lines that stand once on both sides, in order and well apart.

        Where no line is unique, runs of WINDOW_LINES lines are taken for lines, if there are
        distinct lines enough for such runs to be unique.
        """
        i1, i2, j1, j2 = box
        a, b = self.a[i1:i2], self.b[j1:j2]
        found = _longest_chain(a, b)
        if not found:
            _look(self.deadline)
            if len(set(a)) ** WINDOW_LINES >= 16 * len(a):
                found = _longest_chain(_windows(a), _windows(b))
        # Windows are known by a hash: only what is the same line on both sides is an anchor.
        corners: list[tuple[int, int]] = []
        spaced = 0
        for i, j in found:
            if i + j >= spaced and a[i] == b[j]:
                corners.append((i1 + i, j1 + j))
                spaced = i + j + self.lines_most // BOX_SHARE
        return corners


def _windows(lines: list[int]) -> list[int]:
    """For each line a hash of it and those after it, WINDOW_LINES in all; the same in each run."""
    width = 1
    while width < WINDOW_LINES:
        lines = list(map(hash, zip(lines, lines[width:], strict=False)))
        width *= 2
    return lines


def _longest_chain(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    """Places of what stands once in both, ascending on both sides, as many as can be."""
    once_a = {line for line, n in Counter(a).items() if n == 1}
    once = {line for line, n in Counter(b).items() if n == 1} & once_a
    if not once:
        return []
    place = {line: i for i, line in enumerate(a) if line in once}
    candidates: list[tuple[int, int]] = []
    expected = -1
    for j, line in enumerate(b):
        i = place.get(line, -1)
        # Of neighbours on both sides a few speak for all.
        if i >= 0 and (i != expected or j % NEIGHBOURS == 0):
            candidates.append((i, j))
        expected = i + 1 if i >= 0 else -1
    tops: list[int] = []
    top_at: list[int] = []
    before: list[int] = []
    for k, (i, _) in enumerate(candidates):
        at = bisect_left(tops, i)
        before.append(top_at[at - 1] if at else -1)
        if at == len(tops):
            tops.append(i)
            top_at.append(k)
        else:
            tops[at] = i
            top_at[at] = k
    chain: list[tuple[int, int]] = []
    k = top_at[-1]
    while k >= 0:
        chain.append(candidates[k])
        k = before[k]
    chain.reverse()
    return chain
