"""What a path that misses is told: how far it led, what is there, and the path that was meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from toolbox import limits
from toolbox.engines.documents import lazy
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query import near
from toolbox.engines.query.paths import (
    Index,
    Key,
    Segment,
    Star,
    Step,
    canonical,
    format_steps,
    is_digits,
    quote_key,
)  # fmt: skip
from toolbox.errors import NoPath

_SHOWN_BYTES: Final = 2_000
"""Of the keys in a message; all of them, up to the limit, stand in the error's record."""

_KEY_CHARACTERS: Final = 200
"""Of one key; keys can be as long as a document."""

_PATH_CHARACTERS: Final = 1_000

_ANCESTORS: Final = 8
"""Objects above a miss in which a key with dots is looked for."""


@dataclass(frozen=True, slots=True)
class Miss:
    """Where a path stopped."""

    node: Node
    """The deepest value that exists."""
    steps: tuple[Step, ...]
    """The concrete path to it."""
    segments: tuple[Segment, ...]
    at: int
    """Which segment it lacks."""
    branches: int = 0
    """For a fan-out all of whose branches miss, how many; this is the first of them."""

    @property
    def segment(self) -> Segment:
        return self.segments[self.at]

    @property
    def rest(self) -> tuple[Segment, ...]:
        return self.segments[self.at + 1 :]

    def path_with(self, *instead: Segment, skip: int = 1) -> str:
        """The path asked for with other segments in place of `skip` ones."""
        return canonical((*self.segments[: self.at], *instead, *self.segments[self.at + skip :]))


@dataclass(frozen=True, slots=True)
class _Told:
    said: str
    hint: str | None
    keys: tuple[str, ...] = ()
    keys_total: int = 0
    length: int | None = None


def no_path(miss: Miss, *, most_keys: int = limits.MISS_KEYS) -> NoPath:
    """The error for a miss.

    `at` is {segment, path, type, keys, keys_total}: the failing segment, the deepest path that
    exists, what is there, and for an object its keys, nearest names first; for an array also
    {length, range}.
    """
    kind = miss.node.type
    where = format_steps(miss.steps)
    place = _clip(where) or "the root"
    if kind == "object":
        told = _in_object(miss, place, most_keys)
    elif kind == "array":
        told = _in_array(miss, place)
    else:
        told = _in_scalar(miss, place)
    said = told.said
    if miss.branches > 1:
        said = f"all {_count(miss.branches)} branches miss; in the first, {said}"
    segment = miss.segment
    at: dict[str, object] = {
        "segment": _name(segment),
        "path": _clip(where),
        "type": lazy.summary(miss.node),
        "keys": [k[:_KEY_CHARACTERS] for k in told.keys],
        "keys_total": told.keys_total,
    }
    if told.length is not None:
        at["length"] = told.length
        at["range"] = _range(told.length)
    return NoPath(said, hint=told.hint, at=at)


def _name(segment: Segment) -> str:
    if isinstance(segment, Key):
        return segment.name[:_KEY_CHARACTERS]
    return str(segment.n) if isinstance(segment, Index) else "*"


def _shown(name: str) -> str:
    name = name if len(name) <= _KEY_CHARACTERS else name[: _KEY_CHARACTERS - 1] + "…"
    return quote_key(name)[1:-1]


def _count(n: int) -> str:
    return f"{n:,}".replace(",", " ")


def _clip(path: str) -> str:
    """A path as a message shows it; a key can be as long as a document."""
    half = _PATH_CHARACTERS // 2
    return path if len(path) <= 2 * half else f"{path[:half]}…{path[-half:]}"


def _range(length: int) -> str:
    return f"0 to {length - 1}, or -{length} to -1" if length else "none: it is empty"


def _again(path: str) -> str:
    return f"call again with path: {_clip(path)}"


# Objects


def _in_object(miss: Miss, place: str, most_keys: int) -> _Told:
    members = lazy.members(miss.node)
    keys: Sequence[str] = members.keys
    total = len(keys)
    segment = miss.segment
    name = str(segment.n) if isinstance(segment, Index) else _whole_name(segment)
    run = _bare_run(miss.segments, miss.at)
    dotted = len(run) > 1 and any(key.startswith(name + ".") for key in keys)
    nearest = near.nearest(".".join(run) if dotted else name, keys, most_keys, total)
    listed = (*nearest, *_others(keys, nearest, most_keys - len(nearest)))
    if isinstance(segment, Index):
        said = f"expected an array for the index [{name}], got object{{{total}}} at {place}"
        if members.find(name) is not None:
            hint = f"its key {_shown(name)} is meant? " + _again(
                miss.path_with(Key(name, quoted=True))
            )
        else:
            hint = "an object's values are named by key, or all taken with *: " + _again(
                miss.path_with(Star())
            )
        return _Told(said + _list(listed, total), hint, listed, total)
    said = f"no key {_shown(name)} in object{{{total}}} at {place}"
    meant = _with_dots(miss) or _near_hint(miss, name, nearest)
    return _Told(said + _list(listed, total), meant, listed, total)


def _whole_name(segment: Segment) -> str:
    return segment.name if isinstance(segment, Key) else "*"


def _others(keys: Sequence[str], nearest: Sequence[str], most: int) -> Iterable[str]:
    taken = set(nearest)
    return islice((k for k in keys if k not in taken), max(most, 0))


