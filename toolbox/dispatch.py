"""A call's way through: look up, check, run, cut, and map what went wrong to an error reply.

The only place that catches broadly: an internal fault logs its traceback under an id and replies
with that id.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sandbox.errors import SandboxError
from toolbox import limits
from toolbox.arguments import check
from toolbox.errors import BadCall, Internal, InvalidArg, ToolboxError
from toolbox.output import Reply, fit
from toolbox.registry import find
from toolbox.verb import Deadline

if TYPE_CHECKING:
    from sandbox.root import Root
    from toolbox.store import DocumentStore

RECURSION_LEVELS: Final = limits.NESTING_LEVELS * 3 + 500
"""Python's own limit, above the nesting limit of documents, so that ours is the one that speaks."""

UNCAPPED: Final = 0
"""A door's cap: output is whole unless the call says `max_bytes`."""


class Call(msgspec.Struct, frozen=True, array_like=True):
    """One call as it goes to a worker.

    args is the JSON text of the verb's arguments. cap_bytes: None for the verb's own cap, UNCAPPED
    for no cap, a number for a door that shows less.
    """

    tool: str
    cmd: str
    args: bytes
    cap_bytes: int | None = None
    seconds: float = limits.CALL_SECONDS
    notes: tuple[str, ...] = ()
    """What the reply must say of how the call was understood."""


class CallContext(msgspec.Struct, frozen=True):
    """What a verb may use besides its arguments (`toolbox.verb.Context`)."""

    root: Root
    documents: DocumentStore
    deadline: Deadline
    cap_bytes: int | None


def run(call: Call, root: Root, documents: DocumentStore) -> Reply:
    """The reply to one call; never raises for what a caller sent."""
    started = time.perf_counter()
    op = f"{call.tool.removeprefix('@')[:40]}.{call.cmd[:40]}"
    try:
        verb = find(call.tool, call.cmd or None)
        op = f"{verb.tool}.{verb.name}"
        checked = check(verb, decode_args(call.args))
        cap = _cap(verb.cap_bytes, call.cap_bytes, checked.max_bytes)
        context = CallContext(root, documents, Deadline.after(call.seconds), cap)
        answer = verb.run(checked.args, context)
        # A page that follows the verb's own max_bytes is not cut a second time.
        fitted = fit(answer, None if verb.own_max_bytes else cap, (*checked.notes, *call.notes))
    except Exception as exc:
        return failure(op, exc, started)
    return Reply(
        op=op,
        ok=True,
        text=fitted.text,
        result=fitted.result,
        truncated=fitted.truncated,
        hint=fitted.hint,
        negative=answer.negative,
        cached=answer.cached,
        elapsed_ms=(time.perf_counter() - started) * 1e3,
    )


def _cap(own: int, door: int | None, asked: int | None) -> int | None:
    if door == UNCAPPED:
        return asked
    if asked is not None:
        return min(own, asked)
    return own if door is None else min(own, door)


def decode_args(raw: bytes) -> dict[str, Any]:
    """The arguments as a dict, integers exact; InvalidArg for anything but an object."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        try:  # lone surrogate escapes, which the checker then names
            value = json.loads(raw)
        except (ValueError, RecursionError):
            raise BadCall(f"the arguments are not valid JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise InvalidArg(
            f"expected the arguments as an object, got {type(value).__name__}",
            hint='{"cmd": "get", "args": {"file": "resp.json", "path": "data"}}',
        )
    return value


def failure(op: str, exc: BaseException, started: float | None = None) -> Reply:
    """The error reply for an exception; what is not ours becomes E_INTERNAL with a log id."""
    if isinstance(exc, MemoryError):
        exc = ToolboxError(
            "the call needed more memory than a worker may use",
            hint="narrow the question: a deeper path, a smaller file, a lower limit",
        )
        code = "E_TOO_LARGE"
    elif isinstance(exc, ToolboxError | SandboxError):
        code = exc.code
    else:
        import logging
        import secrets

        ident = secrets.token_hex(4)
        log = logging.getLogger("toolbox.dispatch")
        log.error("internal fault %s in %s", ident, op, exc_info=exc)
        exc = Internal(
            f"a fault of the toolbox itself, logged as {ident}",
            hint="the daemon's log has the details; other calls are not affected",
        )
        code = exc.code
    message, hint = _plain(exc.message), _plain(exc.hint) if exc.hint else None
    error: dict[str, Any] = {"code": code, "message": message, "hint": hint}
    if exc.at is not None:
        error["at"] = exc.at
    return Reply(
        op=op,
        ok=False,
        text=f"{code}: {message}" + (f"\nhint: {hint}" if hint else ""),
        error=_encode_error(error),
        hint=hint,
        code=code,
        elapsed_ms=(time.perf_counter() - started) * 1e3 if started is not None else 0.0,
    )


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _encode_error(error: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(error)
    except (UnicodeEncodeError, TypeError, msgspec.MsgspecError):
        return json.dumps(error, ensure_ascii=False, default=str).encode("utf-8", "replace")
