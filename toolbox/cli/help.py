"""Help that teaches by example: of everything, of a tool, of a verb; and what a typo meant."""

from __future__ import annotations

import json
import os
import shlex
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolbox.cli import out, words
from toolbox.cli.main import COMMANDS
from toolbox.cli.rows import Row, Word, verbs
from toolbox.cli.table import ROWS
from toolbox.cli.words import nearest
from toolbox.verb import Example, Verb

WIDTH: Final = 96
_NAME: Final = 24

TOP: Final = """\
Questions about large JSON and YAML, diffs and strict patches, confined to one workspace.

usage: toolbox COMMAND …

"""

_EXAMPLES: Final = """\
examples:
  toolbox json schema resp.json                   the shape of an unknown payload
  toolbox json get resp.json 'data.items[3].name' one value, digits as in the file
  curl -s URL | toolbox json get - data.id        - is standard input
  toolbox json query resp.json data.items --where 'status=failed && name~^web'
  toolbox diff files old.yaml new.yaml            what changed; --stat, --side-by-side
  toolbox diff apply pr.patch                     a verdict for every hunk; --write applies
  toolbox serve --workspace . --socket            one daemon for every later call

File names are relative to the workspace: this folder, or --workspace DIR, or $TOOLBOX_WORKSPACE.
A single-quoted path keeps the shell from its [ ] and *.

exit status: 0 done, 1 the verb's own no (invalid, files differ), 2 an error

more: toolbox help json, toolbox help json get, toolbox help serve
"""


def top() -> str:
    """The help of everything."""
    return TOP + "commands:\n" + _table(COMMANDS.items()) + "\n" + _EXAMPLES


def _table(rows: Iterable[tuple[str, str]], indent: str = "  ") -> str:
    lines = []
    for name, about in rows:
        head = f"{indent}{name:{_NAME - len(indent)}}"
        if len(name) >= _NAME - len(indent):
            lines.append(indent + name)
            head = " " * _NAME
        wrapped = textwrap.wrap(about, WIDTH - _NAME) or [""]
        lines += [(head + wrapped[0]).rstrip(), *(" " * _NAME + more for more in wrapped[1:])]
    return "\n".join(lines) + "\n"


def run(asked: list[str]) -> int:
    """`toolbox help [COMMAND [VERB]]`; the exit status."""
    asked = [w for w in asked if not w.startswith("-")]
    if not asked or asked == ["help"]:
        out.write(top())
        return out.DONE
    command = asked[0]
    if command in ROWS:
        return verb(command, asked[1]) if asked[1:] else tool(command, ["--help"])
    if command not in COMMANDS:
        return unknown(command, [])
    from toolbox.cli import commands

    out.write(commands.parser(command).format_help())
    return out.DONE


def unknown(command: str, rest: list[str]) -> int:
    """A word that is no command: what was meant, where one is near; the exit status."""
    if command.startswith("-"):
        return out.complain(
            f"{command[:60]} stands before the command",
            "options come after it: toolbox json get FILE PATH --workspace DIR",
        )
    for tool_name in ROWS:
        if command in verbs(tool_name):
            meant = shlex.join(["toolbox", tool_name, command, *rest])
            both = [t for t in ROWS if command in verbs(t)]
            also = f" (or toolbox {both[1]} {command})" if len(both) > 1 else ""
            return out.complain(f"no command {command!r}", f"did you mean {meant}?{also}")
    near = nearest(command, list(COMMANDS))
    if near:
        corrected = [near, *rest]
        if near in ROWS and rest and rest[0] not in verbs(near):
            corrected[1] = nearest(rest[0], verbs(near)) or rest[0]
        hint = f"did you mean {shlex.join(['toolbox', *corrected])}?"
    else:
        hint = f"the commands are {', '.join(COMMANDS)}"
    return out.complain(f"no command {command[:60]!r}", hint)


def tool(name: str, rest: list[str]) -> int:
    """A tool's help, or what a mistyped verb meant; the exit status."""
    if any(word in ("-h", "--help") for word in rest[:1]):
        out.write(_tool(name))
        return out.DONE
    if not rest:
        out.say(_tool(name))
        return out.ERROR
    if rest[0].startswith("-"):
        return out.complain(
            f"{rest[0][:60]} stands before the verb", f"toolbox {name} VERB … {shlex.join(rest)}"
        )
    return _no_verb(name, rest[0], rest[1:])


