"""`@json query`: the elements of an array, or values of an object, that meet a filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from msgspec import Meta, Raw

from toolbox import limits
from toolbox.engines.documents import lazy
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.columns import reach
from toolbox.engines.query.filter import Filtered, Told, apply_filter
from toolbox.engines.query.find import find
from toolbox.engines.query.near import nearest
from toolbox.engines.query.paths import Segment, Star, join, parse, quote_key
from toolbox.engines.query.where import ELEMENT_KEY, Term, parse_where
from toolbox.errors import NoPath
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
)

_FIELDS_TOLD: Final = 20
_FIELDS_LOOKED_AT: Final = 100
"""Elements whose fields are listed where a filter names one that no element has."""

_ARRAYS_TOLD: Final = 5
_ARRAY_LEVELS: Final = 3
_VALUES_LOOKED_AT: Final = 200
"""How far an array is looked for where the path leads to none."""


class QueryArgs(SourceArgs, frozen=True, kw_only=True):
    path: Annotated[
        str, Meta(description='where the array (or object) is: data.items; "" is the whole')
    ] = ""
    where: Annotated[
        str,
        Meta(
            description="terms joined by &&: field OP value, OP one of = != ~ !~ < <= > >=; a bare "
            'field tests presence, !field absence; ~ is a RE2 pattern; "…" quotes a value; "" '
            "takes every element"
        ),
    ]
    select: Annotated[
        list[str] | str | None, Meta(description="the fields to show, as paths; default: all")
    ] = None
    limit: Annotated[
        int, Meta(ge=0, le=limits.QUERY_LIMIT_MOST, description="elements shown; 0 only counts")
    ] = limits.QUERY_LIMIT_DEFAULT


class QueryResult(Result, frozen=True, kw_only=True):
    total: int
    """Elements that match."""
    of: int
    """Elements there are."""
    shown: int
    indices: list[int | str]
    """Positions in the array, or keys of the object, of the matches shown."""
    matches: list[Raw]


def run(args: QueryArgs, ctx: Context) -> Answer:
    terms = parse_where(args.where)
    chosen = [args.select] if isinstance(args.select, str) else args.select or ()
    select = [(name, () if name == ELEMENT_KEY else parse(name)) for name in dict.fromkeys(chosen)]
    doc = open_source(args, ctx, args.path)
    cached = ctx.documents.hit
    found = find(doc, args.path, ctx.deadline)
    if found.fans_out:
        raise NoPath(
            f"{args.path} leads to {count(len(found.matches))} values; query filters one array",
            hint="name the array without *; a * belongs into a field of where: labels[*].name=bug",
            at={"path": clip_path(args.path), "type": "many"},
        )
    node, steps = found.one.node, found.one.path
    if node.type not in ("array", "object"):
        raise _no_array(node, steps, lazy.root(doc))
    result = apply_filter(node, terms, ctx.deadline)
    total, of = len(result.hits), len(result.children)
    shown = list(result.hits[: args.limit])
    rows = [decode(_row(result, i, select)) for i in shown]
    labels: list[int | str] = [result.keys[i] if result.keys is not None else i for i in shown]
    notes = (*doc.notes, *found.warnings, *_notes(node, steps, terms, select, result))

    def make(n: int) -> QueryResult:
        return QueryResult(
            total=total,
            of=of,
            shown=n,
            indices=labels[:n],
            matches=[Raw(r.encode()) for r in rows[:n]],
        )

    def more(n: int) -> str:
        if select:
            return f"ask with limit: {max(n, 1)}, or add a term to where"
        return 'name the fields to show: select: ["…"], or add a term to where'

    kind = "elements" if node.type == "array" else "values"
    return Answer(
        rows=rows,
        result=make,
        head=lambda n: f"showing {count(n)} of {count(total)} matches, {count(of)} {kind}",
        noun="matches asked for",
        more=more,
        hint=_next(args, total, len(shown)),
        notes=notes,
        cached=cached,
    )


def _next(args: QueryArgs, total: int, shown: int) -> str | None:
    if shown >= total or args.limit == 0:
        return None
    if total <= limits.QUERY_LIMIT_MOST:
        return f"limit: {total} shows all"
    return f"limit: {limits.QUERY_LIMIT_MOST} shows the most at once; add a term to where"


def _row(result: Filtered, i: int, select: Sequence[tuple[str, tuple[Segment, ...]]]) -> bytes:
    """One element as a line: compact, tokens verbatim, its key first where it has one."""
    node = result.children[i]
    key = quote_key(result.keys[i])[1:-1].encode() if result.keys is not None else None
    parts: list[bytes] = []
    if not select:
        whole = lazy.compact(node)
        if key is None:
            return whole
        if node.type != "object":
            return b'{"@key":' + key + b',"value":' + whole + b"}"
        return b'{"@key":' + key + (b"," if len(whole) > 2 else b"") + whole[1:]
    if key is not None:
        parts.append(b'"@key":' + key)
    for name, segments in select:
        if name == ELEMENT_KEY:
            continue
        values = [lazy.compact(v) for v in reach(node, segments)]
        label = quote_key(name)[1:-1].encode() + b":"
        if any(isinstance(s, Star) for s in segments):
            parts.append(label + b"[" + b",".join(values) + b"]")
        elif values:
            parts.append(label + values[0])
    return b"{" + b",".join(parts) + b"}"


def _notes(
    node: Node,
    base: str,
    terms: Sequence[Term],
    select: Sequence[tuple[str, tuple[Segment, ...]]],
    result: Filtered,
) -> Iterator[str]:
    of = len(result.children)
    for told in result.told:
        yield from _missing(node, base, told, of, result)
        if told.never_text and told.missing < of:
            yield f"{told.field} is never a string, number or boolean: a pattern matches none"
    if result.scalars:
        yield f"{count(result.scalars)} elements are no objects and meet no condition on a field"
    for term in terms:
        if len(term.value) > 1 and term.value[0] == term.value[-1] == "'" and not term.quoted:
            yield f"the value {term.value} has its single quotes in it; only double quotes quote"
        if term.fans_out and term.op in ("!=", "!~"):
            yield f"{term.field} has a *: {term.op} holds where any of its values differs"
    shown = result.hits[:_FIELDS_LOOKED_AT]
    for name, segments in select:
        if (
            name != ELEMENT_KEY
            and len(shown)
            and not any(next(reach(result.children[i], segments), None) is not None for i in shown)
        ):
            yield f"select {name}: no element shown has it{_near(name, result)}"


def _missing(node: Node, base: str, told: Told, of: int, result: Filtered) -> Iterator[str]:
    if not of or not told.missing:
        return
    if told.missing < of:
        yield f"{told.field}: {count(told.missing)} of {count(of)} elements lack it"
        return
    text = f"{told.field}: no element has it{_near(told.field, result)}"
    if node.type == "object" and (arrays := list(_arrays(node, base, _ARRAY_LEVELS))):
        text += f"; arrays near: {', '.join(arrays[:_ARRAYS_TOLD])}"
    yield text


def _near(field: str, result: Filtered) -> str:
    """The fields that elements have, the nearest first."""
    names: dict[str, None] = {}
    for child in result.children[:_FIELDS_LOOKED_AT]:
        if child.type == "object":
            names.update(dict.fromkeys(key for key, _ in lazy.members(child)))
    if not names:
        return ""
    first = nearest(field, names, _FIELDS_TOLD, len(names))
    told = list(dict.fromkeys([*first, *names]))[:_FIELDS_TOLD]
    rest = len(names) - len(told)
    more = f" and {rest} more" if rest else ""
    return f"; its fields: {', '.join(told)}{more}"


def _no_array(node: Node, path: str, top: Node) -> NoPath:
    arrays = list(_arrays(top, "", _ARRAY_LEVELS))[:_ARRAYS_TOLD]
    near = f"; arrays near: {', '.join(arrays)}" if arrays else ""
    where = clip_path(path) or "the root"
    return NoPath(
        f"expected an array or an object at {where}, got {lazy.summary(node)}{near}",
        hint=f"ask with path: {arrays[0].rsplit(' ', 1)[0]}" if arrays else None,
        at={"path": clip_path(path), "type": lazy.summary(node)},
    )


def _arrays(node: Node, path: str, levels: int) -> Iterator[str]:
    """Paths of arrays below an object, breadth first: `data.items array[3]`."""
    level = [(path, node)]
    for _ in range(levels):
        below = []
        for base, one in level:
            if one.type != "object":
                continue
            for key, child in lazy.members(one)[:_VALUES_LOOKED_AT]:
                here = join(base, key)
                if child.type == "array":
                    yield f"{clip_path(here)} {lazy.summary(child)}"
                elif child.type == "object":
                    below.append((here, child))
        level = below[:_VALUES_LOOKED_AT]


_ROWS: Final = (
    '{"jobs":[{"id":9007199254740993,"name":"web-1","status":"failed","cost":1.10},'
    '{"id":2,"name":"db-1","status":"failed"},{"id":3,"name":"web-2","status":"ok"}]}\n'
)

VERB = Verb(
    tool="json",
    name="query",
    summary="The elements of an array, or values of an object, that meet a filter.",
    args=QueryArgs,
    result=QueryResult,
    run=run,
    cap_bytes=limits.JSON_OUTPUT_BYTES,
    errors=(*DOCUMENT_ERRORS, *PATH_ERRORS, "E_BAD_WHERE", "E_BAD_PATTERN"),
    limits=(
        f"shows {limits.QUERY_LIMIT_DEFAULT} elements, at most {limits.QUERY_LIMIT_MOST}",
        f"patterns of at most {limits.PATTERN_CHARACTERS} characters, RE2's syntax",
    ),
    exactly_one=EXACTLY_ONE,
    positional=("file", "path"),
    examples=(
        Example(
            about="the failed web jobs, two fields of each",
            args={
                "file": "jobs.json",
                "path": "jobs",
                "where": "status=failed && name~^web",
                "select": ["id", "cost"],
            },
            shows='showing 1 of 1 matches, 3 elements\n{"id":9007199254740993,"cost":1.10}',
            files={"jobs.json": _ROWS},
        ),
        Example(
            about="only how many: numbers compare by value, never through a double",
            args={"file": "jobs.json", "path": "jobs", "where": "id>9007199254740992", "limit": 0},
            shows="showing 0 of 1 matches, 3 elements",
            files={"jobs.json": _ROWS},
        ),
        Example(
            about="a field that no element has",
            args={"file": "jobs.json", "path": "jobs", "where": "state=failed"},
            shows="note: state: no element has it; its fields: id, name, status",
            files={"jobs.json": _ROWS},
        ),
        Example(
            about="an operator that is none",
            args={"file": "jobs.json", "path": "jobs", "where": "id>>1"},
            fails="E_BAD_WHERE",
            shows="at character 4: expected a value after >, got >",
            files={"jobs.json": _ROWS},
        ),
    ),
)
