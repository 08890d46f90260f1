"""Every door's view of the verbs, one projection each: catalogue, MCP tools, schemas."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec

from toolbox import arguments
from toolbox.registry import TOOLS, all_verbs, load
from toolbox.verb import Verb

VERSION: Final = "1.0.0"
"""The version of every entry of the catalogue; it changes when arguments or results do."""


COMMON_ERRORS: Final = (
    "E_INVALID_ARG",
    "E_TOO_LARGE",
    "E_TIMEOUT",
    "E_BUSY",
    "E_CANCELLED",
    "E_INTERNAL",
)
"""Codes that a call of any verb may get, whatever it does."""


def entry_id(verb: Verb[Any]) -> str:
    """The catalogue's name of a verb: `json-get`."""
    return f"{verb.tool}-{verb.name}"


def execute_url(ident: str, version: str = VERSION) -> str:
    """Where the HTTP door runs it."""
    return f"/v1/tools/{ident}/versions/{version}/execute"


@lru_cache(maxsize=64)
def result_schema(tool: str, name: str) -> dict[str, Any]:
    """The JSON Schema of a verb's result."""
    return msgspec.json.schema(load(tool, name).result)


def entry(verb: Verb[Any]) -> dict[str, Any]:
    """A verb's catalogue entry."""
    return {
        "id": entry_id(verb),
        "version": VERSION,
        "tool": f"@{verb.tool}",
        "cmd": verb.name,
        "description": verb.summary,
        "supported_operations": [f"{verb.tool} {verb.name}"],
        "unsupported_operations": [],
        "semantics": list(verb.limits),
        "limits": {"output_bytes": verb.cap_bytes},
        "errors": list(dict.fromkeys((*verb.errors, *COMMON_ERRORS))),
        "writes": may_write(verb),
        "exactly_one_of": [list(group) for group in verb.exactly_one],
        "input_schema": arguments.json_schema(verb),
        "output_schema": result_schema(verb.tool, verb.name),
        "examples": [
            {"about": e.about, "input": dict(e.args), "shows": e.shows, "files": dict(e.files)}
            for e in verb.examples
        ],
        "execute_url": execute_url(entry_id(verb)),
    }


def catalogue() -> list[dict[str, Any]]:
    """Every verb's entry, in the order of the tools' table."""
    return [entry(verb) for verb in all_verbs()]


def may_write(verb: Verb[Any]) -> bool:
    """Whether some call of this verb changes the workspace."""
    return verb.writes({"dry_run": False})


def verbs_of(tool: str) -> tuple[Verb[Any], ...]:
    """A tool's verbs in order."""
    return tuple(load(tool, name) for name in TOOLS[tool])
