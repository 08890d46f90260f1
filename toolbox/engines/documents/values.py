"""A value as characters and as text: tokens verbatim, whitespace as asked."""

from __future__ import annotations

from typing import Final

import msgspec

from toolbox.engines.documents import nesting
from toolbox.engines.documents.kept import LEVELS, kept_of
from toolbox.engines.documents.nodes import Node
from toolbox.engines.documents.surrogates import copy_escapes

_string: Final = msgspec.json.Decoder(str)


def text_of(node: Node) -> str:
    """The characters of a string; lone surrogates are in it as they are. For a YAML number
    that is no JSON, its spelling."""
    lazy = kept_of(node.doc)
    token = lazy.view[node.start : node.end]
    found: str = _string.decode(token)
    return found if lazy.shadow is None else lazy.shadow.restore(found)


def compact(node: Node) -> bytes:
    """The value without whitespace between its tokens, which stay verbatim."""
    raw = node.raw
    if raw[0] not in b"[{":
        return raw
    lazy = kept_of(node.doc)
    if lazy.shadow is None:
        return _format(raw, -1)
    return copy_escapes(raw, _format(lazy.text[node.start : node.end], -1))


def indented(node: Node, indent: int) -> bytes:
    """The value with each member and element on a line of its own."""
    lazy = kept_of(node.doc)
    made = _format(lazy.text[node.start : node.end], indent)
    return made if lazy.shadow is None else copy_escapes(node.raw, made)


def _format(data: bytes, indent: int) -> bytes:
    try:
        return msgspec.json.format(data, indent=indent)
    except RecursionError:
        with nesting.room(LEVELS):
            return msgspec.json.format(data, indent=indent)
