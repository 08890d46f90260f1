"""Values at a path of a document: one, or many where it fans out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from toolbox.engines.documents import lazy
from toolbox.engines.documents.chains import KEYS_AT_ONCE
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.misses import Miss, no_path
from toolbox.engines.query.paths import (
    Index,
    Key,
    Segment,
    Star,
    Step,
    format_steps,
    is_digits,
    parse,
)  # fmt: skip

_PATHS_KEPT: Final = 512
_KEPT: Final = "found"
"""Key of `Document.kept`: path → [start, end), steps and warnings of single values."""

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


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a path."""

    matches: Sequence[Match]
    """In document order; exactly one where the path does not fan out."""
    fans_out: bool
    missing: int = 0
    """Branches of a fan-out that lack the rest of the path."""
    warnings: tuple[str, ...] = ()
    """Duplicate keys that the path crosses."""

    @property
    def one(self) -> Match:
        return self.matches[0]


def find(doc: Document, path: str, deadline: Looks | None = None) -> Found:
    """The value, or values, at a path.

    BadPath where the path breaks the grammar; NoPath where it misses (for a fan-out only where
    every branch does), with the nearest keys and a corrected path.
    """
    kept = doc.kept.setdefault(_KEPT, OrderedDict())
    assert isinstance(kept, OrderedDict)
    known = kept.get(path)
    if known is not None:
        kept.move_to_end(path)
        steps, start, end, warnings = known
        return Found((Match(steps, Node(doc, start, end)),), False, warnings=warnings)
    segments = parse(path)
    search = _Search(doc, segments, deadline)
    if not any(isinstance(s, Star) for s in segments):
        match = search.one()
        warnings = tuple(search.warnings())
        kept[path] = (match.steps, match.node.start, match.node.end, warnings)
        if len(kept) > _PATHS_KEPT:
            kept.popitem(last=False)
        return Found((match,), False, warnings=warnings)
    matches = search.many()
    return Found(matches, True, search.missing, tuple(search.warnings()))


class _Search:
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
        node, steps, at = self.advance(lazy.root(self.doc), (), 0)
        if at < len(self.segments):
            self.raise_miss(node, steps, at)
        return Match(steps, node)

    def many(self) -> list[Match]:
        matches = list(self.expand(lazy.root(self.doc), (), 0))
        if not matches and self.missing and self.first_miss is not None:
            self.raise_miss(*self.first_miss)
        return matches

    def expand(self, node: Node, steps: tuple[Step, ...], at: int) -> Iterator[Match]:
        """The matches below a value, in document order, without recursion per level of it."""
        pending: list[Iterator[tuple[Step, Node]]] = []
        bases: list[tuple[Step, ...]] = []
        places: list[int] = []
        while True:
            node, steps, at = self.advance(node, steps, at)
            if at == len(self.segments):
                yield Match(steps, node)
            elif isinstance(self.segments[at], Star) and node.type in ("array", "object"):
                pending.append(self.children(node, steps))
                bases.append(steps)
                places.append(at + 1)
            else:
                self.missing += 1
                if self.first_miss is None:
                    self.first_miss = (node, steps, at)
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

    def look(self) -> None:
        self.seen += 1
        if self.deadline is not None and self.seen % _LOOK_EVERY == 0:
            self.deadline.check()

    def children(self, node: Node, steps: tuple[Step, ...]) -> Iterator[tuple[Step, Node]]:
        if node.type == "array":
            yield from enumerate(lazy.elements(node))
            return
        members = lazy.members(node)
        for key, value in members:
            if members.repeats and (times := members.repeats.get(key, 1)) > 1:
                self.repeat((*steps, key), times, value)
            yield key, value

    def advance(
        self, node: Node, steps: tuple[Step, ...], at: int
    ) -> tuple[Node, tuple[Step, ...], int]:
        """As far as the segments lead one value on: where they stop, and at which segment."""
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
                    for place, times, value in found.repeats:
                        self.repeat((*steps, *keys[: place + 1]), times, value)
                    steps, node, at = (*steps, *keys), found.node, at + len(keys)
                    continue
            child = lazy.child(node, segment.name)
            if child is None:
                break
            if (times := lazy.repeats_of(node, segment.name, child)) > 1:
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

    def raise_miss(self, node: Node, steps: tuple[Step, ...], at: int) -> None:
        raise no_path(Miss(node, steps, self.segments, at, self.missing))
