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
        stack = [_level(sides, budget, "", skip, (True, True), comparison, keep, deadline)]
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
            if name in level.changed:
                yield Difference("changed", path, "file", "file")
                continue
            old_folder = old is not None and old.kind == "folder"
            new_folder = new is not None and new.kind == "folder"
            asked = name in level.unread
            if keep is not None and not asked and not keep(path, old_folder or new_folder):
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
                    folders = (old_folder, new_folder)
                    stack.append(
                        _level(sides, budget, path, skip, folders, comparison, keep, deadline)
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
    changed: set[str]
    """Names of files that are known to differ."""
    unread: set[str]
    """Names of files that could not be compared at once; keep has been asked."""


def _level(
    sides: tuple[Descent, Descent],
    budget: Budget,
    path: str,
    skip: frozenset[str],
    folders: tuple[bool, bool],
    comparison: Comparison,
    keep: Keep | None,
    deadline: Deadline | None,
) -> _Level:
    """The folder entered on the sides that have it, its plain files already compared."""
    prefix = path + "/" if path else ""
    nothing: tuple[list[str], list[Node]] = ([], [])
    old_files, old_rest = budget.scan(sides[0].fd, path, skip) if folders[0] else nothing
    new_files, new_rest = budget.scan(sides[1].fd, path, skip) if folders[1] else nothing
    new_names = set(new_files)
    both = [name for name in old_files if name in new_names]
    names = both if keep is None else [name for name in both if keep(prefix + name, False)]
    same, changed = _compare_files(sides[0].fd, sides[1].fd, names, deadline)
    comparison.compared += len(same) + len(changed)
    unread = set(names) - same - changed
    # What is settled as the same, or not wanted, is left out of the pairs.
    settled = set(both) - changed - unread
    by_name = {node.name: node for node in new_rest}
    by_name.update({name: Node(name, "file") for name in new_files if name not in settled})
    olds = old_rest + [Node(name, "file") for name in old_files if name not in settled]
    pairs: list[Pair] = [(node, by_name.pop(node.name, None)) for node in olds]
    pairs += [(None, node) for node in by_name.values()]
    pairs.sort(key=_pair_order)
    return _Level(prefix, *folders, iter(pairs), changed, unread)


def _compare_files(
    folder_a: int, folder_b: int, names: list[str], deadline: Deadline | None
) -> tuple[set[str], set[str]]:
    """(same, changed) of the names that are files in both folders; in neither where one cannot
    be read. Nearly all of a comparison's time is spent here, so it is one plain loop."""
    same: set[str] = set()
    changed: set[str] = set()
    opened, read, close = os.open, os.read, os.close
    for n, name in enumerate(names):
        if deadline is not None and n % _CHECK_EVERY == 0:
            deadline.check()
        try:
            a = opened(name, _OPEN_FLAGS, dir_fd=folder_a)
        except OSError:
            continue
        try:
            b = opened(name, _OPEN_FLAGS, dir_fd=folder_b)
        except OSError:
            close(a)
            continue
        try:
            left = read(a, _FIRST_BYTES)
            if left != read(b, _FIRST_BYTES):
                changed.add(name)
            elif len(left) < _FIRST_BYTES or (
                os.fstat(a).st_size == os.fstat(b).st_size and _same_rest(a, b)
            ):
                same.add(name)
            else:
                changed.add(name)
        except OSError:
            pass
        finally:
            close(a)
            close(b)
    return same, changed


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
