"""A worker gives up, for good and before its first request, what its role does not need.

`apply(...)` is called in a freshly forked process with one thread, after everything was imported:
a thread started before keeps its rights, and an import afterwards fails. What holds and what does
not comes back as `Layers`, which the daemon tells at start and in its status.

Not prevented: asking whether a path outside exists, its size, times, mode and where a link points
(neither Landlock nor a filter can judge `stat`); writing to standard error.
"""

from __future__ import annotations

import enum
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sandbox import landlock, privileges, seccomp
from sandbox.landlock import Mode
from sandbox.syscalls import architecture

if TYPE_CHECKING:
    from sandbox.survey import Survey

_STANDARD_STREAMS: Final = (0, 1)
_STANDARD_ERROR: Final = 2


class Confinement(enum.Enum):
    """What to do where a layer is missing: not start, start and say so, or confine nothing."""

    REQUIRE = "require"
    WARN = "warn"
    OFF = "off"


class ConfinementMissing(Exception):
    """Raised under `require` where a required layer does not hold: the worker must not serve."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One thing that was given up, or why not. required: whether `require` insists on it."""

    name: str
    holds: bool
    why: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Layers:
    """What confines one worker."""

    mode: Mode
    policy: Confinement
    layers: tuple[Layer, ...]

    def holds(self, name: str) -> bool:
        """Whether the layer of that name holds."""
        return any(layer.name == name and layer.holds for layer in self.layers)

    @property
    def missing(self) -> tuple[Layer, ...]:
        """The layers that do not hold."""
        return tuple(layer for layer in self.layers if not layer.holds)

    @property
    def missing_required(self) -> tuple[Layer, ...]:
        """Those of them that `require` insists on."""
        return tuple(layer for layer in self.missing if layer.required)

    def as_json(self) -> list[dict[str, Any]]:
        """One record a layer: `{name, holds, why, required}`."""
        return [
            {"name": x.name, "holds": x.holds, "why": x.why, "required": x.required}
            for x in self.layers
        ]


def apply(
    policy: Confinement,
    root_fd: int,
    mode: Mode,
    *,
    keep: Collection[int] | None = None,
    extra_read: Iterable[int] = (),
    memory_bytes: int | None = None,
    landlock_abi: Callable[[], int] = landlock.abi,
) -> Layers:
    """Confine this process as the policy says; what holds.

    root_fd: the workspace. keep: the descriptors that stay open, all others are closed (root_fd
    and standard error stay in any case, standard input and output lead nowhere unless kept); None
    closes none. Resource limits hold under every policy. Raises ConfinementMissing under `require`
    where a required layer does not hold; the process is then half confined and must end.
    """
    descriptors = _descriptors(keep, root_fd)
    if policy is Confinement.OFF:
        memory = privileges.set_limits(mode, memory_bytes)
        why = "switched off with --confine=off"
        off = tuple(Layer(name, False, why) for name in ("files", "calls", "capabilities"))
        return Layers(mode, policy, (*off, descriptors, _memory(memory)))
    layers = confine(
        root_fd,
        mode,
        extra_read,
        memory_bytes=memory_bytes,
        landlock_abi=landlock_abi,
        policy=policy,
        before=(descriptors,),
    )
    if policy is Confinement.REQUIRE and layers.missing_required:
        reasons = "; ".join(f"{layer.name}: {layer.why}" for layer in layers.missing_required)
        raise ConfinementMissing(
            f"expected every layer of confinement to hold for a {mode} worker, and these do not: "
            f"{reasons}. Start with --confine=warn to go on without them"
        )
    return layers


def confine(
    root_fd: int,
    mode: Mode,
    extra_read: Iterable[int] = (),
    *,
    memory_bytes: int | None = None,
    landlock_abi: Callable[[], int] = landlock.abi,
    policy: Confinement = Confinement.WARN,
    before: tuple[Layer, ...] = (),
) -> Layers:
    """Give up everything at once, as far as the kernel goes along; no error for what it lacks.

    The order matters: what needs a call that a later layer refuses comes first.
    """
    time.tzset()  # reads the zone's file, which is outside
    single = _single_thread()
    memory = privileges.set_limits(mode, memory_bytes)
    tracing = _try("tracing", privileges.forbid_tracing, "other processes cannot attach")
    orphan = _orphan()
    pledged = _try("no_new_privs", seccomp.set_no_new_privs, "nothing executed gains privileges")
    files, depth = _files(root_fd, mode, tuple(extra_read), landlock_abi)
    rights = _try(
        "capabilities",
        lambda: privileges.drop_capabilities(mode),
        "none kept but what the role needs",
    )
    calls = _calls(mode, landlocked=files.holds)
    return Layers(
        mode,
        policy,
        (
            files,
            calls,
            pledged,
            rights,
            single,
            *before,
            tracing,
            _memory(memory),
            depth,
            orphan,
        ),
    )


