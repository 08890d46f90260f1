"""`@diff json`: what changed between two JSON or YAML documents, by path."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Raw, UnsetType
from msgspec import json as encoder

from toolbox import limits
from toolbox.engines.diff import json_patch, tree
from toolbox.engines.diff.excerpts import excerpt, preview
from toolbox.engines.diff.tree import Change, Comparison, Options
from toolbox.engines.diff.tree_paths import pointer, render
from toolbox.engines.documents import nesting
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.duplicates import REPEATS_TOLD, find_repeats
from toolbox.errors import ParseFailed
from toolbox.output import number
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.diff.structural import BRIEF_CHANGES, Given, SidesArgs, given

NESTING_DEFAULT: Final = 64
VALUE_BYTES: Final = 4_000
"""What one value of a change takes; a larger one is cut to fewer elements, which is told."""

_SIGNS: Final = {"add": "+", "remove": "-", "replace": "~", "move": ">"}


class JsonArgs(SidesArgs, frozen=True, kw_only=True):
    arrays: Annotated[
        Literal["index", "align"],
        Meta(description="index: element by element; align: by their longest common run"),
    ] = "index"
    key: Annotated[
        str | None,
        Meta(description="match the objects of arrays by this field, wherever they stand"),
    ] = None
    sort_keys: Annotated[
        bool, Meta(description="changes by path; false: in the order of the documents")
    ] = True
    ignore_case: Annotated[bool, Meta(description="strings equal whatever their case")] = False
    nesting: Annotated[
        int,
        Meta(description="levels that a document may nest", ge=1, le=limits.NESTING_LEVELS),
    ] = NESTING_DEFAULT
    format: Annotated[
        Literal["structured", "json-patch"],
        Meta(description="json-patch: also the operations of RFC 6902 that make after of before"),
    ] = "structured"


class JsonChange(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    op: Literal["add", "remove", "replace", "move"]
    kind: str
    """`op` again."""
    path: str
    """In after for add and move, in before for the others; `@json get` takes it."""
    before: Raw | UnsetType = UNSET
    after: Raw | UnsetType = UNSET
    from_: str | UnsetType = UNSET
    """Where a moved element stood in before."""
    afterPath: str | UnsetType = UNSET
    """Where a replaced value stands in after, when that is another place."""
    clipped: list[str] | UnsetType = UNSET
    """Which of before and after are cut to their first elements."""


class JsonOperation(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    op: Literal["add", "remove", "replace", "move"]
    path: str
    from_: str | UnsetType = UNSET
    value: Raw | UnsetType = UNSET


class JsonSummary(Result, frozen=True, kw_only=True):
    added: int
    removed: int
    replaced: int
    moved: int


class DuplicateKeys(Result, frozen=True, kw_only=True):
    before: list[str]
    after: list[str]


class JsonResult(Result, frozen=True, kw_only=True):
    kind: Literal["json"] = "json"
    equal: bool
    truncated: bool
    beforeBytes: int
    afterBytes: int
    changes: list[JsonChange]
    summary: JsonSummary
    """All changes, also those that are not listed."""
    duplicateKeys: DuplicateKeys
    """Keys that stand more than once in an object; the last value counts."""
    patch: list[JsonOperation] | UnsetType = UNSET
    patchComplete: bool | UnsetType = UNSET
    """False where the patch is cut: what is left of it does not make after of before."""
    change_paths: list[str] | UnsetType = UNSET
    """The paths of `changes`, for inline sides with few of them."""
    first_change_kind: str | UnsetType = UNSET


def run(args: JsonArgs, ctx: Context) -> Answer:
    """The changes from one document to the other."""
    sides = given(args, "json")
    opened = [_open(side, args, ctx) for side in sides]
    repeats = [_repeats(doc, side, ctx) for doc, side in zip(opened, sides, strict=True)]
    before, after = (tree.compact(doc) for doc in opened)
    options = Options(args.arrays, args.key, args.sort_keys, args.ignore_case)
    found = tree.compare(before, after, options, most=args.max_changes, deadline=ctx.deadline)
    notes = [note for names, told in repeats for note in told] + found.notes
    duplicates = DuplicateKeys(before=repeats[0][0], after=repeats[1][0])
    answer = _Answer(args, ctx, found, duplicates, (opened[0], opened[1]))
    if args.format == "json-patch":
        operations, _ = json_patch.operations(before, after, options, ctx.deadline)
        return answer.patch(operations, tuple(notes))
    return answer.changes(tuple(notes))


def _open(side: Given, args: JsonArgs, ctx: Context) -> Document:
    name = side.file or side.name
    try:
        doc = ctx.documents.open(file=side.file, text=side.text, deadline=ctx.deadline)
    except ParseFailed as failed:
        raise ParseFailed(
            f"{side.name}: not valid JSON: {failed.message}", hint=failed.hint, at=failed.at
        ) from None
    if doc.surrogates:
        raise ParseFailed(
            f"{name}: invalid Unicode: a string has the escape of a lone surrogate",
            hint="@json validate tells its place",
        )
    if nesting.is_deeper(doc.text, args.nesting):
        offset = nesting.find_deeper(doc.text, args.nesting) or 0
        place = doc.place(offset, offset + 1)
        raise ParseFailed(
            f"{name}: nested deeper than {args.nesting} levels at line {place.line}",
            hint=f"give nesting: {limits.NESTING_LEVELS} for more levels",
            at={"line": place.line, "offset": place.start},
        )
    return doc


def _repeats(doc: Document, side: Given, ctx: Context) -> tuple[list[str], list[str]]:
    """The names of keys that stand more than once, and what is said of them."""
    found = find_repeats(doc, deadline=ctx.deadline)
    names = list(dict.fromkeys(str(one.steps[-1]) for one in found.told))
    told = [
        f"{side.file or side.name}: the key {render(one.steps)} stands {one.count} times in its "
        "object; the last counts"
        for one in found.told[:3]
    ]
    if found.total > len(found.told[:3]):
        told.append(f"{side.file or side.name}: {number(found.total)} keys are repeated in all")
    assert len(found.told) <= REPEATS_TOLD
    return names, told


class _Answer:
    def __init__(
        self,
        args: JsonArgs,
        ctx: Context,
        found: Comparison,
        duplicates: DuplicateKeys,
        documents: tuple[Document, Document],
    ) -> None:
        self._args, self._found = args, found
        self._duplicates, self._documents = duplicates, documents
        cap = ctx.cap_bytes
        self._value_bytes = None if cap is None else min(VALUE_BYTES, max(cap // 4, 40))
        self._inline = args.before is not None and args.after is not None
        self._records = [self._record(change) for change in found.changes]

    def _record(self, change: Change) -> JsonChange:
        clipped = []
        values: dict[str, Raw] = {}
        for name, node in (("before", change.before), ("after", change.after)):
            if node is not None and change.op != "move":
                data, whole = excerpt(node, self._value_bytes)
                values[name] = Raw(data)
                if not whole:
                    clipped.append(name)
        other = tree.path_text(change.other) if change.shifted else UNSET
        return JsonChange(
            op=change.op,
            kind=change.op,
            path=tree.path_text(change.place),
            before=values.get("before", UNSET),
            after=values.get("after", UNSET),
            from_=other if change.op == "move" else UNSET,
            afterPath=other if change.op == "replace" else UNSET,
            clipped=clipped or UNSET,
        )

    def _result(self, shown: int, **more: object) -> JsonResult:
        summary = self._found.summary
        records = self._records[:shown]
        if self._inline and len(records) <= BRIEF_CHANGES:
            more["change_paths"] = [one.path for one in records]
            if records:
                more["first_change_kind"] = records[0].op
        return JsonResult(
            equal=not summary.total,
            truncated=len(records) < summary.total or more.get("patchComplete") is False,
            beforeBytes=self._documents[0].source_bytes,
            afterBytes=self._documents[1].source_bytes,
            changes=records,
            summary=JsonSummary(
                added=summary.added,
                removed=summary.removed,
                replaced=summary.replaced,
                moved=summary.moved,
            ),
            duplicateKeys=self._duplicates,
            **more,  # type: ignore[arg-type]
        )

    def _head(self) -> str:
        summary = self._found.summary
        if not summary.total:
            return "no difference"
        counts = [
            f"{number(n)} {word}"
            for n, word in (
                (summary.added, "added"),
                (summary.removed, "removed"),
                (summary.replaced, "replaced"),
                (summary.moved, "moved"),
            )
            if n
        ]
        return f"{number(summary.total)} changes: " + ", ".join(counts)

    def changes(self, notes: tuple[str, ...]) -> Answer:
        summary = self._found.summary
        total = summary.total
        head = self._head()
        return Answer(
            result=self._result,
            rows=[_line(change) for change in self._found.changes],
            head=lambda _: head,
            notes=notes,
            noun="changes",
            total=total,
            more=lambda n: (
                f"max_changes: {total} lists more"
                if n >= self._args.max_changes and total <= 10_000
                else "compare a part: @json get it from both sides, and give these as before, after"
            ),
            truncated=len(self._records) < total,
            negative=bool(total),
        )

    def patch(self, operations: list[json_patch.Operation], notes: tuple[str, ...]) -> Answer:
        records = [_operation(one) for one in operations]
        head = self._head()
        return Answer(
            result=lambda n: self._result(
                min(n, len(self._records)), patch=records[:n], patchComplete=n == len(records)
            ),
            rows=[encoder.encode(one).decode() for one in records],
            head=lambda _: head,
            notes=notes,
            noun="operations",
            more=lambda _: "max_bytes for more, or compare a part; a patch that is cut is no patch",
            truncated=len(self._records) < self._found.summary.total,
            negative=bool(self._found.summary.total),
        )


def _line(change: Change) -> str:
    sign, path = _SIGNS[change.op], tree.path_text(change.place)
    if change.op == "move":
        return f"{sign} {path}  from {tree.path_text(change.other)}"
    values = [preview(node) for node in (change.before, change.after) if node is not None]
    there = f"  (now {tree.path_text(change.other)})" if change.shifted else ""
    return f"{sign} {path}{there}  " + " -> ".join(values)


def _operation(one: json_patch.Operation) -> JsonOperation:
    steps = one.place.steps() if one.place is not None else []
    source: str | UnsetType = UNSET
    if one.source is not None:
        source = pointer(one.source.steps())
    value = Raw(excerpt(one.value, None)[0]) if one.value is not None else UNSET
    return JsonOperation(op=one.op, path=pointer(steps), from_=source, value=value)


VERB = Verb(
    tool="diff",
    name="json",
    summary="What changed between two JSON or YAML documents, by path.",
    args=JsonArgs,
    result=JsonResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_PARSE", "E_TOO_LARGE", "E_NOT_FOUND", "E_NOT_A_FILE", "E_OUTSIDE_WORKSPACE"),
    limits=(
        "a side is at most 256 KiB inline, 20 MiB as a file",
        f"a document nests at most {NESTING_DEFAULT} levels, up to {limits.NESTING_LEVELS} when "
        "asked",
        "1 000 changes are listed, at most 10 000; all are counted",
    ),
    positional=("a", "b"),
    examples=(
        Example(
            about="a value replaced and one added",
            args={"before": '{"a":1.10,"b":2}', "after": '{"b":2,"a":1.2,"c":[]}'},
            shows="~ $.a  1.10 -> 1.2",
        ),
        Example(
            about="array elements matched by a field, one of them moved",
            args={"a": "old.json", "b": "new.json", "key": "id"},
            files={
                "old.json": '[{"id":1,"n":"a"},{"id":2,"n":"b"},{"id":3,"n":"c"}]',
                "new.json": '[{"id":3,"n":"c"},{"id":1,"n":"a"},{"id":2,"n":"B"}]',
            },
            shows="> $[0]  from $[2]",
        ),
        Example(
            about="JSON against YAML: equal values are equal, however they are written",
            args={"a": "a.json", "b": "b.yaml"},
            files={"a.json": '{"port": 8080, "on": [1.0]}\n', "b.yaml": "on: [1]\nport: 8080\n"},
            shows="no difference",
        ),
    ),
)
