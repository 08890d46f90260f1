"""What a group of values has in common, added up column by column at native speed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from toolbox.engines.query.decimals import order_key

VALUES_SHOWN: Final = 8
"""Distinct values that are told where a field has no more."""

VALUE_CHARACTERS: Final = 40
"""A longer string is content, not a label: a field with one gets no list of values."""

KEYS_APART: Final = 300
"""Distinct keys up to which an object's fields are kept apart; past it it is a map."""

NUMBER_CHARACTERS: Final = 200
"""A field with a longer number gets no range and no list of values: one number can have 20 MB."""

_EXACT_CHARACTERS: Final = 15
"""Numbers spelled in so many characters order the same as doubles."""


class Spelled(str):
    """A number with a fraction or exponent, or one that JSON cannot spell: as the source has it."""

    __slots__ = ()


class Whole(Spelled):
    """An integer longer than Python makes of text, as the source has it."""

    __slots__ = ()


FORMATS: Final = {
    "date-time": re.compile(
        r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:[0-6]\d"
        r"(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)",
        re.ASCII,
    ),
    "date": re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])", re.ASCII),
    "uuid": re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"{}|\\^`]+"),
    "email": re.compile(r"[^\s@\"<>,;:]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
}
"""Formats of JSON Schema that a field of strings is recognised by, where every one matches."""


def order(number: int | str) -> Any:
    """What numbers are compared by: exact where a double would not tell them apart."""
    return order_key(number if isinstance(number, str) else str(number))


