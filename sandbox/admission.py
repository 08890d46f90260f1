"""Whether an HTTP request may come in, decided from its headers alone: no I/O.

A web page that the user happens to open can send requests to loopback too. Its browser tells the
page's origin and the name it resolved, so Host and Origin are held against lists; a program that
is no browser is held back by the token. Each check gives a `Refusal`, or None for "go on".
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_PREVIEW_CHARACTERS: Final = 60
_PORT_MOST: Final = 65_535
_BEARER: Final = "bearer "
_LOCAL_NAME: Final = "localhost"
_LOOPBACK_6: Final = b"\0" * 15 + b"\1"
_MAPPED_4: Final = b"\0" * 10 + b"\xff\xff"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: HTTP status, stable error code, and a sentence for its sender."""

    status: int
    code: str
    message: str


HEADER_BYTES: Final = 64 * 1024
"""All names and values of one request together; common servers stop at 8 to 64 KiB."""

_ONCE: Final = frozenset(
    {
        "host",
        "origin",
        "authorization",
        "content-length",
        "content-type",
        "transfer-encoding",
    }
)
"""Headers that decide something here: two of one could be read one way by a proxy, and another
way by us."""


def read_headers(
    raw: Iterable[tuple[bytes, bytes]], limit_bytes: int = HEADER_BYTES
) -> dict[str, str] | Refusal:
    """The headers by lower-case name; 400 where one that decides is there twice, 431 past the
    limit. Of others that are repeated the last counts."""
    found: dict[str, str] = {}
    size = 0
    for name_bytes, value_bytes in raw:
        size += len(name_bytes) + len(value_bytes)
        if size > limit_bytes:
            return Refusal(
                431, "E_TOO_LARGE", f"expected headers of at most {limit_bytes} bytes, got more"
            )
        name = name_bytes.decode("latin-1").lower()
        if name in found and name in _ONCE:
            return Refusal(400, "E_BAD_CALL", f"expected one {name} header, got more")
        found[name] = value_bytes.decode("latin-1")
    return found


def _address(host: str) -> bytes | None:
    """The packed address of an IP literal (brackets around IPv6 taken off before), else None."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
    return None


def is_loopback(host: str) -> bool:
    """Whether a host, given as `localhost` or an IP literal, is reached from this machine only."""
    if host.lower() == _LOCAL_NAME:
        return True
    packed = _address(host.removeprefix("[").removesuffix("]"))
    if packed is None:
        return False
    if len(packed) == 4:
        return packed[0] == 127
    return packed == _LOOPBACK_6 or (packed[:12] == _MAPPED_4 and packed[12] == 127)


def _is_unspecified(host: str) -> bool:
    packed = _address(host.removeprefix("[").removesuffix("]"))
    return packed is not None and not any(packed)


def split_authority(text: str) -> tuple[str, int | None] | None:
    """Host and port of `host`, `host:port`, `[v6]` or `[v6]:port`; None for anything else."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        packed = _address(host)
        if not bracket or packed is None or len(packed) != 16:
            return None
        if not rest:
            return host, None
        colon, port = rest[:1], rest[1:]
        if colon != ":":
            return None
    else:
        host, colon, port = text.partition(":")
        if not host or not all(c.isascii() and (c.isalnum() or c in "-._") for c in host):
            return None
        if not colon:
            return host, None
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= _PORT_MOST):
        return None
    return host, int(port)


def _serves(host: str, bound_host: str, names: tuple[str, ...]) -> bool:
    """Whether a door bound to `bound_host` answers to this name.

    An IP literal cannot be made to point elsewhere, a name can: names are only those listed.
    """
    if host.lower() in {name.lower() for name in names}:
        return True
    packed = _address(host)
    bound = _address(bound_host.removeprefix("[").removesuffix("]"))
    if is_loopback(host):
        return is_loopback(bound_host) or _is_unspecified(bound_host)
    if packed is None:
        return host.lower() == bound_host.lower()
    return packed == bound or _is_unspecified(bound_host)


