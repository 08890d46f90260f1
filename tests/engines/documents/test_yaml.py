"""YAML 1.2 as verbatim JSON text: values, spellings, merges, aliases, keys, places, limits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from toolbox.engines.documents import nesting
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.yaml_reader import BOUNDS, open_yaml
from toolbox.engines.documents.yaml_scalars import is_number
from toolbox.errors import InvalidArg, ParseFailed, TimedOut

CORPUS = Path(__file__).resolve().parents[4] / "shared/corpus"
BROKEN_ON_PURPOSE = {
    "yaml/alias-bomb.yaml", "yaml/bad-indent.yaml", "yaml/cycle.yaml", "yaml/dup-keys.yaml",
    "yaml/tab-indent.yaml", "yaml/unquoted-colon.yaml",
}  # fmt: skip
FILES = [
    p for p in sorted(CORPUS.rglob("*.y*ml"))
    if str(p.relative_to(CORPUS)) not in BROKEN_ON_PURPOSE
    and p.read_bytes().lstrip()[:1] not in (b"{", b"[")
] if CORPUS.is_dir() else []  # fmt: skip

VALUES = [
    ("norway", "[NO, on, off, y, n, yes, No]", '["NO","on","off","y","n","yes","No"]'),
    ("dates", "[2026-01-31, 12:30:45, 1:20]", '["2026-01-31","12:30:45","1:20"]'),
    ("booleans", "[true, True, TRUE, false]", "[true,true,true,false]"),
    ("nulls", "[~, null, Null, NULL, '', ]", '[null,null,null,null,""]'),
    ("numbers", "[1.10, -0, 1e3, 12345678901234567890123, 1E400]",
     "[1.10,-0,1e3,12345678901234567890123,1E400]"),
    ("spelled", "[0x1F, 0o17, .5, 5., +1, 007, .inf, -.INF, .nan, 1_000, 0b1, 1:2]",
     '["0x1F","0o17",".5","5.","+1","007",".inf","-.INF",".nan","1_000","0b1","1:2"]'),
    ("quoted", "['0x1F', \"1\", 'true']", '["0x1F","1","true"]'),
    ("escapes", '"\\u00e9 \\x41 \\/ \\n \\e"', '"é A / \\n \\u001b"'),
    ("pair", 'a: "\\ud83d\\ude00"', '{"a":"😀"}'),
    ("block", "a: |\n  one\n  two\nb: >-\n  x\n  y\n", '{"a":"one\\ntwo\\n","b":"x y"}'),
    ("empty", "", "null"),
    ("comment", "# nothing\n", "null"),
    ("scalar", "just text", '"just text"'),
    ("empty-values", "a:\nb: []\nc: {}\n", '{"a":null,"b":[],"c":{}}'),
    ("flow", "{a: http://x, b: [1:20, {c}]}", '{"a":"http://x","b":["1:20",{"c":null}]}'),
    ("pair-in-list", "[a: 1, b]", '[{"a":1},"b"]'),
    ("keys", "07: a\n08: b\n1.0: c\n~: d\ntrue: e\n? [a, b]\n: f\n? {k: v}\n: g\n? - x\n  - y\n: h",
     '{"07":"a","08":"b","1.0":"c","~":"d","true":"e","[a, b]":"f","{k: v}":"g","[\\"x\\",\\"y\\"]":"h"}'),
    ("number-and-text-keys", '1: a\n"1": b', '{"1":"a","1":"b"}'),
    ("core-tags", "[!!str 1.0, !!int \"42\", !!float 1, !!null '', !!bool true, ! 1, !!binary aGk=]",
     '["1.0",42,1,null,true,"1","aGk="]'),
    ("local-tags", "a: !Ref X\nb: !GetAtt [A, Arn]\nc: !Sub {x: 1}\nd: !int \"1\"",
     '{"a":{"!Ref":"X"},"b":{"!GetAtt":["A","Arn"]},"c":{"!Sub":{"x":1}},"d":{"!int":"1"}}'),
    ("other-tags", "%TAG !e! tag:e.org,2000:\n---\n[!e!x 1, !!set {a, b}, !!foo y]",
     '[{"!<tag:e.org,2000:x>":1},{"a":null,"b":null},{"!!foo":"y"}]'),
    ("tag-on-key", "!x a: 1", '{"!x a":1}'),
    ("alias", "a: &x {k: [1]}\nb: *x\nc: [*x, *x]", '{"a":{"k":[1]},"b":{"k":[1]},"c":[{"k":[1]},{"k":[1]}]}'),
    ("alias-scalar", "a: &x 0x1F\nb: *x\n*x : c", '{"a":"0x1F","b":"0x1F","0x1F":"c"}'),
    ("anchor-on-key", "&k key: 1\nv: *k", '{"key":1,"v":"key"}'),
    ("anchor-again", "a: &x 1\nb: &x 2\nc: *x", '{"a":1,"b":2,"c":2}'),
    ("merge", "d: &d {r: 3, t: 1.50}\np:\n  <<: *d\n  t: 2", '{"d":{"r":3,"t":1.50},"p":{"r":3,"t":2}}'),
    ("merge-after", "d: &d {r: 3, t: 1}\np:\n  t: 2\n  <<: *d", '{"d":{"r":3,"t":1},"p":{"t":2,"r":3}}'),
    ("merge-list", "[&a {x: 1, y: 1}, &b {y: 2, z: 2}, {<<: [*a, *b], z: 9}]",
     '[{"x":1,"y":1},{"y":2,"z":2},{"x":1,"y":1,"z":9}]'),
    ("merge-inline", "{<<: {a: 1, b: {<<: {c: 2}, d: 3}}, a: 0}", '{"b":{"c":2,"d":3},"a":0}'),
    ("merge-of-merge", "a: &a {x: 1}\nb: &b\n  <<: *a\n  y: 2\nc:\n  <<: *b\n  z: *b",
     '{"a":{"x":1},"b":{"x":1,"y":2},"c":{"x":1,"y":2,"z":{"x":1,"y":2}}}'),
    ("anchor-in-merging", "d: &d {r: 1}\np:\n  k: &k [7]\n  <<: *d\n  l: &l {m: 8}\nq: [*k, *l]",
     '{"d":{"r":1},"p":{"k":[7],"r":1,"l":{"m":8}},"q":[[7],{"m":8}]}'),
    ("merge-of-nothing", "p:\n  <<: {}\n  a: 1", '{"p":{"a":1}}'),
    ("merge-quoted", '"<<": 1', '{"<<":1}'),
    ("anchor-in-key", "? &k [x]\n: y\nz: *k", '{"[x]":"y","z":["x"]}'),
    ("nel-is-text", "a: x\x85y", '{"a":"x\x85y"}'),
    ("line-separator-is-text", "a: 'x\u2028y'\nb: \ue000", '{"a":"x\u2028y","b":"\ue000"}'),
    ("question-in-flow", "[?x, {?y: 1}]", '["?x",{"?y":1}]'),
    ("alias-with-colon", "[&a:b 1, *a:b ]", "[1,1]"),
    ("tabs", "a:\t1\nb:\n-\tx\n\t\nc: [\t1\t]", '{"a":1,"b":["x"],"c":[1]}'),
    ("crlf", "a: 1\r\nb: |\r\n  x\r\n", '{"a":1,"b":"x\\n"}'),
    ("version-1.1", "%YAML 1.1\n---\non: 010", '{"on":"010"}'),
    ("version-1.3", "%YAML 1.3\n---\na: 1", '{"a":1}'),
    ("colons", "a: b:c\nd: '12:30'\ne: a::b", '{"a":"b:c","d":"12:30","e":"a::b"}'),
]  # fmt: skip


@pytest.mark.parametrize(("source", "text"), [c[1:] for c in VALUES], ids=[c[0] for c in VALUES])
def test_values(source: str, text: str) -> None:
    assert open_yaml(source.encode()).text.decode() == text


FAULTS = [
    ("duplicate", "a: 1\nb: 2\na: 3\n", 3, 1, "first at line 1, column 1, again at line 3"),
    ("duplicate-deep", "x:\n- {k: 1, 'k': 2}", 2, 10, "first at line 2, column 4"),
    ("duplicate-merge", "a: &a {k: 1}\nc:\n  <<: *a\n  <<: *a\n", 4, 3, "duplicate key '<<'"),
    ("duplicate-complex", "? [a]\n: 1\n? [a]\n: 2", 3, 3, "duplicate key"),
    ("duplicate-later-document", "a: 1\n---\nb: 1\nb: 2", 4, 1, "duplicate key 'b'"),
    ("undefined-alias", "a: 1\nb: *x", 2, 4, "*x names no anchor"),
    ("alias-of-other-document", "a: &x 1\n---\nb: *x", 3, 4, "*x names no anchor"),
    ("cycle", "a: &a\n  self: *a", 2, 9, "cycle"),
    ("merge-cycle", "a: &a\n  <<: *a", 2, 7, "cycle"),
    ("merge-scalar", "a:\n  <<: 1", 2, 3, "expected a mapping"),
    ("merge-list-of-scalars", "<<: [{a: 1}, 2]", 1, 1, "expected a mapping"),
    ("tab", "a:\n\tb: 1\n", 2, 1, "tab"),
    ("indent", "a:\n  b: 1\n c: 2\n", 3, 2, "indentation"),
    ("colon", "title: foo: bar", 1, 11, "quoted"),
    ("open-quote", 'a: "x\nb: 1\n', 3, 1, "quote"),
    ("open-flow", "a: [1, 2\nb: 3", 2, 2, "bracket"),
    ("at-sign", "a: @x", 1, 4, "quote it"),
    ("glob", "a: **/*.js", 1, 4, "quote a text that starts with *"),
    ("template", "a:\n  {{ if .x }}\n  b: 1\n", 3, 3, "template"),
    ("misfit-tag", "a: !!int x", 1, 4, "!!int"),
    ("nul", "a: \x00", 1, 4, "U+0000"),
    ("control", "é: 'x\x07'", 1, 6, "U+0007"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "line", "column", "word"), [c[1:] for c in FAULTS], ids=[c[0] for c in FAULTS]
)
def test_faults(source: str, line: int, column: int, word: str) -> None:
    with pytest.raises(ParseFailed) as caught:
        open_yaml(source.encode())
    at = caught.value.at
    assert at is not None
    assert word in f"{caught.value.message} | {caught.value.hint}"
    assert (at["line"], at["column"]) == (line, column)
    assert at["snippet"].split("\n")[-1].strip() == "^"


def test_encodings() -> None:
    for source, word in (
        ("a: 1".encode("utf-16"), "UTF-16"), (b"a: \xe9", "0xE9"), ("a: b".encode("utf-32"), "UTF-32"),
    ):  # fmt: skip
        with pytest.raises(ParseFailed, match=word):
            open_yaml(source)
    document = open_yaml(b"\xef\xbb\xbfa: 1")
    assert document.text == b'{"a":1}'
    assert document.place(5, 6).start == 6
    assert "byte order mark" in document.notes[0]


def test_lone_surrogates_stay_escapes() -> None:
    document = open_yaml(b'a: "\\ud83d x"')
    assert document.text == b'{"a":"\\ud83d x"}'
    assert document.surrogates


def test_documents() -> None:
    source = b"---\na: 1\n---\n- x\n...\n---\n"
    first = open_yaml(source)
    assert first.text == b'{"a":1}'
    assert "1 of 3" in first.notes[0]
    assert [open_yaml(source, doc=k).text for k in (1, 2, 3)] == [b'{"a":1}', b'["x"]', b"null"]
    everything = open_yaml(source, doc="*")
    assert everything.text == b'[{"a":1},["x"],null]'
    assert everything.place(10, 11).line == 4
    with pytest.raises(InvalidArg, match="3 YAML documents, got 4"):
        open_yaml(source, doc=4)
    assert open_yaml(b"a: 1").notes == ()
    assert open_yaml(b"", doc="*").text == b"[]"


def _spelled(document: Document) -> list[bytes]:
    found = []
    for at in sorted(document.spellings):
        string = re.match(rb'"[^"]*"', document.text[at:])
        assert string is not None
        found.append(string.group())
    return found


def test_spellings_mark_numbers_that_are_no_json_through_aliases_and_merges() -> None:
    source = "é: &a {n: 0x1F, s: '0x1F', t: .5}\nm:\n  <<: *a\n  t: +1\nl: [*a, !Ref .inf]\n? [.nan]\n: 1\nz: 1."
    assert _spelled(open_yaml(source.encode())) == [
        b'"0x1F"', b'".5"', b'"0x1F"', b'"+1"', b'"0x1F"', b'".5"', b'".inf"', b'"1."',
    ]  # fmt: skip


def test_places_lead_back_to_the_source() -> None:
    source = 'é: 日本\nlist:\n  - "q"  # c\n  - {k: [1.10]}\nd: &d\n  x: 1\n\np:\n  <<: *d\n  y: !T 2\n'
    document = open_yaml(source.encode())
    raw = source.encode()

    def at(piece: str, nth: int = 0) -> tuple[int, str]:
        start = [m.start() for m in re.finditer(re.escape(piece.encode()), document.text)][nth]
        place = document.place(start, start + 1)
        return place.line, raw[place.start : place.end].decode()

    assert at('"日本"') == (1, "日本")
    assert at('"q"') == (3, '"q"')
    assert at("[1.10]") == (4, "[1.10]")
    assert at("1.10") == (4, "1.10")
    assert at('{"k"') == (4, "{k: [1.10]}")
    assert at('["q"') == (3, '- "q"  # c\n  - {k: [1.10]}')
    assert at('{"x"') == (5, "&d\n  x: 1")
    assert at("1}", 0) == (6, "1")
    assert at("1,", 0) == (6, "1")  # merged: where it is defined
    assert at('{"!T"') == (10, "!T 2")
    assert document.place(0, 1).line == 1


@pytest.mark.parametrize(("levels", "read"), [(9, True), (10, True), (11, False)])
@pytest.mark.parametrize("shape", ["flow", "block", "tags", "alias"])
def test_depth(levels: int, read: bool, shape: str) -> None:
    source = {
        "flow": "[" * levels + "]" * levels,
        "block": "".join(" " * k + f"k{k}:\n" for k in range(levels)),
        "tags": "!a " * 0 + "[" * (levels - 2) + "!x [1]" + "]" * (levels - 2),
        "alias": "[&a " + "[" * (levels - 3) + "1" + "]" * (levels - 3) + ", [[*a ]]]",
    }[shape]
    bounds = replace(BOUNDS, levels=10)
    if read:
        assert not nesting.is_deeper(open_yaml(source.encode(), bounds=bounds).text, 10)
    else:
        with pytest.raises(ParseFailed, match="deeper than the 10 levels"):
            open_yaml(source.encode(), bounds=bounds)


@pytest.mark.parametrize("source", ["[" * 100_000, "- " * 100_000, "{a: " * 100_000, "? " * 50_000])
def test_very_deep_texts_are_refused_not_fatal(source: str) -> None:
    with pytest.raises(ParseFailed):
        open_yaml(source.encode())


def test_depth_at_the_real_limit() -> None:
    for levels in (999, 1000):
        assert len(open_yaml(b"[" * levels + b"]" * levels).text) == 2 * levels
    with pytest.raises(ParseFailed, match=r"1 000|max depth"):
        open_yaml(b"[" * 1001 + b"]" * 1001)


def test_aliases_are_bounded_by_nodes() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{k}: &a{k} [{','.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)]
    with pytest.raises(ParseFailed, match="aliases expand to more than 1 000 000 nodes") as caught:
        open_yaml("\n".join(lines).encode())
    assert caught.value.at is not None and caught.value.at["line"] == 7


@pytest.mark.parametrize(("aliases", "read"), [(4, True), (5, True), (6, False)])
def test_alias_bounds_at_the_limit(aliases: int, read: bool) -> None:
    source = ("- &a [x]\n" + "- *a\n" * aliases).encode()
    nodes = replace(BOUNDS, expansion_factor=0, expansion_nodes=10)
    characters = replace(BOUNDS, expansion_characters=25)
    for bounds in (nodes, characters):
        if read:
            assert len(json.loads(open_yaml(source, bounds=bounds).text)) == 1 + aliases
        else:
            with pytest.raises(ParseFailed, match="aliases expand"):
                open_yaml(source, bounds=bounds)


def test_a_large_file_may_repeat_itself_ten_times() -> None:
    bounds = replace(BOUNDS, expansion_nodes=10)
    source = b"- &a [" + b"x," * 100 + b"]\n" + b"- *a\n" * 9
    assert open_yaml(source, bounds=bounds).text.count(b"x") == 1000


def test_complex_keys_are_bounded() -> None:
    bounds = replace(BOUNDS, complex_key_nodes=4)
    assert open_yaml(b"? [a, b, c]\n: 1", bounds=bounds).text == b'{"[a, b, c]":1}'
    with pytest.raises(ParseFailed, match="more than 4 nodes"):
        open_yaml(b"? [a, b, c, d]\n: 1", bounds=bounds)


def test_the_deadline_is_looked_at() -> None:
    class Passed:
        def check(self) -> None:
            raise TimedOut("the call passed its deadline")

    with pytest.raises(TimedOut):
        open_yaml(b"- a\n" * 10_000, deadline=Passed())


def test_a_template_read_as_a_mapping_is_noted() -> None:
    assert any("template" in note for note in open_yaml(b"a: {{ .Values.a }}").notes)


def test_large_texts_do_without_the_reference() -> None:
    source = b"a: 1\nb: @x\n"
    for size in (0, 1024):
        with pytest.raises(ParseFailed) as caught:
            open_yaml(source, reference_bytes=size)
        assert caught.value.at is not None and caught.value.at["line"] == 2
    assert open_yaml(b"- &a:b 1", reference_bytes=0).text == b'[":b 1"]'


def _oracle(value: Any) -> Any:
    """ruamel.yaml's values by YAML 1.2, as JSON values; its types know no spelling."""
    if isinstance(value, dict):
        return {str(key): _oracle(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_oracle(inner) for inner in value]
    if isinstance(value, float):
        return Decimal(repr(value))
    if hasattr(value, "isoformat"):
        return "a date"
    return value


def _ours(document: Document) -> Any:
    """Our values with spelled numbers as numbers."""
    text = document.text
    for at in sorted(document.spellings, reverse=True):
        end = text.index(b'"', at + 1)
        number = text[at + 1 : end].decode()
        value = int(number, 0) if re.match("0[xo]", number) else Decimal(number.lstrip("+").replace(".inf", "Infinity"))
        text = text[:at] + str(value).encode() + text[end + 1 :]
    return json.loads(text, parse_float=lambda f: Decimal(repr(float(f))))


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict) and len(ours) == 1 and next(iter(ours)).startswith("!"):
        return _same(next(iter(ours.values())), theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if theirs == "a date":
        return isinstance(ours, str) and re.match(r"\d{4}-\d\d?-\d\d?", ours) is not None
    return bool(ours == theirs) and isinstance(ours, bool) == isinstance(theirs, bool)


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(CORPUS)) for p in FILES])
def test_corpus(path: Path) -> None:
    source = path.read_bytes()
    document = open_yaml(source, doc="*")
    json.loads(document.text)
    if len(source) > 300_000 or path.parent.name == "yaml":
        return  # the oracle takes many seconds; the small ones have exact expectations above
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor(None, _construct_tagged)
    assert _same(_ours(document), [_oracle(v) for v in yaml.load_all(source)])


