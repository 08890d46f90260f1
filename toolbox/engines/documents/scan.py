"""The first place where a text stops being JSON (RFC 8259), whatever its depth or size.

Runs of members and elements are consumed by regular expressions that know three levels of
nesting; only what is deeper, or broken, is taken token by token. There is no recursion.
"""

from __future__ import annotations

import re
import sys
from array import array
from dataclasses import dataclass
from typing import Final, Literal

Expected = Literal[
    "value", "first element", "element", "first key", "key", "colon",
    "comma or ]", "comma or }", "end", "number", "word", "escape", "control", "quote",
]  # fmt: skip

_OBJECT: Final = 0x7B
_ARRAY: Final = 0x5B


@dataclass(frozen=True, slots=True)
class Fault:
    """Where the text breaks, in bytes, and what the grammar asked for there."""

    offset: int
    """For a malformed number or word its first byte, for an open string its first quote."""
    expected: Expected
    opened: tuple[int, ...] = ()
    """Where the innermost containers that are open start, outermost of them first."""
    depth: int = 0
    comma: int = -1
    """The comma before, where the expected thing follows one."""
    token: int = -1
    """The first byte of the token before: a key, a value."""


_WS: Final = rb"[ \t\n\r]*+"
_PLAIN: Final = rb'[^"\\\x00-\x1f]*+'
_ESCAPE: Final = rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_NUMBER: Final = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"


@dataclass(frozen=True, slots=True)
class Runs:
    """The compiled runs: as many whole members, or elements, as follow each other with commas."""

    members: re.Pattern[bytes]
    elements: re.Pattern[bytes]
    string: re.Pattern[bytes]


def compile_runs(many: bytes) -> Runs:
    """Runs whose groups repeat by this quantifier.

    Possessive repeats of groups are right only from Python 3.11.5 on; before, a bounded greedy
    repeat keeps the matcher's memory small, and the caller's loop goes on where it stopped.
    """
    string = b'"' + _PLAIN + b"(?:" + _ESCAPE + _PLAIN + b")" + many + b'"'
    value = b"(?:" + string + b"|" + _NUMBER + b"|true|false|null)"
    member = elements = b""
    for level in range(3):
        member = string + _WS + b":" + _WS + value
        elements = value
        if level == 2:
            break
        comma = _WS + b"," + _WS
        body = b"(?:%b(?:" + comma + b"%b)" + many + _WS + b")?"
        value = b"(?:%b|%b|%b)" % (
            value,
            rb"\{" + _WS + body % (member, member) + rb"\}",
            rb"\[" + _WS + body % (elements, elements) + rb"\]",
        )
    return Runs(
        members=re.compile(b"(?:" + _WS + member + _WS + b",)" + many),
        elements=re.compile(b"(?:" + _WS + elements + _WS + b",)" + many),
        string=re.compile(string),
    )


RUNS: Final = compile_runs(b"*+" if sys.version_info >= (3, 11, 5) else b"{0,64}")

_skip = re.compile(_WS).match
_brackets = re.compile(rb"\[++").match
_plain = re.compile(_PLAIN).match
_escape = re.compile(_ESCAPE).match
_number = re.compile(_NUMBER).match
_word = re.compile(rb"true|false|null").match
_GLUED: Final = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.+-")
"""Bytes that, right after a number or word, make it another and wrong one."""

_MANY_OPEN: Final = b"[" * 16
"""From so many on, brackets are taken as one run: the usual bomb is nothing else."""

_OPENED_TOLD: Final = 8


def _string_end(source: bytes, start: int, end: int) -> int | Fault:
    at = start + 1
    while True:
        found = _plain(source, at, end)
        at = found.end() if found else at
        if at >= end:
            return Fault(start, "quote")
        if source[at] == 0x22:
            return at + 1
        if source[at] != 0x5C:
            return Fault(at, "control", token=start)
        if not (found := _escape(source, at, end)):
            return Fault(at, "escape", token=start)
        at = found.end()


def find_fault(source: bytes, start: int = 0, end: int | None = None, *, runs: Runs = RUNS) -> (
    Fault | None
):  # fmt: skip
    """The first fault of the JSON text in source[start:end], or None where it is valid.

    Bytes past 0x7F are taken as they come: whether they are UTF-8 is the caller's question.
    """
    end = len(source) if end is None else end
    opened = array("I")
    state: Expected = "value"
    at, comma, token = start, -1, -1

    def fault(found: Fault) -> Fault:
        return Fault(
            found.offset, found.expected, tuple(opened[-_OPENED_TOLD:]), len(opened),
            found.comma, found.token,
        )  # fmt: skip

    while True:
        if state in ("first key", "key", "first element", "element"):
            run = runs.members if state in ("first key", "key") else runs.elements
            if (found := run.match(source, at, end)) and found.end() > at:
                at = found.end()
                comma = at - 1
                state = "key" if run is runs.members else "element"
        at = _skip(source, at, end).end()  # type: ignore[union-attr]
        byte = source[at] if at < end else -1

        if state in ("value", "first element", "element"):
            if byte == 0x22:
                found = runs.string.match(source, at, end)
                ends = found.end() if found else _string_end(source, at, end)
                if isinstance(ends, Fault):
                    return fault(ends)
                token, at = at, ends
            elif byte in (_OBJECT, _ARRAY):
                if source.startswith(_MANY_OPEN, at) and (found := _brackets(source, at, end)):
                    opened.extend(range(at, found.end() - 1))
                    at = found.end() - 1
                opened.append(at)
                at += 1
                state = "first key" if byte == _OBJECT else "first element"
                continue
            elif byte == 0x5D and state == "first element":
                token = opened.pop()
                at += 1
            elif byte == 0x2D or 0x30 <= byte <= 0x39:
                found = _number(source, at, end)
                ends = found.end() if found else at
                if not found or (ends < end and source[ends] in _GLUED):
                    return fault(Fault(at, "number"))
                token, at = at, ends
            elif found := _word(source, at, end):
                ends = found.end()
                if ends < end and source[ends] in _GLUED:
                    return fault(Fault(at, "word"))
                token, at = at, ends
            else:
                after = comma if state == "element" else -1
                return fault(Fault(at, state, comma=after, token=token))
        elif state in ("first key", "key"):
            if byte == 0x22:
                found = runs.string.match(source, at, end)
                ends = found.end() if found else _string_end(source, at, end)
                if isinstance(ends, Fault):
                    return fault(ends)
                token, at = at, ends
                state = "colon"
                continue
            if byte != 0x7D or state == "key":
                after = comma if state == "key" else -1
                return fault(Fault(at, state, comma=after, token=token))
            token = opened.pop()
            at += 1
        elif state == "colon":
            if byte != 0x3A:
                return fault(Fault(at, "colon", token=token))
            at += 1
            state = "value"
            continue
        elif byte == 0x2C and opened:
            comma = at
            at += 1
            state = "key" if state == "comma or }" else "element"
            continue
        elif opened and byte == (0x7D if state == "comma or }" else 0x5D):
            token = opened.pop()
            at += 1
        elif not opened and byte == -1:
            return None
        else:
            return fault(Fault(at, state, token=token))
        state = (
            "end" if not opened else "comma or }" if source[opened[-1]] == _OBJECT else "comma or ]"
        )
