"""Diagnosis of text that is not JSON: place, cause, and accepting exactly what JSON is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.documents.diagnose import diagnose
from toolbox.engines.documents.positions import locate
from toolbox.engines.documents.scan import compile_runs, find_fault

SHARED = Path(__file__).resolve().parents[4] / "shared"
PARSING = SHARED / "suites/JSONTestSuite/test_parsing"
SUITE = sorted(PARSING.glob("*.json")) if PARSING.is_dir() else []

# id, source, line, column, a word of the message or the cause
PLACES = [
    ("empty", b"", 1, 1, "empty"),
    ("blank", b" \n\t\n", 3, 1, "empty"),
    ("bom-only", b"\xef\xbb\xbf", 1, 1, "empty"),
    ("trailing-comma-array", b'{"a": [1, 2,],\n "b": 3}', 1, 12, "trailing comma"),
    ("trailing-comma-object", b'[{"n":1,"w":"x",},{"n":2}]', 1, 16, "trailing comma"),
    ("trailing-comma-after-line", b'{"a": 1,\n}', 1, 8, "trailing comma"),
    ("trailing-comma-after-depth", b"[" * 9 + b"1 , \n]" + b"]" * 8, 1, 12, "trailing comma"),
    ("trailing-comma-top", b'{"a": 1},', 1, 9, "trailing data"),
    ("double-comma", b"[1,,2]", 1, 4, "doubled"),
    ("leading-comma", b"[,1]", 1, 2, "nothing before"),
    ("missing-comma", b'{\n  "a": 1\n  "b": 2\n}', 3, 3, "missing comma"),
    ("missing-comma-array", b"[1 2]", 1, 4, "missing comma"),
    ("missing-colon", b'{\n  "a" 1\n}', 2, 7, "missing colon"),
    ("equals", b'{"a" = 1}', 1, 6, "colon"),
    ("key-alone", b'{"a"}', 1, 5, "without a value"),
    ("no-value", b'{"a":}', 1, 6, "value is missing"),
    ("single-quoted-key", b"{'a': 1}", 1, 2, "single quotes"),
    ("single-quoted-value", b"{\"a\": 'x'}", 1, 7, "single quotes"),
    ("unquoted-key", b"{a: 1}", 1, 2, "unquoted key"),
    ("unquoted-value", b'{\r  "b": x\r}', 2, 8, "unquoted string"),
    ("line-comment", b'{\n\t// why\n "a": 1}', 2, 2, "comment"),
    ("block-comment", b"/* why */ {}", 1, 1, "comment"),
    ("comment-after-value", b'{"a": 1 // why\n}', 1, 9, "comment"),
    ("comment-at-end", b"{} // why", 1, 4, "comment"),
    ("hash-comment", b'{\n# why\n"a": 1}', 2, 1, "comment"),
    ("nan", b'{"x": NaN}', 1, 7, "NaN"),
    ("minus-infinity", b"[-Infinity]", 1, 2, "Infinity"),
    ("python", b'{"a": None}', 1, 7, "Python"),
    ("undefined", b"[undefined]", 1, 2, "JavaScript"),
    ("upper-case", b"[TRUE]", 1, 2, "lower case"),
    ("cut-word", b"[tru]", 1, 2, "cut short"),
    ("glued-word", b"[nulls]", 1, 2, "null"),
    ("leading-zero", b"[01]", 1, 2, "leading zero"),
    ("leading-zero-alone", b"-012", 1, 1, "leading zero"),
    ("no-fraction", b"[1.]", 1, 2, "digit"),
    ("no-integer", b"[.5]", 1, 2, "digit"),
    ("no-exponent", b"[1e]", 1, 2, "exponent"),
    ("plus", b"[+1]", 1, 2, "plus"),
    ("minus", b"[-]", 1, 2, "sign"),
    ("hexadecimal", b"[0x1F]", 1, 2, "hexadecimal"),
    ("grouped", b"[1_000]", 1, 2, "grouped"),
    ("date", b'{"d": 2026-01-31}', 1, 7, "quoted"),
    ("bad-escape", b'{"msg":"start \\0 then a long tail"}', 1, 15, "bad escape"),
    ("windows-path", b'{"p": "C:\\Users"}', 1, 10, "\\\\"),
    ("short-unicode-escape", b'["ab\\u12"]', 1, 5, "four hex digits"),
    ("raw-newline", b'{\n  "a": "line one\nline two"\n}', 2, 17, "line break"),
    ("raw-tab", b'["a\tb"]', 1, 4, "tab"),
    ("raw-nul", b'["a\x00b"]', 1, 4, "U+0000"),
    ("unterminated", b'{"a": "abc', 1, 7, "unterminated"),
    ("truncated-array", b'{\n  "a": [1, 2\n', 3, 1, "line 2, column 8"),
    ("truncated-key", b'{"a": 1,', 1, 9, "truncated"),
    ("wrong-bracket", b'{"a": [1, 2}', 1, 12, "line 1, column 7"),
    ("extra-bracket", b'{"a": 1}}', 1, 9, "too many"),
    ("json-lines", b'{"a": 1}\n\n{"b": 2}\n', 3, 1, "JSON Lines"),
    ("two-values", b'{"a":\n 1} {"b": 2}', 2, 5, "trailing data"),
    ("json-lines-broken", b'{"a":1}\n{"a":2,}\n', 2, 1, "trailing data"),
    ("template", b'{\n "a": {{ .Values.a }}\n}', 2, 8, "template"),
    ("template-at-top", b"{{- if .x }}\na: 1", 1, 2, "template"),
    ("html", b"<!DOCTYPE html>", 1, 1, "HTML"),
    ("fence", b"```json\n{}\n```", 1, 1, "Markdown"),
    ("xssi", b")]}'\n{}", 1, 1, "XSSI"),
    ("jsonp", b'cb({"a": 1});', 1, 1, "JSONP"),
    ("log", b'npm warn deprecated\n{"a": 1}', 1, 1, "log line"),
    ("conflict", b'{\n<<<<<<< HEAD\n "v": 1\n', 2, 1, "conflict"),
    ("typographic", "{“a”: 1}".encode(), 1, 2, "typographic"),
    ("no-break-space", '{"a":\u00a01}'.encode(), 1, 6, "U+00A0"),
    ("inner-bom", "[1,\ufeff2]".encode(), 1, 4, "U+FEFF"),
    ("escaped-quotes", b'{\\"a\\": 1}', 1, 2, "inside of a string"),
    ("code-points", '{"日本語": "😀😀", "k": bad}'.encode(), 1, 20, "unquoted"),
    ("after-bom", b"\xef\xbb\xbf[x]", 1, 2, "unquoted"),
    ("latin1", b'{"name": "Jos\xe9", "ok": true}', 1, 14, "not UTF-8"),
    ("latin1-after-fault", b'{"name": bad, "x": "\xe9"}', 1, 10, "unquoted"),
    ("cut-character", b'["\xe2\x82', 1, 3, "not UTF-8"),
    ("utf8-surrogate", b'["\xed\xa0\x80"]', 1, 3, "not UTF-8"),
    ("utf16", '{"k": 1}'.encode("utf-16"), 1, 1, "UTF-16"),
    ("utf16-bare", '{"k": 1}'.encode("utf-16-be"), 1, 1, "UTF-16 (big"),
    ("utf32-bare", '{"k": 1}'.encode("utf-32-le"), 1, 1, "UTF-32 (little"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "line", "column", "word"), [c[1:] for c in PLACES], ids=[c[0] for c in PLACES]
)
def test_the_place_and_the_cause(source: bytes, line: int, column: int, word: str) -> None:
    found = diagnose(source)
    assert found is not None
    assert (found.line, found.column) == (line, column)
    assert word in f"{found.message} | {found.cause}"
    if found.kind != "encoding" or "UTF-8, got the byte" in found.message:
        assert locate(source, found.offset) == (line, column)
    text, caret = found.snippet.split("\n")[-2:]
    assert text.startswith(f"{line} | ")
    assert caret.strip() == "^"
    assert max(map(len, found.snippet.split("\n"))) < 120


@pytest.mark.parametrize("path", SUITE, ids=[p.stem for p in SUITE])
def test_parsing_suite(path: Path) -> None:
    found = diagnose(path.read_bytes())
    if path.name[0] == "y":
        assert found is None
    elif path.name[0] == "n":
        assert found is not None
        assert found.line >= 1
        assert found.column >= 1


def test_the_caret_stands_under_the_fault_whatever_the_width() -> None:
    found = diagnose('\t["日本", x]'.encode())
    assert found is not None
    assert found.snippet == '1 | →["日本", x]\n' + " " * (4 + 1 + 2 + 4 + 3) + "^"
    found = diagnose("[\"a\u200bb\", x]".encode())
    assert found is not None
    assert found.snippet.startswith('1 | ["a<U+200B>b", x]')


def test_a_long_line_is_cut_around_the_fault() -> None:
    source = b'{"a": "' + b"x" * 5_000_000 + b'", bad: "' + "é".encode() * 500_000 + b'"}'
    found = diagnose(source)
    assert found is not None
    assert found.column == found.offset + 1
    text, caret = found.snippet.split("\n")
    assert text[len(caret) - 1 :].startswith("bad")
    assert text.startswith("1 | …") and text.endswith("…")


@pytest.mark.parametrize("levels", [1, 3, 4, 999, 100_000])
def test_depth_has_no_limit_here(levels: int) -> None:
    assert diagnose(b"[" * levels + b"]" * levels) is None
    assert diagnose(b'{"k":' * levels + b"0" + b"}" * levels) is None
    found = diagnose(b"[" * levels)
    assert found is not None and found.offset == levels


def test_many_lines_that_are_values_are_json_lines_only_if_all_are() -> None:
    found = diagnose(b'{"a":1}\n' * 5000)
    assert found is not None and found.kind == "json-lines" and "5000 lines" in str(found.cause)
    found = diagnose(b'{"a":1}\n' * 5000 + b"{")
    assert found is not None and found.kind == "syntax"


def _strict(text: bytes) -> bool:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(
            text.decode("utf-8"), parse_constant=refuse, parse_int=str, parse_float=str
        )  # fmt: skip
    except (ValueError, UnicodeDecodeError):
        return False
    return True


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5),
    max_leaves=40,
)
_RUNS = [compile_runs(b"*+"), compile_runs(b"{0,2}")]


@settings(max_examples=200, deadline=None)
@given(
    value=_values,
    indent=st.sampled_from([None, 0, 1]),
    ascii_only=st.booleans(),
    edits=st.lists(
        st.tuples(
            st.floats(0, 1), st.integers(0, 2),
            st.sampled_from([b"", b"{", b"[", b":", b"u", b"//", b"'", b"#", b"\t", b"\x00", b"a", b",", b'"', b"]",
                             b"}", b"0", b".", b"\\", b"\n", b"-", b"e", b"tru", b"\xff", b"\xc3\xa9", b" "]),
        ),
        max_size=3,
    ),
)  # fmt: skip
def test_accepts_exactly_what_a_strict_reader_accepts(
    value: object, indent: int | None, ascii_only: bool, edits: list[tuple[float, int, bytes]]
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    for where, removed, added in edits:
        at = int(where * len(text))
        text = text[:at] + added + text[at + removed :]
    found = diagnose(text)
    wide = found is not None and "UTF-16" in found.message
    assert wide or (found is None) == _strict(text)
    assert len({f and (f.offset, f.expected) for f in (find_fault(text, runs=r) for r in _RUNS)}) == 1
    if found is not None and found.kind == "syntax":
        # All before the fault could begin a valid text: the fault is the first one.
        assert 0 <= found.offset <= len(text)
        assert (found.line, found.column) == locate(text, found.offset)
