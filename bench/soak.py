"""`python -m bench.soak [--minutes 10]`: a daemon under 64 clients while its workers are killed.

Every client asks one call after another over the socket: every verb, writes and undos too, while
files change beneath them and workers are ended at random by SIGKILL. At the end every call must
have been answered exactly once, every write must be whole, and memory and descriptors must be flat.
The status is 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Final

from bench.__main__ import machine

CLIENTS: Final = 64
SAMPLE_SECONDS: Final = 2.0
KILL_SECONDS: Final = (0.3, 2.0)
"""Pause between two kills, evenly drawn."""
CHANGE_SECONDS: Final = 0.05
LEAVE_ONE_IN: Final = 200
"""One call in so many is hung up on instead of waited for; its client comes back."""
GROWTH_FACTOR: Final = 1.1
GROWTH_BYTES: Final = 24 << 20
"""What the last third's median may be above the middle third's: factor and allowance for noise."""
LINE_BYTES: Final = 64 << 20
ALLOWED: Final = frozenset({"E_INTERNAL", "E_CHANGED", "E_NOT_FOUND"})
"""Failures that kills and changing files explain: a killed worker, a file replaced while read."""
KILLED: Final = ("the worker of this call ended", "no answer within")


@dataclass
class Sample:
    """The daemon's processes at one moment. Memory is the proportional set size, in bytes."""

    seconds: float
    daemon: int
    zygote: int
    workers: int
    descriptors: int
    """Of the daemon and of the zygote; workers are replaced too often to compare."""
    processes: int


@dataclass
class Tally:
    """What came of the calls."""

    sent: int = 0
    answered: int = 0
    left: int = 0
    kills: int = 0
    killed_calls: int = 0
    codes: collections.Counter[str] = field(default_factory=collections.Counter)
    verbs: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    faults: list[str] = field(default_factory=list)
    writes: int = 0
    unsure: int = 0
    """Writes whose worker was killed: they were found done or undone, never half done."""

    def fault(self, text: str) -> None:
        if len(self.faults) < 50:
            self.faults.append(text)


def prepare(folder: pathlib.Path, clients: int) -> None:
    """A workspace with a file for every verb, and two for each client to write to."""
    items = [{"id": k, "name": f"n{k}", "tags": ["a", "b"], "ok": k % 3 == 0} for k in range(2000)]
    (folder / "big.json").write_text(json.dumps({"data": {"items": items}, "v": 0}))
    (folder / "moving.json").write_text(json.dumps({"n": 0, "pad": "x" * 5000, "m": 0}))
    (folder / "conf.yaml").write_text("".join(f"k{k}:\n  a: {k}\n  b: [1, 2]\n" for k in range(50)))
    lines = [f"line {k}" for k in range(400)]
    (folder / "one.txt").write_text("\n".join(lines) + "\n")
    lines[100:105] = ["changed"]
    (folder / "two.txt").write_text("\n".join(lines) + "\n")
    for side in "ab":
        for k in range(30):
            path = folder / "trees" / side / f"d{k % 5}" / f"f{k}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{k}{side if k % 7 == 0 else ''}\n")
    for k in range(clients):
        (folder / f"own-{k}").mkdir()
        for name in "ab":
            (folder / f"own-{k}" / name).write_text("0\n")
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True, **quiet)  # type: ignore[call-overload]
    for number in range(2):
        (folder / "one.txt").write_text("\n".join([*lines, str(number)]) + "\n")
        subprocess.run([*git, "add", "one.txt", "two.txt"], check=True, **quiet)  # type: ignore[call-overload]
        subprocess.run([*git, "commit", "-qm", "x"], check=True, **quiet)  # type: ignore[call-overload]


CSV: Final = ("id,name\n1,Al\n2,Bo\n3,Cy\n", "id,name\n1,Al\n3,Cyd\n4,Di\n")

