"""`@json validate`: is it valid, where is the first fault, and what should be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sandbox.reader import read_file
from toolbox import limits
from toolbox.engines.documents.diagnose import diagnose
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.formats import judge
from toolbox.engines.query.paths import format_steps
from toolbox.errors import ParseFailed
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.json.findings import Warned, count_documents, find_warnings, show_warning
from toolbox.verbs.json.source import (
    DOCUMENT_ERRORS,
    EXACTLY_ONE,
    SourceArgs,
    count,
    open_source,
)


class ValidateArgs(SourceArgs, frozen=True, kw_only=True):
    schema: Annotated[
        str | None,
        Meta(
            description="a JSON Schema (2020-12 or draft 7): a file of the workspace, or its text"
        ),
    ] = None


class Violated(msgspec.Struct, frozen=True):
    """One place where the document is not as the schema asks."""

    path: str
    line: int
    keyword: str
    message: str
    schema: str
    """Where in the schema the rule stands, as a JSON Pointer."""


class ValidateResult(Result, frozen=True, kw_only=True):
    """`valid`; where it is not, the first fault; warnings either way."""

    valid: bool
    """True for a document of its format that, where a schema is given, fits it."""
    format: Literal["json", "jsonl", "yaml"]
    line: int | None = None
    """1-based; `\\n`, `\\r\\n` and a lone `\\r` end a line."""
    column: int | None = None
    """1-based, in code points; a tab is one."""
    offset: int | None = None
    """In bytes."""
    message: str | None = None
    cause: str | None = None
    snippet: str | None = None
    warnings: list[Warned] = msgspec.field(default_factory=list)
    documents: int | UnsetType = UNSET
    """Documents of a YAML file."""
    violations: list[Violated] | UnsetType = UNSET
    violations_total: int | UnsetType = UNSET


def run(args: ValidateArgs, ctx: Context) -> Answer:
    try:
        doc = open_source(args, ctx)
    except ParseFailed as failed:
        return _answer_failed(failed, args, ctx)
    cached = ctx.documents.hit
    if broken := doc.kept.get("jsonl.broken"):
        return _answer_broken_lines(doc, broken, args, ctx, cached)
    warnings = find_warnings(doc, ctx)
    if args.schema is not None:
        return _answer_schema(doc, warnings, args, ctx, cached)
    documents = count_documents(doc)
    result = ValidateResult(
        valid=True, format=doc.format, warnings=warnings,
        documents=UNSET if documents is None else documents,
    )  # fmt: skip
    return Answer(
        result=lambda n: msgspec.structs.replace(result, warnings=warnings[:n]),
        rows=[show_warning(one) for one in warnings],
        head=lambda _: f"valid {_NAMES[doc.format]}{_say_documents(documents)}",
        noun="warnings",
        cached=cached,
    )


_NAMES: Final = {"json": "JSON", "jsonl": "JSON Lines", "yaml": "YAML"}


def _say_documents(documents: int | None) -> str:
    return f", {count(documents)} documents" if documents is not None and documents != 1 else ""


# Not valid


def _source(args: ValidateArgs, ctx: Context) -> bytes:
    if args.text is not None:
        return args.text.encode()
    assert args.file is not None
    limit = ctx.documents.document_bytes
    return read_file(ctx.root, args.file, limit_bytes=limit, what="document").data


def _answer_failed(failed: ParseFailed, args: ValidateArgs, ctx: Context) -> Answer:
    at: dict[str, Any] = failed.at or {}
    source = _source(args, ctx)
    judged = judge(source, args.file)
    if at.get("cause") == "nesting" and judged in ("json", "either"):
        return _answer_deep(at, source)
    kind: Literal["json", "jsonl", "yaml"] = "json"
    if judged in ("yaml", "jsonl"):
        kind = judged
    elif judged == "either" and failed.message.startswith("not valid YAML"):
        kind = "yaml"
    message = failed.message.split("\n")[0]
    if not message.startswith("neither"):
        message = at.get("message", message)
    cause = at.get("cause")
    if failed.hint and "{{" in failed.hint:
        cause = failed.hint
    elif kind == "json" and (args.file or "").lower().endswith((".yaml", ".yml")):
        cause = f"{cause}; a YAML file that starts with {{ or [ is read as JSON only"
    return _answer_invalid(
        ValidateResult(
            valid=False, format=kind, line=at.get("line", 1), column=at.get("column", 1),
            offset=at.get("offset", 0), message=message, cause=cause, snippet=at.get("snippet"),
        ),
    )  # fmt: skip


def _answer_deep(at: dict[str, Any], source: bytes) -> Answer:
    """Nesting past the limit: no fault of the text, unless it has another."""
    found = diagnose(source)
    if found is not None:
        return _answer_invalid(
            ValidateResult(
                valid=False, format="json", line=found.line, column=found.column,
                offset=found.offset, message=found.message, cause=found.cause,
                snippet=found.snippet,
            )
        )  # fmt: skip
    warning = Warned(
        "nesting",
        f"nested deeper than the limit of {count(limits.NESTING_LEVELS)} levels: valid, but no "
        "other verb reads it, and many programs do not",
        line=at.get("line"), column=at.get("column"),
    )  # fmt: skip
    return Answer(
        result=lambda _: ValidateResult(valid=True, format="json", warnings=[warning]),
        head=lambda _: f"valid JSON\n{show_warning(warning)}",
    )


def _answer_invalid(result: ValidateResult, notes: Sequence[str] = ()) -> Answer:
    lines = [
        f"invalid {_NAMES[result.format]} at line {result.line}, column {result.column} "
        f"(byte {result.offset}): {result.message}"
    ]
    if result.cause and result.cause != result.message:
        lines.append(f"cause: {result.cause}")
    if result.snippet:
        lines.append(result.snippet)
    return Answer(
        result=lambda _: result,
        head=lambda _: "\n".join(lines),
        notes=tuple(notes),
        negative=True,
    )


def _answer_broken_lines(
    doc: Document, broken: Any, args: ValidateArgs, ctx: Context, cached: bool
) -> Answer:
    """JSON Lines of which some are no JSON: the first of them as the fault, the others told."""
    source = _source(args, ctx)
    results: list[Warned] = []
    first: ValidateResult | None = None
    for number, low, high in broken:
        found = diagnose(source[low:high])
        column = found.column if found else 1
        said = (found.cause or found.message) if found else "nested too deep"
        if first is None:
            first = ValidateResult(
                valid=False, format="jsonl", line=number, column=column,
                offset=low + (found.offset if found else 0),
                message=found.message if found else said, cause=found.cause if found else None,
                snippet=found.snippet.replace("1 | ", f"{number} | ", 1) if found else None,
            )  # fmt: skip
            continue
        results.append(
            Warned("invalid line", f"line {number}, column {column}: {said}", line=number,
                   column=column)
        )  # fmt: skip
    assert first is not None
    warnings = [*results, *(one for one in find_warnings(doc, ctx) if one.kind != "note")]
    shown = _answer_invalid(first).head(0)
    return Answer(
        result=lambda n: msgspec.structs.replace(first, warnings=warnings[:n]),
        rows=[show_warning(one) for one in warnings],
        head=lambda _: shown,
        noun="further findings",
        notes=doc.notes,
        negative=True,
        cached=cached,
    )


# Against a schema


def _answer_schema(
    doc: Document, warnings: list[Warned], args: ValidateArgs, ctx: Context, cached: bool
) -> Answer:
    from toolbox.engines.query.violations import find_violations

    assert args.schema is not None
    try:
        schema = _open_schema(args.schema, ctx)
    except ParseFailed as failed:
        raise ParseFailed(f"schema: {failed.message}", hint=failed.hint, at=failed.at) from None
    found = find_violations(doc, schema, deadline=ctx.deadline)
    violations = [
        Violated(
            format_steps(one.steps), _line_of(doc, one.steps), one.keyword, one.message,
            one.schema_pointer,
        )
        for one in found.told
    ]  # fmt: skip
    least = "" if found.whole else "at least "
    documents = count_documents(doc)
    result = ValidateResult(
        valid=found.total == 0, format=doc.format, warnings=warnings,
        documents=UNSET if documents is None else documents,
        violations=violations, violations_total=found.total,
    )  # fmt: skip
    if not found.total:
        head = f"valid {_NAMES[doc.format]}, and as the schema ({found.draft}) asks"
    else:
        noun = "violation" if found.total == 1 else "violations"
        head = (
            f"valid {_NAMES[doc.format]}, but not as the schema ({found.draft}) asks: "
            f"{least}{count(found.total)} {noun}"
        )
    told = [f"{v.path or '(root)'}  line {v.line}: {v.message}" for v in violations]
    rows = [*told, *map(show_warning, warnings)]
    return Answer(
        result=lambda n: msgspec.structs.replace(
            result, violations=violations[:n], warnings=warnings[: max(n - len(violations), 0)]
        ),
        rows=rows,
        total=max(found.total, len(violations)) + len(warnings),
        head=lambda _: head,
        noun="findings",
        more=lambda _: "mend these first, or validate a deeper part",
        negative=found.total > 0,
        cached=cached,
    )


def _open_schema(given: str, ctx: Context) -> Document:
    if given.lstrip()[:1] in ("{", "[") or given.strip() in ("true", "false"):
        return ctx.documents.open(text=given, deadline=ctx.deadline)
    return ctx.documents.open(file=given, deadline=ctx.deadline)


def _line_of(doc: Document, steps: tuple[str | int, ...]) -> int:
    from toolbox.engines.documents import lazy

    node = lazy.root(doc)
    for step in steps:
        child = (
            lazy.elements(node)[step] if isinstance(step, int) else lazy.child(node, step)
        )
        if child is None:
            break
        node = child
    return lazy.place(node).line


VERB = Verb(
    tool="json",
    name="validate",
    summary="Whether it is valid: else the first fault with line, column and likely cause.",
    args=ValidateArgs,
    result=ValidateResult,
    run=run,
    cap_bytes=limits.JSON_OUTPUT_BYTES,
    errors=(*(code for code in DOCUMENT_ERRORS if code != "E_PARSE"), "E_PARSE", "E_INVALID_ARG"),
    limits=(
        "repeated keys and inexact numbers: the first 20 of each by place, all counted",
        "schema violations: the first 100 by path, counted to 10 000; nothing is fetched",
    ),
    exactly_one=EXACTLY_ONE,
    positional=("file",),
    examples=(
        Example(
            about="the place and the likely cause of the first fault",
            args={"text": '{"a": 1,}'},
            shows="line 1, column 8",
        ),
        Example(
            about="a key that stands twice is valid, with a warning",
            args={"text": '{"svc":{"ports":[{"tcp":80,"tcp":81}]}}'},
            shows="duplicate key svc.ports[0].tcp: 2 times in its object, again at line 1",
        ),
        Example(
            about="against a JSON Schema",
            files={"order.json": '{"id": 7, "lines": [{"sku": "a", "n": 0}]}\n'},
            args={
                "file": "order.json",
                "schema": '{"properties": {"lines": {"items": {"properties": '
                '{"n": {"minimum": 1}}}}}}',
            },
            shows="lines[0].n  line 1: expected at least 1, got 0",
        ),
        Example(
            about="YAML: how many documents, and a repeated key as an error with both places",
            files={"app.yaml": "a: 1\nb: 2\na: 3\n"},
            args={"file": "app.yaml"},
            shows="first at line 1, column 1, again at line 3, column 1",
        ),
    ),
)
