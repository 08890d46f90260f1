"""JSON Lines: an array of its lines; a broken line is named and hides no other."""

from __future__ import annotations

import json

import pytest

from toolbox.engines.documents.jsonl import BROKEN_LINES, open_jsonl
from toolbox.errors import ParseFailed


def test_lines_are_the_elements_as_they_are_spelled() -> None:
    document = open_jsonl(b'{"a": 1.10}\r\n\n  [1E400] \n"x"')
    assert document.text == b'[{"a": 1.10},[1E400],"x"]'
    assert document.notes == ()
    at = document.text.index(b"1E400")
    place = document.place(at, at + 5)
    assert (place.line, place.start, place.end) == (3, 17, 22)
    at = document.text.index(b'"x"')
    assert (document.place(at, at + 3).line, document.place(at, at + 3).start) == (4, 25)


def test_a_broken_line_is_named_and_hides_no_other() -> None:
    document = open_jsonl(b'{"a":1}\n{"a":2,}\n\n{"a":3}\n')
    assert document.text == b'[{"a":1},{"a":3}]'
    assert len(document.notes) == 1
    assert "line 2 (column 7: trailing comma" in document.notes[0]
    assert document.kept[BROKEN_LINES] == ((2, 8, 16),)


def test_many_broken_lines_are_counted() -> None:
    document = open_jsonl(b"1\n" + b"{\n" * 40)
    assert document.notes[0].startswith("40 lines are no JSON")
    assert document.notes[0].endswith("and 35 more")


def test_no_line_at_all() -> None:
    with pytest.raises(ParseFailed) as caught:
        open_jsonl(b"\n\n{'a': 1}\n")
    assert caught.value.at is not None
    assert (caught.value.at["line"], caught.value.at["column"]) == (3, 2)
    assert caught.value.at["offset"] == 3


def test_an_empty_file_is_an_empty_array() -> None:
    assert open_jsonl(b"\n").text == b"[]"


@pytest.mark.parametrize(("levels", "kept"), [(8, 1), (9, 1), (10, 0)])
def test_depth(levels: int, kept: int) -> None:
    line = b"[" * levels + b"]" * levels
    document = open_jsonl(b"0\n" + line, nesting_levels=10)
    assert len(json.loads(document.text)) == 1 + kept


def test_deep_lines_up_to_the_limit() -> None:
    line = b"[" * 999 + b"]" * 999
    assert open_jsonl(line).text == b"[" + line + b"]"


def test_lone_surrogates_stay_escapes() -> None:
    document = open_jsonl(b'"\\ud83d"\n"\\ud83d\\ude00"')
    assert document.surrogates
    assert document.text == b'["\\ud83d","\\ud83d\\ude00"]'


def test_bytes_that_are_not_utf8_break_their_line_only() -> None:
    document = open_jsonl(b'"ok"\n"\xff"\n')
    assert document.text == b'["ok"]'
    assert "not UTF-8" in document.notes[0]


def test_byte_order_mark() -> None:
    document = open_jsonl(b"\xef\xbb\xbf[1]\n[2]")
    assert document.text == b"[[1],[2]]"
    assert document.place(1, 4).start == 3
    assert "byte order mark" in document.notes[0]
