"""Timing: everything of one comparison interleaved, medians and spread, ratios."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Row:
    """One work: our time, each peer's, in milliseconds, with the ratio to reach."""

    work: str
    ours: str
    ours_ms: float
    spread_ms: tuple[float, float]
    peers_ms: dict[str, float] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    goal: str = ""
    note: str = ""

    def ratios(self) -> dict[str, float]:
        """Peer's time over ours: above 1 we are faster."""
        return {name: ms / self.ours_ms for name, ms in self.peers_ms.items()}


def wall_ms(function: Callable[[], object]) -> float:
    """One run, in milliseconds."""
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def interleave(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Each function's times, one of each in every round, so that a slow minute hits all."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(wall_ms(function))
    return times


def compare(
    work: str,
    ours: tuple[str, Callable[[], object]],
    peers: Mapping[str, Callable[[], object] | None],
    *,
    rounds: int = 5,
    goal: str = "",
    note: str = "",
) -> Row:
    """A row; a peer that is None is told as missing."""
    present = {n: f for n, f in peers.items() if f is not None}
    times = interleave({ours[0]: ours[1], **present}, rounds)
    mine = times.pop(ours[0])
    return Row(
        work,
        ours[0],
        statistics.median(mine),
        (min(mine), max(mine)),
        {n: statistics.median(t) for n, t in times.items()},
        [n for n, f in peers.items() if f is None],
        goal,
        note,
    )


def program(
    *words: str | os.PathLike[str], ok: Sequence[int] = (0,), cwd: str | None = None
) -> Callable[[], object] | None:
    """Running a program whole; None where it is not installed. Output goes nowhere."""
    if shutil.which(os.fspath(words[0])) is None:
        return None

    def run() -> None:
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd)
        if done.returncode not in ok:
            raise RuntimeError(f"{words[0]} exited {done.returncode}")

    return run


def peak_mb(words: Sequence[str | os.PathLike[str]]) -> float:
    """A program's peak resident memory in MB."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execvp(os.fspath(words[0]), [os.fspath(w) for w in words])
    _, _, usage = os.wait4(pid, 0)
    assert isinstance(usage, resource.struct_rusage)
    return usage.ru_maxrss / 1024
