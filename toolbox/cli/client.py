"""A verb's reply from the workspace's daemon where one runs, or from this process alone."""

from __future__ import annotations

import json
import os
import socket
import sys
from dataclasses import dataclass
from typing import Any, Final

from toolbox.dispatch import UNCAPPED, Call

CONNECT_SECONDS: Final = 1.0
_LEAD: Final = b'{"id":null,"index":0,'


@dataclass(frozen=True, slots=True)
class Shown:
    """What the command line needs of a reply."""

    ok: bool
    text: str
    envelope: bytes
    negative: bool


def connect(workspace: str, first_line: str) -> socket.socket | None:
    """A connection to the workspace's daemon, or None where none of this user's runs."""
    from sandbox import gate

    path = os.environ.get("TOOLBOX_SOCKET") or gate.default_socket_path(os.path.realpath(workspace))
    try:
        channel = gate.connect(path, CONNECT_SECONDS)
    except gate.GateError as exc:  # another user listens there: nothing is sent to it
        print(f"toolbox: {exc}", file=sys.stderr)
        return None
    except OSError:
        return None
    try:
        channel.settimeout(None)
        channel.sendall(first_line.encode())
    except OSError:
        channel.close()
        return None
    return channel


def read_line(channel: socket.socket) -> bytes:
    """One line from a daemon; empty where it went away."""
    parts = []
    while chunk := channel.recv(1 << 20):
        parts.append(chunk)
        if chunk.endswith(b"\n"):
            break
    return b"".join(parts)


def ask_daemon(workspace: str, call: Call) -> Shown | None:
    """The daemon's reply, or None where no daemon answers."""
    channel = connect(workspace, f"TOOLBOX/1 jsonl cap={UNCAPPED} name=cli\n")
    if channel is None:
        return None
    with channel:
        request = b'{"id":null,"name":"@%s","args":{"cmd":"%s","args":%s}}\n' % (
            call.tool.encode(),
            call.cmd.encode(),
            call.args,
        )
        try:
            channel.sendall(request)
            line = read_line(channel).rstrip(b"\n")
        except OSError:
            return None
    if not line:
        return None
    if line.startswith(_LEAD):
        line = b"{" + line[len(_LEAD) :]
    envelope: dict[str, Any] = json.loads(line)
    if envelope["ok"]:
        text = envelope["text"]
    else:
        error = envelope["error"]
        hint = error.get("hint")
        text = f"{error['code']}: {error['message']}" + (f"\nhint: {hint}" if hint else "")
    return Shown(envelope["ok"], text, line, bool(envelope["meta"].get("negative")))


def answer_alone(workspace: str, call: Call) -> Shown:
    """The reply made in this process: same resolver, same engines, no workers."""

    from sandbox.errors import SandboxError
    from sandbox.root import Root
    from toolbox.dispatch import failure, run
    from toolbox.store import DocumentStore
    from toolbox.worker import RECURSION_LEVELS

    sys.setrecursionlimit(RECURSION_LEVELS)
    try:
        root = Root.open(workspace)
    except SandboxError as exc:
        reply = failure(f"{call.tool}.{call.cmd}", exc)
    else:
        reply = run(call, root, DocumentStore(root, budget_bytes=0))
    return Shown(reply.ok, reply.text, reply.envelope(), reply.negative)
