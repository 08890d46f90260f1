"""CSV read by RFC 4180, and two tables compared: by key columns or by place."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from toolbox.errors import InvalidArg, ParseFailed, TooLarge

ROWS_MOST: Final = 50_000
COLUMNS_MOST: Final = 512
_FIELD_CHARACTERS: Final = 8 * 1024 * 1024  # above any side's size: the reader's own cap is 128 KiB
_RAGGED_TOLD: Final = 5
_CHECK_EVERY: Final = 2_000
_TAB: Final = "tab"

MISSING_KEY: Final = "<missing-key>"
"""What stands for the key of a row that is too short to have one; an empty key is `""`."""


class Row(NamedTuple):
    line: int
    """1-based line where the row begins."""
    cells: list[str]


@dataclass(slots=True)
class Table:
    """Columns by name (a repeated name is made unique: `B`, `B (2)`), rows with their lines."""

    columns: list[str]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)


def delimiter_of(given: str) -> str:
    """The character that a `delimiter` argument means."""
    if given == _TAB:
        return "\t"
    if len(given) != 1 or given in '"\r\n':
        raise InvalidArg(
            f"delimiter: expected one character or {_TAB!r}, got {given[:20]!r}",
            hint="for example ',', ';', '|' or 'tab'",
            at={"fields": ["delimiter"]},
        )
    return given


def parse(
    data: bytes,
    name: str,
    delimiter: str = ",",
    check: Callable[[], None] = lambda: None,
    *,
    rows_most: int = ROWS_MOST,
    columns_most: int = COLUMNS_MOST,
) -> Table:
    """The table of a CSV text in UTF-8; its first row names the columns.

    A quoted field keeps its delimiters, quotes (doubled) and line ends as they stand. A blank line
    is no row, unless there is one column only. ParseFailed names the line.
    """
    text = data.decode("utf-8").removeprefix("\ufeff")
    csv.field_size_limit(max(csv.field_size_limit(), _FIELD_CHARACTERS))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    begins = 1
    try:
        for cells in reader:
            if cells or (rows and len(rows[0].cells) == 1):
                rows.append(Row(begins, cells or [""]))
                if len(cells) > columns_most:
                    raise TooLarge(
                        f"{name}: {len(cells)} columns at line {begins}, at most {columns_most} "
                        "are compared",
                        hint="take the columns that matter, or check the delimiter",
                    )
                if len(rows) > rows_most + 1:
                    raise TooLarge(
                        f"{name}: more than {rows_most} rows",
                        hint="split the table by key, and compare the parts",
                    )
            if len(rows) % _CHECK_EVERY == 0:
                check()
            begins = reader.line_num + 1
    except csv.Error as broken:
        raise _broken(str(broken), name, begins, reader.line_num) from None
    if not rows:
        return Table([], [], [f"{name} is empty"])
    header, *body = rows
    table = Table(_unique(header.cells, name), body)
    table.notes += _notes(table, header.cells, name, delimiter)
    return table


def _broken(said: str, name: str, begins: int, line: int) -> ParseFailed:
    at = {"line": begins}
    if "unexpected end of data" in said:
        return ParseFailed(
            f"{name}: unterminated quoted field in the row that begins at line {begins}",
            hint='a quote inside a quoted field is doubled: "say ""hi"""',
            at=at,
        )
    if "expected after" in said:
        return ParseFailed(
            f"{name}: text after a closing quote at line {line}",
            hint='a field is quoted as a whole: "a, b"; inside it a quote is doubled',
            at={"line": line},
        )
    return ParseFailed(f"{name}: not CSV at line {line}: {said}", at={"line": line})


def _unique(names: Sequence[str], name: str) -> list[str]:
    found: list[str] = []
    taken = set(names)
    times: dict[str, int] = {}
    for one in names:
        times[one] = count = times.get(one, 0) + 1
        made = one
        while count > 1 and (made == one or made in taken):
            made = f"{one} ({count})"
            count += 1
        taken.add(made)
        found.append(made)
    return found


def _notes(table: Table, header: Sequence[str], name: str, delimiter: str) -> list[str]:
    notes = []
    repeated = [made for made, one in zip(table.columns, header, strict=True) if made != one]
    if repeated:
        notes.append(f"{name}: the header repeats names; read as {', '.join(repeated)}")
    width = len(table.columns)
    ragged = [row for row in table.rows if len(row.cells) != width]
    for row in ragged[:_RAGGED_TOLD]:
        notes.append(f"{name}: line {row.line} has {len(row.cells)} of {width} fields")
    if len(ragged) > _RAGGED_TOLD:
        notes.append(f"{name}: {len(ragged)} rows in all have another number of fields")
    if width == 1:
        other = next((c for c in ",;\t|" if c != delimiter and c in header[0]), None)
        if other is not None:
            shown = _TAB if other == "\t" else other
            notes.append(f"{name}: one column only; is the delimiter {shown!r}?")
    return notes


Key = tuple[str | None, ...]


class Cell(NamedTuple):
    """A cell that differs; None where the row is too short to have it."""

    column: str
    before: str | None
    after: str | None


class RowChange(NamedTuple):
    """A row on both sides whose cells differ."""

    key: Key
    before: Row
    after: Row
    cells: list[Cell]