def allowed_host(
    header: str | None, bound_host: str, names: tuple[str, ...] = ()
) -> Refusal | None:
    """421 unless the Host header names this door: loopback, the bound address, or a listed name.

    Any port goes: a forwarded one differs from ours.
    """
    if header is None:
        return Refusal(421, "E_INVALID_ARG", "expected a Host header, got none")
    parts = split_authority(header)
    if parts is None or not _serves(parts[0], bound_host, names):
        return Refusal(
            421,
            "E_INVALID_ARG",
            f"expected a Host header that names this door ({bound_host}), "
            f"got {header[:_PREVIEW_CHARACTERS]!r}",
        )
    return None


def allowed_origin(
    header: str | None, bound_host: str = "127.0.0.1", names: tuple[str, ...] = ()
) -> Refusal | None:
    """403 for a page from elsewhere, `null` included; no Origin is no browser, and goes on."""
    if header is None:
        return None
    scheme, mark, authority = header.partition("://")
    if mark and scheme.lower() in ("http", "https"):
        parts = split_authority(authority)
        if parts is not None and _serves(parts[0], bound_host, names):
            return None
    return Refusal(
        403,
        "E_INVALID_ARG",
        "expected no Origin header, or one of this machine's own pages, "
        f"got {header[:_PREVIEW_CHARACTERS]!r}",
    )


def check_token(authorization: str | None, token: str | None) -> Refusal | None:
    """401 unless the Authorization header carries the token; None for a door without one.

    Compared in a time that does not depend on where the first difference stands.
    """
    if token is None:
        return None
    if authorization is None:
        return Refusal(401, "E_INVALID_ARG", "expected the header Authorization: Bearer TOKEN")
    from hmac import compare_digest

    scheme, given = authorization[: len(_BEARER)], authorization[len(_BEARER) :].strip(" ")
    same = compare_digest(
        given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass")
    )
    if scheme.lower() != _BEARER or not token or not same:
        return Refusal(
            401,
            "E_INVALID_ARG",
            "expected the token that was printed at start (or is in --token-file) as "
            "Authorization: Bearer TOKEN, got another",
        )
    return None


def check_request(
    *,
    host: str | None,
    origin: str | None,
    authorization: str | None,
    token: str | None,
    bound_host: str,
    open_path: bool = False,
    names: tuple[str, ...] = (),
) -> Refusal | None:
    """The first refusal of Host, Origin and token, in that order.

    open_path: a route that needs no token. token: None for a door without one.
    """
    refusal = allowed_host(host, bound_host, names) or allowed_origin(origin, bound_host, names)
    if refusal is not None or open_path:
        return refusal
    return check_token(authorization, token)


def check_length(
    content_length: str | None, transfer_encoding: str | None, limit_bytes: int
) -> Refusal | None:
    """413 for a body announced as too large, 400 for an announcement that cannot be trusted.

    A length and chunks together is how requests are smuggled past a proxy; so is `+5` or `5, 5`.
    What is not announced has to be counted as it comes.
    """
    if content_length is None:
        return None
    if transfer_encoding is not None:
        return Refusal(
            400, "E_BAD_CALL", "expected Content-Length or Transfer-Encoding, got both"
        )
    if not (content_length.isascii() and content_length.isdigit()):
        return Refusal(
            400,
            "E_BAD_CALL",
            "expected Content-Length to be a number of bytes, "
            f"got {content_length[:_PREVIEW_CHARACTERS]!r}",
        )
    digits = content_length.lstrip("0")
    if len(digits) > 18 or int(digits or "0") > limit_bytes:
        return Refusal(
            413,
            "E_TOO_LARGE",
            f"expected a body of at most {limit_bytes} bytes, got {digits[:20]} announced; "
            "put the text into a file of the workspace and name the file",
        )
    return None


def check_content_type(header: str | None, expected: tuple[str, ...]) -> Refusal | None:
    """415 unless the media type is one of those expected, whatever its parameters.

    A page can send text/plain and forms to any site without asking first; JSON it cannot.
    """
    media_type = (header or "").partition(";")[0].strip().lower()
    if media_type in expected:
        return None
    got = repr(header[:_PREVIEW_CHARACTERS]) if header is not None else "none"
    return Refusal(
        415, "E_BAD_CALL", f"expected Content-Type {' or '.join(expected)}, got {got}"
    )
