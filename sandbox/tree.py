"""Bounded walks over folder descriptors: sorted, iterative, links reported and never entered.

The order is that of whole paths (`a.txt` before `a/x`), a folder's own record before its entries.
No path is ever opened: each folder is entered from its parent's descriptor, so neither the depth
nor the length of a path stops a walk, and nothing is followed out of the folder given.
"""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple, Protocol

from sandbox.errors import Changed, SandboxError
from sandbox.limits import SKIPPED_FOLDERS, TREE_ENTRIES, TREE_OPEN_FOLDERS
from sandbox.resolve import FOLDER_FLAGS, PATH_FLAGS, Leaves
from sandbox.root import Kind, OpenFolder, kind_of

Keep = Callable[[str, bool], bool]
"""Path and whether it is a folder → whether it is wanted; a folder refused is not entered."""


class Deadline(Protocol):
    """What stops a long walk: `check` raises."""

    def check(self) -> None: ...


_CHECK_EVERY: Final = 64  # folders between two looks at the deadline


class Node(NamedTuple):
    """A name in a folder and what it was when the folder was listed."""

    name: str
    kind: Kind

    @property
    def is_folder(self) -> bool:
        return self.kind == "folder"


class Entry(NamedTuple):
    """One entry of a tree; its path is relative to the folder walked."""

    path: str
    kind: Kind
    size: int
    identity: tuple[int, int]
    """Device and inode."""
    target: str | None
    """What a link says; it may lead anywhere and is for comparing, not for opening."""


class Skipped(NamedTuple):
    """A folder that a walk could not enter, and why."""

    path: str
    reason: str


class Descent:
    """The way from a folder down to the one being looked at, in few descriptors.

    Past `held` folders the shallowest descriptor is closed; it comes back through `..` of its
    child, and only where that is still the very same folder.
    """

    def __init__(self, folder: OpenFolder, held: int = TREE_OPEN_FOLDERS) -> None:
        self._resolver = folder.resolver
        self._fds = [folder.fd]  # the first is the caller's, and stays open
        self._closed: list[tuple[int, int]] = []  # identities of the folders closed for now
        self._held = max(held, 2)

    @property
    def fd(self) -> int:
        """The folder reached."""
        return self._fds[-1]

    def enter(self, name: str) -> None:
        """Step into a folder; OSError where it is none any more, Leaves where it is a mount."""
        fd = self._resolver.open_child(self.fd, os.fsencode(name), FOLDER_FLAGS)
        self._fds.append(fd)
        low = len(self._closed) + 1
        if len(self._fds) - low > self._held:
            found = os.fstat(self._fds[low])
            self._closed.append((found.st_dev, found.st_ino))
            os.close(self._fds[low])
            self._fds[low] = -1

    def leave(self) -> None:
        """Step back to the parent; Changed where the folder was moved meanwhile."""
        fd = self._fds.pop()
        try:
            if len(self._fds) > 1 and self._fds[-1] < 0:
                parent = os.open("..", PATH_FLAGS | os.O_DIRECTORY, dir_fd=fd)
                found = os.fstat(parent)
                if (found.st_dev, found.st_ino) != self._closed.pop():
                    os.close(parent)
                    raise Changed("a folder was moved while the tree was walked")
                self._fds[-1] = parent
        finally:
            os.close(fd)

    def close(self) -> None:
        """Give back every descriptor but the caller's."""
        for fd in self._fds[1:]:
            if fd >= 0:
                os.close(fd)
        del self._fds[1:]
        self._closed.clear()


