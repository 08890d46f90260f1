"""Keys that stand more than once in their object, anywhere in a document."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

import msgspec

from toolbox.engines.documents import lazy
from toolbox.engines.documents.collection import paused
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.kept import decode, kept_of
from toolbox.engines.documents.nodes import Node
from toolbox.engines.documents.spans import Span, find_steps, split
from toolbox.engines.documents.surrogates import Shadow
from toolbox.engines.documents.walk import walk_members

REPEATS_TOLD: Final = 20
"""Repeated keys whose place is told; all are counted."""

_anything = msgspec.json.Decoder()
_encode = msgspec.json.Encoder().encode
_string = msgspec.json.Decoder(str)

_TOKENS: Final = re.compile(
    rb'("(?:[^"\\]++|\\.)*+")[ \t\n\r]*+(:?+)|[\[\]{}]', re.DOTALL
)
_SPACED: Final = rb'"[ \t\n\r]+:'
"""A key that counting `":` does not see."""
_UNLIKE: Final = _SPACED + rb'|\\\\":|\\u003[aA]'
"""Keys that counting `":` does not see, keys that end in what looks like an escaped quote, and
colons that stand as escapes: with one of these equal counts prove nothing."""


class Looks(Protocol):
    """A deadline: `check` raises when it has passed."""

    def check(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Repeat:
    """A key that stands more than once in one object."""

    steps: tuple[str | int, ...]
    """The key's path."""
    offset: int
    """Where the second one starts in the document's text."""
    count: int


@dataclass(frozen=True, slots=True)
class Repeats:
    """The repeated keys of a document: the first ones by place, and how many there are."""

    told: tuple[Repeat, ...]
    total: int


@dataclass(frozen=True, slots=True)
class _Found:
    container: int
    key: str
    offset: int
    count: int


def find_repeats(doc: Document, most: int = REPEATS_TOLD, deadline: Looks | None = None) -> Repeats:
    """The keys that stand more than once in their object, in the order of their second places.

    Pieces of the document are decoded and written again, and the keys of both texts counted: only
    where these differ is a piece walked, which takes some ten times as long.
    """
    text = lazy.readable(doc)
    found: list[_Found] = []
    with paused():
        for part in split(doc):
            if deadline is not None:
                deadline.check()
            if isinstance(part, Span):
                if not _is_clean(text, part):
                    found += _walk(text, part.start, part.end, part.within != 0)
            elif lazy.members(part).repeats:
                found += _walk_large(part, text)
    found.sort(key=lambda one: one.offset)
    shadow = kept_of(doc).shadow
    told = tuple(
        Repeat((*find_steps(doc, one.container), _restore(one.key, shadow)), one.offset, one.count)
        for one in found[:most]
    )
    return Repeats(told, len(found))


def _restore(key: str, shadow: Shadow | None) -> str:
    return key if shadow is None else shadow.restore(key)


def _is_clean(text: bytes, span: Span) -> bool:
    """True when no key repeats for sure: as many keys are decoded as end in the text."""
    chunk = text[span.start : span.end]
    if chunk.find(b":") < 0:
        return True
    if (_spaced() if b"\\" not in chunk else _unlike())(chunk):
        return False
    spelled = _count_ends(chunk)
    if span.within:
        closer = b"]" if span.within == 0x5B else b"}"
        chunk = bytes((span.within,)) + chunk + closer
    try:
        value = decode(_anything, chunk)
    except msgspec.DecodeError:
        return False  # a number that no double holds
    # A string that starts with a colon counts on both sides; a repeated key on one.
    return spelled == _count_ends(_encode(value))


@cache
def _unlike() -> Callable[[bytes], object]:
    return _compile(_UNLIKE)


@cache
def _spaced() -> Callable[[bytes], object]:
    return _compile(_SPACED)


def _compile(pattern: bytes) -> Callable[[bytes], object]:
    import re2

    search: Callable[[bytes], object] = re2.compile(pattern).search
    return search


def _count_ends(text: bytes) -> int:
    """How many keys end in the text, and strings start with a colon."""
    ends = text.count(b'":')
    return ends - text.count(b'\\":') if b"\\" in text else ends


def _walk(text: bytes, start: int, end: int, bare: bool) -> list[_Found]:
    """The repeats of one span, token by token. `bare`: it is a container's inside.

    The keys that stand free in a bare span are of an object that comes as a node of its own.
    """
    found: list[_Found] = []
    seen: dict[bytes, list[int]] = {}
    opened: list[tuple[int, dict[bytes, list[int]]]] = []
    at = start - 1 if bare else start
    for token in _TOKENS.finditer(text, start, end):
        first = text[token.start()]
        if first == 0x22:
            if token[2]:
                key = token[1]
                if b"\\" in key:
                    key = msgspec.json.encode(_string.decode(key))
                seen.setdefault(key, []).append(token.start())
        elif first in b"{[":
            opened.append((at, seen))
            at, seen = token.start(), {}
        else:
            found += _repeated(at, seen)
            at, seen = opened.pop()
    return found


def _repeated(container: int, seen: dict[bytes, list[int]]) -> list[_Found]:
    return [
        _Found(container, _string.decode(key), places[1], len(places))
        for key, places in seen.items() if len(places) > 1
    ]  # fmt: skip


def _walk_large(node: Node, text: bytes) -> list[_Found]:
    seen: dict[bytes, list[int]] = {}
    for token, value, _ in walk_members(text, node.start):
        key = msgspec.json.encode(_string.decode(token)) if b"\\" in token else token
        seen.setdefault(key, []).append(text.rindex(token, node.start, value))
    return _repeated(node.start, seen)


