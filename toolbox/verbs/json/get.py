"""`@json get`: the value at a path, verbatim; many where the path fans out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from toolbox import limits
from toolbox.engines.documents import lazy
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.find import Found, Match, find
from toolbox.engines.query.paths import Star, Step, format_steps, join, parse, quote_key
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
    repeat_notes,
    show_string,
    spelling_notes,
    spellings,
    take_rows,
)

SUMMARIES: Final = 200
"""Members summed up, at most, where not even one fits."""

_HOPELESS: Final = 16
"""A value so many times as long as the cap is not compacted to see whether it fits."""

_STRING_MARGIN_BYTES: Final = 1_000
"""Left for what a result says besides a string that is cut."""


class GetArgs(SourceArgs, frozen=True, kw_only=True):
    path: Annotated[
        str,
        Meta(description='where: data.items[3].name, labels["a.b"], [-1], * for each; "" is all'),
    ]
    raw: Annotated[bool, Meta(description="strings without quotes and escapes")] = False


class Summary(msgspec.Struct, frozen=True):
    """A value that was too long to show."""

    path: str
    type: str
    bytes: int


class PathValue(msgspec.Struct, frozen=True):
    """One match of a fan-out."""

    path: str
    value: Raw


class GetResult(Result, frozen=True, kw_only=True):
    """One value: path, type, value, line, span. A fan-out: count, missing, matches."""

    path: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    value: Raw | UnsetType = UNSET
    line: int | UnsetType = UNSET
    """1-based line of the source at which the value starts."""
    span: tuple[int, int] | UnsetType = UNSET
    """[start, end) in bytes of the source."""
    count: int | UnsetType = UNSET
    missing: int | UnsetType = UNSET
    """Branches of a fan-out that lack the rest of the path."""
    matches: list[PathValue] | UnsetType = UNSET
    shown: int | UnsetType = UNSET
    total: int | UnsetType = UNSET
    """Where the value was cut: how many of its members, elements or characters are in `value`."""
    summaries: list[Summary] | UnsetType = UNSET
    """Where not even one member fits: what they are."""
    spelling: list[str] | UnsetType = UNSET
    """Paths of YAML numbers that JSON cannot spell, which stand as strings."""


def run(args: GetArgs, ctx: Context) -> Answer:
    doc = open_source(args, ctx, args.path)
    cached = ctx.documents.hit
    found = find(doc, args.path, ctx.deadline)
    notes = (*doc.notes, *found.warnings)
    if found.fans_out:
        return _fan(found, args, ctx.cap_bytes, notes, cached)
    match = found.one
    if match.node.type in ("object", "array") and not lazy.is_empty(match.node):
        return _container(match, ctx.cap_bytes, notes, cached)
    return _scalar(match, args.raw, notes, cached)


# One value


def _record(match: Match) -> GetResult:
    node = match.node
    place = lazy.place(node)
    return GetResult(
        path=clip_path(match.path),
        type=lazy.summary(node),
        line=place.line,
        span=(place.start, place.end),
        spelling=spellings(node, match.steps) or UNSET,
    )


def _with(record: GetResult, **changes: object) -> GetResult:
    return msgspec.structs.replace(record, **changes)


def _scalar(match: Match, raw: bool, notes: tuple[str, ...], cached: bool) -> Answer:
    node = match.node
    value = lazy.compact(node)
    record = _record(match)
    bare = node.spelled or (raw and node.type == "string")
    text = show_string(node) if bare else decode(value)
    told = record.spelling if isinstance(record.spelling, list) else []

    def oversize(budget: int) -> tuple[str, GetResult]:
        return _cut_string(node, record, bare, budget)

    return Answer(
        result=lambda _: _with(record, value=Raw(value)),
        head=lambda _: text,
        notes=(*notes, *spelling_notes(node, told)),
        oversize=oversize,
        more=lambda _: "the rest is in the source, at the byte span told"
        + ("" if raw or node.type != "string" else "; raw: true saves quotes and escapes"),
        cached=cached,
    )


def _cut_string(node: Node, record: GetResult, bare: bool, budget: int) -> tuple[str, GetResult]:
    """As much of a long string (or number) as fits, as valid JSON."""
    place = f"line {record.line}, bytes {record.span[0]} to {record.span[1]}" if (
        isinstance(record.span, tuple)
    ) else ""  # fmt: skip
    if node.type != "string":
        digits = decode(node.raw)
        told = f"… cut: a number of {count(len(digits))} characters ({place})"
        kept = digits[: max(budget - len(told.encode()) - _STRING_MARGIN_BYTES, 0)]
        result = _with(record, value=Raw(msgspec.json.encode(kept)), shown=len(kept),
                       total=len(digits))  # fmt: skip
        return f"{kept}\n{told}", result
    text = lazy.text_of(node)
    total = len(text)
    low, high = 0, min(total, budget)
    best: tuple[str, GetResult] | None = None
    while low <= high:
        n = (low + high + 1) // 2
        part = text[:n]
        token = quote_key(part)[1:-1]
        shown = part if bare else token
        told = f"… showing {count(n)} of {count(total)} characters ({place})"
        made = f"{_plain(shown)}\n{told}"
        result = _with(record, value=Raw(token.encode()), shown=n, total=total)
        if len(made.encode()) <= budget and len(msgspec.json.encode(result)) <= budget:
            best, low = (made, result), n + 1
        else:
            high = n - 1
    if best is None:
        told = f"… showing none of {count(total)} characters ({place})"
        return told, _with(record, value=Raw(b'""'), shown=0, total=total)
    return best


def _plain(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) < 0xE000 else c for c in text)


def _children(node: Node) -> Sequence[tuple[Step, Node]] | Sequence[Node]:
    return lazy.elements(node) if node.type == "array" else lazy.members(node)


def _pairs(node: Node) -> Iterator[tuple[Step, Node]]:
    if node.type == "array":
        yield from enumerate(lazy.elements(node))
    else:
        yield from lazy.members(node)


def _member(step: Step, node: Node) -> bytes:
    value = lazy.compact(node)
    return value if isinstance(step, int) else quote_key(step)[1:-1].encode() + b":" + value


def _rows(node: Node, cap_bytes: int | None) -> Iterator[str]:
    """Each member or element in a line, up to one that no cap could hold."""
    for n, (step, child) in enumerate(_pairs(node)):
        if n and cap_bytes is not None and child.end - child.start > _HOPELESS * cap_bytes:
            return
        yield decode(_member(step, child))


def _container(
    match: Match, cap_bytes: int | None, notes: tuple[str, ...], cached: bool
) -> Answer:
    node = match.node
    record = _record(match)
    is_array = node.type == "array"
    total = len(_children(node))
    opening, closing = ("[", "]") if is_array else ("{", "}")
    if not is_array:
        notes = (*notes, *repeat_notes(node, match.path))
    made = take_rows(_rows(node, cap_bytes), cap_bytes)
    rows = [row + "," for row in made]
    if len(made) == total:
        rows[-1] = made[-1]

    def result(n: int) -> GetResult:
        if n == total:
            value = b"%b%b%b" % (opening.encode(), ",".join(made).encode(), closing.encode())
            return _with(record, value=Raw(value))
        value = (opening + ",".join(made[:n]) + closing).encode()
        return _with(record, value=Raw(value), shown=n, total=total)

    def more(n: int) -> str:
        step = n if is_array else lazy.members(node).keys[min(n, total - 1)]
        path = join(match.path, step)
        others = (
            "query filters an array" if is_array else "keys lists the names with their types"
        )
        return f"the next is path: {path}; {others}"

    def oversize(budget: int) -> tuple[str, GetResult]:
        listed = [
            Summary(join(match.path, step), lazy.summary(child), child.end - child.start)
            for (step, child), _ in zip(_pairs(node), range(SUMMARIES), strict=False)
        ]
        empty = _with(record, value=Raw((opening + closing).encode()), shown=0, total=total)
        noun = "elements" if is_array else "members"
        head = f"{lazy.summary(node)} of {count(node.end - node.start)} bytes; its {noun}:"
        return _summaries(head, listed, total, noun, empty, budget)

    told = record.spelling if isinstance(record.spelling, list) else []
    return Answer(
        result=result,
        rows=rows,
        total=total,
        head=lambda _: opening,
        tail=closing,
        noun="elements" if is_array else "members",
        notes=(*notes, *spelling_notes(node, told)),
        more=more,
        oversize=oversize,
        cached=cached,
    )


def _summaries(
    head: str, listed: list[Summary], total: int, noun: str, empty: GetResult, budget: int
) -> tuple[str, GetResult]:
    """The text and result that only say what the members are, as many as fit."""
    for n in (len(listed), 100, 50, 20, 10, 5, 2, 1, 0):
        if n > len(listed):
            continue
        lines = [f"{one.path}  {one.type}  {count(one.bytes)} bytes" for one in listed[:n]]
        if n < total:
            lines.append(f"… {count(n)} of {count(total)} {noun} summed up")
        if listed:
            lines.append(f"each is too long for one reply: ask deeper, path: {listed[0].path}")
        text = "\n".join((head, *lines))
        result = _with(empty, summaries=listed[:n])
        if len(text.encode()) <= budget and len(msgspec.json.encode(result)) <= budget:
            return text, result
    return head, empty


# Many values


def _fan(
    found: Found,
    args: GetArgs,
    cap_bytes: int | None,
    notes: tuple[str, ...],
    cached: bool,
) -> Answer:
    # Each match is made when it is taken: without a cap all are, twice.
    matches = found.matches if cap_bytes is not None else list(found.matches)
    total = len(matches)
    stars = [at for at, segment in enumerate(parse(args.path)) if isinstance(segment, Star)]

    def row(match: Match) -> str:
        node = match.node
        if args.raw:
            return show_string(node) if node.type == "string" else decode(lazy.compact(node))
        label = format_steps([match.steps[at] for at in stars])
        value = lazy.text_of(node) if node.spelled else decode(lazy.compact(node))
        return f"{label}  {value}"

    rows = take_rows(map(row, matches), cap_bytes)

    def result(n: int) -> GetResult:
        made = GetResult(
            count=total,
            missing=found.missing,
            matches=[PathValue(m.path, Raw(lazy.compact(m.node))) for m in matches[:n]],
            spelling=[m.path for m in matches[:n] if m.node.spelled] or UNSET,
        )
        return made if n == total else _with(made, shown=n, total=total)

    def head(n: int) -> str:
        noun = "match" if total == 1 else "matches"
        lacking = f", {count(found.missing)} without it" if found.missing else ""
        return f"{count(total)} {noun}{lacking}"

    def oversize(budget: int) -> tuple[str, GetResult]:
        listed = [
            Summary(m.path, lazy.summary(m.node), m.node.end - m.node.start)
            for m in matches[:SUMMARIES]
        ]
        return _summaries(head(0) + ":", listed, total, "matches", result(0), budget)

    return Answer(
        result=result,
        rows=rows,
        total=total,
        head=head,
        noun="matches",
        notes=notes,
        more=lambda n: (
            f"the next is path: {matches[min(n, total - 1)].path}; query filters, and its select "
            "takes single fields"
        ),
        oversize=oversize,
        cached=cached,
    )


_RESPONSE: Final = (
    '{"data": {"items": [{"name": "web-1", "price": 1.10}, {"name": "web-2", "price": 2.00}]}}\n'
)

VERB = Verb(
    tool="json",
    name="get",
    summary="The value at a path, numbers and order as in the source; * takes each.",
    args=GetArgs,
    result=GetResult,
    run=run,
    cap_bytes=limits.JSON_OUTPUT_BYTES,
    errors=DOCUMENT_ERRORS + PATH_ERRORS,
    limits=("documents up to 20 MiB, nested to 1 000 levels",),
    exactly_one=EXACTLY_ONE,
    positional=("file", "path"),
    examples=(
        Example(
            about="a number, as the source spells it",
            files={"resp.json": _RESPONSE},
            args={"file": "resp.json", "path": "data.items[0].price"},
            shows="1.10",
        ),
        Example(
            about="one field of each element",
            files={"resp.json": _RESPONSE},
            args={"file": "resp.json", "path": "data.items[*].name"},
            shows='2 matches\n[0]  "web-1"\n[1]  "web-2"',
        ),
        Example(
            about="a container: one member a line",
            files={"resp.json": _RESPONSE},
            args={"file": "resp.json", "path": "data.items[-1]"},
            shows='{\n"name":"web-2",\n"price":2.00\n}',
        ),
        Example(
            about="YAML by the same paths; a key with dots is quoted",
            files={"pod.yaml": "metadata:\n  labels:\n    app.kubernetes.io/name: web\n"},
            args={"file": "pod.yaml", "path": 'metadata.labels["app.kubernetes.io/name"]'},
            shows='"web"',
        ),
        Example(
            about="a miss names the nearest keys, and the path that was meant",
            files={"resp.json": _RESPONSE},
            args={"file": "resp.json", "path": "data.item[0].name"},
            fails="E_NO_PATH",
            shows='no key "item" in object{1} at data; its keys: "items"',
        ),
    ),
)
