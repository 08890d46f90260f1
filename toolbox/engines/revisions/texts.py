"""What changed inside a file: line counts and hunks, as git counts them, and the patch to apply."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from toolbox.engines.diff import guard, xdiff
from toolbox.engines.diff.lines import count, is_utf8, show, split
from toolbox.engines.diff.myers import HasCheck
from toolbox.engines.diff.names import quote
from toolbox.engines.diff.unified import Hunk, unified
from toolbox.engines.diff.unified import render as render_changes
from toolbox.engines.revisions.changes import Change
from toolbox.engines.revisions.similarity import BINARY_BYTES, is_binary
from toolbox.engines.revisions.trees import SUBMODULE, Side

_NO_ID: Final = b"\0" * 20
_ID_DIGITS: Final = 12
_FLAGS: Final[Any] = 0x0010_0000 | 0x0004_0000  # FORCE_TEXT and INDENT_HEURISTIC of libgit2


Content = bytes | Any
"""A file's bytes: as such, or as a libgit2 blob (a buffer)."""


class Counts(NamedTuple):
    """Lines inserted and deleted."""

    insertions: int
    deletions: int


def content_of(side: Side, data: bytes) -> bytes:
    """What a diff compares: a file's bytes, a link's target, a submodule's commit as a line."""
    return b"Subproject commit %s\n" % side.id.hex().encode() if side.mode == SUBMODULE else data


def count_changes(old: Content, new: Content, deadline: HasCheck | None = None) -> Counts:
    """The lines that `git diff --numstat` counts between two texts."""
    import pygit2

    sizes = len(memoryview(old)), len(memoryview(new))
    if 0 in sizes:
        return Counts(count(bytes(new)), count(bytes(old)))
    if sum(sizes) > guard.LINES_MOST:  # a line has at least one byte
        a, b = bytes(old), bytes(new)
        if count(a) + count(b) > guard.LINES_MOST:
            found = unified(a, b, a_name="a", b_name="b", deadline=deadline)
            return Counts(found.insertions, found.deletions)
    # The arguments hold both texts until the numbers are read: the patch only points into them.
    patch = pygit2.Patch.create_from(old, new, flag=_FLAGS, context_lines=0)
    _, insertions, deletions = patch.line_stats
    return Counts(insertions, deletions)


def make_hunks(
    old: bytes, new: bytes, context: int, deadline: HasCheck | None = None
) -> tuple[list[Hunk], str | None]:
    """The hunks between two texts, and a note where they are not the fewest."""
    if old == new:
        return [], None
    if len(old) + len(new) > guard.LINES_MOST and count(old) + count(new) > guard.LINES_MOST:
        found = unified(old, new, a_name="a", b_name="b", context=context, deadline=deadline)
        return found.hunks, found.note
    return render_changes(
        split(old), split(new), xdiff.changes(old, new, minimal=False), context
    ), None


def either_binary(*contents: Content) -> bool:
    """Whether git would call the pair binary."""
    return any(is_binary(bytes(memoryview(one)[:BINARY_BYTES])) for one in contents)


class Part(NamedTuple):
    """One `diff --git` section: a change of type is two, a deletion and a creation."""

    change: Change
    hunks: list[Hunk]


def render(part: Part, *, binary: bool) -> bytes:
    """The section as `git apply` takes it."""
    change = part.change
    old, new = change.old, change.new
    a_path, b_path = change.from_path or change.path, change.path
    out = [b"diff --git %s %s\n" % (_name(b"a/" + a_path), _name(b"b/" + b_path))]
    if old is None and new is not None:
        out.append(b"new file mode %o\n" % new.mode)
    elif new is None and old is not None:
        out.append(b"deleted file mode %o\n" % old.mode)
    elif old is not None and new is not None and old.mode != new.mode:
        out.append(b"old mode %o\nnew mode %o\n" % (old.mode, new.mode))
    if change.status == "renamed":
        out.append(b"similarity index %d%%\n" % (change.similarity or 0))
        out.append(b"rename from %s\nrename to %s\n" % (_name(a_path), _name(b_path)))
    old_id = old.id if old is not None else _NO_ID
    new_id = new.id if new is not None else _NO_ID
    if old_id != new_id:
        line = b"index %s..%s" % (_short(old_id), _short(new_id))
        if old is not None and new is not None and old.mode == new.mode:
            line += b" %o" % new.mode
        out.append(line + b"\n")
    a_name = _label(b"a/" + a_path) if old is not None else b"/dev/null"
    b_name = _label(b"b/" + b_path) if new is not None else b"/dev/null"
    if binary:
        if old_id != new_id:
            out.append(b"Binary files %s and %s differ\n" % (a_name.strip(), b_name.strip()))
    elif part.hunks:
        out.append(b"--- %s\n+++ %s\n" % (a_name, b_name))
        out.extend(hunk.render() for hunk in part.hunks)
    return b"".join(out)


def _short(ident: bytes) -> bytes:
    return ident.hex()[:_ID_DIGITS].encode()


def _name(path: bytes) -> bytes:
    return _label(path).rstrip(b"\t")


def _label(path: bytes) -> bytes:
    return quote(path.decode("utf-8", "surrogateescape"))


__all__ = [
    "Counts", "Part", "content_of", "count_changes", "either_binary", "is_utf8", "make_hunks",
    "render", "show",
]  # fmt: skip
