"""One caller on a stream: bytes in, calls run in order around writes, replies out.

`Session` knows no transport; `StreamDoor` puts one on a socket or a pipe.
"""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import msgspec
import orjson

from toolbox import limits
from toolbox.daemon.service import Client, Service, op_of
from toolbox.dispatch import Call, failure
from toolbox.errors import BadCall, TooLarge
from toolbox.output import Reply
from toolbox.registry import TOOLS, is_write
from toolbox.wire import jsonl, tags

Framing = Literal["tags", "jsonl"]

PIECE: Final = 32 * 1024
"""How much of a message is parsed before it is looked at whether to go on."""

PREAMBLE: Final = b"TOOLBOX/1 "
"""A client on the socket may choose its framing with a first line: `TOOLBOX/1 jsonl cap=0`."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A call that its stream's order does not let start yet."""

    call: Call
    write: bool
    patient: bool
    future: asyncio.Future[Reply]


class Order:
    """The rule of a stream: calls before a write end before it starts, calls after it wait."""

    def __init__(self, service: Service, client: Client) -> None:
        self._service = service
        self._client = client
        self._running: set[asyncio.Future[Reply]] = set()
        self._held: deque[_Held] = deque()
        self._writing = False

    def submit(self, call: Call, *, patient: bool) -> asyncio.Future[Reply]:
        """A future with the call's reply; it starts as soon as the order allows.

        patient: the call is one of a message's many, which all run: where its client has as many
        waiting as it may, it is held back until there is room, and not refused as busy.
        """
        write = self._service.writes(call)
        if not self._held and self._may_start(write, patient):
            return self._start(call, write)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        most = limits.WAITING_CALLS if patient else limits.WAITING_CALLS_CLIENT
        if len(self._held) >= most:
            future.set_result(failure(op_of(call), self._service.too_many(len(self._held), most)))
        else:
            self._held.append(_Held(call, write, patient, future))
        return future

    def _may_start(self, write: bool, patient: bool) -> bool:
        if self._writing or (write and self._running):
            return False
        return not (patient and self._running and not self._service.has_room(self._client))

    def _start(self, call: Call, write: bool) -> asyncio.Future[Reply]:
        future = self._service.submit(self._client, call)
        self._writing = write
        if not future.done():
            self._running.add(future)
            future.add_done_callback(self._ended)
        else:
            self._writing = False
        return future

    def _ended(self, future: asyncio.Future[Reply]) -> None:
        self._running.discard(future)
        if not self._running:
            self._writing = False
        while self._held and self._may_start(self._held[0].write, self._held[0].patient):
            held = self._held.popleft()
            inner = self._start(held.call, held.write)
            if inner.done():
                _copy(inner, held.future)
            else:
                inner.add_done_callback(partial(_copy, to=held.future))


def _copy(done: asyncio.Future[Reply], to: asyncio.Future[Reply]) -> None:
    if not to.done():
        to.set_result(done.result())


