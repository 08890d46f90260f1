"""Which format a source is in, and its document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, Protocol

from toolbox import limits
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.json_text import is_utf8, open_json
from toolbox.engines.documents.positions import BOM, locate, snippet
from toolbox.errors import InvalidArg, ParseFailed

Doc = int | Literal["*"] | None
Judged = Literal["json", "jsonl", "yaml", "either"]


class Looks(Protocol):
    """A deadline: `check` raises when it has passed."""

    def check(self) -> None: ...


_ENDINGS: Final[dict[str, Judged]] = {
    "json": "json", "jsonc": "json", "json5": "json",
    "jsonl": "jsonl", "ndjson": "jsonl", "jsonlines": "jsonl",
    "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
"""A file's ending → its format; any other is judged by the text."""

_OPENING: Final = re.compile(rb"[ \t\r\n]*+[\[{]")
_BRACES: Final = re.compile(rb"[ \t\r\n]*+(?:---[ \t]*\r?\n[ \t\r\n]*+)?\{\{")
_TEMPLATE: Final = re.compile(rb"\{\{-?[ \t]*(?:\.|\$|if\b|range\b|with\b|include\b|define\b|/\*)")


def judge(source: bytes, name: str | None) -> Judged:
    """The format of a source: by its file's ending, else by how its text begins.

    `either` is JSON if it parses, else YAML if that gives a mapping or a list. A YAML file whose
    text starts with `{` or `[` is judged as JSON only, so that a broken JSON text is not accepted
    as YAML's flow syntax.
    """
    ending = name.rsplit("/", 1)[-1].rpartition(".")[2].lower() if name and "." in name else ""
    judged = _ENDINGS.get(ending, "either")
    if judged in ("yaml", "either"):
        start = len(BOM) if source.startswith(BOM) else 0
        if _OPENING.match(source, start):
            return "json"
    return judged


def open_document(
    source: bytes,
    name: str | None = None,
    doc: Doc = None,
    *,
    chain: Sequence[str] = (),
    indexed: bool = False,
    deadline: Looks | None = None,
    nesting_levels: int = limits.NESTING_LEVELS,
) -> Document:
    """The document of a source, in the format that its name and text show (see `judge`).

    name: the file's name or path, None for text. doc: which document of a YAML stream, from 1, or
    "*" for all as an array. chain, indexed: the path asked next, as for `open_json`.
    ParseFailed where the source is not what it is judged to be; InvalidArg where there is no such
    `doc`.
    """
    judged = judge(source, name)
    if judged == "jsonl":
        from toolbox.engines.documents.jsonl import open_jsonl

        _one_document(doc, "a JSON Lines file is one array of its lines")
        return open_jsonl(source)
    if judged == "yaml":
        from toolbox.engines.documents.yaml_reader import open_yaml

        try:
            return open_yaml(source, doc, deadline)
        except ParseFailed as failed:
            raise _with_template_hint(failed, source) from None
    try:
        document = open_json(source, chain=chain, indexed=indexed, nesting_levels=nesting_levels)
    except ParseFailed as failed:
        if judged == "json":
            yaml_name = bool(name) and str(name).lower().endswith((".yaml", ".yml"))
            raise (_with_template_hint(failed, source) if yaml_name else failed) from None
        return _open_other(source, doc, deadline, failed)
    _one_document(doc, "JSON is one document")
    return document


def _one_document(doc: Doc, said: str) -> None:
    if doc not in (None, 1):
        raise InvalidArg(f"doc: {said}, got doc: {doc!r}", hint="call again without `doc`")


def _open_other(source: bytes, doc: Doc, deadline: Looks | None, failed: ParseFailed) -> Document:
    """A text that is no JSON and does not start as JSON, as YAML if that is a container."""
    from toolbox.engines.documents.yaml_reader import open_yaml

    start = len(BOM) if source.startswith(BOM) else 0
    if not is_utf8(source[start:]) or b"\0" in source or not source[start:].strip():
        raise failed
    try:
        document = open_yaml(source, doc, deadline)
    except ParseFailed as yaml_failed:
        raise _nearer(source[start:], failed, yaml_failed) from None
    if document.text.lstrip()[:1] in (b"{", b"["):
        return document
    first = len(source) - len(source[start:].lstrip())
    line, column = locate(source, first)
    raise ParseFailed(
        f"neither JSON nor a YAML mapping or list, from line {line} column {column} on; read as "
        f"JSON: {failed.message}",
        hint="give a .json, .jsonl or .yaml file, or text of one of these formats",
        at={**(failed.at or {}), "line": line, "column": column, "offset": first,
            "snippet": snippet(source, first)},
    )  # fmt: skip


_YAML_LIKE: Final = re.compile(rb"^(?:---|%YAML|[ \t]*(?:- |[\w./-]+:(?:[ \t]|\r?$)))", re.M)
_JSON_LIKE: Final = re.compile(rb'\s*(?://|/\*|"|\'|-?\d|(?:true|false|null|NaN|Infinity)\b)')


def _nearer(text: bytes, as_json: ParseFailed, as_yaml: ParseFailed) -> ParseFailed:
    """The error of the format that the text looks more like."""
    if _JSON_LIKE.match(text) or not _YAML_LIKE.search(text[:4096]):
        return as_json
    return as_yaml


def _with_template_hint(failed: ParseFailed, source: bytes) -> ParseFailed:
    if _TEMPLATE.search(source) or _BRACES.match(source):
        failed.hint = (
            "the text has {{ … }} of a template (Helm, Go, Jinja): ask of what it renders to "
            "(`helm template`), or of its values file"
        )
    return failed
