"""What must hold for every patch: diffs go back exactly, corrupted ones never apply wrongly."""

from __future__ import annotations

import difflib
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines.patch.memory import Memory
from toolbox.engines.patch.hunks import is_mark
from toolbox.engines.patch.parse import parse
from toolbox.engines.patch.records import join_lines, range_text, split_lines

LINE = st.sampled_from(
    [b"", b"a", b"b", b"c", b" a", b"\tb", b"a ", b"x\r", b"\r", b"-- ", b"--- a/f", b"+++ b/f",
     b"@@ -1 +1 @@", b"diff --git a/f b/f", b"\x0c", "é".encode(), b"\xff\xfe", b"\xe2\x80\xa8",
     b"\\ No newline at end of file", b"```", b"-", b"+", b"...", b"{", b"}"]
)  # fmt: skip


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(LINE, max_size=14))
    data = b"".join(line + b"\n" for line in lines)
    return data[:-1] if data and draw(st.booleans()) and not data.endswith(b"\n\n") and data != b"\n" else data


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A file, and the same file with some lines changed."""
    old = draw(contents())
    if draw(st.integers(0, 3)) == 0:
        return old, draw(contents())
    lines = split_lines(old)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines)))
        end = draw(st.integers(at, min(len(lines), at + 2)))
        lines[at:end] = draw(st.lists(LINE, max_size=2))
    fixed = [line.removesuffix(b"\n") for line in lines]
    new = b"".join(line + b"\n" for line in fixed)
    return old, new[:-1] if new and fixed[-1] and draw(st.booleans()) else new


def unified(old: bytes, new: bytes, context: int, name: bytes = b"f") -> bytes:
    """A unified diff, written from difflib's opcodes, git's form."""
    a, b = split_lines(old), split_lines(new)
    out = [b"--- a/" + name, b"+++ b/" + name]

    def put(sign: bytes, line: bytes) -> None:
        out.append(sign + line.removesuffix(b"\n"))
        if line.endswith(b"\n"):
            out.append(b"\\ No newline at end of file")

    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(context):
        i1, i2, j1, j2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        old_range = range_text(i1 + (i2 > i1), i2 - i1)
        new_range = range_text(j1 + (j2 > j1), j2 - j1)
        out.append(f"@@ -{old_range} +{new_range} @@".encode())
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                for line in a[a1:a2]:
                    put(b" ", line)
                continue
            for line in a[a1:a2]:
                put(b"-", line)
            for line in b[b1:b2]:
                put(b"+", line)
    return b"\n".join(out) + b"\n"


@given(contents())
def test_splitting_and_joining_gives_the_same_bytes(data: bytes) -> None:
    assert join_lines(split_lines(data)) == data


@given(edited(), st.integers(0, 4))
@settings(max_examples=200, deadline=None)
def test_a_diff_applied_to_the_old_file_gives_the_new_one(pair: tuple[bytes, bytes], context: int) -> None:
    old, new = pair
    if old == new:
        return
    memory = Memory({"f": old})
    planned = memory.plan(unified(old, new, context))
    assert memory.after(planned) == {"f": new}


@given(edited(), st.integers(0, 3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_git_diff_output_applies(tmp_path: Path, pair: tuple[bytes, bytes], context: int) -> None:
    old, new = pair
    if old == new:
        return
    for side, data in (("a", old), ("b", new)):
        (tmp_path / side).mkdir(exist_ok=True)
        (tmp_path / side / "f").write_bytes(data)
    text = subprocess.run(
        ["git", "diff", "--no-index", "--text", f"-U{context}", "--no-prefix", "a/f", "b/f"],
        cwd=tmp_path, capture_output=True, check=False,
    ).stdout  # fmt: skip
    memory = Memory({"f": old})
    assert memory.after(memory.plan(text)) == {"f": new}


def reference(old: bytes, patch: bytes) -> list[bytes]:
    """All outcomes that a strict reading of a one-file patch allows, by the plainest means.

    Hunks are taken at their old start; a line that is in no hunk is ignored. Empty where some
    context or removed line does not stand.
    """
    lines = split_lines(old)
    out: list[bytes] = []
    at = 0
    text = patch.split(b"\n")
    k = 0
    while k < len(text):
        found = re.match(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", text[k])
        k += 1
        if not found:
            continue
        left = int(found[2] or 1) if found[2] != b"0" else 0
        right = int(found[4] or 1) if found[4] != b"0" else 0
        start = int(found[1]) - (1 if left else 0)
        if start < at or start > len(lines):
            return []
        out.extend(lines[at:start])
        at = start
        while left or right or (k < len(text) and is_mark(text[k])):
            line = text[k] if k < len(text) else b"?"
            if is_mark(line):
                if out and text[k - 1][:1] in (b"+", b" "):
                    out[-1] = out[-1].removesuffix(b"\n") + b"\n"
                k += 1
                continue
            sign, content = line[:1] or b" ", line[1:] if line != b"\r" else line
            ended = k + 1 < len(text) and is_mark(text[k + 1])
            if sign in (b" ", b"-", b"\r"):
                if at >= len(lines) or lines[at] != content + (b"\n" if ended else b""):
                    return []
                at += 1
                left -= 1
            if sign in (b" ", b"+", b"\r"):
                out.append(content)
                right -= 1
            k += 1
            if left < 0 or right < 0:
                return []
    out.extend(lines[at:])
    if any(line.endswith(b"\n") for line in out[:-1]):
        return []
    return [join_lines(out)]


@st.composite
def corrupted(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A file, and a valid patch for it with one to three lines or numbers spoilt."""
    old, new = draw(edited())
    patch = unified(old, new, draw(st.integers(0, 3)))
    lines = patch.split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(2, max(2, len(lines) - 1)))
        if at >= len(lines):
            continue
        match draw(st.integers(0, 6)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines[at] = lines[at][:1] + draw(LINE)
            case 3:
                lines[at] = draw(st.sampled_from([b"+", b"-", b" ", b""])) + lines[at][1:]
            case 4:
                numbers = list(re.finditer(rb"\d+", lines[at]))
                if numbers:
                    n = draw(st.sampled_from(numbers))
                    value = max(0, int(n[0]) + draw(st.sampled_from([-1, 1, 2])))
                    lines[at] = lines[at][: n.start()] + b"%d" % value + lines[at][n.end() :]
            case 5 if at + 1 < len(lines):
                lines[at], lines[at + 1] = lines[at + 1], lines[at]
            case _:
                lines.insert(at, draw(LINE))
    return old, b"\n".join(lines)


@given(corrupted())
@settings(max_examples=400, deadline=None)
def test_a_corrupted_patch_never_applies_to_a_wrong_result(pair: tuple[bytes, bytes]) -> None:
    old, patch = pair
    memory = Memory({"f": old})
    planned = memory.plan(patch)
    if not planned.refused and [f.path for f in planned.files] == ["f"] and planned.files[0].action == "edit":
        assert memory.after(planned)["f"] in reference(old, patch), patch


@given(corrupted())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_where_git_apply_takes_the_patch_at_its_place_the_outcome_is_the_same(
    tmp_path: Path, pair: tuple[bytes, bytes]
) -> None:
    old, patch = pair
    memory = Memory({"f": old})
    planned = memory.plan(patch)
    if planned.refused or planned.notes or any(f.notes for f in planned.files):
        return
    (tmp_path / "f").write_bytes(old)
    done = subprocess.run(
        ["git", "apply", "-p1", "--unidiff-zero", "--whitespace=nowarn", "-"],
        input=patch, cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        got = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
        assert got == memory.after(planned), patch
    for p in tmp_path.iterdir():
        if p.is_file():
            p.unlink()


@given(st.binary(max_size=400), st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_bytes_make_the_engine_fail(patch: bytes, old: bytes) -> None:
    Memory({"f": old}).plan(patch)
    Memory({"f": old}).plan(b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n" + patch, file="f")


@given(corrupted(), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_repairs_never_fail(pair: tuple[bytes, bytes], relocate: bool, recount: bool, ends: bool) -> None:
    from toolbox.engines.patch.verdict import Repairs

    old, patch = pair
    memory = Memory({"f": old})
    planned = memory.plan(patch, repairs=Repairs(relocate, recount, ends))
    for file in planned.files:
        if file.fits and file.action == "edit" and file.after is not None:
            kept = sum(len(h.old) for s in parse(patch).sections for h in s.hunks)
            assert len(split_lines(file.after)) >= len(split_lines(old)) - kept


@pytest.mark.parametrize("context", [0, 1, 3])
def test_crlf_files_take_lf_patches_when_asked(context: int) -> None:
    from toolbox.engines.patch.verdict import Repairs

    old = b"".join(b"line %d\r\n" % k for k in range(30))
    lf_old = old.replace(b"\r\n", b"\n")
    lf_new = lf_old.replace(b"line 4\n", b"four\nand a half\n").replace(b"line 20\n", b"")
    memory = Memory({"f": old})
    assert memory.plan(unified(lf_old, lf_new, context)).refused
    planned = memory.plan(unified(lf_old, lf_new, context), repairs=Repairs(file_ends=True))
    assert memory.after(planned) == {"f": lf_new.replace(b"\n", b"\r\n")}