class Session:
    """Calls of one stream and their replies."""

    def __init__(
        self,
        service: Service,
        client: Client,
        framing: Framing,
        write: Callable[[bytes], None],
        *,
        cap_bytes: int | None = None,
        seconds: float = limits.CALL_SECONDS,
    ) -> None:
        self._service = service
        self._client = client
        self._write = write
        self._cap = cap_bytes
        self._seconds = seconds
        self._open = 0
        self._ended = False
        self.done = asyncio.get_running_loop().create_future()
        """Set when the input has ended and every call has its reply."""
        self._feed = self._feed_jsonl if framing == "jsonl" else self._feed_tags
        self._framing = framing
        self._buffer = bytearray()
        self._discarding = False
        self._message: TagMessage | None = None
        self._speaking: deque[TagMessage] = deque()
        """Messages in tags whose replies are not all out, the oldest first."""
        self._order = Order(service, client)

    def feed(self, data: bytes) -> None:
        """Take what has come; calls in it start at once."""
        self._feed(data)

    def end(self) -> None:
        """The input has ended: what is left is a whole message."""
        if self._framing == "jsonl":
            if self._buffer and not self._discarding:
                line, self._buffer = bytes(self._buffer), bytearray()
                self._line(line)
        elif self._message is not None:
            self._message.finish(terminated=False)
            self._message = None
        self._ended = True
        self._settle()

    def _settle(self) -> None:
        if self._ended and self._open == 0 and not self.done.done():
            self.done.set_result(None)

    @property
    def idle(self) -> bool:
        """Whether every call so far has its reply."""
        return self._open == 0

    def _closed(self) -> None:
        self._open -= 1
        self._settle()

    # -- jsonl ---------------------------------------------------------------------------------

    def _feed_jsonl(self, data: bytes) -> None:
        buffer = self._buffer
        if not buffer and not self._discarding and data.endswith(b"\n") and data.count(b"\n") == 1:
            self._line(data)  # one whole line, the usual case
            return
        searched = len(buffer)
        buffer += data
        start = 0
        while (end := buffer.find(b"\n", max(searched, start))) >= 0:
            line = bytes(memoryview(buffer)[start : end + 1])
            start = end + 1
            if self._discarding:
                self._discarding = False
            else:
                self._line(line)
        del buffer[:start]
        if len(buffer) > limits.MESSAGE_BYTES:
            buffer.clear()
            if not self._discarding:
                self._discarding = True
                self._emit_jsonl(None, 0, failure("message", _too_large()))

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        if len(line) > limits.MESSAGE_BYTES + 1:
            self._emit_jsonl(None, 0, failure("message", _too_large()))
            return
        item = jsonl.decode(line)
        match item:
            case jsonl.Direct():
                call = Call(item.name, item.cmd, item.args, self._cap, self._seconds)
                self._open += 1
                future = self._order.submit(call, patient=False)
                ident = item.id
                if future.done():
                    self._reply_jsonl(ident, 0, future)
                else:
                    future.add_done_callback(lambda f: self._reply_jsonl(ident, 0, f))
            case jsonl.Message():
                self._text_message(item)
            case jsonl.Bad():
                self._emit_jsonl(
                    item.id, 0, failure(item.op, BadCall(item.message, hint=item.hint, at=item.at))
                )

    def _text_message(self, item: jsonl.Message) -> None:
        ident = item.id
        message = TagMessage(
            self,
            self._order,
            lambda message, index, call, reply: self._emit_jsonl(ident, index, reply),
            in_order=False,
            closing=lambda m: self._close_jsonl(ident, m),
        )
        message.feed(item.message)
        message.finish(terminated=True)

    def _close_jsonl(self, ident: bytes | None, message: TagMessage) -> None:
        if not message.skipped and message.calls:
            return
        text = message.closing_text()
        result = {"calls": message.calls, "skipped": [{"reason": r} for r in message.skipped]}
        self._emit_jsonl(
            ident,
            message.calls,
            Reply(op="message", ok=True, text=text, result=orjson.dumps(result)),
        )

    def _reply_jsonl(self, ident: bytes | None, index: int, future: asyncio.Future[Reply]) -> None:
        self._emit_jsonl(ident, index, future.result())
        self._closed()

    def _emit_jsonl(self, ident: bytes | None, index: int, reply: Reply) -> None:
        lead = b'"id":%s,"index":%d,' % (ident if ident is not None else b"null", index)
        self._write(reply.envelope(lead) + b"\n")

    # -- tags ----------------------------------------------------------------------------------

    def _feed_tags(self, data: bytes) -> None:
        *whole, rest = data.split(b"\0")
        for part in whole:
            message = self._message or self._begin_tags()
            message.feed(part)
            message.finish(terminated=True)
            self._message = None
        if rest:
            if self._message is None:
                self._message = self._begin_tags()
            self._message.feed(rest)

    def _begin_tags(self) -> TagMessage:
        message = TagMessage(
            self, self._order, self._emit_tags, in_order=True, closing=self._close_tags
        )
        self._speaking.append(message)
        return message

    def _emit_tags(
        self, message: TagMessage, index: int, call: tags.Call | tags.Bad, reply: Reply
    ) -> None:
        self._say(message, tagged(call, reply))

    def _say(self, message: TagMessage, data: bytes) -> None:
        """Write for a message, or keep it while an older one still has replies to come."""
        if message is self._speaking[0]:
            self._write(data)
        else:
            message.unsaid.append(data)

    def _close_tags(self, message: TagMessage) -> None:
        out = b""
        if message.skipped or not message.calls:
            out = tags.format_note(message.closing_text(), message.skipped)
        if message.terminated:
            out += b"\0"
        if out:
            self._say(message, out)
        message.closed = True
        while self._speaking and self._speaking[0].closed:
            self._speaking.popleft()
            if self._speaking and self._speaking[0].unsaid:
                self._write(b"".join(self._speaking[0].unsaid))
                self._speaking[0].unsaid.clear()