READS: Final[list[tuple[str, str, dict[str, Any]]]] = [
    ("json", "get", {"file": "big.json", "path": "data.items[700].name"}),
    ("json", "get", {"file": "moving.json", "path": "n"}),
    ("json", "get", {"file": "moving.json", "path": ""}),
    ("json", "get", {"file": "conf.yaml", "path": "k7.a"}),
    ("json", "get", {"text": '{"a":[1,2,{"b":1.50}]}', "path": "a[2].b"}),
    ("json", "keys", {"file": "big.json", "path": "data.items[0]"}),
    ("json", "query", {"file": "big.json", "path": "data.items", "where": "ok=true && name~^n1"}),
    ("json", "schema", {"file": "big.json", "path": "data.items", "sample": 200}),
    ("json", "validate", {"file": "conf.yaml"}),
    ("json", "pretty", {"file": "big.json", "path": "data.items[3]"}),
    ("diff", "files", {"a": "one.txt", "b": "two.txt"}),
    ("diff", "text", {"a": "one\ntwo\n", "b": "one\n2\n"}),
    ("diff", "dirs", {"a": "trees/a", "b": "trees/b"}),
    ("diff", "lines", {"old_text": "a\nb\n", "new_text": "a\nc\n"}),
    ("diff", "json", {"before": '{"a":1,"b":[1,2]}', "after": '{"a":2,"b":[2,1]}'}),
    ("diff", "csv", {"before": CSV[0], "after": CSV[1], "key": "id"}),
    ("diff", "markdown", {"before": "# A\n\nx\n", "after": "# B\n\nx\n"}),
    ("diff", "patch", {"before": "one\ntwo\n", "after": "one\n2\n"}),
    ("diff", "revisions", {"from": "main~1", "to": "main", "format": "stat"}),
    ("diff", "sequence", {"left": ["A", "B"], "right": ["A", "C"]}),
    ("diff", "history", {"limit": 3}),
]


class Caller:
    """One client: it holds a connection and asks one call at a time."""

    def __init__(self, number: int, path: str, folder: pathlib.Path, tally: Tally) -> None:
        self.name = f"c{number}"
        self._path = path
        self._own = f"own-{number}"
        self._folder = folder
        self._tally = tally
        self._random = random.Random(number)
        self._count = 0
        self._value = 0
        self._undo: str | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def run(self, until: float) -> None:
        """Ask until then; what is asked is answered before it returns."""
        while time.monotonic() < until:
            pick = self._random.random()
            if pick < 0.06:
                await self._write()
            elif pick < 0.08 and self._undo is not None:
                await self._take_back()
            elif self._random.randrange(LEAVE_ONE_IN) == 0:
                await self._hang_up()
            else:
                tool, cmd, args = self._random.choice(READS)
                self._judge(f"{tool}.{cmd}", args, await self._ask(tool, cmd, args))
        await self._close()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            reader, writer = await asyncio.open_unix_connection(self._path, limit=LINE_BYTES)
            writer.write(f"TOOLBOX/1 jsonl name={self.name}\n".encode())
            self._streams = reader, writer
        return self._streams

    async def _close(self) -> None:
        """Hang up; what still comes before the end of the stream is one reply too many."""
        if self._streams is None:
            return
        reader, writer = self._streams
        self._streams = None
        writer.write_eof()
        if rest := await reader.read():
            self._tally.fault(f"{self.name}: a reply nobody asked for: {rest[:200]!r}")
        writer.close()

    def _line(self, tool: str, cmd: str, args: dict[str, Any]) -> tuple[str, bytes]:
        self._count += 1
        ident = f"{self.name}-{self._count}"
        line = {"id": ident, "name": f"@{tool}", "args": {"cmd": cmd, "args": args}}
        return ident, json.dumps(line).encode() + b"\n"

    async def _ask(self, tool: str, cmd: str, args: dict[str, Any]) -> dict[str, Any]:
        reader, writer = await self._open()
        ident, line = self._line(tool, cmd, args)
        start = time.perf_counter()
        self._tally.sent += 1
        writer.write(line)
        raw = await asyncio.wait_for(reader.readline(), 120)
        self._tally.verbs[f"{tool}.{cmd}"].append(time.perf_counter() - start)
        reply: dict[str, Any] = json.loads(raw)
        if reply.get("id") != ident:
            self._tally.fault(f"{ident} was answered by {reply.get('id')}")
        self._tally.answered += 1
        code = "ok" if reply["ok"] else reply["error"]["code"]
        self._tally.codes[code] += 1
        if code == "E_INTERNAL" and KILLED[0] in reply["error"]["message"]:
            self._tally.killed_calls += 1
        return reply

    def _judge(self, op: str, args: dict[str, Any], reply: dict[str, Any]) -> None:
        if not reply["ok"]:
            self._judge_failure(op, reply)
            return
        if args.get("file") == "moving.json" and args["path"] == "":
            value = reply["result"]["value"]
            if value["n"] != value["m"]:
                self._tally.fault(f"a mixture of two versions: {value['n']} and {value['m']}")
        if op == "json.query" and reply["result"]["total"] == 0:
            self._tally.fault("a query without its matches")

    def _judge_failure(self, op: str, reply: dict[str, Any]) -> bool:
        """Whether a kill explains it."""
        code, message = reply["error"]["code"], reply["error"]["message"]
        if code not in ALLOWED or (code == "E_INTERNAL" and not message.startswith(KILLED)):
            self._tally.fault(f"{op}: {code} {message}")
        return bool(code == "E_INTERNAL")

    async def _hang_up(self) -> None:
        """Ask and go away at once."""
        _reader, writer = await self._open()
        tool, cmd, args = self._random.choice(READS)
        writer.write(self._line(tool, cmd, args)[1])
        self._tally.left += 1
        self._streams = None
        writer.transport.abort()

    def _found(self) -> tuple[str, str]:
        return tuple((self._folder / self._own / name).read_text() for name in "ab")  # type: ignore[return-value]

    async def _write(self) -> None:
        """Count up in both files by one patch."""
        old, new = self._value, self._value + 1
        patch = "".join(
            f"--- a/{self._own}/{n}\n+++ b/{self._own}/{n}\n@@ -1 +1 @@\n-{old}\n+{new}\n"
            for n in "ab"
        )
        reply = await self._ask("diff", "apply", {"patch": patch, "dry_run": False})
        self._tally.writes += 1
        if reply["ok"]:
            self._value = new
            self._undo = reply["result"]["undo"]
        elif self._judge_failure("diff.apply", reply):
            self._settle(old, new)
        self._check()

    async def _take_back(self) -> None:
        assert self._undo is not None
        reply = await self._ask("diff", "undo", {"id": self._undo, "dry_run": False})
        self._tally.writes += 1
        self._undo = None
        if reply["ok"]:
            self._value -= 1
        elif reply["error"]["code"] != "E_NOT_FOUND" and self._judge_failure("diff.undo", reply):
            self._settle(self._value, self._value - 1)
        self._check()

    def _settle(self, old: int, new: int) -> None:
        """After a killed writer: the files tell whether it was done."""
        self._tally.unsure += 1
        self._undo = None
        found = self._found()[0]
        if found not in (f"{old}\n", f"{new}\n"):
            self._tally.fault(f"{self._own} holds {found!r} after a write from {old} to {new}")
        self._value = int(found)

    def _check(self) -> None:
        if (found := self._found()) != (f"{self._value}\n",) * 2:
            self._tally.fault(f"{self._own} holds {found}, expected {self._value} twice")


