"""Ends of things in a growing message, each found in one pass however the message is cut.

Every function is a generator that yields where it needs more of the message and returns its
answer; between yields it remembers how far it has looked, so that a message fed byte by byte costs
no more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")
Reading = Generator[None, None, T]

SPACE: Final = b" \t\r\n\f"
TAG_GAP_BYTES: Final = 4096
"""White space or a word inside a tag; more is no tag of a model, and looking at it again with each
byte that comes would cost the square of its length."""


@dataclass(slots=True)
class Source:
    """The message so far."""

    data: bytearray
    ended: bool = False


_SPACES = re.compile(rb"[ \t\r\n\f]*")
_IN_STRING: Final = {
    0x22: re.compile(rb'(?:[^"\\]+|\\.){0,1000}', re.DOTALL),
    0x27: re.compile(rb"(?:[^'\\]+|\\.){0,1000}", re.DOTALL),
}
_TOKENS: Final = rb'[ \t\r\n,:0-9+\-.eE]++|"[^"\\]{0,200}+"(?=[,:}\]])|true|false|null'
_FLAT = re.compile(
    # Runs of short tokens, and of objects and arrays that hold nothing else, at native speed.
    rb"(?:%b|\{(?:%b){0,200}\}|\[(?:%b){0,200}\]){0,1000}" % (_TOKENS, _TOKENS, _TOKENS)
)
_WORD = re.compile(rb"true|false|null|(True|False|None)")
_WORDS: Final = (b"true", b"false", b"null", b"True", b"False", b"None")
_STRUCTURE: Final = frozenset(b",:}]")
_OPENERS: Final = frozenset(b"{[,:")


def skip_space(src: Source, pos: int) -> Reading[int]:
    """Where the white space at pos ends; -1 where the message ends in it."""
    while True:
        match = _SPACES.match(src.data, pos)
        assert match is not None
        pos = match.end()
        if pos < len(src.data):
            return pos
        if src.ended:
            return -1
        yield


def string_end(src: Source, pos: int, quote: int) -> Reading[int]:
    """Past the quote (0x22 or 0x27) that ends the string whose content starts at pos; -1: none."""
    pattern = _IN_STRING[quote]
    while True:
        match = pattern.match(src.data, pos)
        assert match is not None
        end = match.end()
        if end > pos:
            pos = end
            continue
        if pos < len(src.data) and src.data[pos] == quote:
            return pos + 1
        if src.ended:
            return -1
        yield


@dataclass(frozen=True, slots=True)
class Lexed:
    """How far a JSON object or array reaches.

    end: past its last bracket, -1 where it has none. broke: where it stops being JSON, or a Python
    literal, -1 where the message ends first. retry: from where its delimiter may be looked for;
    what stands before lies in strings that can be trusted.
    """

    end: int = -1
    broke: int = -1
    retry: int = -1


def lex_value(src: Source, start: int) -> Reading[Lexed]:
    """The reach of the object or array whose first bracket stands at start.

    Judged by its tokens alone: strings, numbers, words, brackets that balance; a string must be
    followed by structure, which is what a string that lost its quote is not. Strings may hold real
    newlines, and may be Python's.
    """
    data = src.data
    pos = start
    depth = 0
    while True:
        if depth:
            match = _FLAT.match(data, pos)
            assert match is not None
            if match.end() > pos:
                pos = match.end()
                continue
        if pos == len(data):
            if src.ended:
                return Lexed()
            yield
            continue
        byte = data[pos]
        if byte in b"{[":
            depth += 1
            pos += 1
        elif byte in b"}]":
            depth -= 1
            pos += 1
            if depth == 0:
                return Lexed(end=pos)
        elif byte == 0x22 or (byte == 0x27 and _opens(data, pos)):
            after = yield from string_end(src, pos + 1, byte)
            if after >= 0:
                after = yield from skip_space(src, after)
            if after < 0:
                return Lexed()
            if data[after] not in _STRUCTURE:
                return Lexed(broke=after, retry=pos)
            pos = after
        else:
            match = _WORD.match(data, pos)
            if match is not None:
                pos = match.end()
            elif may_become(src, pos, _WORDS):
                yield
            else:
                return Lexed(broke=pos, retry=pos)


def _opens(data: bytearray, pos: int) -> bool:
    """Whether a string may start here: only structure stands before it."""
    pos -= 1
    while pos >= 0 and data[pos] in SPACE:
        pos -= 1
    return pos >= 0 and data[pos] in _OPENERS


def may_become(src: Source, pos: int, words: tuple[bytes, ...]) -> bool:
    """Whether more of the message could still make one of these words (any case) at pos."""
    if src.ended or len(src.data) - pos >= 16:
        return False
    rest = bytes(src.data[pos:]).lower()
    return any(word.lower().startswith(rest) for word in words)


_GOES_ON = re.compile(rb"[ \t\r\n\f]*(?:/[ \t\r\n\f]*>|>|[A-Za-z_:][\w:.\-]*[ \t\r\n\f]*=)")
_MAY_GO_ON = re.compile(rb"[ \t\r\n\f]*(?:/[ \t\r\n\f]*|[A-Za-z_:][\w:.\-]*[ \t\r\n\f]*)?\Z")


def tag_goes_on(src: Source, pos: int) -> Reading[bool]:
    """Whether another attribute, the tag's end, or the message's end follows."""
    while True:
        if _GOES_ON.match(src.data, pos):
            return True
        if len(src.data) - pos > TAG_GAP_BYTES or not _MAY_GO_ON.match(src.data, pos):
            return False
        if src.ended:
            return True
        yield


_TAG = re.compile(rb"(?ai)<(?:(/)tool_call[ \t\r\n\f]*>|tool_call(?=[ \t\r\n\f/>]))")
_TAG_WORDS: Final = (b"<tool_call", b"</tool_call")


@lru_cache(maxsize=8)
def _ends(quote: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]]:
    """A quote, perhaps escaped, and the tag's end after it; where to look; its beginning."""
    escaped = re.escape(quote)
    gap = rb"[ \t\r\n\f]{0,%d}" % TAG_GAP_BYTES
    return (
        re.compile(rb"\\?" + escaped + gap + rb"/?" + gap + rb">"),
        re.compile(rb"[\"'<\\]|" + escaped),
        re.compile(rb"\\?(?:" + escaped + gap + rb"/?" + gap + rb")?\Z"),
    )


