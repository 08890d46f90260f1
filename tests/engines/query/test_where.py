"""The grammar of `where`, and what each operator means, over small tables."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbox.engines.documents import lazy
from toolbox.engines.documents.formats import open_document
from toolbox.engines.query import decimals
from toolbox.engines.query.filter import apply_filter
from toolbox.engines.query.where import parse_where
from toolbox.errors import BadPattern, BadWhere


def hits(text: str, where: str, name: str | None = None) -> list[int]:
    doc = open_document(text.encode("utf-8", "surrogatepass"), name, None)
    return list(apply_filter(lazy.root(doc), parse_where(where), None).hits)


PARSED = [
    ("", []),
    ("a=1", [("a", "=", "1", False)]),
    ("a == 1", [("a", "=", "1", False)]),
    (" a.b != x y  && !c && d ", [("a.b", "!=", "x y", False), ("c", "lacks", "", False), ("d", "has", "", False)]),
    ('e="a&&b"', [("e", "=", "a&&b", True)]),
    ('e=" p "&&f<=2', [("e", "=", " p ", True), ("f", "<=", "2", False)]),
    ("e=", [("e", "=", "", False)]),
    ("US Sales!=null", [("US Sales", "!=", "null", False)]),
    ('["a=b"]~^x', [('["a=b"]', "~", "^x", False)]),
    ('"a=b"=1', [('"a=b"', "=", "1", False)]),
    ('n~"\\d+ &&"', [("n", "~", "\\d+ &&", True)]),
    ('n="\\u0041"', [("n", "=", "A", True)]),
    ("x!~(a|b)||c", [("x", "!~", "(a|b)||c", False)]),
]


@pytest.mark.parametrize(("text", "terms"), PARSED, ids=[p[0] or "blank" for p in PARSED])
def test_a_filter_s_terms(text: str, terms: list[tuple[str, str, str, bool]]) -> None:
    assert [(t.field, t.op, t.value, t.quoted) for t in parse_where(text)] == terms


REFUSED = [
    ("n>>1", 2, "after >"),
    ("n=1 &&", 6, "missing after &&"),
    ("=1", 0, "field is missing"),
    ("&& a", 0, "field is missing"),
    ('a="x', 2, "not closed"),
    ('a="x" y', 6, "expected && or the end"),
    ('a="\\q"', None, "JSON string"),
    ("a==>1", 3, "after ="),
    ("a=1 || b=2", 4, "there is no ||"),
    ("a..b=1", None, ""),
    ("!a=1", 2, "takes no operator"),
]


@pytest.mark.parametrize(("text", "offset", "said"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_bad_filter_is_refused_with_its_place(text: str, offset: int | None, said: str) -> None:
    with pytest.raises(BadWhere) as caught:
        parse_where(text)
    assert said in caught.value.message and text in caught.value.message
    if offset is not None:
        assert caught.value.at == {"offset": offset, "column": offset + 1}


ROWS = json.dumps([
    {"v": 1}, {"v": "1"}, {"v": None}, {"v": "null"}, {"v": True}, {"v": ""}, {"v": []}, {}, {"v": 1.0},
    {"v": "true"}, {"v": "f\u00e9"}, {"v": {"w": 1}}, "scalar",
])  # fmt: skip
MEANINGS = [
    ("v=1", [0, 1, 8]),
    ('v="1"', [1]),
    ("v=1e0", [0, 8]),
    ("v=1.0", [0, 8]),
    ("v=null", [2, 3]),
    ("v=true", [4, 9]),
    ("v=", [5]),
    ('v=""', [5]),
    ("v", [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]),
    ("!v", [7]),
    ("v!=1", [2, 3, 4, 5, 6, 7, 9, 10, 11]),
    ("v<2", [0, 8]),
    ('v<"2"', [1, 5]),
    ("v>=n", [3, 9]),
    ("v~1", [0, 1, 8]),
    ("v~^f\u00e9$", [10]),
    ("v~(?i)F\u00c9", [10]),
    ("v~.", [0, 1, 3, 4, 8, 9, 10]),
    ("v!~.", [2, 5, 6, 7, 11]),
    ("v.w=1", [11]),
    (".=scalar", [12]),
    ("v=1 && v~\\.", [8]),
]


@pytest.mark.parametrize(("where", "expected"), MEANINGS, ids=[m[0] for m in MEANINGS])
def test_what_an_operator_means(where: str, expected: list[int]) -> None:
    assert hits(ROWS, where) == expected


def test_strings_are_compared_by_what_they_mean() -> None:
    text = '[{"s":"\\u0066ailed"},{"s":"failed"},{"s":"a\\nb"},{"s":"\\ud83d\\ude00"}]'
    assert hits(text, "s=failed") == [0, 1]
    assert hits(text, "s~^fail") == [0, 1]
    assert hits(text, 's="a\\nb"') == [2]
    assert hits(text, "s=\U0001f600") == [3]


def test_a_lone_surrogate_does_not_stop_a_filter() -> None:
    assert hits('[{"s":"\\ud83d"},{"s":"x"}]', "s=x") == [1]


def test_numbers_never_go_through_a_double() -> None:
    rows = "[" + ",".join(f'{{"n":{n}}}' for n in ("9007199254740993", "9007199254740992", "9007199254740993.0", "1E400", "-0")) + "]"
    assert hits(rows, "n=9007199254740993") == [0, 2]
    assert hits(rows, "n>9007199254740992") == [0, 2, 3]
    assert hits(rows, "n=0") == [4]
    assert hits(rows, "n=10e399") == [3]


def test_an_exponent_that_no_machine_could_write_out_is_compared_all_the_same() -> None:
    rows = '[{"n":1e999999999},{"n":1e-999999999},{"n":-1e999999999},{"n":5}]'
    assert hits(rows, "n>1e999999998") == [0]
    assert hits(rows, "n<0") == [2]
    assert hits(rows, "n=10e999999998") == [0]


def test_a_star_means_any() -> None:
    rows = '[{"l":[{"n":"a"},{"n":"b"}]},{"l":[]},{"l":[{"n":"c"}]},{"l":{"x":{"n":"a"}}},{}]'
    assert hits(rows, "l[*].n=a") == [0, 3]
    assert hits(rows, "l.*.n~[bc]") == [0, 2]
    assert hits(rows, "l[*].n") == [0, 2, 3]
    assert hits(rows, "!l[*].n") == [1, 4]
    assert hits(rows, "l[-1].n=b") == [0]


def test_yaml_numbers_that_json_cannot_spell_are_numbers() -> None:
    text = "- {n: 0x1F}\n- {n: '0x1F'}\n- {n: 31}\n- {n: .inf}\n"
    assert hits(text, "n=31", "a.yaml") == [0, 2]
    assert hits(text, "n>30", "a.yaml") == [0, 2, 3]


def test_mixed_shapes_and_duplicates_take_the_last_value() -> None:
    rows = '[{"a":{"b":1}},{"a":null},{"a":[{"b":1}]},{"a":{"b":2,"b":1}},{"a":{"b":1},"a":5}]'
    assert hits(rows, "a.b=1") == [0, 3]
    assert hits(rows, "a=5") == [4]


BAD_PATTERNS = [("(", 0), ("a(?=b)", 1), ("(?<!x)y", 0), (r"(a)\1", 3), ("a{1001}", 1), ("[a", 0), ("x" * 1001, 1000)]


@pytest.mark.parametrize(("pattern", "offset"), BAD_PATTERNS, ids=[p[0][:12] for p in BAD_PATTERNS])
def test_a_bad_pattern_is_refused_with_its_place(pattern: str, offset: int) -> None:
    with pytest.raises(BadPattern) as caught:
        hits('[{"s":"x"}]', f"s~{pattern}")
    assert caught.value.at is not None and caught.value.at["offset"] == offset


def test_a_catastrophic_pattern_is_linear() -> None:
    assert hits(json.dumps([{"s": "a" * 100_000 + "!"}]), "s~(a+)+$") == []


_numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,12})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)


@given(_numbers, _numbers)
def test_order_is_that_of_exact_fractions(a: str, b: str) -> None:
    from fractions import Fraction

    x, y = Fraction(a), Fraction(b)
    assert decimals.compare(a, b) == (x > y) - (x < y)
    assert decimals.equal(a, b) is (x == y)


_scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1", "null", "é\\"])


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), _scalars, max_size=2), max_size=12),
       st.sampled_from(["a=1", "a!=1", "a~a", "a", "!a", "a<1 && b!=null", "b=null", 'a="1"']))
def test_one_native_pass_answers_as_the_walk_does(rows: list[dict[str, object]], where: str) -> None:
    """Arrays are read in one pass; an object with the same values is walked: both agree."""
    array = hits(json.dumps(rows), where)
    walked = hits(json.dumps({str(k): row for k, row in enumerate(rows)}), where)
    assert array == walked


SPELLINGS = (
    "0", "-0", "0.0", "1", "1.0", "1e0", "-1", "1.10", "1.1", "9007199254740992", "9007199254740993",
    "9007199254740992.0", "1e400", "1E400", "10e399", "-1e400", "1e-400", "0.1", "0.10000000000000000001",
    "1.7976931348623157e308", "1e309", "123456789012345678901234567890", "5e-324", "3e-324",
)  # fmt: skip


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
def test_numbers_compare_by_exact_value_however_near_their_doubles(op: str) -> None:
    holds = {
        "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    }[op]  # fmt: skip
    rows = "[" + ",".join(f'{{"v":{s}}}' for s in SPELLINGS) + "]"
    for value in SPELLINGS:
        expected = [k for k, s in enumerate(SPELLINGS) if holds(Fraction(s), Fraction(value))]
        assert hits(rows, f"v{op}{value}") == expected, value


def test_a_bare_value_meets_a_yaml_number_by_its_spelling_and_by_its_value() -> None:
    rows = "- v: 0x1F\n- v: '0x1F'\n- v: 31\n- v: .inf\n- v: 1_000\n"
    assert hits(rows, "v=0x1F", "a.yaml") == [0, 1]
    assert hits(rows, 'v="0x1F"', "a.yaml") == [1]
    assert hits(rows, "v=31", "a.yaml") == [0, 2]
    assert hits(rows, "v=.inf", "a.yaml") == [3]
    assert hits(rows, "v>100", "a.yaml") == [3]  # 1_000 is a string in YAML 1.2


def test_digits_of_other_scripts_are_text() -> None:
    rows = json.dumps([{"v": 12}, {"v": "1\uff12"}], ensure_ascii=False)
    assert hits(rows, "v=1\uff12") == [1]
