"""CSV as RFC 4180 has it, and what differs between two tables."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import errors
from toolbox.engines.diff import table
from toolbox.engines.diff.table import compare, parse, record

SPECTRUM = pathlib.Path(__file__).resolve().parents[4] / "shared" / "corpus" / "csv" / "spectrum"


@pytest.mark.skipif(not SPECTRUM.is_dir(), reason="the corpus is not here")
@pytest.mark.parametrize("path", sorted(SPECTRUM.glob("*.csv")), ids=lambda p: p.stem)
def test_spectrum(path: pathlib.Path) -> None:
    found = parse(path.read_bytes(), path.name)
    want = json.loads(path.with_suffix("").with_suffix(".expected.json").read_bytes())
    # A field keeps the line ends that stand in it.
    got = [{k: v.replace("\r\n", "\n") for k, v in record(row, found.columns).items()} for row in found.rows]
    assert got == [{k: v.replace("\r\n", "\n") for k, v in one.items()} for one in want]


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ('a,b\n"x,y",z', ["a", "b"], [["x,y", "z"]]), ('a,b\n"line1\nline2",z', ["a", "b"], [["line1\nline2", "z"]]),
        ("\ufeffa,b\r\n1,2\r\n", ["a", "b"], [["1", "2"]]), ("a\nb\nc", ["a"], [["b"], ["c"]]), ("a\n\nc\n", ["a"], [[""], ["c"]]),
        ("a,b\n\n1,2\n\n", ["a", "b"], [["1", "2"]]), ('a\n"say ""hi"""\n', ["a"], [['say "hi"']]), ('a,b\nx"y,1\n', ["a", "b"], [['x"y', "1"]]),
        ("A,B,B\n1,2,3\n", ["A", "B", "B (2)"], [["1", "2", "3"]]), ("", [], []), ("a,b\n,\n", ["a", "b"], [["", ""]]), ('a\r"b\rc"\r', ["a"], [["b\rc"]]),
    ],
)  # fmt: skip
def test_reading(text: str, columns: list[str], rows: list[list[str]]) -> None:
    found = parse(text.encode(), "t")
    assert (found.columns, [row.cells for row in found.rows]) == (columns, rows)


@pytest.mark.parametrize(
    ("text", "says"),
    [('a,b\n1,2\n"oops,z\n\n', "unterminated quoted field in the row that begins at line 3"), ('a\n"b"c\n', "after a closing quote at line 2")],
)
def test_what_is_no_csv_is_told_with_its_line(text: str, says: str) -> None:
    with pytest.raises(errors.ParseFailed, match=says):
        parse(text.encode(), "t")


def test_limits_at_their_edges() -> None:
    assert len(parse(b"x\n" * 50_001, "t").rows) == 50_000
    with pytest.raises(errors.TooLarge, match="rows"):
        parse(b"x\n" * 50_002, "t")
    assert len(parse(b",".join([b"x"] * 512), "t").columns) == 512
    with pytest.raises(errors.TooLarge, match="columns"):
        parse(b",".join([b"x"] * 513), "t")
    assert len(parse(b"a\n" + b"y" * 300_000, "t").rows[0].cells[0]) == 300_000


def test_ragged_rows_are_named_and_kept() -> None:
    found = parse(b"k,v,w\n1,a\n2,a,b,c\n", "t")
    assert found.notes == ["t: line 2 has 2 of 3 fields", "t: line 3 has 4 of 3 fields"]
    got = compare(found, parse(b"k,v,w\n1,a,\n2,a,b,d\n", "t"), ["k"])
    assert [(r.key, [tuple(c) for c in r.cells]) for r in got.changed] == [
        (("1",), [("w", None, "")]), (("2",), [("(field 1 past the header)", "c", "d")]),
    ]  # fmt: skip
    assert got.added_columns == got.removed_columns == []


def test_an_empty_key_and_a_missing_one_differ() -> None:
    got = compare(parse(b"v,k\n1,\n", "t"), parse(b"v,k\n1\n", "t"), ["k"])
    assert (len(got.added), len(got.removed)) == (1, 1)


def test_several_key_columns_and_their_order() -> None:
    a, b = parse(b"x,y,v\n1,1,a\n1,2,b\n", "t"), parse(b"v,y,x\nB,2,1\na,1,1\n", "t")
    got = compare(a, b, ["x", "y"])
    assert [(r.key, r.before.line, r.after.line, [tuple(c) for c in r.cells]) for r in got.changed] == [(("1", "2"), 3, 2, [("v", "b", "B")])]
    assert got.total == 1 and got.keys == ["x", "y"]
    assert compare(a, b, [1, "2"]).keys == ["x", "y"]


def test_a_column_that_moved_is_no_change() -> None:
    assert compare(parse(b"a,b\n1,2\n", "t"), parse(b"b,a\n2,1\n", "t"), []).total == 0


def test_the_delimiter() -> None:
    assert table.delimiter_of("tab") == "\t"
    for wrong in ("", ",,", '"', "\n"):
        with pytest.raises(errors.InvalidArg):
            table.delimiter_of(wrong)
    assert "is the delimiter ';'?" in parse(b"a;b\n1;2\n", "t").notes[0]


cells = st.text(st.sampled_from('ab,"\n\r é'), max_size=4)


def write(rows: list[list[str]]) -> bytes:
    return "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows).encode()


@given(rows=st.lists(st.lists(cells, min_size=2, max_size=3), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read(rows: list[list[str]]) -> None:
    rows[0] = ["k", "v", "w"][: len(rows[0])]
    assert [row.cells for row in parse(write(rows), "t").rows] == rows[1:]


@given(pair=st.tuples(*[st.dictionaries(st.sampled_from("abcdef"), st.tuples(cells, cells), max_size=6)] * 2), order=st.randoms())
@settings(max_examples=150, deadline=None)
def test_the_changes_make_after_of_before(pair: tuple[dict[str, Any], dict[str, Any]], order: Any) -> None:
    before, after = pair
    tables = []
    for side in pair:
        rows = [[k, *side[k]] for k in side]
        order.shuffle(rows)
        tables.append(parse(write([["k", "v", "w"], *rows]), "t"))
    got = compare(*tables, ["k"])
    made = dict(before)
    for row in got.removed:
        assert tuple(row.cells[1:]) == made.pop(row.cells[0])
    for row in got.added:
        made[row.cells[0]] = (row.cells[1], row.cells[2])
    for changed in got.changed:
        values = dict(zip("vw", made[changed.key[0] or ""], strict=True))
        for cell in changed.cells:
            assert values[cell.column] == cell.before and cell.before != cell.after
            values[cell.column] = cell.after
        made[changed.key[0] or ""] = (values["v"], values["w"])
    assert made == after
