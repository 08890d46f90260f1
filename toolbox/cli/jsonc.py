"""Set one member in a JSON file with comments, every other byte as it was.

Configuration files of editors and agents hold comments and trailing commas that a parser drops.
So the text is only scanned for where members stand, and the one entry is written into it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


class NotJsonc(ValueError):
    """Raised where the text is not JSON, comments and trailing commas allowed."""


@dataclass(slots=True)
class Node:
    """A value and where it stands: [start, end) in characters."""

    start: int
    end: int
    value: Any
    members: dict[str, tuple[int, Node]] = field(default_factory=dict)
    """For an object: key → (where the key starts, its value)."""
    is_object: bool = False
    trailing_comma: bool = False
    last_end: int = 0
    """For an object: where its last member, with its comma, ends."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, expected: str) -> NotJsonc:
        line = self.text.count("\n", 0, self.at) + 1
        got = self.text[self.at : self.at + 1] or "the end"
        return NotJsonc(f"line {line}: expected {expected}, got {got!r}")

    def skip(self) -> None:
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t\r\n\ufeff":
                self.at += 1
            elif text.startswith("//", self.at):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif text.startswith("/*", self.at):
                end = text.find("*/", self.at + 2)
                if end < 0:
                    raise self.fail("the end of a comment")
                self.at = end + 2
            else:
                return

    def value(self, depth: int = 0) -> Node:
        if depth > 100:
            raise self.fail("at most 100 levels")
        self.skip()
        start = self.at
        first = self.text[start : start + 1]
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        try:
            value, end = json.JSONDecoder().raw_decode(self.text, start)
        except ValueError:
            raise self.fail("a value") from None
        self.at = end
        return Node(start, end, value)

    def _object(self, depth: int) -> Node:
        node = Node(self.at, 0, {}, is_object=True, last_end=self.at + 1)
        self.at += 1
        while True:
            self.skip()
            if self.text[self.at : self.at + 1] == "}":
                self.at += 1
                node.end = self.at
                return node
            if node.members and not node.trailing_comma:
                raise self.fail("a comma or }")
            key_start = self.at
            if self.text[self.at : self.at + 1] != '"':
                raise self.fail("a key in double quotes")
            key = self.value(depth + 1).value
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                raise self.fail("a colon")
            self.at += 1
            member = self.value(depth + 1)
            node.members[key] = (key_start, member)
            node.value[key] = member.value
            node.last_end = member.end
            node.trailing_comma = self._comma()
            if node.trailing_comma:
                node.last_end = self.at

    def _array(self, depth: int) -> Node:
        node = Node(self.at, 0, [])
        self.at += 1
        comma = True
        while True:
            self.skip()
            if self.text[self.at : self.at + 1] == "]":
                self.at += 1
                node.end = self.at
                return node
            if not comma:
                raise self.fail("a comma or ]")
            node.value.append(self.value(depth + 1).value)
            comma = self._comma()

    def _comma(self) -> bool:
        before = self.at
        self.skip()
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
            return True
        self.at = before
        return False


def parse(text: str) -> Node:
    """The text's value with the places of its members."""
    scanner = _Scanner(text)
    node = scanner.value()
    scanner.skip()
    if scanner.at != len(text):
        raise scanner.fail("the end")
    return node


def set_member(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with the value at this path, objects made on the way as needed."""
    if not text.strip():
        for key in reversed(path):
            value = {key: value}
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    node = parse(text)
    if not node.is_object:
        raise NotJsonc("expected an object at the top")
    rest = list(path)
    while len(rest) > 1 and rest[0] in node.members:
        node = node.members[rest.pop(0)][1]
        if not node.is_object:
            raise NotJsonc(f"expected an object at {path[: len(path) - len(rest)]}")
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _indent_unit(text)
    if rest[0] in node.members:
        key_start, old = node.members[rest[0]]
        written = _dump(value, unit, _indent_at(text, key_start), newline)
        return text[: old.start] + written + text[old.end :]
    for key in reversed(rest[1:]):
        value = {key: value}
    if node.members:
        first_key = min(start for start, _ in node.members.values())
        inner = _indent_at(text, first_key)
        before = "" if node.trailing_comma else ","
        after = "," if node.trailing_comma else ""
        written = f"{json.dumps(rest[0])}: {_dump(value, unit, inner, newline)}{after}"
        below = _past_remarks(text, node.last_end)
        return (
            text[: node.last_end]
            + before
            + text[node.last_end : below]
            + f"{newline}{inner}{written}"
            + text[below:]
        )
    outer = _indent_at(text, node.start)
    inner = outer + unit
    piece = f"{newline}{inner}{json.dumps(rest[0])}: {_dump(value, unit, inner, newline)}"
    tail = text[node.last_end : node.end - 1]
    closing = tail if "\n" in tail else tail + newline + outer
    return text[: node.last_end] + piece + closing + text[node.end - 1 :]


def _past_remarks(text: str, at: int) -> int:
    """Behind the comments that stand on the same line as a member: they belong to it."""
    while True:
        rest = text[at:].split("\n", 1)[0]
        bare = rest.lstrip(" \t")
        if bare.startswith("//"):
            return at + len(rest.rstrip("\r"))
        if not bare.startswith("/*"):
            return at
        end = text.find("*/", at)
        if "\n" in text[at:end]:
            return at
        at = end + 2


def _indent_at(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    for line in text.splitlines():
        stripped = line.lstrip(" \t")
        if stripped and len(line) > len(stripped):
            return line[: len(line) - len(stripped)]
    return "  "


def _dump(value: Any, unit: str, indent: str, newline: str) -> str:
    text = json.dumps(value, indent=unit, ensure_ascii=False)
    return text.replace("\n", newline + indent)
