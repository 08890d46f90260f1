"""For all tests: deep trees are cut down at the end, since clean-up by recursion cannot."""

from __future__ import annotations

import subprocess

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove what lies a hundred levels below the temporary folder of this run."""
    factory = getattr(session.config, "_tmp_path_factory", None)
    base = getattr(factory, "_basetemp", None)
    if base is not None:
        words = ["find", str(base), "-mindepth", "100", "-maxdepth", "100", "-type", "d"]
        subprocess.run([*words, "-prune", "-exec", "rm", "-rf", "{}", "+"], capture_output=True)
