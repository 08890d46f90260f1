"""Values of a document as slices of its text, found level by level at native speed.

A value is a `Node`: [start, end) in `Document.text`. Nothing is decoded that is not asked for, and
what is printed is the source's own bytes.

    here = root(document)                   # Node
    child(here, "items")                    # Node or None; of duplicates the last
    for key, node in members(here): …       # file order
    elements(node)[3].raw                   # b'{"price": 1.10}'
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolbox.engines.documents import chains, nesting, walk
from toolbox.engines.documents.addresses import address
from toolbox.engines.documents.document import Document, Place
from toolbox.engines.documents.kept import (
    CHAIN,
    INDEX_FROM_BYTES,
    LEVELS,
    Kept,
    decode,
    kept_bytes,
    kept_of,
    readable,
)  # fmt: skip
from toolbox.engines.documents.nodes import FIRST, Elements, LateElements, Members, Node, Type
from toolbox.engines.documents.values import compact, indented, text_of

__all__ = [
    "FIRST", "Descent", "Elements", "Members", "Node", "Type", "child", "compact",
    "count_members", "descend",
    "elements", "indented", "is_empty", "kept_bytes", "members", "place", "readable", "repeats_of",
    "root", "size", "summary", "text_of",
]  # fmt: skip

MANY: Final = 500_000
"""Members or elements from which a container is walked instead of decoded: an object for each
would take 60 to 200 bytes."""
_SAMPLE_BYTES: Final = 64 * 1024

_FEW: Final = 12
"""Elements up to which the gaps between them are looked at one by one."""
_STRUCTURE: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},]', re.DOTALL)

_PLACES: Final = "places"
_PLACES_KEPT: Final = 512
"""Counting the lines before a value takes milliseconds in a large text: the last are kept."""

_PARENT_REACH_BYTES: Final = 128 * 1024
"""How far back a value's parent is looked for before a second pass is the cheaper way."""


def root(doc: Document) -> Node:
    """The document's one value."""
    text = doc.text
    start = walk.skip_blanks(text, 0)
    end = len(text)
    while text[end - 1] in b" \t\r\n":
        end -= 1
    return Node(doc, start, end)


def place(node: Node) -> Place:
    """Where a value stands in its source: line, and [start, end) in bytes."""
    known = node.doc.kept.setdefault(_PLACES, OrderedDict())
    assert isinstance(known, OrderedDict)
    found = known.get(node.start)
    if found is None:
        found = known[node.start] = node.doc.place(node.start, node.end)
        if len(known) > _PLACES_KEPT:
            known.popitem(last=False)
    assert isinstance(found, Place)
    return found


def is_empty(node: Node) -> bool:
    """Whether a container has nothing in it."""
    return walk.skip_blanks(node.doc.text, node.start + 1) == node.end - 1


# Containers


class _Counted(str):
    """A key type that makes the decoder tell of every key, also of repeated ones."""

    __slots__ = ()


_seen: list[str] = []


def _see(_: type, key: Any) -> _Counted:
    _seen.append(key)
    return _Counted(key)


_members = msgspec.json.Decoder(dict[_Counted, Raw], dec_hook=_see)
_elements = msgspec.json.Decoder(list[Raw])
_string = msgspec.json.Decoder(str)
_sizes = msgspec.json.Decoder(dict[str, Raw])


def is_many(text: bytes, start: int, end: int) -> bool:
    """Whether a container probably has so many children that decoding them takes much memory.

    All commas bound the children from above; where they are many, those between the first
    children are told apart from nested ones.
    """
    if end - start < 2 * MANY:
        return False
    middle = (start + end) // 2
    sample = text[middle : middle + _SAMPLE_BYTES]
    if sample.count(b",") * (end - start) <= MANY * len(sample):
        return False
    depth = children = 0
    for token in _STRUCTURE.finditer(text, start, start + _SAMPLE_BYTES):
        first = text[token.start()]
        if first == 0x2C:
            children += depth == 1
        elif first in b"[{":
            depth += 1
        elif first != 0x22:
            depth -= 1
    return children * (end - start) > MANY * _SAMPLE_BYTES


