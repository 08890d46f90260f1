"""`:worktree`: the files as they are, against git's own view of them."""

from __future__ import annotations

import os
import pathlib
import shutil
from typing import Any

import pytest

from tests.verbs.diff.calls import call, write
from tests.verbs.diff.histories import git, make
from tests.verbs.diff.test_revisions import git_counts, git_names, plain, shown
from toolbox import errors
from toolbox.verbs.diff.revisions import VERB

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the histories")


def revisions(folder: pathlib.Path, old: str, new: str, **more: Any) -> Any:
    return call(VERB, folder, {"from": old, "to": new, **more}).result


@pytest.fixture
def repo(tmp_path: pathlib.Path) -> pathlib.Path:
    git(tmp_path, "init", "-q")
    write(tmp_path, {
        "a.txt": "one\ntwo\n", "src/b.py": "x = 1\n" * 30, "src/c.py": "y = 2\n", "empty": "", "blob": b"\0\1",
        ".gitignore": "*.log\nbuild/\n!keep.log\n", "src/.gitignore": "/local\n",
    })  # fmt: skip
    os.symlink("a.txt", tmp_path / "link")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_a_clean_tree_does_not_differ(repo: pathlib.Path) -> None:
    got = revisions(repo, "HEAD", ":worktree")
    assert (got["files"], got["to"]) == ([], ":worktree")


@pytest.mark.parametrize("without_index", [False, True])
def test_every_kind_of_change_is_seen(repo: pathlib.Path, without_index: bool) -> None:
    write(repo, {"a.txt": "one\n2\nthree\n", "blob": b"\0\2", "src/new.py": "z\n"})
    os.chmod(repo / "src/c.py", 0o755)
    os.rename(repo / "src/b.py", repo / "moved.py")
    os.unlink(repo / "empty")
    os.unlink(repo / "link")
    write(repo, {"link": "a file now\n"})
    # git's view of renames takes what was added to the index.
    git(repo, "add", "-A")
    want = git_names(repo, "HEAD")
    counts = git_counts(repo, "HEAD")
    if without_index:
        os.unlink(repo / ".git/index")
    got = revisions(repo, "HEAD", ":worktree", format="stat")["files"]
    assert [plain(file) for file in got] == want
    assert [(f["path"], f.get("insertions"), f.get("deletions")) for f in got] == counts
    back = revisions(repo, ":worktree", "HEAD", format="stat")["files"]
    assert {f["path"]: (f.get("deletions"), f.get("insertions")) for f in back if f["status"] == "modified"} == {
        f["path"]: (f.get("insertions"), f.get("deletions")) for f in got if f["status"] == "modified"
    }


def test_untracked_files_count_unless_ignored(repo: pathlib.Path) -> None:
    write(repo, {
        "new.txt": "n\n", "x.log": "", "keep.log": "", "build/out": "", "src/local": "", "local": "", "deep/er/f": "",
        "deep/build/g": "", "nested/.git/HEAD": "ref: refs/heads/main\n", "nested/f": "",
    })  # fmt: skip
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("excluded*\n")
    write(repo, {"excluded.txt": "", "node_modules/m.js": ""})
    got = revisions(repo, "HEAD", ":worktree")["files"]
    want = git(repo, "ls-files", "-o", "--exclude-standard", "-z").split(b"\0")[:-1]
    assert [f["path"] for f in got] == sorted(shown(p) for p in want if not p.startswith(b"nested/"))
    assert all(f["untracked"] and f["status"] == "added" for f in got)


def test_a_tracked_file_counts_although_a_rule_ignores_it(repo: pathlib.Path) -> None:
    write(repo, {"build/kept": "1\n"})
    git(repo, "add", "-f", "build/kept")
    git(repo, "commit", "-q", "-m", "x")
    write(repo, {"build/kept": "2\n", "build/other": ""})
    assert [f["path"] for f in revisions(repo, "HEAD", ":worktree")["files"]] == ["build/kept"]


