"""`@diff lines`: the changed lines of two texts as JSON records, never the unchanged ones."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolbox import limits
from toolbox.engines.diff.myers import HasCheck
from toolbox.engines.diff.unified import changes
from toolbox.errors import TooLarge
from toolbox.output import number
from toolbox.verb import Answer, Args, Context, Example, Result, Verb

TEXT_CHARACTERS: Final = 200_000
"""Of one text; a longer one is refused: half of a text would give a misleading answer."""

RECORDS: Final = 500
"""Changed lines that are listed; past it one last record says what so many suggest."""


class LinesArgs(Args, frozen=True, kw_only=True):
    old_text: Annotated[str, Meta(description="the text before")]
    new_text: Annotated[str, Meta(description="the text after")]


class Record(Result, frozen=True, kw_only=True):
    """One changed line; a side that lacks it is null. Line numbers are 1-based.

    The last record, where more lines changed than are listed, has only `change` and `message`.
    """

    change: Literal["replaced", "deleted", "inserted", "truncated"]
    lineOld: int | UnsetType | None = UNSET
    lineNew: int | UnsetType | None = UNSET
    textOld: str | UnsetType | None = UNSET
    textNew: str | UnsetType | None = UNSET
    message: str | UnsetType = UNSET


def run(args: LinesArgs, ctx: Context) -> Answer:
    """The records in order; lines of a changed block pair by position."""
    for name, text in (("old_text", args.old_text), ("new_text", args.new_text)):
        if len(text) > TEXT_CHARACTERS:
            raise TooLarge(
                f"{name}: expected at most {number(TEXT_CHARACTERS)} characters, "
                f"got {number(len(text))}",
                hint="narrow the comparison to the section that matters",
                at={"fields": [name], "characters": len(text), "limit": TEXT_CHARACTERS},
            )
    found, note = changed_lines(args.old_text, args.new_text, deadline=ctx.deadline)
    records = found[:RECORDS]
    if len(found) > RECORDS:
        records.append(
            Record(
                change="truncated",
                message=f"showing {RECORDS} of {number(len(found))} changed lines: so many suggest "
                "that the two texts are largely unrelated rather than close revisions; compare "
                "smaller sections",
            )
        )
    encoder = msgspec.json.Encoder()
    last = len(records) - 1
    rows = [
        encoder.encode(one).decode() + ("," if k < last else "") for k, one in enumerate(records)
    ]

    def result(shown: int) -> list[Record]:
        if shown >= len(records):
            return records
        cut = Record(
            change="truncated",
            message=f"showing {number(shown)} of {number(len(found))} changed lines: the output is "
            "full; compare smaller sections",
        )
        return [*records[:shown], cut]

    return Answer(
        result=result,
        rows=rows,
        head=lambda _: "[" if rows else "[]",
        tail="]" if rows else "",
        notes=(note,) if note else (),
        noun="records",
        more=lambda _: "compare smaller sections",
        truncated=len(found) > RECORDS,
        negative=bool(found),
    )


def changed_lines(
    old_text: str, new_text: str, *, deadline: HasCheck | None = None
) -> tuple[list[Record], str | None]:
    """Every changed line, and the note of a search that was cut short.

    One final newline is dropped from either text first, so that a text with and one without it
    are the same.
    """
    old = _lines(old_text, new_text)
    new = _lines(new_text, old_text)
    blocks, note = changes(_joined(old), _joined(new), deadline=deadline)
    records = []
    for i, i_end, j, j_end in blocks:
        for k in range(max(i_end - i, j_end - j)):
            here, there = k < i_end - i, k < j_end - j
            records.append(
                Record(
                    change="replaced" if here and there else "deleted" if here else "inserted",
                    lineOld=i + k + 1 if here else None,
                    lineNew=j + k + 1 if there else None,
                    textOld=old[i + k] if here else None,
                    textNew=new[j + k] if there else None,
                )
            )
    return records, note


def _lines(text: str, other: str) -> list[str]:
    """The lines without the final newline; only a line feed ends one.

    A carriage return before it goes with it where that makes the last lines of both texts the
    same: it belongs to the newline that is not to count.
    """
    bare = text.removesuffix("\n")
    if bare != text and bare.endswith("\r") and not other.endswith("\n"):
        shorter = bare[:-1]
        if shorter.rpartition("\n")[2] == other.rpartition("\n")[2]:
            bare = shorter
    text = bare
    return text.split("\n") if text else []


def _joined(lines: list[str]) -> bytes:
    return "".join([line + "\n" for line in lines]).encode()


VERB = Verb(
    tool="diff",
    name="lines",
    summary="The changed lines of two texts as a JSON array, one record for each.",
    args=LinesArgs,
    result=list[Record],
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_TOO_LARGE",),
    limits=(
        f"{number(TEXT_CHARACTERS)} characters a text; more is E_TOO_LARGE",
        f"{RECORDS} records, then one that says so",
    ),
    positional=("old_text", "new_text"),
    examples=(
        Example(
            about="two lines became three: pairs by position, the rest inserted",
            args={"old_text": "a\nb\nc\n", "new_text": "a\nX\nY\nZ\n"},
            shows='{"change":"inserted","lineOld":null,"lineNew":4,"textOld":null,"textNew":"Z"}',
        ),
        Example(
            about="only a final newline differs: that is no change",
            args={"old_text": "same", "new_text": "same\n"},
            shows="[]",
        ),
    ),
)
