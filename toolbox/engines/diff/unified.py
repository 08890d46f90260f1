"""Unified diffs, byte for byte: what they print turns one text into the other.

Common ends are trimmed on bytes, the middles go to xdiff, whose own text is taken; where the
sides are compared folded, or are too large for one pass, the changes are rendered here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from toolbox.engines.diff import guard, xdiff
from toolbox.engines.diff.fold import folder
from toolbox.engines.diff.lines import MARKER, Lines, count, split
from toolbox.engines.diff.myers import HasCheck
from toolbox.engines.diff.names import quote
from toolbox.engines.diff.trim import differing_middles
from toolbox.engines.diff.xdiff import Change

SLIDE_LINES: Final = 100
"""Common lines left at either end of what is compared, so that an edit among equal lines can
slide to where it reads best."""

TRIM_BYTES: Final = 1 << 15
"""Below this trimming costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk. Starts are 1-based; where a count is 0 they are the line before."""

    a_start: int
    a_lines: int
    b_start: int
    b_lines: int
    body: bytes
    """The lines with their signs, each ended by a newline, no-newline markers included."""

    @property
    def header(self) -> bytes:
        """`@@ -1,3 +1,4 @@`, without a newline; a count of 1 is left out, as git does."""
        return b"@@ -%s +%s @@" % (
            _range(self.a_start, self.a_lines),
            _range(self.b_start, self.b_lines),
        )

    @property
    def lines(self) -> list[bytes]:
        """The body's lines without their newlines."""
        return self.body.split(b"\n")[:-1]

    def render(self) -> bytes:
        """Header and body."""
        return self.header + b"\n" + self.body

    @property
    def insertions(self) -> int:
        return self.body.count(b"\n+") + self.body.startswith(b"+")

    @property
    def deletions(self) -> int:
        return self.body.count(b"\n-") + self.body.startswith(b"-")


def _range(start: int, lines: int) -> bytes:
    return b"%d" % start if lines == 1 else b"%d,%d" % (start, lines)


@dataclass(frozen=True)
class UnifiedDiff:
    """What turns a into b, or that they are equal under the options."""

    a_name: str
    b_name: str
    hunks: list[Hunk]
    a_lines: int
    b_lines: int
    note: str | None
    """Set where the edit budget ran out: which lines stand as one block replacement."""
    folded: bool
    """True where an option ignored differences: the text does not turn a into b."""

    @property
    def equal(self) -> bool:
        return not self.hunks

    @cached_property
    def insertions(self) -> int:
        return sum(hunk.insertions for hunk in self.hunks)

    @cached_property
    def deletions(self) -> int:
        return sum(hunk.deletions for hunk in self.hunks)

    @property
    def header(self) -> bytes:
        """The `---` and `+++` lines, each with its newline."""
        return b"--- " + quote(self.a_name) + b"\n+++ " + quote(self.b_name) + b"\n"

    def render(self) -> bytes:
        """The whole diff; empty where the sides are equal."""
        if not self.hunks:
            return b""
        return self.header + b"".join([hunk.render() for hunk in self.hunks])


def unified(
    a: bytes,
    b: bytes,
    *,
    a_name: str,
    b_name: str,
    context: int = 3,
    ignore_whitespace: bool = False,
    ignore_case: bool = False,
    deadline: HasCheck | None = None,
    lines_most: int = guard.LINES_MOST,
) -> UnifiedDiff:
    """The unified diff from a to b.

    context: common lines around each change; changes up to twice as many apart share a hunk.
    ignore_whitespace, ignore_case: see `fold.folder`; context lines are then a's. The names are
    printed as given, quoted where they need it. lines_most: past so many lines in what differs
    the search is bounded, and `note` says where it stopped.
    """
    folded = ignore_whitespace or ignore_case
    hunks: list[Hunk] = []
    note = None
    if a != b:
        if folded:
            hunks, note = _folded(
                a, b, context, ignore_whitespace, ignore_case, deadline, lines_most
            )
        else:
            hunks, note = _exact(a, b, context, deadline, lines_most)
    return UnifiedDiff(a_name, b_name, hunks, count(a), count(b), note, folded)


def changes(
    a: bytes,
    b: bytes,
    *,
    deadline: HasCheck | None = None,
    lines_most: int = guard.LINES_MOST,
) -> tuple[list[Change], str | None]:
    """The changed blocks from a to b as 0-based line ranges, and a note as `unified` has it."""
    if a == b:
        return [], None
    return _changes(a, b, deadline, lines_most)


def _trimmed(a: bytes, b: bytes, context: int) -> tuple[bytes, bytes, int]:
    """(middle of a, middle of b, lines before them)."""
    if len(a) + len(b) < TRIM_BYTES:
        return a, b, 0
    start, a_end, b_end = differing_middles(a, b, context + SLIDE_LINES)
    return a[start:a_end], b[start:b_end], a.count(b"\n", 0, start)


