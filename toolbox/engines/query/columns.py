"""The fields of an array's elements as columns of tokens: read in one native pass, kept.

A token is the value's source slice; a container's is its first byte, since no condition looks
inside one. A missing field is None.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolbox.engines.documents import lazy
from toolbox.engines.documents.chains import is_plain
from toolbox.engines.documents.collection import paused
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.paths import Index, Key, Segment, Star, is_digits

Token = bytes
_KEPT: Final = "columns"
"""Key of `Document.kept`: (start of the container, field) → column."""

_KEPT_TOKENS: Final = 600_000
"""Tokens kept beside one document, over all its columns; the least recently used go first."""

_LOOK_EVERY: Final = 2_048

_OPENING: Final = frozenset(b"{[")


class Looks(Protocol):
    def check(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Column:
    """One field of every element."""

    tokens: Sequence[Token | None]
    missing: int


def columns(
    node: Node,
    children: Sequence[Node],
    fields: Sequence[tuple[Segment, ...]],
    deadline: Looks | None,
) -> list[Column]:
    """A column for each field (without *) over the children of an array or object."""
    kept = node.doc.kept.setdefault(_KEPT, OrderedDict())
    assert isinstance(kept, OrderedDict)
    wanted = [f for f in dict.fromkeys(fields) if (node.start, f) not in kept]
    if wanted:
        for field, column in _read(node, children, wanted, deadline).items():
            kept[node.start, field] = column
    found = []
    for field in fields:
        kept.move_to_end((node.start, field))
        found.append(kept[node.start, field])
    spent = sum(len(c.tokens) for c in kept.values())
    while spent > _KEPT_TOKENS and len(kept) > len(fields):
        spent -= len(kept.popitem(last=False)[1].tokens)
    return found


def _read(
    node: Node,
    children: Sequence[Node],
    fields: Sequence[tuple[Segment, ...]],
    deadline: Looks | None,
) -> dict[tuple[Segment, ...], Column]:
    doc = node.doc
    done: dict[tuple[Segment, ...], Column] = {}
    if node.type == "array" and not doc.surrogates and not doc.spellings:
        plain = [f for f in fields if f and all(_simple(s) for s in f)]
        done = _native(node, plain)
    for field in fields:
        if field not in done:
            done[field] = _by_hand(children, field, deadline)
    return done


def _simple(segment: Segment) -> bool:
    if not isinstance(segment, Key) or not segment.name or not is_plain(segment.name):
        return False
    return segment.quoted or not is_digits(segment.name)


def _native(node: Node, fields: Sequence[tuple[Segment, ...]]) -> dict[tuple[Segment, ...], Column]:
    """The columns of one pass over the array's text; none where an element, or a value on the way
    to a field, is of another type than an object."""
    if not fields:
        return {}
    names = [tuple(s.name for s in f if isinstance(s, Key)) for f in fields]
    tree: dict[str, Any] = {}
    for path in names:
        level = tree
        for name in path[:-1]:
            level = level.setdefault(name, {})
            if level.get("") is not None:
                return {}  # a field and one below it: by hand
        if path[-1] in level:
            return {}
        level[path[-1]] = {"": path}
    rows_of: Any = list.__class_getitem__(_struct(tree))
    with paused():
        try:
            text = memoryview(node.doc.text)[node.start : node.end]
            rows = msgspec.json.decode(text, type=rows_of)
        except msgspec.ValidationError:
            return {}
        found = {}
        for field, path in zip(fields, names, strict=True):
            values: list[Any] = list(map(attrgetter(_attribute(path[0])), rows))
            for name in path[1:]:
                attribute = _attribute(name)
                values = [v if v is UNSET else getattr(v, attribute) for v in values]
            spelled = [None if v is UNSET else bytes(v) for v in values]
            tokens = [t if t is None or t[0] not in _OPENING else t[:1] for t in spelled]
            found[field] = Column(tokens, tokens.count(None))
    return found


def _struct(level: dict[str, Any]) -> Any:
    members: list[tuple[str, Any, Any]] = []
    rename = {}
    for name, below in level.items():
        inner: Any = Raw if "" in below else _struct(below)
        attribute = _attribute(name)
        members.append((attribute, inner | UnsetType, UNSET))
        rename[attribute] = name
    return msgspec.defstruct("Row", members, rename=rename, gc=False)


def _attribute(name: str) -> str:
    return "f_" + name.encode().hex()


def _by_hand(
    children: Sequence[Node], field: tuple[Segment, ...], deadline: Looks | None
) -> Column:
    tokens: list[Token | None] = []
    for n, child in enumerate(children):
        if deadline is not None and n % _LOOK_EVERY == 0:
            deadline.check()
        found = next(reach(child, field), None)
        tokens.append(None if found is None else token_of(found))
    return Column(tokens, tokens.count(None))


def token_of(node: Node) -> Token:
    """A value's token."""
    if node.spelled:
        return lazy.text_of(node).encode("utf-8", "surrogatepass")
    if node.type in ("object", "array"):
        return node.doc.text[node.start : node.start + 1]
    return node.raw


def reach(node: Node, segments: tuple[Segment, ...], at: int = 0) -> Iterator[Node]:
    """The values at a path below a value; several where it has a *."""
    while at < len(segments):
        segment = segments[at]
        kind = node.type
        if isinstance(segment, Star):
            below = (
                lazy.elements(node)
                if kind == "array"
                else [v for _, v in lazy.members(node)]
                if kind == "object"
                else ()
            )
            for one in below:
                yield from reach(one, segments, at + 1)
            return
        if kind == "array":
            if isinstance(segment, Index):
                n = segment.n
            elif not segment.quoted and is_digits(segment.name):
                n = int(segment.name)
            else:
                return
            elements = lazy.elements(node)
            if not -len(elements) <= n < len(elements):
                return
            node = elements[n]
        elif kind == "object" and isinstance(segment, Key):
            child = lazy.child(node, segment.name)
            if child is None:
                return
            node = child
        else:
            return
        at += 1
    yield node
