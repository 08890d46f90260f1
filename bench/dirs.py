#!/usr/bin/env python3
"""`dirs` on two trees of 50 000 files against `diff -rq` and git, as ratios.

The peers run as processes; ours runs inside this one, through the workspace's descriptors, from
arguments to the cut reply. Usage: python bench/dirs.py [FILES] [ROUNDS]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox.root import Root
from toolbox.dispatch import Call, run
from toolbox.store import DocumentStore


def make(folder: Path, files: int) -> None:
    """Two trees, 100 files a folder, 1 in 100 changed, added or removed."""
    for k in range(files):
        for version in ("v1", "v2"):
            if k % 300 == (100 if version == "v1" else 200):
                continue
            path = folder / version / f"package{k // 2000}" / f"part{k // 100}" / f"file{k}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = f"value = {k}\n" * (k % 40 + 1)
            path.write_text(text[:-2] + "!\n" if version == "v2" and k % 300 == 0 else text)


def medians_ms(works: list[Callable[[], object]], rounds: int) -> list[float]:
    """Each work's median, the works taking turns."""
    took: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, times in zip(works, took, strict=True):
            start = time.perf_counter()
            work()
            times.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(times) for times in took]


def main(files: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), files)
        with Root.open(folder) as root:
            store = DocumentStore(root)
            call = Call("diff", "dirs", json.dumps({"a": "v1", "b": "v2"}).encode(), seconds=120)
            reply = run(call, root, store)
            print(reply.text.splitlines()[0])

            def peer(*command: str) -> Callable[[], object]:
                words = [*command, "v1", "v2"]
                return lambda: subprocess.run(words, cwd=folder, capture_output=True, check=False)

            ours, gnu, git = medians_ms(
                [
                    lambda: run(call, root, store),
                    peer("diff", "-rq"),
                    peer("git", "diff", "--no-index", "--name-status"),
                ],
                rounds,
            )
    print(f"ours {ours:.0f} ms, diff -rq {gnu:.0f} ms, git {git:.0f} ms")
    print(f"ours/diff {ours / gnu:.2f}, ours/git {ours / git:.2f}")


if __name__ == "__main__":
    arguments = [int(word) for word in sys.argv[1:]]
    main(arguments[0] if arguments else 50_000, arguments[1] if len(arguments) > 1 else 3)