def members(node: Node) -> Members:
    """The members of an object, in file order; of duplicates the last value.

    `repeats` of what it gives has the keys that stand more than once.
    """
    lazy = kept_of(node.doc)
    kept = lazy.indexes.get(node.start)
    if isinstance(kept, Members):
        lazy.indexes.move_to_end(node.start)
        return kept
    if is_many(lazy.text, node.start, node.end):
        made = _walk_all(node, lazy)
    else:
        made = _decode_members(node, lazy)
    if node.end - node.start >= INDEX_FROM_BYTES:
        lazy.keep(node.start, made)
    return made


def _counted(node: Node, lazy: Kept) -> tuple[dict[_Counted, Raw], list[str]]:
    """The members, of duplicates the last, and all their keys as they stand."""
    span = lazy.view[node.start : node.end]
    _seen.clear()
    try:
        found = _members.decode(span)
    except RecursionError:
        _seen.clear()
        with nesting.room(LEVELS):
            found = _members.decode(span)
    keys = list(_seen)
    _seen.clear()
    return found, keys


def count_members(node: Node) -> tuple[int, bool]:
    """How many distinct keys an object has, and whether any of them repeats."""
    lazy = kept_of(node.doc)
    if node.end - node.start >= INDEX_FROM_BYTES or node.start in lazy.indexes:
        found = members(node)
        return len(found), bool(found.repeats)
    values, keys = _counted(node, lazy)
    return len(values), len(values) < len(keys)


def _decode_members(node: Node, lazy: Kept) -> Members:
    found, keys = _counted(node, lazy)
    starts, ends = array("I"), array("I")
    repeats: dict[str, int] = {}
    if len(keys) == len(found):
        at = node.start + 1
        match = walk.KEY.match
        for raw in found.values():
            key = match(lazy.text, at)
            assert key is not None
            start = key.end()
            end = start + len(raw)
            starts.append(start)
            ends.append(end)
            at = end
            after = walk.GAP.match(lazy.text, end)
            if after is not None:
                at = after.end()
    else:
        for key_text in keys:
            repeats[key_text] = repeats.get(key_text, 0) + 1
        keys = list(repeats)
        repeats = {k: n for k, n in repeats.items() if n > 1}
        for raw in found.values():
            start = address(raw) - lazy.base
            starts.append(start)
            ends.append(start + len(raw))
    if lazy.shadow is not None:
        keys = [lazy.shadow.restore(k) for k in keys]
        repeats = {lazy.shadow.restore(k): n for k, n in repeats.items()}
    return Members(node.doc, keys, starts, ends, repeats)


def _walk_all(node: Node, lazy: Kept) -> Members:
    starts, ends = array("I"), array("I")
    at: dict[str, int] = {}
    repeats: dict[str, int] = {}
    for token, start, end in walk.walk_members(lazy.text, node.start):
        key = _string.decode(token)
        known = at.get(key)
        if known is None:
            at[key] = len(starts)
            starts.append(start)
            ends.append(end)
        else:
            starts[known], ends[known] = start, end
            repeats[key] = repeats.get(key, 1) + 1
    keys = list(at)
    if lazy.shadow is not None:
        keys = [lazy.shadow.restore(k) for k in keys]
        repeats = {lazy.shadow.restore(k): n for k, n in repeats.items()}
    return Members(node.doc, keys, starts, ends, repeats)


def elements(node: Node) -> Elements:
    """The elements of an array."""
    lazy = kept_of(node.doc)
    kept = lazy.indexes.get(node.start)
    if isinstance(kept, Elements):
        lazy.indexes.move_to_end(node.start)
        return kept
    if is_many(lazy.text, node.start, node.end):
        starts, ends = array("I"), array("I")
        for start, end in walk.walk_elements(lazy.text, node.start):
            starts.append(start)
            ends.append(end)
        made = Elements(node.doc, starts, ends)
    else:
        raws = decode(_elements, lazy.view[node.start : node.end])
        wide = len(raws) * LateElements.SLICE_BYTES <= node.end - node.start
        make = _late if wide and node.end - node.start >= INDEX_FROM_BYTES else _index
        made = make(node, lazy, raws)
    if node.end - node.start >= INDEX_FROM_BYTES:
        lazy.keep(node.start, made)
    return made


