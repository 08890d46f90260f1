"""Real history: every commit of a repository made here, applied from its diff to the tree before."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.verbs.conftest import Workspace

ENVIRONMENT = {
    **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org",
}  # fmt: skip
COMMITS = 14
NAMES = ["a.txt", "src/b.py", "src/deep/er/c.c", "with space.md", "naïve.txt", "tab\tname", 'quo"te', "-dash", "d/e", "README"]


def git(folder: Path, *args: str) -> bytes:
    done = subprocess.run(["git", *args], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines(rng: random.Random, count: int) -> list[bytes]:
    kinds = [b"", b"}", b"    return x", b"\tif (y) {", b"x\r", b"\xff\xfe raw", "é\u2028".encode(), b"--- a/x", b"+++ b/x", b"@@ -1 +1 @@", b"-- "]
    return [rng.choice(kinds) if rng.random() < 0.4 else b"line %d" % rng.randrange(200) for _ in range(count)]


def content(rng: random.Random, rows: list[bytes]) -> bytes:
    data = b"\n".join(rows)
    return data + b"\n" if rows and (rng.random() < 0.85 or not rows[-1]) else data


def tree(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(p.relative_to(folder)): (p.read_bytes(), bool(p.stat().st_mode & 0o100))
        for p in folder.rglob("*")
        if p.is_file() and not {".git", ".toolbox"} & set(p.parts) and ".bak" not in p.name
    }


def edit(rng: random.Random, folder: Path) -> None:
    """One to four changes: edits, creations, deletions, renames with and without edits, modes."""
    for _ in range(rng.randint(1, 4)):
        present = [n for n in NAMES if (folder / n).is_file()]
        absent = [n for n in NAMES if not (folder / n).exists() and not (folder / n.split("/")[0]).is_file()]
        action = rng.choice(["edit", "edit", "edit", "create", "delete", "rename", "mode", "empty"])
        if action == "create" or not present:
            if absent:
                path = folder / rng.choice(absent)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content(rng, lines(rng, rng.choice([0, 1, 5, 40]))))
            continue
        path = folder / rng.choice(present)
        if action == "delete" and len(present) > 2:
            path.unlink()
        elif action == "rename" and absent:
            target = folder / rng.choice(absent)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        elif action == "mode":
            path.chmod(path.stat().st_mode ^ 0o111)
        elif action == "empty":
            path.write_bytes(b"")
        else:
            rows = path.read_bytes().split(b"\n")
            for _ in range(rng.randint(1, 3)):
                at = rng.randint(0, len(rows))
                rows[at : at + rng.randint(0, 3)] = lines(rng, rng.randint(0, 3))
            path.write_bytes(content(rng, [r.replace(b"\0", b"") for r in rows]))


@pytest.mark.parametrize("context", [0, 1, 3, 10])
def test_walk(tmp_path: Path, context: int) -> None:
    rng = random.Random(context)
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    git(repo, "commit", "-q", "--allow-empty", "-m", "start")
    workspace_folder = tmp_path / "tree"
    workspace_folder.mkdir()
    workspace = Workspace(workspace_folder)
    for k in range(COMMITS):
        edit(rng, repo)
        git(repo, "add", "-A")
        patch = git(repo, "diff", "--cached", "--text", f"-U{context}", *(["-M", "-C"] if k % 3 else ["--no-renames"]))
        git(repo, "commit", "-q", "--allow-empty", "-m", f"commit {k}")
        if not patch:
            continue
        if k % 4 == 3:
            patch = git(repo, "format-patch", "-1", "--text", f"-U{context}", "--stdout", "-M")
        (workspace_folder / "p.patch").write_bytes(patch)
        got = workspace.ask("diff", "apply", {"patch_file": "p.patch", "dry_run": False})
        assert got.ok, (got.text, patch)
        (workspace_folder / "p.patch").unlink()
        assert tree(workspace_folder) == tree(repo), patch
    ids = [e["id"] for e in workspace.ask("diff", "history", {"limit": 100}).result["entries"]]
    for ident in ids:
        assert workspace.ask("diff", "undo", {"id": ident, "dry_run": False}).ok
    assert tree(workspace_folder) == {}
