"""What the structural comparisons share: their two sides, inline or files, and their limits."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from msgspec import Meta

from sandbox.reader import read_file
from toolbox import limits
from toolbox.errors import InvalidArg, ParseFailed, TooLarge
from toolbox.output import number
from toolbox.verb import Args, Context

INLINE_BYTES: Final = 256 * 1024
"""One side given inline: what a model can sensibly write; files take more."""

CHANGES_DEFAULT: Final = 1_000
CHANGES_MOST: Final = 10_000
"""Changes that are listed; all are counted."""

BRIEF_CHANGES: Final = 20
"""Up to so many changes of inline sides, what a program asks of them is told once more."""


class SidesArgs(Args, frozen=True, kw_only=True):
    """Two sides, each inline or a file."""

    before: Annotated[str | None, Meta(description="the old side, inline")] = None
    after: Annotated[str | None, Meta(description="the new side, inline")] = None
    a: Annotated[str | None, Meta(description="instead of before: a file of the workspace")] = None
    b: Annotated[str | None, Meta(description="instead of after: a file of the workspace")] = None
    max_changes: Annotated[
        int, Meta(description="the most changes to list; all are counted", ge=1, le=CHANGES_MOST)
    ] = CHANGES_DEFAULT


class Given(NamedTuple):
    """One side as given: an inline text or a file's path."""

    name: str
    """The argument."""
    text: str | None
    file: str | None


def given(args: SidesArgs, verb: str) -> tuple[Given, Given]:
    """Both sides; InvalidArg unless each is given once. Inline ones are held to their limit."""
    sides = []
    problems: list[str] = []
    fields: list[str] = []
    for inline, file, which in (("before", "a", "old"), ("after", "b", "new")):
        text, path = getattr(args, inline), getattr(args, file)
        if (text is None) == (path is None):
            got = "neither" if text is None else "both"
            problems.append(f"expected one of {inline} and {file} for the {which} side, got {got}")
            fields.append(inline)
            continue
        sides.append(Given(file if text is None else inline, text, path))
    if problems:
        raise InvalidArg(
            f"@diff {verb}: " + "; ".join(problems),
            hint=f'{{"cmd": "{verb}", "args": {{"a": "old", "b": "new"}}}} for files, '
            "before and after for texts",
            at={"fields": fields},
        )
    for side in sides:
        if side.text is not None:
            size = len(side.text.encode())
            if size > INLINE_BYTES:
                raise TooLarge(
                    f"{side.name}: {number(size)} bytes, at most {number(INLINE_BYTES)} are taken "
                    "inline",
                    hint="give a file of the workspace instead",
                    at={"size_bytes": size, "limit_bytes": INLINE_BYTES},
                )
    return sides[0], sides[1]


def read_text(side: Given, ctx: Context) -> bytes:
    """The bytes of a side that is a text; ParseFailed where they are not UTF-8."""
    if side.text is not None:
        return side.text.encode()
    assert side.file is not None
    data = read_file(
        ctx.root, side.file, limit_bytes=limits.DIFF_FILE_BYTES, what="structural diff"
    ).data
    try:
        data.decode()
    except UnicodeDecodeError as broken:
        line = data.count(b"\n", 0, broken.start) + 1
        encoding = ""
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            encoding = ", which begins like UTF-16"
        raise ParseFailed(
            f"{side.file}: expected UTF-8, got the byte 0x{data[broken.start]:02x} at offset "
            f"{broken.start}, line {line}{encoding}",
            hint="save it as UTF-8 first, or compare it with @diff files",
            at={"path": side.file, "offset": broken.start, "line": line},
        ) from None
    return data
