"""Attack 43 through a daemon: a call that needs more memory than its worker may have fails alone."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.test_resources import code, serves
from tests.daemon.conftest import Stdio

Serve = Callable[..., Stdio]


def test_43_a_call_that_needs_too_much_memory_fails_alone(workspace: Path, serve: Serve) -> None:
    (workspace / "big.json").write_text(json.dumps([{"k": k, "v": [k] * 40} for k in range(40_000)]))
    daemon = serve("--workers", "1")
    assert serves(daemon)
    (worker,) = daemon.workers()
    used = int(Path(f"/proc/{worker}/statm").read_text().split()[0]) * resource.getpagesize()
    try:
        most = resource.prlimit(worker, resource.RLIMIT_AS)[1]
        resource.prlimit(worker, resource.RLIMIT_AS, (used + (4 << 20), most))
    except PermissionError:
        pytest.skip("limiting a running worker further needs root")
    reply = daemon.call("@json", "get", file="big.json", path="[3].k")
    assert code(reply) in ("E_TOO_LARGE", "E_INTERNAL"), "the attack bites"
    assert serves(daemon)
    for pid in daemon.workers():
        os.kill(pid, signal.SIGKILL)  # the one that takes its place has its memory again
    while code(reply := daemon.call("@json", "get", file="big.json", path="[3].k")) == "E_INTERNAL":
        assert "ended" in reply["error"]["message"]
    assert reply["result"]["value"] == 3
