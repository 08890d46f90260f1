"""Numbers that change when another program reads them as a double."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from toolbox.engines.documents import lazy
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.duplicates import Looks
from toolbox.engines.documents.spans import Span, find_steps, split

NUMBERS_TOLD: Final = 20
"""Such numbers whose place is told; all are counted, up to the next limit."""

NUMBERS_LOOKED_AT: Final = 400_000
"""Distinct long numbers that are compared: about half a second; past it the count is a lower
bound."""

_CANDIDATE: Final = rb"[0-9][0-9.]{15}|[eE][+-]?[0-9]{3}"
"""Fewer than 16 digits, and an exponent below 100, always survive a double."""
_TOKENS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|(-?[0-9][0-9.eE+-]*+)', re.DOTALL)
_LONG: Final = re.compile(rb"-?[0-9](?:[0-9.eE+-]{15,}|[0-9.]*[eE][0-9+-]+)")
_PREVIEW_CHARACTERS: Final = 40
_DOUBLE_DIGITS: Final = 17
"""No double's shortest form has more digits that count."""
_IDENTIFIER_DIGITS: Final = 39
"""Whole numbers up to 128 bits are mostly identifiers, and many: they are compared as integers."""


@dataclass(frozen=True, slots=True)
class Inexact:
    """A number that a double cannot hold as it is spelled."""

    steps: tuple[str | int, ...]
    offset: int
    """Where it starts in the document's text."""
    spelling: str
    """Its first characters."""
    becomes: str
    """What a reader of doubles makes of it."""
    beyond_range: bool


@dataclass(frozen=True, slots=True)
class InexactNumbers:
    """The first such numbers of a document, and how many there are."""

    told: tuple[Inexact, ...]
    total: int
    whole: bool
    """False where so many numbers are long that only the first were compared."""


def find_inexact(
    doc: Document, most: int = NUMBERS_TOLD, deadline: Looks | None = None,
    looked_at: int = NUMBERS_LOOKED_AT,
) -> InexactNumbers:  # fmt: skip
    """The numbers beyond a double's range or precision, in the order of the text."""
    text = lazy.readable(doc)
    search = _compile().search
    if not search(text):
        return InexactNumbers((), 0, True)
    found: list[tuple[int, str]] = []
    looked = total = 0
    for part in split(doc):
        if deadline is not None:
            deadline.check()
        if not isinstance(part, Span) or looked > looked_at:
            continue
        bare = _bare(text[part.start : part.end])
        if not search(bare):
            continue
        numbers = Counter(_LONG.findall(bare))
        looked += len(numbers)
        wrong = {number: n for number, n in numbers.items() if not _survives(number.decode())}
        if not wrong:
            continue
        total += sum(wrong.values())
        here = 0
        for token in _TOKENS.finditer(text, part.start, part.end):
            if token[1] in wrong:
                found.append((token.start(), token[1].decode()))
                here += 1
                if here >= most:
                    break
    told = [
        Inexact(
            find_steps(doc, at), at, _shorten(number), _show(float(number)),
            not math.isfinite(float(number)) or float(number) == 0,
        )
        for at, number in sorted(found)[:most]
    ]  # fmt: skip
    return InexactNumbers(tuple(told), total, looked <= looked_at)


def _survives(number: str) -> bool:
    """Whether reading as a double and writing its shortest form gives the same value."""
    if len(number) <= _IDENTIFIER_DIGITS and number.isdigit():
        whole = int(number)
        if whole == int(float(whole)):
            return True
        if len(number.rstrip("0")) > _DOUBLE_DIGITS:
            return False
    double = float(number)
    if repr(double) == number:
        return True
    if not math.isfinite(double):
        return False
    if double == 0:
        return not re.search("[1-9]", re.split("[eE]", number)[0])
    try:
        exact = Decimal(number)
    except InvalidOperation:
        return False
    whole = number.lstrip("-").isdigit()
    return exact == Decimal(repr(double)) or (whole and exact == Decimal(double))


def _bare(chunk: bytes) -> bytes:
    """What stands outside strings."""
    if b"\\" in chunk:
        chunk = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(chunk.split(b'"')[::2])


def _show(double: float) -> str:
    if not math.isfinite(double):
        return "infinity" if double > 0 else "-infinity"
    return repr(double)


def _shorten(number: str) -> str:
    kept = number[:_PREVIEW_CHARACTERS]
    return kept if kept == number else f"{kept}… ({len(number)} characters)"


def _compile() -> Any:
    import re2

    return re2.compile(_CANDIDATE)
