"""A verb's reply from the workspace's daemon where one runs, or from this process alone.

What is asked of a daemon needs no record and no engine: only the modules that a call alone needs
are imported late.
"""

from __future__ import annotations

import json
import os
import sys
from json.decoder import scanstring  # type: ignore[attr-defined]

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    import socket
    from typing import Any, Final

CONNECT_SECONDS: Final = 1.0

REQUEST_BYTES: Final = 16 * 1024 * 1024
"""A daemon refuses a larger message: such a call is answered alone."""

ALONE_SECONDS: Final = 60.0
"""The deadline of a call answered without a daemon: a person can interrupt it."""

_LEAD: Final = b'{"id":null,"index":0,'
_TEXT: Final = b',"text":"'


class Shown:
    """What the command line needs of a reply.

    negative: the verb's own «no». error: code, message, hint and place of a failed call.
    """

    __slots__ = ("envelope", "error", "negative", "ok", "text")

    def __init__(self, envelope: bytes) -> None:
        self.envelope = envelope
        self.error: dict[str, Any] = {}
        self.ok = envelope.startswith(b'{"ok":true')
        self.text = ""
        if self.ok:
            # Nothing after the text holds an unescaped quote before a name: no need to read a
            # result of many megabytes to find it.
            at = envelope.rindex(_TEXT) + len(_TEXT)
            rest = envelope[at:].decode("utf-8", "surrogatepass")
            self.text = scanstring(rest, 0)[0]
            self.negative = '"negative":true' in rest[rest.rindex('"meta":{') :]
        else:
            self.error = json.loads(envelope)["error"]
            self.negative = False


def connect(workspace: str, first_line: str) -> socket.socket | None:
    """A connection to the workspace's daemon, or None where none of this user's runs."""
    from sandbox import dial

    path = os.environ.get("TOOLBOX_SOCKET") or dial.default_socket_path(os.path.realpath(workspace))
    try:
        channel = dial.connect(path, CONNECT_SECONDS)
    except dial.GateError as exc:  # another user listens there: nothing is sent to it
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
    """One line from a daemon; what came, without a newline, where it went away."""
    parts = []
    while chunk := channel.recv(1 << 20):
        parts.append(chunk)
        if chunk.endswith(b"\n"):
            break
    return b"".join(parts)


def ask(workspace: str, tool: str, verb: str, args: bytes, *, alone: bool = False) -> Shown:
    """The reply to one call. args: the arguments' JSON text."""
    envelope = None
    if not alone:
        envelope = ask_daemon(workspace, tool, verb, args)
    return Shown(envelope or answer_alone(workspace, tool, verb, args))


def ask_daemon(workspace: str, tool: str, verb: str, args: bytes) -> bytes | None:
    """The daemon's envelope, or None where no daemon answers.

    A daemon that goes away before it has answered a call that writes leaves it open whether it
    wrote: that is an error, not a second try.
    """
    request = b'{"id":null,"name":"@%s","args":{"cmd":"%s","args":%s}}\n' % (
        tool.encode(),
        verb.encode(),
        args,
    )
    if len(request) > REQUEST_BYTES:
        return None
    channel = connect(workspace, "TOOLBOX/1 jsonl cap=0 name=cli\n")
    if channel is None:
        return None
    with channel:
        try:
            channel.sendall(request)
            line = read_line(channel)
        except OSError:
            line = b""
    if not line.endswith(b"\n"):
        if b'"dry_run":false' in args:
            return _went_away(tool, verb)
        return None
    line = line[:-1]
    return b"{" + line[len(_LEAD) :] if line.startswith(_LEAD) else line


def _went_away(tool: str, verb: str) -> bytes:
    error = {
        "code": "E_CANCELLED",
        "message": "the daemon went away before it answered; it may have written",
        "hint": "toolbox diff history tells what was written",
    }
    envelope = {"ok": False, "op": f"{tool}.{verb}", "api": 1, "error": error}
    return json.dumps({**envelope, "meta": {}}, separators=(",", ":")).encode()


def answer_alone(workspace: str, tool: str, verb: str, args: bytes) -> bytes:
    """The envelope made in this process: same resolver, same engines, no workers."""
    from sandbox.errors import SandboxError
    from sandbox.root import Root
    from toolbox.dispatch import RECURSION_LEVELS, UNCAPPED, Call, failure, run
    from toolbox.store import DocumentStore

    sys.setrecursionlimit(RECURSION_LEVELS)
    call = Call(tool, verb, args, UNCAPPED, ALONE_SECONDS)
    try:
        root = Root.open(workspace)
    except SandboxError as exc:
        return failure(f"{tool}.{verb}", exc).envelope()
    return run(call, root, DocumentStore(root, budget_bytes=0)).envelope()
