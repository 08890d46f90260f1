"""The shape of unknown data: which fields there are, how often, of which types and values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from toolbox.engines.documents import lazy
from toolbox.engines.documents.collection import paused
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.duplicates import Looks
from toolbox.engines.documents.kept import decode
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.tallies import NUMBER_CHARACTERS, Spelled, Tally, Whole, pick

CHUNK_ELEMENTS: Final = 2_000
"""Elements decoded at once: their trees stay small, and the collector is off meanwhile."""

WHOLE_BYTES: Final = 2 * 1024 * 1024
"""A value up to this size is decoded whole; a larger one child by child."""

MAP_KEYS: Final = 12
"""Distinct keys from which an object may be a map."""

_decoder = msgspec.json.Decoder(float_hook=Spelled)


def _values(text: bytes) -> list[Any]:
    """The elements of an array, numbers as int, Spelled or Whole."""
    try:
        values: list[Any] = decode(_decoder, text)
    except msgspec.ValidationError:  # an integer longer than Python makes of text
        values = json.loads(text, parse_float=Spelled, parse_int=_integer)
    return values


def _integer(spelling: str) -> int | Whole:
    return int(spelling) if len(spelling) <= NUMBER_CHARACTERS else Whole(spelling)


@dataclass(frozen=True, slots=True)
class Sampled:
    """What was looked at: `root` of the values themselves."""

    root: Tally
    sampled: int
    """Elements (or matches, or members) looked at at the top."""
    of: int
    """Those there are."""


def measure(
    doc: Document, nodes: Sequence[Node], levels: int, sample: int, deadline: Looks | None = None
) -> Sampled:
    """The shape of one value, or of many taken as a group.

    levels: levels of fields; sample: elements of each array (members of each large map) that are
    looked at, evenly over it; 0 for all.
    """
    tally = Tally()
    reader = _Reader(doc, sample, deadline)
    with paused():
        chosen = [nodes[k] for k in pick(len(nodes), sample)]
        reader.add(tally, chosen, levels)
    collapse(tally)
    if len(nodes) != 1:
        return Sampled(tally, len(chosen), len(nodes))
    if tally.arrays and tally.items is not None:
        return Sampled(tally, tally.items.seen, tally.items_of)
    if tally.arrays:
        return Sampled(tally, 0, 0)
    return Sampled(tally, 1, 1)


class _Reader:
    """Brings values of a document to tallies, large ones in parts."""

    def __init__(self, doc: Document, sample: int, deadline: Looks | None) -> None:
        self._doc = doc
        self._sample = sample
        self._deadline = deadline
        self._mark = ""
        self._text = lazy.readable(doc)
        if doc.spellings:
            self._mark, self._marked = _mark_numbers(doc, self._text)

    def add(self, tally: Tally, nodes: Iterable[Node], levels: int) -> None:
        """Add values of the document to a tally."""
        small: list[Node] = []
        spent = 0
        for node in nodes:
            size = node.end - node.start
            if size > WHOLE_BYTES and node.type in ("array", "object"):
                self._add_large(tally, node, levels)
                continue
            small.append(node)
            spent += size
            if len(small) >= CHUNK_ELEMENTS or spent > WHOLE_BYTES:
                self._add_small(tally, small, levels)
                small, spent = [], 0
        if small:
            self._add_small(tally, small, levels)

    def _add_small(self, tally: Tally, nodes: list[Node], levels: int) -> None:
        if self._deadline is not None:
            self._deadline.check()
        text = self._text
        if self._mark:
            joined = b",".join([self._marked_slice(node) for node in nodes])
        else:
            joined = b",".join([text[node.start : node.end] for node in nodes])
        tally.add(_values(b"[%b]" % joined), levels, self._sample, self._mark)

    def _marked_slice(self, node: Node) -> bytes:
        """The value with its YAML numbers marked."""
        parts: list[bytes] = []
        at = node.start
        for start in self._marked:
            if node.start <= start < node.end:
                parts += (self._text[at : start + 1], self._mark.encode())
                at = start + 1
        return b"".join((*parts, self._text[at : node.end]))

    def _add_large(self, tally: Tally, node: Node, levels: int) -> None:
        """A container too large to be decoded whole."""
        tally.seen += 1
        if node.type == "array":
            elements = lazy.elements(node)
            tally.arrays += 1
            tally.note_lengths(len(elements), len(elements), len(elements))
            if levels < 0:
                tally.cut = True
                return
            tally.items = tally.items or Tally()
            if elements and elements[0].type == "array":
                levels -= 1
            if self._sample and len(elements) > self._sample:
                chosen: Iterable[Node] = (elements[k] for k in pick(len(elements), self._sample))
            else:
                chosen = elements
            self.add(tally.items, chosen, levels)
            return
        members = lazy.members(node)
        tally.objects += 1
        tally.keys_seen += len(members)
        if levels <= 0:
            tally.cut = True
            return
        if len(members) > max(self._sample or 1_000, MAP_KEYS):
            tally.become_map()
            assert tally.members is not None
            tally.example = tally.example or members.keys[0]
            chosen = [members[k][1] for k in pick(len(members), self._sample)]
            self.add(tally.members, chosen, levels - 1)
            return
        for key, child in members:
            if tally.members is not None:
                self.add(tally.members, [child], levels - 1)
                continue
            self.add(tally.fields.setdefault(key, Tally()), [child], levels - 1)


def _mark_numbers(doc: Document, text: bytes) -> tuple[str, list[int]]:
    """A character that no string of the document has, and where the numbers to mark start."""
    for code in range(0xF8FF, 0xE000, -1):
        if chr(code).encode() not in text and b"\\u%04x" % code not in text:
            return chr(code), sorted(doc.spellings)
    return "", []


def collapse(tally: Tally) -> None:
    """Turn objects that are used as maps into one shape for all their keys, the inner ones first.

    An object is taken for a map where it has many keys, their values are of one type, and the keys
    are data rather than names: they differ from object to object, or their values share fields.
    """
    waiting = [tally]
    found: list[Tally] = []
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += _children(one)
    for one in reversed(found):
        if one.fields and _is_map(one):
            one.become_map()


def _children(tally: Tally) -> Iterator[Tally]:
    yield from tally.fields.values()
    if tally.members is not None:
        yield tally.members
    if tally.items is not None:
        yield tally.items


def _is_map(tally: Tally) -> bool:
    fields = tally.fields
    if len(fields) < MAP_KEYS:
        return False
    kinds: set[str] = set()
    for child in fields.values():
        kinds |= child.types().keys()
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    share = sum(child.seen for child in fields.values()) / (len(fields) * tally.objects)
    if kind == "object":
        return (share < 0.9 or tally.objects == 1) and _share_fields(fields)
    if tally.objects == 1:
        return len(fields) >= 4 * MAP_KEYS
    return share < 0.25


def _share_fields(fields: dict[str, Tally]) -> bool:
    """Whether most of the values have a field in common, or are maps or cut themselves."""
    counts: dict[str, int] = {}
    deep = 0
    for child in fields.values():
        if child.members is not None or not child.fields:
            deep += 1
        for name in child.fields:
            counts[name] = counts.get(name, 0) + 1
    return max(counts.values(), default=0) + deep >= 0.6 * len(fields)
