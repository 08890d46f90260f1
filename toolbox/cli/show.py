"""How replies look on a terminal; piped output is the reply's text, unchanged."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from toolbox.verb import Verb

_RED: Final = "\x1b[31m"
_GREEN: Final = "\x1b[32m"
_CYAN: Final = "\x1b[36m"
_BOLD: Final = "\x1b[1m"
_OFF: Final = "\x1b[0m"


def wants_color(choice: str) -> bool:
    """Whether to colour: asked, or a terminal that has not said no."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def print_text(verb: Verb[Any], text: str, *, color: str) -> None:
    """Print a reply's text."""
    if verb.tool == "diff" and wants_color(color):
        text = "\n".join(_line(line) for line in text.split("\n"))
    data = text.encode("utf-8", "surrogateescape")
    sys.stdout.buffer.write(data if data.endswith(b"\n") else data + b"\n")
    sys.stdout.buffer.flush()


def _line(line: str) -> str:
    if line.startswith(("--- ", "+++ ", "diff ")):
        return f"{_BOLD}{line}{_OFF}"
    if line.startswith("@@"):
        return f"{_CYAN}{line}{_OFF}"
    if line.startswith("+"):
        return f"{_GREEN}{line}{_OFF}"
    if line.startswith("-"):
        return f"{_RED}{line}{_OFF}"
    return line
