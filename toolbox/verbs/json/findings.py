"""What `validate` warns of in a valid document, as records and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from toolbox.engines.documents.document import Document
from toolbox.engines.documents.duplicates import find_repeats
from toolbox.engines.documents.inexact import find_inexact
from toolbox.engines.documents.json_text import BOM_NOTE
from toolbox.engines.documents.positions import locate
from toolbox.engines.query.paths import format_steps
from toolbox.verb import Context
from toolbox.verbs.json.source import count

Kind = Literal[
    "duplicate key", "number", "byte order mark", "documents", "nesting", "invalid line", "note"
]


_KEPT: Final = "validate.warnings"
"""Key of `Document.kept`: the warnings, which take a pass over the document to find."""


class Warned(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something in a valid document that other programs may read differently."""

    kind: Kind
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    count: int | None = None
    """How often a key stands, how many documents there are, how many more of the kind."""


def find_warnings(doc: Document, ctx: Context) -> list[Warned]:
    """Everything in a document that other programs may read differently."""
    known = doc.kept.get(_KEPT)
    if isinstance(known, list):
        return known
    found = [*_warn_of_notes(doc), *_warn_of_keys(doc, ctx), *_warn_of_numbers(doc, ctx)]
    doc.kept[_KEPT] = found
    return found


def _warn_of_notes(doc: Document) -> Iterator[Warned]:
    documents = count_documents(doc)
    for note in doc.notes:
        if note == BOM_NOTE:
            yield Warned("byte order mark", note, line=1, column=1)
        elif documents is not None and documents != 1 and f"{documents}" in note:
            yield Warned(
                "documents",
                f"the file holds {documents} YAML documents; a verb answers from the first, or "
                'from the one that `doc` names, `doc: "*"` from all',
                count=documents,
            )
        else:
            yield Warned("note", note)


def _place(doc: Document, offset: int) -> tuple[int, int | None]:
    """The line, and in JSON the column, of an offset in the document's text."""
    if doc.format == "json":
        return locate(doc.text, offset)
    return doc.place(offset, offset + 1).line, None


def _say_place(line: int, column: int | None) -> str:
    return f"line {line}" + (f", column {column}" if column is not None else "")


def _warn_of_keys(doc: Document, ctx: Context) -> Iterator[Warned]:
    found = find_repeats(doc, deadline=ctx.deadline)
    for one in found.told:
        path = format_steps(one.steps)
        line, column = _place(doc, one.offset)
        yield Warned(
            "duplicate key",
            f"duplicate key {path}: {one.count} times in its object, again at "
            f"{_say_place(line, column)}; the last counts",
            path, line, column, one.count,
        )  # fmt: skip
    if found.total > len(found.told):
        more = found.total - len(found.told)
        yield Warned("duplicate key", f"and {count(more)} more duplicate keys", count=more)


def _warn_of_numbers(doc: Document, ctx: Context) -> Iterator[Warned]:
    found = find_inexact(doc, deadline=ctx.deadline)
    for one in found.told:
        line, column = _place(doc, one.offset)
        path = format_steps(one.steps)
        what = "range" if one.beyond_range else "precision"
        yield Warned(
            "number",
            f"number beyond a double's {what} at {path or 'the root'}, "
            f"{_say_place(line, column)}: {one.spelling} (a reader of doubles gets {one.becomes})",
            path, line, column,
        )  # fmt: skip
    if found.total > len(found.told):
        more = found.total - len(found.told)
        least = "" if found.whole else "at least "
        yield Warned("number", f"and {least}{count(more)} more such numbers", count=more)


def show_warning(one: Warned) -> str:
    return f"warning: {one.message}"


def count_documents(doc: Document) -> int | None:
    """The documents of a YAML file; None for other formats."""
    found = doc.kept.get("yaml.documents")
    return found if isinstance(found, int) else None
