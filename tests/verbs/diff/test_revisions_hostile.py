"""A repository that would run things or lead elsewhere: nothing runs, nothing outside is read."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.verbs.diff.calls import call, write
from tests.verbs.diff.histories import git
from toolbox import errors
from toolbox.verbs.diff.revisions import VERB

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the histories")


def revisions(folder: pathlib.Path, old: str = "HEAD~1", new: str = "HEAD", **more: Any) -> Any:
    return call(VERB, folder, {"from": old, "to": new, **more}).result


def commit(folder: pathlib.Path, files: dict[str, bytes | str]) -> None:
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")


@pytest.fixture
def repo(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, {"a.txt": "one\n", "b.bin": "x\n"})
    commit(folder, {"a.txt": "two\n", "b.bin": "y\n"})
    return folder


@pytest.fixture
def outside(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, {"secret": "1\n"})
    commit(folder, {"secret": "2\n"})
    return folder


def test_nothing_of_the_configuration_runs(repo: pathlib.Path, tmp_path: pathlib.Path) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "pre-commit"):
        shutil.copy(script, hooks / hook)
    fifo = tmp_path / "included"
    os.mkfifo(fifo)  # whoever opens it to read waits for good
    commit(repo, {".gitattributes": "* diff=d filter=f textconv=d\n*.bin diff=d\n"})
    for name, value in {
        "core.fsmonitor": str(script), "diff.external": str(script), "diff.d.textconv": str(script), "diff.d.command": str(script),
        "filter.f.clean": str(script), "filter.f.process": str(script), "filter.f.required": "true", "core.hooksPath": str(hooks),
        "core.pager": str(script), "core.sshCommand": str(script), "core.attributesFile": str(fifo), "core.excludesFile": str(fifo),
        "core.editor": str(script), "gpg.program": str(script),
    }.items():  # fmt: skip
        git(repo, "config", name, value)
    with open(repo / ".git/config", "a") as config:
        config.write(f'[include]\n\tpath = {fifo}\n[includeIf "gitdir:**"]\n\tpath = {fifo}\n')
    for form in ("names", "stat", "unified"):
        assert [f["path"] for f in revisions(repo, "HEAD~2", "HEAD", format=form)["files"]] == [".gitattributes", "a.txt", "b.bin"]
    write(repo, {"a.txt": "three\n"})
    assert [f["path"] for f in revisions(repo, "HEAD", ":worktree")["files"]] == ["a.txt"]
    assert not ran.exists()


def test_the_control_git_itself_would_have_run_it(repo: pathlib.Path, tmp_path: pathlib.Path) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    git(repo, "config", "diff.external", str(script))
    git(repo, "diff", "HEAD~1", "HEAD")
    assert ran.exists()


def _no_git(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git")


def _link(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git")
    os.symlink(outside / ".git", repo / ".git")


def _file_absolute(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git")
    (repo / ".git").write_text(f"gitdir: {outside}/.git\n")


def _file_relative(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git")
    (repo / ".git").write_text("gitdir: ../outside/.git\n")


def _file_odd(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git")
    (repo / ".git").write_text("hello\n")


def _file_missing(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git")
    (repo / ".git").write_text("gitdir: elsewhere\n")


def _fifo(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git")
    os.mkfifo(repo / ".git")


def _commondir(repo: pathlib.Path, outside: pathlib.Path) -> None:
    (repo / ".git/commondir").write_text(f"{outside}/.git\n")


def _worktree(repo: pathlib.Path, outside: pathlib.Path) -> None:
    git(repo, "config", "core.worktree", str(outside))


def _worktree_above(repo: pathlib.Path, outside: pathlib.Path) -> None:
    git(repo, "config", "core.worktree", "../..")


def _worktree_below(repo: pathlib.Path, outside: pathlib.Path) -> None:
    (repo / "sub").mkdir()
    git(repo, "config", "core.worktree", "../sub")


def _objects_link(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.move(repo / ".git/objects", outside / "objects")
    os.symlink(outside / "objects", repo / ".git/objects")


def _pack_link(repo: pathlib.Path, outside: pathlib.Path) -> None:
    shutil.rmtree(repo / ".git/objects/pack")
    os.symlink(outside / ".git/objects/pack", repo / ".git/objects/pack")


def _loose_link(repo: pathlib.Path, outside: pathlib.Path) -> None:
    (repo / ".git/objects/ab").mkdir(exist_ok=True)
    os.symlink(outside / "secret", repo / ".git/objects/ab" / ("0" * 38))


def _alternates(repo: pathlib.Path, outside: pathlib.Path) -> None:
    (repo / ".git/objects/info").mkdir(exist_ok=True)
    (repo / ".git/objects/info/alternates").write_text(f"{outside}/.git/objects\n")


def _alternates_relative(repo: pathlib.Path, outside: pathlib.Path) -> None:
    (repo / ".git/objects/info").mkdir(exist_ok=True)
    (repo / ".git/objects/info/alternates").write_text("../../../outside/.git/objects\n")


def _alternates_loop(repo: pathlib.Path, outside: pathlib.Path) -> None:
    (repo / ".git/objects/info").mkdir(exist_ok=True)
    (repo / ".git/objects/info/alternates").write_text("../objects\n")


def _no_head(repo: pathlib.Path, outside: pathlib.Path) -> None:
    os.unlink(repo / ".git/HEAD")


def _sha256(repo: pathlib.Path, outside: pathlib.Path) -> None:
    git(repo, "config", "extensions.objectFormat", "sha256")


def _reftable(repo: pathlib.Path, outside: pathlib.Path) -> None:
    git(repo, "config", "extensions.refStorage", "reftable")


@pytest.mark.parametrize(
    ("twist", "says"),
    [
        (_no_git, "no .git"), (_link, ".git is a link that leads outside"), (_file_absolute, "points to a folder outside"),
        (_file_relative, "points to a folder outside"), (_file_odd, "names no folder"), (_file_missing, "not there"), (_fifo, "fifo"),
        (_commondir, "commondir names a folder outside"), (_worktree, "core.worktree names a folder outside"),
        (_worktree_above, "core.worktree names a folder outside"), (_worktree_below, "not the workspace's root"),
        (_objects_link, "objects leads outside"), (_pack_link, "pack is a link"), (_loose_link, "is a link"),
        (_alternates, "alternates names a folder outside"), (_alternates_relative, "alternates names a folder outside"),
        (_alternates_loop, "too deep"), (_no_head, "no HEAD"), (_sha256, "sha256"), (_reftable, "reftable"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)  # fmt: skip
def test_what_is_no_repository_of_the_workspace(
    repo: pathlib.Path, outside: pathlib.Path, twist: Callable[[pathlib.Path, pathlib.Path], None], says: str
) -> None:
    twist(repo, outside)
    with pytest.raises(errors.NotARepo) as caught:
        revisions(repo)
    assert says in caught.value.message
    assert str(outside) not in f"{caught.value.message} {caught.value.hint} {caught.value.at}"


def test_a_folder_below_the_repository_is_not_it(repo: pathlib.Path) -> None:
    (repo / "sub").mkdir()
    with pytest.raises(errors.NotARepo, match=r"no \.git"):
        revisions(repo / "sub")


def test_what_stays_inside_works(repo: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A `.git` file, a link, alternates and a linked work tree that stay in the workspace."""
    want = revisions(repo)
    os.rename(repo / ".git", repo / "store")
    (repo / ".git").write_text("gitdir: store\n")
    assert revisions(repo) == want
    os.unlink(repo / ".git")
    os.symlink("store", repo / ".git")
    assert revisions(repo) == want
    os.unlink(repo / ".git")
    os.rename(repo / "store", repo / ".git")
    shutil.copytree(repo / ".git/objects", repo / "more")
    shutil.rmtree(repo / ".git/objects")
    (repo / ".git/objects/info").mkdir(parents=True)
    (repo / ".git/objects/info/alternates").write_text(f"{repo}/more\n")
    assert revisions(repo) == want


