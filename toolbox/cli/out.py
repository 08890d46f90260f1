"""What is written to standard output and standard error: whole, as UTF-8, quiet when unread."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from typing import Final

DONE: Final = 0
NEGATIVE: Final = 1
"""The verb's own «no»: invalid, or the files differ."""
ERROR: Final = 2
INTERRUPTED: Final = 130


def is_terminal(fd: int = 1) -> bool:
    """Whether a person looks at this descriptor."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def wants_color(choice: str = "auto", fd: int = 1) -> bool:
    """Whether to colour: asked, or a terminal that has not said no."""
    if choice != "auto":
        return choice == "always"
    return is_terminal(fd) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(data: str | bytes) -> bool:
    """Write all of it to standard output; False where its reader went away.

    Text is UTF-8 whatever the locale says, as JSON and the files are. Other failures (a full
    disk) raise OSError.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    try:
        sys.stdout.flush()
        view = memoryview(data)
        while view:
            view = view[os.write(1, view[: 1 << 20]) :]
    except BrokenPipeError:
        quiet()
        return False
    return True


def write_line(data: str | bytes) -> bool:
    """The same, ending in a newline: one is added where there is none."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    return write(data if data.endswith(b"\n") else data + b"\n")


def quiet() -> None:
    """Keep Python from complaining at its exit of a reader that went away (`| head`)."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)


def complain(message: str, hint: str = "") -> int:
    """Tell an error on standard error, with the next thing to type; the exit status."""
    red, bold, off = ("\x1b[31m", "\x1b[1m", "\x1b[0m") if wants_color(fd=2) else ("", "", "")
    text = f"{red}{bold}toolbox:{off} {visible(message) if red else message}\n"
    if hint:
        text += f"{bold}hint:{off} {visible(hint) if red else hint}\n"
    return say(text, ERROR)


def say(text: str, status: int = DONE) -> int:
    """Tell something beside the answer, on standard error; gives the status back."""
    try:
        sys.stdout.flush()
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        pass  # nobody is left to tell
    return status


def visible(text: str) -> str:
    """Text that a terminal can show: control characters but newline and tab as `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(
        c if c in "\n\t" or ord(c) >= 0xA0 or 0x20 <= ord(c) < 0x7F else f"\\x{ord(c):02x}"
        for c in text
    )
