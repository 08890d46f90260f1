"""`@diff files`: the unified diff of two files of the workspace."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from sandbox.reader import read_file
from toolbox import limits
from toolbox.verb import Answer, Context, Example, Verb
from toolbox.verbs.diff.comparison import (
    EXAMPLE_LIMITS,
    CompareArgs,
    CompareResult,
    Side,
    compare,
    shown_name,
)


class FilesArgs(CompareArgs, frozen=True, kw_only=True):
    a: Annotated[str, Meta(description="the first file, before")]
    b: Annotated[str, Meta(description="the second file, after")]


def run(args: FilesArgs, ctx: Context) -> Answer:
    """Hunks that turn the first file into the second.

    Both header lines name the first file, which the diff applies to: `git apply`, `patch -p1` and
    `@diff apply` then find it.
    """
    sides = [
        read_file(ctx.root, path, limit_bytes=limits.DIFF_FILE_BYTES, what="text diff")
        for path in (args.a, args.b)
    ]
    target = sides[0].path
    return compare(
        "files",
        Side(shown_name(sides[0].path), f"a/{target}", sides[0].data),
        Side(shown_name(sides[1].path), f"b/{target}", sides[1].data),
        args,
        ctx,
    )


VERB = Verb(
    tool="diff",
    name="files",
    summary="The unified diff of two files, ready to be applied to the first.",
    args=FilesArgs,
    result=CompareResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_NOT_FOUND", "E_NOT_A_FILE", "E_TOO_LARGE", "E_CHANGED", "E_OUTSIDE_WORKSPACE"),
    limits=EXAMPLE_LIMITS,
    positional=("a", "b"),
    examples=(
        Example(
            about="one line changed between two versions of a configuration",
            files={"old.yaml": "port: 80\nhost: web\n", "new.yaml": "port: 8080\nhost: web\n"},
            args={"a": "old.yaml", "b": "new.yaml"},
            shows="--- a/old.yaml\n+++ b/old.yaml\n@@ -1,2 +1,2 @@\n-port: 80\n+port: 8080\n",
        ),
        Example(
            about="only the indentation differs",
            files={"a.txt": "if x:\n  y\n", "b.txt": "if x:\n    y\n"},
            args={"a": "a.txt", "b": "b.txt", "ignore_whitespace": True},
            shows="no difference with whitespace ignored",
        ),
        Example(
            about="a name that is not there is answered with the nearest",
            files={"config.yaml": "a: 1\n"},
            args={"a": "config.yaml", "b": "config.yml"},
            fails="E_NOT_FOUND",
            shows="config.yml is not there",
        ),
    ),
)
