"""One hunk read from the lines of a patch: what its header promises against what stands there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolbox.engines.patch.preview import quote
from toolbox.engines.patch.records import UNENDED, Fault, Hunk

HEADER: Final = re.compile(
    rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)", re.DOTALL
)
_SIGNATURE_VERSION: Final = re.compile(rb"\d+\.\d+")
_BODY: Final = (b" ", b"+", b"-")
_BLANK: Final = (b"", b"\r")
TRAILER_LINES: Final = 200
"""Of hunk-like text after a hunk and a blank line, how much is held against the file."""


def is_mark(line: bytes) -> bool:
    """True for `\\ No newline at end of file`, in whatever language: git's own test."""
    return line.startswith(b"\\ ") and len(line) >= 12


def is_file_header(lines: Sequence[bytes], i: int) -> bool:
    """True where lines i and i+1 are a `---`/`+++` pair."""
    return (
        lines[i].startswith(b"--- ")
        and i + 1 < len(lines)
        and lines[i + 1].startswith(b"+++ ")
    )  # fmt: skip


def is_signature(lines: Sequence[bytes], i: int) -> bool:
    """True for the `-- ` line, and what follows it, with which mailed patches end."""
    if lines[i].rstrip() != b"--":
        return False
    return (
        i + 1 >= len(lines)
        or not lines[i + 1].strip()
        or _SIGNATURE_VERSION.match(lines[i + 1]) is not None
    )


def _next_header(lines: Sequence[bytes], i: int) -> bool:
    return is_file_header(lines, i) and (i + 2 >= len(lines) or lines[i + 2].startswith(b"@@"))


def extent(lines: Sequence[bytes], start: int) -> int:
    """Where lines stop to read as a hunk's body, blank ones at the end left out."""
    j, end = start, len(lines)
    while j < end:
        line = lines[j]
        if line[:1] not in _BODY and line not in _BLANK and not is_mark(line):
            break
        if line[:1] == b"-" and (_next_header(lines, j) or is_signature(lines, j)):
            break
        j += 1
    while j > start and lines[j - 1] in _BLANK:
        j -= 1
    return j


