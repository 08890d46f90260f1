"""Texts as lines: only a newline ends one, and whether the last has it is part of the text."""

from __future__ import annotations

from dataclasses import dataclass

MARKER = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines without their newlines. ended: whether the last one has its own (True for none)."""

    lines: list[bytes]
    ended: bool


def split(data: bytes) -> Lines:
    """The lines of a text. A carriage return, a form feed or U+2028 is part of its line."""
    lines = data.split(b"\n")
    if lines[-1]:
        return Lines(lines, False)
    lines.pop()
    return Lines(lines, True)


def count(data: bytes) -> int:
    """How many lines `split` would give."""
    newlines = data.count(b"\n")
    return newlines if not data or data.endswith(b"\n") else newlines + 1


def show(data: bytes) -> str:
    """Text for a reader: UTF-8 as it stands, each byte that is not as \\xNN."""
    return data.decode("utf-8", "backslashreplace")


def is_utf8(data: bytes) -> bool:
    """Whether `show` changes nothing."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
