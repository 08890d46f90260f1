"""The command line: which command, then only what that command needs is imported."""

from __future__ import annotations

import sys

from toolbox.cli import out
from toolbox.cli.out import DONE, ERROR, INTERRUPTED, NEGATIVE
from toolbox.cli.table import ROWS

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Final

COMMANDS: Final = {
    "json": "questions about JSON and YAML files, without reading them whole",
    "diff": "what changed, and patches applied only where every line matches",
    "call": "send a message with tagged calls, print the replies",
    "serve": "run the daemon of a workspace",
    "mcp": "what an agent's configuration starts: MCP on standard input and output",
    "status": "what the workspace's daemon is doing",
    "stop": "stop the workspace's daemon",
    "tools": "the catalogue: every verb, or one with its arguments and examples",
    "attach": "write an agent's configuration for this workspace",
    "doctor": "which layers of confinement hold on this machine",
    "completions": "shell completions for bash, zsh or fish",
    "help": "this help, or that of a command or verb",
}


def run(argv: Sequence[str]) -> int:
    """Run one command; the exit status."""
    try:
        return _run(list(argv))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        out.quiet()
        return DONE
    except OSError as exc:  # standard output on a full disk, or closed
        return out.complain(f"standard output: {exc.strerror or exc}")


def _run(words: list[str]) -> int:
    if not words:
        from toolbox.cli import help

        out.say(help.top())
        return ERROR
    command, rest = words[0], words[1:]
    if command in ("-h", "--help", "help"):
        from toolbox.cli import help

        return help.run(rest)
    if command in ("-V", "--version"):
        from toolbox.version import __version__

        out.write_line(f"toolbox {__version__}")
        return DONE
    if command in ROWS:
        return _tool(command, rest)
    if command not in COMMANDS:
        from toolbox.cli import help

        return help.unknown(command, rest)
    from toolbox.cli import commands

    parser = commands.parser(command)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # what a locale cannot write is escaped, never a crash
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        options: argparse.Namespace = parser.parse_args(rest)
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else ERROR
    return commands.run(command, options)


def _tool(tool: str, rest: list[str]) -> int:
    if rest and rest[0] in ROWS[tool]:
        from toolbox.cli import verbs
        from toolbox.cli.rows import Row

        try:
            return verbs.run(Row(tool, rest[0]), rest[1:])
        except verbs.UsageError as wrong:
            return out.complain(f"{tool} {rest[0]}: {wrong.message}", wrong.hint)
    from toolbox.cli import help

    return help.tool(tool, rest)


__all__ = ["COMMANDS", "DONE", "ERROR", "INTERRUPTED", "NEGATIVE", "run"]
