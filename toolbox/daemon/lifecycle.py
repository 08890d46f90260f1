"""A daemon from start to stop: fork the workers' parent first, then open the doors, then drain.

Order matters: the process that workers are forked from must be forked while this one has a single
thread, and it imports the engines while this one imports its doors.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from sandbox.zygote import Zygote
from toolbox import limits

if TYPE_CHECKING:
    from sandbox.root import Root

Framing = Literal["tags", "jsonl"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What `toolbox serve` was asked for."""

    workspace: str
    stdio: bool = False
    framing: Framing = "tags"
    socket_path: str | None = None
    """Where the Unix socket goes; empty for the workspace's usual place, None for no socket."""
    handed_fds: tuple[int, ...] = ()
    """Descriptors of a socket that a service manager already listens on; it is used instead."""
    http: tuple[str, int] | None = None
    token_file: str | None = None
    no_token: bool = False
    workers: int = field(default_factory=lambda: max(2, os.cpu_count() or 2))
    seconds: float = limits.CALL_SECONDS
    kept_bytes: int = limits.KEPT_DOCUMENT_BYTES
    confine: str = "warn"
    cross_mounts: bool = False
    idle_seconds: float | None = None
    """How long after the last client of the socket the daemon ends; None for never."""
    warm_mcp: bool = False
    quiet: bool = False
    """Whether calls are left out of the log."""
    memory_bytes: int | None = None
    """Address space of one worker; None for the default of `sandbox.confine`."""


def fork_zygote(settings: Settings, root: Root) -> Zygote:
    """Fork the process that workers come from. Call it before any thread or loop exists."""

    def main(role: str, channel: socket.socket) -> None:
        from sandbox import confine
        from sandbox.errors import SandboxError
        from sandbox.frames import send_frame
        from toolbox.worker import encode_hello, serve

        try:
            layers = confine.apply(
                confine.Confinement(settings.confine),
                root.fd,
                "write" if role == "write" else "read",
                keep=(channel.fileno(), root.fd, 2),
                memory_bytes=settings.memory_bytes,
            )
        except confine.ConfinementMissing as exc:
            send_frame(channel, encode_hello(refused=str(exc)))
            return
        recovered = None
        if role == "write":
            from sandbox.transaction import recover

            try:
                recovered = recover(root).as_json()
            except SandboxError as exc:  # the next write meets the same, and says it to its caller
                recovered = {"failed": exc.message}
        send_frame(channel, encode_hello(layers=layers.as_json(), recovered=recovered))
        serve(channel, root, settings.kept_bytes // settings.workers)

    def preload() -> None:
        for fd in settings.handed_fds:
            os.close(fd)
        import sandbox.confine
        import sandbox.frames  # noqa: F401
        from toolbox.worker import preload as import_engines

        import_engines()

    return Zygote.start(preload, main)


def serve(settings: Settings) -> int:
    """Run the daemon until it is stopped; the exit status."""
    from sandbox import gate
    from sandbox.root import Root

    try:
        settings = replace(settings, handed_fds=gate.handed_over())
    except gate.GateError as exc:
        print(f"toolbox: serve: {exc}", file=sys.stderr)
        return 2
    _fill_standard_streams()
    root = Root.open(settings.workspace, cross_mounts=settings.cross_mounts)
    zygote = fork_zygote(settings, root)

    import asyncio

    from toolbox.daemon.runtime import Daemon

    async def run() -> int:
        daemon = Daemon(settings, root, zygote)
        return await daemon.run()

    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return 130


def _fill_standard_streams() -> None:
    """Open what we were started without, so that no other file takes the numbers 0 to 2."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def standard_streams() -> tuple[int, int]:
    """Descriptors of our own for standard input and output; 1 then points at standard error, so
    that a stray print can never stand between two replies."""
    ours_in, ours_out = os.dup(0), os.dup(1)
    sys.stdout.flush()
    os.dup2(2, 1)
    return ours_in, ours_out
