"""What is kept beside a document between calls, and the text that native decoders read."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import msgspec

from toolbox.engines.documents import nesting
from toolbox.engines.documents.addresses import address
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.nodes import Elements, Members
from toolbox.engines.documents.surrogates import Shadow

SHADOW: Final = "shadow"
CHAIN: Final = "chain"
_KEPT: Final = "kept"
"""Keys of `Document.kept`: the shadow of a text with lone surrogates, what the pass that checked
the text found on its way, and a `Kept`."""

LEVELS: Final = 2_000
"""Room for recursion while decoding: above the deepest document that opens."""

INDEX_FROM_BYTES: Final = 16 * 1024
"""Containers from this size on keep their index between calls."""


class Kept(msgspec.Struct):
    """What is kept beside a document between calls."""

    text: bytes
    """What decoders read: the document's text, or its shadow."""
    view: memoryview
    base: int
    shadow: Shadow | None
    indexes: OrderedDict[int, Elements | Members] = msgspec.field(default_factory=OrderedDict)
    most_bytes: int = 0

    @property
    def kept_bytes(self) -> int:
        """What the indexes take."""
        return sum(index.kept_bytes for index in self.indexes.values())

    def keep(self, start: int, index: Elements | Members) -> None:
        self.indexes[start] = index
        spent = self.kept_bytes
        while spent > self.most_bytes and len(self.indexes) > 1:
            spent -= self.indexes.popitem(last=False)[1].kept_bytes


def kept_of(doc: Document) -> Kept:
    kept = doc.kept.get(_KEPT)
    if kept is None:
        shadow = doc.kept.get(SHADOW)
        text = shadow.text if isinstance(shadow, Shadow) else doc.text
        kept = doc.kept[_KEPT] = Kept(
            text, memoryview(text), address(text),
            shadow if isinstance(shadow, Shadow) else None,
            most_bytes=max(len(text) // 2, 1 << 20),
        )  # fmt: skip
    assert isinstance(kept, Kept)
    return kept


def kept_bytes(doc: Document) -> int:
    """About how much memory a document takes with what is kept beside it.

    What engines keep in `Document.kept` counts by its own attribute `kept_bytes`.
    """
    more = sum(getattr(one, "kept_bytes", 0) for one in doc.kept.values())
    shadow = len(doc.text) if doc.surrogates else 0
    marks = 0
    if doc.source_map is not None:
        marks = 4 * 8 * len(doc.source_map.text_starts)
    return len(doc.text) + shadow + more + marks + 100 * len(doc.spellings) + 4096


def readable(doc: Document) -> bytes:
    """The text for native decoders: as long as `doc.text`, with the same offsets.

    They differ only where there are lone surrogate escapes, which decoders refuse: in this text
    private-use characters stand for them. Never print slices of it.
    """
    return kept_of(doc).text


def decode(decoder: msgspec.json.Decoder[Any], data: bytes | memoryview) -> Any:
    try:
        return decoder.decode(data)
    except RecursionError:
        with nesting.room(LEVELS):
            return decoder.decode(data)
