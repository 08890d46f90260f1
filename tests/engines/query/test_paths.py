"""The grammar of paths."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolbox.engines.query.paths import (
    Index,
    Key,
    Segment,
    Star,
    canonical,
    format_steps,
    leading_keys,
    parse,
)
from toolbox.errors import BadPath


def read(path: str) -> list[str | int | None]:
    """Keys as strings, indices as integers, stars as None."""
    out: list[str | int | None] = []
    for segment in parse(path):
        if isinstance(segment, Key):
            out.append(segment.name)
        elif isinstance(segment, Index):
            out.append(segment.n)
        else:
            out.append(None)
    return out


@pytest.mark.parametrize(
    ("path", "segments"),
    [
        ("", []), (".", []), ("$", []),
        ("a", ["a"]), (".a", ["a"]), ("$.a", ["a"]), ("$['a']", ["a"]), ("$[0]", [0]), (".[0]", [0]),
        ("data.items[3].name", ["data", "items", 3, "name"]),
        ("[-1]", [-1]), ("[ 3 ]", [3]), ("a[0][1]", ["a", 0, 1]),
        ('["a.b"]', ["a.b"]), ("['a.b']", ["a.b"]), ("['apos\\'s']", ["apos's"]), ('["q\\"t"]', ['q"t']),
        ('a["b"].c', ["a", "b", "c"]), ('[""]', [""]), ('["[0]"]', ["[0]"]), ('["a]b"]', ["a]b"]),
        ("*", [None]), ("[*]", [None]), ("a.*.b", ["a", None, "b"]), ("a[*]", ["a", None]),
        ('["*"]', ["*"]), ("a*b", ["a*b"]), ("**", ["**"]),
        ("a\\.b.c", ["a.b", "c"]), ("a\\[0\\]", ["a[0]"]), ("back\\slash", ["back\\slash"]),
        ("$ref", ["$ref"]), ("$.$ref", ["$ref"]), ("x y", ["x y"]), (" ", [" "]), ("0", ["0"]),
        ("日本語.キー", ["日本語", "キー"]), ("@babel/core.version", ["@babel/core", "version"]),
        ("paths./app.get", ["paths", "/app", "get"]),
        ('["\\u0041\\n\\/"]', ["A\n/"]), ('["\\ud83d\\ude00"]', ["😀"]), ('["\\ud83d"]', ["\ud83d"]),
        ("/", [""]), ("/a/b", ["a", "b"]), ("/a~1b/m~0n", ["a/b", "m~n"]), ("/a/0", ["a", "0"]),
        ("/a.b/[0]", ["a.b", "[0]"]), ("/~01", ["~1"]), ("/*", ["*"]),
    ],
)  # fmt: skip
def test_reads(path: str, segments: list[str | int | None]) -> None:
    assert read(path) == segments


@pytest.mark.parametrize(
    ("path", "offset", "hint"),
    [
        ("a..b", 2, "path: a.b"), ("a.", 2, "path: a"), ("..a", 1, "path: .a"),
        ("a[", 1, None), ("a[0", 1, "path: a[0]"), ("a[]", 2, "path: a[*]"),
        ("a]b", 1, '["a]b"]'), ("a[b]", 2, 'path: a["b"]'), ("a[0]b", 4, "path: a[0].b"),
        ("a[1:2]", 2, "path: a[*]"), ("a[?(@.b)]", 2, "query"), ("a[1.5]", 2, "[0]"),
        ("a.[0]", 2, "path: a[0]"), ('["a', 0, None), ('["a"', 0, None), ('["a\\x"]', 3, "\\\\"),
        ("/a~2b", 2, "~0"), ("[" + "9" * 40 + "]", 1, None), ("$.", 2, "path: $"),
    ],
)  # fmt: skip
def test_refuses_with_the_place(path: str, offset: int, hint: str | None) -> None:
    with pytest.raises(BadPath) as caught:
        parse(path)
    assert caught.value.at is not None
    assert caught.value.at["offset"] == offset
    assert f"character {offset + 1}" in caught.value.message
    if hint is not None:
        assert hint in (caught.value.hint or "")


names = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["*", "0", "-1", "$", "/x", "a.b", "", "\ud83d", "\\", '"', "'", "$a", "x\n", "]"]),
)


@given(st.lists(st.one_of(names, st.integers(0, 99)), max_size=5))
@settings(max_examples=300)
@example(["$", "a"])
@example(["/"])
def test_a_concrete_path_is_read_back(steps: list[str | int]) -> None:
    assert read(format_steps(steps)) == steps
    path = format_steps(steps)
    assert path.isprintable() or any(not str(s).isprintable() for s in steps)


segments = st.one_of(
    st.builds(Key, names, st.booleans()), st.builds(Index, st.integers(-9, 9)), st.builds(Star)
)


@given(st.lists(segments, max_size=5))
@settings(max_examples=200)
def test_canonical_means_the_same(made: list[Segment]) -> None:
    def plain(all_: object) -> list[object]:
        return [(type(s), s[0] if not isinstance(s, Star) else None) for s in all_]  # type: ignore[attr-defined]

    assert plain(parse(canonical(made))) == plain(made)


@given(st.text(alphabet="ab.[]*'\"\\$/0-1 ~", max_size=12))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(path: str) -> None:
    try:
        found = parse(path)
    except BadPath as bad:
        assert bad.at is not None and 0 <= bad.at["offset"] <= len(path)
        hint = bad.hint or ""
        if hint.startswith("path: "):
            parse(hint.removeprefix("path: "))
        return
    assert read(canonical(found)) == read(path)


def test_leading_keys() -> None:
    assert leading_keys(parse("a.b[0].c")) == (("a", "b"), True)
    assert leading_keys(parse("a.b")) == (("a", "b"), False)
    assert leading_keys(parse("a.0.b")) == (("a",), False)
    assert leading_keys(parse('a["0"].b')) == (("a", "0", "b"), False)
    assert leading_keys(parse("*.a")) == ((), True)
