"""What two byte strings have in common at their ends, in whole lines, at the speed of memcmp."""

from __future__ import annotations

from typing import Final, NamedTuple

BLOCK_BYTES: Final = 1 << 16
"""Compared at a time; inside the block that differs the place is found by halving."""


class Middles(NamedTuple):
    """The parts of a and b that differ: a[start:a_end] and b[start:b_end], whole lines."""

    start: int
    a_end: int
    b_end: int


def common_prefix(a: bytes, b: bytes) -> int:
    """How many leading bytes are the same."""
    most = min(len(a), len(b))
    at = 0
    while at < most:
        size = min(BLOCK_BYTES, most - at)
        if a[at : at + size] != b[at : at + size]:
            return at + _halve(a[at : at + size], b[at : at + size])
        at += size
    return most


def _halve(a: bytes, b: bytes) -> int:
    """The first place where two different strings of one length differ."""
    low, high = 0, len(a)
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def common_suffix(a: bytes, b: bytes, most: int) -> int:
    """How many trailing bytes are the same, at most `most`."""
    size = 0
    while size < most:
        block = min(BLOCK_BYTES, most - size)
        x = a[len(a) - size - block : len(a) - size]
        y = b[len(b) - size - block : len(b) - size]
        if x != y:
            return size + _halve_back(x, y)
        size += block
    return most


def _halve_back(a: bytes, b: bytes) -> int:
    """How many trailing bytes of two different strings of one length are the same."""
    same, differ = 0, len(a)
    while differ - same > 1:
        middle = (same + differ) // 2
        if a[len(a) - middle :] == b[len(b) - middle :]:
            same = middle
        else:
            differ = middle
    return same


def differing_middles(a: bytes, b: bytes, keep_lines: int) -> Middles:
    """The middles that differ, with up to `keep_lines` common lines left at either end.

    The lines kept give a diff its context and let it slide an edit to a better place. A line is
    common only whole, with its end: `x` and `x\\n` differ.
    """
    prefix = common_prefix(a, b)
    if prefix < len(a) or prefix < len(b):
        prefix = a.rfind(b"\n", 0, prefix) + 1
    suffix = common_suffix(a, b, min(len(a), len(b)) - prefix)
    a_end, b_end = len(a) - suffix, len(b) - suffix
    if suffix and not (_starts_line(a, a_end) and _starts_line(b, b_end)):
        newline = a.find(b"\n", a_end)
        suffix = 0 if newline < 0 else len(a) - newline - 1
    for _ in range(keep_lines):
        if prefix == 0:
            break
        prefix = a.rfind(b"\n", 0, prefix - 1) + 1
    a_end = len(a) - suffix
    for _ in range(keep_lines):
        if a_end == len(a):
            break
        newline = a.find(b"\n", a_end)
        a_end = len(a) if newline < 0 else newline + 1
    return Middles(prefix, a_end, len(b) - (len(a) - a_end))


def _starts_line(data: bytes, at: int) -> bool:
    return at == 0 or data[at - 1] == 0x0A
