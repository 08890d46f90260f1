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
from functools import partial
from itertools import chain
from typing import Any, Final

import msgspec

from sandbox.pool import GRACE_SECONDS, HELLO_SECONDS, Pool, Worker, WorkerDied, WorkerTimedOut
from sandbox.zygote import Zygote, ZygoteDied
from toolbox import limits
from toolbox.daemon.telemetry import Log, Metrics
from toolbox.dispatch import Call, failure
from toolbox.errors import BadCall, Busy, Cancelled, Internal, TimedOut, ToolboxError
from toolbox.output import Reply, size_bytes
from toolbox.registry import TOOLS, is_write
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
    """Its reads; writes wait in the one queue for all clients."""
    queued: int = 0
    """How many of its calls wait, writes too."""
    running: set[_Job] = field(default_factory=set)
    gone: bool = False
    blocked: bool = False
    """True while it does not read its replies: none of its waiting reads is started."""


@dataclass(eq=False, slots=True)
class _Job:
    client: Client
    call: Call
    write: bool
    route: str
    future: asyncio.Future[Reply]
    submitted: float
    worker: Worker | None = None
    cancelled: bool = False


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
        self._writer_starting: asyncio.Task[None] | None = None
        self._ring: deque[Client] = deque()
        self._blocked: set[Client] = set()
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
            self._replace_writer()

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
            self._replace_writer()  # at once: it rolls back what was left half done
        elif worker in self._readers:
            self._readers.remove(worker)
            self._background(self._keep_reader())

    def _background(self, coroutine: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def stop(self) -> None:
        """Answer what waits with E_CANCELLED, let running calls end, then end the workers."""
        self._stopping = True
        for client in (*self._ring, *self._blocked):
            while client.waiting:
                self._drop(client.waiting.popleft(), _stopping())
        while self._writes:
            self._drop(self._writes.popleft(), _stopping())
        self._ring.clear()
        if not await self._drained(self.seconds + GRACE_SECONDS):
            self.log("stop_forced", "warning", running=len(self._jobs))
        self._pool.close()
        await self._drained(GRACE_SECONDS)  # what still ran is answered by its worker's end

    async def _drained(self, seconds: float) -> bool:
        if self._jobs:
            self._idle.clear()
            try:
                await asyncio.wait_for(self._idle.wait(), seconds)
            except TimeoutError:
                return False
        return True

    def _drop(self, job: _Job, why: Cancelled) -> None:
        """Answer a call that waited and will not run."""
        self._unqueue(job)
        self._finish(job, failure(op_of(job.call), why))

    def _unqueue(self, job: _Job) -> None:
        self._waiting -= 1
        job.client.queued -= 1

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
            problem = _stopping()
        elif client.gone:
            problem = _gone()
        elif self._waiting >= self._waiting_limit:
            problem = Busy(
                f"{self._waiting} calls are waiting, at most {self._waiting_limit}",
                hint="try again in a second",
                at={"retry_after_ms": 1000, "limit": self._waiting_limit},
            )
        elif client.queued >= self._client_limit:
            problem = self.too_many(client.queued, self._client_limit)
        if problem is not None:
            self._finish(job, failure(op_of(call), problem))
            return job.future
        self._waiting += 1
        client.queued += 1
        if write:
            self._writes.append(job)
        else:
            if not client.waiting and not client.blocked:
                self._ring.append(client)
            client.waiting.append(job)
        self._pump()
        return job.future

    def has_room(self, client: Client) -> bool:
        """Whether one more call of this client would be queued and not refused as busy."""
        return client.queued < self._client_limit and self._waiting < self._waiting_limit

    @staticmethod
    def too_many(waiting: int, most: int) -> Busy:
        """The refusal for a client that has as many calls waiting as it may."""
        return Busy(
            f"{waiting} calls of this client are waiting, at most {most}",
            hint="wait for replies before sending more, or try again in a second",
            at={"retry_after_ms": 1000, "limit": most},
        )

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
            self._drop(client.waiting.popleft(), _gone())
        for job in [j for j in self._writes if j.client is client]:
            self._writes.remove(job)
            self._drop(job, _gone())
        self._blocked.discard(client)
        if client in self._ring:
            self._ring.remove(client)
        for job in list(client.running):
            if not job.write and job.worker is not None:
                job.worker.kill()

    def block(self, client: Client) -> None:
        """A client does not read its replies: start none of its waiting reads until it does."""
        client.blocked = True
        self._blocked.add(client)
        if client in self._ring:
            self._ring.remove(client)

    def unblock(self, client: Client) -> None:
        """A client reads its replies again."""
        if client in self._blocked:
            self._blocked.discard(client)
            client.blocked = False
            if client.waiting:
                self._ring.append(client)
            self._pump()

    def cancel(self, future: asyncio.Future[Reply]) -> None:
        """Stop one call: a waiting one is dropped, a running read loses its worker."""
        job = self._job_of(future)
        if job is None:
            return
        if job.worker is not None:
            if not job.write:
                job.cancelled = True
                job.worker.kill()
            return
        if job.write:
            self._writes.remove(job)
        else:
            job.client.waiting.remove(job)
            if not job.client.waiting and job.client in self._ring:
                self._ring.remove(job.client)
        self._drop(job, Cancelled("the call was cancelled before it was started"))

    def _job_of(self, future: asyncio.Future[Reply]) -> _Job | None:
        """The call of a future, where it has not ended."""
        waiting = (j for c in (*self._ring, *self._blocked) for j in c.waiting)
        jobs = chain(self._jobs, waiting, self._writes)
        return next((j for j in jobs if j.future is future), None)

    def _pump(self) -> None:
        while self._ring:
            worker, job = self._match()
            if worker is None or job is None:
                break
            self._start(worker, job)
        while self._writes:
            if self._writer is None:
                self._replace_writer()
                break
            if self._writer.busy or not self._writer.alive:
                break
            self._start(self._writer, self._writes.popleft())

    def _replace_writer(self) -> asyncio.Task[None]:
        """The task that brings up the write worker, which first rolls back open transactions."""
        if self._writer_starting is None:
            self._writer_starting = self._background(self._start_writer())
        return self._writer_starting

    async def _start_writer(self) -> None:
        try:
            self._writer = await self._spawn("write")
        finally:
            self._writer_starting = None
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
        self._unqueue(job)
        job.worker = worker
        job.client.running.add(job)
        self._jobs.add(job)
        try:
            answer = worker.begin(encode(Run(job.call)), job.call.seconds)
        except (WorkerDied, UnicodeEncodeError) as exc:
            answer = self._loop.create_future()
            answer.set_exception(exc)
        self._background(self._run(worker, job, answer))

    async def _run(self, worker: Worker, job: _Job, answer: asyncio.Future[bytes]) -> None:
        op = op_of(job.call)
        try:
            frame = await worker.result(answer)
            reply = decode_reply.decode(frame)
        except (WorkerTimedOut, WorkerDied) as exc:
            if job.write:
                await self._rolled_back(worker)
            reply = failure(op, _ended(job, isinstance(exc, WorkerTimedOut)))
        except UnicodeEncodeError:
            reply = failure(op, BadCall("invalid Unicode: a lone surrogate in the call"))
        except Exception as exc:
            reply = failure(op, exc)
        self._finish(job, reply)
        self._pump()

    async def _rolled_back(self, worker: Worker) -> None:
        """Wait for the write worker after this one, so that nobody sees a half done write."""
        if self._writer is worker:
            self._writer = None
        if self._writer is None and not self._stopping:
            await asyncio.wait({self._replace_writer()}, timeout=HELLO_SECONDS)

    def _finish(self, job: _Job, reply: Reply) -> None:
        job.client.running.discard(job)
        self._jobs.discard(job)
        if not self._jobs:
            self._idle.set()
        seconds = time.perf_counter() - job.submitted
        outcome = "ok" if reply.ok else reply.code
        size = size_bytes(reply.text) + len(reply.result)
        op = reply.op if reply.op in _OPS else "unknown"
        self.metrics.observe(op, outcome, seconds, size, reply.cached)
        if not job.future.done():
            job.future.set_result(reply)
        tell = partial(
            self.log,
            "call",
            client=job.client.name,
            op=reply.op,
            ms=round(seconds * 1e3, 3),
            bytes=size,
            outcome=outcome,
        )
        self._loop.call_soon(tell)  # behind what hands the reply out: nobody waits for a log line

    # -- kept documents ------------------------------------------------------------------------

    def drop(self, paths: tuple[str, ...]) -> None:
        """Have workers forget these files and read again those that are in use."""
        paths = tuple(p for p in paths if p in self._routes)
        frame = encode(Drop(paths))
        for worker in {w for p in paths for w in self._routes[p]}:
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


_OPS: Final = frozenset(f"{tool}.{name}" for tool, names in TOOLS.items() for name in names)
"""What metrics are kept for; other names are a caller's own words."""


def op_of(call: Call) -> str:
    """A call's name as replies and log lines have it."""
    op = f"{call.tool.removeprefix('@')[:40]}.{call.cmd[:40]}"
    return op.encode("utf-8", "backslashreplace").decode()


def _stopping() -> Cancelled:
    return Cancelled(
        "the daemon is stopping; this call was not started", hint="start the daemon again"
    )


def _gone() -> Cancelled:
    return Cancelled("the client went away; this call was not started")


def _ended(job: _Job, timed_out: bool) -> ToolboxError:
    """Why a call whose worker was killed or died has no answer of its own."""
    if job.client.gone or job.cancelled:
        return Cancelled("the call was cancelled while it ran; it changed nothing")
    hint = "ask again; if it ends again, narrow the question"
    if job.write:
        hint = "@diff history tells whether it was applied; a write that was half done is undone"
    elif timed_out:
        hint = "narrow the question: a deeper path, a simpler pattern, a smaller file"
    if timed_out:
        return TimedOut(
            f"no answer within {job.call.seconds:g} s; its worker was killed and replaced, "
            "other calls went on",
            hint=hint,
        )
    return Internal(
        "the worker of this call ended; it was replaced, other calls went on", hint=hint
    )


def _route(call: Call) -> str:
    try:
        route = _decode_route(call.args)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return route.file or route.a
