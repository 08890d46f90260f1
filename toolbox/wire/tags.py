"""Tagged calls in a model's text, found as the text comes, and replies written as tags.

A parser is fed a message in pieces of any size and gives each call as soon as its tag is complete.
Nothing here does I/O. What the text may hold beside calls: Markdown code, thinking, comments and
echoed replies, whose tags are not run; look-alikes and mentions, which are prose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from toolbox import limits
from toolbox.wire.draft import Tools
from toolbox.wire.items import Bad, Call, Item, Skipped, Where, is_fragment
from toolbox.wire.lexer import TAG_GAP_BYTES, Reading, Source, may_become
from toolbox.wire.paragraph import Paragraph
from toolbox.wire.replies import format_note, format_result
from toolbox.wire.tag import read_tag

__all__ = [
    "Bad",
    "Call",
    "Item",
    "Skipped",
    "TagParser",
    "format_note",
    "format_result",
]

PREFIX_BYTES: Final = 1_000
"""Indentation and list or quote marks before a line's text; more is no Markdown."""

_INTEREST = re.compile(rb"[`\n\\]|<(?=[tT!]|\Z)")
_OPENING = re.compile(
    rb"(?ai)<(?:(tool_call)(?=[ \t\r\n\f/>])|(tool_result|tool_note)(?=[ \t\r\n\f/>])"
    rb"|(think|thinking)(?=[ \t\r\n\f>])|(!--))"
)
_WORDS: Final = (
    b"<tool_call ", b"<tool_result ", b"<tool_note ", b"<think>", b"<thinking>", b"<!--",
)  # fmt: skip
_NEWLINES = re.compile(rb"[\r\n]*")
_MARKS = re.compile(rb"(?:[ \t]|>|[-*+](?=[ \t])|[0-9]{1,9}[.)](?=[ \t]))*")
_BLOCK = re.compile(rb"[ \t]*(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t]|#{1,6}[ \t])")
_REST_OF_TAG = re.compile(rb"[^<>]{0,4096}>")


