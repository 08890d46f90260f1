"""File names as patches write them: quoted, prefixed, followed by time stamps."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

_ESCAPES: Final = {
    ord("a"): 7, ord("b"): 8, ord("t"): 9, ord("n"): 10, ord("v"): 11, ord("f"): 12,
    ord("r"): 13, ord('"'): 34, ord("\\"): 92,
}  # fmt: skip

_STAMP: Final = re.compile(
    rb"[ \t]+\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:[+-]\d\d:?\d\d|Z|UTC|GMT))?[ "
    rb"\t]*$"
)
_ISO: Final = re.compile(
    rb"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.0*)?(?: ?([+-])(\d\d):?(\d\d)|Z)?[ \t]*$"
)
_CTIME: Final = re.compile(
    rb"[A-Z][a-z]{2} (Dec 31|Jan 0?1|Jan  1) (\d\d):(\d\d):(\d\d) (1969|1970)(?: "
    rb"([+-])(\d\d)(\d\d))?[ \t]*$"
)
_SUSPECT: Final = re.compile(rb"\0|^/|^[A-Za-z]:[\\/]|\\|\.\.")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)  # noqa: UP017


def read_quoted(text: bytes) -> tuple[bytes, int] | None:
    """A name in git's double quotes at the start of text and where it ends; None if broken."""
    if not text.startswith(b'"'):
        return None
    out = bytearray()
    i, end = 1, len(text)
    while i < end:
        c = text[i]
        if c == 34:
            return bytes(out), i + 1
        if c != 92:
            out.append(c)
            i += 1
            continue
        if i + 1 >= end:
            return None
        following = text[i + 1]
        if following in _ESCAPES:
            out.append(_ESCAPES[following])
            i += 2
        elif re.match(rb"[0-3][0-7]{2}", text[i + 1 : i + 4]):
            out.append(int(text[i + 1 : i + 4], 8))
            i += 4
        else:
            return None
    return None


def read_header_name(text: bytes) -> tuple[bytes, bool]:
    """The name on a `---` or `+++` line (what follows the marker), and whether its time stamp
    is the epoch, by which `diff -N` says that the file does not exist."""
    text = text.rstrip(b"\r")
    if quoted := read_quoted(text):
        name, at = quoted
        return name, is_epoch(text[at:].strip())
    name, tab, stamp = text.partition(b"\t")
    if not tab and (found := _STAMP.search(text)):
        name, stamp = text[: found.start()], found[0]
        tab = b"\t"
    if not tab:
        name = name.rstrip(b" ")  # with a tab, git means the blanks before it
    return name, is_epoch(stamp.strip())


def read_plain_name(text: bytes) -> bytes:
    """The name on a `rename from` line and its kind: quoted or as it stands."""
    text = text.rstrip(b"\r")
    if quoted := read_quoted(text):
        return quoted[0]
    return text


def is_epoch(stamp: bytes) -> bool:
    """True for 1970-01-01 00:00:00 UTC, in whatever zone it is written."""
    if m := _ISO.match(stamp):
        year, month, day, hour, minute, second = (int(m[k]) for k in range(1, 7))
        if year not in (1969, 1970):
            return False
        zone = timedelta()
        if m[7]:
            zone = timedelta(hours=int(m[8]), minutes=int(m[9])) * (-1 if m[7] == b"-" else 1)
        try:
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC) - zone == _EPOCH
        except ValueError:
            return False
    if m := _CTIME.match(stamp):
        zone = timedelta()
        if m[6]:
            zone = timedelta(hours=int(m[7]), minutes=int(m[8])) * (-1 if m[6] == b"-" else 1)
        year, day, month = (1969, 31, 12) if m[5] == b"1969" else (1970, 1, 1)
        try:
            moment = datetime(year, month, day, int(m[2]), int(m[3]), int(m[4]), tzinfo=UTC)
        except ValueError:
            return False
        return moment - zone == _EPOCH
    return False


def split_git_line(rest: bytes) -> list[tuple[bytes, bytes]]:
    """Every way in which `diff --git REST` may name two files, in order."""
    rest = rest.rstrip(b"\r")
    if quoted := read_quoted(rest):
        left, at = quoted
        right = rest[at:].lstrip(b" ")
        if second := read_quoted(right):
            return [(left, second[0])]
        return [(left, right)] if right else []
    if rest.endswith(b'"') and (at := rest.find(b' "')) >= 0:
        if second := read_quoted(rest[at + 1 :]):
            return [(rest[:at], second[0])]
        return []
    pairs = []
    at = rest.find(b" ")
    while at >= 0:
        if 0 < at < len(rest) - 1:
            pairs.append((rest[:at], rest[at + 1 :]))
        at = rest.find(b" ", at + 1)
    return pairs


def strip_components(name: bytes, count: int) -> bytes | None:
    """The name without its first components, `./` and doubled slashes tidied; None if too few.

    A leading slash stays: an absolute name must be seen as one, also where what is left after
    the components begins with a slash (`b//etc/passwd` without `b/`).
    """
    absolute = name.startswith(b"/")
    parts = [p for p in name.split(b"/") if p not in (b"", b".")]
    if absolute and count == 0:
        return b"/" + b"/".join(parts)
    if absolute:
        count -= 1  # the empty component before the first slash
    if count >= len(parts):
        return None
    rest = name
    for _ in range(count):
        rest = rest.partition(b"/")[2]
    lead = b"/" if not absolute and rest.startswith(b"/") else b""
    return lead + b"/".join(parts[count:])


def unsafe(name: bytes) -> str | None:
    """Why a name may never be a target, or None."""
    if len(name) <= 255 and not _SUSPECT.search(name):
        return None
    if b"\0" in name:
        return "holds a NUL byte"
    if name.startswith(b"/"):
        return "is absolute"
    if re.match(rb"[A-Za-z]:[\\/]", name) or name.startswith(b"\\"):
        return "is absolute on Windows"
    parts = re.split(rb"[/\\]", name)
    if b".." in parts:
        return "climbs out with '..'"
    if len(name) > 4_096 or any(len(p) > 255 for p in name.split(b"/")):
        return "is longer than a file system can hold"
    return None


def decode_name(name: bytes) -> str:
    """A name as Python's file functions take it; bytes that are not UTF-8 survive."""
    return name.decode("utf-8", "surrogateescape")
