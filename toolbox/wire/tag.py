"""One `<tool_call …>` read: its attributes or body, and where it ends."""

from __future__ import annotations

import html
import re
from typing import Final

from toolbox.wire import shape
from toolbox.wire.draft import Draft, Tools, broken, cut, finish, place, refusal
from toolbox.wire.items import NAME_BYTES, Bad, Call, Reason
from toolbox.wire.lexer import (
    TAG_GAP_BYTES,
    Reading,
    Source,
    lex_value,
    next_tag,
    recover,
    skip_space,
    string_end,
    tag_goes_on,
)
from toolbox.wire.shape import Refused

_TYPOGRAPHIC: Final = tuple(c.encode() for c in "“”„‟‘’‚‛«»＂＇´″′")
_CLOSERS = re.compile(b"|".join((*_TYPOGRAPHIC, b"[\"']")))
_ATTRIBUTE = re.compile(rb"[A-Za-z_:][\w:.\-]*")
_UNQUOTED = re.compile(rb"(?:[^\s\"'`<>/=]|/(?!>))+")
_QUOTED: Final = {
    0x22: re.compile(rb'[^"`<\r\n]*'),
    0x27: re.compile(rb"[^'`<\r\n]*"),
}
_ESCAPED_QUOTE = re.compile(rb"\\+[\"']|&quot;|&#39;|&#x27;|&apos;")
_ARGS: Final = ("args", "arguments")


Outcome = tuple[int, "Call | Bad | None"]
"""Where to read on, and the call, its refusal, or None for a mere mention of the tag."""


def read_tag(src: Source, pos: int, tools: Tools) -> Reading[Outcome]:
    """The tag whose name ends at pos."""
    draft = Draft(tools)
    data = src.data
    while True:
        at = yield from skip_space(src, pos)
        if at < 0:
            return len(data), cut(draft)
        byte = data[at]
        if byte == 0x3E:
            return (yield from _read_body(src, at + 1, draft))
        if byte == 0x2F:
            after = yield from skip_space(src, at + 1)
            if after < 0:
                return len(data), cut(draft)
            if data[after] == 0x3E:
                return after + 1, finish(draft)
            return at, broken(draft, "bad_attribute", data, at)
        match = _ATTRIBUTE.match(data, at)
        if match is None:
            reason: Reason = "no_tag_end" if byte == 0x3C else "bad_attribute"
            return at, broken(draft, reason, data, at)
        while match.end() == len(data) and not src.ended:
            if len(data) - at > TAG_GAP_BYTES:
                return at, broken(draft, "bad_attribute", data, at)
            yield
            match = _ATTRIBUTE.match(data, at)
            assert match is not None
        name = match[0].decode("ascii", "replace").lower()
        equals = yield from skip_space(src, match.end())
        if equals < 0:
            return len(data), cut(draft)
        if data[equals] != 0x3D:
            return at, broken(draft, "bad_attribute", data, at)
        start = yield from skip_space(src, equals + 1)
        if start < 0:
            draft.refuse("truncated", f"the message ends before the value of {name}")
            return len(data), refusal(draft)
        read_on = yield from _read_value(src, start, name, draft)
        if read_on < 0:
            return -read_on, refusal(draft)
        pos = read_on


