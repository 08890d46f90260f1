"""A daemon whose MCP door also has the tools that the conformance suite asks for by name.

The suite calls fixed tools (`test_simple_text` …). Here each is another name of a real call, so
that the suite holds the real door, its dispatch and its workers; only the table of names is longer.
Progress is told every few milliseconds, since no call of ours takes three seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from toolbox.__main__ import main
from toolbox.daemon import mcp_server
from toolbox.wire import mcp as projection

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""The schema whose every keyword has to reach the client."""

ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "test_simple_text": ("get", {"text": '{"a": 1.10}', "path": "a"}),
    "test_error_handling": ("get", {"text": "{}", "path": "missing"}),
    "test_tool_with_progress": ("schema", {"file": "large.json", "sample": 0}),
    "json_schema_2020_12_tool": ("get", {"text": "1", "path": ""}),
}
"""The suite's name → (verb of @json, its arguments)."""

_tools, _resolve = projection.tools, projection.resolve


def _more_tools(shape: projection.Shape) -> list[projection.ToolSpec]:
    schema: dict[str, Any]
    specs = _tools(shape)
    for name in ALIASES:
        schema = SCHEMA if "schema" in name else {"type": "object", "properties": {}}
        specs.append(projection.ToolSpec(name, name, f"for {name}", json.loads(json.dumps(schema)), True))
    return specs


def _more_names(
    name: str, given: Mapping[str, Any] | None, shape: projection.Shape
) -> tuple[str, str, dict[str, Any]]:
    if name in ALIASES:
        verb, values = ALIASES[name]
        return "json", verb, dict(values)
    return _resolve(name, given, shape)


if __name__ == "__main__":
    projection.tools = _more_tools
    projection.resolve = _more_names
    mcp_server.PROGRESS_SECONDS = 0.005  # type: ignore[misc]
    sys.exit(main())
