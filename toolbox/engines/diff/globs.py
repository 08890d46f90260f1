"""Which paths a caller's glob wants: gitignore patterns that select instead of ignoring.

The patterns run on RE2: with Python's own engine `*a*a*a*a*b` took minutes on one long name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from toolbox.errors import InvalidArg

PATTERNS_MOST: Final = 100
PATTERN_CHARACTERS: Final = 1_000


def selector(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that says of a path (relative, with `/`) whether the patterns want it.

    As in a gitignore: `*.go` at any depth, `/x` and `a/b` from the top, `dir/` all below it, `**`
    across folders, and the last pattern that matches decides; `!` excludes. Where every pattern
    excludes, all the rest is wanted. Raises InvalidArg for a pattern that can match nothing.
    """
    from pathspec import PathSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    if len(patterns) > PATTERNS_MOST:
        raise _refused(f"expected at most {PATTERNS_MOST} patterns, got {len(patterns)}")
    for pattern in patterns:
        if len(pattern) > PATTERN_CHARACTERS:
            raise _refused(
                f"expected patterns of at most {PATTERN_CHARACTERS} characters, got {len(pattern)}"
            )
    compiled: list[Any] = []
    for pattern in patterns:
        try:
            one = GitIgnoreSpecPattern(pattern) if pattern.strip() else None
        except (ValueError, re.error):
            one = None
        if one is None or one.include is None:
            why = " (`#` begins a comment; `\\#` is the character)" if pattern[:1] == "#" else ""
            raise _refused(f"expected a gitignore-style pattern, got {pattern[:60]!r}{why}")
        compiled.append(one)
    lines = list(patterns)
    if not any(one.include for one in compiled):
        lines.insert(0, "*")
    try:
        spec = PathSpec.from_lines(GitIgnoreSpecPattern, lines, backend="re2")
    except ValueError as exc:
        raise _refused(f"the pattern is too large to compile: {str(exc)[:80]}") from None

    def wanted(path: str) -> bool:
        try:
            return bool(spec.match_file(path))
        except UnicodeEncodeError:  # bytes that are not UTF-8: `*` and `?` take them
            plain = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            return bool(spec.match_file(plain))

    return wanted


def _refused(message: str) -> InvalidArg:
    return InvalidArg(
        f"glob: {message}",
        hint='for example "glob": ["*.go", "!vendor/"]',
        at={"fields": ["glob"]},
    )
