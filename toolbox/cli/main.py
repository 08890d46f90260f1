"""The command line: which command, then only what that command needs is imported."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from toolbox.registry import TOOLS

DONE: Final = 0
NEGATIVE: Final = 1
"""The verb's own «no»: invalid, or the files differ."""
ERROR: Final = 2
INTERRUPTED: Final = 130

_COMMANDS: Final = {
    "json": "questions about JSON and YAML files, without reading them whole",
    "diff": "what changed, and patches applied only where every line matches",
    "call": "send a message with tagged calls, print the replies",
    "serve": "run the daemon of a workspace",
    "mcp": "what an agent's configuration starts: MCP on standard input and output",
    "status": "what the workspace's daemon is doing",
    "stop": "stop the workspace's daemon",
    "tools": "the catalogue: every verb with its arguments",
    "attach": "write an agent's configuration for this workspace",
    "doctor": "which layers of confinement hold on this machine",
    "completions": "shell completions for bash, zsh or fish",
}

_EPILOG: Final = """\
examples:
  toolbox json schema resp.json                   the shape of an unknown payload
  toolbox json get resp.json 'data.items[3].name' one value, digits as in the file
  toolbox json query resp.json data.items --where 'status=failed && name~^web'
  toolbox diff files old.yaml new.yaml            what changed
  toolbox diff apply pr.patch                     a verdict for every hunk; --write applies
  toolbox serve --workspace . --socket            one daemon for every later call

exit status: 0 done, 1 the verb's own no (invalid, files differ), 2 an error
"""


def build(
    command: str | None = None, verb: str | None = None, *, everything: bool = False
) -> argparse.ArgumentParser:
    """The parser; only the named command (and verb) has its options filled in, to start fast."""
    from toolbox.version import __version__

    parser = argparse.ArgumentParser(
        prog="toolbox",
        description="Questions about large JSON and YAML, diffs and strict patches, confined to "
        "one workspace.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"toolbox {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in _COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name != command and not everything:
            continue
        if name in TOOLS:
            from toolbox.cli import verbs

            verbs.add_verbs(sub, name, verb)
        else:
            from toolbox.cli import commands as others

            others.add_options(sub, name)
    return parser


def run(argv: Sequence[str]) -> int:
    """Run one command; the exit status."""
    words = [a for a in argv if not a.startswith("-")]
    command = words[0] if words and words[0] in _COMMANDS else None
    verb = None
    if command in TOOLS and len(words) > 1 and words[1] in TOOLS[command]:
        verb = words[1]
    parser = build(command, verb)
    try:
        options = parser.parse_args(argv)
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else ERROR
    try:
        if options.command in TOOLS:
            from toolbox.cli import verbs

            return verbs.run(options)
        from toolbox.cli import commands as others

        return others.run(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): leave quietly, and keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
