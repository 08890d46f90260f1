"""The files of a repository's working tree as they are, held against a tree of commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha1
from typing import Final

from sandbox.errors import NotAFile, NotFound, SandboxError, TooLarge
from sandbox.reader import read_file, read_open
from sandbox.root import Root
from sandbox.tree import Entry, Walk
from toolbox.engines.revisions import index, refs, trees
from toolbox.engines.revisions.ignore import Ignores
from toolbox.engines.revisions.index import Tracked
from toolbox.engines.revisions.trees import Difference, Filter, Side
from toolbox.errors import TooLarge as TooMuch
from toolbox.verbs.diff.repository import Repository

FILE_BYTES: Final = 64 * 1024 * 1024
"""A file of the working tree that is read to be compared; a larger one is taken as changed."""

_INDEX_BYTES: Final = 256 * 1024 * 1024
_IGNORE_BYTES: Final = 1024 * 1024
_SKIP: Final = frozenset({".git"})
_CHECK_EVERY: Final = 256


@dataclass(slots=True)
class Worktree:
    """What differs from a tree, and where the contents of the new sides are."""

    differences: list[Difference] = field(default_factory=list)
    paths: dict[bytes, str] = field(default_factory=dict)
    """Id of a content → a path of the workspace that has it."""
    links: dict[bytes, bytes] = field(default_factory=dict)
    """Id of a link → its target."""
    sizes: dict[bytes, int] = field(default_factory=dict)
    untracked: set[bytes] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def digest(self) -> bytes:
        """20 bytes that tell this state of what differs from another."""
        whole = sha1(usedforsecurity=False)
        for path, _, new in self.differences:
            side = b"-" if new is None else b"%o %s" % (new.mode, new.id)
            whole.update(b"%d %s %s\n" % (len(path), path, side))
        return whole.digest()


class _Scan:
    def __init__(self, repo: Repository, tree: bytes, wanted: Filter) -> None:
        self.repo, self.root, self.wanted = repo, repo.root, wanted
        self.found = Worktree()
        self.trusts_modes = repo.settings.get("core.filemode", "true").lower() != "false"
        self.before = dict(trees.files(tree, repo.tree_data, wanted))
        self.tracked, self.index_ns = self._index()
        known = self.before.keys() | self.tracked.keys()
        self.known = {path.decode("utf-8", "surrogateescape") for path in known}
        self.submodules = {
            path.decode("utf-8", "surrogateescape") for path in known if self._is_submodule(path)
        }
        self.folders = {folder for path in self.known for folder in _folders(path)}
        exclude = repo.read(f"{repo.common}/info/exclude", _IGNORE_BYTES)
        self.ignores = Ignores(self._rules, (exclude or b"").decode("utf-8", "replace"))

    def _index(self) -> tuple[dict[bytes, Tracked], int]:
        try:
            with self.root.open_file(f"{self.repo.git}/index") as opened:
                data = read_open(opened, limit_bytes=_INDEX_BYTES, what="git index").data
                return index.parse(data) or {}, opened.stamp.mtime_ns
        except (NotFound, NotAFile):
            return {}, 0

    def _rules(self, folder: str) -> str | None:
        path = f"{folder}/.gitignore" if folder else ".gitignore"
        try:
            data = read_file(self.root, path, limit_bytes=_IGNORE_BYTES, what="ignore file").data
        except SandboxError:
            return None
        return data.decode("utf-8", "replace")

    def _keep(self, path: str, is_folder: bool) -> bool:
        parent, _, name = path.rpartition("/")
        if name == ".git" or parent in self.submodules:
            return False
        if path in self.known or (is_folder and path in self.folders):
            return True
        raw = _raw(path)
        if not (self.wanted.enters(raw) if is_folder else self.wanted.wants(raw)):
            return False
        if self.ignores.ignored(path, is_folder):
            return False
        # A repository of its own that is no submodule is not part of this one's files.
        return not (is_folder and self._is_repository(path))

    def _is_repository(self, path: str) -> bool:
        try:
            return self.root.kind(f"{path}/.git") is not None
        except SandboxError:
            return True

    def run(self) -> Worktree:
        present: dict[bytes, Entry] = {}
        with self.root.open_folder(".") as folder:
            walk = Walk(folder, keep=self._keep, skip=_SKIP, deadline=self.repo.deadline)
            for entry in walk:
                raw = _raw(entry.path)
                if self._is_submodule(raw) or (
                    entry.kind in ("file", "link") and self.wanted.wants(raw)
                ):
                    present[raw] = entry
            if walk.cut:
                raise TooMuch(
                    f"the working tree is too large to be compared: {walk.cut}",
                    hint="narrow with paths",
                )
            self.found.notes.extend(f"{one.path} left out: {one.reason}" for one in walk.skipped)
        for count, path in enumerate(sorted(self.before.keys() | present.keys())):
            if count % _CHECK_EVERY == 0:
                self.repo.deadline.check()
            if not self.wanted.wants(path):
                continue
            old = self.before.get(path)
            new = self._side(path, old, present.get(path))
            if old != new:
                self.found.differences.append(Difference(path, old, new))
                if old is None and path not in self.tracked:
                    self.found.untracked.add(path)
        return self.found

    def _is_submodule(self, path: bytes) -> bool:
        old, tracked = self.before.get(path), self.tracked.get(path)
        return (old is not None and old.mode == trees.SUBMODULE) or (
            tracked is not None and tracked.side.mode == trees.SUBMODULE
        )

    def _side(self, path: bytes, old: Side | None, entry: Entry | None) -> Side | None:
        tracked = self.tracked.get(path)
        if entry is None:
            return tracked.side if tracked is not None and tracked.skipped else None
        if entry.kind == "folder":
            return self._submodule(entry.path, old, tracked)
        if entry.kind == "link":
            target = (entry.target or "").encode("utf-8", "surrogateescape")
            ident = blob_id(target)
            self.found.links[ident] = target
            return Side(trees.LINK, ident)
        return self._file(path, old, entry, tracked)

    def _submodule(self, path: str, old: Side | None, tracked: Tracked | None) -> Side | None:
        """What a submodule has checked out; where that cannot be told, what was there before."""
        head = _submodule_head(self.root, self.repo, path)
        if head is not None:
            return Side(trees.SUBMODULE, head)
        if old is not None and old.mode == trees.SUBMODULE:
            return old
        return tracked.side if tracked is not None else None

    def _file(
        self, path: bytes, old: Side | None, entry: Entry, tracked: Tracked | None
    ) -> Side | None:
        try:
            with self.root.open_file(entry.path) as opened:
                stamp = opened.stamp
                mode = trees.EXECUTABLE if opened.mode & 0o100 else trees.PLAIN
                if not self.trusts_modes:
                    mode = (
                        tracked.side.mode
                        if tracked is not None and tracked.side.mode
                        else (old.mode if old is not None and old.is_file else trees.PLAIN)
                    )
                if (
                    tracked is not None
                    and tracked.side.is_file
                    and (tracked.mtime_ns, tracked.ctime_ns)
                    == (_index_time(stamp.mtime_ns), _index_time(stamp.ctime_ns))
                    and tracked.ino == stamp.ino & 0xFFFFFFFF
                    and tracked.size == stamp.size & 0xFFFFFFFF
                    and stamp.mtime_ns < self.index_ns
                ):
                    ident = tracked.side.id
                else:
                    try:
                        data = read_open(opened, limit_bytes=FILE_BYTES, what="comparison").data
                    except TooLarge:
                        self.found.notes.append(
                            f"{entry.path} is larger than {FILE_BYTES} bytes and taken as changed"
                        )
                        ident = sha1(repr(stamp).encode(), usedforsecurity=False).digest()
                    else:
                        ident = blob_id(data)
                self.found.paths.setdefault(ident, entry.path)
                self.found.sizes[ident] = stamp.size
                return Side(mode, ident)
        except NotFound:
            return None
        except NotAFile as exc:
            self.found.notes.append(f"{entry.path} left out: {exc.message}")
            return old


def scan(repo: Repository, tree: bytes, wanted: Filter) -> Worktree:
    """What differs between a tree and the files as they are, by path.

    Tracked files count whatever the ignore rules say, others where the rules do not leave them
    out. No filter runs: a file that git would convert when it is added counts as it is.
    """
    return _Scan(repo, tree, wanted).run()


def blob_id(data: bytes) -> bytes:
    """The id that git gives to a content."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()


def _submodule_head(root: Root, repo: Repository, path: str) -> bytes | None:
    try:
        kind = root.kind(f"{path}/.git")
        git = f"{path}/.git"
        if kind == "file":
            text = (repo.read(git) or b"").decode("utf-8", "surrogateescape").strip()
            name = text.removeprefix("gitdir:").strip()
            git = name if name.startswith("/") else f"{path}/{name}"
        elif kind != "folder":
            return None
        found: bytes | str | None = "HEAD"
        for _ in range(5):
            if not isinstance(found, str) or not refs.is_name(found):
                break
            data = repo.read(f"{git}/{found}")
            if data is None:
                packed = refs.parse_packed(repo.read(f"{git}/packed-refs", _INDEX_BYTES) or b"")
                return packed.get(found)
            found = refs.parse_ref(data)
        return found if isinstance(found, bytes) else None
    except SandboxError:
        return None


def _index_time(ns: int) -> int:
    """A time as the index keeps it: its seconds in 32 bits."""
    return ns % (1_000_000_000 << 32)


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
