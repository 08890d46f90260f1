"""What a daemon does where the machine cannot confine: attack 53, and what status tells."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from sandbox import landlock
from sandbox.syscalls import architecture

LAUNCHER = """
import runpy, struct, sys
from sandbox import seccomp
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | int(sys.argv[1])), (0x06, 0, 0, 0x7FFF0000)]
seccomp.set_no_new_privs()
seccomp.install(b"".join(struct.pack("<HBBI", *rule) for rule in rules))
sys.argv = ["toolbox", *sys.argv[2:]]
runpy.run_module("toolbox", run_name="__main__")
"""
"""Starts a daemon in which Landlock is missing, as under an old kernel or a container's filter."""

REQUEST = json.dumps(
    {"id": 1, "name": "@json", "args": {"cmd": "get", "args": {"file": "a.json", "path": "a"}}}
)

pytestmark = pytest.mark.skipif(architecture() is None, reason="no system call tables")


def _abi() -> int:
    try:
        return landlock.abi()
    except OSError:
        return 0


needs_landlock = pytest.mark.skipif(_abi() < landlock.ABI_TRUNCATE, reason="no Landlock 3 here")


def serve(workspace: pathlib.Path, policy: str, *, hidden: int | None) -> tuple[int, Any, str]:
    """Exit status, the reply, and the log of a daemon that is asked one thing."""
    words = ["serve", "--workspace", str(workspace), "--stdio", "--format", "jsonl"]
    start = ["-c", LAUNCHER, str(hidden)] if hidden is not None else ["-m", "toolbox"]
    ran = subprocess.run(
        [sys.executable, *start, *words, f"--confine={policy}"],
        input=REQUEST + "\n", capture_output=True, text=True, timeout=60,
        cwd=pathlib.Path(__file__).parents[2],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else None, ran.stderr


def told(log: str) -> dict[str, Any]:
    """The one line about the read workers, however many there are."""
    lines = [json.loads(line) for line in log.splitlines()]
    (line,) = (x for x in lines if x["event"] == "confined" and x["role"] == "read")
    return line


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "a.json").write_text('{"a": 1.10}')
    return tmp_path


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM])
def test_53_landlock_missing_under_require_does_not_start(folder: pathlib.Path, code: int) -> None:
    status, reply, log = serve(folder, "require", hidden=code)
    assert status == 2, log
    assert reply is None or reply["ok"] is False
    assert "expected every layer of confinement to hold" in log
    assert "--confine=warn" in log


def test_53_under_warn_it_starts_and_says_what_is_missing(folder: pathlib.Path) -> None:
    status, reply, log = serve(folder, "warn", hidden=errno.ENOSYS)
    assert status == 0, log
    assert reply["result"]["value"] == 1.10
    line = told(log)
    assert line["level"] == "warning"
    assert "the kernel has no Landlock" in line["missing"]["files"]
    assert "calls" in line["holds"]


@needs_landlock
def test_53_under_require_it_starts_where_every_layer_holds(folder: pathlib.Path) -> None:
    status, reply, log = serve(folder, "require", hidden=None)
    assert status == 0, log
    assert reply["result"]["value"] == 1.10
    line = told(log)
    assert (line["level"], line["missing"]) == ("info", {})
