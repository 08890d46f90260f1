"""Sequences of JSON scalars compared: edits grouped into hunks with 0-based addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolbox.engines.diff.myers import Edit, HasCheck, Op, edit_script

Scalar = None | bool | str | int


@dataclass(frozen=True, slots=True)
class SequenceHunk:
    """Where a hunk stands in both sequences, and its operations in order.

    With a count of 0 the start is the index at which items are inserted.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    ops: list[tuple[Op, Scalar]]


def sequence_hunks(
    left: Sequence[Scalar],
    right: Sequence[Scalar],
    context: int,
    *,
    deadline: HasCheck | None = None,
) -> list[SequenceHunk]:
    """The hunks of the shortest script from left to right, none where they are identical.

    Items are the same only with the same type: true is not 1. Changes fewer than 2 × context
    items apart share a hunk.
    """
    edits = edit_script(
        [(type(item), item) for item in left],
        [(type(item), item) for item in right],
        deadline=deadline,
    )
    groups: list[list[Edit]] = []
    for edit in edits:
        if edit.op == "equal":
            continue
        if groups:
            gap = edit.a_start - groups[-1][-1].a_end
            # No gap: the insertion that goes with the deletion before it.
            if gap < 2 * context or gap == 0:
                groups[-1].append(edit)
                continue
        groups.append([edit])
    return [_hunk(left, right, group, context) for group in groups]


def _hunk(
    left: Sequence[Scalar], right: Sequence[Scalar], group: list[Edit], context: int
) -> SequenceHunk:
    before = min(context, group[0].a_start)
    after = min(context, len(left) - group[-1].a_end)
    old_start, new_start = group[0].a_start - before, group[0].b_start - before
    ops: list[tuple[Op, Scalar]] = []
    at = old_start
    for edit in group:
        ops += _ops("equal", left[at : edit.a_start])
        ops += _ops("delete", left[edit.a_start : edit.a_end])
        ops += _ops("insert", right[edit.b_start : edit.b_end])
        at = edit.a_end
    old_end, new_end = at + after, group[-1].b_end + after
    ops += _ops("equal", left[at:old_end])
    return SequenceHunk(old_start, old_end - old_start, new_start, new_end - new_start, ops)


def _ops(
    op: Literal["equal", "delete", "insert"], items: Sequence[Scalar]
) -> list[tuple[Op, Scalar]]:
    return [(op, item) for item in items]