@dataclass(slots=True, eq=False)
class Tally:
    """The values seen at one place of a shape."""

    seen: int = 0
    nulls: int = 0
    booleans: int = 0
    integers: int = 0
    numbers: int = 0
    strings: int = 0
    arrays: int = 0
    objects: int = 0
    low: int | str | None = None
    high: int | str | None = None
    endless: bool = False
    """Whether a number too long to be told was among them."""
    shortest: int | None = None
    longest: int = 0
    fewest: int | None = None
    most: int = 0
    """Elements of an array."""
    distinct: set[Any] | None = field(default_factory=set)
    """Scalars seen, None once they are many."""
    formats: list[str] = field(default_factory=lambda: list(FORMATS))
    fields: dict[str, Tally] = field(default_factory=dict)
    members: Tally | None = None
    """The values of all keys, where the object is a map."""
    keys_seen: int = 0
    """Members in all its objects; with `members`, at least so many keys."""
    example: str = ""
    items: Tally | None = None
    items_of: int = 0
    """Elements there are, of which `items.seen` were looked at."""
    cut: bool = False
    """True where there is more inside than the depth shows."""

    def types(self) -> dict[str, int]:
        """Type → how many, null apart, most frequent first."""
        counts = {
            "object": self.objects, "array": self.arrays, "string": self.strings,
            "integer": self.integers, "number": self.numbers, "boolean": self.booleans,
        }  # fmt: skip
        found = [(name, n) for name, n in counts.items() if n]
        return dict(sorted(found, key=lambda one: -one[1]))

    def add(self, values: Sequence[Any], levels: int, sample: int, mark: str) -> None:
        """Add values that were decoded with numbers as int or Spelled.

        levels: how many levels of fields below; sample: elements of arrays that are looked at (0
        for all); mark: what a string begins with that is a YAML number, empty where none is.
        """
        kinds = Counter(map(type, values))
        self.seen += len(values)
        self.nulls += kinds.get(type(None), 0)
        if n := kinds.get(bool, 0):
            self.booleans += n
            self._note_distinct({v for v in values if type(v) is bool})
        if kinds.get(int, 0):
            self._add_integers([v for v in values if type(v) is int])
        if kinds.get(Spelled, 0):
            self._add_numbers([v for v in values if type(v) is Spelled])
        if n := kinds.get(Whole, 0):
            self.integers += n
            self._give_up_range()
        if n := kinds.get(str, 0):
            strings = list(values) if n == len(values) else [v for v in values if type(v) is str]
            if mark:
                self._add_marked([s[1:] for s in strings if s.startswith(mark)])
                strings = [s for s in strings if not s.startswith(mark)]
            if strings:
                self._add_strings(strings)
        if n := kinds.get(dict, 0):
            objects = list(values) if n == len(values) else [v for v in values if type(v) is dict]
            self._add_objects(objects, levels, sample, mark)
        if kinds.get(list, 0):
            self._add_arrays([v for v in values if type(v) is list], levels, sample, mark)

    def _note_distinct(self, values: set[Any]) -> None:
        if self.distinct is None:
            return
        # True equals 1 in Python: kinds are kept apart.
        self.distinct |= {(type(v) is bool, v) for v in values}
        if len(self.distinct) > VALUES_SHOWN:
            self.distinct = None

    def _add_integers(self, values: list[int]) -> None:
        self.integers += len(values)
        self._note_range(min(values), max(values))
        if self.distinct is not None:
            self._note_distinct(set(values))

    def _add_numbers(self, values: list[Spelled]) -> None:
        self.numbers += len(values)
        distinct = set(values)
        if max(map(len, distinct)) > NUMBER_CHARACTERS:
            self._give_up_range()
            return
        key = float if max(map(len, distinct)) <= _EXACT_CHARACTERS else Decimal
        try:
            low, high = min(distinct, key=key), max(distinct, key=key)
        except ArithmeticError:  # an exponent that no decimal holds
            low, high = min(distinct, key=order_key), max(distinct, key=order_key)
        self._note_range(low, high)
        if self.distinct is not None:
            self._note_distinct(distinct)

    def _add_marked(self, values: list[str]) -> None:
        """Numbers of YAML that JSON cannot spell; 0x1F and 0o17 are integers."""
        whole = [v for v in values if re.fullmatch(r"[-+]?[0-9]+|0[xo][0-9A-Fa-f]+", v)]
        self.integers += len(whole)
        self.numbers += len(values) - len(whole)
        self._note_distinct(set(map(Spelled, values)))

    def _give_up_range(self) -> None:
        self.endless = True
        self.low = self.high = self.distinct = None

    def _note_range(self, low: int | str, high: int | str) -> None:
        if self.endless:
            return
        if any(isinstance(x, int) and x.bit_length() > 3 * NUMBER_CHARACTERS for x in (low, high)):
            self._give_up_range()
            return
        if self.low is None or order(low) < order(self.low):
            self.low = low
        if self.high is None or order(high) > order(self.high):
            self.high = high

    def _add_strings(self, values: list[str]) -> None:
        self.strings += len(values)
        lengths = list(map(len, values))
        shortest, longest = min(lengths), max(lengths)
        self.shortest = shortest if self.shortest is None else min(self.shortest, shortest)
        self.longest = max(self.longest, longest)
        if self.distinct is not None:
            if longest > VALUE_CHARACTERS:
                self.distinct = None
            else:
                self._note_distinct(set(values))
        if self.formats:
            self.formats = [
                name for name in self.formats if all(map(FORMATS[name].fullmatch, values))
            ]

    def _add_objects(
        self, values: list[dict[str, Any]], levels: int, sample: int, mark: str
    ) -> None:
        self.objects += len(values)
        self.keys_seen += sum(map(len, values))
        if levels <= 0:
            self.cut = self.cut or any(values)
            return
        if self.members is None:
            columns = _transpose(values)
            if len(columns.keys() | self.fields.keys()) <= KEYS_APART:
                for key, column in columns.items():
                    child = self.fields.get(key)
                    if child is None:
                        child = self.fields[key] = Tally()
                    child.add(column, levels - 1, sample, mark)
                return
            self.example = next(iter(self.fields or columns))
            self.become_map()
        assert self.members is not None
        inner_values = list(chain.from_iterable(map(dict.values, values)))
        self.members.add(_thin(inner_values, sample), levels - 1, sample, mark)

    def become_map(self) -> None:
        """Put the values of all keys together."""
        self.members = self.members or Tally()
        if self.fields:
            self.example = self.example or next(iter(self.fields))
        for child in self.fields.values():
            self.members.merge(child)
        self.fields = {}

    def _add_arrays(self, values: list[list[Any]], levels: int, sample: int, mark: str) -> None:
        self.arrays += len(values)
        lengths = list(map(len, values))
        total = sum(lengths)
        self.note_lengths(min(lengths), max(lengths), total)
        if not total:
            return
        if levels < 0:
            self.cut = True
            return
        if self.items is None:
            self.items = Tally()
        inner = _thin(list(chain.from_iterable(values)), sample)
        # An array takes no level of its own, or fields would end too early; one in another does.
        nested = list in set(map(type, inner))
        self.items.add(inner, levels - 1 if nested else levels, sample, mark)

    def note_lengths(self, fewest: int, most: int, total: int) -> None:
        """Arrays of these lengths were seen, with so many elements in all."""
        self.fewest = fewest if self.fewest is None else min(self.fewest, fewest)
        self.most = max(self.most, most)
        self.items_of += total

    def merge(self, other: Tally) -> None:
        """Add what another place has seen."""
        for name in (
            "seen", "nulls", "booleans", "integers", "numbers", "strings", "arrays", "objects",
            "keys_seen", "items_of",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.endless:
            self._give_up_range()
        if other.low is not None and other.high is not None:
            self._note_range(other.low, other.high)
        if other.shortest is not None:
            shortest = other.shortest
            self.shortest = shortest if self.shortest is None else min(self.shortest, shortest)
        self.longest = max(self.longest, other.longest)
        if other.fewest is not None:
            self.note_lengths(other.fewest, other.most, 0)
        if self.distinct is not None:
            self.distinct = None if other.distinct is None else self.distinct | other.distinct
            if self.distinct is not None and len(self.distinct) > VALUES_SHOWN:
                self.distinct = None
        if other.strings:
            self.formats = [name for name in self.formats if name in other.formats]
        self.cut = self.cut or other.cut
        if other.items is not None:
            self.items = self.items or Tally()
            self.items.merge(other.items)
        if self.members is not None or other.members is not None:
            self.become_map()
            other.become_map()
            assert self.members is not None and other.members is not None
            self.members.merge(other.members)
            self.example = self.example or other.example
        else:
            for key, child in other.fields.items():
                self.fields.setdefault(key, Tally()).merge(child)
            if len(self.fields) > KEYS_APART:
                self.become_map()


def _transpose(values: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Key → its values; objects with the very same keys are taken together."""
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for value in values:
        names = tuple(value)
        group = alike.get(names)
        if group is None:
            alike[names] = [value]
        else:
            group.append(value)
    columns: dict[str, list[Any]] = {}
    for names, group in alike.items():
        for key, column in zip(names, zip(*map(dict.values, group), strict=True), strict=True):
            columns.setdefault(key, []).extend(column)
    return columns


def _thin(values: list[Any], sample: int) -> list[Any]:
    """Some of the values, evenly over all."""
    if not sample or len(values) <= sample:
        return values
    return [values[k] for k in pick(len(values), sample)]


def pick(count: int, sample: int) -> list[int]:
    """So many indices, evenly over a range: the first and the last among them."""
    if not sample or count <= sample:
        return list(range(count))
    if sample == 1:
        return [0]
    return [k * (count - 1) // (sample - 1) for k in range(sample)]
