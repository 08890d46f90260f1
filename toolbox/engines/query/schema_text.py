"""A measured shape as records, as lines, and as a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from toolbox.engines.documents.surrogates import Shadow
from toolbox.engines.documents.yaml_scalars import is_json_number
from toolbox.engines.query.paths import is_bare, quote_key
from toolbox.engines.query.tallies import Spelled, Tally, order

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_VALUES_LEAST: Final = 2
"""Times that each distinct value stands on average before they are told: else they are content."""

ANY_KEY: Final = "{*}"
"""What stands for every key of a map."""


class Shape(msgspec.Struct, omit_defaults=True):
    """What the values at one place have in common."""

    type: str | list[str]
    """Its type, or types, the most frequent first; `null` only where nothing else was seen."""
    present: int = 0
    """How many of the sampled parents have it."""
    of: int = 0
    """How many parents were sampled."""
    nullable: bool = False
    nulls: int = 0
    types: dict[str, int] | None = None
    """How many of each type, where there are several."""
    min: Raw | None = None
    max: Raw | None = None
    """Numeric range, as spelled."""
    length: list[int] | None = None
    """Shortest and longest string, in code points."""
    values: list[Raw] | None = None
    """All distinct values, where they are few."""
    format: str | None = None
    elements: list[int] | None = None
    """Fewest and most elements of an array."""
    sampled: int | None = None
    """Elements looked at, where not all were."""
    total: int | None = None
    """Elements there are, in all arrays at this place, where not all were looked at."""
    fields: dict[str, Shape] | None = None
    """By key; for a map one entry `{*}`."""
    example: str | None = None
    """A key of the map."""
    keys: int | None = None
    """Members of the map, in all its objects."""
    items: Shape | None = None
    cut: bool = False
    """True where there is more inside: a greater depth shows it."""
    omitted: int = 0
    """Fields left out of a reply that was cut."""


class Renderer:
    """Renders one measured shape, any number of times."""

    def __init__(self, root: Tally, shadow: Shadow | None) -> None:
        self._root = root
        self._restore: Callable[[str], str] = shadow.restore if shadow else str

    def shape(self, most: int | None = None) -> Shape:
        """The shape as records, of at most so many places (the first in the order of lines)."""
        left = [most if most is not None else -1]
        return self._shape(self._root, 0, left)

    def _shape(self, tally: Tally, of: int, left: list[int]) -> Shape:
        left[0] -= 1
        types = tally.types()
        names = list(types) or ["null"]
        shape = Shape(
            type=names[0] if len(names) == 1 else names, present=tally.seen if of else 0, of=of,
            nullable=bool(tally.nulls), nulls=tally.nulls,
            types=types if len(types) > 1 else None,
            cut=tally.cut,
        )  # fmt: skip
        if tally.low is not None and tally.high is not None:
            shape.min, shape.max = _raw(tally.low), _raw(tally.high)
        if tally.shortest is not None:
            shape.length = [tally.shortest, tally.longest]
        shape.values = self._values(tally)
        shape.format = find_format(tally)
        if tally.fewest is not None:
            shape.elements = [tally.fewest, tally.most]
            if tally.items is not None and tally.items.seen < tally.items_of:
                shape.sampled, shape.total = tally.items.seen, tally.items_of
        children = self._children(tally)
        if tally.members is not None:
            shape.example = _escape(self._restore(tally.example))
            shape.keys = tally.keys_seen
        for key, child, parents in children:
            if left[0] == 0:
                shape.omitted += 1
                continue
            made = self._shape(child, parents, left)
            if key is None:
                shape.items = made
            else:
                shape.fields = shape.fields or {}
                shape.fields[_escape(key)] = made
        return shape

    def _children(self, tally: Tally) -> list[tuple[str | None, Tally, int]]:
        found: list[tuple[str | None, Tally, int]] = [
            (self._restore(key), child, tally.objects) for key, child in tally.fields.items()
        ]
        if tally.members is not None:
            found.append((ANY_KEY, tally.members, 0))
        if tally.items is not None:
            found.append((None, tally.items, 0))
        return found

    def _values(self, tally: Tally) -> list[Raw] | None:
        """The distinct scalars, where they are few and repeat."""
        distinct = tally.distinct
        scalars = tally.strings + tally.integers + tally.numbers + tally.booleans
        if not distinct or scalars < _VALUES_LEAST * len(distinct):
            return None
        if not (tally.strings or tally.integers or tally.numbers):
            return None
        plain = [value for _, value in distinct]
        if not tally.strings and len(plain) > 1 and not _is_label(tally):
            return None
        return [self._token(value) for value in sorted(plain, key=_sort_key)]

    def _token(self, value: Any) -> Raw:
        if isinstance(value, Spelled) or type(value) is not str:
            return _raw(value)
        return Raw(quote_key(self._restore(value))[1:-1].encode())

    def lines(self) -> list[str]:
        """One line for each place, indented by its level, in the order of `shape`."""
        made: list[str] = []
        waiting: list[tuple[int, str, Tally, int]] = [(0, "", self._root, 0)]
        while waiting:
            level, label, tally, of = waiting.pop()
            made.append("  " * level + label + self._line(tally, of))
            inner = []
            for key, child, parents in self._children(tally):
                if key is None:
                    inner.append((level + 1, "[*]  ", child, 0))
                elif tally.members is not None and child is tally.members:
                    example = _show_key(self._restore(tally.example))
                    inner.append((level + 1, f"{ANY_KEY}  (as {example})  ", child, 0))
                else:
                    inner.append((level + 1, _show_key(key) + "  ", child, parents))
            waiting += reversed(inner)
        return made

    def _line(self, tally: Tally, of: int) -> str:
        types = tally.types()
        several = len(types) > 1
        words = []
        for name, n in types.items():
            word = name
            if name == "string":
                word += f"({_range(tally.shortest, tally.longest)})"
            elif name == "array":
                word += f"[{_range(tally.fewest, tally.most)}]"
            elif name == "object" and tally.members is not None:
                word += f"{{{_count(tally.keys_seen)} keys}}" if tally.objects == 1 else "{map}"
            words.append(word + (f" {_percent(n, tally.seen)}" if several else ""))
        parts = [" | ".join(words) or "null"]
        if tally.nulls and types:
            parts.append(f"null {_percent(tally.nulls, tally.seen)}")
        if of and tally.seen < of:
            parts.append(f"in {_percent(tally.seen, of)}, {_count(tally.seen)} of {_count(of)}")
        if named := find_format(tally):
            parts.append(named)
        if values := self._values(tally):
            parts.append("one of " + " ".join(bytes(v).decode() for v in values))
        elif tally.low is not None and tally.high is not None:
            low, high = str(tally.low), str(tally.high)
            parts.append(low if low == high else f"{low} to {high}")
        if tally.items is not None and tally.items.seen < tally.items_of:
            parts.append(f"{_count(tally.items.seen)} of {_count(tally.items_of)} elements sampled")
        if tally.cut:
            parts.append("…")
        return ", ".join(parts)

    def json_schema(self, levels: int | None = None) -> dict[str, Any]:
        """A JSON Schema that what was sampled fits; `levels`: of properties, all for None."""
        return {"$schema": DIALECT, **self._rules(self._root, -1 if levels is None else levels)}

    def _rules(self, tally: Tally, levels: int) -> dict[str, Any]:
        types = list(tally.types())
        if "integer" in types and "number" in types:
            types.remove("integer")
        if tally.nulls or not types:
            types.append("null")
        rules: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
        if named := find_format(tally):
            rules["format"] = named
        if tally.cut:
            # Some of these values were not looked into: what the others hold must not bind them.
            return rules
        if tally.members is not None and levels != 0:
            rules["additionalProperties"] = self._rules(tally.members, levels - 1)
        elif tally.fields and levels != 0:
            rules["properties"] = {
                self._restore(key): self._rules(child, levels - 1)
                for key, child in tally.fields.items()
            }
            required = [k for k, child in tally.fields.items() if child.seen == tally.objects]
            if required:
                rules["required"] = [self._restore(key) for key in required]
        if tally.items is not None and levels != 0:
            rules["items"] = self._rules(tally.items, levels)
        return rules


def find_format(tally: Tally) -> str | None:
    """The format that every string of a place matches, if there is one."""
    return tally.formats[0] if tally.strings and tally.formats else None


def _is_label(tally: Tally) -> bool:
    """Whether numbers stand for kinds rather than amounts: few integers, often repeated."""
    count = tally.integers + tally.numbers
    return not tally.numbers and count >= 4 * len(tally.distinct or ())


def _sort_key(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 0, value
    if isinstance(value, int | Spelled):
        return 1, order(value)
    return 2, value


def _raw(value: int | str) -> Raw:
    if isinstance(value, bool):
        return Raw(b"true" if value else b"false")
    text = str(value)
    # A number of YAML that JSON cannot spell stands as a string.
    return Raw((text if is_json_number(text) else quote_key(text)[1:-1]).encode())


def _show_key(key: str) -> str:
    return _escape(key if is_bare(key) else quote_key(key)[1:-1])


def _escape(text: str) -> str:
    """The text with lone surrogates as escapes: no UTF-8 holds them."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _range(low: int | None, high: int) -> str:
    return str(high) if low in (None, high) else f"{low}–{high}"


def _count(n: int) -> str:
    return f"{n:,}".replace(",", " ")


def _percent(n: int, of: int) -> str:
    share = 100 * n / of
    if share and share < 1:
        return "<1 %"
    return f"{min(int(share + 0.5), 99) if n < of else 100} %"
