"""What confinement this machine offers, found by confining a child and trying to get out."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from typing import Any, Final

from sandbox import landlock
from sandbox.confine import Confinement, Layer, Layers, confine
from sandbox.landlock import Mode
from sandbox.syscalls import architecture

_TRIAL_ROOT: Final = "/dev"  # there on every system, and small
_OUTSIDE: Final = "/"
_REPORT_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Trial:
    """One role, tried. escapes: the attempts that went through although a layer should hold."""

    layers: Layers
    escapes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """The machine and both roles. landlock: the version, or the reason why there is none."""

    kernel: str
    machine: str
    uid: int
    landlock: str
    trials: tuple[Trial, ...]

    @property
    def complete(self) -> bool:
        """Whether `--confine=require` would start here."""
        return not any(t.escapes or t.layers.missing_required for t in self.trials)

    def as_json(self) -> dict[str, Any]:
        """`{kernel, machine, uid, landlock, complete, roles: {read: {layers, escapes}, write}}`"""
        return {
            "kernel": self.kernel,
            "machine": self.machine,
            "uid": self.uid,
            "landlock": self.landlock,
            "complete": self.complete,
            "roles": {
                t.layers.mode: {"layers": t.layers.as_json(), "escapes": list(t.escapes)}
                for t in self.trials
            },
        }


def survey() -> Survey:
    """Try both roles, each in a forked child that ends at once."""
    try:
        version = f"version {landlock.abi()}"
    except OSError as exc:
        version = landlock.why_missing(exc)
    machine = architecture()
    return Survey(
        kernel=os.uname().release,
        machine=machine.name if machine else os.uname().machine,
        uid=os.geteuid(),
        landlock=version,
        trials=(_try("read"), _try("write")),
    )


def _try(mode: Mode) -> Trial:
    root_fd = os.open(_TRIAL_ROOT, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(sink, json.dumps(_confine_and_attack(root_fd, mode)).encode())
        finally:
            os._exit(0)
    os.close(sink)
    os.close(root_fd)
    with os.fdopen(source, "rb") as report:
        data = report.read(_REPORT_BYTES)
    os.waitpid(pid, 0)
    if not data:
        lost = Layer("trial", False, "the child that tried it ended early")
        return Trial(Layers(mode, Confinement.WARN, (lost,)), ())
    found = json.loads(data)
    layers = tuple(Layer(**layer) for layer in found["layers"])
    return Trial(Layers(mode, Confinement.WARN, layers), tuple(found["escapes"]))


def _confine_and_attack(root_fd: int, mode: Mode) -> dict[str, Any]:
    layers = confine(root_fd, mode)
    escapes = []
    if layers.holds("files"):
        for way, dir_fd in ((_OUTSIDE, None), ("..", root_fd)):
            try:
                os.open(way, os.O_RDONLY | os.O_DIRECTORY, dir_fd=dir_fd)
                escapes.append("opened a folder outside")
            except OSError:
                pass
    if layers.holds("calls"):
        try:
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            escapes.append("made a UDP socket")
        except OSError:
            pass
    # The parent line would only tell of this child, which nobody's end kills.
    kept = [layer for layer in layers.as_json() if layer["name"] not in ("parent", "descriptors")]
    return {"layers": kept, "escapes": escapes}


def lines(found: Survey) -> list[str]:
    """The survey for people: what was tried, layer by layer, and the verdict."""
    who = "root" if found.uid == 0 else f"uid {found.uid}"
    out = [
        f"kernel     Linux {found.kernel}, {found.machine}, {who}",
        f"landlock   {found.landlock}",
    ]
    for trial in found.trials:
        out.append(f"{trial.layers.mode} worker:")
        for layer in trial.layers.layers:
            mark = "holds  " if layer.holds else "MISSING" if layer.required else "not    "
            out.append(f"  {mark} {layer.name:13} {layer.why}")
        out += [f"  ESCAPED although the layer says it holds: {way}" for way in trial.escapes]
    if found.complete:
        out.append("verdict    every required layer holds: --confine=require starts here")
    else:
        out.append(
            "verdict    --confine=require would refuse to start here; --confine=warn (the default) "
            "starts and says what is missing"
        )
    return out
