"""The index held both ways: every attack has tests, every test it names is collected, none is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks.index import ATTACKS

TESTS = Path(__file__).parents[1]
NUMBERED = re.compile(r"::test_(?:attack_|control_)?((?:\d\d?_)+)")


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """Ids of the tests in the files that the index names, without their parameters."""
    files = sorted({id.partition("::")[0] for _, ids in ATTACKS.values() for id in ids})
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-o", "addopts=",
         *(f"tests/{name}" for name in files)],
        capture_output=True, text=True, cwd=TESTS.parent, timeout=110,
    )  # fmt: skip
    return {
        line.removeprefix("tests/").partition("[")[0]
        for line in ran.stdout.splitlines() if "::" in line
    }  # fmt: skip


def test_there_are_63() -> None:
    assert list(ATTACKS) == list(range(1, 64))
    assert all(what and ids for what, ids in ATTACKS.values())


@pytest.mark.parametrize("number", ATTACKS)
def test_every_test_of_an_attack_is_collected(collected: set[str], number: int) -> None:
    assert set(ATTACKS[number][1]) <= collected


def test_every_number_in_a_test_s_name_is_an_attack(collected: set[str]) -> None:
    for id in collected:
        if found := NUMBERED.search(id):
            assert {int(n) for n in found[1].strip("_").split("_")} <= set(ATTACKS) | {127}, id
