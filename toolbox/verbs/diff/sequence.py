"""`@diff sequence`: two arrays of JSON scalars compared, as hunks with 0-based addresses."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from toolbox.engines.diff.sequence import SequenceHunk, sequence_hunks
from toolbox.errors import InvalidArg, TooLarge
from toolbox.output import encode, number
from toolbox.verb import Answer, Args, Context, Example, Result, Verb

ITEMS: Final = 1_024
STRING_BYTES: Final = 4_096
TEXT_BYTES: Final = 262_144
CONTEXT_DEFAULT: Final = 3
CONTEXT_MOST: Final = 16
OUTPUT_BYTES: Final = 1_048_576
SAFE_INTEGER: Final = 2**53 - 1
"""Integers up to which a double is exact: a larger one would not come back as it was given."""

Item = None | bool | str | Annotated[int, Meta(ge=-SAFE_INTEGER, le=SAFE_INTEGER)]


class SequenceArgs(Args, frozen=True, kw_only=True):
    left: Annotated[
        list[Item], Meta(description="items before: null, booleans, strings, safe integers")
    ]
    right: Annotated[list[Item], Meta(description="items after, of the same kinds")]
    context: Annotated[
        int, Meta(ge=0, le=CONTEXT_MOST, description="common items around each change")
    ] = CONTEXT_DEFAULT


class ItemOp(Result, frozen=True, kw_only=True):
    op: Literal["equal", "delete", "insert"]
    value: Item


class ItemHunk(Result, frozen=True, kw_only=True):
    """Starts are 0-based; with a count of 0 the start is the insertion index."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    ops: list[ItemOp]


class SequenceResult(Result, frozen=True, kw_only=True):
    hunks: list[ItemHunk]
    identical: bool


def run(args: SequenceArgs, ctx: Context) -> Answer:
    """The hunks of the shortest edit script."""
    _hold_limits(args)
    found = sequence_hunks(args.left, args.right, args.context, deadline=ctx.deadline)
    hunks = [_result(hunk) for hunk in found]
    whole = SequenceResult(hunks=hunks, identical=not hunks)
    size = len(encode(whole))
    if size > OUTPUT_BYTES:
        raise TooLarge(
            f"the hunks take {number(size)} bytes as JSON, expected at most {number(OUTPUT_BYTES)}",
            hint="compare shorter sequences, or with less context",
        )

    def oversize(room: int) -> tuple[str, SequenceResult]:
        first = f"{_header(hunks[0])} has {len(hunks[0].ops)} items: more than the output may hold"
        return first + "; raise max_bytes or lower context", SequenceResult(
            hunks=[], identical=False
        )

    return Answer(
        result=lambda n: SequenceResult(hunks=hunks[:n], identical=not hunks),
        rows=["\n".join([_header(hunk), *map(_line, hunk.ops)]) for hunk in hunks],
        head=lambda _: "" if hunks else f"identical: {number(len(args.left))} items",
        noun="hunks",
        more=lambda _: "raise max_bytes, lower context, or compare parts of the sequences",
        oversize=oversize,
        negative=bool(hunks),
    )


def _hold_limits(args: SequenceArgs) -> None:
    problems = []
    text_bytes = 0
    for name, items in (("left", args.left), ("right", args.right)):
        if len(items) > ITEMS:
            problems.append((name, f"{name}: expected at most {ITEMS} items, got {len(items)}"))
        for k, item in enumerate(items):
            if isinstance(item, str):
                size = len(item.encode())
                text_bytes += size
                if size > STRING_BYTES:
                    problems.append(
                        (name, f"{name}[{k}]: expected at most {STRING_BYTES} bytes, got {size}")
                    )
                    break
    if text_bytes > TEXT_BYTES:
        problems.append(
            ("left", f"expected at most {TEXT_BYTES} bytes of strings in all, got {text_bytes}")
        )
    if problems:
        raise InvalidArg(
            "@diff sequence: " + "; ".join(text for _, text in problems),
            hint="compare a part of the sequences; whole texts are for @diff text",
            at={"fields": list(dict.fromkeys(name for name, _ in problems))},
        )


def _result(hunk: SequenceHunk) -> ItemHunk:
    return ItemHunk(
        old_start=hunk.old_start,
        old_count=hunk.old_count,
        new_start=hunk.new_start,
        new_count=hunk.new_count,
        ops=[ItemOp(op=op, value=value) for op, value in hunk.ops],
    )


def _header(hunk: ItemHunk) -> str:
    return f"old {hunk.old_start}+{hunk.old_count}, new {hunk.new_start}+{hunk.new_count}:"


def _line(one: ItemOp) -> str:
    sign = {"equal": " ", "delete": "-", "insert": "+"}[one.op]
    return sign + msgspec.json.encode(one.value).decode()


VERB = Verb(
    tool="diff",
    name="sequence",
    summary="Two arrays of JSON scalars compared, as hunks with 0-based addresses.",
    args=SequenceArgs,
    result=SequenceResult,
    run=run,
    cap_bytes=OUTPUT_BYTES,
    errors=("E_INVALID_ARG", "E_TOO_LARGE"),
    limits=(
        f"{ITEMS} items a side",
        f"{STRING_BYTES} bytes a string, {TEXT_BYTES} bytes of strings in all",
        f"{OUTPUT_BYTES} bytes of output",
        "an argument past its limit is refused, never lowered",
    ),
    strict_maximum=True,
    examples=(
        Example(
            about="one item replaced, no context",
            args={"left": ["A", "B", "C"], "right": ["A", "X", "C"], "context": 0},
            shows='old 1+1, new 1+1:\n-"B"\n+"X"',
        ),
        Example(
            about="true is not 1",
            args={"left": [1], "right": [True]},
            shows="-1\n+true",
        ),
        Example(
            about="an integer that a double cannot hold is refused",
            args={"left": [9007199254740993], "right": []},
            fails="E_INVALID_ARG",
            shows="left[0]",
        ),
    ),
)