def recover(src: Source, pos: int, quote: bytes) -> Reading[int]:
    """Where to read on after a value that is broken at pos and stands in these quotes.

    That is past its closing quote and tag end, or at the next tag. Strings are stepped over, so
    that a tag in one is not taken for a neighbour, unless no structure follows the string: then it
    lost its quote, and a tag end inside it counts.
    """
    data = src.data
    ends, interest, partial = _ends(quote)
    while True:
        match = interest.search(data, pos)
        if match is None:
            pos = len(data)
            if src.ended:
                return pos
            yield
            continue
        pos = match.start()
        match = ends.match(data, pos)
        if match is not None:
            return match.end()
        byte = data[pos]
        near_end = len(data) - pos < TAG_GAP_BYTES and not src.ended
        if near_end and byte != 0x3C and partial.match(data, pos):
            yield
            continue
        if byte == 0x3C:
            match = _TAG.match(data, pos)
            if match is not None:
                return match.end() if match[1] else pos
            if near_end and _may_be_tag(src, pos):
                yield
                continue
            pos += 1
        elif byte == 0x5C:
            pos += 2
        elif byte in (0x22, 0x27) and (byte == 0x22 or _opens(data, pos)):
            close = yield from string_end(src, pos + 1, byte)
            after = -1
            if close >= 0:
                after = yield from skip_space(src, close)
            if after < 0:
                return len(data)
            if data[after] not in _STRUCTURE:
                while not src.ended and partial.match(data, close - 1):
                    if len(data) - close > TAG_GAP_BYTES:
                        break
                    yield
                match = ends.search(data, pos + 1, close + TAG_GAP_BYTES)
                if match is not None and match.start() < close:
                    return match.end()
            pos = close
        else:
            pos += 1


_MAY_BE_TAG = re.compile(rb"(?ai)</tool_call[ \t\r\n\f]*\Z")


def _may_be_tag(src: Source, pos: int) -> bool:
    return may_become(src, pos, _TAG_WORDS) or _MAY_BE_TAG.match(src.data, pos) is not None


def next_tag(src: Source, pos: int) -> Reading[tuple[int, int]]:
    """Where the next opening or closing tag starts and ends; (at, at) for an opening one,
    (-1, -1) for none."""
    data = src.data
    while True:
        at = data.find(b"<", pos)
        if at < 0:
            pos = len(data)
            if src.ended:
                return -1, -1
            yield
            continue
        match = _TAG.match(data, at)
        if match is not None:
            return at, (match.end() if match[1] else at)
        if not src.ended and len(data) - at < TAG_GAP_BYTES and _may_be_tag(src, at):
            pos = at
            yield
            continue
        pos = at + 1
