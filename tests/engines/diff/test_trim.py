"""Trimmed ends are whole common lines, as many as there are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox.engines.diff import trim
from toolbox.engines.diff.trim import common_prefix, common_suffix, differing_middles

PIECES = st.lists(st.sampled_from([b"a", b"b", b"\n", b"a\n", b"\r\n", b"bb\n"]), max_size=12)


def lines_of(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [p + b"\n" for p in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


@settings(max_examples=200, deadline=None)
@given(PIECES, PIECES, PIECES, PIECES, st.integers(0, 3))
def test_middles(head: list[bytes], x: list[bytes], y: list[bytes], tail: list[bytes], keep: int) -> None:
    a, b = b"".join(head + x + tail), b"".join(head + y + tail)
    start, a_end, b_end = differing_middles(a, b, keep)
    assert a[:start] == b[:start] and a[a_end:] == b[b_end:]
    assert start <= a_end and start <= b_end
    la, lb = lines_of(a), lines_of(b)
    top = next((k for k, (p, q) in enumerate(zip(la, lb, strict=False)) if p != q), min(len(la), len(lb)))
    rest_a, rest_b = la[top:][::-1], lb[top:][::-1]
    end = next(
        (k for k, (p, q) in enumerate(zip(rest_a, rest_b, strict=False)) if p != q), min(len(rest_a), len(rest_b))
    )
    assert lines_of(a[:start]) == la[: max(top - keep, 0)]
    assert lines_of(a[a_end:]) == la[len(la) - max(end - keep, 0) :]


@pytest.mark.parametrize("size", [trim.BLOCK_BYTES - 1, trim.BLOCK_BYTES, trim.BLOCK_BYTES + 1, 200_000])
@pytest.mark.parametrize("at", [0, 1, 65_534, 65_535, 65_536, 65_537, 131_072])
def test_every_place_of_one_changed_byte(size: int, at: int) -> None:
    a = bytes(size)
    at = min(at, size - 1)
    b = a[:at] + b"x" + a[at + 1 :]
    assert common_prefix(a, b) == at
    assert common_suffix(a, b, size) == size - at - 1
    assert common_prefix(a, a) == size == common_suffix(a, a, size)
