"""The log on a pipe that fills up; names in metrics that callers cannot choose."""

from __future__ import annotations

import json
import os

import pytest

from toolbox.daemon.telemetry import Log


def test_a_full_pipe_drops_lines_and_the_next_one_says_how_many() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb", 0) as source, os.fdopen(write, "w") as sink:
        log = Log(sink)
        for k in range(2_000):
            log("call", n=k)
        os.set_blocking(source.fileno(), False)
        held = b""
        while chunk := source.read(1 << 16):
            held += chunk
        lines = [json.loads(line) for line in held.splitlines()]
        assert 0 < len(lines) < 2_000
        log("after")
        (after,) = [json.loads(line) for line in (source.read(1 << 16) or b"").splitlines()]
    assert after["event"] == "after" and after["lines_dropped"] == 2_000 - len(lines)


def test_a_closed_log_ends_no_call() -> None:
    read, write = os.pipe()
    sink = os.fdopen(write, "w")
    os.close(read)
    log = Log(sink)
    log("call")
    log("call")
    with pytest.raises(BrokenPipeError):
        sink.close()  # what the log could not write is still in the stream: it did meet the fault
