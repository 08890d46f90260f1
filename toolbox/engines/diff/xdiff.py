"""git's own line diff (xdiff) by way of libgit2: hunks as text, or the bare list of changes.

pygit2 keeps no reference to the two buffers that a patch points into, so every function here
holds both until it has read the last of it, and gives copies only. The C code cannot be
interrupted: callers bound the lines that they give it (see `guard`).
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

MINIMAL_LINES: Final = 2_000
"""Lines of both sides up to which the script is searched to the shortest: at most about 20 ms.
Past it xdiff's heuristics give about 1 % more edits and never run away."""

_HEADER: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Change(NamedTuple):
    """Lines a[a_start:a_end] were replaced by b[b_start:b_end]; 0-based, either may be empty."""

    a_start: int
    a_end: int
    b_start: int
    b_end: int


class RawHunk(NamedTuple):
    """A hunk as a unified diff counts it: 1-based starts, the line before where a count is 0."""

    a_start: int
    a_lines: int
    b_start: int
    b_lines: int
    body: bytes
    """The hunk's lines with their signs, each ended by a newline, markers included."""


def preload() -> None:
    """Import libgit2 before a worker is confined."""
    import pygit2  # noqa: F401


def _patch(a: bytes, b: bytes, context: int, *, minimal: bool) -> Any:
    import pygit2
    from pygit2.enums import DiffOption

    flag = DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC
    if minimal:
        flag |= DiffOption.MINIMAL
    return pygit2.Patch.create_from(a, b, flag=flag, context_lines=context, interhunk_lines=0)


class Written(NamedTuple):
    """The hunks between two texts, and the lines that they insert and delete in all."""

    hunks: list[RawHunk]
    insertions: int
    deletions: int


def hunks(a: bytes, b: bytes, context: int, *, minimal: bool) -> Written:
    """The hunks between two texts, written by xdiff itself."""
    patch = _patch(a, b, context, minimal=minimal)
    data = patch.data
    _, insertions, deletions = patch.line_stats
    del patch
    found = []
    # No line of a body begins with @: each has its sign, or the marker's backslash.
    at = data.find(b"\n@@ -") + 1
    while at:
        body = data.index(b"\n", at) + 1
        end = data.find(b"\n@@ -", body - 1) + 1
        header = _HEADER.match(data, at)
        assert header is not None
        a_start, a_lines, b_start, b_lines = (int(group or b"1") for group in header.groups())
        found.append(RawHunk(a_start, a_lines, b_start, b_lines, data[body : end or len(data)]))
        at = end
    return Written(found, insertions, deletions)


def changes(a: bytes, b: bytes, *, minimal: bool) -> list[Change]:
    """The changed blocks between two texts, in order."""
    patch = _patch(a, b, 0, minimal=minimal)
    found = []
    for hunk in patch.hunks:
        i = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        j = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
        found.append(Change(i, i + hunk.old_lines, j, j + hunk.new_lines))
    del patch
    return found