def _read_value(src: Source, at: int, name: str, draft: Draft) -> Reading[int]:
    """Past the attribute's value, kept in the draft; minus where to read on after a broken tag."""
    data = src.data
    is_args = name in _ARGS
    if name in draft.attributes or (is_args and draft.args is not None):
        draft.refuse("duplicate_attribute", f"the attribute {name} stands twice")
    while data[at] >= 0x80 and len(data) - at < 3 and not src.ended:
        yield
    curly = next((q for q in _TYPOGRAPHIC if data.startswith(q, at)), None)
    byte = data[at]
    if curly is not None:
        draft.refuse(
            "bad_quotes",
            f"typographic quotes ({curly.decode()}) around the value of {name}; use ' or \"",
        )
        return (yield from _read_curly(src, at + len(curly), name, draft))
    if byte in (0x22, 0x27):
        quote = chr(byte)
        if is_args:
            return (yield from _read_args(src, at + 1, quote, draft))
        return (yield from _read_quoted(src, at, name, draft))
    if is_args and byte in b"{[":
        lexed = yield from lex_value(src, at)
        if lexed.end >= 0:
            draft.args = bytes(data[at : lexed.end])
            return lexed.end
        if lexed.broke < 0:
            draft.refuse("truncated", "the message ends inside the arguments")
            return -len(data)
        draft.args = bytes(data[at : lexed.broke])
        draft.refuse("bad_json", place("the arguments are no JSON", data, at, lexed.broke))
        return -(yield from recover(src, lexed.retry, b"}"))
    while True:
        match = _UNQUOTED.match(data, at)
        end = match.end() if match else at
        if end < len(data) or src.ended or end - at > NAME_BYTES:
            break
        yield
    value = bytes(data[at:end])
    if _ESCAPED_QUOTE.match(data, at):
        draft.refuse("bad_quotes", f"the quote before the value of {name} is escaped")
        quote_bytes = b'"' if data[at : at + 8].find(b"'") < 0 else b"'"
        return -(yield from recover(src, at, quote_bytes))
    if end == at or end - at > NAME_BYTES:
        draft.refuse("bad_attribute", place(f"no value for {name}", data, at - 1, at))
        return -at
    _keep(draft, name, value)
    return end


def _keep(draft: Draft, name: str, value: bytes) -> None:
    if name in _ARGS:
        draft.args = value
    else:
        draft.attributes.setdefault(name, html.unescape(value.decode("utf-8", "replace")))


def _read_quoted(src: Source, at: int, name: str, draft: Draft) -> Reading[int]:
    """A quoted value that is a name: on one line, without another tag in it."""
    data = src.data
    pattern = _QUOTED[data[at]]
    pos = at + 1
    while True:
        match = pattern.match(data, pos)
        assert match is not None
        pos = match.end()
        if pos < len(data) or src.ended or pos - at > NAME_BYTES:
            break
        yield
    if pos == len(data) and pos - at <= NAME_BYTES:
        draft.refuse("truncated", f"the message ends inside the value of {name}")
        return -pos
    if pos == len(data) or pos - at > NAME_BYTES or data[pos] != data[at]:
        draft.refuse(
            "bad_attribute" if data[pos : pos + 1] == b"`" else "bad_quotes",
            place(f"the quote of {name} is not closed", data, at, min(pos, at + 64)),
        )
        return -pos
    _keep(draft, name, bytes(data[at + 1 : pos]))
    return pos + 1


def _read_curly(src: Source, at: int, name: str, draft: Draft) -> Reading[int]:
    """Past a value in typographic quotes; the draft is refused already."""
    data = src.data
    pos = at
    if name in _ARGS and at < len(data) and data[at] in b"{[":
        lexed = yield from lex_value(src, at)
        pos = lexed.end if lexed.end >= 0 else (lexed.retry if lexed.broke >= 0 else len(data))
    while True:
        match = _CLOSERS.search(data, pos)
        if match is not None:
            if name not in _ARGS:
                _keep(draft, name, bytes(data[at : match.start()]))
            return match.end()
        if src.ended or len(data) - at > NAME_BYTES:
            break
        pos = max(pos, len(data) - 3)
        yield
    after = yield from next_tag(src, at)
    return -(after[1] if after[0] >= 0 else len(data))


def _read_args(src: Source, at: int, quote: str, draft: Draft) -> Reading[int]:
    """The quoted arguments: a JSON object decoded from the quote on, then the closing quote."""
    data = src.data
    mark = quote.encode()
    start = yield from skip_space(src, at)
    if start < 0:
        draft.refuse("truncated", "the message ends inside the arguments")
        return -len(data)
    retry = start
    if data[start] in b"{[":
        lexed = yield from lex_value(src, start)
        if lexed.end >= 0:
            close = yield from skip_space(src, lexed.end)
            if close < 0:
                draft.args = bytes(data[start : lexed.end])
                return len(data)
            if data[close] == ord(quote):
                draft.args = bytes(data[start : lexed.end])
                draft.quote = quote
                return close + 1
            if data[close] in b"/>":
                draft.refuse(
                    "bad_quotes", f"expected the closing quote {quote} after the arguments"
                )
            return (yield from _past_broken(src, start, close, mark, draft))
        elif lexed.broke < 0:
            draft.refuse("truncated", "the message ends inside the arguments")
            return -len(data)
        retry = lexed.retry
        if data[lexed.broke] not in b"\\&":  # neither escaped nor written with references
            return (yield from _past_broken(src, start, retry, mark, draft))
    elif data[start] not in b'&\\"' and data[start] != ord(quote):
        # Nothing that can become an object: the quotes hold one line, as a name's do.
        read_on = yield from _read_quoted(src, at - 1, "args", draft)
        draft.quote = quote
        return read_on
    close = yield from string_end(src, retry, ord(quote))
    if close >= 0 and (yield from tag_goes_on(src, close)):
        draft.args = bytes(data[at : close - 1])
        draft.quote = quote
        return close
    return (yield from _past_broken(src, start, retry, mark, draft))


