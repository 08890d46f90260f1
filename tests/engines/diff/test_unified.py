"""Unified diffs: real programs turn a into b with them, byte for byte; values; budgets."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolbox.engines.diff.lines import split
from toolbox.engines.diff.myers import edit_script
from toolbox.engines.diff.unified import UnifiedDiff, changes, unified

LINE = st.sampled_from(
    [b"a", b"b", b"c", b"", b"a\r", b"\r", b"x\ry", b"\x0c", "\u2028".encode(), "é".encode(), b"\xff\xfe",
     b"@@ -1 +1 @@", b"--- a", b"+++ b", b"-- ", b"\\ No newline at end of file", b"diff --git a/x b/x", b"\x1b[0m", b"\t", b" a"]
)  # fmt: skip
TEXT = st.builds(
    lambda lines, ended: b"\n".join(lines) + (b"\n" if ended and lines else b""),
    st.lists(LINE, max_size=14),
    st.booleans(),
)
BATCH = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=40)
PROGRAMS = [["git", "apply", "--whitespace=nowarn"], ["patch", "-s", "-p1"]]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("apply")


def apply_all(program: list[str], folder: Path, pairs: list[tuple[bytes, bytes]], patches: list[bytes]) -> list[bytes]:
    """What the program makes of each first side; a file that it removed counts as empty."""
    if shutil.which(program[0]) is None:
        pytest.skip(f"no {program[0]}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for k, (a, _) in enumerate(pairs):
        (folder / f"f{k}").write_bytes(a)
    whole = b"".join(patches)
    if whole:
        done = subprocess.run(program, input=whole, cwd=folder, capture_output=True)
        assert done.returncode == 0, done.stderr + done.stdout
    return [(folder / f"f{k}").read_bytes() if (folder / f"f{k}").exists() else b"" for k in range(len(pairs))]


@pytest.mark.parametrize("program", PROGRAMS, ids=["git", "patch"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BATCH, st.integers(0, 4))
def test_programs_give_the_other_side(program: list[str], arena: Path, pairs: list[tuple[bytes, bytes]], context: int) -> None:
    # Without context git apply wants to be told so.
    program = [*program, "--unidiff-zero"] if context == 0 and program[0] == "git" else program
    patches = [
        unified(a, b, a_name=f"a/f{k}", b_name=f"b/f{k}", context=context).render() for k, (a, b) in enumerate(pairs)
    ]
    assert apply_all(program, arena / program[0], pairs, patches) == [b for _, b in pairs]


@pytest.mark.parametrize("program", PROGRAMS, ids=["git", "patch"])
def test_large_edits_through_the_trim(program: list[str], arena: Path) -> None:
    random = Random(7)
    pairs = []
    for k in range(12):
        a = [b"%d %d" % (i, i * i % 97) if k % 2 else b"%d" % random.randrange(3) for i in range(9000)]
        b = list(a)
        for _ in range(random.randrange(1, 20)):
            at = random.randrange(4000, 4600)
            b[at : at + random.randrange(4)] = [b"new %d" % random.randrange(9) for _ in range(random.randrange(4))]
        pairs.append((b"\n".join(a) + b"\n" * (k % 3 > 0), b"\n".join(b) + b"\n" * (k % 3 > 1)))
    patches = [unified(a, b, a_name=f"a/f{k}", b_name=f"b/f{k}").render() for k, (a, b) in enumerate(pairs)]
    assert apply_all(program, arena / "large", pairs, patches) == [b for _, b in pairs]


def rebuild(a: bytes, diff: UnifiedDiff) -> bytes:
    """The other side by the letter of the format, each context and removed line held against a."""
    lines = [line + b"\n" for line in split(a).lines]
    if lines and not split(a).ended:
        lines[-1] = lines[-1][:-1]
    out: list[bytes] = []
    at = 0
    for hunk in diff.hunks:
        start = hunk.a_start - 1 if hunk.a_lines else hunk.a_start
        out += lines[at:start]
        at = start
        assert len(out) == (hunk.b_start - 1 if hunk.b_lines else hunk.b_start)
        old = new = 0
        body = hunk.lines
        for k, line in enumerate(body):
            bare = k + 1 < len(body) and body[k + 1].startswith(b"\\ ")
            text = line[1:] + (b"" if bare else b"\n")
            if line[:1] in b" -":
                assert lines[at] == text
                at += 1
                old += 1
            if line[:1] in b" +":
                out.append(text)
                new += 1
        assert (old, new) == (hunk.a_lines, hunk.b_lines)
    return b"".join(out + lines[at:])


def least_edits(a: bytes, b: bytes) -> int:
    x, y = (s.lines if s.ended else [*s.lines[:-1], s.lines[-1] + b"\n"] for s in (split(a), split(b)))
    row = [0] * (len(y) + 1)
    for p in x:
        above, row = row, [0]
        for j, q in enumerate(y):
            row.append(above[j] + 1 if p == q else max(above[j + 1], row[j]))
    return len(x) + len(y) - 2 * row[-1]


@settings(max_examples=200, deadline=None)
@given(TEXT, TEXT, st.integers(0, 4))
def test_right_and_shortest(a: bytes, b: bytes, context: int) -> None:
    diff = unified(a, b, a_name="a", b_name="b", context=context)
    assert rebuild(a, diff) == b
    assert diff.equal == (a == b)
    assert diff.insertions + diff.deletions == least_edits(a, b)
    assert diff.b_lines - diff.a_lines == diff.insertions - diff.deletions


@pytest.mark.parametrize("seed", range(8))
def test_shortest_on_a_few_hundred_lines(seed: int) -> None:
    random = Random(seed)
    symbols = random.choice([2, 5, 40])
    a, b = (b"".join(b"%d\n" % random.randrange(symbols) for _ in range(300)) for _ in range(2))
    diff = unified(a, b, a_name="a", b_name="b")
    assert diff.insertions + diff.deletions == least_edits(a, b)


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT, st.integers(0, 4), st.integers(0, 12))
def test_bounded_search_is_right_too(a: bytes, b: bytes, context: int, lines_most: int) -> None:
    diff = unified(a, b, a_name="a", b_name="b", context=context, lines_most=lines_most)
    assert rebuild(a, diff) == b


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([2, 7, 300]), st.sampled_from([10, 40, 400]))
def test_bounded_search_on_boxes(random: Random, symbols: int, lines_most: int) -> None:
    a, b = (b"".join(b"%d\n" % random.randrange(symbols) for _ in range(random.randrange(500))) for _ in range(2))
    diff = unified(a, b, a_name="a", b_name="b", lines_most=lines_most)
    assert rebuild(a, diff) == b
    assert (diff.note is None) or "block replacement" in diff.note


def test_spent_budget_is_told_with_its_place() -> None:
    random = Random(5)
    noise = [b"".join(b"%d\n" % random.randrange(2) for _ in range(2000)) for _ in range(2)]
    a = b"head\n" + noise[0] + b"middle\n" + b"same\n" * 50 + noise[0] + b"tail\n"
    b = b"head\n" + noise[1] + b"middle\n" + b"same\n" * 50 + noise[0] + b"last\n"
    diff = unified(a, b, a_name="a", b_name="b", lines_most=500)
    assert rebuild(a, diff) == b
    assert diff.note is not None
    assert "block replacement" in diff.note
    assert "lines 2-1997 of the first and 2-1997 of the second" in diff.note
    assert diff.hunks[-1].lines[-2:] == [b"-tail", b"+last"]


def test_no_note_where_runs_of_lines_are_unique() -> None:
    random = Random(4)
    lines = [b"%d" % random.randrange(60) for _ in range(6000)]
    edited = list(lines)
    for at in random.sample(range(6000), 200):
        edited[at] = b"%d" % random.randrange(60)
    a, b = b"\n".join(lines), b"\n".join(edited)
    diff = unified(a, b, a_name="a", b_name="b", lines_most=3000)
    assert rebuild(a, diff) == b
    assert diff.note is None
    assert diff.insertions + diff.deletions <= 1.05 * least_edits_of_few(a, b)


def least_edits_of_few(a: bytes, b: bytes) -> int:
    return sum(e.a_end - e.a_start + e.b_end - e.b_start for e in edit_script(a.split(b"\n"), b.split(b"\n")) if e.op != "equal")


def test_no_note_where_dropping_lines_suffices() -> None:
    a = b"".join(b"old %d\n" % i for i in range(3000)) + b"x\n"
    b = b"".join(b"new %d\n" % i for i in range(3000)) + b"x\n"
    diff = unified(a, b, a_name="a", b_name="b", lines_most=100)
    assert diff.note is None
    assert (diff.insertions, diff.deletions) == (3000, 3000)


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (b"", b"", b""),
        (b"x\n", b"x\n", b""),
        (b"", b"x\ny", b"@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n"),
        (b"x\n", b"", b"@@ -1 +0,0 @@\n-x\n"),
        (b"a", b"a\n", b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"a\nb", b"a\nb\nc", b"@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n\\ No newline at end of file\n"),
        (b"a\r\nb\n", b"a\nb\n", b"@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"),
        (b"a\x0cb\n", b"a\x0cc\n", b"@@ -1 +1 @@\n-a\x0cb\n+a\x0cc\n"),
        (b"k\xff\n", b"k\xfe\n", b"@@ -1 +1 @@\n-k\xff\n+k\xfe\n"),
        (b"", b"\n", b"@@ -0,0 +1 @@\n+\n"),
    ],
)  # fmt: skip
def test_values(a: bytes, b: bytes, text: bytes) -> None:
    head = b"--- a/x\n+++ b/x\n" if text else b""
    assert unified(a, b, a_name="a/x", b_name="b/x").render() == head + text


@pytest.mark.parametrize(("gap", "hunks"), [(0, 1), (5, 1), (6, 1), (7, 2)])
@pytest.mark.parametrize("lines_most", [500_000, 0], ids=["xdiff", "own"])
def test_hunks_merge_up_to_twice_the_context(gap: int, hunks: int, lines_most: int) -> None:
    same = b"".join(b"%d\n" % i for i in range(gap))
    diff = unified(b"x\n" + same + b"y\n", b"X\n" + same + b"Y\n", a_name="a", b_name="b", lines_most=lines_most)
    assert len(diff.hunks) == hunks
    assert diff.note is None


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("a/plain.txt", b"a/plain.txt"),
        ("a/two words", b"a/two words\t"),
        ("a/é", "a/é".encode()),
        ('a/q"t', b'"a/q\\"t"'),
        ("a/back\\slash", b'"a/back\\\\slash"'),
        ("a/tab\tnl\n", b'"a/tab\\tnl\\n"'),
        ("a/bad\udcff é", b'"a/bad\\377 \\303\\251"'),
        ("a/\x01", b'"a/\\001"'),
    ],
)
def test_names(name: str, quoted: bytes) -> None:
    diff = unified(b"1\n", b"2\n", a_name=name, b_name=name)
    assert diff.header == b"--- " + quoted + b"\n+++ " + quoted + b"\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=["git", "patch"])
@pytest.mark.parametrize("name", ["two words", "é ü", 'q"t', "back\\slash", "tab\tin", "new\nline", "'"])
def test_programs_find_odd_names(program: list[str], name: str, tmp_path: Path) -> None:
    if shutil.which(program[0]) is None:
        pytest.skip(f"no {program[0]}")
    (tmp_path / name).write_bytes(b"1\n")
    patch = unified(b"1\n", b"2\n", a_name=f"a/{name}", b_name=f"b/{name}").render()
    done = subprocess.run(program, input=patch, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_bytes() == b"2\n"


@pytest.mark.parametrize(
    ("a", "b", "whitespace", "case", "edits"),
    [
        (b"a\nx  y\nb", b"a\nx y\nb", True, False, 0),
        (b"  a\t\n", b"a\r\n", True, False, 0),
        (b"a", b"a\n", True, False, 0),
        (b"ab\n", b"a b\n", True, False, 2),
        (b"Hello World\n", b"hello   world\n", True, True, 0),
        (b"Hello World\n", b"hello   world\n", False, True, 2),
        ("STRASSE\nÉ\n".encode(), "straße\né\n".encode(), False, True, 0),
        (b"A\xff\n", b"a\xff\n", False, True, 0),
        (b"a", b"A\n", False, True, 2),
        (b"a\n\nb\n", b"a\nb\n", True, False, 1),
    ],
)
def test_ignore_options(a: bytes, b: bytes, whitespace: bool, case: bool, edits: int) -> None:
    diff = unified(a, b, a_name="a", b_name="b", ignore_whitespace=whitespace, ignore_case=case)
    assert diff.insertions + diff.deletions == edits
    assert diff.folded and diff.equal == (edits == 0)


def test_ignored_lines_are_shown_as_the_first_side_has_them() -> None:
    diff = unified(b"A  b\nold\n", b"A b\nnew\n", a_name="a", b_name="b", ignore_whitespace=True)
    assert diff.hunks[0].body == b" A  b\n-old\n+new\n"


def test_changes_are_blocks_of_lines() -> None:
    found, note = changes(b"a\nb\nc\nd\n", b"a\nX\nc\nd\ne\n")
    assert [tuple(change) for change in found] == [(1, 2, 1, 2), (4, 4, 4, 5)]
    assert note is None


def test_buffers_are_held_until_the_last_read() -> None:
    """Each text is a fresh object that only the call holds, freed memory being written over."""
    for k in range(60):
        a = b"".join(b"%d line %d\n" % (k, i) for i in range(3000))
        b = a.replace(b" 77", b" x")
        expected = unified(a, b, a_name="a", b_name="b").render()
        fresh = unified(bytes(bytearray(a)), bytes(bytearray(b)), a_name="a", b_name="b").render()
        assert fresh == expected
