"""How much of one blob is in another, counted as git counts it.

A blob is cut into lines, long ones into pieces of 64 bytes, and each piece goes into a table by a
hash of 107 927 values with its bytes. What two tables share is what was kept. git's hash adds each
byte to a 64-bit number turned by 7 bits: a sum of powers of 128 modulo 2^64 - 1, but for a carry
lost once in 2^25 bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from operator import mul
from typing import Final

FULL: Final = 60_000
"""The score of equal blobs."""

BINARY_BYTES: Final = 8_000
_TABLE_SIZE: Final = 107_927
_CHUNK_BYTES: Final = 64
_MODULUS: Final = (1 << 64) - 1
_POWERS: Final = [pow(128, k, _MODULUS) for k in range(_CHUNK_BYTES - 1, -1, -1)]
_TAILS: Final = [_POWERS[_CHUNK_BYTES - n :] for n in range(_CHUNK_BYTES + 1)]
_CHUNKS: Final = re.compile(rb"[^\n]{0,63}\n|[^\n]{64}")
_CHUNKS_AND_REST: Final = re.compile(rb"[^\n]{0,63}\n|[^\n]{1,64}")

Spectrum = dict[int, int]
"""Hash → bytes of the pieces that have it."""


def is_binary(data: bytes) -> bool:
    """git's rule: a NUL in the first 8 000 bytes."""
    return data.find(b"\0", 0, BINARY_BYTES) >= 0


class Spectra:
    """Makes spectra; keeps the hashes of pieces seen, which repeat from blob to blob."""

    def __init__(self, *, last_line_counts: bool = False) -> None:
        """last_line_counts: whether a last piece without its newline counts, as it does in git
        from version 2.44 on."""
        self._hashes: dict[bytes, int] = {}
        self._pieces = _CHUNKS_AND_REST if last_line_counts else _CHUNKS

    def of(self, data: bytes) -> Spectrum:
        """The spectrum of a blob."""
        if not is_binary(data):
            data = data.replace(b"\r\n", b"\n")
        found: Spectrum = {}
        hashes = self._hashes
        for piece, times in Counter(self._pieces.findall(data)).items():
            key = hashes.get(piece)
            if key is None:
                key = hashes[piece] = piece_hash(piece)
            found[key] = found.get(key, 0) + times * len(piece)
        return found


def piece_hash(piece: bytes) -> int:
    """The table's place for a piece of at most 64 bytes."""
    turned: int = sum(map(mul, piece, _TAILS[len(piece)])) % _MODULUS
    low, high = turned & 0xFFFFFFFF, turned >> 32
    return ((low + high * 0x61) & 0xFFFFFFFF) % _TABLE_SIZE


def shared_bytes(source: Spectrum, target: Spectrum) -> int:
    """How many bytes of the source are in the target."""
    if len(target) < len(source):
        source, target = target, source
    get = target.get
    return sum(min(count, get(key, 0)) for key, count in source.items())


def near_in_size(source: int, target: int, least: int) -> bool:
    """Whether two sizes allow a score of at least `least`."""
    most, fewer = max(source, target), min(source, target)
    return most * (FULL - least) >= (most - fewer) * FULL


def score(shared: int, source: int, target: int) -> int:
    """The score for shared bytes of blobs of these sizes."""
    return int(shared * float(FULL) / max(source, target)) if target else 0
