"""The verbs as MCP tools, and replies as MCP results; no I/O, no SDK.

Three tools, since annotations are for whole tools: `json` and `diff` only read, `diff_apply` may
write. Each takes a flat `cmd` beside the verb's own arguments. With one tool a verb, names are
`json_get` and so on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolbox import arguments
from toolbox.catalogue import may_write, verbs_of
from toolbox.errors import InvalidArg, UnknownTool
from toolbox.registry import TOOLS, load
from toolbox.verb import Verb

Shape = Literal["tools", "verbs"]

CLIENT_CAPS_BYTES: Final[tuple[tuple[str, int], ...]] = (
    ("visual studio code", 8_000),
    ("vscode", 8_000),
    ("codex", 11_500),
    ("claude-code", 24_000),
)
"""What a client shows whole, by a part of the name it gives.

- VS Code moves more than 8 KB out of the answer, by its own documentation; not tried.
- Codex (`codex-mcp-client`): 0.171.0 cuts the middle out of what is longer than 12 000 bytes, its
  own two lines before the text counted (36 bytes). Measured with a stand-in model, for a model that
  Codex has no entry for; for those it knows it takes more.
- Claude Code warns at 10 000 tokens, by its own documentation: 24 000 bytes of JSON; not tried.
- Gemini CLI (`gemini-cli-mcp-client`) 0.61.0 keeps 40 000 characters and opencode (`opencode`)
  1.18.33 50 KB: more than any verb's own cap, and whole in the same measurement.
"""

JSON_READERS: Final = ("gemini-cli",)
"""Clients that read a text which is JSON a second time, as structured content, and fail where that
is no object: to Gemini CLI (0.61.0) `1.10` is an error. One that has structured content already is
left alone, so these get an empty one; the model is shown the text."""

ENVELOPE_SHARE: Final = 0.4
"""An envelope carries the answer twice, as `result` and, escaped, as `text`."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One MCP tool."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool
    structured: bool = False


def cap_for(client_name: str, cmd: str = "") -> int | None:
    """The output cap for a client that gives this name; None for each verb's own.

    Lower for `revisions`, whose text is the envelope.
    """
    name = client_name.lower()
    cap = next((cap for part, cap in CLIENT_CAPS_BYTES if part in name), None)
    return int(cap * ENVELOPE_SHARE) if cap is not None and cmd == "revisions" else cap


def reads_json(client_name: str) -> bool:
    """Whether a client takes a text that is JSON for structured content."""
    name = client_name.lower()
    return any(part in name for part in JSON_READERS)


def tools(shape: Shape) -> list[ToolSpec]:
    """The tools that a client lists."""
    if shape == "verbs":
        return [
            ToolSpec(
                name=f"{verb.tool}_{verb.name}",
                title=f"@{verb.tool} {verb.name}",
                description=_verb_description(verb),
                input_schema=arguments.json_schema(verb),
                read_only=not may_write(verb),
            )
            for tool in TOOLS
            for verb in verbs_of(tool)
        ]
    reading = [v for v in verbs_of("diff") if not may_write(v)]
    writing = [v for v in verbs_of("diff") if may_write(v)]
    return [
        _joined(
            "json",
            "Questions about JSON and YAML",
            "Answers questions about a JSON, JSON Lines or YAML file in the workspace without "
            "reading it whole: numbers come back verbatim, a miss lists what is there. Begin with "
            "cmd=schema or cmd=keys on an unknown file.",
            verbs_of("json"),
            read_only=True,
        ),
        _joined(
            "diff",
            "What changed",
            "Compares files, texts, folders, JSON, CSV, Markdown and git revisions. It never "
            "writes; patches are applied with diff_apply.",
            reading,
            read_only=True,
        ),
        _joined(
            "diff_apply",
            "Apply a patch, or undo one",
            "Applies a unified patch only where every context and removed line matches, all files "
            "or none. It is a dry run with a verdict for every hunk unless dry_run is false.",
            writing,
            read_only=False,
        ),
    ]


def _verb_description(verb: Verb[Any]) -> str:
    parts = [verb.summary]
    for group in verb.exactly_one:
        parts.append(f"Give exactly one of {' and '.join(group)}.")
    if verb.examples:
        parts.append("Example: " + json.dumps(dict(verb.examples[0].args), ensure_ascii=False))
    return " ".join(parts)