def _list(keys: Sequence[str], total: int) -> str:
    if not total:
        return ": it is empty"
    shown: list[str] = []
    spent = 0
    for key in keys:
        text = _shown(key)
        spent += len(text.encode("utf-8", "replace")) + 2
        if spent > _SHOWN_BYTES and shown:
            break
        shown.append(text)
    left = total - len(shown)
    more = f" … and {_count(left)} more" if left else ""
    return f"; its keys{', nearest first' if left else ''}: {', '.join(shown)}{more}"


def _near_hint(miss: Miss, name: str, nearest: Sequence[str]) -> str | None:
    if nearest:
        found = near.rank(name, nearest[0])
        if found is not None and (found[0] < 2 or len(nearest) == 1):
            return _again(miss.path_with(Key(nearest[0], quoted=True)))
        return "the nearest keys: " + ", ".join(map(_shown, nearest[:3]))
    return None


def _with_dots(miss: Miss) -> str | None:
    """The hint where a key that holds dots was written bare, here or in an object above."""
    segments = miss.segments
    node: Node | None = lazy.root(miss.node.doc)
    above: list[Node] = []
    for step in miss.steps:
        assert node is not None
        above.append(node)
        node = lazy.elements(node)[step] if isinstance(step, int) else lazy.child(node, step)
    above.append(miss.node)
    for start in range(miss.at, max(miss.at - _ANCESTORS, -1), -1):
        if start >= len(above):
            continue
        here = above[start]
        names = _bare_run(segments, start)
        if len(names) < 2 or here.type != "object":
            continue
        for count in range(len(names), 1, -1):
            name = ".".join(names[:count])
            found = lazy.child(here, name)
            if found is None:
                continue
            # A key that ends before the miss is meant only where the rest then leads on.
            if start + count > miss.at or _leads(found, segments[start + count : miss.at + 1]):
                made = (*segments[:start], Key(name, quoted=True), *segments[start + count :])
                again = _again(canonical(made))
                return f"the key {_shown(name)} has dots, so it is quoted: {again}"
    return _begins_with_dots(miss)


def _leads(node: Node, segments: Sequence[Segment]) -> bool:
    """Whether keys, from a value on, all exist."""
    for segment in segments:
        found = lazy.child(node, segment.name) if isinstance(segment, Key) else None
        if found is None:
            return False
        node = found
    return True


def _begins_with_dots(miss: Miss) -> str | None:
    names = _bare_run(miss.segments, miss.at)
    if len(names) < 2 or miss.node.type != "object":
        return None
    for count in range(len(names), 1, -1):
        begin = ".".join(names[:count])
        found = [k for k in lazy.members(miss.node).keys if k.startswith(begin)]
        if found:
            best = near.closest(".".join(names[: count + 1]), found)
            after = min(best.count(".") + 1, len(names))
            made = miss.path_with(Key(best, quoted=True), skip=after)
            return f"keys with dots are quoted: {_again(made)}"
    return None


def _bare_run(segments: Sequence[Segment], start: int) -> list[str]:
    names = []
    for segment in segments[start:]:
        if not isinstance(segment, Key) or segment.quoted:
            break
        names.append(segment.name)
    return names


# Arrays


def _in_array(miss: Miss, place: str) -> _Told:
    elements = lazy.elements(miss.node)
    length = len(elements)
    segment = miss.segment
    digits = isinstance(segment, Key) and not segment.quoted and is_digits(segment.name)
    if isinstance(segment, Index) or digits:
        n = segment.n if isinstance(segment, Index) else int(_name(segment))
        said = f"no element [{n}] in array[{length}] at {place}; valid: {_range(length)}"
        hint = None
        if length:
            hint = "the last element: " + _again(miss.path_with(Index(-1 if n > 0 else 0)))
        return _Told(said, hint, length=length)
    name = _whole_name(segment)
    said = (
        f"expected an index or * at {place}, which is array[{length}], got the key "
        f"{_shown(name)}; valid: {_range(length)}"
    )
    hint = "an element is named by its index"
    if near.fold(name) in ("length", "size", "count", "len"):
        hint = f"the array has {length} elements; the verb keys tells lengths"
    elif _is_integer(name):
        hint = _again(miss.path_with(Index(int(name))))
    elif length:
        first = elements[0]
        if first.type == "object" and lazy.child(first, name) is not None:
            hint = f"{_shown(name)} is a key of its elements: " + _again(
                miss.path_with(Star(), Key(name, quoted=True))
            )
        else:
            hint = "each element: " + _again(miss.path_with(Star(), segment))
    return _Told(said, hint, length=length)


def _is_integer(name: str) -> bool:
    return is_digits(name.removeprefix("-"))


# Scalars


def _in_scalar(miss: Miss, place: str) -> _Told:
    kind = miss.node.type
    segment = miss.segment
    what = lazy.summary(miss.node)
    wanted = (
        "* takes the members of objects and arrays" if isinstance(segment, Star)
        else f"the index [{segment.n}] needs an array" if isinstance(segment, Index)
        else f"the key {_shown(segment.name)} needs an object"
    )  # fmt: skip
    said = f"{place} is {what}, and {wanted}"
    if kind == "null":
        said = f"{place} is null, so there is nothing below it: {wanted}"
    hint = _with_dots(miss)
    if hint is None and kind == "string":
        text = lazy.text_of(miss.node).lstrip()
        if text[:1] in ("{", "["):
            hint = (
                "the string itself seems to hold JSON: get it with raw: true, and ask of it as "
                "`text`"
            )
    if hint is None and miss.steps:
        hint = "what is there: " + _again(format_steps(miss.steps))
    return _Told(said, hint)
