"""Tree objects: their entries, and the paths that differ between two of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from toolbox.errors import BadRevision

FOLDER: Final = 0o040000
LINK: Final = 0o120000
SUBMODULE: Final = 0o160000
PLAIN: Final = 0o100644
EXECUTABLE: Final = 0o100755

_ENTRY: Final = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)


class Side(NamedTuple):
    """What stands at a path on one side."""

    mode: int
    """100644, 100755, 120000 or 160000, as git writes them, in octal."""
    id: bytes

    @property
    def is_file(self) -> bool:
        return self.mode & 0o170000 == 0o100000

    @property
    def kind(self) -> int:
        return self.mode & 0o170000


class Difference(NamedTuple):
    """A path that differs; one side may lack it."""

    path: bytes
    old: Side | None
    new: Side | None


class Filter:
    """Which paths are wanted: those at or below some, or all of them where none is given."""

    def __init__(self, paths: Sequence[bytes] = ()) -> None:
        self.paths = tuple(paths)
        self._below = tuple(path + b"/" for path in paths)
        self.met: set[bytes] = set()
        """The paths asked for below which something was met."""

    def wants(self, path: bytes) -> bool:
        """Whether a file's path is wanted."""
        if not self.paths:
            return True
        for asked, below in zip(self.paths, self._below, strict=True):
            if path == asked or path.startswith(below):
                self.met.add(asked)
                return True
        return False

    def enters(self, folder: bytes) -> bool:
        """Whether a folder may hold something that is wanted."""
        if not self.paths:
            return True
        inside = folder + b"/"
        return any(
            folder == asked or folder.startswith(below) or asked.startswith(inside)
            for asked, below in zip(self.paths, self._below, strict=True)
        )


Read = Callable[[bytes], bytes]
"""The bytes of the tree object of an id."""


def canonical(mode: int) -> int:
    """A mode as git compares it: one bit of a file's permissions counts."""
    kind = mode & 0o170000
    if kind == 0o100000:
        return EXECUTABLE if mode & 0o100 else PLAIN
    return kind if kind in (FOLDER, LINK) else SUBMODULE


def _raw_entries(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """A tree's entries as mode digits, name and id; BadRevision where it is damaged."""
    found = _ENTRY.findall(data)
    if sum([len(digits) + len(name) for digits, name, _ in found]) + 22 * len(found) != len(data):
        raise BadRevision("a tree object of the revision is damaged")
    return found


@lru_cache(maxsize=64)
def _mode(digits: bytes) -> int:
    return canonical(int(digits, 8))


def entries(data: bytes) -> dict[bytes, Side]:
    """A tree's entries by name; BadRevision where it is damaged."""
    return {name: Side(_mode(digits), ident) for digits, name, ident in _raw_entries(data)}


def _differing(old: bytes, new: bytes) -> tuple[dict[bytes, Side], dict[bytes, Side]]:
    """The entries of two trees that the other lacks as they stand."""
    olds, news = set(_raw_entries(old)), set(_raw_entries(new))
    return tuple(  # type: ignore[return-value]
        {name: Side(_mode(digits), ident) for digits, name, ident in side}
        for side in (olds - news, news - olds)
    )


def compare(
    old: bytes | None, new: bytes | None, read: Read, wanted: Filter, check: Callable[[], None]
) -> list[Difference]:
    """The files that differ between two trees (binary ids, None for an empty one), by path."""
    found: list[Difference] = []
    stack: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", old, new)]
    while stack:
        prefix, a, b = stack.pop()
        check()
        olds, news = _differing(
            read(a) if a is not None else b"", read(b) if b is not None else b""
        )
        for name in olds.keys() | news.keys():
            left, right = olds.get(name), news.get(name)
            if left == right:
                continue
            path = prefix + name
            left_tree = left.id if left is not None and left.mode == FOLDER else None
            right_tree = right.id if right is not None and right.mode == FOLDER else None
            if left_tree is not None or right_tree is not None:
                if wanted.enters(path):
                    stack.append((path + b"/", left_tree, right_tree))
                if left_tree is not None:
                    left = None
                if right_tree is not None:
                    right = None
            if (left is not None or right is not None) and wanted.wants(path):
                found.append(Difference(path, left, right))
    found.sort(key=lambda one: one.path)
    return found


def files(tree: bytes | None, read: Read, wanted: Filter) -> Iterator[tuple[bytes, Side]]:
    """Every file of a tree, in no order."""
    stack = [(b"", tree)] if tree is not None else []
    while stack:
        prefix, ident = stack.pop()
        assert ident is not None
        for name, side in entries(read(ident)).items():
            path = prefix + name
            if side.mode == FOLDER:
                if wanted.enters(path):
                    stack.append((path + b"/", side.id))
            elif wanted.wants(path):
                yield path, side


def exists(tree: bytes | None, path: bytes, read: Read) -> bool:
    """Whether a tree has a file or folder at a path."""
    here: bytes | None = tree
    for name in path.split(b"/"):
        if here is None:
            return False
        side = entries(read(here)).get(name)
        if side is None:
            return False
        here = side.id if side.mode == FOLDER else None
    return True
