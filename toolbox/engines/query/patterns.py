"""Regular expressions in time linear in the text: RE2, what it lacks named with its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from toolbox import limits
from toolbox.errors import BadPattern

_UNSUPPORTED: Final = (
    (re.compile(r"\(\?<?[=!]"), "look-around is not supported (the syntax is RE2's)"),
    (re.compile(r"\(\?>"), "atomic groups are not supported (the syntax is RE2's)"),
    (re.compile(r"\\[1-9]|\(\?P=|\\k<"), "back-references are not supported (the syntax is RE2's)"),
)
_REPEAT: Final = re.compile(r"\{(\d*)(?:,(\d*))?\}")
_REPEAT_MOST: Final = 1_000
"""RE2's own limit on a counted repeat."""


def compile_pattern(pattern: str) -> Callable[[bytes], bool]:
    """A test whether the pattern matches somewhere in a UTF-8 text.

    `^` and `$` are the text's ends, `\\d \\w \\s \\b` are ASCII, `(?i)` is understood. BadPattern
    names what is wrong and the offset in the pattern.
    """
    import re2

    if len(pattern) > limits.PATTERN_CHARACTERS:
        raise BadPattern(
            f"expected a pattern of at most {limits.PATTERN_CHARACTERS} characters, "
            f"got {len(pattern)}",
            hint="test several fields or terms joined with &&",
            at={"offset": limits.PATTERN_CHARACTERS},
        )
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as exc:
        said = exc.args[0] if exc.args else b""
        words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise _refuse(pattern, words) from None
    found = re2.Set.SearchSet(options)
    found.Add(pattern)
    found.Compile()
    match: Callable[[bytes], list[int] | None] = found.Match
    return lambda text: bool(match(text))


def _refuse(pattern: str, said: str) -> BadPattern:
    for kind, words in _UNSUPPORTED:
        if place := kind.search(_without_classes(pattern)):
            return _bad(pattern, place.start(), words)
    for repeat in _REPEAT.finditer(pattern):
        if any(n and int(n) > _REPEAT_MOST for n in repeat.groups()):
            return _bad(pattern, repeat.start(), f"repeats over {_REPEAT_MOST} are not supported")
    _, _, fragment = said.partition(": ")
    place_of = pattern.find(fragment) if fragment else len(pattern)
    return _bad(pattern, max(place_of, 0), said or "not a pattern")


def _without_classes(pattern: str) -> str:
    """The pattern with escaped backslashes and brackets blanked, offsets kept."""
    return re.sub(r"\\\\|\\\[|\[(?:\\.|[^\]\\])*\]", lambda m: " " * len(m[0]), pattern)


def _bad(pattern: str, offset: int, words: str) -> BadPattern:
    shown = pattern if len(pattern) <= 60 else pattern[:60] + "…"
    return BadPattern(
        f"bad pattern `{shown}` at character {offset + 1}: {words}",
        hint=r"a literal ( [ . * + ? is written \( \[ \. \* \+ \?",
        at={"offset": offset, "column": offset + 1},
    )
