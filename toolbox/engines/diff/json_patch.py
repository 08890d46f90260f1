"""RFC 6902: operations that, one after the other, turn one document into the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from toolbox.engines.diff.pairing import Pairing
from toolbox.engines.diff.tree import (
    FRAMES,
    Comparer,
    HasCheck,
    Object,
    Options,
    Place,
    Step,
    differing_keys,
)
from toolbox.engines.documents import lazy, nesting
from toolbox.engines.documents.collection import paused
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.nodes import Elements, Node


class Operation(NamedTuple):
    """One operation; its place is that of the document as the ones before it left it."""

    op: Literal["add", "remove", "replace", "move"]
    place: Place
    value: Node | None = None
    source: Place = None
    """For a move."""


def operations(
    before: Document, after: Document, options: Options, deadline: HasCheck | None = None
) -> tuple[list[Operation], list[str]]:
    """The operations, and notes on how arrays were compared."""
    comparer = Comparer(options, deadline)
    writer = _Writer(comparer)
    with paused(), nesting.room(FRAMES):
        writer.values(lazy.root(before), lazy.root(after), None)
    return writer.out, comparer.notes


class _Writer:
    def __init__(self, comparer: Comparer) -> None:
        self._comparer = comparer
        self.out: list[Operation] = []

    def values(self, a: Node, b: Node, at: Place) -> None:
        self._comparer.look()
        kind, other = a.type, b.type
        if kind == other == "object":
            self._objects(a, b, at)
        elif kind == other == "array":
            olds, news = lazy.elements(a), lazy.elements(b)
            self._arrays(olds, news, self._comparer.pair(olds, news, at), at)
        elif not self._comparer.same(a, b):
            self.out.append(Operation("replace", at, b))

    def _objects(self, a: Node, b: Node, at: Place) -> None:
        olds, news = Object(a), Object(b)
        for key in differing_keys(olds, news, sort=self._comparer.options.sort_keys):
            here = Step(at, key)
            if key not in news.values:
                self.out.append(Operation("remove", here))
            elif key not in olds.values:
                self.out.append(Operation("add", here, news.node(key)))
            else:
                self.values(olds.node(key), news.node(key), here)

    def _arrays(self, olds: Elements, news: Elements, pairing: Pairing, at: Place) -> None:
        """Remove from the end, put in order from the front, then change what stayed."""
        for i in sorted(pairing.removed, reverse=True):
            self.out.append(Operation("remove", Step(at, i)))
        gone = set(pairing.removed)
        current = [i for i in range(len(olds)) if i not in gone]
        source = {one.j: one.i for one in pairing.kept}
        moving = any(one.moved for one in pairing.kept)
        changes: list[Callable[[], None]] = []
        for j in range(len(news)):
            i = source.get(j, -1)
            if i < 0:
                self.out.append(Operation("add", Step(at, j), news[j]))
                if moving:
                    current.insert(j, -1)
                continue
            if moving and current[j] != i:
                self._comparer.look()
                stands = current.index(i, j)
                self.out.append(Operation("move", Step(at, j), source=Step(at, stands)))
                current.insert(j, current.pop(stands))
            if not self._comparer.same(olds[i], news[j]):
                changes.append(self._later(olds[i], news[j], Step(at, j)))
        for change in changes:
            change()

    def _later(self, a: Node, b: Node, at: Place) -> Callable[[], None]:
        return lambda: self.values(a, b, at)
