"""`@diff patch`: a unified diff that was tried: applied in memory, it gives the other side."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from toolbox import limits
from toolbox.engines.diff.lines import count, show
from toolbox.engines.diff.unified import UnifiedDiff, unified
from toolbox.engines.patch.outcome import Options, State
from toolbox.engines.patch.parse import parse
from toolbox.engines.patch.plan import plan
from toolbox.errors import InvalidArg
from toolbox.output import number
from toolbox.verb import Answer, Context, Example, Result, Verb
from toolbox.verbs.diff.structural import SidesArgs, given, read_text

_TARGET: Final = "file"
"""The name under which the patch is tried; the one that it prints does not matter then."""


class PatchArgs(SidesArgs, frozen=True, kw_only=True):
    context: Annotated[
        int,
        Meta(description="common lines around each change", ge=0, le=limits.CONTEXT_MOST),
    ] = limits.CONTEXT_DEFAULT
    ignore_whitespace: Annotated[bool, Meta(description="refused: a patch is exact")] = False
    ignore_case: Annotated[bool, Meta(description="refused: a patch is exact")] = False
    format: Annotated[Literal["unified"], Meta(description="a unified diff")] = "unified"


class PatchStats(Result, frozen=True, kw_only=True):
    addedLines: int
    removedLines: int
    unchangedLines: int


class PatchResult(Result, frozen=True, kw_only=True):
    kind: Literal["patch"] = "patch"
    equal: bool
    """Whether the sides are the same bytes."""
    truncated: bool
    beforeBytes: int
    afterBytes: int
    changes: int
    """Lines that the whole patch adds and removes."""
    summary: PatchStats
    stats: PatchStats
    """`summary` again."""
    patch: str
    valid: bool
    """Whether `patch`, as it stands here, applies to before and gives after."""
    hunks: int
    """Hunks in `patch`."""
    hunksTotal: int
    targetMatchesAfter: bool
    patchComplete: bool
    errors: list[str]
    """Why it does not apply."""


def run(args: PatchArgs, ctx: Context) -> Answer:
    """The patch from one side to the other, and what came of applying it."""
    if args.ignore_whitespace or args.ignore_case:
        raise InvalidArg(
            "the patch action does not support ignore options: a patch that leaves differences "
            "out does not give the other side",
            hint="@diff text and @diff files take them, for reading",
            at={"fields": [n for n in ("ignore_whitespace", "ignore_case") if getattr(args, n)]},
        )
    sides = given(args, "patch")
    before, after = (read_text(side, ctx) for side in sides)
    # Both lines name the old file, which the patch is for; texts have no file.
    old, new = ("before", "after")
    if sides[0].file is not None:
        old, new = f"a/{sides[0].file}", f"b/{sides[0].file}"
    made = unified(
        before, after, a_name=old, b_name=new, context=args.context, deadline=ctx.deadline
    )
    errors = _try(made, before, after, ctx)
    return _answer(args, made, before, after, errors)


def _try(made: UnifiedDiff, before: bytes, after: bytes, ctx: Context) -> list[str]:
    """Why the patch does not turn one side into the other; empty where it does."""
    if not made.hunks:
        return [] if before == after else ["there is no hunk, although the sides differ"]
    parsed = parse(made.render(), clock=ctx.deadline)
    outcome = plan(
        parsed,
        lambda path: State("file", before) if path == _TARGET else State("missing"),
        Options(file=_TARGET),
        clock=ctx.deadline,
    )
    if outcome.refused:
        fault = [outcome.fault.message] if outcome.fault is not None else []
        return [*fault, *(file.reason for file in outcome.files if not file.fits)]
    if len(outcome.files) != 1 or outcome.files[0].after != after:
        return ["applied, it gives something else than after"]
    return []


def _answer(
    args: PatchArgs, made: UnifiedDiff, before: bytes, after: bytes, errors: list[str]
) -> Answer:
    hunks = [show(hunk.render()) for hunk in made.hunks]
    stats = PatchStats(
        addedLines=made.insertions,
        removedLines=made.deletions,
        unchangedLines=count(before) - made.deletions,
    )
    header = show(made.header)

    def result(shown: int) -> PatchResult:
        complete = shown == len(hunks)
        return PatchResult(
            equal=before == after,
            truncated=not complete,
            beforeBytes=len(before),
            afterBytes=len(after),
            changes=made.insertions + made.deletions,
            summary=stats,
            stats=stats,
            patch=header + "".join(hunks[:shown]) if hunks and shown else "",
            valid=complete and not errors,
            hunks=min(shown, len(hunks)),
            hunksTotal=len(hunks),
            targetMatchesAfter=complete and not errors,
            patchComplete=complete,
            errors=errors if complete else ["cut: the patch is not complete"],
        )

    def head(shown: int) -> str:
        if not hunks:
            return "identical: there is nothing to patch"
        told = f"{number(made.insertions)} lines added, {number(made.deletions)} removed"
        if shown < len(hunks):
            tried = "not valid: cut"
        else:
            tried = "applied in memory it gives after" if not errors else "not valid"
        return f"{told}; {tried}\n{header.rstrip()}"

    return Answer(
        result=result,
        rows=[hunk.removesuffix("\n") for hunk in hunks],
        head=head,
        notes=((made.note,) if made.note else ()) + tuple(errors),
        noun="hunks",
        more=lambda _: "max_bytes or a lower context for more; a patch that is cut does not apply",
        negative=before != after,
    )


VERB = Verb(
    tool="diff",
    name="patch",
    summary="A unified diff between two texts, and proof that it applies and gives the second.",
    args=PatchArgs,
    result=PatchResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_INVALID_ARG", "E_PARSE", "E_TOO_LARGE", "E_NOT_FOUND", "E_NOT_A_FILE"),
    limits=("a side is at most 256 KiB inline, 4 MiB as a file",),
    positional=("a", "b"),
    examples=(
        Example(
            about="a patch that was tried",
            args={"before": "one\ntwo\n", "after": "one\n2\n"},
            shows="applied in memory it gives after",
        ),
        Example(
            about="ignore options make no patch",
            args={"before": "A", "after": "a", "ignore_case": True},
            shows="does not support ignore",
            fails="E_INVALID_ARG",
        ),
    ),
)
