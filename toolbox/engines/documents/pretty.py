"""A value's text with its whitespace changed, piece by piece, so that depth cannot blow it up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolbox.engines.documents import lazy, walk
from toolbox.engines.documents.nodes import Node

PIECE_BYTES: Final = 64 * 1024
"""What is indented in one native call. Nested to the limit, a piece grows to some tens of MB."""


def write(node: Node, indent: int | None) -> Iterator[bytes]:
    """The value's text in pieces: members and elements on lines of their own, or all on one line.

    indent: spaces a level, None for no whitespace at all. Tokens stay verbatim, duplicate keys
    too. Pieces end between tokens.
    """
    if indent is None:
        yield lazy.compact(node)
        return
    stack: list[tuple[Iterator[tuple[bytes, Node]], bytes, bool]] = []
    first, here = b"", node
    while True:
        pad = b"\n" + b" " * (indent * len(stack))
        if here.end - here.start <= PIECE_BYTES or here.type not in ("object", "array"):
            made = lazy.indented(here, indent)
            yield first + (made.replace(b"\n", pad) if stack else made)
        else:
            is_object = here.type == "object"
            yield first + (b"{" if is_object else b"[")
            stack.append((_parts(here), b"}" if is_object else b"]", True))
        while stack:
            parts, closing, is_first = stack[-1]
            part = next(parts, None)
            if part is not None:
                inner = b"\n" + b" " * (indent * len(stack))
                stack[-1] = (parts, closing, False)
                first = (inner if is_first else b"," + inner) + part[0]
                here = part[1]
                break
            stack.pop()
            yield b"\n" + b" " * (indent * len(stack)) + closing
        else:
            return


def _parts(node: Node) -> Iterator[tuple[bytes, Node]]:
    """What goes before each value, and the value, of a large container; duplicates as well."""
    doc = node.doc
    if node.type == "array":
        for element in lazy.elements(node):
            yield b"", element
        return
    members = lazy.members(node)
    text = doc.text
    if members.repeats:
        for token, start, end in walk.walk_members(text, node.start):
            yield token + b": ", Node(doc, start, end)
        return
    at = node.start + 1
    for start, end in zip(members.starts, members.ends, strict=True):
        key = walk.KEY.match(text, at)
        assert key is not None
        yield key[1] + b": ", Node(doc, start, end)
        after = walk.GAP.match(text, end)
        at = after.end() if after else end
