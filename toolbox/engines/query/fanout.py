"""Many values at a path with *: counted at once, made one by one when they are looked at."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final, overload

import msgspec

from toolbox.engines.documents import chains, lazy
from toolbox.engines.documents.addresses import address
from toolbox.engines.documents.kept import kept_of
from toolbox.engines.documents.nodes import Elements, Members, Node
from toolbox.engines.query.paths import Index, Key, Segment, Star, Step, is_digits
from toolbox.engines.query.search import Match, Search

_LOOK_EVERY: Final = 8_192
"""Children between two looks at the deadline."""

_KEPT_FROM: Final = 32
"""Matches of one container from which where its children stand is kept; else it is found anew."""


class _Group:
    """The matches below one container that the last * opened."""

    __slots__ = ("_children", "count", "first", "hits", "node", "steps")

    def __init__(
        self,
        node: Node,
        steps: tuple[Step, ...],
        first: int,
        count: int,
        hits: array[int] | None = None,
        children: Elements | Members | None = None,
    ) -> None:
        self.node = node
        self.steps = steps
        self.first = first
        """How many matches come before."""
        self.count = count
        self.hits = hits
        """Which children have the rest of the path; None for all."""
        self._children = children

    def children(self) -> Elements | Members:
        """The container's children; found anew where they are not kept."""
        if self._children is not None:
            return self._children
        return lazy.elements(self.node) if self.node.type == "array" else lazy.members(self.node)


class Matches(Sequence[Match]):
    """The matches of a fan-out, in document order; each is made when it is taken."""

    __slots__ = ("_firsts", "_groups", "_last", "_rest", "_search", "_total")

    def __init__(self, search: Search, groups: list[_Group], rest: int) -> None:
        self._search = search
        self._groups = groups
        self._firsts = [group.first for group in groups]
        self._rest = rest
        self._last: tuple[_Group, Elements | Members] | None = None
        self._total = groups[-1].first + groups[-1].count if groups else 0

    def __len__(self) -> int:
        return self._total

    @overload
    def __getitem__(self, at: int) -> Match: ...
    @overload
    def __getitem__(self, at: slice) -> list[Match]: ...
    def __getitem__(self, at: int | slice) -> Match | list[Match]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(self._total))]
        if not -self._total <= at < self._total:
            raise IndexError(at)
        at %= self._total
        group = self._groups[bisect_right(self._firsts, at) - 1]
        return self._make(group, at - group.first)

    def __iter__(self) -> Iterator[Match]:
        for group in self._groups:
            for n in range(group.count):
                self._search.look()
                yield self._make(group, n)

    def _make(self, group: _Group, n: int) -> Match:
        if self._last is None or self._last[0] is not group:
            self._last = group, group.children()
        children = self._last[1]
        at = n if group.hits is None else group.hits[n]
        step: Step
        if isinstance(children, Members):
            step, child = children[at]
        else:
            step, child = at, children[at]
        node, steps, _ = self._search.advance(child, (*group.steps, step), self._rest, tell=False)
        return Match(steps, node)


def fan_out(search: Search) -> Matches:
    """The matches of a path with *. NoPath where there are branches and all of them miss."""
    segments = search.segments
    last = max(at for at, segment in enumerate(segments) if isinstance(segment, Star))
    has = _test(search, segments[last + 1 :])
    groups: list[_Group] = []
    total = 0
    for node, steps in search.branches(last):
        group = _group(search, node, steps, last + 1, has, total)
        if group.count:
            groups.append(group)
            total += group.count
    if not total and search.first_miss is not None:
        raise search.miss(*search.first_miss)
    return Matches(search, groups, last + 1)


Test = Callable[[int, int], bool | None]
"""From [start, end) of a child: whether it has the rest of the path; None where that must be
looked at closely."""


def _group(
    search: Search, node: Node, steps: tuple[Step, ...], rest: int, has: Test | None, first: int
) -> _Group:
    children: Elements | Members
    if node.type == "array":
        if has is None:
            return _Group(node, steps, first, lazy.size(node))
        children = lazy.elements(node)
    else:
        count, repeats = lazy.count_members(node)
        if repeats:
            search.repeats_in(node, steps)
        if has is None:
            return _Group(node, steps, first, count)
        children = lazy.members(node)
    names = children.keys if isinstance(children, Members) else None
    hits = array("I")
    for n, (start, end) in enumerate(zip(children.starts, children.ends, strict=True)):
        if n % _LOOK_EVERY == 0:
            search.check()
        found = has(start, end)
        if found:
            hits.append(n)
            continue
        if found is None or search.first_miss is None:
            base = (*steps, names[n] if names is not None else n)
            stop, where, at = search.advance(Node(node.doc, start, end), base, rest)
            if at == len(search.segments):
                hits.append(n)
            else:
                search.lack(stop, where, at)
        else:
            search.missing += 1
    return _Group(node, steps, first, len(hits), hits, children if len(hits) > _KEPT_FROM else None)


def _test(search: Search, rest: tuple[Segment, ...]) -> Test | None:
    """A quick test for the rest of the path; None where every child has it."""
    if not rest:
        return None
    kept = kept_of(search.doc)
    text, view, base = kept.text, kept.view, kept.base
    first = rest[0]
    if len(rest) == 1 and isinstance(first, Index) and first.n in (0, -1):

        def begins(start: int, end: int) -> bool:
            return text[start] == 0x5B and not lazy.is_empty(Node(search.doc, start, end))

        return begins
    keys = tuple(s.name for s in rest if isinstance(s, Key))
    if (
        len(keys) < len(rest)
        or chains.usable(keys) != keys
        or kept.shadow is not None
        or any(is_digits(s.name) and not s.quoted for s in rest if isinstance(s, Key))
    ):
        return lambda start, end: None
    decoder = chains.decoder(keys)
    levels = range(len(keys))
    tokens = [msgspec.json.encode(key) for key in keys]
    unset = msgspec.UNSET

    def is_single(start: int, end: int) -> bool:
        for token in tokens:
            once = text.find(token, start, end)
            if once < 0 or text.find(token, once + 1, end) >= 0:
                return False
        return True

    def leads(start: int, end: int) -> bool | None:
        if text[start] != 0x7B:
            return False
        try:
            value = decoder.decode(view[start:end])
        except (msgspec.ValidationError, RecursionError):
            return None
        for _ in levels:
            if value is unset:
                return False
            value = value.f
        if value is unset:
            return False
        # A key that may stand twice before the value is looked at closely, for its warning.
        if is_single(start, end) or is_single(start, address(value) - base):
            return True
        return None

    return leads
