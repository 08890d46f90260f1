"""Attacks 13 and 14 in short; `python -m bench.races` is the long run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import races

SECONDS = 0.6


@pytest.mark.parametrize("name", races.OURS)
@pytest.mark.parametrize("race", races.RACES)
def test_attack_13_14_no_leak_under_a_rename_race(tmp_path: Path, race: str, name: str) -> None:
    with races.RACES[race](tmp_path) as (folder, path):
        found = races.count(name, races.by_resolver(folder, name), path, races.ROUNDS, SECONDS)
    assert found.leaks == 0
    assert found.inside > 0, "the file was there some of the time"
    assert found.refused > 0, "the race was on"


@pytest.mark.parametrize("flags", [0, os.O_NOFOLLOW], ids=["plain", "nofollow"])
def test_control_13_a_checked_path_leaks_when_swapped(
    tmp_path: Path, flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race, with the swap at its worst moment: after the check, before the open."""
    for name in ("root/d", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "root/d/f").write_bytes(races.INSIDE)
    (tmp_path / "outside/f").write_bytes(races.OUTSIDE)
    read = races.by_checked_path(tmp_path / "root", flags)
    assert read("d/f") == races.INSIDE
    real = os.path.realpath

    def then_swap(path: str) -> str:
        checked = real(path)
        (tmp_path / "root/d").rename(tmp_path / "root/was")
        (tmp_path / "root/d").symlink_to("../outside")
        return checked

    monkeypatch.setattr(os.path, "realpath", then_swap)
    assert read("d/f") == races.OUTSIDE


def test_control_14_opened_dots_leak_when_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk that opens `..`, with the folder moved out at its worst moment."""
    (tmp_path / "root/a/b").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "root/f").write_bytes(races.INSIDE)
    (tmp_path / "f").write_bytes(races.OUTSIDE)
    read = races.by_opened_dots(tmp_path / "root")
    path = "a/b/../../f"
    assert read(path) == races.INSIDE
    real = os.open

    def then_move(name: str, *args: object, **options: object) -> int:
        fd = real(name, *args, **options)  # type: ignore[arg-type]
        if name == "b":
            (tmp_path / "root/a/b").rename(tmp_path / "outside/b")
        return fd

    ours = races.by_resolver(tmp_path / "root", "walk")
    monkeypatch.setattr(os, "open", then_move)
    assert read(path) == races.OUTSIDE
    monkeypatch.undo()
    (tmp_path / "outside/b").rename(tmp_path / "root/a/b")

    def bytes_then_move(name: object, *args: object, **options: object) -> int:
        fd = real(name, *args, **options)  # type: ignore[arg-type]
        if name == b"b":
            (tmp_path / "root/a/b").rename(tmp_path / "outside/b")
        return fd

    monkeypatch.setattr(os, "open", bytes_then_move)
    assert ours(path) == races.INSIDE, "the same moment against ours"
    assert (tmp_path / "outside/b").exists(), "it was moved"
