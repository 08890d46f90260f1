"""Two JSON values side by side: what was added, removed, replaced or moved, by path.

Both are slices of their texts. Equal slices are passed over without being decoded, so the work is
that of what differs and of the containers on the way to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from toolbox.engines.diff.pairing import Pairing, align, by_field, by_index
from toolbox.engines.documents import lazy, nesting
from toolbox.engines.documents.addresses import address
from toolbox.engines.documents.collection import paused
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.kept import decode, kept_of
from toolbox.engines.documents.nodes import Elements, Members, Node
from toolbox.engines.query import decimals

Op = Literal["add", "remove", "replace", "move"]
Arrays = Literal["index", "align"]

DECODED_BYTES: Final = 1 << 20
"""Objects up to this size are cut into slices that stay in memory while their members are looked
at; larger ones keep an index."""

_slices: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

FRAMES: Final = 6_000
"""Room for recursion: up to four frames for each level of the deepest document, and to spare."""

_CHECK_EVERY: Final = 512
_DIGEST_BYTES: Final = 16
_NOTES: Final = 5


class HasCheck(Protocol):
    def check(self) -> None: ...


class Step(NamedTuple):
    """A place, linked to the one that holds it: no path is written that is not printed."""

    parent: Step | None
    step: str | int

    def steps(self) -> list[str | int]:
        """The steps from the root."""
        found: list[str | int] = []
        here: Step | None = self
        while here is not None:
            found.append(here.step)
            here = here.parent
        found.reverse()
        return found


Place = Step | None
"""None is the root."""


class Change(NamedTuple):
    """One change. place: in `after` for add and move, in `before` for the others."""

    op: Op
    place: Place
    before: Node | None
    after: Node | None
    other: Place = None
    """For a move the place in `before`; for a replacement that stands elsewhere in `after`, the
    place there."""
    shifted: bool = False
    """Whether `other` says something."""


@dataclass(slots=True)
class Summary:
    added: int = 0
    removed: int = 0
    replaced: int = 0
    moved: int = 0

    @property
    def total(self) -> int:
        return self.added + self.removed + self.replaced + self.moved


@dataclass(slots=True)
class Options:
    """How values are compared."""

    arrays: Arrays = "index"
    key: str | None = None
    """Arrays of objects are matched by this member."""
    sort_keys: bool = True
    ignore_case: bool = False


@dataclass(slots=True)
class Comparison:
    """The first changes, by path or in document order, and how many there are of each kind."""

    changes: list[Change] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)
    notes: list[str] = field(default_factory=list)


def compact(doc: Document) -> Document:
    """The document without whitespace, so that equal values are equal slices where that can be."""
    if doc.surrogates or doc.spellings:
        return doc
    text = lazy.compact(lazy.root(doc))
    return doc if len(text) == len(doc.text) else Document("json", text, doc.source_bytes)


class Object:
    """The members of an object: slices that compare at native speed, and nodes where asked for."""

    __slots__ = ("_base", "_doc", "_members", "spelled", "values")

    def __init__(self, node: Node) -> None:
        self._doc = node.doc
        self.spelled = bool(node.doc.spellings)
        self._members: Members | None = None
        self.values: Mapping[str, object]
        kept = kept_of(node.doc)
        self._base = kept.base
        if node.end - node.start <= DECODED_BYTES:
            self.values = decode(_slices, kept.view[node.start : node.end])
        else:
            # An object for each of very many members would take more memory than the text.
            self._members = lazy.members(node)
            self.values = {key: value.raw for key, value in self._members}

    def node(self, key: str) -> Node:
        """The value of a key that is there."""
        if self._members is not None:
            found = self._members.find(key)
            assert found is not None
            return found
        value = self.values[key]
        assert isinstance(value, msgspec.Raw)
        start = address(value) - self._base
        return Node(self._doc, start, start + len(value))


def differing_keys(olds: Object, news: Object, *, sort: bool) -> list[str]:
    """The keys whose values are not the same bytes, or that one side lacks.

    By key, or else in the order of the objects. Values that are spelled apart may still be equal;
    so may be, in YAML, a number and a string of the same bytes, so that all its keys are given.
    """
    old, new = olds.values, news.values
    if olds.spelled or news.spelled:
        keys = list(old)
    else:
        get = new.get
        keys = [key for key, value in old.items() if get(key) != value]
    keys += [key for key in new if key not in old]
    if sort:
        keys.sort()
    return keys


class Comparer:
    """Compares nodes under some options; what it is asked for again it takes from where it is."""

    def __init__(self, options: Options, deadline: HasCheck | None = None) -> None:
        self.options = options
        self.notes: list[str] = []
        self._deadline = deadline
        self._steps = 0

    def look(self) -> None:
        """Look at the deadline now and then."""
        self._steps += 1
        if self._deadline is not None and self._steps % _CHECK_EVERY == 0:
            self._deadline.check()

    def same(self, a: Node, b: Node) -> bool:
        """Whether the slices are the same bytes, or the scalars the same value.

        False for containers that are spelled differently: their members tell.
        """
        if a.end - a.start == b.end - b.start and a.raw == b.raw:
            if not a.doc.spellings and not b.doc.spellings:
                return True
            if a.spelled == b.spelled and a.type not in ("object", "array"):
                return True
        kind = a.type
        if kind != b.type:
            return False
        if kind == "number":
            return decimals.equal(number_text(a), number_text(b))
        if kind == "string":
            left, right = lazy.text_of(a), lazy.text_of(b)
            if self.options.ignore_case:
                return left.casefold() == right.casefold()
            return left == right
        return kind in ("boolean", "null") and a.raw == b.raw

    def digest(self, node: Node) -> bytes:
        """Bytes that equal values share: key order, spelling and whitespace do not count."""
        self.look()
        kind = node.type
        if kind == "object":
            whole = blake2b(b"{", digest_size=_DIGEST_BYTES)
            for key, value in sorted(lazy.members(node), key=_key):
                name = key.encode("utf-8", "surrogatepass")
                whole.update(b"%d:%s%s" % (len(name), name, self.digest(value)))
            return whole.digest()
        if kind == "array":
            whole = blake2b(b"[", digest_size=_DIGEST_BYTES)
            for value in lazy.elements(node):
                whole.update(self.digest(value))
            return whole.digest()
        return blake2b(repr(self.scalar(node)).encode(), digest_size=_DIGEST_BYTES).digest()

    def scalar(self, node: Node) -> tuple[str, object]:
        """A hashable value that equal scalars share."""
        kind = node.type
        if kind == "number":
            return kind, decimals.value_of(number_text(node))
        if kind == "string":
            text = lazy.text_of(node)
            return kind, text.casefold() if self.options.ignore_case else text
        return kind, node.raw

    def pair(self, a: Elements, b: Elements, where: Place) -> Pairing:
        """Which elements of two arrays belong together."""
        if self.options.key is not None:
            found = by_field(self, a, b, self.options.key)
            if isinstance(found, Pairing):
                return found
            if found and len(self.notes) < _NOTES:
                self.notes.append(f"{path_text(where)} is compared by index: {found}")
        if self.options.arrays == "align":
            pairing, exact = align(self, a, b, self._deadline)
            if not exact and len(self.notes) < _NOTES:
                self.notes.append(
                    f"the search for the fewest changes in {path_text(where)} ran out of steps: "
                    "some elements stand as removed and added"
                )
            return pairing
        return by_index(len(a), len(b))


def number_text(node: Node) -> str:
    """How a number is spelled in its source."""
    return lazy.text_of(node) if node.spelled else node.raw.decode("ascii")


def _key(member: tuple[str, Node]) -> str:
    return member[0]


def compare(
    before: Document,
    after: Document,
    options: Options,
    *,
    most: int,
    deadline: HasCheck | None = None,
) -> Comparison:
    """The changes from one document to the other; `most` of them are kept, all are counted."""
    comparer = Comparer(options, deadline)
    found = Comparison(notes=comparer.notes)
    walk = _Walk(comparer, found, most)
    roots = lazy.root(before), lazy.root(after)
    if not comparer.same(*roots):
        with paused(), nesting.room(FRAMES):
            walk.values(*roots, None, None, False)
    return found


class _Walk:
    def __init__(self, comparer: Comparer, found: Comparison, most: int) -> None:
        self._comparer, self._found, self._most = comparer, found, most

    def _emit(self, change: Change) -> None:
        summary = self._found.summary
        if change.op == "add":
            summary.added += 1
        elif change.op == "remove":
            summary.removed += 1
        elif change.op == "replace":
            summary.replaced += 1
        else:
            summary.moved += 1
        if len(self._found.changes) < self._most:
            self._found.changes.append(change)

    def values(self, a: Node, b: Node, at: Place, to: Place, shifted: bool) -> None:
        """What differs between two values at `at` in before and `to` in after."""
        comparer = self._comparer
        comparer.look()
        kind, other = a.type, b.type
        if kind == other == "object":
            self._objects(a, b, at, to, shifted)
        elif kind == other == "array":
            self._arrays(a, b, at, to, shifted)
        elif not comparer.same(a, b):
            self._emit(Change("replace", at, a, b, to, shifted))

    def _objects(self, a: Node, b: Node, at: Place, to: Place, shifted: bool) -> None:
        olds, news = Object(a), Object(b)
        for key in differing_keys(olds, news, sort=self._comparer.options.sort_keys):
            if key not in olds.values:
                self._emit(Change("add", Step(to, key), None, news.node(key)))
            elif key not in news.values:
                self._emit(Change("remove", Step(at, key), olds.node(key), None))
            else:
                here = Step(at, key)
                there = Step(to, key) if shifted else here
                self.values(olds.node(key), news.node(key), here, there, shifted)

    def _arrays(self, a: Node, b: Node, at: Place, to: Place, shifted: bool) -> None:
        olds, news = lazy.elements(a), lazy.elements(b)
        pairing = self._comparer.pair(olds, news, at)
        # In path order: what is removed or replaced by its place before, the rest after.
        tasks: list[tuple[int, int, Callable[[], None]]] = []
        for i in pairing.removed:
            tasks.append((i, 0, self._later("remove", at, i, olds[i], None)))
        for i, j, moved in pairing.kept:
            if moved:
                change = Change("move", Step(to, j), olds[i], news[j], Step(at, i), True)
                tasks.append((j, 1, lambda change=change: self._emit(change)))  # type: ignore[misc]
            if self._comparer.same(olds[i], news[j]):
                continue
            tasks.append((i, 2, self._pair(olds[i], news[j], at, to, i, j, shifted)))
        for j in pairing.added:
            tasks.append((j, 3, self._later("add", to, j, None, news[j])))
        tasks.sort(key=lambda task: task[:2])
        for _, _, task in tasks:
            task()

    def _later(
        self, op: Op, parent: Place, index: int, before: Node | None, after: Node | None
    ) -> Callable[[], None]:
        return lambda: self._emit(Change(op, Step(parent, index), before, after))

    def _pair(
        self, a: Node, b: Node, at: Place, to: Place, i: int, j: int, shifted: bool
    ) -> Callable[[], None]:
        here = Step(at, i)
        if shifted or i != j:
            return lambda: self.values(a, b, here, Step(to, j), True)
        return lambda: self.values(a, b, here, here, False)


def path_text(place: Place) -> str:
    """The path as `$.a['b.c'][0]`; it can be given back to `@json get`."""
    from toolbox.engines.diff.tree_paths import render

    return render(place.steps() if place is not None else [])