class Budget:
    """How many entries a walk may still look at; `cut` tells where it stopped."""

    def __init__(self, entries: int = TREE_ENTRIES, deadline: Deadline | None = None) -> None:
        self.left = entries
        self.entries = entries
        self.cut: str | None = None
        self._deadline = deadline
        self._folders = 0

    def list(self, fd: int, path: str, skip: frozenset[str]) -> list[Node]:
        """The entries of an open folder, sorted as whole paths are; fewer where the cap is met."""
        names, nodes = self.scan(fd, path, skip)
        # Without a folder the order of names is that of paths, and found in half the time.
        folders = any(node.kind == "folder" for node in nodes)
        nodes += [Node(name, "file") for name in names]
        nodes.sort(key=path_order if folders else None)
        return nodes

    def scan(
        self, fd: int, path: str, skip: frozenset[str]
    ) -> tuple[builtins.list[str], builtins.list[Node]]:
        """The same unsorted: the names of its files, in the folder's own order, and the rest."""
        self._folders += 1
        if self._deadline is not None and self._folders % _CHECK_EVERY == 0:
            self._deadline.check()
        names: builtins.list[str] = []
        nodes: builtins.list[Node] = []
        left_out = 0
        with os.scandir(fd) as entries:
            for one in islice(entries, self.left):
                if one.is_file(follow_symlinks=False):
                    names.append(one.name)
                elif one.is_dir(follow_symlinks=False):
                    if one.name in skip:
                        left_out += 1
                    else:
                        nodes.append(Node(one.name, "folder"))
                elif one.is_symlink():
                    nodes.append(Node(one.name, "link"))
                else:
                    found = one.stat(follow_symlinks=False)
                    nodes.append(Node(one.name, kind_of(found.st_mode)))
            self.left -= len(names) + len(nodes) + left_out
            if self.left == 0 and next(entries, None) is not None:
                where = path or "the folder itself"
                self.cut = f"more than {self.entries} entries: cut in {where}"
        return names, nodes


def path_order(node: Node) -> str:
    """What sorts the entries of a folder as whole paths are sorted."""
    return node.name + "/" if node.kind == "folder" else node.name


class Walk:
    """The entries of a tree, one after the other; afterwards what was left out."""

    def __init__(
        self,
        folder: OpenFolder,
        *,
        keep: Keep | None = None,
        skip: frozenset[str] = SKIPPED_FOLDERS,
        entries: int = TREE_ENTRIES,
        deadline: Deadline | None = None,
        held: int = TREE_OPEN_FOLDERS,
    ) -> None:
        self._folder = folder
        self._keep = keep
        self._skip = skip
        self._held = held
        self._budget = Budget(entries, deadline)
        self.skipped: list[Skipped] = []
        """Folders that could not be entered."""

    @property
    def cut(self) -> str | None:
        """Where and why the walk stopped early, or None."""
        return self._budget.cut

    def __iter__(self) -> Iterator[Entry]:
        descent = Descent(self._folder, self._held)
        keep = self._keep
        try:
            stack = [("", iter(self._budget.list(descent.fd, "", self._skip)))]
            while stack:
                prefix, nodes = stack[-1]
                node = next(nodes, None)
                if node is None:
                    stack.pop()
                    if stack:
                        descent.leave()
                    continue
                path = prefix + node.name
                if keep is not None and not keep(path, node.is_folder):
                    continue
                entry = _entry(descent.fd, path, node.name)
                if entry is None:
                    continue
                yield entry
                if entry.kind == "folder":
                    try:
                        descent.enter(node.name)
                    except OSError as exc:
                        self.skipped.append(Skipped(path, why_not_entered(exc)))
                        continue
                    stack.append(
                        (path + "/", iter(self._budget.list(descent.fd, path, self._skip)))
                    )
        finally:
            descent.close()


def _entry(fd: int, path: str, name: str) -> Entry | None:
    """The record, from the folder's descriptor; None where the name is gone."""
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        kind = kind_of(found.st_mode)
        target = os.readlink(name, dir_fd=fd) if kind == "link" else None
    except FileNotFoundError:
        return None
    except OSError as exc:
        if exc.errno == errno.EINVAL:  # a link no longer
            return None
        raise SandboxError(f"{path} cannot be looked at: {exc.strerror}") from None
    return Entry(path, kind, found.st_size, (found.st_dev, found.st_ino), target)


def why_not_entered(exc: OSError) -> str:
    """The reason in words, for `Skipped`."""
    if isinstance(exc, Leaves):
        return "a mount, which counts as outside the workspace"
    if exc.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENOENT):
        return "changed while the tree was walked"
    if exc.errno in (errno.EACCES, errno.EPERM):
        return "permission denied"
    return os.strerror(exc.errno or 0)
