"""What the benchmarks run on: made here, the same bytes every time, in a folder of its own."""

from __future__ import annotations

import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RUNS_20_MB = 74_000
"""Elements of the example's job list that take about 20 MB."""


def response(folder: pathlib.Path, megabytes: float = 20) -> pathlib.Path:
    """A saved API response of about this size: an array of objects below `data.items`."""
    path = folder / f"runs-{megabytes:g}.json"
    if not path.exists():
        sys.path.insert(0, str(HERE.parent / "examples"))
        import make_response

        path.write_text(make_response.response(int(RUNS_20_MB * megabytes / 20)))
    return path


def yaml_file(folder: pathlib.Path, megabytes: float = 2) -> pathlib.Path:
    """A values file of about this size: nested mappings, lists, quoted and plain scalars."""
    path = folder / f"values-{megabytes:g}.yaml"
    if not path.exists():
        lines, k = ["services:"], 0
        while sum(map(len, lines)) < megabytes * 1_000_000 if k % 500 == 0 else True:
            lines += [
                f"  svc-{k}:",
                f'    image: "registry.local/app:{k}.10"',
                f"    replicas: {k % 7}",
                "    env:",
                "      - name: MODE\n        value: 'on'",
                f"      - name: LIMIT\n        value: {k}.50",
                f"    note: service number {k} of many",
            ]
            k += 1
        path.write_text("\n".join(lines) + "\n")
    return path


def text_pair(folder: pathlib.Path, kind: str) -> tuple[pathlib.Path, pathlib.Path]:
    """Two texts of 4 MB less a little: `edits` (200), `third` (30 % of lines), `different`,
    `symbols` (lines of two symbols)."""
    a, b = folder / f"{kind}.a", folder / f"{kind}.b"
    if a.exists():
        return a, b
    rng = random.Random(4)
    n = 62_000
    line = "line {} {} some text that is of an ordinary length"
    left = [line.format(k, k * k % 9973) for k in range(n)]
    right = list(left)
    if kind == "edits":
        for k in range(0, n, n // 200):
            right[k] = "changed " + right[k]
    elif kind == "third":
        right = [x if rng.random() > 0.3 else f"other {k}" for k, x in enumerate(right)]
    elif kind == "different":
        right = [f"{rng.random():.17f} another text altogether, of that length" for _ in range(n)]
    else:
        left = [rng.choice("ab") for _ in range(200_000)]
        right = [rng.choice("ab") for _ in range(200_000)]
    a.write_text("\n".join(left) + "\n")
    b.write_text("\n".join(right) + "\n")
    return a, b


def trees(folder: pathlib.Path, files: int = 50_000) -> tuple[pathlib.Path, pathlib.Path]:
    """Two trees of small files, 100 of them changed, 50 added, 50 removed."""
    a, b = folder / f"tree-{files}-a", folder / f"tree-{files}-b"
    if a.exists():
        return a, b
    for k in range(files):
        data = f"file {k}\n" * (1 + k % 9)
        for root in (a, b):
            path = root / f"d{k % 250:03}" / f"s{k % 4}" / f"f{k}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            if root is b and k % (files // 100) == 0:
                path.write_text(data.upper())
            elif not (root is b and k % (files // 50) == 1) and not (
                root is a and k % (files // 50) == 2
            ):
                path.write_text(data)
    return a, b


def git(cwd: pathlib.Path, *words: str) -> bytes:
    """Run git with a fixed identity and nothing of the user's configuration."""
    return subprocess.run(
        [
            "git",
            "-c",
            "user.name=b",
            "-c",
            "user.email=b@example.org",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "gc.auto=0",
            *words,
        ],
        cwd=cwd,
        check=True,
        capture_output=True,
        env={
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "HOME": str(cwd),
        },
    ).stdout


def repository(folder: pathlib.Path, files: int) -> pathlib.Path:
    """A repository of two commits that differ in this many files; `changes.patch` beside it."""
    root = folder / f"repo-{files}"
    if root.exists():
        return root
    root.mkdir()
    git(root, "init", "-q")
    body = [f"value_{k} = {k}" for k in range(200)]
    for k in range(files):
        path = root / f"pkg{k % 40}" / f"mod{k}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([f"# {k}", *body]) + "\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    for k in range(files):
        path = root / f"pkg{k % 40}" / f"mod{k}.py"
        lines = path.read_text().split("\n")
        lines[50] = f"value_49 = {k}"
        lines.insert(120, "inserted = True")
        path.write_text("\n".join(lines))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "two")
    (folder / f"changes-{files}.patch").write_bytes(git(root, "diff", "HEAD~1", "HEAD"))
    return root


def wide(folder: pathlib.Path) -> pathlib.Path:
    """A small file for warm calls of many clients."""
    path = folder / "small.json"
    path.write_text(json.dumps({"items": [{"id": k, "name": f"n{k}"} for k in range(200)]}))
    return path
