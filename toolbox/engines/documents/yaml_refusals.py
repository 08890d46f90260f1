"""Why YAML that parses is refused, and what one stream may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """Raised for YAML that parses but means nothing; `mark` is where, `cause` what mends it."""

    def __init__(self, message: str, mark: Any, *, cause: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.mark = mark
        self.cause = cause


class Differs(Exception):
    """Raised where libyaml ends a name earlier than YAML 1.2 does (`*a:` is an alias to `a:`)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one stream may cost."""

    levels: int
    """Nesting of the JSON text."""
    expansion_factor: int
    expansion_nodes: int
    """Nodes that aliases may copy: this many, or the factor times the stream's own."""
    expansion_characters: int
    """Characters that aliases may copy."""
    complex_key_nodes: int
    """Nodes of a container that is a key: it is printed whole, as the key's name."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A mark for a place that is known by its index alone."""

    index: int


def repeated(name: str, mark: Any, first: Any) -> Refused:
    shown = name if len(name) <= 60 else name[:57] + "…"
    return Refused(
        f"duplicate key {shown!r}: first at line {first.line + 1}, column {first.column + 1}, "
        f"again at line {mark.line + 1}, column {mark.column + 1}",
        mark, cause="a mapping holds each key once: remove or rename one of the two",
    )  # fmt: skip


def too_deep(levels: int, mark: Any) -> Refused:
    return Refused(
        f"nested deeper than the {levels:,} levels that are read".replace(",", " "), mark,
        cause="the nesting is past the toolbox's limit; flatten the file or ask for a part of it",
    )  # fmt: skip
