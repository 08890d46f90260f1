"""Values at a path of a document: one, or many where it fans out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec

from toolbox.engines.documents.document import Document
from toolbox.engines.documents.nodes import Node
from toolbox.engines.query.fanout import Matches, fan_out
from toolbox.engines.query.paths import Star, parse
from toolbox.engines.query.search import Looks, Match, Search

__all__ = ["Found", "Match", "Matches", "find"]

_PATHS_KEPT: Final = 512
_KEPT: Final = "found"
"""Key of `Document.kept`: path → steps, [start, end) and warnings of single values."""


class Found(msgspec.Struct, frozen=True):
    """What stands at a path."""

    matches: Sequence[Match]
    """In document order; exactly one where the path does not fan out, else `Matches`."""
    fans_out: bool
    missing: int = 0
    """Branches of a fan-out that lack the rest of the path."""
    warnings: tuple[str, ...] = ()
    """Duplicate keys that the path crosses."""

    @property
    def one(self) -> Match:
        return self.matches[0]


def find(doc: Document, path: str, deadline: Looks | None = None) -> Found:
    """The value, or values, at a path.

    BadPath where the path breaks the grammar; NoPath where it misses (for a fan-out only where
    every branch does), with the nearest keys and a corrected path.
    """
    kept = doc.kept.setdefault(_KEPT, OrderedDict())
    assert isinstance(kept, OrderedDict)
    known = kept.get(path)
    if known is not None:
        kept.move_to_end(path)
        steps, start, end, warnings = known
        return Found((Match(steps, Node(doc, start, end)),), False, warnings=warnings)
    search = Search(doc, parse(path), deadline)
    if any(isinstance(s, Star) for s in search.segments):
        matches = fan_out(search)
        return Found(matches, True, search.missing, tuple(search.warnings()))
    match = search.one()
    warnings = tuple(search.warnings())
    kept[path] = (match.steps, match.node.start, match.node.end, warnings)
    if len(kept) > _PATHS_KEPT:
        kept.popitem(last=False)
    return Found((match,), False, warnings=warnings)