def children(pid: int) -> list[int]:
    """Pids of a process's children."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as handle:
                found += [int(word) for word in handle.read().split()]
    return found


def memory_bytes(pid: int) -> int:
    """Proportional set size where the kernel tells it, else the resident set; 0 for a gone one."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rows:
        for line in rows:
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", encoding="ascii") as handle:
        return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def take(daemon: int, started: float) -> Sample:
    """One sample of every process."""
    zygotes = children(daemon)
    workers = [w for z in zygotes for w in children(z)]
    descriptors = 0
    for pid in (daemon, *zygotes):
        with contextlib.suppress(OSError):
            descriptors += len(os.listdir(f"/proc/{pid}/fd"))
    return Sample(
        time.monotonic() - started,
        memory_bytes(daemon),
        sum(map(memory_bytes, zygotes)),
        sum(map(memory_bytes, workers)),
        descriptors,
        1 + len(zygotes) + len(workers),
    )


async def _kill(daemon: int, tally: Tally, pause: tuple[float, float]) -> None:
    chance = random.Random(1)
    while True:
        await asyncio.sleep(chance.uniform(*pause))
        workers = [w for z in children(daemon) for w in children(z)]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
                tally.kills += 1


async def _change(folder: pathlib.Path) -> None:
    """Replace one file whole, rewrite another in place, over and over."""
    number = 0
    while True:
        await asyncio.sleep(CHANGE_SECONDS)
        number += 1
        text = json.dumps({"n": number, "pad": "x" * (5000 + number % 7), "m": number})
        (folder / "moving.new").write_text(text)
        os.rename(folder / "moving.new", folder / "moving.json")
        side = folder / "trees/b/d1" / "f1.txt"
        side.write_text(f"{number}\n")


async def _sample(daemon: int, started: float, into: list[Sample]) -> None:
    while True:
        into.append(take(daemon, started))
        await asyncio.sleep(SAMPLE_SECONDS)


