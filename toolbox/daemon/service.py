"""The queue between doors and workers: fair between clients, bounded, routed by file.

A door makes a `Client`, and submits calls; each gets exactly one reply, whatever happens to the
worker that runs it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from sandbox.pool import GRACE_SECONDS, Pool, Worker, WorkerDied, WorkerTimedOut
from sandbox.zygote import Zygote, ZygoteDied
from toolbox import limits
from toolbox.daemon.telemetry import Log, Metrics
from toolbox.dispatch import Call, failure
from toolbox.errors import Busy, Cancelled, Internal, TimedOut, ToolboxError
from toolbox.output import Reply
from toolbox.registry import is_write
from toolbox.worker import REPLY_BYTES, Drop, Run, decode_reply, encode

ROUTES: Final = 4_096
"""Files whose worker is remembered; the least recently asked are forgotten first."""

RESPAWN_SECONDS: Final = (0.0, 0.05, 0.2, 1.0, 5.0)
"""Waits before a worker that does not start is tried again, the last one again and again."""


class _Route(msgspec.Struct, frozen=True):
    """What routing looks at; the rest of the arguments is skipped."""

    file: str = ""
    a: str = ""


_decode_route = msgspec.json.Decoder(_Route).decode


@dataclass(eq=False, slots=True)
class Client:
    """One caller: its waiting calls, in order."""

    name: str
    waiting: deque[_Job] = field(default_factory=deque)
    running: set[_Job] = field(default_factory=set)
    gone: bool = False


@dataclass(eq=False, slots=True)
class _Job:
    client: Client
    call: Call
    write: bool
    route: str
    future: asyncio.Future[Reply]
    submitted: float
    worker: Worker | None = None


class Service:
    """Submits calls to workers and keeps the workers alive."""

    def __init__(
        self,
        zygote: Zygote,
        *,
        workers: int,
        log: Log,
        waiting_limit: int = limits.WAITING_CALLS,
        client_limit: int = limits.WAITING_CALLS_CLIENT,
    ) -> None:
        self.metrics = Metrics()
        self.seconds = limits.CALL_SECONDS
        """The deadline that doors give their calls."""
        self.log = log
        self.size = workers
        self.layers: dict[str, Any] = {}
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._pool = Pool(zygote, REPLY_BYTES)
        self._waiting_limit = waiting_limit
        self._client_limit = client_limit
        self._readers: list[Worker] = []
        self._writer: Worker | None = None
        self._writer_starting = False
        self._ring: deque[Client] = deque()
        self._writes: deque[_Job] = deque()
        self._waiting = 0
        self._routes: OrderedDict[str, list[Worker]] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._jobs: set[_Job] = set()
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.on_route: Any = None

    # -- life ---------------------------------------------------------------------------------

    def start(self, *, recover: bool = False) -> None:
        """Have the read workers spawned; calls that come before they are up wait for them.

        recover: spawn the write worker too, which first rolls back what a crash left open.
        """
        for _ in range(self.size):
            self._background(self._keep_reader())
        if recover:
            self._writer_starting = True
            self._background(self._start_writer())

    async def _keep_reader(self) -> None:
        worker = await self._spawn("read")
        if worker is not None:
            self._readers.append(worker)
            self._pump()

    async def _spawn(self, role: str) -> Worker | None:
        for attempt in range(1_000_000):
            if self._stopping:
                return None
            try:
                worker = await self._pool.spawn(role, self._lost)
            except WorkerDied as exc:
                self.log("worker_failed", "error", role=role, reason=str(exc))
                wait = RESPAWN_SECONDS[min(attempt, len(RESPAWN_SECONDS) - 1)]
                await asyncio.sleep(wait)
                continue
            except ZygoteDied as exc:
                self._fail(str(exc))
                return None
            hello = msgspec.json.decode(worker.hello)
            if refused := hello.get("refused"):
                self._fail(refused)
                return None
            if role not in self.layers:
                self._tell_layers(role, hello.get("layers") or [])
            self.layers[role] = hello.get("layers")
            if any((hello.get("recovered") or {}).values()):
                self.log("recovered", "warning", **hello["recovered"])
            return worker
        return None

    def _tell_layers(self, role: str, layers: list[dict[str, Any]]) -> None:
        """One log line for the first worker of a role: what confines it, and what is missing."""
        missing = {x["name"]: x["why"] for x in layers if not x["holds"] and x["required"]}
        self.log(
            "confined",
            "warning" if missing else "info",
            role=role,
            holds=[x["name"] for x in layers if x["holds"]],
            missing=missing,
        )

    def _fail(self, reason: str) -> None:
        if not self.failed.done() and not self._stopping:
            self.failed.set_result(reason)

    def _lost(self, worker: Worker) -> None:
        for workers in self._routes.values():
            if worker in workers:
                workers.remove(worker)
        if self._stopping:
            return
        self.metrics.workers_replaced += 1
        self.log("worker_replaced", "warning", pid=worker.pid, calls=worker.calls)
        if worker is self._writer:
            self._writer = None
            self._pump()
        elif worker in self._readers:
            self._readers.remove(worker)
            self._background(self._keep_reader())

    def _background(self, coroutine: Any) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self, drain_seconds: float = limits.CALL_SECONDS + GRACE_SECONDS) -> None:
        """Answer what waits with E_CANCELLED, let running calls end, then end the workers."""
        self._stopping = True
        for client in list(self._ring):
            while client.waiting:
                self._refuse(client.waiting.popleft())
        while self._writes:
            self._refuse(self._writes.popleft())
        self._ring.clear()
        if self._jobs:
            self._idle.clear()
            try:
                await asyncio.wait_for(self._idle.wait(), drain_seconds)
            except TimeoutError:
                self.log("stop_forced", "warning", running=len(self._jobs))
        self._pool.close()

    def _refuse(self, job: _Job) -> None:
        self._waiting -= 1
        self._finish(
            job,
            failure(
                _op(job.call),
                Cancelled(
                    "the daemon is stopping; this call was not started",
                    hint="start the daemon again",
                ),
            ),
        )

    # -- calls --------------------------------------------------------------------------------

    def submit(self, client: Client, call: Call) -> asyncio.Future[Reply]:
        """A future with the call's one reply."""
        write = self.writes(call)
        job = _Job(
            client,
            call,
            write,
            "" if write else _route(call),
            self._loop.create_future(),
            time.perf_counter(),
        )
        problem: ToolboxError | None = None
        if self._stopping:
            problem = Cancelled("the daemon is stopping", hint="start the daemon again")
        elif self._waiting >= self._waiting_limit:
            problem = Busy(
                f"{self._waiting} calls are waiting, at most {self._waiting_limit}",
                hint="try again in a second",
                at={"retry_after_ms": 1000, "limit": self._waiting_limit},
            )
        elif len(client.waiting) >= self._client_limit:
            problem = Busy(
                f"{len(client.waiting)} calls of this client are waiting, at most "
                f"{self._client_limit}",
                hint="wait for replies before sending more, or try again in a second",
                at={"retry_after_ms": 1000, "limit": self._client_limit},
            )
        if problem is not None:
            self._jobs.add(job)
            self._finish(job, failure(_op(call), problem))
            return job.future
        self._waiting += 1
        if write:
            self._writes.append(job)
        else:
            if not client.waiting:
                self._ring.append(client)
            client.waiting.append(job)
        self._pump()
        return job.future

    def writes(self, call: Call) -> bool:
        """Whether a call changes the workspace."""
        if call.tool.removeprefix("@") != "diff":
            return False
        try:
            return is_write(call.tool, {"cmd": call.cmd, "args": msgspec.json.decode(call.args)})
        except (msgspec.DecodeError, RecursionError):
            return False

    def leave(self, client: Client) -> None:
        """A client went away: its waiting calls are dropped, its running reads are stopped."""
        client.gone = True
        while client.waiting:
            job = client.waiting.popleft()
            self._waiting -= 1
            self._finish(job, failure(_op(job.call), Cancelled("the client went away")))
        if client in self._ring:
            self._ring.remove(client)
        for job in list(client.running):
            if not job.write and job.worker is not None:
                job.worker.kill()

    def cancel(self, future: asyncio.Future[Reply]) -> None:
        """Stop one call: a waiting one is dropped, a running read loses its worker."""
        for job in list(self._jobs_of(future)):
            if job.worker is not None:
                if not job.write:
                    job.worker.kill()
            elif job in job.client.waiting:
                job.client.waiting.remove(job)
                if not job.client.waiting and job.client in self._ring:
                    self._ring.remove(job.client)
                self._waiting -= 1
                self._finish(job, failure(_op(job.call), Cancelled("the call was cancelled")))

    def _jobs_of(self, future: asyncio.Future[Reply]) -> list[_Job]:
        waiting = [j for c in self._ring for j in c.waiting if j.future is future]
        return waiting or [j for j in self._jobs if j.future is future]

    def _pump(self) -> None:
        while self._ring:
            worker, job = self._match()
            if worker is None or job is None:
                break
            self._start(worker, job)
        while self._writes:
            if self._writer is None:
                if not self._writer_starting:
                    self._writer_starting = True
                    self._background(self._start_writer())
                break
            if self._writer.busy:
                break
            self._start(self._writer, self._writes.popleft())

    async def _start_writer(self) -> None:
        try:
            self._writer = await self._spawn("write")
        finally:
            self._writer_starting = False
        self._pump()

    def _match(self) -> tuple[Worker | None, _Job | None]:
        """The next client's next call and the idle worker that suits it best."""
        idle = [w for w in self._readers if not w.busy and w.alive]
        if not idle:
            return None, None
        client = self._ring.popleft()
        job = client.waiting.popleft()
        if client.waiting:
            self._ring.append(client)
        if not job.route:
            # Spare the workers that keep documents: take the one asked least.
            return min(idle, key=lambda w: w.calls), job
        holders = self._routes.get(job.route)
        if holders is None:
            holders = self._routes[job.route] = []
            if len(self._routes) > ROUTES:
                self._routes.popitem(last=False)
            if self.on_route is not None:
                self.on_route(job.route)
        else:
            self._routes.move_to_end(job.route)
        for worker in holders:
            if worker in idle:
                return worker, job
        worker = min(idle, key=lambda w: w.calls)
        holders.append(worker)
        return worker, job

    def _start(self, worker: Worker, job: _Job) -> None:
        self._waiting -= 1
        job.worker = worker
        job.client.running.add(job)
        self._jobs.add(job)
        try:
            answer = worker.begin(encode(Run(job.call)), job.call.seconds)
        except WorkerDied as exc:
            answer = self._loop.create_future()
            answer.set_exception(exc)
        self._background(self._run(worker, job, answer))

    async def _run(self, worker: Worker, job: _Job, answer: asyncio.Future[bytes]) -> None:
        op = _op(job.call)
        try:
            frame = await worker.result(answer)
            reply = decode_reply.decode(frame)
        except WorkerTimedOut:
            reply = failure(
                op,
                TimedOut(
                    f"no answer within {job.call.seconds:g} s; its worker was killed and replaced, "
                    "other calls went on",
                    hint="narrow the question: a deeper path, a simpler pattern, a smaller file",
                ),
            )
        except WorkerDied:
            if job.client.gone:
                reply = failure(op, Cancelled("the client went away"))
            else:
                reply = failure(
                    op,
                    Internal(
                        "the worker of this call ended; it was replaced, other calls went on",
                        hint="ask again; if it ends again, narrow the question",
                    ),
                )
        except Exception as exc:
            reply = failure(op, exc)
        self._finish(job, reply)
        self._pump()

    def _finish(self, job: _Job, reply: Reply) -> None:
        job.client.running.discard(job)
        self._jobs.discard(job)
        if not self._jobs:
            self._idle.set()
        seconds = time.perf_counter() - job.submitted
        outcome = "ok" if reply.ok else reply.code
        size = len(reply.text) + len(reply.result)
        op = reply.op if reply.code not in ("E_UNKNOWN_TOOL", "E_UNKNOWN_VERB") else "unknown"
        self.metrics.observe(op, outcome, seconds, size, reply.cached)
        self.log(
            "call",
            client=job.client.name,
            op=reply.op,
            ms=round(seconds * 1e3, 3),
            bytes=size,
            outcome=outcome,
        )
        if not job.future.done():
            job.future.set_result(reply)

    # -- kept documents ------------------------------------------------------------------------

    def drop(self, paths: tuple[str, ...]) -> None:
        """Have workers forget these files and read again those that are in use."""
        frame = encode(Drop(paths))
        for worker in {w for p in paths for w in self._routes.get(p, ())}:
            worker.post(frame)

    def status(self) -> dict[str, Any]:
        """What `toolbox status` prints."""
        return {
            "pid": os.getpid(),
            "uptime_seconds": round(time.time() - self.metrics.started, 1),
            "workers": {
                "read": [{"pid": w.pid, "busy": w.busy, "calls": w.calls} for w in self._readers],
                "write": None if self._writer is None else {"pid": self._writer.pid},
                "replaced": self.metrics.workers_replaced,
            },
            "waiting": self._waiting,
            "running": len(self._jobs),
            "files_in_use": len(self._routes),
            "layers": self.layers,
            "verbs": self.metrics.summary(),
        }

    def gauges(self) -> dict[str, float]:
        """Values of now, for the Prometheus page."""
        return {
            "calls_waiting": self._waiting,
            "calls_running": len(self._jobs),
            "workers": len(self._readers) + (self._writer is not None),
            "uptime_seconds": time.time() - self.metrics.started,
        }


def _op(call: Call) -> str:
    return f"{call.tool.removeprefix('@')[:40]}.{call.cmd[:40]}"


def _route(call: Call) -> str:
    try:
        route = _decode_route(call.args)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return route.file or route.a
