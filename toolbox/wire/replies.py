"""Replies as tags, which a program reads by their length and a model by eye."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_LOOKS_LIKE_TAG = re.compile(r"<(?=/?tool_)", re.IGNORECASE | re.ASCII)
_UNSAFE = re.compile(r"[&<>\"'\x00-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff]")
_NAMED: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def quote_attribute(value: str) -> str:
    """A value between double quotes; control characters that no reader takes become U+FFFD."""
    return '"' + _UNSAFE.sub(lambda m: _NAMED.get(m[0]) or _reference(m[0]), value) + '"'


_REFERABLE: Final = frozenset("'\t\n\r\u2028\u2029")
"""What a numeric reference brings back in every reader; other control characters have none."""


def _reference(char: str) -> str:
    return f"&#{ord(char)};" if char in _REFERABLE else "\ufffd"


def format_result(
    name: str, cmd: str | None, id: str | None, ok: bool, text: str, truncated: bool = False
) -> bytes:
    """One reply: `<tool_result name cmd id status bytes …>`, the body, the closing tag.

    `bytes` counts the body as it stands, without the newline before and after it. A body that
    holds text like one of these tags has the `<` of each written as `&lt;`, and says so.
    """
    attributes = []
    if name:
        attributes.append(("name", name))
    if cmd is not None:
        attributes.append(("cmd", cmd))
    if id is not None:
        attributes.append(("id", id))
    attributes.append(("status", "ok" if ok else "error"))
    return _block("tool_result", attributes, text, truncated=truncated)


def format_note(text: str, skipped: Sequence[str] = ()) -> bytes:
    """What is said of a message beside its replies: tags that were not run, or that it had none."""
    attributes = [("skipped", str(len(skipped)))]
    if skipped:
        attributes.append(("reasons", " ".join(sorted(set(skipped)))))
    return _block("tool_note", attributes, text, truncated=False)


def _block(tag: str, attributes: list[tuple[str, str]], text: str, *, truncated: bool) -> bytes:
    body, escapes = _LOOKS_LIKE_TAG.subn("&lt;", text)
    data = body.encode("utf-8", "backslashreplace")
    attributes.append(("bytes", str(len(data))))
    if truncated:
        attributes.append(("truncated", "true"))
    if escapes:
        attributes.append(("escaped", "true"))
    head = "".join(f" {key}={quote_attribute(value)}" for key, value in attributes)
    return b"<%s%s>\n%s\n</%s>\n" % (tag.encode(), head.encode(), data, tag.encode())
