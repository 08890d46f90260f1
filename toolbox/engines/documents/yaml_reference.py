"""ruamel.yaml's own parser: the reference where libyaml's scanner differs or fails.

It is some twenty times slower, so only small texts go here; its events are given as PyYAML's, so
that the one builder serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml import events as reference
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from yaml import events as plain

from toolbox.engines.documents.yaml_scalars import join_surrogates

FAILURES: Final = (
    YAMLError, AssertionError, ValueError, IndexError, KeyError, TypeError, AttributeError,
    RecursionError,
)  # fmt: skip
"""What its parser raises on a text it does not take: its own errors, and slips of its code."""


def open_reference(text: str) -> Callable[[], Any]:
    """A function that gives the text's events one by one, as PyYAML event objects."""
    events = iter(YAML(typ="safe", pure=True).parse(text))
    return lambda: _translate(next(events))


def _translate(event: Any) -> Any:
    start, end = event.start_mark, event.end_mark
    if isinstance(event, reference.ScalarEvent):
        return plain.ScalarEvent(
            event.anchor, event.tag, (True, True), join_surrogates(event.value), start, end,
            style=event.style,
        )  # fmt: skip
    if isinstance(event, reference.MappingStartEvent):
        return plain.MappingStartEvent(event.anchor, event.tag, True, start, end)
    if isinstance(event, reference.SequenceStartEvent):
        return plain.SequenceStartEvent(event.anchor, event.tag, True, start, end)
    if isinstance(event, reference.AliasEvent):
        return plain.AliasEvent(event.anchor, start, end)
    simple: dict[type, Any] = {
        reference.MappingEndEvent: plain.MappingEndEvent,
        reference.SequenceEndEvent: plain.SequenceEndEvent,
        reference.DocumentStartEvent: plain.DocumentStartEvent,
        reference.DocumentEndEvent: plain.DocumentEndEvent,
        reference.StreamStartEvent: plain.StreamStartEvent,
        reference.StreamEndEvent: plain.StreamEndEvent,
    }
    return simple[type(event)](start, end)


def word_failure(error: BaseException) -> tuple[str, Any] | None:
    """The message and mark of a parse failure, or None where it has no place."""
    if not isinstance(error, MarkedYAMLError):
        return None
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return None
    said = [part for part in (error.context, error.problem) if part]
    if error.context and error.context_mark is not None and error.context_mark is not mark:
        said[0] += f" (from line {error.context_mark.line + 1})"
    return ": ".join(said), mark
