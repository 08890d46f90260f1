"""Two trees side by side: which files were added, removed, changed, or became another kind.

Content decides, chunk by chunk from two descriptors; links are compared by their target. Sizes
are not asked for first: most files are small, and one read of each tells size and content at once.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from sandbox.limits import SKIPPED_FOLDERS, TREE_ENTRIES, TREE_OPEN_FOLDERS
from sandbox.resolve import READ_FLAGS
from sandbox.root import Kind, OpenFolder
from sandbox.tree import Budget, Deadline, Descent, Keep, Node, Skipped, why_not_entered

Mark = Literal["added", "removed", "changed", "kind_changed"]

_FIRST_BYTES: Final = 1 << 16  # one read for nearly every source file
_NEXT_BYTES: Final = 1 << 20
_CHECK_EVERY: Final = 512  # pairs between two looks at the deadline
_OPEN_FLAGS: Final = READ_FLAGS | os.O_NOFOLLOW


class Difference(NamedTuple):
    """One path that differs; the kinds are None on the side that lacks it."""

    mark: Mark
    path: str
    before: Kind | None
    after: Kind | None


@dataclass(slots=True)
class Comparison:
    """What a comparison left out, filled while it runs."""

    compared: int = 0
    """Entries of the two trees that were looked at as pairs."""
    cut: str | None = None
    skipped: list[Skipped] = field(default_factory=list)
    """Folders and files that could not be read."""


def compare_trees(
    before: OpenFolder,
    after: OpenFolder,
    comparison: Comparison,
    *,
    keep: Keep | None = None,
    skip: frozenset[str] = SKIPPED_FOLDERS,
    entries: int = TREE_ENTRIES,
    deadline: Deadline | None = None,
    held: int = TREE_OPEN_FOLDERS,
) -> Iterator[Difference]:
    """Each path that differs, in path order; folders appear only where the kind changed, their
    files are listed one by one (an added folder is its added files).

    comparison takes what could not be compared. keep sees every path once.
    """
    sides = (Descent(before, held), Descent(after, held))
    budget = Budget(entries, deadline)
    try:
        stack = [_Level("", True, True, _merged(sides, budget, "", skip, True, True))]
        while stack:
            level = stack[-1]
            pair = next(level.pairs, None)
            if pair is None:
                stack.pop()
                if stack:
                    if level.before:
                        sides[0].leave()
                    if level.after:
                        sides[1].leave()
                continue
            old, new = pair
            name = (old or new or _NOTHING).name
            path = level.prefix + name
            old_folder = old is not None and old.kind == "folder"
            new_folder = new is not None and new.kind == "folder"
            if keep is not None and not keep(path, old_folder or new_folder):
                continue
            comparison.compared += 1
            if deadline is not None and comparison.compared % _CHECK_EVERY == 0:
                deadline.check()
            found = _judge(sides, old, new, path, comparison)
            if found is not None:
                yield found
            if old_folder or new_folder:
                entered = _enter(sides, name, path, old_folder, new_folder, comparison)
                if entered:
                    stack.append(
                        _Level(
                            path + "/",
                            old_folder,
                            new_folder,
                            _merged(sides, budget, path, skip, old_folder, new_folder),
                        )
                    )
        comparison.cut = budget.cut
    finally:
        comparison.cut = budget.cut
        sides[0].close()
        sides[1].close()


Pair = tuple[Node | None, Node | None]
_NOTHING: Final = Node("", "file")


class _Level(NamedTuple):
    prefix: str
    before: bool
    after: bool
    pairs: Iterator[Pair]


def _merged(
    sides: tuple[Descent, Descent],
    budget: Budget,
    path: str,
    skip: frozenset[str],
    before: bool,
    after: bool,
) -> Iterator[Pair]:
    """The two folders' entries by name, in path order."""
    olds = budget.list(sides[0].fd, path, skip) if before else []
    news = budget.list(sides[1].fd, path, skip) if after else []
    if olds == news:
        return iter(list(zip(olds, news, strict=True)))
    by_name = {node.name: node for node in news}
    pairs: list[Pair] = [(node, by_name.pop(node.name, None)) for node in olds]
    pairs += [(None, node) for node in by_name.values()]
    pairs.sort(key=_pair_order)
    return iter(pairs)


def _pair_order(pair: Pair) -> str:
    old, new = pair
    node = old or new or _NOTHING
    folder = (old is not None and old.kind == "folder") or (
        new is not None and new.kind == "folder"
    )
    return node.name + "/" if folder else node.name


def _enter(
    sides: tuple[Descent, Descent],
    name: str,
    path: str,
    before: bool,
    after: bool,
    comparison: Comparison,
) -> bool:
    """Step into the folder on the sides that have it: on all of them or on none."""
    try:
        if before:
            sides[0].enter(name)
        if after:
            try:
                sides[1].enter(name)
            except OSError:
                if before:
                    sides[0].leave()
                raise
    except OSError as exc:
        comparison.skipped.append(Skipped(path, why_not_entered(exc)))
        return False
    return True


def _judge(
    sides: tuple[Descent, Descent],
    old: Node | None,
    new: Node | None,
    path: str,
    comparison: Comparison,
) -> Difference | None:
    if old is None:
        assert new is not None
        return None if new.kind == "folder" else Difference("added", path, None, new.kind)
    if new is None:
        return None if old.kind == "folder" else Difference("removed", path, old.kind, None)
    if old.kind != new.kind:
        return Difference("kind_changed", path, old.kind, new.kind)
    if old.kind == "file":
        try:
            if same_content(sides[0].fd, sides[1].fd, old.name):
                return None
        except OSError as exc:
            comparison.skipped.append(Skipped(path, why_not_entered(exc)))
            return None
        return Difference("changed", path, "file", "file")
    if old.kind == "link":
        try:
            target = os.readlink(old.name, dir_fd=sides[0].fd)
            if target == os.readlink(new.name, dir_fd=sides[1].fd):
                return None
        except OSError as exc:
            comparison.skipped.append(Skipped(path, why_not_entered(exc)))
            return None
        return Difference("changed", path, "link", "link")
    return None


def same_content(folder_a: int, folder_b: int, name: str) -> bool:
    """Whether the files of that name in two open folders hold the same bytes.

    A link or anything that is no regular file is an OSError or ends at once: it never blocks.
    """
    a = os.open(name, _OPEN_FLAGS, dir_fd=folder_a)
    try:
        b = os.open(name, _OPEN_FLAGS, dir_fd=folder_b)
        try:
            left = os.read(a, _FIRST_BYTES)
            right = os.read(b, _FIRST_BYTES)
            if left != right:
                return False
            if len(left) < _FIRST_BYTES:
                return True
            if os.fstat(a).st_size != os.fstat(b).st_size:
                return False
            return _same_rest(a, b)
        finally:
            os.close(b)
    except BlockingIOError:
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    finally:
        os.close(a)


def _same_rest(a: int, b: int) -> bool:
    while True:
        left = os.read(a, _NEXT_BYTES)
        right = os.read(b, _NEXT_BYTES)
        if left != right:
            return False
        if not left:
            return True
