"""What is made from the verbs' records: `python -m toolbox.reference [--check]`.

The reference pages in `docs/reference/`, with the man page and the shells' completions, and the
command line's table of words. With --check nothing is written, and the exit status is 1 where a
file is not what the records say.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
from typing import Any, Final

from toolbox import errors, limits
from toolbox.arguments import MAX_BYTES_LEAST, Field, fields_of
from toolbox.catalogue import may_write
from toolbox.cli.help import command_line
from toolbox.registry import TOOLS, load
from toolbox.verb import Verb

HEADER: Final = (
    "<!-- Made by `python -m toolbox.reference`; edit the records, not this page. -->\n\n"
)


def pages() -> dict[str, str]:
    """File name → text of every page."""
    made = {f"{tool}.md": HEADER + _tool_page(tool) for tool in TOOLS}
    made["errors.md"] = HEADER + _errors_page()
    made["limits.md"] = HEADER + _limits_page()
    return made


def files() -> dict[str, str]:
    """Path below the repository's top → text of everything that is made from the records."""
    from toolbox.cli import completions, manual

    made = {f"docs/reference/{name}": text for name, text in pages().items()}
    made["toolbox/cli/table.py"] = table()
    made["docs/reference/toolbox.1"] = manual.page()
    for shell, name in completions.FILES.items():
        made[f"docs/reference/completions/{name}"] = completions.script(shell)
    return made


TABLE_HEAD: Final = '''\
"""The words that each verb takes on the command line. Made by `python -m toolbox.reference`.

A call through a running daemon starts from this table alone: no record and no engine is imported.
"""

from __future__ import annotations

ROWS: dict[str, dict[str, tuple[object, ...]]] = {
'''


def table() -> str:
    """The source of `toolbox.cli.table`: for each verb a row as `toolbox.cli.rows` reads it."""
    lines = [TABLE_HEAD]
    for tool, names in TOOLS.items():
        lines.append(f"    {tool!r}: {{\n")
        for name in names:
            verb = load(tool, name)
            head = (verb.summary, verb.positional, verb.own_max_bytes, verb.exactly_one)
            lines.append(f"    {name!r}: (\n")
            lines += [f"        {part!r},\n" for part in head]
            lines.append("        (\n")
            for field in fields_of(verb.args):
                item = field.item.kinds if field.item else ()
                row = (field.name, field.kinds, field.required, field.choices, item, field.doc)
                lines.append(f"            {row!r},\n")
            lines.append("        ),\n    ),\n")
        lines.append("    },\n")
    return "".join(lines) + "}\n"


def _tool_page(tool: str) -> str:
    parts = [f"# `@{tool}`\n"]
    for name in TOOLS[tool]:
        parts.append(_verb(load(tool, name)))
    return "\n".join(parts)


def _verb(verb: Verb[Any]) -> str:
    lines = [f"## `{verb.name}`\n", verb.summary + "\n"]
    if may_write(verb):
        lines.append("With `dry_run: false` it writes; write calls run one at a time.\n")
    lines += ["| argument | type | default | |", "|---|---|---|---|"]
    for field in fields_of(verb.args):
        default = "required" if field.required else f"`{json.dumps(field.default)}`"
        if field.default is None and not field.required:
            default = ""
        doc = field.doc.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{field.name}` | {_type(field)} | {default} | {doc} |")
    if not verb.own_max_bytes:
        lines.append(
            f"| `max_bytes` | an integer of at least {MAX_BYTES_LEAST} | `{verb.cap_bytes}` | "
            "a lower output cap for this call, in bytes |"
        )
    for group in verb.exactly_one:
        lines.append(f"\nExactly one of {' and '.join(f'`{n}`' for n in group)} is given.")
    if verb.limits:
        lines += ["", "Limits:", *(f"\n- {limit}" for limit in verb.limits)]
    lines += ["", "Errors: " + ", ".join(f"`{code}`" for code in verb.errors) + "\n"]
    for example in verb.examples:
        call = json.dumps({"cmd": verb.name, "args": dict(example.args)}, ensure_ascii=False)
        lines += [f"{example.about[0].upper()}{example.about[1:]}:\n"]
        for path, text in example.files.items():
            if len(text) <= 400:
                lines += [f"`{path}`\n", "```", text.rstrip("\n"), "```\n"]
        lines += ["```", f"@{verb.tool} {call}", command_line(verb, dict(example.args)), "```\n"]
        said = f"`{example.fails}`: " if example.fails else ""
        lines += [f"The reply says {said}", "```", example.shows, "```\n"]
    return "\n".join(lines)


def _type(field: Field) -> str:
    return field.expected().replace("|", "\\|")


def _errors_page() -> str:
    from sandbox import errors as sandbox_errors

    said: dict[str, list[str]] = {}
    for module in (errors, sandbox_errors):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            code = getattr(kind, "code", None)
            if code and kind.__module__ == module.__name__ and not kind.__name__.endswith("xError"):
                first = (inspect.getdoc(kind) or "").split("\n")[0]
                if first.startswith("Raised") and first not in said.setdefault(code, []):
                    said[code].append(first)
    lines = [
        "# Errors\n",
        "A failed call's reply has a stable code, a message, a hint that names the next call, and "
        "`at`: where, as JSON.\n",
        "| code | when |",
        "|---|---|",
    ]
    for code in errors.CODES:
        lines.append(f"| `{code}` | {' '.join(said.get(code, []))} |")
    return "\n".join(lines) + "\n"


def _limits_page() -> str:
    tree = ast.parse(inspect.getsource(limits))
    lines = [
        "# Limits\n",
        "Every limit, why it is there and what happens past it.\n",
        "| limit | value | |",
        "|---|---|---|",
    ]
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif names and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            doc = " ".join(str(node.value.value).split())
            for k, name in enumerate(names):
                value = getattr(limits, name)
                lines.append(f"| `{name}` | {value:,} | {doc if k == 0 else ''} |")
            names = []
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    """Write the pages, or hold them against the records."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    stale = 0
    for name, text in files().items():
        path = os.path.join(top, name)
        try:
            with open(path, encoding="utf-8") as handle:
                same = handle.read() == text
        except FileNotFoundError:
            same = False
        if same:
            continue
        stale += 1
        print(f"{'stale' if '--check' in argv else 'wrote'} {name}")
        if "--check" not in argv:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as handle:
                handle.write(text)
    return 1 if stale and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
