"""`@diff text`: the unified diff of two inline strings."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from toolbox import limits
from toolbox.errors import TooLarge
from toolbox.output import number
from toolbox.verb import Answer, Context, Example, Verb
from toolbox.verbs.diff.comparison import (
    EXAMPLE_LIMITS,
    CompareArgs,
    CompareResult,
    Side,
    compare,
)


class TextArgs(CompareArgs, frozen=True, kw_only=True):
    a: Annotated[str, Meta(description="the first text, before")]
    b: Annotated[str, Meta(description="the second text, after")]


def run(args: TextArgs, ctx: Context) -> Answer:
    """Hunks that turn the first text into the second."""
    return compare(
        "text",
        Side("before", "before", _bytes("a", args.a)),
        Side("after", "after", _bytes("b", args.b)),
        args,
        ctx,
    )


def _bytes(name: str, text: str) -> bytes:
    data = text.encode()
    if len(data) > limits.DIFF_FILE_BYTES:
        raise TooLarge(
            f"{name}: expected at most {number(limits.DIFF_FILE_BYTES)} bytes, "
            f"got {number(len(data))}",
            hint="compare only the section that matters",
            at={"fields": [name], "size_bytes": len(data), "limit_bytes": limits.DIFF_FILE_BYTES},
        )
    return data


VERB = Verb(
    tool="diff",
    name="text",
    summary="The unified diff of two inline strings.",
    args=TextArgs,
    result=CompareResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_TOO_LARGE", "E_CHANGED"),
    limits=EXAMPLE_LIMITS,
    positional=("a", "b"),
    examples=(
        Example(
            about="a line added to a text without a final newline",
            args={"a": "one", "b": "one\ntwo\n"},
            shows="-one\n\\ No newline at end of file\n+one\n+two",
        ),
        Example(
            about="identical texts are told in one line",
            args={"a": "same\n", "b": "same\n"},
            shows="identical: before and after, 5 bytes",
        ),
        Example(
            about="operations with line numbers, without context",
            args={"a": "x\ny\n", "b": "x\nz\n", "format": "structured", "context": 0},
            shows="2 -y\n2 +z",
        ),
    ),
)
