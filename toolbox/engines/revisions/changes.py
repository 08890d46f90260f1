"""The list of changed files between two sides, renames found, in path order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from toolbox.engines.revisions import renames
from toolbox.engines.revisions.renames import Blobs, File
from toolbox.engines.revisions.similarity import FULL
from toolbox.engines.revisions.trees import Difference, Side

Status = Literal["added", "deleted", "modified", "renamed", "type_changed"]

LETTERS: dict[Status, str] = {
    "added": "A", "deleted": "D", "modified": "M", "renamed": "R", "type_changed": "T",
}  # fmt: skip


class Change(NamedTuple):
    """One changed file; old is None for an added one, new for a deleted one."""

    path: bytes
    status: Status
    old: Side | None
    new: Side | None
    from_path: bytes | None = None
    similarity: int | None = None
    """Of a rename, in percent, as git prints it."""


class Changes(NamedTuple):
    """The list, and what must be said of it."""

    files: list[Change]
    note: str | None


def assemble(
    differences: Sequence[Difference],
    blobs: Blobs,
    check: Callable[[], None],
    *,
    last_line_counts: bool = False,
) -> Changes:
    """What each difference is called; an added file like a deleted one is a rename of it."""
    deleted = [File(d.path, d.old) for d in differences if d.new is None and d.old is not None]
    added = [File(d.path, d.new) for d in differences if d.old is None and d.new is not None]
    found = renames.find(deleted, added, blobs, check, last_line_counts=last_line_counts)
    origin = {added[pair.target].path: pair for pair in found.pairs}
    moved = {deleted[pair.source].path for pair in found.pairs}
    files = []
    for path, old, new in differences:
        if old is None:
            pair = origin.get(path)
            if pair is None:
                files.append(Change(path, "added", None, new))
            else:
                source = deleted[pair.source]
                percent = pair.score * 100 // FULL
                files.append(Change(path, "renamed", source.side, new, source.path, percent))
        elif new is None:
            if path not in moved:
                files.append(Change(path, "deleted", old, None))
        elif old.kind != new.kind:
            files.append(Change(path, "type_changed", old, new))
        else:
            files.append(Change(path, "modified", old, new))
    return Changes(files, found.note)