def test_a_bare_repository_as_the_workspace(repo: pathlib.Path, tmp_path: pathlib.Path) -> None:
    want = revisions(repo)
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    assert revisions(tmp_path / "bare.git") == want
    with pytest.raises(errors.BadRevision, match="bare"):
        revisions(tmp_path / "bare.git", "HEAD", ":worktree")


def test_refs_that_lead_outside_are_none(repo: pathlib.Path, outside: pathlib.Path) -> None:
    target = outside / ".git/refs/heads/main"
    os.symlink(target, repo / ".git/refs/heads/out")
    (repo / ".git/refs/heads/text").write_text(f"ref: ../../{target}\n")
    (repo / ".git/refs/heads/loop").write_text("ref: refs/heads/loop\n")
    for name in ("out", "text", "loop"):
        with pytest.raises(errors.BadRevision):
            revisions(repo, name, "HEAD")


def test_damaged_objects_are_told(repo: pathlib.Path) -> None:
    commit(repo, {"a.txt": "read by no other test\n"})
    blob = git(repo, "rev-parse", "HEAD:a.txt").decode().strip()
    path = repo / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(b"not zlib")
    with pytest.raises(errors.BadRevision, match="damaged"):
        revisions(repo, format="stat")
    os.unlink(path)
    with pytest.raises(errors.BadRevision, match="lacks the object"):
        revisions(repo, format="unified")


def test_a_shallow_clone_says_where_it_ends(repo: pathlib.Path, tmp_path: pathlib.Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", "shallow")
    with pytest.raises(errors.BadRevision, match="shallow"):
        revisions(tmp_path / "shallow")


def test_an_empty_repository_has_no_head(tmp_path: pathlib.Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(errors.BadRevision, match="no commit has been made"):
        revisions(tmp_path, "HEAD", ":worktree")
