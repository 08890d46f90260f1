"""`@diff csv`: rows added, removed and changed between two tables."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from toolbox import limits
from toolbox.engines.diff import table
from toolbox.engines.diff.table import Difference, Row, RowChange, Table
from toolbox.output import number
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.diff.structural import SidesArgs, given, read_text

_LINES_TOLD: Final = 5
_ROW_CHARACTERS: Final = 200


class CsvArgs(SidesArgs, frozen=True, kw_only=True):
    key: Annotated[
        str | int | list[str] | None,
        Meta(description="the column that names a row, by name or 1-based number, or several"),
    ] = None
    delimiter: Annotated[str, Meta(description="one character, or tab")] = ","
    ignore_whitespace: Annotated[
        bool, Meta(description="a run of blanks equals one, and none at a cell's ends")
    ] = False
    ignore_case: Annotated[bool, Meta(description="letters equal whatever their case")] = False
    format: Annotated[Literal["structured"], Meta(description="rows and cells")] = "structured"


class CellChange(Result, frozen=True, kw_only=True):
    column: str
    before: str | None
    """Null where the row is too short to have the cell."""
    after: str | None


class ChangedRow(Result, frozen=True, kw_only=True):
    key: str | list[str]
    """The row's key; without key columns its 1-based number."""
    lineBefore: int
    lineAfter: int
    changes: list[CellChange]


class Duplicate(Result, frozen=True, kw_only=True):
    key: str | list[str]
    linesBefore: list[int]
    linesAfter: list[int]


class CsvSummary(Result, frozen=True, kw_only=True):
    addedRows: int
    removedRows: int
    changedRows: int
    changedCells: int
    addedColumns: int
    removedColumns: int
    duplicateKeys: int


class CsvResult(Result, frozen=True, kw_only=True):
    kind: Literal["csv"] = "csv"
    equal: bool
    truncated: bool
    beforeBytes: int
    afterBytes: int
    changes: int
    """Rows and columns that differ."""
    summary: CsvSummary
    mode: Literal["keyed", "positional"]
    key: str | list[str] | UnsetType = UNSET
    addedRows: list[dict[str, str]]
    removedRows: list[dict[str, str]]
    changedRows: list[ChangedRow]
    duplicateKeys: list[str | list[str]]
    """Keys that stand more than once on a side: their rows take no part."""
    duplicates: list[Duplicate] | UnsetType = UNSET
    addedColumns: list[str]
    removedColumns: list[str]
    notes: list[str]


def run(args: CsvArgs, ctx: Context) -> Answer:
    """What differs between the two tables."""
    sides = given(args, "csv")
    delimiter = table.delimiter_of(args.delimiter)
    data = [read_text(side, ctx) for side in sides]
    before, after = (
        table.parse(one, side.file or side.name, delimiter, ctx.deadline.check)
        for one, side in zip(data, sides, strict=True)
    )
    keys = [] if args.key is None else args.key if isinstance(args.key, list) else [args.key]
    found = table.compare(
        before,
        after,
        keys,
        ignore_whitespace=args.ignore_whitespace,
        ignore_case=args.ignore_case,
        check=ctx.deadline.check,
    )
    return _Answer(args, found, before, after, (len(data[0]), len(data[1]))).answer()


def _key(key: table.Key) -> str | list[str]:
    shown = [table.MISSING_KEY if one is None else one for one in key]
    return shown[0] if len(shown) == 1 else shown


