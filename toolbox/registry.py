"""The verbs there are: an explicit table, each verb imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from toolbox.arguments import fields_of, nearest
from toolbox.errors import UnknownTool, UnknownVerb
from toolbox.verb import Verb

TOOLS: Final[dict[str, tuple[str, ...]]] = {
    "json": ("get", "keys", "query", "schema", "validate", "pretty"),
    "diff": (
        "files",
        "text",
        "dirs",
        "lines",
        "json",
        "csv",
        "markdown",
        "patch",
        "revisions",
        "sequence",
        "apply",
        "undo",
        "history",
    ),
}
"""Tool → its verbs, in the order in which help and catalogue list them. Each is the module
`toolbox.verbs.<tool>.<verb>`, whose `VERB` is the record."""


@lru_cache(maxsize=64)
def load(tool: str, name: str) -> Verb[Any]:
    """The record of a verb that the table has."""
    verb = import_module(f"toolbox.verbs.{tool}.{name}").VERB
    assert isinstance(verb, Verb) and (verb.tool, verb.name) == (tool, name)
    fields_of(verb.args)
    return verb


def find(tool: str, name: object) -> Verb[Any]:
    """The record of a verb, by a name that a caller gave; raises with the nearest name."""
    tool = tool.removeprefix("@")
    if tool not in TOOLS:
        near = nearest(tool, list(TOOLS))
        raise UnknownTool(
            f"no tool @{tool[:40]}",
            hint=(f"did you mean @{near}? " if near else "") + "the tools are @json and @diff",
            at={"tool": tool[:40], "nearest": near},
        )
    verbs = TOOLS[tool]
    if not isinstance(name, str) or name not in verbs:
        given = name if isinstance(name, str) else None
        near = nearest(given, list(verbs)) if given else None
        raise UnknownVerb(
            f"@{tool} has no verb {given[:40]!r}" if given else f"@{tool}: no verb given in `cmd`",
            hint=(f"did you mean {near!r}? " if near else "")
            + f"the verbs of @{tool} are {', '.join(verbs)}",
            at={"verb": given[:40] if given else None, "nearest": near},
        )
    return load(tool, name)


def all_verbs() -> tuple[Verb[Any], ...]:
    """Every verb's record, in the table's order."""
    return tuple(load(tool, name) for tool, names in TOOLS.items() for name in names)


def is_write(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether a call (`{"cmd": …, "args": {…}}`) changes the workspace; False for unknown ones."""
    tool = tool.removeprefix("@")
    cmd = args.get("cmd")
    if tool not in TOOLS or not isinstance(cmd, str) or cmd not in TOOLS[tool]:
        return False
    inner = args.get("args", args)
    return isinstance(inner, Mapping) and load(tool, cmd).writes(inner)