def test_a_change_of_the_same_size_and_time_is_seen(repo: pathlib.Path) -> None:
    before = os.stat(repo / "a.txt")
    write(repo, {"a.txt": "ONE\ntwo\n"})
    os.utime(repo / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [f["path"] for f in revisions(repo, "HEAD", ":worktree")["files"]] == ["a.txt"]


def test_line_ends_are_not_converted_and_filters_do_not_run(repo: pathlib.Path) -> None:
    ran = repo.parent / f"{repo.name}-ran"
    git(repo, "config", "filter.f.clean", f"touch {ran}; cat")
    git(repo, "config", "core.autocrlf", "true")
    write(repo, {".gitattributes": "* filter=f text\n", "a.txt": "one\r\ntwo\r\n"})
    got = revisions(repo, "HEAD", ":worktree", format="stat")["files"]
    assert [(f["path"], f["status"]) for f in got] == [(".gitattributes", "added"), ("a.txt", "modified")]
    assert not ran.exists()


def test_names_that_are_no_utf8(repo: pathlib.Path) -> None:
    with open(os.fsencode(repo) + b"/raw\xff", "wb") as out:
        out.write(b"x\n")
    got = revisions(repo, "HEAD", ":worktree", format="unified")["files"]
    assert [(f["path"], f["path_escaped"]) for f in got] == [("raw\\xff", True)]


def test_submodules_are_compared_by_what_they_have_checked_out(repo: pathlib.Path) -> None:
    inner = repo / "sub"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, {"f": "1\n"})
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "x")
    git(repo, "add", "sub")
    git(repo, "commit", "-q", "-m", "x")
    write(inner, {"f": "2\n", "untracked": ""})
    assert revisions(repo, "HEAD", ":worktree")["files"] == []
    git(inner, "commit", "-q", "-a", "-m", "y")
    got = revisions(repo, "HEAD", ":worktree", format="unified")["files"]
    head = git(inner, "rev-parse", "HEAD").decode().strip()
    assert [(f["path"], f["status"], f["new_id"], f["new_mode"]) for f in got] == [("sub", "modified", head, "160000")]
    assert got[0]["hunks"][0]["lines"][1] == f"+Subproject commit {head}"
    shutil.rmtree(inner / ".git")  # not initialised: what it should be cannot be told apart
    assert revisions(repo, "HEAD", ":worktree")["files"] == []


def test_a_cursor_holds_as_long_as_the_files_do(repo: pathlib.Path) -> None:
    write(repo, {f"n{k}": f"{k}\n" for k in range(6)})
    first = revisions(repo, "HEAD", ":worktree", limit=4)
    second = revisions(repo, "HEAD", ":worktree", limit=4, cursor=first["cursor"])
    assert [f["path"] for f in first["files"] + second["files"]] == [f"n{k}" for k in range(6)]
    write(repo, {"n5": "other\n"})
    with pytest.raises(errors.Changed):
        revisions(repo, "HEAD", ":worktree", limit=4, cursor=first["cursor"])


def test_the_index_is_read_in_every_version(repo: pathlib.Path) -> None:
    for version in ("2", "3", "4"):
        git(repo, "update-index", "--index-version", version)
        if version == "3":
            git(repo, "update-index", "--skip-worktree", "src/c.py")
            os.unlink(repo / "src/c.py")
        assert revisions(repo, "HEAD", ":worktree")["files"] == [], version


def test_a_made_history_checked_out_is_clean(tmp_path: pathlib.Path) -> None:
    make(tmp_path, 40, 3)
    git(tmp_path, "reset", "-q", "--hard", "main")
    assert revisions(tmp_path, "main", ":worktree")["files"] == []
    got = revisions(tmp_path, "main~20", ":worktree", limit=1_000)["files"]
    assert [plain(f) for f in got] == git_names(tmp_path, "main~20", "main")


def test_paths_narrow_what_is_walked(repo: pathlib.Path) -> None:
    write(repo, {"src/b.py": "1\n", "a.txt": "", "other/n": ""})
    assert [f["path"] for f in revisions(repo, "HEAD", ":worktree", paths=["src"])["files"]] == ["src/b.py"]
    assert [f["path"] for f in revisions(repo, "HEAD", ":worktree", paths=["other/n"])["files"]] == ["other/n"]