@dataclass(slots=True)
class Difference:
    """What differs between two tables."""

    keys: list[str]
    """The key columns; empty where rows are compared by place."""
    added_columns: list[str]
    removed_columns: list[str]
    added: list[Row]
    removed: list[Row]
    changed: list[RowChange]
    duplicates: dict[Key, tuple[list[int], list[int]]]
    """Keys that stand more than once on a side, with the lines on each."""
    notes: list[str]

    @property
    def total(self) -> int:
        return (
            len(self.added)
            + len(self.removed)
            + len(self.changed)
            + len(self.added_columns)
            + len(self.removed_columns)
        )


def key_columns(table: Table, keys: Sequence[str | int], name: str) -> list[int]:
    """The places of key columns, given by name or 1-based number."""
    found = []
    for key in keys:
        text = str(key)
        if text in table.columns:
            found.append(table.columns.index(text))
        elif text.isascii() and text.isdigit() and 1 <= int(text) <= len(table.columns):
            found.append(int(text) - 1)
        else:
            raise InvalidArg(
                f"key: column {text[:80]!r} not found in {name}",
                hint="its columns are " + ", ".join(map(repr, table.columns[:20])),
                at={"fields": ["key"]},
            )
    return found


def compare(
    before: Table,
    after: Table,
    keys: Sequence[str | int],
    *,
    ignore_whitespace: bool = False,
    ignore_case: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Difference:
    """What differs; with keys rows are matched by them, else by place.

    A row whose key stands more than once on either side takes no part. Columns are matched by
    name, so one that only moved is no change.
    """
    fold = _folder(ignore_whitespace, ignore_case)
    names_before = {fold(name): i for i, name in enumerate(before.columns)}
    names_after = {fold(name): i for i, name in enumerate(after.columns)}
    places_before = key_columns(before, keys, "before")
    key_names = [before.columns[i] for i in places_before]
    if keys and not before.columns:
        places_after: list[int] = []
    else:
        places_after = [
            names_after[fold(name)]
            if fold(name) in names_after
            else key_columns(after, [name], "after")[0]
            for name in key_names
        ]
    common = [
        (name, i, names_after[fold(name)])
        for i, name in enumerate(before.columns)
        if fold(name) in names_after
    ]
    found = Difference(
        key_names,
        [name for name in after.columns if fold(name) not in names_before],
        [name for name in before.columns if fold(name) not in names_after],
        [], [], [], {}, [*before.notes, *after.notes],
    )  # fmt: skip
    widths = len(before.columns), len(after.columns)

    def differ(key: Key, old: Row, new: Row) -> None:
        cells = []
        for name, i, j in common:
            left, right = _cell(old, i), _cell(new, j)
            if left != right and (left is None or right is None or fold(left) != fold(right)):
                cells.append(Cell(name, left, right))
        beyond = max(len(old.cells) - widths[0], len(new.cells) - widths[1], 0)
        for k in range(beyond):
            left, right = _cell(old, widths[0] + k), _cell(new, widths[1] + k)
            if left != right and (left is None or right is None or fold(left) != fold(right)):
                cells.append(Cell(beyond_name(k), left, right))
        if cells:
            found.changed.append(RowChange(key, old, new, cells))

    if not keys:
        both = min(len(before.rows), len(after.rows))
        for k in range(both):
            if k % _CHECK_EVERY == 0:
                check()
            differ((str(k + 1),), before.rows[k], after.rows[k])
        found.removed = before.rows[both:]
        found.added = after.rows[both:]
        return found

    def keyed(rows: Sequence[Row], places: Sequence[int]) -> dict[Key, list[Row]]:
        groups: dict[Key, list[Row]] = {}
        for row in rows:
            key = tuple(_fold_cell(_cell(row, place), fold) for place in places)
            groups.setdefault(key, []).append(row)
        return groups

    olds, news = keyed(before.rows, places_before), keyed(after.rows, places_after)
    check()
    for key in dict.fromkeys((*olds, *news)):
        old, new = olds.get(key, []), news.get(key, [])
        if len(old) > 1 or len(new) > 1:
            found.duplicates[key] = [row.line for row in old], [row.line for row in new]
        elif not new:
            found.removed.append(old[0])
        elif not old:
            found.added.append(new[0])
        else:
            differ(tuple(_cell(old[0], place) for place in places_before), old[0], new[0])
    return found


def beyond_name(k: int) -> str:
    """The name of the k-th cell past the header's last column."""
    return f"(field {k + 1} past the header)"


def _cell(row: Row, place: int) -> str | None:
    return row.cells[place] if place < len(row.cells) else None


def _fold_cell(cell: str | None, fold: Callable[[str], str]) -> str | None:
    return None if cell is None else fold(cell)


def _folder(ignore_whitespace: bool, ignore_case: bool) -> Callable[[str], str]:
    def fold(text: str) -> str:
        if ignore_whitespace:
            text = " ".join(text.split())
        return text.casefold() if ignore_case else text

    return fold


def key_text(key: Key) -> str:
    """A key as a reply shows it: its one value, or the values as a list."""
    shown = [MISSING_KEY if one is None else one for one in key]
    return shown[0] if len(shown) == 1 else " | ".join(shown)


def record(row: Row, columns: Sequence[str]) -> dict[str, str]:
    """The row by column; cells that it lacks are absent, cells past the header have a name."""
    found = dict(zip(columns, row.cells, strict=False))
    for k, cell in enumerate(row.cells[len(columns) :]):
        found[beyond_name(k)] = cell
    return found
