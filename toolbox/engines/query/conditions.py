"""Terms as tests on a value's token, which is the source's own spelling.

A token is the JSON text of a scalar, or its first byte for a container; a YAML number that JSON
cannot spell stands bare (`0x1F`). Strings are compared by what they mean: `"\\u0066"` is `"f"`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from toolbox.engines.query.decimals import compare, equal
from toolbox.engines.query.patterns import compile_pattern
from toolbox.engines.query.where import Term

Test = Callable[[bytes], bool]

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_QUOTE: Final = 0x22
_NUMERIC: Final = frozenset(b"-+.0123456789")
_WORDS: Final = frozenset((b"true", b"false", b"null"))
_CONTAINERS: Final = frozenset(b"{[")


def is_number(text: str) -> bool:
    """Whether a bare value is a JSON number."""
    return _NUMBER.fullmatch(text) is not None


def _double(token: bytes) -> float | None:
    """The double nearest to a number, None where it is not spelled as JSON does.

    Rounding keeps order: two numbers whose doubles differ are apart in the same way, and only
    those with one double need a look at their digits.
    """
    try:
        return float(token)
    except ValueError:
        return None


def text_of(token: bytes) -> str:
    """What a string token means; lone surrogates stay as they are."""
    if b"\\" not in token:
        return token[1:-1].decode("utf-8", "surrogatepass")
    value = json.loads(token.decode("utf-8", "surrogatepass"), strict=False)
    assert isinstance(value, str)
    return value


def test_of(term: Term) -> Test:
    """The term's test on a value that is there. BadPattern where its pattern is refused."""
    match term.op:
        case "=" | "!=":
            return _equality(term)
        case "~" | "!~":
            return _pattern(term.value)
        case "<" | "<=" | ">" | ">=":
            return _order(term)
        case _:
            return lambda token: True


def negates(term: Term) -> bool:
    """Whether the term holds where its test does not, or the field is missing."""
    return term.op in ("!=", "!~", "lacks")


def cost(term: Term) -> int:
    """Cheap terms run first: a pattern only sees what the others left."""
    return {"has": 0, "lacks": 0, "=": 1, "!=": 1, "~": 3, "!~": 3}.get(term.op, 2)


def _equality(term: Term) -> Test:
    value = term.value
    string = json.dumps(value, ensure_ascii=False).encode()
    bare = value.encode()
    plain = b'"' + bare + b'"'
    number = not term.quoted and is_number(value)
    word = bare if not term.quoted and bare in _WORDS else b""
    near = float(value) if number else 0.0

    def test(token: bytes) -> bool:
        first = token[0]
        if first == _QUOTE:
            if b"\\" not in token:
                return token == plain
            return token == string or text_of(token) == value
        if first in _NUMERIC:
            if term.quoted or not number:
                return not term.quoted and token == bare  # as YAML spells it: 0x1F, .inf
            if token == bare:
                return True
            double = _double(token)
            return (double is None or double == near) and equal(token.decode(), value)
        return bool(word) and token == word

    return test


def _order(term: Term) -> Test:
    numeric = not term.quoted and is_number(term.value)
    wanted: tuple[int, ...] = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[term.op]
    value = term.value
    near = float(value) if numeric else 0.0

    def test(token: bytes) -> bool:
        first = token[0]
        if numeric:
            if first not in _NUMERIC:
                return False
            double = _double(token)
            if double is not None and double != near:
                return (1 if double > near else -1) in wanted
            order = compare(token.decode(), value)
            return order is not None and order in wanted
        if first != _QUOTE:
            return False
        text = text_of(token)
        return ((text > value) - (text < value)) in wanted

    return test


def _pattern(pattern: str) -> Test:
    match = compile_pattern(pattern)

    def test(token: bytes) -> bool:
        first = token[0]
        if first == _QUOTE:
            if b"\\" not in token:
                return match(token[1:-1])
            return match(text_of(token).encode("utf-8", "replace"))
        return first not in _CONTAINERS and token != b"null" and match(token)

    return test


def can_match_pattern(token: bytes) -> bool:
    """Whether a pattern can match a value of this kind at all."""
    return token[0] not in _CONTAINERS and token != b"null"
