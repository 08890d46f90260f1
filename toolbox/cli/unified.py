"""A unified diff read for people: what each line is, counts for each file, two columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal["file", "hunk", "same", "old", "new", "mark", "other"]

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_HEADERS: Final = (
    "diff ", "index ", "old mode ", "new mode ", "new file ", "deleted file ", "similarity ",
    "rename ", "copy ", "--- ", "+++ ", "Binary files ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff's text; old and new are its 1-based line numbers, 0 where it has none."""

    kind: Kind
    text: str
    old: int = 0
    new: int = 0


def read(text: str) -> Iterator[Line]:
    """Every line with what it is; a hunk's counts decide, so `--- x` in one is a removed line."""
    old_left = new_left = old = new = 0
    for line in text.split("\n"):
        if old_left > 0 or new_left > 0 or line.startswith("\\"):
            first = line[:1]
            if first == "\\":
                yield Line("mark", line)
                continue
            if first == "-":
                yield Line("old", line, old, 0)
                old, old_left = old + 1, old_left - 1
                continue
            if first == "+":
                yield Line("new", line, 0, new)
                new, new_left = new + 1, new_left - 1
                continue
            if first in (" ", ""):
                yield Line("same", line, old, new)
                old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
                continue
            old_left = new_left = 0
        if found := _HUNK.match(line):
            old, new = int(found[1]), int(found[3])
            old_left, new_left = int(found[2] or 1), int(found[4] or 1)
            yield Line("hunk", line, old, new)
        elif line.startswith(_HEADERS):
            yield Line("file", line)
        else:
            yield Line("other", line)


def holds_hunks(text: str) -> bool:
    """Whether the text is a diff with something in it."""
    return any(line.kind == "hunk" for line in read(text))


@dataclass(slots=True)
class FileCount:
    """How many lines a diff adds and removes in one file."""

    name: str
    added: int = 0
    removed: int = 0


def counts(text: str) -> list[FileCount]:
    """One for each file of the diff, in its order."""
    files: list[FileCount] = []
    in_hunks = True
    before = ""
    for line in read(text):
        match line.kind:
            case "file":
                if in_hunks or line.text.startswith("diff "):
                    files.append(FileCount(""))
                    in_hunks = False
                if line.text.startswith("--- "):
                    before = _name(line.text)
                elif line.text.startswith("+++ "):
                    after = _name(line.text)
                    files[-1].name = before if after == "/dev/null" else after
                elif line.text.startswith("diff --git ") and not files[-1].name:
                    files[-1].name = line.text[len("diff --git ") :].rpartition(" b/")[2]
                elif line.text.startswith("Binary files "):
                    files[-1].name = line.text
            case "hunk":
                in_hunks = True
                if not files:
                    files.append(FileCount(""))
            case "old":
                files[-1].removed += 1
            case "new":
                files[-1].added += 1
    return files


def _name(line: str) -> str:
    name = line[4:].partition("\t")[0]
    return name[2:] if name[:2] in ("a/", "b/") else name


@dataclass(slots=True)
class Pair:
    """One line of two columns. mark: `|` changed, `<` only old, `>` only new, ` ` the same; a
    heading has only `head`."""

    mark: str
    old: Line | None = None
    new: Line | None = None
    head: str = ""


@dataclass(slots=True)
class _Block:
    old: list[Line] = field(default_factory=list)
    new: list[Line] = field(default_factory=list)

    def take(self) -> Iterator[Pair]:
        for k in range(max(len(self.old), len(self.new))):
            old = self.old[k] if k < len(self.old) else None
            new = self.new[k] if k < len(self.new) else None
            yield Pair("|" if old and new else "<" if old else ">", old, new)
        self.old, self.new = [], []


def pairs(text: str) -> Iterator[Pair]:
    """The diff's lines side by side: removed and added lines of a block pair by position."""
    block = _Block()
    for line in read(text):
        match line.kind:
            case "old":
                block.old.append(line)
                continue
            case "new":
                block.new.append(line)
                continue
            case "mark":
                continue  # columns cannot show a final newline that is not there
        yield from block.take()
        if line.kind == "same":
            yield Pair(" ", line, line)
        elif line.text:
            yield Pair("", head=line.text)
    yield from block.take()


def changed_span(old: str, new: str) -> tuple[int, int, int]:
    """(start, end in old, end in new) of what differs between two lines, by whole characters."""
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    back = 0
    while back < most - start and old[-1 - back] == new[-1 - back]:
        back += 1
    return start, len(old) - back, len(new) - back
