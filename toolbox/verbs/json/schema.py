"""`@json schema`: the shape of data not seen before, from a sample spread evenly over it."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from toolbox import limits
from toolbox.engines.documents import lazy
from toolbox.engines.documents.kept import kept_of
from toolbox.engines.query.find import find
from toolbox.engines.query.schema_text import Renderer, Shape
from toolbox.engines.query.shapes import Sampled, measure
from toolbox.errors import NoPath
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.json.source import (
    DOCUMENT_ERRORS,
    EXACTLY_ONE,
    PATH_ERRORS,
    SourceArgs,
    count,
    open_source,
)


class SchemaArgs(SourceArgs, frozen=True, kw_only=True):
    path: Annotated[
        str, Meta(description="where to look; with * all matches are taken as one group")
    ] = ""
    depth: Annotated[
        int, Meta(description="levels of fields shown", ge=1, le=limits.SCHEMA_DEPTH_MOST)
    ] = limits.SCHEMA_DEPTH_DEFAULT
    sample: Annotated[
        int, Meta(description="elements of each array looked at, evenly; 0 is all", ge=0)
    ] = limits.SCHEMA_SAMPLE_DEFAULT
    format: Annotated[
        Literal["shape", "json-schema"],
        Meta(description="`json-schema` gives a JSON Schema (2020-12) instead"),
    ] = "shape"


class SchemaResult(Result, frozen=True, kw_only=True):
    """The shape, or the JSON Schema, of what stands at the path."""

    type: str
    sampled: int
    """Elements, or matches of a fan-out, looked at; 1 for a single value."""
    of: int
    """Those there are."""
    shape: Shape | UnsetType = UNSET
    json_schema: Raw | UnsetType = UNSET
    missing: int | UnsetType = UNSET
    """Branches of a fan-out that lack the path."""


def run(args: SchemaArgs, ctx: Context) -> Answer:
    doc = open_source(args, ctx, args.path)
    cached = ctx.documents.hit
    found = find(doc, args.path, ctx.deadline)
    nodes = [match.node for match in found.matches]
    if not nodes:
        raise NoPath(
            f"nothing stands at {args.path}: there is no shape to tell",
            hint="keys lists what is there",
            at={"segment": args.path, "path": "", "type": "", "keys": [], "keys_total": 0},
        )
    measured = measure(doc, nodes, args.depth, args.sample, ctx.deadline)
    renderer = Renderer(measured.root, kept_of(doc).shadow)
    kind = f"{count(len(nodes))} matches" if found.fans_out else lazy.summary(nodes[0])
    missing: int | UnsetType = found.missing if found.fans_out else UNSET
    base = SchemaResult(type=kind, sampled=measured.sampled, of=measured.of, missing=missing)
    notes = (*doc.notes, *found.warnings)
    if args.format == "json-schema":
        return _answer_json_schema(renderer, base, measured, args, notes, cached)
    lines = renderer.lines()
    return Answer(
        result=lambda n: msgspec.structs.replace(
            base, shape=renderer.shape(n if n < len(lines) else None)
        ),
        rows=lines,
        head=lambda _: _say_sampled(kind, measured, found.fans_out),
        noun="places",
        notes=notes,
        more=lambda _: _narrower(args),
        hint=_deeper(measured, args),
        cached=cached,
    )


def _say_sampled(kind: str, measured: Sampled, fans_out: bool) -> str:
    if not fans_out and not measured.root.arrays:
        return ""
    noun = "matches" if fans_out else "elements"
    if measured.sampled < measured.of:
        return f"{count(measured.sampled)} of {count(measured.of)} {noun} sampled, evenly"
    return f"all {count(measured.of)} {noun}"


def _narrower(args: SchemaArgs) -> str:
    less = f", or a lower depth than {args.depth}" if args.depth > 1 else ""
    return f"give the path of a part{less}"


def _deeper(measured: Sampled, args: SchemaArgs) -> str | None:
    """The hint where something stands below the depth."""
    waiting = [measured.root]
    while waiting:
        tally = waiting.pop()
        if tally.cut:
            if args.depth < limits.SCHEMA_DEPTH_MOST:
                return f"… is below the depth of {args.depth}: a greater depth or a path shows it"
            return f"… is below the depth of {args.depth}: the path of a part shows it"
        waiting += tally.fields.values()
        waiting += [inner for inner in (tally.members, tally.items) if inner is not None]
    return None


def _answer_json_schema(
    renderer: Renderer,
    base: SchemaResult,
    measured: Sampled,
    args: SchemaArgs,
    notes: tuple[str, ...],
    cached: bool,
) -> Answer:
    whole = renderer.json_schema()

    def make(rules: object) -> tuple[str, SchemaResult]:
        # Lone surrogates, which UTF-8 cannot hold, become the escapes that JSON has for them.
        compact = json.dumps(rules, ensure_ascii=False, separators=(",", ":"))
        text = json.dumps(rules, ensure_ascii=False, indent=2)
        raw = Raw(compact.encode("utf-8", "backslashreplace"))
        shown = text.encode("utf-8", "backslashreplace").decode()
        return shown, msgspec.structs.replace(base, json_schema=raw)

    text, result = make(whole)

    def oversize(budget: int) -> tuple[str, SchemaResult]:
        """Fewer levels, until it fits; what is left out is allowed to be anything."""
        for levels in range(args.depth, -1, -1):
            shown, fitting = make(renderer.json_schema(levels))
            told = f"{shown}\n… cut to {levels} levels of fields; {_narrower(args)}"
            if len(told.encode()) <= budget and len(msgspec.json.encode(fitting)) <= budget:
                return told, fitting
        return f"… too large; {_narrower(args)}", make({})[1]

    return Answer(
        result=lambda _: result,
        head=lambda _: text,
        notes=notes,
        oversize=oversize,
        more=lambda _: _narrower(args),
        hint=_deeper(measured, args),
        cached=cached,
    )


_RESPONSE = (
    '{"items": [{"id": 1, "status": "ok", "at": "2026-01-31T10:00:00Z"}, '
    '{"id": 2, "status": "ok", "at": null}, {"id": 3, "status": "failed", "price": 1.10}, '
    '{"id": 4, "status": "ok", "price": 25.5}]}\n'
)

VERB = Verb(
    tool="json",
    name="schema",
    summary="The shape of unknown data: fields, types, how often each key appears, values.",
    args=SchemaArgs,
    result=SchemaResult,
    run=run,
    cap_bytes=limits.JSON_OUTPUT_BYTES,
    errors=DOCUMENT_ERRORS + PATH_ERRORS,
    limits=(
        "depth 3, at most 8; an array takes no level, its elements' fields do",
        "1 000 elements of each array, evenly over it; `sample: 0` looks at all",
    ),
    exactly_one=EXACTLY_ONE,
    positional=("file", "path"),
    examples=(
        Example(
            about="what the elements of an array have in common",
            files={"resp.json": _RESPONSE},
            args={"file": "resp.json", "path": "items"},
            shows='all 4 elements\narray[4]\n  [*]  object\n    id  integer, 1 to 4\n'
            '    status  string(2–6), one of "failed" "ok"',
        ),
        Example(
            about="keys that only some have, null apart",
            files={"resp.json": _RESPONSE},
            args={"file": "resp.json", "path": "items"},
            shows="    at  string(20), null 50 %, in 50 %, 2 of 4, date-time\n"
            "    price  number, in 50 %, 2 of 4, 1.10 to 25.5",
        ),
        Example(
            about="as a JSON Schema",
            args={"text": '[{"id": 1}, {"id": 2, "tag": null}]', "format": "json-schema"},
            shows='"required": [\n      "id"\n    ]',
        ),
    ),
)