def _late(node: Node, lazy: Kept, raws: list[Raw]) -> LateElements:
    """An array's slices, whose index is made when more than a few are asked for."""
    return LateElements(
        node.doc,
        raws,
        lambda one: address(one) - lazy.base,
        lambda slices: _index(node, lazy, slices),
    )


def _index(node: Node, lazy: Kept, raws: list[Raw]) -> Elements:
    """Where each of an array's slices stands, from their lengths and what is between them."""
    text = lazy.text
    lengths = array("I", map(len, raws))
    if not raws:
        return Elements(node.doc, array("I"), array("I"))
    first = walk.skip_blanks(text, node.start + 1)
    if len(raws) > _FEW:
        last = address(raws[-1]) - lazy.base + lengths[-1]
        found = walk.GAP.match(text, first + lengths[0])
        assert found is not None
        gap = found.end() - found.start()
        if sum(lengths) + gap * (len(raws) - 1) == last - first:
            starts = array("I", accumulate(map(gap.__add__, lengths[:-1]), initial=first))
            ends = array("I", map(add, starts, lengths))
            if gap == 1 or _is_even(text, starts, ends):
                return Elements(node.doc, starts, ends)
    starts, ends = array("I"), array("I")
    at = first
    for n in lengths:
        starts.append(at)
        ends.append(at + n)
        between = walk.GAP.match(text, at + n)
        at = between.end() if between else at + n
    return Elements(node.doc, starts, ends)


def _is_even(text: bytes, starts: array[int], ends: array[int]) -> bool:
    """Whether the very same bytes stand between all elements, and no blank after them."""
    gap = starts[1] - ends[0]
    between = text[ends[0] : ends[0] + gap]
    return not any(text[s] in b" \t\r\n" for s in starts) and all(
        text[e : e + gap] == between for e in ends[:-1]
    )


def size(node: Node) -> int:
    """How many members (distinct keys) or elements a container has; for others 0."""
    lazy = kept_of(node.doc)
    kept = lazy.indexes.get(node.start)
    if kept is not None:
        return len(kept)
    if node.type == "object":
        if node.end - node.start >= INDEX_FROM_BYTES:
            return len(members(node))
        return len(decode(_sizes, lazy.view[node.start : node.end]))
    if node.type == "array":
        if node.end - node.start >= INDEX_FROM_BYTES:
            return len(elements(node))
        return len(decode(_elements, lazy.view[node.start : node.end]))
    return 0


# Steps along keys


@lru_cache(maxsize=1024)
def _one(key: str) -> msgspec.json.Decoder[Any]:
    made = msgspec.defstruct(
        "Child", [("f", Raw | msgspec.UnsetType, msgspec.UNSET)], rename={"f": key}, gc=False
    )
    return msgspec.json.Decoder(made)


def child(node: Node, key: str) -> Node | None:
    """The value of a key of an object; of duplicates the last. None where it is missing."""
    if node.type != "object":
        return None
    lazy = kept_of(node.doc)
    kept = lazy.indexes.get(node.start)
    if isinstance(kept, Members):
        return kept.find(key)
    hidden = lazy.shadow.hide(key) if lazy.shadow is not None else key
    if not chains.is_plain(hidden):
        return members(node).find(key)
    found = decode(_one(hidden), lazy.view[node.start : node.end]).f
    if found is msgspec.UNSET:
        return None
    start = address(found) - lazy.base
    return Node(node.doc, start, start + len(found))


def repeats_of(node: Node, key: str, found: Node) -> int:
    """How often a key stands in an object, where `found` is its (last) value."""
    if node.doc.format == "yaml":
        return 1
    lazy = kept_of(node.doc)
    kept = lazy.indexes.get(node.start)
    if not isinstance(kept, Members) and not _may_repeat(lazy.text, key, node.start, found.start):
        return 1
    return members(node).repeats.get(key, 1)