class _Answer:
    def __init__(
        self, args: CsvArgs, found: Difference, before: Table, after: Table, sizes: tuple[int, int]
    ) -> None:
        self._found, self._before, self._after, self._sizes = found, before, after, sizes
        self._most = args.max_changes
        entries: list[tuple[str, Any]] = [
            *(("removed", row) for row in found.removed),
            *(("added", row) for row in found.added),
            *(("changed", row) for row in found.changed),
        ]
        self._total = len(entries)
        self._entries = entries[: args.max_changes]
        self._notes = [*found.notes, *self._duplicate_notes()]

    def _duplicate_notes(self) -> list[str]:
        notes = []
        for key, (old, new) in list(self._found.duplicates.items())[:_LINES_TOLD]:
            where = [
                f"lines {', '.join(map(str, lines[:_LINES_TOLD]))} of {side}"
                for lines, side in ((old, "before"), (new, "after"))
                if lines
            ]
            notes.append(
                f"the key {table.key_text(key)!r} is not unique ({'; '.join(where)}): a duplicate "
                "key, whose rows take no part"
            )
        if len(self._found.duplicates) > _LINES_TOLD:
            notes.append(f"{number(len(self._found.duplicates))} duplicate keys in all")
        return notes

    def _result(self, shown: int) -> CsvResult:
        found = self._found
        entries = self._entries[:shown]
        rows: dict[str, list[Any]] = {"removed": [], "added": [], "changed": []}
        for kind, row in entries:
            rows[kind].append(self._record(kind, row))
        keys: Any = UNSET
        if found.keys:
            keys = found.keys[0] if len(found.keys) == 1 else found.keys
        return CsvResult(
            equal=not found.total and not found.duplicates,
            truncated=len(entries) < self._total,
            beforeBytes=self._sizes[0],
            afterBytes=self._sizes[1],
            changes=found.total,
            summary=CsvSummary(
                addedRows=len(found.added),
                removedRows=len(found.removed),
                changedRows=len(found.changed),
                changedCells=sum(len(row.cells) for row in found.changed),
                addedColumns=len(found.added_columns),
                removedColumns=len(found.removed_columns),
                duplicateKeys=len(found.duplicates),
            ),
            mode="keyed" if found.keys else "positional",
            key=keys,
            addedRows=rows["added"],
            removedRows=rows["removed"],
            changedRows=rows["changed"],
            duplicateKeys=[_key(key) for key in list(found.duplicates)[: self._most]],
            duplicates=[
                Duplicate(key=_key(key), linesBefore=old, linesAfter=new)
                for key, (old, new) in list(found.duplicates.items())[:_LINES_TOLD]
            ]
            or UNSET,
            addedColumns=found.added_columns,
            removedColumns=found.removed_columns,
            notes=self._notes,
        )

    def _record(self, kind: str, row: Any) -> Any:
        if kind == "changed":
            return ChangedRow(
                key=_key(row.key),
                lineBefore=row.before.line,
                lineAfter=row.after.line,
                changes=[
                    CellChange(column=c.column, before=c.before, after=c.after) for c in row.cells
                ],
            )
        return table.record(row, (self._before if kind == "removed" else self._after).columns)

    def _line(self, kind: str, row: Row | RowChange) -> str:
        if isinstance(row, RowChange):
            cells = ", ".join(
                f"{c.column}: {_show(c.before)} -> {_show(c.after)}" for c in row.cells
            )
            name = table.key_text(row.key)
            return f"~ {name if self._found.keys else f'row {name}'}  {cells}"
        columns = (self._before if kind == "removed" else self._after).columns
        text = ", ".join(
            f"{name}: {_show(cell)}" for name, cell in table.record(row, columns).items()
        )
        if len(text) > _ROW_CHARACTERS:
            text = text[:_ROW_CHARACTERS] + "…"
        return f"{'-' if kind == 'removed' else '+'} line {row.line}  {text}"

    def _head(self) -> str:
        found = self._found
        lines = []
        counts = [
            f"{number(n)} {word}"
            for n, word in (
                (len(found.added), "rows added"),
                (len(found.removed), "rows removed"),
                (len(found.changed), "rows changed"),
            )
            if n
        ]
        if counts:
            lines.append(", ".join(counts))
        elif not found.total and not found.duplicates:
            lines.append("no difference")
        elif not found.total:
            lines.append("no difference among rows whose key is unique")
        if found.added_columns:
            lines.append("columns added: " + ", ".join(found.added_columns))
        if found.removed_columns:
            lines.append("columns taken away: " + ", ".join(found.removed_columns))
        return "\n".join(lines)

    def answer(self) -> Answer:
        head = self._head()
        return Answer(
            result=self._result,
            rows=[self._line(kind, row) for kind, row in self._entries],
            head=lambda _: head,
            notes=tuple(self._notes),
            noun="rows",
            total=self._total,
            more=lambda n: (
                f"max_changes: {self._total} lists more"
                if n >= self._most and self._total <= 10_000
                else "compare a part of the tables"
            ),
            truncated=len(self._entries) < self._total,
            negative=bool(self._found.total or self._found.duplicates),
        )


def _show(cell: str | None) -> str:
    return "(no cell)" if cell is None else repr(cell)


VERB = Verb(
    tool="diff",
    name="csv",
    summary="Rows added, removed and changed between two CSV tables, by key columns or by place.",
    args=CsvArgs,
    result=CsvResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_PARSE", "E_TOO_LARGE", "E_INVALID_ARG", "E_NOT_FOUND", "E_NOT_A_FILE"),
    limits=(
        "a side is at most 256 KiB inline, 4 MiB as a file",
        f"at most {table.ROWS_MOST} rows and {table.COLUMNS_MOST} columns",
    ),
    positional=("a", "b"),
    examples=(
        Example(
            about="rows matched by a key column, whatever their order",
            args={
                "before": "id,name\n1,Al\n2,Bo\n",
                "after": "name,id\nBo,2\nAla,1\n",
                "key": "id",
            },
            shows="~ 1  name: 'Al' -> 'Ala'",
        ),
        Example(
            about="a key that is not unique",
            args={"before": "id,v\n1,a\n1,b\n", "after": "id,v\n1,a\n", "key": "id"},
            shows="the key '1' is not unique (lines 2, 3 of before; lines 2 of after)",
        ),
    ),
)
