"""Numbers by exact decimal value, from their spelling: never through a double."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_NUMBER: Final = re.compile(r"([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?", re.ASCII)
_RADIX: Final = re.compile(r"([-+]?)0([xXoObB])([0-9a-fA-F_]+)")
_BASES: Final = {"x": 16, "o": 8, "b": 2}
_EXPONENT_DIGITS: Final = 4_000
"""Python makes no integer of longer texts; exponents past it stay text, equal when spelled so."""


_KEPT_CHARACTERS: Final = 100
"""Longer spellings are rare, and kept they would fill a worker's memory: one can have 20 MB."""


class Decimal(NamedTuple):
    """A number's value: 0.digits times ten to the exponent; no zeros at the ends of digits."""

    negative: bool
    digits: str
    exponent: int | str


def value_of(spelling: str) -> Decimal | str:
    """The value that a JSON or YAML number spells; for `.inf`, `.nan` and the like a text."""
    return _value_of(spelling) if len(spelling) <= _KEPT_CHARACTERS else _read(spelling)


@lru_cache(maxsize=8192)
def _value_of(spelling: str) -> Decimal | str:
    return _read(spelling)


def _read(spelling: str) -> Decimal | str:
    if radix := _RADIX.fullmatch(spelling):
        whole = int(radix[3].replace("_", ""), _BASES[radix[2].lower()])
        spelling = radix[1] + _digits(whole)
    found = _NUMBER.fullmatch(spelling)
    if found is None:
        return spelling.lower().lstrip("+")
    whole_digits, fraction = found[2], found[3] or ""
    digits = (whole_digits + fraction).lstrip("0")
    if not digits:
        return Decimal(False, "", 0)
    leading = len(whole_digits) + len(fraction) - len(digits)
    point = len(whole_digits) - leading
    exponent = found[4] or "0"
    if len(exponent) > _EXPONENT_DIGITS:
        return Decimal(found[1] == "-", digits.rstrip("0"), exponent)
    return Decimal(found[1] == "-", digits.rstrip("0"), point + int(exponent))


def _digits(whole: int) -> str:
    try:
        return str(whole)
    except ValueError:  # longer than Python writes: any injective text will do
        return f"{whole:x}"


def equal(a: str, b: str) -> bool:
    """Whether two spellings have one value: `1`, `1.0` and `1e0`; -0 equals 0."""
    return a == b or value_of(a) == value_of(b)


def compare(a: str, b: str) -> int | None:
    """-1, 0 or 1 for two spellings of numbers; None where one has no order (`.nan`)."""
    if a == b:
        return None if "nan" in a.lower() else 0
    x, y = _order(value_of(a)), _order(value_of(b))
    if x is None or y is None:
        return None
    return (x > y) - (x < y)


def order_key(spelling: str) -> tuple[int, int, int, str]:
    """What sorts numbers by value; a text without an order (`.nan`) comes before all numbers."""
    return _order(value_of(spelling)) or (-3, 0, 0, "")


def _order(value: Decimal | str) -> tuple[int, int, int, str] | None:
    """A tuple that sorts as the value does: sign, exponent, digits, turned for negatives."""
    if isinstance(value, str):
        infinite = {".inf": 2, "inf": 2, "-.inf": -2, "-inf": -2}.get(value)
        return None if infinite is None else (infinite, 0, 0, "")
    if not value.digits:
        return (0, 0, 0, "")
    exponent = value.exponent
    # Exponents too long for an integer sort by sign and length, then as text.
    if isinstance(exponent, int):
        rank, tail = exponent, ""
    else:
        bare = exponent.lstrip("+-").lstrip("0")
        rank, tail = len(bare) * 10**_EXPONENT_DIGITS, bare
        if exponent.startswith("-"):
            rank = -rank
    if value.negative:
        return (-1, -rank, 0, _turned(tail) + _turned(value.digits) + "\x7f")
    return (1, rank, 0, tail + value.digits)


def _turned(digits: str) -> str:
    return digits.translate(_TURN)


_TURN: Final = str.maketrans("0123456789", "9876543210")
