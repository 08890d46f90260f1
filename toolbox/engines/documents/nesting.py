"""How deep a JSON text nests: a guard around native decoders, and the place past a limit.

Native decoders recurse once a level and ask the interpreter's recursion guard each time. The guard
is set, or its budget spent, so that exactly the wanted number of levels passes: that costs
microseconds (CPython 3.11) or some milliseconds (3.12, 3.13) whatever the text's size. Where it
cannot be told so, brackets are counted, which costs several times the decode itself.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

_raw = msgspec.json.Decoder(msgspec.Raw)

_ADJUST: Final = 64
"""How far a first guess at the frames in use may be off."""

_GUARDED_LEVELS: Final = 64
"""Fewer levels than that leave no room for the frames of Python itself, and are counted."""

_ROOM: Final = 400
"""Levels left for what runs below a decode."""

_TOKENS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)

_NOT_BRACKETS: Final = bytes(c for c in range(256) if c not in b'[]{}"')
_SQUARE: Final = bytes.maketrans(b"{}", b"[]")


def _frames() -> int:
    frame: FrameType | None = sys._getframe()
    n = 0
    while frame is not None:
        n += 1
        frame = frame.f_back
    return n


def _passes(levels: int) -> bool:
    try:
        _raw.decode(b"[" * levels + b"]" * levels)
    except RecursionError:
        return False
    return True


def guarded(levels: int, run: Callable[[], T]) -> tuple[T, bool]:
    """What `run` gives, and whether its native decodes were held to `levels` of nesting.

    Decoders called by `run` itself (no frame between) accept exactly that many levels, and raise
    RecursionError on one more; with False the interpreter could not be told so, and the caller has
    to count.
    """
    before = sys.getrecursionlimit()
    limit = _frames() + levels
    spent = 0
    exact = False
    try:
        for _ in range(_ADJUST if levels >= _GUARDED_LEVELS else 0):
            sys.setrecursionlimit(limit)
            if not _passes(levels):
                limit += 1
            elif _passes(levels + 1):
                limit -= 1
            else:
                exact = True
                break
        if not exact:
            sys.setrecursionlimit(max(before, _frames() + levels + _ROOM))
            if levels >= _GUARDED_LEVELS:
                spent = _spend(levels)
                exact = spent > 0 and _passes(levels) and not _passes(levels + 1)
        return run(), exact
    finally:
        for _ in range(spent):
            _leave()
        sys.setrecursionlimit(before)


_enter = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(
    ("Py_EnterRecursiveCall", ctypes.pythonapi)
)
_leave = ctypes.PYFUNCTYPE(None)(("Py_LeaveRecursiveCall", ctypes.pythonapi))

_BUDGET: Final = 40_000
"""Nested native calls that an interpreter allows at most, where it counts them at all."""


def _spend(levels: int) -> int:
    """Enter native calls until only `levels` more are allowed; how many were entered.

    CPython 3.12 and 3.13 count native recursion apart from Python's, with a limit that nothing
    sets: what is too much of it is used up. 0 where no such limit was met.
    """
    if not _passes(levels) or _passes(_BUDGET):
        return 0
    low, high = levels, _BUDGET
    while high - low > 1:
        middle = (low + high) // 2
        if _passes(middle):
            low = middle
        else:
            high = middle
    for _ in range(low - levels):
        _enter(b"")
    return low - levels


@contextmanager
def room(levels: int) -> Iterator[None]:
    """Within it, recursion may go `levels` deeper than the frames in use, and some."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _frames() + levels + _ROOM))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def has_few_brackets(text: bytes, levels: int) -> bool:
    """Whether a text cannot nest deeper than `levels`, by the number of its brackets."""
    return text.count(b"[") + text.count(b"{") <= levels


def is_deeper(text: bytes, levels: int) -> bool:
    """True when valid JSON text nests deeper than `levels`."""
    if has_few_brackets(text, levels):
        return False
    if b"\\\\" in text:
        text = text.replace(b"\\\\", b"")
    if b'\\"' in text:
        text = text.replace(b'\\"', b"")
    # Two quotes side by side go first: whether one string or the border of two, what is left
    # stands inside strings as before, and most strings hold no bracket.
    bare = text.translate(None, _NOT_BRACKETS).replace(b'""', b"")
    bare = b"".join(bare.split(b'"')[::2]).translate(_SQUARE)
    for _ in range(levels):
        if not bare:
            return False
        bare = bare.replace(b"[]", b"")
    return bool(bare)


def find_deeper(text: bytes, levels: int) -> int | None:
    """The offset of the first bracket that opens level `levels` + 1, or None."""
    depth = 0
    for token in _TOKENS.finditer(text):
        first = text[token.start()]
        if first in b"[{":
            depth += 1
            if depth > levels:
                return token.start()
        elif first != 0x22:
            depth -= 1
    return None
