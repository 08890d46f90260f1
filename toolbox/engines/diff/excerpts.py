"""A value for a reader: whole where it is small, else its first elements, still valid JSON."""

from __future__ import annotations

from typing import Final

import msgspec

from toolbox.engines.documents import lazy
from toolbox.engines.documents.nodes import Node

PREVIEW_CHARACTERS: Final = 160
_LEAST_BYTES: Final = 24
_encode = msgspec.json.Encoder().encode


def excerpt(node: Node, most: int | None) -> tuple[bytes, bool]:
    """The value as compact JSON of at most about `most` bytes, and whether it is whole."""
    if most is None or node.end - node.start <= most:
        return lazy.compact(node), True
    kind = node.type
    if kind in ("object", "array"):
        return _container(node, kind == "object", most)
    if kind == "string":
        text = lazy.text_of(node)
        return _encode(_clip(text, most)), False
    return _encode(_clip(node.raw.decode("ascii"), most)), False


def _container(node: Node, is_object: bool, most: int) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    left = most - 2
    whole = True
    pairs = lazy.members(node) if is_object else ((None, one) for one in lazy.elements(node))
    for key, value in pairs:
        name = b"" if key is None else _encode(key) + b":"
        room = left - len(name) - 1
        if room < _LEAST_BYTES:
            whole = False
            break
        data, complete = excerpt(value, room)
        parts.append(name + data)
        left = room - len(data)
        if not complete:
            whole = False
            break
    body = b",".join(parts)
    return (b"{%s}" if is_object else b"[%s]") % body, whole


def _clip(text: str, most: int) -> str:
    kept = text[:most]
    while kept and len(_encode(kept)) > most:
        kept = kept[: len(kept) * 3 // 4]
    return kept


def preview(node: Node) -> str:
    """The value in one short line."""
    data, whole = excerpt(node, PREVIEW_CHARACTERS)
    text = data.decode("utf-8", "replace")
    if not whole:
        text += f" … {lazy.summary(node)}"
    return text
