"""What `-` reads: standard input as the inline text that an argument stands for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from sandbox.errors import SandboxError
from sandbox.reader import read_file
from sandbox.root import Root
from toolbox import limits
from toolbox.cli import words
from toolbox.cli.out import is_terminal, say
from toolbox.cli.rows import Row
from toolbox.cli.words import Given, UsageError
from toolbox.dispatch import failure
from toolbox.errors import InvalidArg, ParseFailed, TooLarge, ToolboxError

STANDARD_INPUT_BYTES: Final = 64 * 1024 * 1024
"""Read from standard input, at most: above every verb's own limit."""


class Failed(Exception):
    """Raised with the envelope of the error, where standard input cannot be taken."""

    def __init__(self, op: str, error: ToolboxError | SandboxError) -> None:
        super().__init__(error.message)
        self.envelope = failure(op, error).envelope()


def fill(row: Row, given: Given, workspace: str) -> tuple[str, Mapping[str, object]]:
    """(verb, arguments) with standard input in its place.

    `diff files` has no inline side: its other file is read here, through the sandbox, and the
    call becomes `diff text`.
    """
    if len(given.standard_input) > 1:
        raise UsageError(
            "standard input can be read once, and - stands for it twice",
            f"save one of them: {words.usage(row)}",
        )
    name = given.standard_input[0]
    op = f"{row.tool}.{row.name}"
    convertible = (row.tool, row.name) == ("diff", "files")
    if name in row.files and not convertible:
        raise UsageError(
            f"{name.upper()}: {row.tool} {row.name} takes no standard input here",
            "give a file of the workspace",
        )
    try:
        text = _read()
        word = row.words[name]
        whole = words.list_or_one(word, text.strip()) if word.is_list else text
        args = {**given.args, name: whole}
        if not convertible:
            return row.name, args
        other = "b" if name == "a" else "a"
        with Root.open(workspace) as root:
            path = str(args[other])
            data = read_file(root, path, limit_bytes=limits.DIFF_FILE_BYTES, what="text diff").data
        args[other] = _decoded(data, path)
        return "text", args
    except (ToolboxError, SandboxError) as error:
        raise Failed(op, error) from None


def _read() -> str:
    if sys.stdin is None:
        raise InvalidArg("standard input is closed", hint="give a file of the workspace")
    if is_terminal(0):
        say("toolbox: reading standard input; Ctrl-D ends it\n")
    data = sys.stdin.buffer.read(STANDARD_INPUT_BYTES + 1)
    if len(data) > STANDARD_INPUT_BYTES:
        raise TooLarge(
            f"standard input: more than {STANDARD_INPUT_BYTES >> 20} MiB",
            hint="take the part that matters",
            at={"limit_bytes": STANDARD_INPUT_BYTES},
        )
    return _decoded(data, "standard input")


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as broken:
        line = data.count(b"\n", 0, broken.start) + 1
        raise ParseFailed(
            f"{what}: expected UTF-8, got the byte 0x{data[broken.start]:02x} at offset "
            f"{broken.start}, line {line}",
            hint="files that are not UTF-8 are read by name, from the workspace",
            at={"offset": broken.start, "line": line},
        ) from None