def sides(body: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The old and the new lines of a body, unended last lines marked."""
    old: list[bytes] = []
    new: list[bytes] = []
    before = b""
    for line in body:
        kind = line[:1]
        if kind == b"\\":
            if before != b"+" and old and not old[-1].endswith(UNENDED):
                old[-1] += UNENDED
            if before != b"-" and new and not new[-1].endswith(UNENDED):
                new[-1] += UNENDED
            continue
        before = kind
        if kind == b"-":
            old.append(line[1:])
        elif kind == b"+":
            new.append(line[1:])
        else:
            text = line if line == b"\r" else line[1:]
            old.append(text)
            new.append(text)
    return old, new


def _misplaced_mark(side: list[bytes]) -> bool:
    return any(line.endswith(UNENDED) for line in side[:-1])


def read_hunk(lines: Sequence[bytes], i: int, number: int) -> tuple[Hunk, int]:
    """The hunk whose header is lines[i], and the index after it (after all that reads as its
    body where the counts are wrong)."""
    header = lines[i].rstrip(b"\r")
    found = HEADER.match(header)
    start = i + 1
    if found is None:
        stop = extent(lines, start)
        return _build(lines, i, number, header, None, start, stop, "header"), stop
    old_left = old_count = int(found[2]) if found[2] is not None else 1
    new_left = new_count = int(found[4]) if found[4] is not None else 1
    numbers = (int(found[1]), old_count, int(found[3]), new_count)
    j, end = start, len(lines)
    old: list[bytes] = []
    new: list[bytes] = []
    marked = False
    while (old_left or new_left) and j < end:
        line = lines[j]
        kind = line[:1]
        if kind == b" ":
            text = line[1:]
            old.append(text)
            new.append(text)
            old_left -= 1
            new_left -= 1
        elif kind == b"-":
            old.append(line[1:])
            old_left -= 1
        elif kind == b"+":
            new.append(line[1:])
            new_left -= 1
        elif line in _BLANK:
            old.append(line)
            new.append(line)
            old_left -= 1
            new_left -= 1
        elif is_mark(line):
            marked = True
        else:
            break
        if old_left < 0 or new_left < 0:
            break
        j += 1
    while j < end and is_mark(lines[j]):
        marked = True
        j += 1
    if old_left or new_left:
        stop = extent(lines, start)
        return _build(lines, i, number, header, numbers, start, stop, "counts"), stop
    if j < end and lines[j][:1] in (b" ", b"+", b"-"):
        pair = is_file_header(lines, j)
        if not pair and not is_signature(lines, j):
            stop = extent(lines, start)
            if stop < j:  # the promised lines reach into the next file's header
                return _build(lines, i, number, header, numbers, start, stop, "counts"), stop
            stop = max(stop, j + 1)
            hunk = _build(
                lines, i, number, header, numbers, start, stop, "left-over", promised=j - start
            )
            return hunk, stop
    stray = j < end and lines[j][:1] == b"\\"
    trailer = _trailer(lines, j) if j < end and lines[j] in _BLANK else ()
    if marked or stray or old == new:
        wrong = "mark" if stray else None
        return _build(lines, i, number, header, numbers, start, j, wrong, trailer=trailer), j
    hunk = Hunk(
        number=number, patch_line=i + 1, header=header, old_start=numbers[0],
        old_count=old_count, new_start=numbers[2], new_count=new_count, section=found[5],
        body=lines[start:j], old=old, new=new, context=len(old) + len(new) > j - start,
        changes=True, trailer=trailer,
    )  # fmt: skip
    return hunk, j


def _trailer(lines: Sequence[bytes], j: int) -> Sequence[bytes]:
    k, end = j, len(lines)
    while k < end and lines[k] in _BLANK:
        k += 1
    if k == j or k >= end or lines[k][:1] not in (b" ", b"+", b"-"):
        return ()
    if is_file_header(lines, k) or is_signature(lines, k):
        return ()
    return lines[j : min(extent(lines, k), j + TRAILER_LINES)]


def _build(
    lines: Sequence[bytes],
    at: int,
    number: int,
    header: bytes,
    numbers: tuple[int, int, int, int] | None,
    start: int,
    stop: int,
    wrong: str | None,
    *,
    promised: int | None = None,
    trailer: Sequence[bytes] = (),
) -> Hunk:
    body = lines[start:stop]
    old, new = sides(body)
    kinds = {line[:1] for line in body}
    changes = old != new
    fault = None
    if wrong == "header":
        fault = Fault("malformed", "header", "", at + 1)
    elif wrong == "counts":
        assert numbers is not None
        off = stop < len(lines) and _breaks_off(lines, stop)
        kind = "broken-off" if off and (len(old), len(new)) != numbers[1::2] else "counts"
        fault = Fault(
            "malformed", kind, quote(lines[stop]) if kind == "broken-off" else "",
            stop + 1 if kind == "broken-off" else at + 1,
        )  # fmt: skip
        if kind == "broken-off":
            trailer = lines[stop : stop + TRAILER_LINES]
    elif wrong == "left-over":
        assert promised is not None
        fault = Fault("malformed", "left-over", "", start + promised + 1)
    elif wrong == "mark":
        fault = Fault(
            "malformed",
            "newline-mark",
            f"{quote(lines[stop])} (patch line {stop + 1}) follows the last line; "
            'expected "\\ No newline at end of file" or nothing',
            stop + 1,
        )
    elif _misplaced_mark(old) or _misplaced_mark(new):
        where = next(k for k, line in enumerate(body) if line[:1] == b"\\")
        fault = Fault(
            "malformed", "newline-mark",
            '"\\ No newline at end of file" stands after a line that is not the last of its side',
            start + where + 1,
        )  # fmt: skip
    elif not changes:
        fault = Fault("malformed", "changes-nothing", "adds and removes nothing", at + 1)
    old_start, old_count, new_start, new_count = numbers or (None, None, None, None)
    found = HEADER.match(header)
    return Hunk(
        number=number, patch_line=at + 1, header=header, old_start=old_start,
        old_count=old_count, new_start=new_start, new_count=new_count,
        section=found[5].rstrip(b"\r") if found else b"", body=body, old=old, new=new,
        context=b" " in kinds or b"" in kinds or b"\r" in kinds, changes=changes,
        fault=fault, promised=promised, trailer=trailer,
    )  # fmt: skip


_BOUNDARY: Final = re.compile(
    rb"@@|diff |Index: |```|~~~|Only in |Binary files |From |--|\+\+\+ |===|index [0-9a-f]"
)


def _breaks_off(lines: Sequence[bytes], stop: int) -> bool:
    """True where the body stops at a line that belongs to no known form, without a blank line."""
    return lines[stop] not in _BLANK and _BOUNDARY.match(lines[stop]) is None
