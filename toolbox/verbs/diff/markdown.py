"""`@diff markdown`: headings, blocks and code that changed between two documents."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from toolbox import limits
from toolbox.engines.diff import markdown
from toolbox.engines.diff.lines import show
from toolbox.engines.diff.markdown import Block, Change, Difference
from toolbox.engines.diff.unified import UnifiedDiff, unified
from toolbox.output import number
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.diff.structural import BRIEF_CHANGES, SidesArgs, given, read_text

_TEXT_CHARACTERS: Final = 2_000
"""What a result tells of one block; more is cut with `…`, and is in `diff`."""
_LINE_CHARACTERS: Final = 120
_SIGNS: Final = {"add": "+", "remove": "-", "replace": "~", "rename": "~"}
_WORDS: Final = {
    "p": "paragraph", "ul": "list", "ol": "list", "quote": "quote", "table": "table",
    "hr": "rule", "html": "HTML", "front": "front matter", "ref": "link definition",
    "code": "code",
}  # fmt: skip


class MarkdownArgs(SidesArgs, frozen=True, kw_only=True):
    ignore_whitespace: Annotated[
        bool, Meta(description="a run of blanks and line ends equals one blank")
    ] = False
    ignore_case: Annotated[bool, Meta(description="letters equal whatever their case")] = False
    context: Annotated[
        int, Meta(description="common lines around a change of the text diff", ge=0,
                  le=limits.CONTEXT_MOST)
    ] = limits.CONTEXT_DEFAULT  # fmt: skip
    format: Annotated[
        Literal["both", "structured", "unified"],
        Meta(description="structured: without the text diff; unified: the text diff alone"),
    ] = "both"


class HeadingChange(Result, frozen=True, kw_only=True):
    op: Literal["add", "remove", "rename", "replace"]
    """replace: another level too."""
    before: str | UnsetType = UNSET
    after: str | UnsetType = UNSET
    level: int
    """In after; of a removed heading in before."""
    levelBefore: int | UnsetType = UNSET
    index: int
    """1-based among the headings of that side."""
    path: str
    section: str
    """The headings above it."""


class CellChange(Result, frozen=True, kw_only=True):
    column: str
    before: str | None
    after: str | None


class TableRow(Result, frozen=True, kw_only=True):
    op: Literal["add", "remove", "replace"]
    row: int
    """1-based below the header; in after for an added row, else in before."""
    cells: list[CellChange]


class BlockChange(Result, frozen=True, kw_only=True):
    op: Literal["add", "remove", "replace"]
    path: str
    """`h2[1]/p[0]`: in after for an added block, else in before."""
    type: str
    section: str
    before: str | UnsetType = UNSET
    after: str | UnsetType = UNSET
    rows: list[TableRow] | UnsetType = UNSET
    """Of a table with the same header: the rows that differ."""


class CodeChange(Result, frozen=True, kw_only=True):
    op: Literal["add", "remove", "replace"]
    path: str
    section: str
    language: str
    languageBefore: str | UnsetType = UNSET
    beforeLines: int | None
    """Source lines, fences included."""
    afterLines: int | None
    changed: bool
    """Whether the content differs, not only the language."""
    before: str | UnsetType = UNSET
    after: str | UnsetType = UNSET


class MarkdownSummary(Result, frozen=True, kw_only=True):
    headings: int
    blocks: int
    codeBlocks: int


class BriefChange(Result, frozen=True, kw_only=True):
    op: str
    before: str
    after: str


class MarkdownResult(Result, frozen=True, kw_only=True):
    kind: Literal["markdown"] = "markdown"
    equal: bool
    truncated: bool
    beforeBytes: int
    afterBytes: int
    changes: int
    """Headings, blocks and code blocks that differ."""
    summary: MarkdownSummary
    formattingOnly: bool
    """True where the texts differ and no block does: other marks, other blank lines."""
    headingChanges: list[HeadingChange]
    blockChanges: list[BlockChange]
    codeBlockChanges: list[CodeChange]
    diff: str
    """The text diff."""
    some_block_change: BriefChange | UnsetType = UNSET
    """The first changed block and its path, again, for short inline sides."""
    first_replace_path: str | UnsetType = UNSET


def run(args: MarkdownArgs, ctx: Context) -> Answer:
    """What differs in the terms of the document, and the text diff."""
    sides = given(args, "markdown")
    before, after = (read_text(side, ctx) for side in sides)
    options = {"ignore_whitespace": args.ignore_whitespace, "ignore_case": args.ignore_case}
    found = markdown.compare(
        markdown.parse(before.decode()),
        markdown.parse(after.decode()),
        deadline=ctx.deadline,
        **options,
    )
    text = unified(
        before,
        after,
        a_name=sides[0].file or "before",
        b_name=sides[1].file or "after",
        context=args.context,
        deadline=ctx.deadline,
        **options,
    )
    return _Answer(args, found, text, (len(before), len(after))).answer()


class _Answer:
    def __init__(
        self, args: MarkdownArgs, found: Difference, text: UnifiedDiff, sizes: tuple[int, int]
    ) -> None:
        self._args, self._found, self._text, self._sizes = args, found, text, sizes
        changes = [
            *(("heading", one) for one in found.headings),
            *(("block", one) for one in found.blocks),
            *(("code", one) for one in found.code),
        ]
        if args.format == "unified":
            changes = []
        self._changes = changes[: args.max_changes]
        self._left_out = len(changes) - len(self._changes)
        hunks = [] if args.format == "structured" else text.hunks
        self._hunks = [show(hunk.render()) for hunk in hunks]

    def _result(self, shown: int) -> MarkdownResult:
        found = self._found
        lists: dict[str, list[Any]] = {"heading": [], "block": [], "code": []}
        for kind, change in self._changes[:shown]:
            lists[kind].append(_RECORDS[kind](change))
        hunks = self._hunks[: max(shown - len(self._changes), 0)]
        diff = show(self._text.header) + "".join(hunks) if hunks else ""
        more: dict[str, Any] = {}
        if self._args.before is not None and found.total <= BRIEF_CHANGES:
            replaced = [one for one in lists["block"] if one.op == "replace"]
            if replaced:
                first = replaced[0]
                more["some_block_change"] = BriefChange(
                    op="replace", before=first.before, after=first.after
                )
                more["first_replace_path"] = first.path
        return MarkdownResult(
            equal=not found.total and self._text.equal,
            truncated=bool(self._left_out) or shown < len(self._changes) + len(self._hunks),
            beforeBytes=self._sizes[0],
            afterBytes=self._sizes[1],
            changes=found.total,
            summary=MarkdownSummary(
                headings=len(found.headings), blocks=len(found.blocks), codeBlocks=len(found.code)
            ),
            formattingOnly=not found.total and not self._text.equal,
            headingChanges=lists["heading"],
            blockChanges=lists["block"],
            codeBlockChanges=lists["code"],
            diff=diff,
            **more,
        )

    def _head(self) -> str:
        found = self._found
        if not found.total:
            return "no difference" if self._text.equal else "only the formatting differs"
        counts = [
            f"{number(n)} {word}"
            for n, word in (
                (len(found.headings), "headings"),
                (len(found.blocks), "blocks"),
                (len(found.code), "code blocks"),
            )
            if n
        ]
        return "changed: " + ", ".join(counts)

    def answer(self) -> Answer:
        rows = [_line(kind, change) for kind, change in self._changes]
        if self._hunks:
            header = show(self._text.header)
            rows += [
                (header if k == 0 else "") + hunk.removesuffix("\n")
                for k, hunk in enumerate(self._hunks)
            ]
        head = self._head()
        return Answer(
            result=self._result,
            rows=rows,
            head=lambda _: head,
            notes=(self._text.note,) if self._text.note and self._hunks else (),
            noun="changes and hunks",
            more=lambda _: "format: 'structured' leaves the text diff out",
            truncated=bool(self._left_out),
            negative=bool(self._found.total) or not self._text.equal,
        )


def _clip(text: str, most: int = _TEXT_CHARACTERS) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _text(block: Block | None) -> str | UnsetType:
    return UNSET if block is None else _clip(block.text.removesuffix("\n"))


def _op(change: Change) -> Any:
    return "replace" if change.op == "rename" else change.op


def _heading(change: Change) -> HeadingChange:
    old, new = change.before, change.after
    block = new or change.block
    return HeadingChange(
        op=change.op,
        before=_text(old),
        after=_text(new),
        level=block.level,
        levelBefore=old.level if old and new and old.level != new.level else UNSET,
        index=block.ordinal,
        path=block.path,
        section=block.section,
    )


def _block(change: Change) -> BlockChange:
    block = change.block
    rows = [
        TableRow(
            op=one.op,
            row=one.row,
            cells=[CellChange(column=c, before=a, after=b) for c, a, b in one.cells],
        )
        for one in change.rows
    ]
    return BlockChange(
        op=_op(change),
        path=block.path,
        type=block.kind,
        section=block.section,
        before=_text(change.before),
        after=_text(change.after),
        rows=rows or UNSET,
    )


def _code(change: Change) -> CodeChange:
    old, new, block = change.before, change.after, change.block
    both = old is not None and new is not None
    return CodeChange(
        op=_op(change),
        path=block.path,
        section=block.section,
        language=(new or block).language,
        languageBefore=old.language if both and old and new and old.language != new.language
        else UNSET,
        beforeLines=old.lines if old else None,
        afterLines=new.lines if new else None,
        changed=not both or (old is not None and new is not None and old.text != new.text),
        before=_text(old),
        after=_text(new),
    )  # fmt: skip


_RECORDS: Final = {"heading": _heading, "block": _block, "code": _code}


def _one_line(block: Block) -> str:
    return _clip(" ".join(block.text.split()), _LINE_CHARACTERS)


def _line(kind: str, change: Change) -> str:
    block = change.block
    what = f"heading {'#' * block.level}" if kind == "heading" else _WORDS[block.kind]
    where = f" in {block.section}" if block.section else ""
    lead = f"{_SIGNS[change.op]} {block.path}{where}  {what}: "
    if change.rows:
        told = [_row(one.op, one.row, one.cells) for one in change.rows]
        return lead + "; ".join(told)
    return lead + " -> ".join(
        _one_line(one) for one in (change.before, change.after) if one is not None
    )


def _row(op: str, row: int, cells: list[tuple[str, str | None, str | None]]) -> str:
    if op == "replace":
        return f"row {row} " + ", ".join(f"{c}: {a} -> {b}" for c, a, b in cells)
    values = ", ".join(f"{c}: {a if b is None else b}" for c, a, b in cells)
    return f"row {row} {'removed' if op == 'remove' else 'added'} ({values})"


VERB = Verb(
    tool="diff",
    name="markdown",
    summary="Headings, blocks, tables and code that changed between two Markdown documents.",
    args=MarkdownArgs,
    result=MarkdownResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_PARSE", "E_TOO_LARGE", "E_NOT_FOUND", "E_NOT_A_FILE", "E_OUTSIDE_WORKSPACE"),
    limits=("a side is at most 256 KiB inline, 4 MiB as a file",),
    positional=("a", "b"),
    examples=(
        Example(
            about="a heading renamed and a table cell changed",
            args={
                "before": "# T\n\n## Use\n\n| k | v |\n|---|---|\n| x | 1 |\n",
                "after": "# T\n\n## Usage\n\n| k | v |\n|---|---|\n| x | 2 |\n",
            },
            shows="row 1 v: 1 -> 2",
        ),
        Example(
            about="another list mark is only formatting",
            args={"before": "- one\n- two\n", "after": "* one\n* two\n", "format": "structured"},
            shows="only the formatting differs",
        ),
    ),
)