async def soak(
    path: str,
    folder: pathlib.Path,
    daemon: int,
    *,
    clients: int,
    seconds: float,
    pause: tuple[float, float] = KILL_SECONDS,
) -> tuple[Tally, list[Sample]]:
    """The load itself, against a running daemon."""
    tally, samples = Tally(), list[Sample]()
    started = time.monotonic()
    around = [
        asyncio.create_task(_kill(daemon, tally, pause)),
        asyncio.create_task(_change(folder)),
        asyncio.create_task(_sample(daemon, started, samples)),
    ]
    callers = [Caller(k, path, folder, tally) for k in range(clients)]
    outcomes = await asyncio.gather(
        *(c.run(started + seconds) for c in callers), return_exceptions=True
    )
    for caller, outcome in zip(callers, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            tally.fault(f"{caller.name} broke off: {outcome!r}")
    for task in around:
        task.cancel()
    await asyncio.gather(*around, return_exceptions=True)
    if tally.answered != tally.sent:
        tally.fault(f"{tally.sent} calls were sent and {tally.answered} answered")
    if tally.killed_calls > tally.kills:
        tally.fault(f"{tally.kills} kills, but {tally.killed_calls} calls lost their worker")
    return tally, samples


def flatness(samples: list[Sample]) -> tuple[list[str], list[str]]:
    """Lines that tell medians of the middle and last third; faults where something grew."""
    third = len(samples) // 3
    told, faults = [], []
    if third < 3:
        return ["too few samples to compare"], []
    for name in ("daemon", "zygote", "workers", "descriptors"):
        middle, last = (
            statistics.median(getattr(s, name) for s in part)
            for part in (samples[third : 2 * third], samples[2 * third :])
        )
        if name == "descriptors":
            told.append(f"{name}: {middle:.0f} in the middle third, {last:.0f} in the last")
            grew = last > middle + 8
        else:
            told.append(
                f"memory of {name}: {middle / 2**20:.1f} MiB in the middle third, "
                f"{last / 2**20:.1f} MiB in the last"
            )
            grew = last > middle * GROWTH_FACTOR + GROWTH_BYTES
        if grew:
            faults.append(f"{name} grew from {middle:.0f} to {last:.0f}")
    return told, faults


def _percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1e3


def report(tally: Tally, samples: list[Sample], seconds: float, clients: int) -> list[str]:
    """What is printed."""
    every = [value for values in tally.verbs.values() for value in values]
    codes = ", ".join(f"{code} {n}" for code, n in tally.codes.most_common())
    lines = [
        machine(),
        f"{clients} clients, {seconds:.0f} s: {tally.sent} calls ({tally.sent / seconds:.0f}/s), "
        f"{tally.answered} answered, {tally.left} hung up on",
        f"outcomes: {codes}",
        f"workers killed: {tally.kills}; calls that lost their worker: {tally.killed_calls}",
        f"writes: {tally.writes}, of which {tally.unsure} lost their worker; all whole"
        if not any("own-" in one for one in tally.faults)
        else "writes: NOT ALL WHOLE",
        f"latency seen by clients: p50 {_percentile(every, 0.5):.1f} ms, "
        f"p99 {_percentile(every, 0.99):.1f} ms, most {max(every) * 1e3:.0f} ms",
    ]
    for op, values in sorted(tally.verbs.items()):
        lines.append(
            f"  {op:15} {len(values):7} calls  p50 {_percentile(values, 0.5):7.1f} ms  "
            f"p99 {_percentile(values, 0.99):7.1f} ms"
        )
    told, grown = flatness(samples)
    return [*lines, *told, *(f"FAULT: {one}" for one in (*tally.faults, *grown))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--workers", type=int, default=max(2, os.cpu_count() or 2))
    parser.add_argument("--confine", choices=("require", "warn", "off"), default="warn")
    parser.add_argument("--out", help="samples and counts as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak") as top:
        folder = pathlib.Path(top) / "ws"
        folder.mkdir()
        prepare(folder, given.clients)
        run = pathlib.Path(top) / "run"
        run.mkdir(mode=0o700)
        path = str(run / "s")
        log = open(pathlib.Path(top) / "log", "wb")  # noqa: SIM115
        daemon = subprocess.Popen(
            [sys.executable, "-m", "toolbox", "serve", "--workspace", str(folder), "--socket", path,
             "--quiet", "--workers", str(given.workers), f"--confine={given.confine}"],
            stderr=log,
        )  # fmt: skip
        try:
            while not os.path.exists(path):
                time.sleep(0.02)
                if daemon.poll() is not None:
                    print("the daemon did not start", file=sys.stderr)
                    return 2
            tally, samples = asyncio.run(
                soak(path, folder, daemon.pid, clients=given.clients, seconds=given.minutes * 60)
            )
            daemon.send_signal(signal.SIGTERM)
            if (status := daemon.wait(60)) != 0:
                tally.fault(f"the daemon ended with {status}")
        finally:
            if daemon.poll() is None:
                daemon.kill()
                daemon.wait()
            log.close()
        events = collections.Counter(
            json.loads(line).get("event", "?") if line.startswith(b"{") else "text"
            for line in (pathlib.Path(top) / "log").read_bytes().splitlines()
        )
        if events["text"]:
            tally.fault(f"{events['text']} lines of the log are no log lines")
    lines = report(tally, samples, given.minutes * 60, given.clients)
    print("\n".join(lines))
    print("log events:", dict(events))
    if given.out:
        rows = {"lines": lines, "samples": [vars(s) for s in samples]}
        pathlib.Path(given.out).write_text(json.dumps(rows, indent=1))
    return 1 if any(line.startswith("FAULT") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
