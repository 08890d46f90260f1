"""`@diff files`: what it says, what applies, and that no page loses a byte."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import errors as refusals
from tests.verbs.diff.calls import Reply, call, write
from toolbox import limits
from toolbox.errors import Changed, InvalidArg
from toolbox.verbs.diff.files import VERB


def files(folder: Path, a: bytes, b: bytes, cap: int | None = None, **args: Any) -> Reply:
    write(folder, {"a.txt": a, "b.txt": b})
    return call(VERB, folder, {"a": "a.txt", "b": "b.txt", **args}, cap)


def test_identical_in_one_line(tmp_path: Path) -> None:
    got = files(tmp_path, b"same\n", b"same\n")
    assert got.text == "identical: a.txt and b.txt, 5 bytes"
    assert got.result == {
        "equal": True, "truncated": False, "beforeBytes": 5, "afterBytes": 5, "changes": 0,
        "insertions": 0, "deletions": 0, "unified": "", "appliable": True,
    }  # fmt: skip
    assert not got.negative


def test_a_change(tmp_path: Path) -> None:
    got = files(tmp_path, b"a\nb\nc\n", b"a\nX\nY\nc\n")
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+X\n+Y\n c\n"
    assert got.text == "1 hunk, +2 -1: a.txt → b.txt\n" + diff[:-1]
    assert got.result == {
        "equal": False, "truncated": False, "beforeBytes": 6, "afterBytes": 8, "changes": 3,
        "insertions": 2, "deletions": 1, "unified": diff, "appliable": True,
    }  # fmt: skip
    assert got.negative


@pytest.mark.parametrize("a", [b"x\0y", b"\0"])
def test_binary_is_reported_never_shown(tmp_path: Path, a: bytes) -> None:
    got = files(tmp_path, a, b"secret text\n")
    hashes = [hashlib.sha256(data).hexdigest() for data in (a, b"secret text\n")]
    assert got.result["binary"] == {"sha256_a": hashes[0], "sha256_b": hashes[1]}
    assert (got.result["equal"], got.result["unified"]) == (False, "")
    assert "secret" not in got.text
    assert got.text.splitlines()[1:] == [
        f"a.txt: {len(a)} bytes, sha256 {hashes[0]}", f"b.txt: 12 bytes, sha256 {hashes[1]}",
    ]  # fmt: skip


def test_identical_binary_files(tmp_path: Path) -> None:
    got = files(tmp_path, b"\0" * 9, b"\0" * 9)
    assert got.text == "identical: a.txt and b.txt, binary, 9 bytes"
    assert got.result["equal"] and not got.negative


@pytest.mark.parametrize(("at", "binary"), [(7_999, True), (8_000, False)])
def test_a_nul_counts_among_the_first_bytes_only(tmp_path: Path, at: int, binary: bool) -> None:
    text = b"x" * 99 + b"\n"
    a = (text * 90)[:at] + b"\0" + text
    got = files(tmp_path, a, a + b"more\n")
    assert ("binary" in got.result) is binary


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_size_limit(tmp_path: Path, size: int) -> None:
    data = b"x" * (limits.DIFF_FILE_BYTES + size)
    if size > 0:
        with pytest.raises(refusals.TooLarge, match="is too large for a text diff: it has 4 194 305 bytes"):
            files(tmp_path, data, b"")
    else:
        assert files(tmp_path, data, data).result["equal"]


def test_bytes_that_are_not_utf8_are_shown_and_flagged(tmp_path: Path) -> None:
    got = files(tmp_path, b"k\xff\n", b"k\xfe\n")
    assert "-k\\xff\n+k\\xfe" in got.text
    assert got.result["appliable"] is False
    assert "note: not appliable as text: bytes that are not UTF-8" in got.text


def test_bytes_that_are_not_utf8_do_not_matter_where_none_is_shown(tmp_path: Path) -> None:
    same = b"\xff\n" + b"same\n" * 9
    got = files(tmp_path, same + b"old\n", same + b"new\n")
    assert got.result["appliable"] is True and "note" not in got.text


def test_ignore_options_are_flagged(tmp_path: Path) -> None:
    got = files(tmp_path, b"A  b\nold\n", b"a b\nnew\n", ignore_whitespace=True, ignore_case=True)
    assert got.result["appliable"] is False
    assert got.text.endswith("@@ -1,2 +1,2 @@\n A  b\n-old\n+new\nnote: not appliable: made with whitespace and case ignored")
    equal = files(tmp_path, b"A  b\n", b"a b\n", ignoreWhitespace=True, ignoreCase=True)
    assert equal.text == "no difference with whitespace and case ignored: a.txt → b.txt"
    assert equal.result["equal"] and not equal.negative


def test_structured(tmp_path: Path) -> None:
    got = files(tmp_path, b"a\nb\nc", b"a\nX\nc\n", format="structured", context=1)
    assert got.result["operations"] == [
        {"op": "equal", "lineOld": 1, "lineNew": 1, "text": "a"},
        {"op": "delete", "lineOld": 2, "lineNew": None, "text": "b"},
        {"op": "delete", "lineOld": 3, "lineNew": None, "text": "c", "noNewline": True},
        {"op": "insert", "lineOld": None, "lineNew": 2, "text": "X"},
        {"op": "insert", "lineOld": None, "lineNew": 3, "text": "c"},
    ]
    assert "unified" not in got.result
    assert got.text.splitlines()[1:] == ["@@ -1,3 +1,3 @@", "1  a", "2 -b", "3 -c", "2 +X", "3 +c"]


def test_both(tmp_path: Path) -> None:
    got = files(tmp_path, b"a\n", b"", format="both")
    assert got.result["unified"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +0,0 @@\n-a\n"
    assert got.result["operations"] == [{"op": "delete", "lineOld": 1, "lineNew": None, "text": "a"}]


@pytest.mark.parametrize("name", ["two words.txt", 'quo"te', "é", "tab\tin"])
def test_odd_names_still_apply(tmp_path: Path, name: str) -> None:
    if shutil.which("git") is None:
        pytest.skip("no git")
    write(tmp_path, {name: b"1\n", "other": b"2\n"})
    got = call(VERB, tmp_path, {"a": name, "b": "other"})
    subprocess.run(["git", "apply"], input=got.result["unified"].encode(), cwd=tmp_path, check=True)
    assert (tmp_path / name).read_bytes() == b"2\n"


def test_the_text_itself_applies(tmp_path: Path) -> None:
    for k, program in enumerate((["git", "apply"], ["patch", "-s", "-p1"])):
        if shutil.which(program[0]) is None:
            continue
        folder = tmp_path / str(k)
        folder.mkdir()
        got = files(folder, b"1\r\n2\r\n\x0c\n3", b"1\r\n2\n\x0c\n3\n")
        # The reply's text ends without a newline, as every reply's does.
        subprocess.run(program, input=(got.text + "\n").encode(), cwd=folder, check=True)
        assert (folder / "a.txt").read_bytes() == b"1\r\n2\n\x0c\n3\n"


def test_what_is_no_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "1\n", "folder/x": "1\n"})
    with pytest.raises(refusals.NotAFile):
        call(VERB, tmp_path, {"a": "a.txt", "b": "folder"})
    with pytest.raises(refusals.NotFound):
        call(VERB, tmp_path, {"a": "a.txt", "b": "b.txt"})
    with pytest.raises(refusals.OutsideWorkspace):
        call(VERB, tmp_path, {"a": "a.txt", "b": "../b.txt"})


def test_context_past_the_most_is_taken_as_the_most(tmp_path: Path) -> None:
    got = files(tmp_path, b"a\n", b"b\n", context=99)
    assert "note: context 99 taken as the most, 50" in got.text


# Pages


def walk(folder: Path, cap: int, **args: Any) -> list[Reply]:
    """Every page, the cursor of each given to the next."""
    pages: list[Reply] = []
    more: dict[str, Any] = {}
    while True:
        pages.append(call(VERB, folder, {"a": "a.txt", "b": "b.txt", **args, **more}, cap))
        if "cursor" not in pages[-1].result:
            return pages
        assert len(pages) < 4000, "no progress"
        assert pages[-1].result["truncated"] and pages[-1].truncated
        assert pages[-1].result["cursor"] in pages[-1].text
        more = {"cursor": pages[-1].result["cursor"]}


def held(pages: list[Reply], cap: int) -> None:
    for page in pages:
        assert len(page.text.encode()) <= cap
        assert page.result_bytes <= cap
    assert not pages[-1].result["truncated"] and not pages[-1].truncated


PIECE = st.sampled_from([b"a", b"b" * 30, b'"' * 40, b"\x01" * 20, "é€".encode() * 30, b"\xff" * 9, b"z" * 900, b""])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(PIECE, max_size=30), st.lists(PIECE, max_size=30), st.integers(0, 3),
    st.sampled_from([400, 700, 1000, 2500]), st.sampled_from(["unified", "both", "structured"]),
)  # fmt: skip
def test_pages_are_the_whole(
    tmp_path: Path, a: list[bytes], b: list[bytes], context: int, cap: int, form: str
) -> None:
    write(tmp_path, {"a.txt": b"\n".join(a), "b.txt": b"\n".join(b)})
    args = {"context": context, "format": form}
    whole = call(VERB, tmp_path, {"a": "a.txt", "b": "b.txt", **args})
    pages = walk(tmp_path, cap, **args)
    held(pages, cap)
    if form != "structured":
        assert "".join(page.result["unified"] for page in pages) == whole.result["unified"]
    if form != "unified":
        text: dict[tuple[Any, ...], str] = {}
        for op in (op for page in pages for op in page.result["operations"]):
            key = (op["op"], op["lineOld"], op["lineNew"])
            text[key] = text.get(key, "") + op["text"]
        assert list(text.items()) == [
            ((op["op"], op["lineOld"], op["lineNew"]), op["text"]) for op in whole.result["operations"]
        ]
    counts = [[page.result[k] for k in ("changes", "insertions", "deletions")] for page in pages]
    assert all(count == counts[0] for count in counts)


def test_pages_end_at_hunks(tmp_path: Path) -> None:
    a = [b"line %d" % i for i in range(2000)]
    b = [b"changed" if i % 20 == 0 else line for i, line in enumerate(a)]
    write(tmp_path, {"a.txt": b"\n".join(a), "b.txt": b"\n".join(b)})
    pages = walk(tmp_path, 2000)
    held(pages, 2000)
    assert len(pages) > 3
    for page in pages[1:]:
        assert page.result["unified"].startswith("@@ -")
    assert "… showing " in pages[0].text and " of 100 hunks; for the rest, the same call with " in pages[0].text
    assert pages[1].text.startswith("from hunk ")


@pytest.mark.parametrize("cap", [200, 260, 330])
def test_tightest_caps(tmp_path: Path, cap: int) -> None:
    write(tmp_path, {"a.txt": b"one\n" * 20 + b"x" * 300 + b"\n", "b.txt": b"two\n" * 20})
    whole = call(VERB, tmp_path, {"a": "a.txt", "b": "b.txt"}).result["unified"]
    pages = walk(tmp_path, 30_000, max_bytes=cap)
    held(pages, cap)
    assert "".join(page.result["unified"] for page in pages) == whole


def test_a_cursor_is_bound_to_contents_and_options(tmp_path: Path) -> None:
    a = b"".join(b"line %d\n" % i for i in range(999))
    b = a.replace(b"7\n", b"7!\n")
    first = files(tmp_path, a, b, cap=1500)
    cursor = first.result["cursor"]
    again = files(tmp_path, a, b, cap=1500, cursor=cursor)
    assert again.result["unified"].startswith("@@ -")
    with pytest.raises(Changed, match="changed since the cursor was given"):
        files(tmp_path, a, b + b"more\n", cap=1500, cursor=cursor)
    with pytest.raises(InvalidArg, match="other options"):
        files(tmp_path, a, b, cap=1500, cursor=cursor, context=2)
    with pytest.raises(InvalidArg, match="other options"):
        files(tmp_path, a, b, cap=1500, cursor=cursor, format="both")


@pytest.mark.parametrize("garbage", ["", "x", "AAAA", "é", "!" * 30, "A" * 24, "A" * 4000, "\x00"])
def test_a_foreign_cursor(tmp_path: Path, garbage: str) -> None:
    with pytest.raises(InvalidArg, match="cursor: expected one that @diff files gave"):
        files(tmp_path, b"a\n", b"b\n", cursor=garbage)


def test_every_changed_character_of_a_cursor_is_noticed(tmp_path: Path) -> None:
    a = b"".join(b"line %d\n" % i for i in range(300))
    b = a.replace(b"7\n", b"7!\n")
    cursor = files(tmp_path, a, b, cap=1500).result["cursor"]
    random = Random(3)
    for at in range(len(cursor)):
        other = random.choice([c for c in "ABCxyz019-_" if c != cursor[at]])
        with pytest.raises((InvalidArg, Changed)):
            files(tmp_path, a, b, cap=1500, cursor=cursor[:at] + other + cursor[at + 1 :])


def test_a_block_replacement_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(2)
    a, b = (b"".join(b"%d\n" % random.randrange(2) for _ in range(4000)) for _ in range(2))
    from toolbox.verbs.diff import comparison

    bounded = comparison.unified
    monkeypatch.setattr(comparison, "unified", lambda *sides, **more: bounded(*sides, **more, lines_most=500))
    for cap in (None, 3000):
        got = files(tmp_path, a, b, cap=cap)
        assert "stands as one block replacement" in got.text
        assert "stands as one block replacement" in got.result["note"]
