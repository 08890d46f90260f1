"""`@json keys`: what is one level down, each name with its type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolbox import limits
from toolbox.engines.documents import lazy
from toolbox.engines.documents.nodes import Elements, Node
from toolbox.engines.query.find import Found, find
from toolbox.engines.query.paths import join
from toolbox.errors import NoPath
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.json.source import (
    DOCUMENT_ERRORS,
    EXACTLY_ONE,
    PATH_ERRORS,
    SourceArgs,
    count,
    open_source,
    repeat_notes,
    show_key,
    take_rows,
)

FIRST: Final = 20
"""Elements of an array that are summed up one by one."""


class KeysArgs(SourceArgs, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="where to look; left out, the whole document")] = ""


class KeyType(msgspec.Struct, frozen=True):
    """A name (for an element `[n]`, for a match its path) and its type."""

    key: str
    type: str


class KeysResult(Result, frozen=True, kw_only=True):
    """The members of an object, or the elements of an array with counts of their types."""

    type: str
    total: int
    types: dict[str, int] | UnsetType = UNSET
    """For an array, or the matches of a fan-out: type → how many."""
    keys: list[KeyType]
    missing: int | UnsetType = UNSET
    """Branches of a fan-out that lack the path."""


def run(args: KeysArgs, ctx: Context) -> Answer:
    doc = open_source(args, ctx, args.path)
    cached = ctx.documents.hit
    found = find(doc, args.path, ctx.deadline)
    notes = (*doc.notes, *found.warnings)
    if found.fans_out:
        return _matches(found, notes, ctx.cap_bytes, cached)
    node, path = found.one.node, found.one.path
    if node.type == "object":
        return _object(node, path, notes, ctx.cap_bytes, cached)
    if node.type == "array":
        return _array(node, path, notes, ctx.cap_bytes, cached)
    what = lazy.summary(node)
    raise NoPath(
        f"{path or 'the root'} is {what}: expected an object or an array, which have keys",
        hint=f"get tells the value: path: {path}" if path else "get tells the value",
        at={"segment": "", "path": path, "type": what, "keys": [], "keys_total": 0},
    )


def _answer(
    kind: str,
    listed: Iterator[tuple[str, str, str]],
    total: int,
    head: str,
    more: str,
    notes: tuple[str, ...],
    cap_bytes: int | None,
    cached: bool,
    most: int | None = None,
    types: dict[str, int] | UnsetType = UNSET,
    missing: int | UnsetType = UNSET,
) -> Answer:
    """listed: (name shown, key, type) of each; most: how many of them a reply lists at all."""
    keys: list[KeyType] = []

    def rows() -> Iterator[str]:
        for shown, key, type_ in listed:
            keys.append(KeyType(key, type_))
            yield f"{shown}  {type_}"

    made = take_rows(rows(), cap_bytes)
    return Answer(
        result=lambda n: KeysResult(
            type=kind, total=total, types=types, keys=keys[:n], missing=missing
        ),
        rows=made,
        total=min(total, most) if most is not None else total,
        head=lambda _: head,
        noun="keys" if most is None else "summaries",
        notes=notes,
        more=lambda _: more,
        cached=cached,
    )


def _object(
    node: Node, path: str, notes: tuple[str, ...], cap_bytes: int | None, cached: bool
) -> Answer:
    members = lazy.members(node)
    listed = ((show_key(key), key, lazy.summary(child)) for key, child in members)
    kind = lazy.summary(node)
    return _answer(
        kind,
        listed,
        len(members),
        kind if lazy.is_empty(node) else "",
        "a miss in get lists the nearest of all keys; schema tells their common shape",
        (*notes, *repeat_notes(node, path)),
        cap_bytes,
        cached,
    )


def _array(
    node: Node, path: str, notes: tuple[str, ...], cap_bytes: int | None, cached: bool
) -> Answer:
    elements = lazy.elements(node)
    types = _types(elements)
    kind = lazy.summary(node)
    listed = (
        (f"[{n}]", f"[{n}]", lazy.summary(child)) for n, child in enumerate(elements[:FIRST])
    )
    head = f"array[{count(len(elements))}]" + _told(types)
    if len(elements) > FIRST:
        head += f"; the first {FIRST}:"
    return _answer(
        kind,
        listed,
        len(elements),
        head,
        f"one element's keys: path: {join(path, 0)}; schema tells what all have",
        notes,
        cap_bytes,
        cached,
        most=FIRST,
        types=types,
    )


def _matches(found: Found, notes: tuple[str, ...], cap_bytes: int | None, cached: bool) -> Answer:
    matches = found.matches
    types: dict[str, int] = dict(Counter(m.node.type for m in matches))
    listed = ((m.path, m.path, lazy.summary(m.node)) for m in islice(matches, 2 * FIRST))
    lacking = f", {count(found.missing)} without it" if found.missing else ""
    head = f"{count(len(matches))} matches{lacking}" + _told(types)
    if len(matches) > 2 * FIRST:
        head += f"; the first {2 * FIRST}:"
    return _answer(
        f"matches[{len(matches)}]",
        listed,
        len(matches),
        head,
        "the keys of one: give its path",
        notes,
        cap_bytes,
        cached,
        most=2 * FIRST,
        types=types,
        missing=found.missing,
    )


def _types(elements: Elements) -> dict[str, int]:
    """How many elements there are of each type, in the order of their first."""
    if elements.doc.spellings:
        return dict(Counter(e.type for e in elements))
    text = elements.doc.text
    found: dict[str, int] = {}
    for byte, times in Counter(map(text.__getitem__, elements.starts)).items():
        name = lazy.FIRST.get(byte, "number")
        found[name] = found.get(name, 0) + times
    return found


def _told(types: dict[str, int]) -> str:
    if not types:
        return ""
    return ": " + ", ".join(f"{name} {count(times)}" for name, times in types.items())


VERB = Verb(
    tool="json",
    name="keys",
    summary="The keys one level down, in file order, each with its type and size.",
    args=KeysArgs,
    result=KeysResult,
    run=run,
    cap_bytes=limits.JSON_OUTPUT_BYTES,
    errors=DOCUMENT_ERRORS + PATH_ERRORS,
    limits=(f"of an array the first {FIRST} elements are summed up one by one",),
    exactly_one=EXACTLY_ONE,
    positional=("file", "path"),
    examples=(
        Example(
            about="what a response holds",
            files={"resp.json": '{"ok": true, "next": null, "items": [1, 2], "page": {"n": 1}}'},
            args={"file": "resp.json"},
            shows="ok  boolean\nnext  null\nitems  array[2]\npage  object{1}",
        ),
        Example(
            about="an array: its length, the types of its elements, the first of them",
            args={"text": '{"rows": [{"id": 1}, {"id": 2}, null]}', "path": "rows"},
            shows="array[3]: object 2, null 1\n[0]  object{1}\n[1]  object{1}\n[2]  null",
        ),
        Example(
            about="a value without keys",
            args={"text": '{"name": "web"}', "path": "name"},
            fails="E_NO_PATH",
            shows="name is string(3): expected an object or an array",
        ),
    ),
)
