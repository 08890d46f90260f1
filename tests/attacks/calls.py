"""Every verb's calls that name a file, daemons with either resolver, and a root without defence."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.root import OpenFile, OpenFolder, RelPath, Root, Stamp
from tests.daemon.conftest import Stdio

Call = tuple[str, str, dict[str, Any]]

CANARY_LINE = '{"CANARY":[{"CANARY":1}]}'
CANARY = CANARY_LINE.encode() + b"\n"
"""A document for every reader: JSON, a table, Markdown, text."""

CHANGED_LINE = '{"CANARY":"changed"}'

NAMES_NO_FILE = frozenset({"diff.text", "diff.lines", "diff.sequence", "diff.history"})
"""Verbs without an argument that names a file."""


def readers(name: str) -> dict[str, Call]:
    """A name in every argument of every verb that reads the file at it."""
    return {
        "get": ("json", "get", {"file": name, "path": ""}),
        "keys": ("json", "keys", {"file": name}),
        "query": ("json", "query", {"file": name, "path": "CANARY", "where": "CANARY"}),
        "schema": ("json", "schema", {"file": name}),
        "validate": ("json", "validate", {"file": name, "schema": '{"properties":{"CANARY":{"type":"string"}}}'}),
        "validate-schema": ("json", "validate", {"text": '{"a":[1]}', "schema": name}),
        "pretty": ("json", "pretty", {"file": name}),
        "files-a": ("diff", "files", {"a": name, "b": "plain"}),
        "files-b": ("diff", "files", {"a": "plain", "b": name}),
        "json-a": ("diff", "json", {"a": name, "b": "doc.json"}),
        "json-b": ("diff", "json", {"a": "doc.json", "b": name}),
        "csv-a": ("diff", "csv", {"a": name, "b": "plain"}),
        "csv-b": ("diff", "csv", {"a": "plain", "b": name}),
        "markdown-a": ("diff", "markdown", {"a": name, "b": "plain"}),
        "markdown-b": ("diff", "markdown", {"a": "plain", "b": name}),
        "patch-a": ("diff", "patch", {"a": name, "b": "plain"}),
        "patch-b": ("diff", "patch", {"a": "plain", "b": name}),
        "apply-patch-file": ("diff", "apply", {"patch_file": name}),
    }  # fmt: skip


def others(name: str) -> dict[str, Call]:
    """A name where a folder, a change, a pattern or a record is meant."""
    quoted = name.replace("\n", "\\n")
    return {
        "dirs-a": ("diff", "dirs", {"a": name, "b": "d"}),
        "dirs-b": ("diff", "dirs", {"a": "d", "b": name}),
        "dirs-glob": ("diff", "dirs", {"a": "d", "b": "e", "glob": name}),
        "revisions-paths": ("diff", "revisions", {"from": "HEAD", "to": "WORKTREE", "paths": [name]}),
        "revisions-from": ("diff", "revisions", {"from": name, "to": "WORKTREE"}),
        "undo": ("diff", "undo", {"id": name}),
        "apply-header": ("diff", "apply", {"patch": f"--- a/{quoted}\n+++ b/{quoted}\n{HUNK}"}),
    }  # fmt: skip


HUNK = f"@@ -1 +1 @@\n-{CANARY_LINE}\n+{CHANGED_LINE}\n"


def writers(name: str) -> dict[str, Call]:
    """Patches that would change, make, remove, move or copy what stands at a name, for real."""
    git = f"diff --git a/{name} b/{name}\n"
    away = f"diff --git a/{name} b/kept\nsimilarity index 100%\nrename from {name}\nrename to kept\n"
    onto = f"diff --git a/plain b/{name}\nsimilarity index 100%\nrename from plain\nrename to {name}\n"
    copied = f"diff --git a/{name} b/kept\nsimilarity index 100%\ncopy from {name}\ncopy to kept\n"
    patches = {
        "change": f"--- a/{name}\n+++ b/{name}\n{HUNK}",
        "change-bare": f"--- {name}\n+++ {name}\n{HUNK}",
        "create": f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n",
        "delete": f"--- a/{name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{CANARY_LINE}\n",
        "mode": f"{git}old mode 100644\nnew mode 100755\n",
        "rename-away": away,
        "rename-onto": onto,
        "copy-in": copied,
        "among-good-ones": "--- a/plain\n+++ b/plain\n@@ -1 +1 @@\n-plain\n\\ No newline at end of file\n+changed\n"
        f"--- a/{name}\n+++ b/{name}\n{HUNK}",
    }
    calls: dict[str, Call] = {
        id: ("diff", "apply", {"patch": patch, "dry_run": False}) for id, patch in patches.items()
    }
    calls["file"] = ("diff", "apply", {"patch": HUNK, "file": name, "dry_run": False})
    return calls


WITHOUT_OPENAT2 = """
import runpy, struct, sys
from sandbox import seccomp
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7FFF0000)]
seccomp.set_no_new_privs()
seccomp.install(b"".join(struct.pack("<HBBI", *rule) for rule in rules))
sys.argv = ["toolbox", *sys.argv[1:]]
runpy.run_module("toolbox", run_name="__main__")
"""
"""Starts a daemon in whose processes the kernel says ENOSYS to openat2, as old ones do."""

RESOLVERS = ("openat2", "walk")


@contextmanager
def daemon(workspace: Path, resolver: str, *more: str) -> Iterator[Stdio]:
    """A real daemon that resolves by that."""
    start = ("-m", "toolbox") if resolver == "openat2" else ("-c", WITHOUT_OPENAT2)
    started = Stdio(workspace, *more, start=start)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.send_signal(signal.SIGKILL)
            started.process.wait()


class NaiveRoot(Root):
    """The workspace's root as it is often written: the path is joined and opened."""

    __slots__ = ()

    def open_file(self, path: str) -> OpenFile:
        fd = os.open(os.path.join(self.configured, path), os.O_RDONLY | os.O_NONBLOCK)
        found = os.fstat(fd)
        return OpenFile(fd, RelPath(path), Stamp.from_stat(found), stat.S_IMODE(found.st_mode))

    def open_folder(self, path: str = ".") -> OpenFolder:
        fd = os.open(os.path.join(self.configured, path), os.O_RDONLY | os.O_DIRECTORY)
        return OpenFolder(fd, RelPath(path), self.resolver)