def _try(name: str, act: Callable[[], object], why: str, *, required: bool = True) -> Layer:
    try:
        act()
    except OSError as exc:
        return Layer(name, False, f"the kernel refused: {exc.strerror}", required)
    return Layer(name, True, why, required)


def _descriptors(keep: Collection[int] | None, root_fd: int) -> Layer:
    if keep is None:
        return Layer("descriptors", False, "not closed: the caller keeps all", required=False)
    privileges.silence(fd for fd in _STANDARD_STREAMS if fd not in keep)
    closed = privileges.close_descriptors({*keep, root_fd, *_STANDARD_STREAMS, _STANDARD_ERROR})
    why = "only the expected ones are open"
    if closed:
        why += f", {len(closed)} more were closed: {', '.join(map(str, closed))}"
    return Layer("descriptors", True, why)


def _memory(left: int) -> Layer:
    return Layer("memory", True, f"address space of {left // (1 << 20)} MiB, no core dumps")


def _orphan() -> Layer:
    if privileges.dies_with_parent():
        return Layer("parent", True, "killed when the process that forked it ends", required=False)
    return Layer("parent", False, "would outlive the process that forked it", required=False)


def _single_thread() -> Layer:
    count = privileges.thread_count()
    if count == 0:
        count, source = threading.active_count(), " (Python's only: no /proc)"
    else:
        source = ""
    if count == 1:
        return Layer("single_thread", True, f"no thread was started before{source}")
    return Layer(
        "single_thread", False, f"{count} threads ran before, and those keep their rights{source}"
    )


def _files(
    root_fd: int, mode: Mode, extra_read: tuple[int, ...], abi: Callable[[], int]
) -> tuple[Layer, Layer]:
    """The layers of Landlock: files, and what newer versions add."""
    try:
        version = abi()
        if version < 1:
            raise OSError(0, "with no version")
    except OSError as exc:
        why = landlock.why_missing(exc)
        return Layer("files", False, why), Layer("landlock_more", False, why, required=False)
    if version < landlock.ABI_REFER and mode == "write":
        why = (
            "Landlock version 1 refuses every move between folders, which undo needs; "
            "Linux 5.19 brought version 2"
        )
        return Layer("files", False, why), Layer("landlock_more", False, why, required=False)
    try:
        landlock.restrict(version, root_fd, mode, extra_read)
    except OSError as exc:
        why = f"the kernel refused: {exc.strerror}"
        return Layer("files", False, why), Layer("landlock_more", False, why, required=False)
    what = "reads" if mode == "read" else "reads and writes"
    held = f"{what} beneath the workspace only (Landlock version {version})"
    if version < landlock.ABI_TRUNCATE:
        # open() with O_RDONLY | O_TRUNC empties a file that may only be read; the filter refuses
        # the flag to read workers, but openat2's flags lie where no filter looks.
        files = Layer(
            "files",
            False,
            f"{held}, but this version does not hold back truncation; Linux 6.2 brought version 3",
        )
    else:
        files = Layer("files", True, held)
    return files, _depth(version)


def _depth(version: int) -> Layer:
    """What newer Landlock versions hold once more beside the filter."""
    lacks = [
        what
        for since, what in (
            (landlock.ABI_TCP, "TCP"),
            (landlock.ABI_IOCTL, "device commands"),
            (landlock.ABI_SCOPE, "abstract Unix sockets and signals"),
        )
        if version < since
    ]
    if lacks:
        why = f"version {version} leaves {', '.join(lacks)} to the filter of system calls alone"
        return Layer("landlock_more", False, why, required=False)
    why = "TCP, device commands, abstract Unix sockets and signals, beside the filter"
    return Layer("landlock_more", True, why, required=False)


def _calls(mode: Mode, *, landlocked: bool) -> Layer:
    machine = architecture()
    if machine is None:
        name = os.uname().machine
        return Layer("calls", False, f"no filter for {name}: only x86-64 and arm64 have tables")
    code = seccomp.program(machine, mode, pid=os.getpid(), landlocked=landlocked)
    why = "sockets, programs, other processes and changes by path refused"
    if not landlocked and mode == "read":
        why += "; opens for writing too, openat2 with them"
    return _try("calls", lambda: seccomp.install(code), f"{why} ({machine.name})")


def survey() -> Survey:
    """What would hold on this machine, tried for real in a forked child for each role."""
    from sandbox.survey import survey as look

    return look()


def doctor() -> list[str]:
    """The same in lines for people."""
    from sandbox.survey import lines

    return lines(survey())
