"""The only place where output is cut: answers fitted to a cap, replies written as envelopes.

A cut falls between rows, is always said (`showing 3 of 40 members`), and names the call that gets
the rest. The cap holds for the reply's text and for its result, each.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import orjson

from toolbox.verb import Answer

API: Final = 1
"""The envelope's version."""

_encoder = msgspec.json.Encoder()


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """What a call gets back, ready to be framed by any door."""

    op: str
    ok: bool
    text: str
    """What a model reads; for a failed call its message and hint."""
    result: bytes = b"null"
    """The typed result as JSON."""
    truncated: bool = False
    hint: str | None = None
    error: bytes = b""
    """For a failed call: code, message, hint and place as JSON."""
    negative: bool = False
    cached: bool = False
    elapsed_ms: float = 0.0
    code: str = ""

    def envelope(self, extra: bytes = b"") -> bytes:
        """The JSON form, without a newline. extra: members to lead with, `b'"id":1,'`."""
        meta = b',"meta":{"elapsed_ms":%.3f,"cached":%s%s}}' % (
            self.elapsed_ms,
            b"true" if self.cached else b"false",
            b',"negative":true' if self.negative else b"",
        )
        op = orjson.dumps(self.op)
        if not self.ok:
            return b'{%s"ok":false,"op":%s,"api":%d,"error":%s%s' % (
                extra,
                op,
                API,
                self.error,
                meta,
            )
        return b'{%s"ok":true,"op":%s,"api":%d,"result":%s,"text":%s,"truncated":%s,"hint":%s%s' % (
            extra,
            op,
            API,
            self.result,
            orjson.dumps(self.text),
            b"true" if self.truncated else b"false",
            orjson.dumps(self.hint),
            meta,
        )


class Fitted(msgspec.Struct, frozen=True):
    """An answer cut to its cap."""

    text: str
    result: bytes
    truncated: bool
    hint: str | None


def fit(answer: Answer, cap_bytes: int | None, notes: tuple[str, ...] = ()) -> Fitted:
    """The answer with as many rows as the cap allows, in text and in result."""
    notes = (*answer.notes, *notes)
    rows = answer.rows
    have = len(rows)
    total = have if answer.total is None else answer.total
    text = _compose(answer, have, total, notes)
    result = encode(answer.result(have))
    if cap_bytes is None or (size_bytes(text) <= cap_bytes and len(result) <= cap_bytes):
        return Fitted(text, result, answer.truncated or have < total, answer.hint)

    sizes = [len(row.encode()) + 1 for row in rows]

    def fits(n: int) -> tuple[str, bytes] | None:
        text = _compose(answer, n, total, notes)
        if size_bytes(text) > cap_bytes:
            return None
        result = encode(answer.result(n))
        return (text, result) if len(result) <= cap_bytes else None

    most, spent = 0, 0
    for size in sizes:
        spent += size
        if spent > cap_bytes:
            break
        most += 1
    low, best = 0, None
    high = max(min(most, have - 1 if have == total else have), 0)
    while low <= high:
        middle = (low + high + 1) // 2
        if got := fits(middle):
            best, low = (middle, *got), middle + 1
        else:
            high = middle - 1
    if best is None or (best[0] == 0 and total):
        if answer.oversize is not None:
            told = "".join(f"\nnote: {note}" for note in notes)
            text, struct = answer.oversize(max(cap_bytes - size_bytes(told), 0))
            return Fitted(
                _clip(text + told, cap_bytes), encode(struct), True, answer.more(0) or answer.hint
            )
        if best is None:
            text = _clip(_compose(answer, 0, total, notes), cap_bytes)
            return Fitted(text, encode(answer.result(0)), True, answer.more(0) or answer.hint)
    return Fitted(best[1], best[2], True, answer.more(best[0]) or answer.hint)


def encode(result: Any) -> bytes:
    """A result as JSON; `msgspec.Raw` members stand verbatim."""
    return _encoder.encode(result)


def _compose(answer: Answer, shown: int, total: int, notes: tuple[str, ...]) -> str:
    parts = []
    if head := answer.head(shown):
        parts.append(head)
    parts.extend(answer.rows[:shown])
    if shown < total:
        more = answer.more(shown) or answer.hint
        parts.append(
            f"… showing {number(shown)} of {number(total)} {answer.noun}"
            + (f"; {more}" if more else "")
        )
    if answer.tail:
        parts.append(answer.tail)
    parts.extend(f"note: {note}" for note in notes)
    return "\n".join(parts)


def number(n: int) -> str:
    """An integer with its thousands apart by a space, as replies print counts."""
    return f"{n:,}".replace(",", " ")


def size_bytes(text: str) -> int:
    """A text's length in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _clip(text: str, cap_bytes: int) -> str:
    """The first lines that fit, whole characters only, with a mark where something is missing."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= cap_bytes:
        return text
    mark = "\n… cut"
    kept = data[: max(cap_bytes - len(mark.encode()), 0)].decode("utf-8", "ignore")
    return kept + mark
