"""Opens under attack: `python -m bench.races [--rounds 400000]` counts leaks by way of opening.

Two races. In `flip` another process swaps a folder of the workspace with a link that leads outside,
as fast as it can. In `dots` it moves a folder out of the workspace and back while paths go through
it and up again. A leak is an open that reads what lies outside. Our two resolvers have to show 0;
the usual ways of checking a path first show why the check has to be the open.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.root import Root
from sandbox.system import RENAME_EXCHANGE, rename_special

INSIDE = b"inside"
OUTSIDE = b"OUTSIDE"
ROUNDS = 400_000


@dataclass(frozen=True, slots=True)
class Count:
    """What came of the opens of one way."""

    way: str
    rounds: int
    inside: int
    leaks: int
    refused: int
    seconds: float


Open = Callable[[str], bytes]


@contextmanager
def attacker(act: Callable[[], None]) -> Iterator[None]:
    """A process that does it over and over."""
    pid = os.fork()
    if pid == 0:
        try:
            while True:
                act()
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@contextmanager
def flip(top: Path) -> Iterator[tuple[Path, str]]:
    """`root/d` is a folder and a link to `outside` in turn."""
    (top / "root/d").mkdir(parents=True)
    (top / "root/d/f").write_bytes(INSIDE)
    (top / "outside").mkdir()
    (top / "outside/f").write_bytes(OUTSIDE)
    (top / "root/l").symlink_to("../outside")
    fd = os.open(top / "root", os.O_RDONLY)

    def act() -> None:
        rename_special(fd, b"d", fd, b"l", RENAME_EXCHANGE)

    with attacker(act):
        yield top / "root", "d/f"
    os.close(fd)


@contextmanager
def dots(top: Path) -> Iterator[tuple[Path, str]]:
    """`root/a/b` is moved to `outside/b` and back; the path goes into it and up twice."""
    (top / "root/a/b").mkdir(parents=True)
    (top / "root/f").write_bytes(INSIDE)
    (top / "outside").mkdir()
    (top / "f").write_bytes(OUTSIDE)

    def act() -> None:
        os.rename(top / "root/a/b", top / "outside/b")
        os.rename(top / "outside/b", top / "root/a/b")

    with attacker(act):
        yield top / "root", "a/b/../../f"


RACES = {"flip": flip, "dots": dots}


def by_resolver(folder: Path, name: str) -> Open:
    """Ours."""
    root = Root.open(folder, resolver=name)  # type: ignore[arg-type]

    def read(path: str) -> bytes:
        with root.open_file(path) as opened:
            return os.read(opened.fd, 16)

    return read


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 16)
    finally:
        os.close(fd)


def by_prefix(folder: Path) -> Open:
    """realpath, compare the prefix, open the path as given."""
    real_root = os.path.realpath(folder)

    def read(path: str) -> bytes:
        full = os.path.join(folder, path)
        if not os.path.realpath(full).startswith(real_root + "/"):
            raise PermissionError
        return _read(os.open(full, os.O_RDONLY))

    return read


def by_checked_path(folder: Path, flags: int = 0) -> Open:
    """realpath, compare the prefix, open the real path."""
    real_root = os.path.realpath(folder)

    def read(path: str) -> bytes:
        real = os.path.realpath(os.path.join(folder, path))
        if not real.startswith(real_root + "/"):
            raise PermissionError
        return _read(os.open(real, os.O_RDONLY | flags))

    return read


def by_opened_dots(folder: Path) -> Open:
    """Component by component with O_NOFOLLOW, but `..` opened like any other."""
    root = os.open(folder, os.O_PATH)

    def read(path: str) -> bytes:
        fd, depth = os.dup(root), 0
        *steps, last = path.split("/")
        try:
            for step in steps:
                depth += -1 if step == ".." else 1
                if depth < 0:
                    raise PermissionError
                down = os.open(step, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                os.close(fd)
                fd = down
            return _read(os.open(last, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=fd))
        finally:
            os.close(fd)

    return read


def ways(folder: Path) -> dict[str, Open]:
    """Ours first, then the controls."""
    found: dict[str, Open] = {}
    for name in ("openat2", "walk"):
        try:
            found[name] = by_resolver(folder, name)
        except SandboxError:
            continue  # no openat2 on this kernel
    found["prefix"] = by_prefix(folder)
    found["checked path"] = by_checked_path(folder)
    found["checked, O_NOFOLLOW"] = by_checked_path(folder, os.O_NOFOLLOW)
    found["opened dots"] = by_opened_dots(folder)
    return found


OURS = ("openat2", "walk")


def count(way: str, read: Open, path: str, rounds: int, seconds: float | None = None) -> Count:
    """Open it that often, or for that long."""
    inside = leaks = refused = done = 0
    start = time.monotonic()
    while done < rounds:
        done += 1
        try:
            data = read(path)
        except (OSError, SandboxError):
            refused += 1
        else:
            inside += data == INSIDE
            leaks += data == OUTSIDE
        if seconds is not None and done % 64 == 0 and time.monotonic() - start > seconds:
            break
    return Count(way, done, inside, leaks, refused, time.monotonic() - start)


def run(race: str, rounds: int, seconds: float | None = None) -> list[Count]:
    """Every way through one race."""
    with tempfile.TemporaryDirectory() as top, RACES[race](Path(top)) as (folder, path):
        return [count(way, read, path, rounds, seconds) for way, read in ways(folder).items()]


def main() -> int:
    parser = argparse.ArgumentParser(description="opens while another process renames")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--race", choices=[*RACES], action="append")
    given = parser.parse_args()
    failed = False
    for race in given.race or RACES:
        print(f"{race}, {given.rounds} opens each")
        for one in run(race, given.rounds):
            ours = one.way in OURS
            failed |= ours and one.leaks > 0
            print(
                f"  {'ours  ' if ours else 'control'} {one.way:20} leaks {one.leaks:6}  "
                f"inside {one.inside:6}  refused {one.refused:6}  "
                f"{one.seconds / one.rounds * 1e6:6.1f} µs"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
