"""`toolbox attach CLIENT`: the client's own configuration, with this workspace's daemon in it.

The change is shown first. Outside our entry the file keeps every byte, comments too; where that
cannot be shown to hold, nothing is written.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import secrets
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from toolbox.cli.jsonc import NotJsonc, parse, set_member
from toolbox.cli.out import DONE, ERROR, NEGATIVE

NAME: Final = "toolbox"
"""What the entry is called in every client."""


@dataclass(frozen=True, slots=True)
class ClientFile:
    """Where a client keeps its servers, and how it spells one."""

    path: str
    """Relative to the workspace."""
    keys: tuple[str, ...]
    entry: Callable[[list[str]], dict[str, Any]]
    toml: bool = False
    note: str = ""


def _stdio(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _typed(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", **_stdio(command)}


def _codex(command: list[str]) -> dict[str, Any]:
    """Codex waits 1 s for a server that is not required, and a first turn then goes without its
    tools; a daemon that has to be started takes longer. It also hands a server few variables: with
    XDG_RUNTIME_DIR it finds the daemon that other clients share. (Codex 0.171)"""
    more = {"env_vars": ["XDG_RUNTIME_DIR"], "required": True, "startup_timeout_sec": 30}
    return {**_stdio(command), **more}


def _local(command: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": command, "enabled": True}


CLIENTS: Final = {
    "claude-code": ClientFile(".mcp.json", ("mcpServers", NAME), _typed),
    "codex": ClientFile(
        ".codex/config.toml", ("mcp_servers", NAME), _codex, toml=True,
        note="Codex reads a project's own configuration only where the project is trusted",
    ),
    "gemini": ClientFile(".gemini/settings.json", ("mcpServers", NAME), _stdio),
    "vscode": ClientFile(".vscode/mcp.json", ("servers", NAME), _typed),
    "cursor": ClientFile(".cursor/mcp.json", ("mcpServers", NAME), _typed),
    "opencode": ClientFile("opencode.json", ("mcp", NAME), _local),
    "zed": ClientFile(".zed/settings.json", ("context_servers", NAME), _stdio),
}  # fmt: skip


def command_line(workspace: str, tools: str) -> list[str]:
    """What the client starts: our own executable, this workspace."""
    beside = os.path.join(os.path.dirname(sys.executable), "toolbox")
    program = beside if os.access(beside, os.X_OK) else shutil.which("toolbox")
    words = [program] if program else [sys.executable, "-m", "toolbox"]
    words += ["mcp", "--workspace", workspace]
    return words + (["--tools", tools] if tools != "tools" else [])


def changed(text: str, client: ClientFile, command: list[str]) -> str:
    """The file's text with our entry in it; ValueError where that cannot be done safely."""
    entry = client.entry(command)
    if not client.toml:
        after = set_member(text, client.keys, entry)
        before_value = parse(text).value if text.strip() else {}
        expected = _with(before_value, client.keys, entry)
        if parse(after).value != expected:
            raise NotJsonc("the entry could not be placed; add it by hand")
        return after
    after = _set_table(text, ".".join(client.keys), entry)
    if tomllib.loads(after) != _with(tomllib.loads(text), client.keys, entry):
        raise ValueError("the entry could not be placed; add it by hand")
    return after


def _with(value: dict[str, Any], keys: tuple[str, ...], entry: Any) -> dict[str, Any]:
    copy = dict(value)
    copy[keys[0]] = entry if len(keys) == 1 else _with(copy.get(keys[0], {}), keys[1:], entry)
    return copy


def _set_table(text: str, name: str, entry: dict[str, Any]) -> str:
    """TOML text with `[name]` set: its own lines replaced, or a table added at the end."""
    tomllib.loads(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    body = [f"[{name}]"] + [f"{key} = {_toml(value)}" for key, value in entry.items()]
    lines = text.splitlines(keepends=True)
    header = re.compile(r"^\s*\[\s*" + r"\s*\.\s*".join(map(re.escape, name.split("."))) + r"\s*\]")
    for start, line in enumerate(lines):
        if header.match(line):
            end = start + 1
            last = end
            while end < len(lines) and not lines[end].lstrip().startswith("["):
                if lines[end].strip() and not lines[end].lstrip().startswith("#"):
                    last = end + 1
                end += 1
            return "".join([*lines[:start], *(b + newline for b in body), *lines[last:]])
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + "".join(b + newline for b in body)


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool | int):
        return str(value).lower()
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def run(options: argparse.Namespace) -> int:
    """Show the change, ask, write it; the exit status."""
    client = CLIENTS[options.client]
    workspace = os.path.realpath(options.workspace)
    if not os.path.isdir(workspace):
        print(f"toolbox: {options.workspace} is no folder", file=sys.stderr)
        return ERROR
    path = os.path.join(workspace, client.path)
    try:
        with open(path, encoding="utf-8", newline="") as handle:
            before = handle.read()
    except FileNotFoundError:
        before = ""
    except (OSError, UnicodeDecodeError) as exc:
        print(f"toolbox: {path}: {exc}", file=sys.stderr)
        return ERROR
    try:
        after = changed(before, client, command_line(workspace, options.tools))
    except ValueError as exc:
        print(f"toolbox: {path}: {exc}; nothing was written", file=sys.stderr)
        return ERROR
    if after == before:
        print(f"{client.path} has this entry already")
        return DONE
    diff = difflib.unified_diff(
        before.splitlines(), after.splitlines(), client.path if before else "/dev/null",
        client.path, lineterm="",
    )  # fmt: skip
    print("\n".join(diff))
    if client.note:
        print(f"note: {client.note}")
    if options.only_print:
        return DONE
    if not options.yes:
        if not sys.stdin.isatty():
            print("toolbox: nothing was written; --yes writes it", file=sys.stderr)
            return NEGATIVE
        if input(f"write {path}? [y/N] ").strip().lower() not in ("y", "yes"):
            return NEGATIVE
    _write(path, after)
    print(f"wrote {path}")
    return DONE


def _write(path: str, text: str) -> None:
    """Replace the file at once, through a link where it is one, with its mode kept."""
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
    with open(temporary, "x", encoding="utf-8", newline="") as handle:
        os.fchmod(handle.fileno(), mode)
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, path)