def _exact(
    a: bytes, b: bytes, context: int, deadline: HasCheck | None, lines_most: int
) -> tuple[list[Hunk], str | None]:
    a_middle, b_middle, before = _trimmed(a, b, context)
    lines = count(a_middle) + count(b_middle)
    if lines <= lines_most:
        minimal = lines <= xdiff.MINIMAL_LINES
        raw = xdiff.hunks(a_middle, b_middle, context, minimal=minimal)
        return [Hunk(h[0] + before, h[1], h[2] + before, h[3], h[4]) for h in raw], None
    found, note = _bounded(split(a_middle), split(b_middle), deadline, lines_most, before)
    return render(split(a), split(b), _shifted(found, before), context), note


def _changes(
    a: bytes, b: bytes, deadline: HasCheck | None, lines_most: int
) -> tuple[list[Change], str | None]:
    a_middle, b_middle, before = _trimmed(a, b, 0)
    lines = count(a_middle) + count(b_middle)
    if lines <= lines_most:
        minimal = lines <= xdiff.MINIMAL_LINES
        return _shifted(xdiff.changes(a_middle, b_middle, minimal=minimal), before), None
    found, note = _bounded(split(a_middle), split(b_middle), deadline, lines_most, before)
    return _shifted(found, before), note


def _folded(
    a: bytes,
    b: bytes,
    context: int,
    ignore_whitespace: bool,
    ignore_case: bool,
    deadline: HasCheck | None,
    lines_most: int,
) -> tuple[list[Hunk], str | None]:
    fold = folder(ignore_whitespace=ignore_whitespace, ignore_case=ignore_case)
    sides = split(a), split(b)
    texts = []
    for side in sides:
        text = b"".join([fold(line) + b"\n" for line in side.lines])
        texts.append(text if side.ended or ignore_whitespace else text[:-1])
    found, note = changes(*texts, deadline=deadline, lines_most=lines_most)
    return render(*sides, found, context), note


def _bounded(
    a: Lines, b: Lines, deadline: HasCheck | None, lines_most: int, before: int
) -> tuple[list[Change], str | None]:
    sides = []
    for side in (a, b):
        # A last line without its newline equals none that has one.
        sides.append(side.lines if side.ended else [*side.lines[:-1], side.lines[-1] + MARKER])
    found = guard.large_changes(*sides, deadline=deadline, lines_most=lines_most)
    if not found.blocks:
        return found.changes, None
    blocks = [
        f"lines {i + before + 1}-{k + before} of the first and {j + before + 1}-{m + before} "
        "of the second"
        for i, k, j, m in found.blocks[:3]
    ]
    if len(found.blocks) > 3:
        blocks.append(f"{len(found.blocks) - 3} more")
    return found.changes, (
        "the edit budget ran out, so each of these stands as one block replacement, not the "
        "shortest edits: " + "; ".join(blocks)
    )


def _shifted(found: list[Change], before: int) -> list[Change]:
    if not before:
        return found
    return [Change(*(place + before for place in change)) for change in found]


def render(a: Lines, b: Lines, found: list[Change], context: int) -> list[Hunk]:
    """The hunks that carry the changes; context lines are a's."""
    hunks: list[Hunk] = []
    at = 0
    while at < len(found):
        end = at + 1
        while end < len(found) and found[end].a_start - found[end - 1].a_end <= 2 * context:
            end += 1
        hunks.append(_render_one(a, b, found[at:end], context))
        at = end
    return hunks


def _render_one(a: Lines, b: Lines, group: list[Change], context: int) -> Hunk:
    first, last = group[0], group[-1]
    before = min(context, first.a_start)
    after = min(context, len(a.lines) - last.a_end)
    a_start, b_start = first.a_start - before, first.b_start - before
    a_end, b_end = last.a_end + after, last.b_end + after
    out: list[bytes] = []
    at = a_start
    for change in group:
        _sign(out, b" ", a, at, change.a_start)
        _sign(out, b"-", a, change.a_start, change.a_end)
        _sign(out, b"+", b, change.b_start, change.b_end)
        at = change.a_end
    _sign(out, b" ", a, at, a_end)
    a_lines, b_lines = a_end - a_start, b_end - b_start
    return Hunk(
        a_start + (1 if a_lines else 0),
        a_lines,
        b_start + (1 if b_lines else 0),
        b_lines,
        b"".join(out),
    )


def _sign(out: list[bytes], sign: bytes, side: Lines, start: int, end: int) -> None:
    if start == end:
        return
    out.append(sign)
    out.append((b"\n" + sign).join(side.lines[start:end]))
    out.append(b"\n")
    if end == len(side.lines) and not side.ended:
        out.append(MARKER)
