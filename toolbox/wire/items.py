"""What a message holds: calls, tags that cannot be understood, and tags that are not run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolbox.errors import BadCall, TooLarge, ToolboxError, UnknownTool

Reason = Literal[
    "bad_quotes",
    "bad_json",
    "args_not_object",
    "bad_cmd",
    "stray_members",
    "truncated",
    "unknown_tool",
    "missing_name",
    "name_conflict",
    "duplicate_key",
    "duplicate_attribute",
    "bad_attribute",
    "no_tag_end",
    "too_large",
]
"""Why a tag is no call."""

Where = Literal["code", "thinking", "comment", "echo"]
"""Where a tag stands that is not run: Markdown code, a thinking block, an HTML comment, an echoed
reply."""

RIGHT_FORM: Final = (
    '<tool_call name="@json" args=\'{"cmd":"get","args":{"file":"resp.json","path":"data"}}\' />'
)

NAME_BYTES: Final = 1_024
"""A quoted name, id or unknown attribute; more is a quote that was never closed."""

FRAGMENTS: Final = frozenset({"bad_attribute", "no_tag_end"})
"""Reasons of a tag that never came to its end: inside code it is a mention, not a skipped call."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it was understood.

    args is the whole object as decoded (`{"cmd": …, "args": {…}}`, or flat as it was written);
    args_json is the JSON text of the verb's own arguments, its numbers spelled as in the message.
    """

    name: str
    """The tool, with its @."""
    cmd: str | None
    """The verb; None where none was given."""
    args: dict[str, Any]
    args_json: bytes
    raw: bytes
    """The JSON text of `args`."""
    id: str | None = None
    notes: tuple[str, ...] = ()
    """What the reply must say of how the call was read."""
    index: int = 0
    """Its place among the calls and refused tags of the message."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A tag that is answered with an error and never runs."""

    reason: Reason
    message: str
    """Where it broke, with a short preview."""
    hint: str | None = None
    """The right form."""
    name: str | None = None
    id: str | None = None
    at: dict[str, Any] = field(default_factory=dict)
    index: int = 0

    @property
    def code(self) -> str:
        """The error's stable code."""
        return self.error().code

    def error(self) -> ToolboxError:
        """The error that its reply carries."""
        kind: type[ToolboxError] = BadCall
        if self.reason == "unknown_tool":
            kind = UnknownTool
        elif self.reason == "too_large":
            kind = TooLarge
        return kind(self.message, hint=self.hint, at={"reason": self.reason, **self.at})


@dataclass(frozen=True, slots=True)
class Skipped:
    """A whole tag that is not run because of where it stands."""

    reason: Where


Item = Call | Bad | Skipped


def is_fragment(item: Call | Bad) -> bool:
    """Whether a refused tag never came to its end."""
    return isinstance(item, Bad) and item.reason in FRAGMENTS
