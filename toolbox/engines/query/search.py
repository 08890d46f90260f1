"""One evaluation of a path: as far as it leads from a value, and where branches end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from toolbox.engines.documents import lazy
from toolbox.engines.documents.chains import KEYS_AT_ONCE
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.paths import Index, Key, Segment, Star, Step, format_steps, is_digits
from toolbox.errors import NoPath

_LOOK_EVERY: Final = 2_048
"""Values between two looks at the deadline."""

_PATH_CHARACTERS: Final = 500

WARNINGS: Final = 5
"""Duplicate keys that are told one by one."""


class Looks(Protocol):
    """A deadline: `check` raises when it has passed."""

    def check(self) -> None: ...


class Match(NamedTuple):
    """One value and the concrete path to it."""

    steps: tuple[Step, ...]
    node: Node

    @property
    def path(self) -> str:
        """The path; empty for the root."""
        return format_steps(self.steps)


class Search:
    """One evaluation of a path."""

    def __init__(
        self, doc: Document, segments: tuple[Segment, ...], deadline: Looks | None
    ) -> None:
        self.doc = doc
        self.segments = segments
        self.deadline = deadline
        self.runs = [self.run(at) for at in range(len(segments))]
        self.missing = 0
        self.first_miss: tuple[Node, tuple[Step, ...], int] | None = None
        self.seen = 0
        self.repeats: list[tuple[tuple[Step, ...], int, Node]] = []
        self.repeats_total = 0

    def one(self) -> Match:
        """The value of a path without *; NoPath where it misses."""
        node, steps, at = self.advance(lazy.root(self.doc), (), 0)
        if at < len(self.segments):
            raise self.miss(node, steps, at)
        return Match(steps, node)

    def branches(self, last: int) -> Iterator[tuple[Node, tuple[Step, ...]]]:
        """The containers that the last * of the path opens, in document order.

        last: which segment that is. There is no recursion, however many * come before it.
        """
        pending: list[Iterator[tuple[Step, Node]]] = []
        bases: list[tuple[Step, ...]] = []
        places: list[int] = []
        node: Node = lazy.root(self.doc)
        steps: tuple[Step, ...] = ()
        at = 0
        while True:
            node, steps, at = self.advance(node, steps, at)
            if node.type not in ("array", "object") or not isinstance(self.segments[at], Star):
                self.lack(node, steps, at)
            elif at == last:
                yield node, steps
            else:
                pending.append(self.children(node, steps))
                bases.append(steps)
                places.append(at + 1)
            while pending:
                branch = next(pending[-1], None)
                if branch is not None:
                    self.look()
                    steps, at, node = (*bases[-1], branch[0]), places[-1], branch[1]
                    break
                pending.pop()
                bases.pop()
                places.pop()
            else:
                return

    def lack(self, node: Node, steps: tuple[Step, ...], at: int) -> None:
        """Count a branch that ends before the path does."""
        self.missing += 1
        if self.first_miss is None:
            self.first_miss = (node, steps, at)

    def look(self) -> None:
        """Count one value more, and look at the deadline now and then."""
        self.seen += 1
        if self.seen % _LOOK_EVERY == 0:
            self.check()

    def check(self) -> None:
        """Look at the deadline."""
        if self.deadline is not None:
            self.deadline.check()

    def children(self, node: Node, steps: tuple[Step, ...]) -> Iterator[tuple[Step, Node]]:
        if node.type == "array":
            yield from enumerate(lazy.elements(node))
            return
        members = lazy.members(node)
        if members.repeats:
            self.repeats_in(node, steps)
        yield from members

    def repeats_in(self, node: Node, steps: tuple[Step, ...]) -> None:
        """Note the duplicate keys of an object, all of whose values are taken."""
        members = lazy.members(node)
        for key, times in members.repeats.items():
            value = members.find(key)
            assert value is not None
            self.repeat((*steps, key), times, value)

    def advance(
        self, node: Node, steps: tuple[Step, ...], at: int, *, tell: bool = True
    ) -> tuple[Node, tuple[Step, ...], int]:
        """As far as the segments lead one value on: where they stop, and at which segment.

        tell: whether duplicate keys on the way are noted for `warnings`.
        """
        segments = self.segments
        while at < len(segments):
            segment = segments[at]
            if isinstance(segment, Star):
                break
            kind = node.type
            if isinstance(segment, Index) or (
                kind == "array" and not segment.quoted and is_digits(segment.name)
            ):
                if kind != "array":
                    break
                n = segment.n if isinstance(segment, Index) else int(segment.name)
                elements = lazy.elements(node)
                if not -len(elements) <= n < len(elements):
                    break
                n %= len(elements)
                steps, node, at = (*steps, n), elements[n], at + 1
                continue
            if kind != "object":
                break
            keys, indexed = self.runs[at]
            if len(keys) > 1 or (indexed and len(keys) == 1):
                found = lazy.descend(node, keys, indexed=indexed)
                if found.node is not None:
                    for place, times, value in found.repeats if tell else ():
                        self.repeat((*steps, *keys[: place + 1]), times, value)
                    steps, node, at = (*steps, *keys), found.node, at + len(keys)
                    continue
            child = lazy.child(node, segment.name)
            if child is None:
                break
            if tell and (times := lazy.repeats_of(node, segment.name, child)) > 1:
                self.repeat((*steps, segment.name), times, child)
            steps, node, at = (*steps, segment.name), child, at + 1
        return node, steps, at

    def run(self, at: int) -> tuple[tuple[str, ...], bool]:
        """The keys from a segment on that can be taken at once, and whether an index follows."""
        keys: list[str] = []
        for segment in self.segments[at : at + KEYS_AT_ONCE]:
            if not isinstance(segment, Key):
                return tuple(keys), True
            if keys and not segment.quoted and is_digits(segment.name):
                break
            keys.append(segment.name)
        return tuple(keys), False

    def repeat(self, steps: tuple[Step, ...], times: int, value: Node) -> None:
        self.repeats_total += 1
        if len(self.repeats) < WARNINGS:
            self.repeats.append((steps, times, value))

    def warnings(self) -> Iterator[str]:
        for steps, times, value in self.repeats:
            line = self.doc.place(value.start, value.end).line
            yield (
                f"duplicate key: {format_steps(steps)[:_PATH_CHARACTERS]} stands {times} times in "
                f"its object; the last, on line {line}, counts"
            )
        if self.repeats_total > len(self.repeats):
            yield f"… and {self.repeats_total - len(self.repeats)} more duplicate keys"

    def miss(self, node: Node, steps: tuple[Step, ...], at: int) -> NoPath:
        """The error for a path that stops at a value, before a segment."""
        from toolbox.engines.query.misses import Miss, no_path  # only for a miss

        return no_path(Miss(node, steps, self.segments, at, self.missing))