def _construct_tagged(constructor: Any, node: Any) -> Any:
    kind = type(node).__name__
    if kind == "MappingNode":
        return constructor.construct_mapping(node, deep=True)
    if kind == "SequenceNode":
        return constructor.construct_sequence(node, deep=True)
    return node.value


_text = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=8)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(value=_json, indent=st.sampled_from([None, 1, 2]))
def test_json_is_yaml_with_the_same_values(value: Any, indent: int | None) -> None:
    source = json.dumps({"v": value}, indent=indent, ensure_ascii=False)
    document = open_yaml(source.encode())
    compact = json.dumps({"v": value}, separators=(",", ":"), ensure_ascii=False)
    assert json.loads(document.text) == {"v": value}
    assert re.findall(r"[\d.]+", document.text.decode()) == re.findall(r"[\d.]+", compact)


# PyYAML leaves 0E0 unquoted, which is text by YAML 1.1 and a number by 1.2.
_words = _text.filter(lambda text: not is_number(text))
_plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(value=_plain, flow=st.booleans(), style=st.sampled_from([None, '"', "'"]))
def test_what_pyyaml_writes_is_read_back(value: Any, flow: bool, style: str | None) -> None:
    import yaml

    source = yaml.safe_dump(
        {"v": value}, allow_unicode=True, default_flow_style=flow, width=1000, default_style=style
    )
    read = _ours(open_yaml(source.encode()))
    assert read == json.loads(json.dumps({"v": value}), parse_float=lambda f: Decimal(repr(float(f))))
