"""Lines as the ignore options see them: what is equal then, and only then."""

from __future__ import annotations

from collections.abc import Callable


def folder(*, ignore_whitespace: bool, ignore_case: bool) -> Callable[[bytes], bytes]:
    """A function that maps equal lines onto equal bytes.

    ignore_whitespace: a run of ASCII blanks counts as one space, at the ends of a line as none
    (so `a b` and `ab` stay two). ignore_case: Unicode case folding; bytes that are not UTF-8 keep
    their value. A folded line holds no newline.
    """
    if ignore_whitespace and ignore_case:
        return lambda line: _fold_case(b" ".join(line.split()))
    if ignore_whitespace:
        return lambda line: b" ".join(line.split())
    if ignore_case:
        return _fold_case
    return lambda line: line


def _fold_case(line: bytes) -> bytes:
    if line.isascii():
        return line.lower()
    return line.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape")
