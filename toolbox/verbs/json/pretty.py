"""`@json pretty`: the same document, or a part of it, with other whitespace."""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolbox import limits
from toolbox.engines.documents.nodes import Node
from toolbox.engines.documents.pretty import write
from toolbox.engines.query.find import find
from toolbox.errors import InvalidArg, TooLarge
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.json.source import (
    DOCUMENT_ERRORS,
    EXACTLY_ONE,
    PATH_ERRORS,
    SourceArgs,
    clip_path,
    count,
    decode,
    open_source,
    spelling_notes,
    spellings,
)

WHOLE_BYTES: Final = 256 * 1024 * 1024
"""What a reply without a cap may hold; deep nesting can make a document grow a thousand times."""

_TOLD_BYTES: Final = 300
"""Left for what a cut says."""

_TOKENS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|,', re.DOTALL)


class PrettyArgs(SourceArgs, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="the part to show; left out, the whole")] = ""
    compact: Annotated[bool, Meta(description="no whitespace at all")] = False
    indent: Annotated[int, Meta(description="spaces a level", ge=1, le=8)] = 2


class PrettyResult(Result, frozen=True, kw_only=True):
    """The text; whitespace alone has changed."""

    text: str
    shown_bytes: int | UnsetType = UNSET
    """Where it was cut: how much of the text is here."""
    source_bytes: int | UnsetType = UNSET
    """Where it was cut: how long the value is in the source."""


def run(args: PrettyArgs, ctx: Context) -> Answer:
    doc = open_source(args, ctx, args.path)
    cached = ctx.documents.hit
    found = find(doc, args.path, ctx.deadline)
    if found.fans_out:
        many = count(len(found.matches))
        raise InvalidArg(
            f"path: pretty shows one value, and {clip_path(args.path)} takes {many}",
            hint=f"one of them: path: {clip_path(found.matches[0].path)}"
            if found.matches
            else "get lists the values of a path with *",
        )
    node = found.one.node
    told = spellings(node, found.one.steps)
    notes = (*doc.notes, *found.warnings, *spelling_notes(node, told))
    cap = ctx.cap_bytes
    most = WHOLE_BYTES if cap is None else cap
    parts: list[bytes] = []
    spent = 0
    whole = True
    for piece in write(node, None if args.compact else args.indent):
        ctx.deadline.check()
        parts.append(piece)
        spent += len(piece)
        if spent > most:
            whole = False
            break
    text = b"".join(parts)
    if not whole and cap is None:
        raise TooLarge(
            f"the text grows past {count(WHOLE_BYTES)} bytes when it is indented",
            hint="compact: true leaves it as long as it is; or give a deeper path",
        )

    def cut(budget: int) -> tuple[str, PrettyResult]:
        return _cut(text, node, args, budget)

    shown = decode(text) if whole else ""
    if not whole and cap is not None:
        budget = cap - sum(len(note.encode()) + 8 for note in notes)
        clipped, result = cut(budget)
        return Answer(
            result=lambda _: result,
            head=lambda _: clipped,
            notes=notes,
            hint=_narrower(args),
            truncated=True,
            oversize=cut,
            cached=cached,
        )
    return Answer(
        result=lambda _: PrettyResult(text=shown),
        head=lambda _: shown,
        notes=notes,
        oversize=cut,
        more=lambda _: _narrower(args),
        cached=cached,
    )


def _narrower(args: PrettyArgs) -> str:
    deeper = "give a path to a part (keys lists what is there)"
    return deeper if args.compact else f"{deeper}, or compact: true; get shows members one a line"


def _cut(text: bytes, node: Node, args: PrettyArgs, budget: int) -> tuple[str, PrettyResult]:
    """The beginning of the text, cut between members or elements, that fits in both forms."""
    size = node.end - node.start
    room = budget - _TOLD_BYTES
    while True:
        kept = _prefix(text, max(room, 0), args.compact)
        lines = kept.count(b"\n") + 1 if kept else 0
        told = f"… showing {count(len(kept))} bytes"
        told += "" if args.compact else f" ({count(lines)} lines)"
        told += f" of a value of {count(size)} bytes in the source; {_narrower(args)}"
        shown = decode(kept)
        made = f"{shown}\n{told}"
        result = PrettyResult(text=shown, shown_bytes=len(kept), source_bytes=size)
        over = max(len(made.encode()), len(msgspec.json.encode(result))) - budget
        if over <= 0 or room <= 0:
            return made, result
        room -= max(over * room // (budget + over), 1)


def _prefix(text: bytes, room: int, compact: bool) -> bytes:
    if len(text) <= room:
        return text
    if not compact:
        return text[: max(text.rfind(b"\n", 0, room + 1), 0)]
    end = 0
    for token in _TOKENS.finditer(text[:room]):
        if text[token.start()] == 0x2C:
            end = token.end()
    return text[:end]


VERB = Verb(
    tool="json",
    name="pretty",
    summary="A document re-indented or compacted: whitespace alone changes.",
    args=PrettyArgs,
    result=PrettyResult,
    run=run,
    cap_bytes=limits.JSON_OUTPUT_BYTES,
    errors=DOCUMENT_ERRORS + PATH_ERRORS + ("E_INVALID_ARG",),
    exactly_one=EXACTLY_ONE,
    positional=("file", "path"),
    examples=(
        Example(
            about="numbers, order and duplicate keys stay as they are",
            args={"text": '{"b":1.10,"a":[1E400,-0],"b":2}'},
            shows='{\n  "b": 1.10,\n  "a": [\n    1E400,\n    -0\n  ],\n  "b": 2\n}',
        ),
        Example(
            about="without whitespace",
            args={"text": '{ "ratio" : 5.0 }', "compact": True},
            shows='{"ratio":5.0}',
        ),
    ),
)
