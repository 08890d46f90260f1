"""Every command and verb with its words, for the shells' completions and the man page."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Final, Literal

from toolbox.cli import commands, help, words
from toolbox.cli.main import COMMANDS
from toolbox.cli.rows import Row, verbs
from toolbox.cli.table import ROWS

Completes = Literal["", "file", "folder", "choice"]

FOLDERS: Final = frozenset({"DIR"})
FILES: Final = frozenset({"FILE", "PATH"})


@dataclass(frozen=True, slots=True)
class Option:
    """A flag. takes: the name of its value, empty for none."""

    flag: str
    takes: str
    about: str
    completes: Completes = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A word by position."""

    name: str
    completes: Completes = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """A command, or a verb of a tool."""

    words: tuple[str, ...]
    """`("json", "get")` or `("serve",)`."""
    about: str
    usage: str
    places: tuple[Place, ...]
    options: tuple[Option, ...]
    examples: str = ""


def outlines() -> tuple[Outline, ...]:
    """All of them, in the order of help."""
    made: list[Outline] = []
    for command, about in COMMANDS.items():
        if command in ROWS:
            made += [_verb(Row(command, verb)) for verb in verbs(command)]
        elif command == "help":
            place = Place("COMMAND", "choice", tuple(COMMANDS))
            made.append(Outline(("help",), about, "toolbox help [COMMAND [VERB]]", (place,), ()))
        else:
            made.append(_command(command, about))
    return tuple(made)


def _verb(row: Row) -> Outline:
    places, options = [], []
    for name in row.positional:
        completes: Completes = "file" if name in row.files else ""
        places.append(Place(name.upper(), completes))
    for word in row.words.values():
        if word.name == "dry_run":
            continue
        kind: Completes = "file" if word.name in row.files else "choice" if word.choices else ""
        takes = "" if word.is_switch else word.name.upper()
        choices = tuple(map(str, word.choices))
        options.append(Option(word.flag, takes, help.about(word, row), kind, choices))
    for flag, (takes, about) in words.options_of(row).items():
        choices = words.COLORS if flag == "--color" else ()
        kind = "choice" if choices else "folder" if takes in FOLDERS else ""
        options.append(Option(flag, takes, about, kind, choices))
    usage = words.usage(row)
    return Outline((row.tool, row.name), row.summary, usage, tuple(places), tuple(options))


def _command(command: str, about: str) -> Outline:
    parser = commands.parser(command)
    places, options = [], []
    for action in parser._actions:
        choices = tuple(map(str, action.choices)) if action.choices else ()
        takes = "" if action.nargs == 0 else str(action.metavar or action.dest).upper()
        kind: Completes = "choice" if choices else _completes(takes)
        if action.option_strings:
            flag = action.option_strings[-1]
            text = (action.help or "") % {"default": action.default}
            options.append(Option(flag, takes, text, kind, choices))
        else:
            place_kind = "file" if command == "call" else kind
            places.append(Place(takes, place_kind, choices))
    usage = " ".join(argparse_usage(parser).split())
    examples = commands.EXAMPLES.get(command, "")
    return Outline((command,), about, usage, tuple(places), tuple(options), examples)


def argparse_usage(parser: argparse.ArgumentParser) -> str:
    """`usage: …` of a parser, on one line and without its first word."""
    return parser.format_usage().removeprefix("usage: ")


def _completes(takes: str) -> Completes:
    return "folder" if takes in FOLDERS else "file" if takes in FILES else ""
