"""What every verb of `@json` takes first, and how it words what it shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Final, Literal

from msgspec import Meta

from toolbox.engines.documents import lazy
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.paths import Step, format_steps, is_bare, join, quote_key
from toolbox.verb import Args, Context

EXACTLY_ONE: Final = (("file", "text"),)

DOCUMENT_ERRORS: Final = (
    "E_NOT_FOUND", "E_NOT_A_FILE", "E_OUTSIDE_WORKSPACE", "E_TOO_LARGE", "E_CHANGED", "E_PARSE",
)  # fmt: skip
PATH_ERRORS: Final = ("E_BAD_PATH", "E_NO_PATH")

SPELLINGS_TOLD: Final = 50
"""Numbers of YAML that are no JSON, told one by one in a result."""

_REPEATS_TOLD: Final = 5

_PATH_CHARACTERS: Final = 4_000


class SourceArgs(Args, frozen=True, kw_only=True):
    """The document that is asked."""

    file: Annotated[
        str | None,
        Meta(description="a JSON, JSON Lines or YAML file of the workspace, up to 20 MiB"),
    ] = None
    text: Annotated[str | None, Meta(description="the document itself, instead of `file`")] = None
    doc: Annotated[
        int | Literal["*"] | None,
        Meta(description='which document of a YAML file, from 1; "*" for all as an array'),
    ] = None


def open_source(args: SourceArgs, ctx: Context, path: str | None = None) -> Document:
    """The document that a call asks, kept or opened; `path` may be followed on the way."""
    return ctx.documents.open(
        file=args.file, text=args.text, doc=args.doc, path=path, deadline=ctx.deadline
    )


def decode(data: bytes) -> str:
    """A slice of a document as text."""
    return data.decode("utf-8")


def show_key(key: str) -> str:
    """A key as a line shows it: bare where that cannot be misread, else quoted."""
    return key if is_bare(key) else quote_key(key)[1:-1]


def show_string(node: Node) -> str:
    """A string without quotes; lone surrogates stay escapes."""
    text = lazy.text_of(node)
    if not node.doc.surrogates:
        return text
    return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) < 0xE000 else c for c in text)


def clip_path(path: str) -> str:
    """A path for a result; one that is longer than that (a key can be) ends in `…`."""
    return path if len(path) <= _PATH_CHARACTERS else path[:_PATH_CHARACTERS] + "…"


def count(n: int) -> str:
    """An integer with its thousands apart by a space."""
    return f"{n:,}".replace(",", " ")


def take_rows(rows: Iterable[str], cap_bytes: int | None) -> list[str]:
    """The rows that a cap could hold, and the first that it could not; all without a cap."""
    if cap_bytes is None:
        return list(rows)
    taken: list[str] = []
    spent = 0
    for row in rows:
        taken.append(row)
        spent += len(row) + 1
        if spent > cap_bytes:
            break
    return taken


def spellings(node: Node, steps: tuple[Step, ...]) -> list[str]:
    """The paths, below a value, of YAML numbers that JSON cannot spell."""
    if not node.doc.spellings:
        return []
    inside = sorted(s for s in node.doc.spellings if node.start <= s < node.end)
    return [
        format_steps((*steps, *_steps_to(node, offset)))
        for offset in islice(inside, SPELLINGS_TOLD)
    ]


def _steps_to(node: Node, offset: int) -> list[Step]:
    steps: list[Step] = []
    while node.start != offset and node.type in ("array", "object"):
        if node.type == "array":
            elements = lazy.elements(node)
            at = _holding(elements.starts, offset)
            steps.append(at)
            node = elements[at]
        else:
            members = lazy.members(node)
            at = _holding(members.starts, offset)
            key, node = members[at]
            steps.append(key)
    return steps


def _holding(starts: Sequence[int], offset: int) -> int:
    at = bisect_left(starts, offset)
    return at if at < len(starts) and starts[at] == offset else at - 1


def spelling_notes(node: Node, told: Sequence[str]) -> tuple[str, ...]:
    """The note for YAML numbers that stand as strings in the JSON shown."""
    if not told:
        return ()
    if node.spelled:
        return (
            f"{lazy.text_of(node)} is a number of YAML that JSON cannot spell; in `result` it is "
            "a string",
        )
    shown = ", ".join(told[:5]) + (" …" if len(told) > 5 else "")
    return (f"numbers of YAML that JSON cannot spell, shown as strings: {shown}",)


def repeat_notes(node: Node, path: str) -> tuple[str, ...]:
    """The notes for keys that stand more than once in an object."""
    repeats = lazy.members(node).repeats
    told = [
        f"duplicate key: {join(path, key)[:500]} stands {times} times; the last counts"
        for key, times in islice(repeats.items(), _REPEATS_TOLD)
    ]
    if len(repeats) > len(told):
        told.append(f"… and {count(len(repeats) - len(told))} more duplicate keys")
    return tuple(told)