def tagged(call: tags.Call | tags.Bad, reply: Reply) -> bytes:
    """A reply as a tagged block."""
    if isinstance(call, tags.Call):
        name, cmd = call.name, call.cmd
    else:
        name, cmd = call.name or "", None
    return tags.format_result(
        name=name, cmd=cmd, id=call.id, ok=reply.ok, text=reply.text, truncated=reply.truncated
    )


def tool_table() -> dict[str, tuple[str, ...]]:
    """Tools and verbs as the tag parser wants them."""
    return dict(TOOLS)


def worker_call(call: tags.Call, cap_bytes: int | None, seconds: float) -> Call:
    """A parsed tag as the call that a worker runs."""
    return Call(call.name, call.cmd or "", call.args_json, cap_bytes, seconds, call.notes)


class TagMessage:
    """One message's calls: run as they are parsed, replies given in call order or as they end."""

    def __init__(
        self,
        session: Session,
        order: Order,
        emit: Callable[[TagMessage, int, Any, Reply], None],
        *,
        in_order: bool,
        closing: Callable[[TagMessage], None],
    ) -> None:
        self._session = session
        self._order = order
        self._emit = emit
        self._in_order = in_order
        self._closing = closing
        self._parser = tags.TagParser(tool_table(), is_write, limits.MESSAGE_BYTES)
        self._replies: dict[int, tuple[Any, Reply]] = {}
        self._next = 0
        self.calls = 0
        self.skipped: list[str] = []
        self.terminated = False
        self.closed = False
        self.unsaid: list[bytes] = []
        """What it has to say while an older message of the stream still speaks."""
        self._finished = False
        self._refused = 0
        session._open += 1

    def feed(self, data: bytes | str) -> None:
        for start in range(0, len(data), PIECE):
            if self._refused > limits.REFUSED_TAGS:
                return
            self._take(self._parser.feed(data[start : start + PIECE]))

    def finish(self, *, terminated: bool) -> None:
        self.terminated = terminated
        if self._refused > limits.REFUSED_TAGS:
            self._take(
                [
                    tags.Bad(
                        "too_large",
                        (
                            f"more than {limits.REFUSED_TAGS} tags of this message could not be "
                            "understood; the rest of it was not read"
                        ),
                        "send calls in the right form, fewer in a message",
                    )
                ]
            )
        else:
            self._take(self._parser.finish())
        self._finished = True
        self._settle()

    def closing_text(self) -> str:
        """What was not run and why; what to do where there was no call at all."""
        if self.skipped:
            return (
                f"{len(self.skipped)} tag(s) were not run, because they stand inside "
                f"{', '.join(sorted({_WHERE.get(r, r) for r in self.skipped}))}; a call that is "
                "meant to run stands outside of those"
            )
        return (
            'no call in this message; a call is <tool_call name="@json" '
            'args=\'{"cmd":"get","args":{"file":"resp.json","path":"data"}}\' />'
        )

    def _take(self, items: list[Any]) -> None:
        for item in items:
            if isinstance(item, tags.Skipped):
                self.skipped.append(item.reason)
                continue
            index = self.calls
            self.calls += 1
            if isinstance(item, tags.Bad):
                self._refused += 1
                self._replied(index, item, failure(_bad_op(item), item.error()))
                continue
            call = worker_call(item, self._session._cap, self._session._seconds)
            future = self._order.submit(call, patient=True)
            if future.done():
                self._replied(index, item, future.result())
            else:
                future.add_done_callback(
                    lambda f, k=index, c=item: self._replied(k, c, f.result())  # type: ignore[misc]
                )

    def _replied(self, index: int, item: Any, reply: Reply) -> None:
        if not self._in_order:
            self._emit(self, index, item, reply)
            self._next += 1
        else:
            self._replies[index] = (item, reply)
            while self._next in self._replies:
                done, text = self._replies.pop(self._next)
                self._emit(self, self._next, done, text)
                self._next += 1
        self._settle()

    def _settle(self) -> None:
        if self._finished and self._next == self.calls:
            self._finished = False
            self._closing(self)
            self._session._closed()


