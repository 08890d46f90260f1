"""Every target of the fuzzer, briefly; `python -m bench.fuzz` is the long run."""

from __future__ import annotations

import pytest

from bench import fuzz

SLOW = {"arguments": 80, "names": 40, "patches": 60, "texts": 60, "json": 60, "yaml": 60, "any format": 40, "json lines": 40, "cursors": 60, "revisions": 100,
        "tags": 80}  # fmt: skip
"""Inputs for targets that ask many calls for each."""


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_any_input_gets_a_typed_reply(name: str) -> None:
    assert fuzz.attempt(name, SLOW.get(name, 150)) > 0
