"""Hunks as operations with line numbers, for programs, and as numbered lines, for readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from toolbox.engines.diff.lines import show
from toolbox.engines.diff.unified import Hunk


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a hunk. lineOld, lineNew: 1-based, null on the side that lacks the line."""

    op: Literal["equal", "delete", "insert"]
    lineOld: int | None
    lineNew: int | None
    text: str
    noNewline: bool = False
    """True where the line is its file's last and has no newline."""


def operations(hunk: Hunk) -> Iterator[Operation]:
    """The hunk's lines in order."""
    old = hunk.a_start if hunk.a_lines else hunk.a_start + 1
    new = hunk.b_start if hunk.b_lines else hunk.b_start + 1
    lines = hunk.lines
    for k, line in enumerate(lines):
        sign = line[:1]
        bare = k + 1 < len(lines) and lines[k + 1].startswith(b"\\")
        if sign == b" ":
            yield Operation("equal", old, new, show(line[1:]), bare)
        elif sign == b"-":
            yield Operation("delete", old, None, show(line[1:]), bare)
        elif sign == b"+":
            yield Operation("insert", None, new, show(line[1:]), bare)
        old += sign in b" -"
        new += sign in b" +"


def numbered(operation: Operation) -> str:
    """`12 -text`: the line's number on the side that has it (the new one where both do)."""
    sign = {"equal": " ", "delete": "-", "insert": "+"}[operation.op]
    number = operation.lineNew if operation.lineOld is None else operation.lineOld
    return f"{number} {sign}{operation.text}"
