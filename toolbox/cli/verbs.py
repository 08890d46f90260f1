"""`toolbox json VERB …` and `toolbox diff VERB …`: the words as a call, its reply for a person."""

from __future__ import annotations

import os
import sys

from toolbox.cli import client, words
from toolbox.cli.out import (
    DONE,
    ERROR,
    NEGATIVE,
    complain,
    is_terminal,
    say,
    visible,
    wants_color,
    write_line,
)
from toolbox.cli.progress import Progress
from toolbox.cli.rows import Row
from toolbox.cli.words import Given, UsageError

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

WHOLE_BYTES: Final = 1 << 30
WHOLE_FILES: Final = 1 << 20
"""What a verb that pages by its own `max_bytes` is asked for: the command line shows all."""


def run(row: Row, typed: Sequence[str]) -> int:
    """Make the call that the words say, print its reply; the exit status."""
    given = words.parse(row, typed)
    if given.help:
        from toolbox.cli import help

        return help.verb(row.tool, row.name)
    workspace = given.workspace or os.environ.get("TOOLBOX_WORKSPACE") or "."
    if not given.as_json and (lacking := words.missing(row, given.args)):
        return _lacking(row, lacking, given)
    reply = _reply(row, given, workspace)
    if given.as_json:
        write_line(reply.envelope)
    elif reply.ok:
        write_line(_shown(row, given, reply.text))
    else:
        return _failed(row, given, reply, workspace)
    status = ERROR if not reply.ok else NEGATIVE if reply.negative else DONE
    if row.writes and reply.ok and not given.as_json:
        if given.args.get("dry_run", True):
            return _offer(row, given, typed, workspace, status)
        _tell_undo(reply)
    return status


def _tell_undo(reply: client.Shown) -> None:
    """At a terminal: the command that takes a write back."""
    if not is_terminal(2):
        return
    import json

    if ident := json.loads(reply.envelope)["result"].get("undo"):
        say(f"to take it back: toolbox diff undo {ident} --write\n")


def _lacking(row: Row, names: list[str], given: Given) -> int:
    told = []
    for name in names:
        doc = row.words[name].doc
        told.append(f"{name.upper()} is missing" + (f" ({doc})" if doc else ""))
    hint = f"usage: {words.usage(row)}"
    if "file" in names and not is_terminal(0):
        hint += "; - as FILE reads standard input"
    return complain(f"{row.tool} {row.name}: " + "; ".join(told), hint)


def _reply(row: Row, given: Given, workspace: str) -> client.Shown:
    """The reply, from the daemon or alone."""
    verb = row.name
    args: Mapping[str, object] = given.args
    if given.standard_input:
        from toolbox.cli import stdin

        try:
            verb, args = stdin.fill(row, given, workspace)
        except stdin.Failed as failed:
            return client.Shown(failed.envelope)
    if row.own_max_bytes and "max_bytes" not in args:
        args = {"limit": WHOLE_FILES, **args, "max_bytes": WHOLE_BYTES}
    if (row.tool, row.name) == ("diff", "revisions") and "format" not in args:
        view = "stat" if given.stat else "unified" if given.side_by_side else None
        args = {**args, "format": view} if view else args
    with Progress(f"{row.tool} {row.name}"):
        return client.ask(workspace, row.tool, verb, words.encode(args), alone=given.alone)


def _shown(row: Row, given: Given, text: str) -> str:
    """The text in the view that was asked for, or in colour on a terminal."""
    color = wants_color(given.color)
    if is_terminal(1):
        text = visible(text)
    if given.stat or given.side_by_side:
        from toolbox.cli import show, unified

        if not unified.holds_hunks(text):
            return text
        if given.side_by_side:
            return show.side_by_side(text, show.columns(), color=color)
        name = f"{given.args.get('a')} → {given.args.get('b')}" if row.name == "files" else ""
        return show.stat(text, name, color=color)
    if color and row.tool == "diff":
        from toolbox.cli import show

        return show.colored(text)
    return text


def _failed(row: Row, given: Given, reply: client.Shown, workspace: str) -> int:
    error = reply.error
    hints = [_as_flags(row, error.get("hint") or "")]
    if error["code"] == "E_OUTSIDE_WORKSPACE":
        hints.append(f"the workspace is {os.path.realpath(workspace)}; --workspace DIR is another")
        if any(words.TWINS.get(name) in row.words for name in row.files):
            hints.append("- in place of the file reads standard input")
    elif error["code"] == "E_NOT_FOUND" and (meant := _beside(row, given, workspace)):
        hints.append(meant)
    return complain(f"{error['code']}: {error['message']}", "; ".join(h for h in hints if h))


def _as_flags(row: Row, hint: str) -> str:
    """A hint's arguments (`relocate: true`) as the flags that give them."""
    for word in row.words.values():
        if f"{word.name}: " not in hint or word.name in row.positional:
            continue
        import re

        hint = re.sub(rf"\b{word.name}: true\b", word.flag, hint)
        if not word.is_switch:
            hint = re.sub(rf'\b{word.name}: ("[^"]*"|\d+)', rf"{word.flag} \1", hint)
    return hint


def _beside(row: Row, given: Given, workspace: str) -> str:
    """Where a file that was not found stands beside the person, not in the workspace's top."""
    top = os.path.realpath(workspace)
    for name in row.files:
        path = given.args.get(name)
        if not isinstance(path, str) or not path:
            continue
        real = os.path.realpath(path)
        if os.path.exists(real) and real != os.path.join(top, path):
            if real.startswith(top + "/"):
                return f"file names are relative to the workspace {top}: {real[len(top) + 1 :]}"
            return f"it is below {os.getcwd()}, but the workspace is {top}; --workspace DIR"
    return ""


def _offer(row: Row, given: Given, typed: Sequence[str], workspace: str, status: int) -> int:
    """After a dry run: say how to write; at a terminal, ask."""
    import shlex

    again = [w for w in typed if w != "--dry-run"]
    at = again.index("--") if "--" in again else len(again)
    command = shlex.join(["toolbox", row.tool, row.name, *again[:at], "--write", *again[at:]])
    if given.standard_input or not (is_terminal(0) and is_terminal(1) and is_terminal(2)):
        return say(f"toolbox: nothing was written; to write: {command}\n", status)
    say("write it now? [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return say(f"nothing was written; to write: {command}\n", status)
    given.args["dry_run"] = False
    reply = _reply(row, given, workspace)
    if not reply.ok:
        return _failed(row, given, reply, workspace)
    write_line(_shown(row, given, reply.text))
    _tell_undo(reply)
    return status


__all__ = ["UsageError", "run"]
