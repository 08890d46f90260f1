"""Markdown as blocks, and what differs between two documents."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.diff.markdown import Block, Difference, compare, parse


def brief(text: str) -> list[tuple[str, str]]:
    return [(block.path, block.text) for block in parse(text)]


def test_headings_give_sections_and_paths() -> None:
    blocks = parse("# A\n\n## B\n\n### C\n\n## D\n\ntext\n\ntext\n")
    headings = [b for b in blocks if b.kind == "heading"]
    assert [" > ".join(filter(None, (b.section, b.text))) for b in headings] == ["A", "A > B", "A > B > C", "A > D"]
    assert [b.ordinal for b in headings] == [1, 2, 3, 4]
    assert [b.path for b in blocks] == ["h1[0]", "h2[0]", "h3[0]", "h2[1]", "h2[1]/p[0]", "h2[1]/p[1]"]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("::: custom\nstuff\n:::", [("p[0]", "::: custom\nstuff\n:::")]),
        ("Title\n=====\n\nSub\n---\n", [("h1[0]", "Title"), ("h2[0]", "Sub")]),
        ("- a\n  - b\n\n    c\n- d\n", [("ul[0]", "- a\n  - b\n    c\n- d")]),
        ("3. a\n7. b\n", [("ol[0]", "3. a\n4. b")]),
        ("> q\n> - x\n", [("quote[0]", "> q\n> - x")]),
        ("> # h\n", [("quote[0]", "> # h")]),
        ("- > q\n-\n", [("ul[0]", "- > q\n-")]),
        ("```py\n# no heading\n```\n", [("code[0]", "# no heading\n")]),
        ("    indented\n", [("code[0]", "indented\n")]),
        ("- ```\n  x\n  ```\n", [("ul[0]", "- ```\n  x\n  ```")]),
        ("| a | b |\n|---|:-:|\n| `## x` | 2 |\n", [("table[0]", "a | b\n`## x` | 2")]),
        ("- | a |\n  |---|\n  | 1 |\n", [("ul[0]", "- | a |\n  | 1 |")]),
        ("---\ntitle: x\n---\n\n# A\n", [("front[0]", "title: x"), ("h1[0]", "A")]),
        ("***\n", [("hr[0]", "")]),
        ("<div>\nx\n</div>\n", [("html[0]", "<div>\nx\n</div>")]),
        ("[A b]: http://x 'T'\n\ntext\n", [("p[0]", "text"), ("ref[0]", '[a b]: http://x "T"')]),
        ("", []),
        ("# A\r\n\r\ntext\r\n", [("h1[0]", "A"), ("h1[0]/p[0]", "text")]),
    ],
)
def test_blocks(text: str, blocks: list[tuple[str, str]]) -> None:
    assert brief(text) == blocks


def found(a: str, b: str, **options: bool) -> Difference:
    return compare(parse(a), parse(b), **options)


def told(changes: list[object]) -> list[tuple[str, str | None, str | None]]:
    return [(c.op, c.before and c.before.text, c.after and c.after.text) for c in changes]  # type: ignore[attr-defined]


def test_formatting_is_no_change() -> None:
    for a, b in (("* a\n* b\n", "- a\n- b\n"), ("A\n=\n", "# A\n"), ("a\n\n\n\nb\n", "a\n\nb\n"), ("1. a\n2. b\n", "1) a\n1) b\n"), ("~~~js\nx\n~~~\n", "```js\nx\n```\n"), ("***\n", "---\n")):
        assert found(a, b).total == 0, (a, b)
    assert found("a  b\n", "a b\n").total == 1
    assert found("a  b\n", "a b\n", ignore_whitespace=True).total == 0
    assert found("# A\n", "# a\n", ignore_case=True).total == 0


def test_headings_are_renamed_added_and_change_their_level() -> None:
    got = found("# A\n\nx\n\n## B\n\ny\n", "# A2\n\nx\n\n### B\n\ny\n\n## C\n")
    assert told(list(got.headings)) == [("rename", "A", "A2"), ("replace", "B", "B"), ("add", None, "C")]
    assert got.blocks == []


def test_blocks_are_paired_with_what_they_are_like() -> None:
    got = found("a b c d\n\ntail\n", "new one\n\na b c e\n\ntail\n")
    assert told(list(got.blocks)) == [("add", None, "new one"), ("replace", "a b c d", "a b c e")]
    got = found("one two\n\n- x\n", "- x\n\none three\n")
    assert got.total in (2, 3)


def test_code_is_told_apart_by_language_and_content() -> None:
    got = found("```ts\na\n```\n", "```js\na\n```\n").code
    assert [(c.before.language, c.after.language, c.before.lines) for c in got if c.before and c.after] == [("ts", "js", 3)]


def test_rows_of_a_table() -> None:
    a = "| k | v |\n|---|---|\n| x | 1 |\n| y | 2 |\n"
    b = "| k | v |\n|---|---|\n| x | 2 |\n| y | 2 |\n| z | 3 |\n"
    rows = found(a, b).blocks[0].rows
    assert [(r.op, r.row, r.cells) for r in rows] == [("replace", 1, [("v", "1", "2")]), ("add", 3, [("k", None, "z"), ("v", None, "3")])]
    assert [(r.op, r.row) for r in found(b, a).blocks[0].rows] == [("replace", 1), ("remove", 3)]
    assert found(a, a.replace("k", "q")).blocks[0].rows == []


pieces = st.sampled_from(["# A", "# B", "## A", "## C d", "para one", "para two x", "- a\n- b", "1. a", "```\nx\n```", "```py\ny\n```", "> q", "| a |\n|---|\n| 1 |", "---"])


@given(a=st.lists(pieces, max_size=7), b=st.lists(pieces, max_size=7))
@settings(max_examples=200, deadline=None)
def test_the_changes_make_after_of_before(a: list[str], b: list[str]) -> None:
    old, new = parse("\n\n<!-- -->\n\n".join(a)), parse("\n\n<!-- -->\n\n".join(b))
    got = compare(old, new)
    changes = [*got.headings, *got.blocks, *got.code]
    gone = {id(c.before) for c in changes if c.before is not None}
    come = {id(c.after) for c in changes if c.after is not None}

    def rest(blocks: list[Block], changed: set[int]) -> list[tuple[str, int, str, str]]:
        return [(x.kind, x.level, x.text, x.language) for x in blocks if id(x) not in changed]

    assert rest(old, gone) == rest(new, come)
    assert all((c.op == "add") == (c.before is None) and (c.op == "remove") == (c.after is None) for c in changes)
    assert all(c.before != c.after for c in changes)