_WHERE: Final = {
    "code": "Markdown code",
    "thinking": "a thinking block",
    "comment": "an HTML comment",
    "echo": "an echoed tool result",
}


def _bad_op(item: tags.Bad) -> str:
    return item.name.removeprefix("@")[:40] if item.name else "message"


def _too_large() -> TooLarge:
    return TooLarge(
        f"the message is larger than {limits.MESSAGE_BYTES} bytes",
        hint="save large text to a file in the workspace and name the file",
    )


class StreamDoor(asyncio.Protocol):
    """A session on a socket connection, with the optional first line that chooses its framing."""

    def __init__(
        self, service: Service, name: str, framing: Framing, takeover: Callable[..., bool]
    ) -> None:
        self._service = service
        self._client = Client(name)
        self._framing: Framing = framing
        self._takeover = takeover
        self._session: Session | None = None
        self._transport: asyncio.Transport | None = None
        self._head = b""

    @property
    def settled(self) -> bool:
        """Whether every reply is out of our hands."""
        if self._transport is None or self._transport.is_closing():
            return True
        quiet = self._session is None or self._session.idle
        return quiet and not self._transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._session is not None:
            self._session.feed(data)
            return
        self._head += data
        if len(self._head) < len(PREAMBLE) and PREAMBLE.startswith(self._head):
            return
        cap: int | None = None
        rest = self._head
        if self._head.startswith(PREAMBLE):
            line, newline, rest = self._head.partition(b"\n")
            if not newline:
                if len(self._head) > 1024:
                    self._refuse("the first line is longer than 1 024 bytes")
                return
            words = line.decode("ascii", "replace").split()
            options = dict(w.partition("=")[::2] for w in words[2:])
            kind = words[1] if len(words) > 1 else ""
            if name := options.get("name"):
                self._client.name = name[:40]
            if options.get("cap", "").isdigit():
                cap = int(options["cap"])
            if kind not in ("tags", "jsonl"):
                assert self._transport is not None
                if not self._takeover(kind, options, self._transport, rest):
                    self._refuse(f"unknown framing {kind!r}")
                return
            self._framing = "jsonl" if kind == "jsonl" else "tags"
        self._head = b""
        self._begin(cap, rest)

    def _begin(self, cap: int | None, rest: bytes) -> None:
        assert self._transport is not None
        self._session = Session(
            self._service,
            self._client,
            self._framing,
            self._transport.write,
            cap_bytes=cap,
            seconds=self._service.seconds,
        )
        self._session.done.add_done_callback(lambda _: self._close())
        if rest:
            self._session.feed(rest)

    def _refuse(self, reason: str) -> None:
        assert self._transport is not None
        self._transport.write(
            json.dumps({"ok": False, "error": {"code": "E_BAD_CALL", "message": reason}}).encode()
            + b"\n"
        )
        self._transport.close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def eof_received(self) -> bool:
        if self._hung_up():
            return False
        if self._session is None:
            if not self._head:
                return False
            self._begin(None, self._head)
            assert self._session is not None
        self._session.end()
        return True  # keep our side open until every reply is out

    def _hung_up(self) -> bool:
        """Whether the client closed its side for reading too: nobody is there for a reply."""
        assert self._transport is not None
        channel: socket.socket | None = self._transport.get_extra_info("socket")
        if channel is None or channel.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(channel.fileno(), 0)
        return any(events & select.POLLHUP for _, events in poll.poll(0))

    def pause_writing(self) -> None:
        self._service.block(self._client)
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._service.unblock(self._client)
        if self._transport is not None:
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.leave(self._client)


def decode_control(line: bytes) -> dict[str, Any]:
    """A control request as a dict; empty where it is none."""
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}
