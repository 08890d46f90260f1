"""Names that are never written. Attacks 27 and 28."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.changes import Change
from sandbox.errors import Protected
from sandbox.protect import PROTECTED_NAMES, is_protected_name, plain_name
from sandbox.reader import read_file
from sandbox.root import Root
from sandbox.transaction import commit
from tests.sandbox.world import snapshot

SPELLINGS = [
    ".git", ".GIT", ".Git", ".git.", ".git ", ".git. .", "git~1", "GIT~1", "git~12", ".g\u200cit",
    ".git\u200d", "\ufeff.git", ".gi\u00adt", ".git\ufe0f", ".git::$INDEX_ALLOCATION", ".git:x",
    ".gitmodules", "gitmod~1", "GI7EBA~1", ".mcp.json", ".MCP.JSON", "mcp~1.jso", ".vscode",
    ".v\u017fcode", "vscode~1", ".idea", ".claude", ".CLAUDE", "claude~1", ".codex", ".cursor",
    ".gemini", ".toolbox", "toolbo~1", ".git\x07",
]  # fmt: skip
HARMLESS = [
    ".gitignore", ".gitattributes", ".github", "git", "git.txt", "a.git", ".git2", "mcp.json",
    ".vscodex", "vscode", "claude.md", "toolbox", "x~1", "backup~1", ".gìt", ".git-old",
]  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS, ids=ascii)
def test_attack_27_spellings_of_protected_names(name: str) -> None:
    assert is_protected_name(name)


@pytest.mark.parametrize("name", HARMLESS)
def test_other_names_are_free(name: str) -> None:
    assert not is_protected_name(name)


def test_composed_and_decomposed_are_one() -> None:
    assert plain_name("e\u0301.json") == plain_name("\u00c9.JSON") == "\u00e9.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "root/.git/hooks").mkdir(parents=True)
    (tmp_path / "root/.git/config").write_bytes(b"[core]\n")
    (tmp_path / "root/sub/.claude").mkdir(parents=True)
    (tmp_path / "root/plain").write_bytes(b"plain")
    return tmp_path / "root"


def attempts(root: Root, path: str) -> None:
    """Every way of writing a path is refused, and told why."""
    for change in (
        Change("create", path, b"x"),
        Change("replace", path, b"x"),
        Change("remove", path),
        Change("mode", path, executable=True),
        Change("rename", path, source="plain"),
        Change("copy", path, source="plain"),
        Change("rename", "elsewhere", source=path),
    ):
        with pytest.raises(Protected):
            commit(root, [Change("create", "harmless", b""), change])


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", ".git/config", ".GIT/config", "git~1/config", "sub/.git/hooks/x",
        "sub/../.git/config", "./.git//config", ".g\u200cit/hooks/x", ".git./config", "plain/../.git",
        ".git", "sub/.claude/settings.json", ".gitmodules", "deep/er/.mcp.json", ".toolbox/lock",
    ],
    ids=ascii,
)  # fmt: skip
def test_attack_27_direct(folder: Path, path: str) -> None:
    before = snapshot(folder)
    with Root.open(folder) as root:
        if path == "plain/../.git":
            (folder / "plain").unlink()
            (folder / "plain").mkdir()
            before = snapshot(folder)
            with pytest.raises(Protected):
                commit(root, [Change("remove", path)])
        else:
            attempts(root, path)
    assert snapshot(folder) == before
    assert not (folder / ".toolbox").exists(), "a refusal writes nothing at all"


def test_attack_27_through_a_link(folder: Path) -> None:
    (folder / "inside").symlink_to(".git")
    (folder / "hooks").symlink_to(folder / ".git/hooks")
    (folder / "conf").symlink_to(".git/config")
    with Root.open(folder) as root:
        for path in ("inside/hooks/x", "hooks/x", "inside/config"):
            attempts(root, path)
        for change in (Change("replace", "conf", b"x"), Change("mode", "conf", executable=True)):
            with pytest.raises(Protected):
                commit(root, [change])
    assert (folder / ".git/config").read_bytes() == b"[core]\n"


def test_control_27_a_check_of_the_text_is_passed_by_a_link(folder: Path) -> None:
    (folder / "inside").symlink_to(".git")
    path = "inside/hooks/x"
    assert not any(is_protected_name(part) for part in path.split("/"))
    (folder / path).write_bytes(b"#!/bin/sh")
    assert (folder / ".git/hooks/x").exists()


def test_attack_27_by_inode(folder: Path) -> None:
    """A folder that is `.git` under another name: `.git` is a link to it, or a file that names it."""
    (folder / ".git").rename(folder / "store")
    (folder / ".git").symlink_to("store")
    with Root.open(folder) as root:
        attempts(root, "store/hooks/x")
    (folder / ".git").unlink()
    (folder / ".git").write_text("gitdir: store\n")
    with Root.open(folder) as root:
        attempts(root, "store/config")
    (folder / ".git").unlink()
    with Root.open(folder) as root:
        commit(root, [Change("replace", "store/config", b"free now")])


def test_a_link_from_a_protected_name_to_the_root_does_not_lock_everything(folder: Path) -> None:
    (folder / ".vscode").symlink_to(".")
    with Root.open(folder) as root:
        commit(root, [Change("replace", "plain", b"new")])


@pytest.mark.parametrize("name", sorted(PROTECTED_NAMES))
def test_attack_28_creating_what_is_not_there_yet(tmp_path: Path, name: str) -> None:
    with Root.open(tmp_path) as root:
        for path in (name, f"{name}/x", f"a/{name}", f"a/b/{name}/c"):
            with pytest.raises(Protected) as refusal:
                commit(root, [Change("create", path, b"x")])
            assert refusal.value.at == {"path": path}
    assert os.listdir(tmp_path) == []


def test_reading_them_stays_allowed(folder: Path) -> None:
    with Root.open(folder) as root:
        assert read_file(root, ".git/config", limit_bytes=100).data == b"[core]\n"