def _joined(
    name: str, title: str, lead: str, verbs: Iterable[Verb[Any]], *, read_only: bool
) -> ToolSpec:
    verbs = list(verbs)
    lines = [lead, ""]
    for verb in verbs:
        takes = ", ".join(
            f.name if f.required else f"{f.name}?" for f in arguments.fields_of(verb.args)
        )
        lines.append(f"- cmd={verb.name} {{{takes}}}: {verb.summary}")
    examples = [
        json.dumps({"cmd": v.name, **v.examples[0].args}, ensure_ascii=False)
        for v in verbs[:3]
        if v.examples
    ]
    if examples:
        lines += ["", "Examples: " + " ".join(examples)]
    properties: dict[str, Any] = {
        "cmd": {"type": "string", "enum": [v.name for v in verbs], "description": "the verb"}
    }
    for verb in verbs:
        for key, schema in arguments.json_schema(verb)["properties"].items():
            properties[key] = _merge(properties[key], schema) if key in properties else schema
    return ToolSpec(
        name=name,
        title=title,
        description="\n".join(lines),
        input_schema={
            "type": "object",
            "additionalProperties": False,
            "required": ["cmd"],
            "properties": properties,
        },
        read_only=read_only,
    )


def _merge(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A schema that takes what either takes; the first's words stay where they agree."""
    bare = [
        {k: v for k, v in s.items() if k not in ("description", "default")} for s in (one, other)
    ]
    if bare[0] == bare[1]:
        return one
    forms: list[dict[str, Any]] = []
    for schema in bare:
        for form in schema.get("anyOf", [schema]):
            if form not in forms:
                forms.append(form)
    enums = [f for f in forms if set(f) == {"enum"}]
    if len(enums) > 1:
        values = list(dict.fromkeys(v for f in enums for v in f["enum"]))
        forms = [f for f in forms if f not in enums] + [{"enum": values}]
    integers = [f for f in forms if f.get("type") == "integer"]
    if len(integers) > 1:
        # Each verb checks its own bounds and says them; the joined schema must not refuse first.
        forms = [f for f in forms if f not in integers] + [{"type": "integer"}]
    merged: dict[str, Any] = dict(forms[0]) if len(forms) == 1 else {"anyOf": forms}
    words = list(dict.fromkeys(s["description"] for s in (one, other) if "description" in s))
    if words:
        merged["description"] = "; or: ".join(words)
    return merged


def resolve(
    name: str, given: Mapping[str, Any] | None, shape: Shape
) -> tuple[str, str, dict[str, Any]]:
    """(tool, verb, arguments) of an MCP call; raises UnknownTool with the nearest name.

    Arguments that arrive as JSON in a string are understood, for the whole and for each value.
    """
    values = dict(given or {})
    if name in ("json", "diff", "diff_apply"):
        inner = values.pop("args", None)
        if isinstance(inner, str):
            try:
                inner = json.loads(inner)
            except ValueError:
                raise InvalidArg(
                    "args: expected an object, got text that is not JSON",
                    hint=f'call {name} with {{"cmd": …, and the arguments beside it}}',
                ) from None
        if isinstance(inner, Mapping):
            values = {**inner, **values}
        tool = "json" if name == "json" else "diff"
        cmd = values.pop("cmd", None)
        cmd = cmd if isinstance(cmd, str) else ""
    else:
        tool, _, cmd = name.partition("_")
        if shape != "verbs" or tool not in TOOLS or cmd not in TOOLS[tool]:
            known = [spec.name for spec in tools(shape)]
            near = arguments.nearest(name, known)
            raise UnknownTool(
                f"no tool {name[:60]!r}",
                hint=(f"did you mean {near}? " if near else "")
                + f"the tools are {', '.join(known)}",
            )
    if tool in TOOLS and cmd in TOOLS[tool]:
        verb = load(tool, cmd)
        values = {k: _unwrap(verb, k, v) for k, v in values.items()}
        if name == "diff" and verb.writes(values):
            raise InvalidArg(
                f"the tool diff only reads; {cmd} with dry_run false is a write",
                hint=f"call diff_apply with cmd={cmd} and the same arguments",
            )
    return tool, cmd, values


def _unwrap(verb: Verb[Any], name: str, value: Any) -> Any:
    """A value that should be a list, a number or a boolean, taken out of a string that holds it."""
    if not isinstance(value, str):
        return value
    field = next((f for f in arguments.fields_of(verb.args) if f.name == name), None)
    if name == arguments.MAX_BYTES:
        return int(value) if value.isdigit() else value
    if field is None or {"string", "choice"} & set(field.kinds):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
