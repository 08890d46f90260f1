"""Which elements of an array, or values of an object, meet a filter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from toolbox.engines.documents import lazy
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.columns import Column, Token, columns, reach, token_of
from toolbox.engines.query.conditions import Test, can_match_pattern, cost, negates, test_of
from toolbox.engines.query.where import ELEMENT_KEY, Term

_LOOK_EVERY: Final = 2_048


class Looks(Protocol):
    def check(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Told:
    """What a filter found out about one of its fields."""

    field: str
    missing: int
    """Elements that lack it."""
    never_text: bool
    """True where a pattern was asked of a field that is nowhere a string, number or boolean."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The elements that meet every term."""

    hits: Sequence[int]
    """Positions, ascending."""
    children: Sequence[Node]
    keys: Sequence[str] | None
    """For an object: the keys, by position."""
    told: tuple[Told, ...]
    scalars: int = 0
    """Elements left out of a negated condition, because they are no objects."""


def apply_filter(node: Node, terms: Sequence[Term], deadline: Looks | None) -> Filtered:
    """Filter the elements of an array, or the values of an object."""
    keys: list[str] | None = None
    children: Sequence[Node]
    if node.type == "array":
        children = lazy.elements(node)
    else:
        members = list(lazy.members(node))
        keys = [k for k, _ in members]
        children = [v for _, v in members]
    tests = {id(t): test_of(t) for t in terms}
    single = [t for t in terms if not t.fans_out and t.field != ELEMENT_KEY]
    found = dict(
        zip(
            map(id, single),
            columns(node, children, [t.segments for t in single], deadline),
            strict=True,
        )
    )
    told: dict[str, Told] = {}
    hits: Sequence[int] = range(len(children))
    scalars = 0
    for term in sorted(terms, key=cost):
        if deadline is not None:
            deadline.check()
        test = tests[id(term)]
        if term.field == ELEMENT_KEY:
            names = [json.dumps(k, ensure_ascii=False).encode() for k in keys or ()]
            column = Column(names or [None] * len(children), 0 if names else len(children))
            hits = _one(term, test, column, hits)
        elif term.fans_out:
            hits, missing = _any(term, test, children, hits, deadline)
            told.setdefault(term.field, Told(term.field, missing, False))
        else:
            column = found[id(term)]
            never = term.op in ("~", "!~") and not any(
                t is not None and can_match_pattern(t) for t in column.tokens
            )
            before = told.get(term.field)
            told[term.field] = Told(
                term.field, column.missing, never or (before is not None and before.never_text)
            )
            hits = _one(term, test, column, hits)
            if negates(term) and term.segments and column.missing:
                hits, left = _containers(column, children, hits)
                scalars = max(scalars, left)
    return Filtered(hits, children, keys, tuple(told.values()), scalars)


def _containers(
    column: Column, children: Sequence[Node], hits: Sequence[int]
) -> tuple[list[int], int]:
    """Without the elements that are no objects or arrays, and how many those were: what has no
    fields at all meets no condition on one, not even that it differs."""
    kept = [
        i for i in hits if column.tokens[i] is not None or children[i].type in ("object", "array")
    ]
    return kept, len(hits) - len(kept)


def _one(term: Term, test: Test, column: Column, hits: Sequence[int]) -> Sequence[int]:
    tokens = column.tokens
    turned = negates(term)
    if term.op in ("has", "lacks"):
        return [i for i in hits if (tokens[i] is None) is turned]
    known: dict[Token | None, bool] = {None: turned}
    kept = []
    for i in hits:
        token = tokens[i]
        answer = known.get(token)
        if answer is None:
            assert token is not None
            answer = known[token] = test(token) is not turned
        if answer:
            kept.append(i)
    return kept


def _any(
    term: Term, test: Test, children: Sequence[Node], hits: Sequence[int], deadline: Looks | None
) -> tuple[list[int], int]:
    """A field with *: the condition holds where any of its values meets it.

    Returns the elements it holds for, and how many of those looked at have no value there.
    """
    turned = negates(term)
    kept, missing = [], 0
    for n, i in enumerate(hits):
        if deadline is not None and n % _LOOK_EVERY == 0:
            deadline.check()
        some = holds = False
        for node in reach(children[i], term.segments):
            some = True
            if test(token_of(node)) is not turned:
                holds = True
                break
        if term.op == "lacks":
            holds = not some and children[i].type in ("object", "array")
        elif not some:
            holds = turned and children[i].type in ("object", "array")
        missing += not some
        if holds:
            kept.append(i)
    return kept, missing
