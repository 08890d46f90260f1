"""Unified diffs, byte for byte: what they print turns one text into the other.

Common ends are trimmed on bytes, the middles go to xdiff, whose own text is taken; where the
sides are compared folded, or are too large for one pass, the changes are rendered here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

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

    def part(self, skip_lines: int, least_bytes: int) -> Hunk:
        """The body's lines from a place on, up to the first line end past `least_bytes` and one
        more, as a hunk of its own whose counts are not to be relied on."""
        skipped = self.body.split(b"\n", skip_lines)
        rest = skipped.pop()
        old = sum(line[:1] in b" -" for line in skipped)
        new = sum(line[:1] in b" +" for line in skipped)
        end = 0
        if len(rest) > least_bytes:
            end = rest.find(b"\n", rest.find(b"\n", least_bytes) + 1) + 1
        return Hunk(
            self.a_start + old + (0 if self.a_lines else 1),
            1,
            self.b_start + new + (0 if self.b_lines else 1),
            1,
            rest[:end] if end else rest,
        )

    @property
    def insertions(self) -> int:
        return self.body.count(b"\n+") + self.body.startswith(b"+")

    @property
    def deletions(self) -> int:
        return self.body.count(b"\n-") + self.body.startswith(b"-")


def _range(start: int, lines: int) -> bytes:
    return b"%d" % start if lines == 1 else b"%d,%d" % (start, lines)


@dataclass(frozen=True, slots=True)
class UnifiedDiff:
    """What turns a into b, or that they are equal under the options."""

    a_name: str
    b_name: str
    hunks: list[Hunk]
    insertions: int
    deletions: int
    a_lines: int
    b_lines: int
    note: str | None
    """Set where the edit budget ran out: which lines stand as one block replacement."""
    folded: bool
    """True where an option ignored differences: the text does not turn a into b."""

    @property
    def equal(self) -> bool:
        return not self.hunks

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
    if a == b:
        lines = count(a)
        return UnifiedDiff(a_name, b_name, [], 0, 0, lines, lines, None, folded)
    if folded:
        fold = folder(ignore_whitespace=ignore_whitespace, ignore_case=ignore_case)
        sides = split(a), split(b)
        hunks, note = _folded(sides, fold, ignore_whitespace, context, deadline, lines_most)
        return UnifiedDiff(
            a_name, b_name, *_counted(hunks), len(sides[0].lines), len(sides[1].lines), note, folded
        )
    middles = _trimmed(a, b, context + SLIDE_LINES)
    found, note = _exact(a, b, middles, context, deadline, lines_most)
    return UnifiedDiff(a_name, b_name, *found, middles.all_a, middles.all_b, note, folded)


class _Counted(NamedTuple):
    hunks: list[Hunk]
    insertions: int
    deletions: int


def _counted(hunks: list[Hunk]) -> _Counted:
    return _Counted(
        hunks, sum(hunk.insertions for hunk in hunks), sum(hunk.deletions for hunk in hunks)
    )


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


class _Middles(NamedTuple):
    """What differs of two texts, and the lines of it and around it."""

    a: bytes
    b: bytes
    a_lines: int
    b_lines: int
    before: int
    after: int

    @property
    def lines(self) -> int:
        return self.a_lines + self.b_lines

    @property
    def all_a(self) -> int:
        return self.before + self.a_lines + self.after

    @property
    def all_b(self) -> int:
        return self.before + self.b_lines + self.after


def _trimmed(a: bytes, b: bytes, keep_lines: int) -> _Middles:
    if len(a) + len(b) < TRIM_BYTES:
        return _Middles(a, b, count(a), count(b), 0, 0)
    start, a_end, b_end = differing_middles(a, b, keep_lines)
    x, y = a[start:a_end], b[start:b_end]
    return _Middles(x, y, count(x), count(y), a.count(b"\n", 0, start), count(a[a_end:]))


def _exact(
    a: bytes,
    b: bytes,
    middles: _Middles,
    context: int,
    deadline: HasCheck | None,
    lines_most: int,
) -> tuple[_Counted, str | None]:
    before = middles.before
    if middles.lines <= lines_most:
        minimal = middles.lines <= xdiff.MINIMAL_LINES
        raw, insertions, deletions = xdiff.hunks(middles.a, middles.b, context, minimal=minimal)
        hunks = [Hunk(h[0] + before, h[1], h[2] + before, h[3], h[4]) for h in raw]
        return _Counted(hunks, insertions, deletions), None
    found, note = _bounded(middles, deadline, lines_most)
    return _counted(render(split(a), split(b), _shifted(found, before), context)), note


def _changes(
    a: bytes, b: bytes, deadline: HasCheck | None, lines_most: int
) -> tuple[list[Change], str | None]:
    middles = _trimmed(a, b, SLIDE_LINES)
    if middles.lines <= lines_most:
        minimal = middles.lines <= xdiff.MINIMAL_LINES
        found = xdiff.changes(middles.a, middles.b, minimal=minimal)
        return _shifted(found, middles.before), None
    found, note = _bounded(middles, deadline, lines_most)
    return _shifted(found, middles.before), note


def _folded(
    sides: tuple[Lines, Lines],
    fold: Callable[[bytes], bytes],
    ignore_whitespace: bool,
    context: int,
    deadline: HasCheck | None,
    lines_most: int,
) -> tuple[list[Hunk], str | None]:
    texts = []
    for side in sides:
        text = b"".join([fold(line) + b"\n" for line in side.lines])
        texts.append(text if side.ended or ignore_whitespace else text[:-1])
    found, note = changes(*texts, deadline=deadline, lines_most=lines_most)
    return render(*sides, found, context), note


def _bounded(
    middles: _Middles, deadline: HasCheck | None, lines_most: int
) -> tuple[list[Change], str | None]:
    before = middles.before
    sides = []
    for side in (split(middles.a), split(middles.b)):
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