def _no_verb(name: str, given: str, rest: list[str]) -> int:
    near = nearest(given, verbs(name))
    if name == "diff" and rest and ("." in given or "/" in given or os.path.exists(given)):
        compares = "dirs" if os.path.isdir(given) else "files"
        hint = f"did you mean {shlex.join(['toolbox', 'diff', compares, given, *rest])}?"
    elif near:
        hint = f"did you mean {shlex.join(['toolbox', name, near, *rest])}?"
    else:
        hint = f"the verbs of {name} are {', '.join(verbs(name))}"
    return out.complain(f"{name} has no verb {given[:60]!r}", hint)


def _tool(name: str) -> str:
    rows = [Row(name, verb) for verb in verbs(name)]
    text = f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.\n\n"
    text += f"usage: toolbox {name} VERB …\n\nverbs:\n"
    text += _table((row.name, row.summary) for row in rows)
    text += "\nexamples:\n"
    from toolbox.registry import load

    for row in rows:
        record = load(name, row.name)
        example = next((e for e in record.examples if e.fails is None), record.examples[0])
        text += _example(record, example)
    return text + f"\nmore: toolbox help {name} VERB\n"


def _example(verb: Verb[Any], example: Example) -> str:
    command = command_line(verb, dict(example.args))
    command = command.replace("\n", "\n  ")
    return f"  {command}\n      {example.about}\n"


def verb(tool_name: str, name: str) -> int:
    """A verb's help on standard output; the exit status."""
    if name not in verbs(tool_name):
        return _no_verb(tool_name, name, [])
    out.write(verb_text(tool_name, name))
    return out.DONE


def verb_text(tool_name: str, name: str) -> str:
    """A verb's help: usage, arguments, options, limits, and every worked example with its reply."""
    from toolbox.registry import load

    row, record = Row(tool_name, name), load(tool_name, name)
    text = textwrap.fill(row.summary, WIDTH) + f"\n\nusage: {words.usage(row)}\n\n"
    placed = [row.words[n] for n in row.positional]
    if placed:
        text += "arguments, by position or by flag:\n"
        text += _table((w.name.upper(), about(w, row)) for w in placed) + "\n"
    flagged = [w for w in row.words.values() if w not in placed and w.name != "dry_run"]
    if flagged:
        text += "arguments by flag:\n"
        text += _table((_flag(w), about(w, row)) for w in flagged) + "\n"
    text += "options:\n"
    text += _table(
        (f"{flag} {takes}".rstrip(), told) for flag, (takes, told) in words.options_of(row).items()
    )
    if record.limits:
        text += "\nlimits:\n" + "".join(
            textwrap.fill(x, WIDTH, initial_indent="  ", subsequent_indent="  ") + "\n"
            for x in record.limits
        )
    text += "\nexamples:\n"
    for example in record.examples:
        text += _example(record, example)
        said = f"{example.fails}: {example.shows}" if example.fails else example.shows
        text += textwrap.indent(said.rstrip("\n"), "      | ", lambda _: True) + "\n"
    return text


def _flag(word: Word) -> str:
    return word.flag if word.is_switch else f"{word.flag} {word.name.upper()}"


def about(word: Word, row: Row) -> str:
    """What an argument is, on the command line."""
    text = word.doc
    inline = words.TWINS.get(word.name)
    if word.name in row.files and (inline in row.words or row.name == "files"):
        text += "; - reads standard input" if text else "- reads standard input"
    if word.choices:
        text += f" ({' | '.join(map(str, word.choices))})"
    if word.is_list:
        text += " (may be repeated, or a JSON list)"
    return text


def command_line(verb: Verb[Any], args: Mapping[str, Any]) -> str:
    """The command that makes this call, quoted for a shell."""
    parts = ["toolbox", verb.tool, verb.name]
    rest = dict(args)
    for name in verb.positional:
        if name not in rest or str(rest[name]).startswith("-"):
            break
        value = rest.pop(name)
        parts.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    for name, value in rest.items():
        flag = "--" + name.replace("_", "-")
        if name == "dry_run":
            parts += [] if value else ["--write"]
        elif isinstance(value, bool):
            parts.append(flag if value else "--no-" + flag[2:])
        elif isinstance(value, list) and value and _are_plain(value):
            for one in value:
                parts += _pair(flag, one)
        elif isinstance(value, str):
            parts += _pair(flag, value)
        else:
            parts += [flag, json.dumps(value, ensure_ascii=False)]
    return shlex.join(parts)


def _are_plain(values: list[Any]) -> bool:
    return all(isinstance(v, str) and not v.startswith(("[", '"')) and not _number(v)
               for v in values)  # fmt: skip


def _number(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def _pair(flag: str, value: str) -> list[str]:
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]
