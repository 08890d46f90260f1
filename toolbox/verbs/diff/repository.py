"""The workspace's own git repository, found and read through its root.

Only the objects are read by libgit2, from folders whose descriptors are held and that lead nowhere
else; names, settings and the index are read here, as files of the workspace. Nothing that git
would run or include is looked at.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Final, NamedTuple

from sandbox.errors import NotAFile, NotFound, OutsideWorkspace, SandboxError
from sandbox.links import find_leads
from sandbox.reader import read_file
from sandbox.root import OpenFolder, Root
from sandbox.tree import Walk
from toolbox.engines.revisions import refs
from toolbox.engines.revisions.spelling import ABBREVIATION_DIGITS, Spelling, parse
from toolbox.engines.revisions.store import ID_BYTES, Store, links
from toolbox.errors import BadRevision, NotARepo
from toolbox.verb import Deadline

_SMALL_BYTES: Final = 64 * 1024
"""A ref, HEAD, a `.git` file, a list of alternates."""
_LARGE_BYTES: Final = 64 * 1024 * 1024
"""Packed refs, a reflog, the settings."""
_ALTERNATES: Final = 5  # as deep as git follows them
_SYMBOLIC: Final = 5
_REFS_LISTED: Final = 20_000
_OBJECT_LEVELS: Final = 2  # objects/ab/…, objects/pack/…, objects/info/…

_WHERE: Final = (
    "revisions are read from a repository whose .git lies inside the workspace; start the toolbox "
    "in the repository's top folder"
)


class Resolved(NamedTuple):
    """A revision: the id of its commit (or tree) and of its tree, binary."""

    id: bytes
    tree: bytes


def _not_a_repo(found: str, hint: str = _WHERE) -> NotARepo:
    return NotARepo(f"the workspace is no git repository that can be read: {found}", hint=hint)


class Repository:
    """A repository that is open for reading; a context manager that closes its folders."""

    def __init__(self, root: Root, deadline: Deadline) -> None:
        self.root = root
        self.deadline = deadline
        self._held = ExitStack()
        self._packed: dict[str, bytes] | None = None
        try:
            self.git = self._git_folder()
            self.common = self._common_folder()
            self.settings = self._settings()
            self._check_format()
            self._check_worktree()
            self.store = Store(self._object_folders())
        except BaseException:
            self._held.close()
            raise

    def __enter__(self) -> Repository:
        return self

    def __exit__(self, *_: object) -> None:
        del self.store  # before the folders that it reads by their descriptors
        self._held.close()

    # Where it is

    def read(self, path: str, limit_bytes: int = _SMALL_BYTES) -> bytes | None:
        """A file of the workspace, or None where there is none."""
        try:
            return read_file(self.root, path, limit_bytes=limit_bytes, what="git file").data
        except (NotFound, NotAFile):
            return None

    def _kind(self, path: str) -> str | None:
        return self.root.kind(path)

    def _git_folder(self) -> str:
        try:
            kind = self._kind(".git")
        except OutsideWorkspace:
            raise _not_a_repo(".git is a link that leads outside the workspace") from None
        if kind is None:
            if self._looks_like_git("."):
                return "."
            raise _not_a_repo("there is no .git in the workspace's root")
        if kind == "folder":
            self._require_git(".git", ".git")
            return ".git"
        if kind != "file":
            raise _not_a_repo(f".git is a {kind}")
        text = (self.read(".git") or b"").decode("utf-8", "surrogateescape").strip()
        if not text.startswith("gitdir:"):
            raise _not_a_repo(".git is a file that names no folder (`gitdir: …`)")
        folder = self._inside(text[7:].strip(), ".", ".git is a file that points to a folder")
        self._require_git(folder, "the folder that the file .git points to")
        return folder

    def _inside(self, given: str, base: str, what: str) -> str:
        """A folder that a file of the repository names, relative to the root."""
        path = given if given.startswith("/") else f"{base}/{given}"
        try:
            with self.root.open_folder(path) as folder:
                return folder.path
        except OutsideWorkspace:
            raise _not_a_repo(f"{what} outside the workspace") from None
        except SandboxError:
            raise _not_a_repo(f"{what} that is not there") from None

    def _looks_like_git(self, folder: str) -> bool:
        try:
            return (
                self._kind(f"{folder}/HEAD") == "file"
                and self._kind(f"{folder}/objects") == "folder"
                and self._kind(f"{folder}/refs") == "folder"
            )
        except OutsideWorkspace:
            return False

    def _require_git(self, folder: str, what: str) -> None:
        if self.read(f"{folder}/HEAD") is None:
            raise _not_a_repo(f"{what} holds no HEAD")

    def _common_folder(self) -> str:
        text = self.read(f"{self.git}/commondir")
        if text is None:
            return self.git
        name = text.decode("utf-8", "surrogateescape").strip()
        return self._inside(name, self.git, "its commondir names a folder")

    def _settings(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in (f"{self.common}/config", f"{self.git}/config.worktree"):
            data = self.read(path, _LARGE_BYTES)
            if data is not None:
                found.update(refs.parse_settings(data))
            if not refs.is_true(found.get("extensions.worktreeconfig")):
                break
        return found

    def _check_format(self) -> None:
        objects = self.settings.get("extensions.objectformat", "sha1").lower()
        if objects != "sha1":
            raise _not_a_repo(f"its ids are {objects}, and only sha1 is read", "")
        names = self.settings.get("extensions.refstorage", "files").lower()
        if names != "files":
            raise _not_a_repo(f"its refs are kept as {names}, and only files are read", "")

    def _check_worktree(self) -> None:
        tree = self.settings.get("core.worktree")
        if tree is None:
            return
        what = "its core.worktree names a folder"
        path = self._inside(tree, self.git, what)
        with self.root.open_folder(path) as folder:
            found = os.fstat(folder.fd)
        if (found.st_dev, found.st_ino) != self.root.identity:
            raise _not_a_repo(f"{what} that is not the workspace's root")

    @property
    def bare(self) -> bool:
        """Whether it has no files beside it."""
        return self.git == "." or refs.is_true(self.settings.get("core.bare"))

    # Objects

    def _object_folders(self) -> list[str]:
        paths: list[str] = []
        waiting = [(f"{self.common}/objects", 0)]
        while waiting:
            path, depth = waiting.pop(0)
            if depth > _ALTERNATES:
                raise _not_a_repo("its objects/info/alternates go on too deep")
            folder = self._hold(path)
            paths.append(_path_of(folder, self.root))
            for one in refs.parse_alternates(self.read(f"{path}/info/alternates") or b""):
                inner = self._inside(one, path, "its objects/info/alternates names a folder")
                waiting.append((inner, depth + 1))
        return paths

    def _hold(self, path: str) -> OpenFolder:
        try:
            folder = self._held.enter_context(self.root.open_folder(path))
        except OutsideWorkspace:
            raise _not_a_repo("its folder of objects leads outside the workspace") from None
        except SandboxError:
            raise _not_a_repo("it has no folder of objects") from None
        lead = find_leads(folder, levels=_OBJECT_LEVELS, deadline=self.deadline)
        if lead is not None:
            raise _not_a_repo(f"in its folder of objects, {lead}", "")
        return folder

    # Names

    def resolve(self, text: str, argument: str) -> Resolved:
        """The commit that a revision names, and its tree; BadRevision says why there is none."""
        spelling = parse(text, argument)
        ident = self._named(spelling, argument)
        for step in spelling.steps:
            if step.how == "peel":
                ident = self._peel(ident, step.kind, spelling, argument)
                continue
            ident = self._peel(ident, "commit", spelling, argument)
            if step.how == "ancestor":
                for done in range(step.count):
                    ident = self._parent(ident, 1, spelling, argument, f"{done} commits")
            elif step.count:
                ident = self._parent(ident, step.count, spelling, argument, "")
        return self._tree_of(ident, spelling, argument)

    def _named(self, spelling: Spelling, argument: str) -> bytes:
        name, digits = spelling.name, spelling.digits
        if spelling.reflog is not None:
            return self._from_reflog(spelling, argument)
        if digits is not None and len(digits) == 2 * ID_BYTES:
            ident = bytes.fromhex(digits)
            if self.store.has(ident):
                return ident
            raise self._unknown(spelling, argument, "the repository has no such object")
        for full in refs.candidates(name):
            found = self.ref(full)
            if found is not None:
                return found
        prefix = digits or spelling.described
        if prefix is not None:
            return self._abbreviated(prefix, spelling, argument)
        raise self._unknown(spelling, argument, "no branch, tag or other ref has this name")

    def ref(self, full: str, depth: int = 0) -> bytes | None:
        """The id that a full ref name stands for, or None."""
        if depth > _SYMBOLIC or not refs.is_name(full):
            return None
        folders = dict.fromkeys((self.git, self.common))
        for folder in folders if not full.startswith("refs/") else (self.git, self.common):
            try:
                data = self.read(f"{folder}/{full}")
            except OutsideWorkspace:
                return None
            except SandboxError:
                continue
            if data is not None:
                found = refs.parse_ref(data)
                return self.ref(found, depth + 1) if isinstance(found, str) else found
        return self.packed().get(full)

    def packed(self) -> dict[str, bytes]:
        """The refs that are packed into one file."""
        if self._packed is None:
            data = self.read(f"{self.common}/packed-refs", _LARGE_BYTES)
            self._packed = refs.parse_packed(data or b"")
        return self._packed

    def names(self) -> list[str]:
        """Full names of refs, for suggestions: at most some thousands."""
        found = dict.fromkeys(self.packed())
        try:
            with self.root.open_folder(f"{self.common}/refs") as folder:
                walk = Walk(folder, skip=frozenset(), entries=_REFS_LISTED, deadline=self.deadline)
                found.update((f"refs/{one.path}", None) for one in walk if one.kind == "file")
        except SandboxError:
            pass
        return ["HEAD", *sorted(found)[:_REFS_LISTED]]

    def _from_reflog(self, spelling: Spelling, argument: str) -> bytes:
        assert spelling.reflog is not None
        for full in refs.candidates(spelling.name):
            if self.ref(full) is None:
                continue
            for folder in dict.fromkeys((self.git, self.common)):
                data = self.read(f"{folder}/logs/{full}", _LARGE_BYTES)
                if data is None:
                    continue
                ident, known = refs.reflog_entry(data, spelling.reflog)
                if ident is not None:
                    return ident
                raise self._unknown(spelling, argument, f"its log goes back {known} changes only")
            raise self._unknown(spelling, argument, f"{spelling.name} has no log of its changes")
        raise self._unknown(spelling, argument, "no branch, tag or other ref has this name")

    def _abbreviated(self, prefix: str, spelling: Spelling, argument: str) -> bytes:
        found = self.store.matching(prefix, self.deadline.check)
        if len(found) > 1:
            # A revision is meant, so a commit or tag goes before a tree, and that before a blob.
            for kinds in (("commit", "tag"), ("tree",)):
                fitting = [ident for ident in found if self.store.kind(ident) in kinds]
                if len(fitting) == 1:
                    return fitting[0]
                if fitting:
                    found = fitting
                    break
            shown = [f"{one.hex()} ({self.store.kind(one)})" for one in found[:10]]
            raise BadRevision(
                f"{argument}: {prefix!r} is ambiguous: {len(found)} objects begin with it: "
                + ", ".join(shown),
                hint="give more digits of the one that is meant",
                at={"argument": argument, "candidates": [one.hex() for one in found[:10]]},
            )
        if not found:
            raise self._unknown(spelling, argument, "no ref has this name, no id begins with it")
        return found[0]

    def _unknown(self, spelling: Spelling, argument: str, why: str) -> BadRevision:
        name = spelling.name
        near = refs.nearest(name, self.names())
        hint = "nearest names: " + ", ".join(near) if near else None
        if hint is None:
            known = [refs.short(one) for one in self.names() if one.startswith("refs/heads/")]
            hint = (
                "branches here: " + ", ".join(known[:10])
                if known
                else ("the repository has no branch with a commit yet")
            )
        if 0 < len(name) < ABBREVIATION_DIGITS and all(c in "0123456789abcdef" for c in name):
            hint = f"an id is given with at least {ABBREVIATION_DIGITS} digits; {hint}"
        if name == "HEAD" and self.read(f"{self.git}/HEAD"):
            why = "no commit has been made on the current branch"
        return BadRevision(
            f"{argument}: {spelling.text[:80]!r} names no revision: {why}",
            hint=hint,
            at={"argument": argument, "revision": spelling.text[:80], "nearest": near},
        )

    # Steps

    def _peel(self, ident: bytes, kind: str, spelling: Spelling, argument: str) -> bytes:
        """The object behind tags: of the kind, or with "" whatever is no tag."""
        for _ in range(100):
            found = self.store.read(ident)
            if kind == "object" or found.kind == kind or (kind == "" and found.kind != "tag"):
                return ident
            target, _ = links(found.data)
            if found.kind in ("tag", "commit") and target is not None:
                if found.kind == "commit" and kind != "tree":
                    break
                ident = target
                continue
            break
        raise BadRevision(
            f"{argument}: {spelling.text[:80]!r} is a {self.store.kind(ident)}"
            + (f", not a {kind}" if kind else ""),
            hint="name a commit: a branch, a tag, or a commit's id",
            at={"argument": argument, "revision": spelling.text[:80]},
        )

    def _parent(
        self, ident: bytes, number: int, spelling: Spelling, argument: str, after: str
    ) -> bytes:
        self.deadline.check()
        _, parents = links(self.store.read(ident).data)
        if number > len(parents):
            what = f"{ident.hex()[:12]} has {len(parents)} parents"
            if after:
                what = f"its history ends after {after}, at {ident.hex()[:12]}"
            raise BadRevision(
                f"{argument}: {spelling.text[:80]!r} goes past the beginning: {what}",
                hint=f"go back less far, or begin at {ident.hex()[:12]}",
                at={"argument": argument, "revision": spelling.text[:80], "last": ident.hex()},
            )
        parent = parents[number - 1]
        if not self.store.has(parent):
            raise BadRevision(
                f"{argument}: {spelling.text[:80]!r} needs the commit {parent.hex()}, which the "
                "repository lacks (a shallow clone)",
                hint="fetch the rest of the history with git, or go back less far",
                at={"argument": argument, "revision": spelling.text[:80]},
            )
        return parent

    def _tree_of(self, ident: bytes, spelling: Spelling, argument: str) -> Resolved:
        ident = self._peel(ident, "", spelling, argument)
        return Resolved(ident, self._peel(ident, "tree", spelling, argument))

    def tree_of(self, ident: bytes) -> bytes:
        """The tree of a commit or tree that a cursor names."""
        found = self.store.read(ident)
        target, _ = links(found.data)
        if found.kind == "commit" and target is not None:
            return target
        if found.kind == "tree":
            return ident
        raise BadRevision(f"the object {ident.hex()} is a {found.kind}")

    def tree_data(self, ident: bytes) -> bytes:
        """The bytes of a tree object."""
        found = self.store.read(ident)
        if found.kind != "tree":
            raise BadRevision(f"the object {ident.hex()} is a {found.kind}, not a tree")
        return found.data


def _path_of(folder: OpenFolder, root: Root) -> str:
    """A path by which a library opens what is in an open folder.

    By the descriptor: nobody can put another folder in its place. Where /proc is not mounted, the
    folder's own path.
    """
    by_descriptor = f"/proc/self/fd/{folder.fd}"
    try:
        if os.stat(by_descriptor).st_ino == os.fstat(folder.fd).st_ino:
            return by_descriptor
    except OSError:
        pass
    return os.path.join(root.configured, folder.path)
