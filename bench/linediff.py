#!/usr/bin/env python3
"""The line diff engine against `git diff --no-index` and `diff -u` on four 4 MB pairs, as ratios.

Every peer runs as a process, as people run it; the engine runs inside this one, from bytes to
the whole unified diff as bytes. Usage: python bench/linediff.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from toolbox.engines.diff import xdiff
from toolbox.engines.diff.unified import unified

SIDE_BYTES = 4 * 1024 * 1024


def code_like(random: Random, lines: int) -> list[bytes]:
    call = b"    value_%d = call(%d, %r)"
    return [call % (i, i * i % 9973, random.random()) for i in range(lines)]


def workloads() -> dict[str, tuple[bytes, bytes]]:
    """Name → two sides of just under 4 MiB."""
    random = Random(1)
    base = code_like(random, 72_000)
    few = list(base)
    for at in random.sample(range(len(few)), 200):
        few[at] = b"    changed_%d()" % at
    third = [b"    other %d" % k if random.random() < 0.3 else line for k, line in enumerate(base)]
    other = [b"    unrelated_%d = %r" % (i, random.random()) for i in range(90_000)]
    two = [[b"%d" % random.randrange(2) for _ in range(200_000)] for _ in range(2)]
    pad = b"0123456789abcdefgh"
    sides = {
        "200 edits": (base, few),
        "30 % of lines": (base, third),
        "all different": (base, other),
        "two symbols": ([pad + x for x in two[0]], [pad + x for x in two[1]]),
    }
    return {
        name: (b"\n".join(a)[:SIDE_BYTES] + b"\n", b"\n".join(b)[:SIDE_BYTES] + b"\n")
        for name, (a, b) in sides.items()
    }


def median_ms(work: Callable[[], object], rounds: int) -> float:
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1e3)
    return statistics.median(took)


def main(rounds: int) -> None:
    xdiff.preload()
    unified(b"1\n", b"2\n", a_name="a", b_name="b")
    print(f"{'work':16}{'ours ms':>9}{'git ms':>9}{'diff ms':>9}{'ours/git':>10}{'ours/diff':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (a, b) in workloads().items():
            paths = [f"{folder}/a", f"{folder}/b"]
            for path, data in zip(paths, (a, b), strict=True):
                Path(path).write_bytes(data)

            def peer(*command: str, paths: list[str] = paths) -> Callable[[], object]:
                return lambda: subprocess.run([*command, *paths], capture_output=True, check=False)

            def engine(a: bytes = a, b: bytes = b) -> bytes:
                return unified(a, b, a_name="a", b_name="b").render()

            ours = median_ms(engine, rounds)
            git = median_ms(peer("git", "diff", "--no-index"), rounds)
            gnu = median_ms(peer("diff", "-u"), rounds)
            print(f"{name:16}{ours:9.1f}{git:9.1f}{gnu:9.1f}{ours / git:10.2f}{ours / gnu:10.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
