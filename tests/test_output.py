"""Cutting: between rows, always said, never over the cap."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbox.output import Reply, fit, number
from toolbox.verb import Answer, Result


class Rows(Result):
    rows: list[str]
    truncated: bool = False


def _answer(rows: list[str], **more: object) -> Answer:
    return Answer(
        rows=rows,
        result=lambda n: Rows(rows=rows[:n], truncated=n < len(rows)),
        more=lambda n: f"ask with offset {n}",
        noun="lines",
        **more,  # type: ignore[arg-type]
    )


def test_what_fits_is_whole() -> None:
    got = fit(_answer(["a", "b"]), 100)
    assert got.text == "a\nb" and got.result == b'{"rows":["a","b"],"truncated":false}'
    assert not got.truncated and got.hint is None


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_the_cap_itself_still_fits(over: int) -> None:
    rows = ["x" * 9] * 100  # 999 bytes of text; a result of about 1 230
    whole = len(fit(_answer(rows), None).result)
    got = fit(_answer(rows), whole + over)
    assert got.truncated is (over < 0)


def test_a_cut_says_how_much_and_names_the_next_call() -> None:
    got = fit(_answer([f"row {k:04}" for k in range(1000)]), 500)
    shown = len(json.loads(got.result)["rows"])
    assert 0 < shown < 1000
    assert got.text.endswith(f"… showing {shown} of 1 000 lines; ask with offset {shown}")
    assert got.truncated and got.hint == f"ask with offset {shown}"


def test_no_cap_is_no_cut() -> None:
    rows = ["x" * 1000] * 1000
    assert not fit(_answer(rows), None).truncated


@given(
    st.lists(st.text(max_size=60).filter(lambda t: "\n" not in t), max_size=60),
    st.integers(200, 900),
)
def test_text_and_result_never_pass_the_cap(rows: list[str], cap: int) -> None:
    got = fit(_answer(rows), cap)
    assert len(got.text.encode()) <= cap
    assert len(got.result) <= cap
    shown = json.loads(got.result)["rows"]
    assert shown == rows[: len(shown)]
    assert got.truncated is (len(shown) < len(rows))


def test_where_no_row_fits_the_verb_says_what_stands_there() -> None:
    answer = Answer(
        rows=["x" * 5000],
        result=lambda n: Rows(rows=["x" * 5000][:n]),
        oversize=lambda budget: ("too large: ask for less", Rows(rows=[])),
    )
    got = fit(answer, 300)
    assert got.text == "too large: ask for less" and got.truncated


def test_numbers_in_a_result_stand_as_spelled() -> None:
    class Value(Result):
        value: msgspec.Raw

    got = fit(Answer(result=lambda n: Value(value=msgspec.Raw(b"1.10"))), 100)
    assert got.result == b'{"value":1.10}'


def test_the_envelope_has_its_members_in_order() -> None:
    reply = Reply(op="json.get", ok=True, text="1.10", result=b'{"value":1.10}', elapsed_ms=0.5)
    assert reply.envelope() == (
        b'{"ok":true,"op":"json.get","api":1,"result":{"value":1.10},"text":"1.10",'
        b'"truncated":false,"hint":null,"meta":{"elapsed_ms":0.500,"cached":false}}'
    )


def test_counts_are_printed_with_thin_thousands() -> None:
    assert [number(n) for n in (0, 999, 1000, 1234567)] == ["0", "999", "1 000", "1 234 567"]


def test_rows_may_be_fewer_than_there_are() -> None:
    rows = [f"row {n}" for n in range(60)]
    answer = Answer(rows=rows, total=9000, result=lambda n: Rows(rows=rows[:n], truncated=True), noun="rows")
    got = fit(answer, 300)
    shown = len(json.loads(got.result)["rows"])
    assert 0 < shown < 60 and got.truncated
    assert f"… showing {shown} of 9 000 rows" in got.text
    whole = fit(answer, 100_000)
    assert whole.truncated and "… showing 60 of 9 000 rows" in whole.text


def test_what_stands_where_no_row_fits_leaves_room_for_notes() -> None:
    answer = Answer(
        rows=["x" * 5000],
        result=lambda n: Rows(rows=["x" * 5000][:n]),
        oversize=lambda budget: ("y" * budget, Rows(rows=[])),
    )
    got = fit(answer, 300, ("taken as the most, 50",))
    assert len(got.text) == 300 and got.text.endswith("y\nnote: taken as the most, 50")