def _past_broken(src: Source, start: int, retry: int, mark: bytes, draft: Draft) -> Reading[int]:
    """Minus where to read on after arguments that no reading has an end for, and what is wrong."""
    read_on = yield from recover(src, retry, mark)
    try:
        shape.decode(bytes(src.data[start:read_on]))
        draft.refuse("bad_quotes", "the quote of args is not closed")
    except Refused as exc:
        draft.refuse(exc.reason, exc.message)
    return -read_on


# -- the body --------------------------------------------------------------------------------


def _read_body(src: Source, pos: int, draft: Draft) -> Reading[Outcome]:
    """What stands between `<tool_call …>` and its closing tag."""
    data = src.data
    at = yield from skip_space(src, pos)
    if at < 0:
        if draft.args is None and draft.attributes:
            draft.refuse("truncated", "the message ends after the opening tag, before a body")
        return len(data), None if draft.is_mention else finish(draft)
    if data[at] not in b"{[":
        if draft.args is not None or draft.refused is not None:
            return pos, finish(draft)
        closes = yield from _closes(src, at)
        if closes >= 0:
            return closes, None if draft.is_mention else finish(draft)
        if draft.is_mention or "name" not in draft.attributes:
            return pos, None
        draft.refuse("bad_json", place("expected a JSON object as the body", data, at - 1, at))
        return pos, refusal(draft)
    if draft.args is not None:
        draft.refuse("duplicate_attribute", "args stand both in the tag and in its body")
    lexed = yield from lex_value(src, at)
    if lexed.end < 0 and lexed.broke < 0:
        draft.refuse("truncated", "the message ends inside the arguments")
        return len(data), refusal(draft)
    if lexed.end >= 0:
        draft.args = bytes(data[at : lexed.end])
        after = yield from skip_space(src, lexed.end)
        if after < 0:
            draft.whole = False
            return len(data), finish(draft)
        closes = yield from _closes(src, after)
        if closes >= 0:
            return closes, finish(draft)
        if src.ended and b"</tool_call>".startswith(bytes(data[after:]).lower()):
            draft.whole = False
            return len(data), finish(draft)
    retry = lexed.end if lexed.end >= 0 else lexed.retry
    begins, ends = yield from next_tag(src, retry)
    if begins >= 0 and ends > begins:
        draft.args = bytes(data[at:begins])
        return ends, finish(draft)
    draft.args = bytes(data[at : begins if begins >= 0 else len(data)])
    draft.refuse("no_tag_end", "expected </tool_call> after the body")
    if lexed.end >= 0:  # read on right after the object: what follows is no part of it
        return lexed.end, refusal(draft)
    return (begins if begins >= 0 else len(data)), refusal(draft)


_CLOSING = re.compile(rb"(?ai)</tool_call[ \t\r\n\f]*>")
_CLOSING_BEGUN = re.compile(rb"(?ai)</tool_call[ \t\r\n\f]*\Z")


def _closes(src: Source, at: int) -> Reading[int]:
    """Past the closing tag at this place; -1 where there is none."""
    data = src.data
    while True:
        match = _CLOSING.match(data, at)
        if match is not None:
            return match.end()
        begun = b"</tool_call".startswith(bytes(data[at : at + 11]).lower()) and (
            len(data) - at < 11
        )
        if _CLOSING_BEGUN.match(data, at) and len(data) - at < TAG_GAP_BYTES:
            begun = True
        if src.ended or not begun:
            return -1
        yield