def _may_repeat(text: bytes, key: str, start: int, end: int) -> bool:
    """Whether the text up to a key's value could hold that key twice, however spelled."""
    if not chains.is_plain(key) or "/" in key:
        return True
    token = msgspec.json.encode(key)
    first = text.find(token, start, end)
    return (
        first < 0
        or text.find(token, first + len(token), end) >= 0
        or text.find(b"\\u", start, end) >= 0
    )


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a run of keys led."""

    node: Node | None
    """None where a key is missing, or a value on the way is no object."""
    repeats: tuple[tuple[int, int, Node], ...] = ()
    """For each key met more than once: its place in the run, how often, its value."""


def descend(node: Node, keys: Sequence[str], *, indexed: bool = False) -> Descent:
    """The value at the end of a run of keys, in one pass where that can be.

    indexed: an array is wanted there, whose elements are asked next; they are then found in the
    same pass.
    """
    lazy = kept_of(node.doc)
    keys = tuple(keys)
    if lazy.shadow is None and chains.usable(keys) == keys and len(keys) > indexed ^ 1:
        found = _pass(node, lazy, keys, indexed)
        if found is not None:
            here = found[0]
            if here is None or node.doc.format == "yaml":
                return Descent(here)
            if not found[1]:
                return Descent(here, _last_repeats(node, lazy, keys, here))
    return _step(node, keys)


def _last_repeats(
    node: Node, lazy: Kept, keys: tuple[str, ...], here: Node
) -> tuple[tuple[int, int, Node], ...]:
    """The repeats of the last of the keys, when its parents do not repeat."""
    text, key = lazy.text, keys[-1]
    if not _may_repeat(text, key, node.start, here.start):
        return ()
    opening = walk.opening_before(text, here.start, _PARENT_REACH_BYTES)
    if opening is not None and not _may_repeat(text, key, opening, here.start):
        return ()
    parent = node
    if len(keys) > 1:
        found = _pass(node, lazy, keys[:-1], False)
        if found is None or found[0] is None:
            return ()
        parent = found[0]
    times = repeats_of(parent, key, here)
    return ((len(keys) - 1, times, here),) if times > 1 else ()


def _pass(
    node: Node, lazy: Kept, keys: tuple[str, ...], indexed: bool
) -> tuple[Node | None, bool] | None:
    """The value and whether objects repeat on the way; None where types on the way differ."""
    kept = node.doc.kept.pop(CHAIN, None)
    try:
        if (
            isinstance(kept, chains.Found)
            and (kept.keys, kept.indexed) == (keys, indexed)
            and node.start == root(node.doc).start
        ):
            found = kept
        else:
            found = chains.decode(lazy.view[node.start : node.end], keys, indexed)
    except (msgspec.ValidationError, RecursionError):
        return None
    value = found.value
    if value is None:
        return None, found.repeated
    if isinstance(value, Raw):
        start = address(value) - lazy.base
        return Node(node.doc, start, start + len(value)), found.repeated
    if not value:
        return None  # an empty array has no slice to tell its place
    first = address(value[0]) - lazy.base
    last = address(value[-1]) - lazy.base + len(value[-1])
    start = lazy.text.rindex(b"[", node.start, first)
    end = lazy.text.index(b"]", last) + 1
    here = Node(node.doc, start, end)
    if end - start >= INDEX_FROM_BYTES and start not in lazy.indexes:
        lazy.keep(start, _late(here, lazy, value))
    return here, found.repeated


def _step(node: Node, keys: tuple[str, ...]) -> Descent:
    repeats: list[tuple[int, int, Node]] = []
    here = node
    for at, key in enumerate(keys):
        found = child(here, key)
        if found is None:
            return Descent(None, tuple(repeats))
        if (times := repeats_of(here, key, found)) > 1:
            repeats.append((at, times, found))
        here = found
    return Descent(here, tuple(repeats))


def summary(node: Node) -> str:
    """What it is in a word: `object{3}`, `array[2]`, `string(5)` (code points), `number` …"""
    kind = node.type
    if kind == "object":
        return f"object{{{size(node)}}}"
    if kind == "array":
        return f"array[{size(node)}]"
    if kind == "string":
        token = node.raw
        if b"\\" not in token and token.isascii():
            return f"string({len(token) - 2})"
        return f"string({len(text_of(node))})"
    return kind
