"""A value of a document as a slice of its text, and the members and elements of containers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, overload

import msgspec

from toolbox.engines.documents.document import Document

Type = Literal["object", "array", "string", "number", "boolean", "null"]

FIRST: Final[dict[int, Type]] = {
    0x7B: "object", 0x5B: "array", 0x22: "string", 0x74: "boolean", 0x66: "boolean", 0x6E: "null",
}  # fmt: skip


class Node(msgspec.Struct, frozen=True):
    """One value: [start, end) in the text of its document."""

    doc: Document
    start: int
    end: int

    @property
    def type(self) -> Type:
        """What it is; a YAML number that is no JSON is a number too."""
        found = FIRST.get(self.doc.text[self.start], "number")
        if found == "string" and self.doc.spellings and self.start in self.doc.spellings:
            return "number"
        return found

    @property
    def raw(self) -> bytes:
        """The value as the document spells it."""
        return self.doc.text[self.start : self.end]

    @property
    def spelled(self) -> bool:
        """True for a YAML number that stands in the JSON text as a string."""
        return bool(self.doc.spellings) and self.start in self.doc.spellings


class Elements(Sequence[Node]):
    """The elements of an array, in order."""

    __slots__ = ("doc", "ends", "starts")

    def __init__(self, doc: Document, starts: array[int], ends: array[int]) -> None:
        self.doc, self.starts, self.ends = doc, starts, ends

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> Node: ...
    @overload
    def __getitem__(self, at: slice) -> list[Node]: ...
    def __getitem__(self, at: int | slice) -> Node | list[Node]:
        if isinstance(at, slice):
            return [
                Node(self.doc, s, e) for s, e in zip(self.starts[at], self.ends[at], strict=True)
            ]
        return Node(self.doc, self.starts[at], self.ends[at])

    def __iter__(self) -> Iterator[Node]:
        doc = self.doc
        return (Node(doc, s, e) for s, e in zip(self.starts, self.ends, strict=True))

    @property
    def kept_bytes(self) -> int:
        return 8 * len(self.starts)


class LateElements(Elements):
    """The elements that a pass over the text found, as slices of it.

    The first elements that are asked for are told from their slices. What asks for more makes the
    index first, which for many elements takes as long as the pass did.
    """

    TOLD: Final = 64
    """Elements told without an index: a page of a query's hits and some."""

    SLICE_BYTES: Final = 64
    """What a slice takes."""

    __slots__ = ("_index", "_place", "_slices", "_told")

    def __init__(
        self,
        doc: Document,
        slices: list[Any],
        place: Callable[[Any], int],
        index: Callable[[list[Any]], Elements],
    ) -> None:
        """slices: what the pass found; place: a slice's offset; index: the index of them all."""
        self.doc, self._slices, self._place, self._index = doc, slices, place, index
        self._told = 0

    def __getattr__(self, name: str) -> array[int]:
        # Only where `starts` and `ends` are not set yet.
        if name not in ("starts", "ends"):
            raise AttributeError(name)
        made = self._index(self._slices)
        self.starts, self.ends, self._slices = made.starts, made.ends, []
        return self.starts if name == "starts" else self.ends

    def __len__(self) -> int:
        return len(self._slices) or len(self.starts)

    @overload
    def __getitem__(self, at: int) -> Node: ...
    @overload
    def __getitem__(self, at: slice) -> list[Node]: ...
    def __getitem__(self, at: int | slice) -> Node | list[Node]:
        if isinstance(at, slice) or self._told >= self.TOLD or not self._slices:
            return super().__getitem__(at)
        self._told += 1
        one = self._slices[at]
        start = self._place(one)
        return Node(self.doc, start, start + len(one))

    @property
    def kept_bytes(self) -> int:
        return self.SLICE_BYTES * len(self._slices) or 8 * len(self.starts)


class Members(Sequence[tuple[str, Node]]):
    """The members of an object in file order; of a duplicate key the first place, last value."""

    __slots__ = ("_at", "doc", "ends", "keys", "repeats", "starts")

    def __init__(
        self,
        doc: Document,
        keys: list[str],
        starts: array[int],
        ends: array[int],
        repeats: dict[str, int],
    ) -> None:
        self.doc, self.keys, self.starts, self.ends = doc, keys, starts, ends
        self.repeats = repeats
        """The keys that stand more than once, with how often."""
        self._at: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, at: int) -> tuple[str, Node]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[str, Node]]: ...
    def __getitem__(self, at: int | slice) -> tuple[str, Node] | list[tuple[str, Node]]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self.keys)))]
        return self.keys[at], Node(self.doc, self.starts[at], self.ends[at])

    def __iter__(self) -> Iterator[tuple[str, Node]]:
        doc = self.doc
        for key, start, end in zip(self.keys, self.starts, self.ends, strict=True):
            yield key, Node(doc, start, end)

    def find(self, key: str) -> Node | None:
        """The value of a key, or None."""
        if self._at is None:
            self._at = {key: i for i, key in enumerate(self.keys)}
        at = self._at.get(key)
        return None if at is None else Node(self.doc, self.starts[at], self.ends[at])

    @property
    def kept_bytes(self) -> int:
        return 8 * len(self.starts) + 80 * len(self.keys) * (2 if self._at else 1)
