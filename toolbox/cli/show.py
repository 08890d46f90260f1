"""How replies look on a terminal; piped output is the reply's text, unchanged.

Three views, each only where asked or seen by a person: colour, `--stat`, `--side-by-side`. On a
terminal control characters are shown as `\\x1b`, since a file's content must not command it.
"""

from __future__ import annotations

from typing import Final

from toolbox.cli import unified
from toolbox.cli.out import visible
from toolbox.cli.unified import Line, Pair

_RED: Final = "\x1b[31m"
_GREEN: Final = "\x1b[32m"
_YELLOW: Final = "\x1b[33m"
_CYAN: Final = "\x1b[36m"
_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_REVERSE: Final = "\x1b[7m"
_OFF: Final = "\x1b[0m"

_KINDS: Final = {"file": _BOLD, "hunk": _CYAN, "old": _RED, "new": _GREEN, "mark": _DIM}
_MARKS: Final = {"+ ": _GREEN, "- ": _RED, "~ ": _YELLOW, "! ": _CYAN}

_STAT_COLUMNS: Final = 60
"""Of `+` and `-` for one file, at most."""
_PLAIN_COLUMNS: Final = 130
"""The width of two columns where no terminal says one, as diff's."""
_GUTTER: Final = 3
_SIMILAR: Final = 0.3
"""Lines that share less of their length than this are not marked within."""


def colored(text: str) -> str:
    """A diff verb's text in colour."""
    if unified.holds_hunks(text):
        return "\n".join(_unified(text))
    return "\n".join(_marked(line) for line in text.split("\n"))


def _marked(line: str) -> str:
    color = _MARKS.get(line[:2])
    if color is None:
        if (": hunk" in line and "does not" in line) or " refused" in line:
            color = _RED
        elif line.startswith(("note: ", "next: ", "undo: ")):
            color = _DIM
    return f"{color}{line}{_OFF}" if color else line


def _unified(text: str) -> list[str]:
    """Coloured lines; where as many lines were added as removed, what differs stands out."""
    out: list[str] = []
    old: list[Line] = []
    new: list[Line] = []

    def settle() -> None:
        if old and len(old) == len(new):
            spans = [_span(a.text[1:], b.text[1:]) for a, b in zip(old, new, strict=True)]
        else:
            spans = [None] * max(len(old), len(new))
        for line, span in zip(old, spans, strict=False):
            out.append(_line(line.text, _RED, span and (span[0], span[1])))
        for line, span in zip(new, spans, strict=False):
            out.append(_line(line.text, _GREEN, span and (span[0], span[2])))
        old.clear()
        new.clear()

    for line in unified.read(text):
        if line.kind == "old" and not new:
            old.append(line)
        elif line.kind == "new":
            new.append(line)
        else:
            settle()
            if line.kind == "old":
                old.append(line)
            elif line.kind == "other":
                out.append(_marked(line.text))
            else:
                color = _KINDS.get(line.kind)
                out.append(f"{color}{line.text}{_OFF}" if color else line.text)
    settle()
    return out


def _span(old: str, new: str) -> tuple[int, int, int] | None:
    start, end_old, end_new = unified.changed_span(old, new)
    most = max(len(old), len(new))
    if most == 0 or (start + len(old) - end_old) / most < _SIMILAR:
        return None
    return start, end_old, end_new


def _line(text: str, color: str, span: tuple[int, int] | None) -> str:
    if span is None or span[0] == span[1]:
        return f"{color}{text}{_OFF}"
    start, end = span[0] + 1, span[1] + 1  # past the mark
    return f"{color}{text[:start]}{_REVERSE}{text[start:end]}{_OFF}{color}{text[end:]}{_OFF}"


def stat(text: str, name: str, *, color: bool) -> str:
    """How many lines changed in each file. name: for a diff whose headers do not tell it."""
    files = unified.counts(text)
    if len(files) == 1 and name:
        files[0].name = name
    most = max((f.added + f.removed for f in files), default=0)
    wide = max((_cells(f.name) for f in files), default=0)
    digits = len(str(most))
    lines = []
    for file in files:
        total = file.added + file.removed
        scale = min(1.0, _STAT_COLUMNS / most) if most else 0.0
        plus = "+" * (max(round(file.added * scale), 1) if file.added else 0)
        minus = "-" * (max(round(file.removed * scale), 1) if file.removed else 0)
        if color:
            plus, minus = f"{_GREEN}{plus}{_OFF}", f"{_RED}{minus}{_OFF}"
        lines.append(f" {_pad(file.name, wide)} | {total:>{digits}} {plus}{minus}".rstrip())
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    lines.append(
        f" {_plural(len(files), 'file')} changed, {_plural(added, 'line')} added, "
        f"{_plural(removed, 'line')} removed"
    )
    return "\n".join(lines)


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def columns() -> int:
    """How wide the terminal is, or COLUMNS says; 130 where neither does."""
    import shutil

    return max(shutil.get_terminal_size((_PLAIN_COLUMNS, 24)).columns, 40)


def side_by_side(text: str, width: int, *, color: bool) -> str:
    """Old and new in two columns; long lines go on below, so that nothing is left out."""
    shown = list(unified.pairs(text))
    most = max(
        (max(p.old.old if p.old else 0, p.new.new if p.new else 0) for p in shown), default=1
    )
    digits = len(str(most))
    room = max((width - _GUTTER - 2 * (digits + 1)) // 2, 8)
    lines: list[str] = []
    for pair in shown:
        if pair.head:
            lines.append(f"{_CYAN}{pair.head}{_OFF}" if color else pair.head)
        else:
            lines += _columns(pair, digits, room, color)
    return "\n".join(line.rstrip() for line in lines)


def _columns(pair: Pair, digits: int, room: int, color: bool) -> list[str]:
    left = _cut(pair.old.text[1:], room) if pair.old else []
    right = _cut(pair.new.text[1:], room) if pair.new else []
    old_number = str(pair.old.old) if pair.old else ""
    new_number = str(pair.new.new) if pair.new else ""
    paint = color and pair.mark != " "
    lines = []
    for k in range(max(len(left), len(right))):
        a = _pad(left[k] if k < len(left) else "", room)
        b = right[k] if k < len(right) else ""
        number_a = (old_number if k == 0 and left else "").rjust(digits)
        number_b = (new_number if k == 0 and right else "").rjust(digits)
        mark = pair.mark if k == 0 else " "
        if paint:
            a = f"{_RED}{a}{_OFF}" if k < len(left) else a
            b = f"{_GREEN}{b}{_OFF}" if b else b
        lines.append(f"{number_a} {a} {mark} {number_b} {b}")
    return lines


def _cut(text: str, room: int) -> list[str]:
    """Text in pieces of at most `room` cells, at least one."""
    text = visible(text).expandtabs(8)
    if text.isascii():
        return [text[k : k + room] for k in range(0, len(text), room)] or [""]
    from rich.cells import chop_cells

    return chop_cells(text, room) or [""]


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _pad(text: str, room: int) -> str:
    return text + " " * (room - _cells(text))
