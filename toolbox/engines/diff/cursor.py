"""Cursors: where a cut answer goes on, bound to what was compared and how."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import crc32
from hashlib import sha256

from toolbox.errors import Changed, InvalidArg

_CONTENT_BYTES = 8
_OPTION_BYTES = 3
_CHECK_BYTES = 3


def digest(*contents: bytes) -> bytes:
    """What a cursor keeps of the contents compared: 64 bits over their sha256."""
    whole = sha256()
    for content in contents:
        whole.update(sha256(content).digest())
    return whole.digest()[:_CONTENT_BYTES]


def write(kind: str, content: bytes, options: tuple[object, ...], place: tuple[int, ...]) -> str:
    """An opaque cursor. kind: the verb's name; content: from `digest`; place: what comes next."""
    body = content + _options(kind, options)
    for number in place:
        while number >= 0x80:
            body += bytes([number & 0x7F | 0x80])
            number >>= 7
        body += bytes([number])
    return urlsafe_b64encode(_check(body) + body).rstrip(b"=").decode()


def read(
    cursor: str, kind: str, content: bytes, options: tuple[object, ...], places: int, what: str
) -> tuple[int, ...]:
    """The place that a cursor of `write` tells, `places` numbers.

    Raises InvalidArg for what is no cursor of this verb with these options, and Changed where the
    contents (`what`, in words) are no longer those that it was made for.
    """
    again = f"call @diff {kind} again without the cursor"
    where: dict[str, object] = {"fields": ["cursor"]}
    broken = InvalidArg(
        f"cursor: expected one that @diff {kind} gave, got something else", hint=again, at=where
    )
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except ValueError:
        raise broken from None
    body = raw[_CHECK_BYTES:]
    head = _CONTENT_BYTES + _OPTION_BYTES
    # Not every text decodes to itself again: only the very spelling that was given counts.
    if (
        len(body) <= head
        or _check(body) != raw[:_CHECK_BYTES]
        or urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor
    ):
        raise broken
    if body[_CONTENT_BYTES:head] != _options(kind, options):
        raise InvalidArg(
            "cursor: it belongs to a call of another verb or with other options",
            hint="repeat the call that gave it with the same options, or leave the cursor out",
            at=where,
        )
    if body[:_CONTENT_BYTES] != content:
        raise Changed(f"{what} changed since the cursor was given", hint=again, at=where)
    numbers: list[int] = []
    number = shift = 0
    for byte in body[head:]:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    if len(numbers) != places or shift:
        raise broken
    return tuple(numbers)


def _options(kind: str, options: tuple[object, ...]) -> bytes:
    return sha256(repr((kind, *options)).encode()).digest()[:_OPTION_BYTES]


def _check(body: bytes) -> bytes:
    return crc32(body).to_bytes(4, "big")[:_CHECK_BYTES]
