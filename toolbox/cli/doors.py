"""The commands that open a door for others: mcp, attach, completions."""

from __future__ import annotations

import argparse
import os

from toolbox.cli.out import DONE, write


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """The options of one command."""
    workspace = os.environ.get("TOOLBOX_WORKSPACE") or "."
    if command == "completions":
        parser.add_argument("shell", choices=("bash", "zsh", "fish"))
        return
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        default=workspace,
        help="the workspace's folder (default: this one)",
    )
    if command == "mcp":
        parser.add_argument(
            "--tools",
            choices=("tools", "verbs"),
            default="tools",
            help="three tools, or one for each verb (default: %(default)s)",
        )
        parser.add_argument(
            "--confine",
            choices=("require", "warn", "off"),
            default="warn",
            help="confinement of a daemon that this starts",
        )
    else:
        from toolbox.cli.attach import CLIENTS

        parser.add_argument("client", choices=tuple(CLIENTS))
        parser.add_argument(
            "--print", dest="only_print", action="store_true", help="show the change, write nothing"
        )
        parser.add_argument("--yes", action="store_true", help="write without asking")
        parser.add_argument("--tools", choices=("tools", "verbs"), default="tools")


def run(command: str, options: argparse.Namespace) -> int:
    """Run one of these commands; the exit status."""
    if command == "mcp":
        from toolbox.cli import bridge

        return bridge.run(options.workspace, tools=options.tools, confine=options.confine)
    if command == "completions":
        from toolbox.cli import completions

        write(completions.script(options.shell))
        return DONE
    from toolbox.cli import attach

    return attach.run(options)
