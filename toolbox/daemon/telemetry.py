"""What the daemon tells of itself: one structured line a call, counters and latency histograms.

Nothing here ever holds file contents or arguments.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TextIO

BUCKETS_SECONDS: Final = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
"""Upper bounds of the latency histograms: a warm answer to the deadline."""


LINE_BYTES: Final = select.PIPE_BUF - 1
"""The longest log line: a pipe that is ready for writing takes as much without waiting."""


_encode = json.JSONEncoder(default=str).encode
"""ASCII only, so that a line's characters are its bytes. Made once: `json.dumps` makes an encoder
for each call that names an option."""


class Log:
    """JSON lines on standard error.

    A pipe that nobody reads must not stop the daemon: while it is full lines are left out, and the
    next one that goes through says how many.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._stream = stream if stream is not None else sys.stderr
        self._dropped = 0
        self._poll = _poll_for(self._stream)

    def __call__(self, event: str, level: str = "info", **fields: Any) -> None:
        if self._quiet and event == "call":
            return
        if self._poll is not None and not self._poll.poll(0):
            self._dropped += 1
            return
        if self._dropped:
            fields["lines_dropped"], self._dropped = self._dropped, 0
        line = {
            "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": level,
            "event": event,
            **fields,
        }
        try:
            self._stream.write(_encode(line)[:LINE_BYTES] + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            pass  # a closed log must not end a call


def _poll_for(stream: TextIO) -> select.poll | None:
    """Tells whether a line can be written without waiting; None where that never waits."""
    try:
        fd = stream.fileno()
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError, AttributeError):
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)):
        return None
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return poll


@dataclass(slots=True)
class Histogram:
    """Counts by upper bound, with sum and count."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_SECONDS) + 1))
    total_seconds: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS_SECONDS, seconds)] += 1
        self.total_seconds += seconds
        self.count += 1

    def quantile(self, share: float) -> float:
        """The upper bound, in seconds, below which that share of the calls stayed."""
        rank, seen = share * self.count, 0
        for bound, n in zip(BUCKETS_SECONDS, self.counts, strict=False):
            seen += n
            if seen >= rank:
                return bound
        return float("inf")


@dataclass(slots=True)
class Metrics:
    """Counters since the start."""

    started: float = field(default_factory=time.time)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(op, outcome) → calls; the outcome is `ok` or the error's code."""
    bytes_out: Counter[str] = field(default_factory=Counter)
    latency: dict[str, Histogram] = field(default_factory=dict)
    workers_replaced: int = 0
    cached: int = 0

    def observe(self, op: str, outcome: str, seconds: float, bytes_out: int, cached: bool) -> None:
        self.outcomes[op, outcome] += 1
        self.bytes_out[op] += bytes_out
        self.latency.setdefault(op, Histogram()).add(seconds)
        self.cached += cached

    def summary(self) -> dict[str, Any]:
        """Calls, outcomes and latency for each verb, for `toolbox status`."""
        verbs: dict[str, Any] = {}
        for op, histogram in sorted(self.latency.items()):
            verbs[op] = {
                "calls": histogram.count,
                "outcomes": {o: n for (p, o), n in sorted(self.outcomes.items()) if p == op},
                "p50_ms_at_most": _ms(histogram.quantile(0.5)),
                "p99_ms_at_most": _ms(histogram.quantile(0.99)),
                "bytes_out": self.bytes_out[op],
            }
        return verbs

    def prometheus(self, gauges: dict[str, float]) -> str:
        """The text exposition format, version 0.0.4."""
        lines = ["# TYPE toolbox_calls_total counter"]
        for (op, outcome), n in sorted(self.outcomes.items()):
            lines.append(f'toolbox_calls_total{{op="{op}",outcome="{outcome}"}} {n}')
        lines.append("# TYPE toolbox_bytes_out_total counter")
        lines += [
            f'toolbox_bytes_out_total{{op="{o}"}} {n}' for o, n in sorted(self.bytes_out.items())
        ]
        lines.append("# TYPE toolbox_call_seconds histogram")
        for op, h in sorted(self.latency.items()):
            running = 0
            for bound, n in zip(BUCKETS_SECONDS, h.counts, strict=False):
                running += n
                lines.append(f'toolbox_call_seconds_bucket{{op="{op}",le="{bound:g}"}} {running}')
            lines.append(f'toolbox_call_seconds_bucket{{op="{op}",le="+Inf"}} {h.count}')
            lines.append(f'toolbox_call_seconds_sum{{op="{op}"}} {h.total_seconds:.6f}')
            lines.append(f'toolbox_call_seconds_count{{op="{op}"}} {h.count}')
        lines.append("# TYPE toolbox_workers_replaced_total counter")
        lines.append(f"toolbox_workers_replaced_total {self.workers_replaced}")
        lines.append("# TYPE toolbox_answers_from_kept_documents_total counter")
        lines.append(f"toolbox_answers_from_kept_documents_total {self.cached}")
        for name, value in sorted(gauges.items()):
            lines += [f"# TYPE toolbox_{name} gauge", f"toolbox_{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _ms(seconds: float) -> float | None:
    return None if seconds == float("inf") else seconds * 1e3
