"""The likely cause of a YAML failure, from what the parser said and what stands there."""

from __future__ import annotations

import re
from typing import Final

_CAUSES: Final = (
    (r"cannot start any token", r"\t", "a tab as indentation: YAML indents by spaces only"),
    (r"", r"[ ]*\t+\S", "a tab as indentation: YAML indents by spaces only"),
    (r"cannot start any token", r"[@`]", "a plain value cannot start with @ or `: quote it"),
    (r"cannot start any token", r"%", "a plain value cannot start with %: quote it"),
    (r"", r"(?:<{7}|={7}|>{7})(?: |$)", "a merge conflict marker: the conflict is unresolved"),
    (r"mapping values are not allowed", r"",
     "a value that holds “: ” must be quoted, or the line is indented too deep"),
    (r"while scanning a simple key|could not find expected ':'", r"",
     "a key without its colon, or a text of several lines that needs quotes or |"),
    (r"while parsing a block mapping", r"-", "a list entry among keys: check the indentation"),
    (r"while parsing a block (?:mapping|collection)", r"",
     "the indentation fits no open mapping or list: align the keys, or quote the value before"),
    (r"while parsing a flow (?:sequence|mapping)", r"", "a missing comma or closing bracket"),
    (r"while scanning a quoted scalar", r"",
     "a closing quote is missing, or a quote inside is not doubled or escaped"),
    (r"escape", r"",
     "a backslash in double quotes starts an escape: double it, or use single quotes"),
    (r"undefined tag handle", r"", "a tag with a handle needs a %TAG line, or one ! only"),
    (r"alphabetic or numeric|while scanning an (?:alias|anchor)", r"",
     "a plain value cannot start with * or &: quote it (globs, Markdown, pointers)"),
    (r"expected '?<document start>'?|did not find expected <document start>", r"",
     "text after the end of the document: a second one starts with ---"),
)  # fmt: skip


_TEMPLATE: Final = re.compile(
    rb"\{\{-?\s*(?:[.$/]|(?:if|else|end|range|with|include|define|template|toYaml|tpl)\b)|\{%"
)


def find_cause(said: str, source: bytes, offset: int) -> str | None:
    """What most likely went wrong where the parser stopped, and how to mend it."""
    rest = source[offset : offset + 200].decode("utf-8", "replace")
    line_start = max(source.rfind(b"\n", 0, offset), source.rfind(b"\r", 0, offset)) + 1
    line = source[line_start : offset + 200].decode("utf-8", "replace")
    around = source[max(0, line_start - 200) : line_start] + line.encode()
    if _TEMPLATE.search(around):
        return "a template ({{ … }}, as in Helm or Jinja): render it first"
    for words, text, cause in _CAUSES:
        if not re.search(words, said):
            continue
        if re.match(text, rest) or (not words and re.match(text, line)):
            return cause
    return None