class TagParser:
    """The calls of one message.

    tools: tool → its verbs. is_write: from a tool and `{"cmd": …, "args": {…}}`, whether that call
    changes files. message_limit: bytes past which the message is refused; calls before that point
    have been given already.
    """

    def __init__(
        self,
        tools: Mapping[str, Collection[str]],
        is_write: Callable[[str, dict[str, Any]], bool],
        message_limit: int = limits.MESSAGE_BYTES,
    ) -> None:
        self._tools = Tools(tools, is_write)
        self._limit = message_limit
        self._source = Source(bytearray())
        self._out: list[Item] = []
        self._index = 0
        self._refused = False
        self._paragraph = Paragraph(self._out.append)
        self._reading: Reading[None] | None = self._read()

    def feed(self, chunk: str | bytes) -> list[Item]:
        """What is complete with this piece of the message; bytes may be cut inside a character."""
        if self._reading is None:
            return []
        data = chunk.encode("utf-8", "surrogatepass") if isinstance(chunk, str) else chunk
        room = self._limit - len(self._source.data)
        if len(data) > room:
            return self._refuse()
        self._source.data += data
        return self._go_on()

    def finish(self) -> list[Item]:
        """What is left at the message's end; the parser takes nothing more."""
        if self._reading is None:
            return []
        self._source.ended = True
        items = self._go_on()
        self._reading = None
        self._source = Source(bytearray(), ended=True)
        return items

    def _go_on(self) -> list[Item]:
        assert self._reading is not None
        try:
            next(self._reading)
        except StopIteration:
            self._reading = None
        return self._take()

    def _take(self) -> list[Item]:
        items: list[Item] = []
        for item in self._out:
            if isinstance(item, Call | Bad):
                item = replace(item, index=self._index)
                self._index += 1
            items.append(item)
        self._out.clear()
        return items

    def _refuse(self) -> list[Item]:
        self._reading = None
        self._source = Source(bytearray(), ended=True)
        self._out.append(
            Bad(
                reason="too_large",
                message=f"the message is larger than {self._limit} bytes; what came before its "
                "limit was run, the rest was not read",
                hint="save large text to a file in the workspace and name the file",
            )
        )
        return self._take()

    # -- the text --------------------------------------------------------------------------------

    def _read(self) -> Reading[None]:
        """The whole message: lines, inline runs, and what a `<` opens."""
        src = self._source
        data = src.data
        pos = 0
        line_start = True
        while True:
            if line_start:
                line_start = False
                pos, fenced = yield from self._line_start(pos)
                if fenced:
                    line_start = True
                    continue
            match = _INTEREST.search(data, pos)
            if match is None:
                pos = len(data)
                if src.ended:
                    break
                yield
                continue
            pos = match.start()
            byte = data[pos]
            if byte == 0x0A:
                pos += 1
                line_start = True
            elif byte == 0x60:
                pos = yield from self._backticks(pos, escaped=False)
            elif byte == 0x5C:
                if pos + 1 == len(data) and not src.ended:
                    yield
                    continue
                pos += 1
                if pos < len(data) and data[pos] == 0x60:
                    pos = yield from self._backticks(pos, escaped=True)
                elif pos < len(data) and data[pos] == 0x5C:
                    pos += 1
            else:
                pos, line_start = yield from self._angle(pos)
        self._paragraph.end()

    def _backticks(self, pos: int, *, escaped: bool) -> Reading[int]:
        """Past a run of backticks."""
        src = self._source
        end = pos
        while True:
            while end < len(src.data) and src.data[end] == 0x60:
                end += 1
            if end < len(src.data) or src.ended:
                self._paragraph.run(end - pos, end, escaped=escaped)
                return end
            yield

    def _angle(self, pos: int) -> Reading[tuple[int, bool]]:
        """Past what a `<` opens, and whether a line may be taken to start there."""
        src = self._source
        data = src.data
        while (match := _OPENING.match(data, pos)) is None:
            if not may_become(src, pos, _WORDS):
                return pos + 1, False
            yield
        if match[1]:
            read_on, item = yield from read_tag(src, match.end(), self._tools)
            if isinstance(item, Bad) and self._paragraph.open:
                # A broken tag in inline code is a mention; the code may end within it.
                closes = _run_of(self._paragraph.open).search(data, pos, read_on)
                if closes is not None:
                    return closes.start(), False
            if item is not None:
                self._paragraph.item(item)
            return read_on, False
        kind: Where = "echo" if match[2] else "thinking" if match[3] else "comment"
        name = (match[2] or match[3] or b"").lower()
        start = match.end()
        if kind != "comment":
            while (rest := _REST_OF_TAG.match(data, start)) is None:
                window = data[start : start + TAG_GAP_BYTES + 1]
                if src.ended or b"<" in window or len(window) > TAG_GAP_BYTES:
                    return start, False
                yield
            start = rest.end()
        if self._paragraph.open and (yield from self._is_quoted(pos, start)):
            return start, False
        if kind != "comment" and data[start - 2] == 0x2F:
            return start, False  # <tool_result … /> holds nothing
        closer = b"-->" if kind == "comment" else rb"</" + name + rb"[ \t\r\n\f]*>"
        # A comment may be as short as <!--> .
        after = yield from self._region(kind, start - 2 if kind == "comment" else start, closer)
        return after, True

    def _is_quoted(self, pos: int, start: int) -> Reading[bool]:
        """Whether a tag that opens a region is only named in inline code: `<think>`.

        Its backticks must touch it on one side, and close within the paragraph.
        """
        src = self._source
        data = src.data
        size = self._paragraph.open
        touches = self._paragraph.last_end == pos
        if not touches:
            while len(data) - start < size + 1 and not src.ended:
                if data[start:].strip(b"`"):
                    return False
                yield
            return _run_of(size).match(data, start) is not None
        look = start
        while True:
            at = look
            while at < len(data):
                if data[at] == 0x60:
                    end = at
                    while end < len(data) and data[end] == 0x60:
                        end += 1
                    if end == len(data) and not src.ended:
                        break
                    if end - at == size:
                        return True
                    at = end
                elif data[at] == 0x0A:
                    end = at + 1
                    while end < len(data) and data[end] in b" \t\r":
                        end += 1
                    if end == len(data) and not src.ended:
                        break
                    if end == len(data) or data[end] == 0x0A:
                        return False
                    at = end
                else:
                    found = re.compile(rb"[`\n]").search(data, at)
                    at = found.start() if found else len(data)
            look = at
            if src.ended:
                return False
            yield

    def _region(self, kind: Where, start: int, closer: bytes) -> Reading[int]:
        """Past a region whose tags are not run; to the message's end where it is not closed."""
        src = self._source
        pattern = re.compile(rb"(?ai)" + closer)
        look = start
        while (match := pattern.search(src.data, look)) is None:
            if src.ended:
                self._skip(kind, start, len(src.data))
                return len(src.data)
            # A closer may have come in part: its white space is bounded like any tag's.
            tail = src.data.rfind(b"-" if kind == "comment" else b"<", max(look, start))
            if kind == "comment":
                look = max(look, len(src.data) - 2)
            elif tail >= 0 and len(src.data) - tail <= TAG_GAP_BYTES:
                look = tail
            else:
                look = len(src.data)
            yield
        self._skip(kind, start, match.start())
        return match.end()

    def _skip(self, kind: Where, start: int, end: int) -> None:
        """Tell of the calls between two places, none of which is run."""
        if self._source.data.find(b"<", start, end) < 0:
            return
        for _ in _tags_in(bytes(self._source.data[start:end]), self._tools):
            self._paragraph.item(Skipped(kind))

    # -- lines -----------------------------------------------------------------------------------

    def _line_start(self, pos: int) -> Reading[tuple[int, bool]]:
        """Past a line's marks, or past a whole fenced block (True)."""
        src = self._source
        data = src.data
        while True:
            match = _MARKS.match(data, pos)
            assert match is not None
            at = match.end()
            settled = at < len(data) and (
                data[at] not in b"-*+0123456789" or len(data) - at > 11 or b"\n" in data[at:at + 11]
            )  # fmt: skip
            if settled or src.ended or at - pos > PREFIX_BYTES:
                break
            yield
        if at >= len(data) or at - pos > PREFIX_BYTES:
            return at, False
        if data[at] in b"\r\n":
            self._paragraph.end()
            blank = _NEWLINES.match(data, at)
            return (blank.end() if blank else at), True
        if data[at] in b"`~":
            return (yield from self._fence(pos, at))
        if data[at] == 0x23:
            while len(data) - at < 8 and not src.ended and b"\n" not in data[at:]:
                yield
        if _BLOCK.match(data, pos):
            self._paragraph.end()
        return at, False

    def _fence(self, pos: int, at: int) -> Reading[tuple[int, bool]]:
        """A line that begins with ` or ~: past the fenced block that it opens, if it opens one."""
        src = self._source
        data = src.data
        mark = data[at]
        end = at
        while True:
            while end < len(data) and data[end] == mark:
                end += 1
            if end < len(data) or src.ended:
                break
            yield
        size = end - at
        if size < 3:
            if _BLOCK.match(data, pos):
                self._paragraph.end()
            return (at, False) if mark == 0x60 else (end, False)
        stop = end
        if mark == 0x60:  # its info string has no backtick, or it is inline code
            while (found := re.compile(rb"[`\n]").search(data, stop)) is None:
                stop = len(data)
                if src.ended:
                    break
                yield
            stop = found.start() if found else len(data)
            if found and data[stop] == 0x60:
                return at, False
            if self._paragraph.open == size and not data[end:stop].strip():
                return at, False  # closes a run of as many that began within a line
        self._paragraph.end()
        quoted = b">" in data[pos:at]
        closing = re.compile(rb"[ \t>]*" + bytes([mark]) + b"{%d,}[ \t\r]*\\Z" % size)
        line = look = data.find(b"\n", end)
        if line < 0:
            look = len(data)
        else:
            line = look = line + 1
        while True:
            newline = data.find(b"\n", look)
            if newline < 0:
                if not src.ended:
                    look = len(data)
                    yield
                    continue
                newline = len(data)
            if line < 0:  # still on the opening line
                line = newline + 1
            else:
                text = data[line:newline]
                if quoted and not text.lstrip(b" \t").startswith(b">"):
                    self._skip("code", end, line)
                    return line, True
                if len(text) < TAG_GAP_BYTES and closing.match(text):
                    self._skip("code", end, line)
                    return min(newline + 1, len(data)), True
                line = newline + 1
            if newline >= len(data):
                self._skip("code", end, len(data))
                return len(data), True
            look = line


@lru_cache(maxsize=16)
def _run_of(size: int) -> re.Pattern[bytes]:
    """A run of exactly so many backticks."""
    return re.compile(rb"(?<!`)`{%d}(?!`)" % size)


def _tags_in(content: bytes, tools: Tools) -> Iterator[Call | Bad]:
    """The tags of a text that is complete, whatever surrounds them."""
    src = Source(bytearray(content), ended=True)
    pos = 0
    while (match := _CALL.search(src.data, pos)) is not None:
        reading = read_tag(src, match.end(), tools)
        try:
            while True:
                next(reading)
        except StopIteration as stop:
            pos, item = stop.value
        if item is not None and not is_fragment(item):
            yield item


_CALL = re.compile(rb"(?ai)<tool_call(?=[ \t\r\n\f/>])")
