"""A document in pieces of bounded size, for passes that need not hold all of it decoded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw

from toolbox.engines.documents import lazy
from toolbox.engines.documents.addresses import address
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.kept import decode, kept_of
from toolbox.engines.documents.nodes import Elements, Members, Node
from toolbox.engines.documents.walk import walk_elements, walk_members

SPAN_BYTES: Final = 1024 * 1024
"""A piece's size: decoded it takes some ten times as much, and stays out of the way of the heap."""


_elements_of: Final = msgspec.json.Decoder(list[Raw])


_ARRAY: Final = 0x5B


@dataclass(frozen=True, slots=True)
class Span:
    """[start, end) of a document's text: one value, or some that stand side by side."""

    start: int
    end: int
    within: int
    """Byte of the container that they are elements or members of (`[`, `{`); 0 for one value."""


def split(doc: Document, span_bytes: int = SPAN_BYTES) -> Iterator[Span | Node]:
    """The document as spans that cover each value once, and its objects too large for a span.

    An object that comes as a Node is split further: its members come as spans of their own, its
    keys are not in one span.
    """
    waiting = [lazy.root(doc)]
    while waiting:
        node = waiting.pop()
        if node.end - node.start <= span_bytes or node.type not in ("array", "object"):
            yield Span(node.start, node.end, 0)
            continue
        if node.type == "object":
            yield node
            inside: Elements | Members = lazy.members(node)
            if isinstance(inside, Members) and inside.repeats:
                for _, start, end in walk_members(lazy.readable(doc), node.start):
                    waiting.append(Node(doc, start, end))
                continue
            bounds: Iterator[tuple[int, int]] = zip(inside.starts, inside.ends, strict=True)
        elif (raws := _slices(node)) is not None:
            base = kept_of(doc).base
            for start, end, count in _group(raws, base, span_bytes):
                if count > 1 or end - start <= span_bytes:
                    yield Span(start, end, _ARRAY)
                else:
                    waiting.append(Node(doc, start, end))
            continue
        else:
            inside = lazy.elements(node)
            bounds = zip(inside.starts, inside.ends, strict=True)
        first = last = node.start + 1
        for start, end in bounds:
            if end - start > span_bytes:
                if first < last:
                    yield Span(first, last, doc.text[node.start])
                waiting.append(Node(doc, start, end))
                first = _after_comma(doc.text, end)
            elif end - first >= span_bytes:
                yield Span(first, end, doc.text[node.start])
                first = _after_comma(doc.text, end)
            last = end
        if first < last:
            yield Span(first, last, doc.text[node.start])


def _slices(node: Node) -> list[Raw] | None:
    """The elements of an array as slices, None where they may be too many."""
    kept = kept_of(node.doc)
    if lazy.is_many(kept.text, node.start, node.end):
        return None
    raws: list[Raw] = decode(_elements_of, kept.view[node.start : node.end])
    return raws


def _group(raws: list[Raw], base: int, span_bytes: int) -> Iterator[tuple[int, int, int]]:
    """[start, end) and count of each element past the size, and of runs of others up to it.

    Only where a run ends is looked up: an address for each element would take longer than the
    decoding.
    """
    spent = 0
    first = 0
    for k, size in enumerate(map(len, raws)):
        if size > span_bytes:
            if k > first:
                yield _range(raws, first, k - 1, base)
            yield _range(raws, k, k, base)
            first, spent = k + 1, 0
            continue
        spent += size + 2
        if spent >= span_bytes:
            yield _range(raws, first, k, base)
            first, spent = k + 1, 0
    if first < len(raws):
        yield _range(raws, first, len(raws) - 1, base)


def _range(raws: list[Raw], first: int, last: int, base: int) -> tuple[int, int, int]:
    end = address(raws[last]) - base + len(raws[last])
    return address(raws[first]) - base, end, last - first + 1


def _after_comma(text: bytes, at: int) -> int:
    comma = text.find(b",", at)
    return comma + 1 if comma >= 0 else len(text)


def find_steps(doc: Document, offset: int) -> tuple[str | int, ...]:
    """The keys and indices that lead to the value that starts at, or holds, this offset."""
    steps: list[str | int] = []
    node = lazy.root(doc)
    while node.start != offset and node.type in ("array", "object"):
        held = _element_at(node, offset) if node.type == "array" else _member_at(node, offset)
        if held is None:
            break
        step, node = held
        steps.append(step)
    return tuple(steps)


_INDEXED_FROM_BYTES: Final = 4096
"""Containers from this size on are looked up in their index: the next offset asks them again."""


def _element_at(node: Node, offset: int) -> tuple[int, Node] | None:
    """The element that holds an offset, with its index."""
    if node.end - node.start >= _INDEXED_FROM_BYTES:
        inside = lazy.elements(node)
        at = _find(inside, offset)
        return None if at is None else (at, inside[at])
    for at, (start, end) in enumerate(walk_elements(lazy.readable(node.doc), node.start)):
        if start <= offset < end:
            return at, Node(node.doc, start, end)
    return None


def _member_at(node: Node, offset: int) -> tuple[str, Node] | None:
    """The member whose value holds an offset, with its key."""
    if node.end - node.start >= _INDEXED_FROM_BYTES:
        inside = lazy.members(node)
        if not inside.repeats:  # else an earlier value of a key is in no index
            at = _find(inside, offset)
            return None if at is None else inside[at]
    for token, start, end in walk_members(lazy.readable(node.doc), node.start):
        if start <= offset < end:
            return lazy.text_of(_key(node.doc, token, start)), Node(node.doc, start, end)
    return None


def _find(inside: Elements | Members, offset: int) -> int | None:
    """Which of the values, in the order of the text, holds an offset."""
    at = bisect_right(inside.starts, offset) - 1
    return at if at >= 0 and offset < inside.ends[at] else None


def _key(doc: Document, token: bytes, value: int) -> Node:
    start = lazy.readable(doc).rindex(token, 0, value)
    return Node(doc, start, start + len(token))
