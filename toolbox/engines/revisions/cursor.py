"""Cursors of a list of changed files: both ids, what was asked, and how many were given."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Final, NamedTuple

from toolbox.errors import InvalidArg

_VERSION: Final = b"\x01"
_CHECK_BYTES: Final = 6
_ASKED_BYTES: Final = 6
_ID_BYTES: Final = 20
_PLACE_BYTES: Final = 4
_LENGTH: Final = 1 + _ASKED_BYTES + 2 * _ID_BYTES + _PLACE_BYTES


class Place(NamedTuple):
    """Where a list goes on."""

    old: bytes
    """Binary id; for the files as they are, a digest of what differed."""
    new: bytes
    given: int
    """Files that earlier pages held."""


def write(place: Place, asked: tuple[object, ...]) -> str:
    """An opaque cursor; asked: the arguments that make the list what it is."""
    body = (
        _VERSION + _asked(asked) + place.old + place.new + place.given.to_bytes(_PLACE_BYTES, "big")
    )
    return urlsafe_b64encode(body + _check(body)).rstrip(b"=").decode()


def read(cursor: str, asked: tuple[object, ...]) -> Place:
    """The place that a cursor of `write` tells; InvalidArg for anything else.

    A cursor that was changed, came from elsewhere, or belongs to a call with other `from`, `to` or
    `paths` is refused.
    """
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError:
        raw = b""
    body, check = raw[:_LENGTH], raw[_LENGTH:]
    # Not every text decodes to itself again: only the very spelling that was given counts.
    if (
        len(body) != _LENGTH
        or check != _check(body)
        or body[:1] != _VERSION
        or urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor
    ):
        raise refusal("expected one that @diff revisions gave, exactly as given")
    at = 1 + _ASKED_BYTES
    if body[1:at] != _asked(asked):
        raise refusal("it belongs to a call with another from, to or paths")
    return Place(
        body[at : at + _ID_BYTES],
        body[at + _ID_BYTES : at + 2 * _ID_BYTES],
        int.from_bytes(body[at + 2 * _ID_BYTES :], "big"),
    )


def refusal(why: str) -> InvalidArg:
    """The error for a cursor that cannot be taken."""
    return InvalidArg(
        f"cursor: {why}",
        hint="repeat the call with the same from, to and paths, or leave the cursor out",
        at={"fields": ["cursor"]},
    )


def _asked(asked: tuple[object, ...]) -> bytes:
    return sha256(repr(asked).encode("utf-8", "surrogatepass")).digest()[:_ASKED_BYTES]


def _check(body: bytes) -> bytes:
    return sha256(b"@diff revisions" + body).digest()[:_CHECK_BYTES]
