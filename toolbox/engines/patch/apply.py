"""New content from old lines and placed hunks, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from toolbox.engines.patch.locate import bare_line
from toolbox.engines.patch.records import UNENDED, Hunk, join_lines


def apply(
    lines: Sequence[bytes], placed: Sequence[tuple[Hunk, int]], *, file_ends: bool = False
) -> bytes:
    """The file's new bytes. placed: hunks with the 0-based index of their first old line, in
    order and apart; every old line must stand there already. file_ends: context lines keep the
    file's bytes and added ones take the ends of the lines around them."""
    out: list[bytes] = []
    at = 0
    for hunk, place in placed:
        out.extend(lines[at:place])
        out.extend(_with_ends(lines, place, hunk) if file_ends else hunk.new)
        at = place + len(hunk.old)
    out.extend(lines[at:])
    return join_lines(out)


def _with_ends(lines: Sequence[bytes], place: int, hunk: Hunk) -> list[bytes]:
    """The hunk's new lines, context as it stands in the file, added lines ended as their
    neighbours are."""
    out: list[bytes] = []
    at = place
    if hunk.old:
        crlf = _is_crlf(lines[place])
    else:
        crlf = _is_crlf(lines[place - 1]) if place else bool(lines) and _is_crlf(lines[0])
    added = iter(hunk.new)
    for line in hunk.body:
        kind = line[:1]
        if kind == b"\\":
            continue
        if kind == b"-":
            crlf = _is_crlf(lines[at])
            at += 1
            continue
        text = next(added)
        if kind == b"+":
            bare = bare_line(text)
            if bare.endswith(UNENDED):
                out.append(bare)
            else:
                out.append(bare + b"\r" if crlf else bare)
            continue
        crlf = _is_crlf(lines[at])
        out.append(lines[at])
        at += 1
    return out


def _is_crlf(line: bytes) -> bool:
    return line.endswith((b"\r", b"\r\n"))
