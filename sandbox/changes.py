"""What a transaction is told to do, and what it did: the records between engines and the writer.

All changes of one call are meant against the workspace as it was before the call, so a swap is two
renames, and a path that a rename vacates may be created anew by another change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sandbox.root import RelPath, Stamp

Action = Literal["create", "replace", "remove", "rename", "copy", "mode"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file's change.

    - create: `path` must not exist (Exists otherwise); `data` is its content.
    - replace: `path` must be a regular file; `data` is its new content.
    - remove: `path` goes; emptied folders above it go with it, as `git apply` does.
    - rename: `source` becomes `path`; `data`, where given, is the new content, else it is kept.
    - copy: as rename, and `source` stays.
    - mode: only `executable` changes.

    executable: True or False sets or clears the x bits (new files get 0666 or 0777 less the
    umask); None keeps them. expect, expect_sha256: what the old file (`source` for rename and
    copy, else `path`) must still be; one that differs is Changed and nothing is written.
    """

    action: Action
    path: str
    data: bytes | None = None
    source: str | None = None
    executable: bool | None = None
    expect: Stamp | None = None
    expect_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class FileReceipt:
    """What happened to one file; hashes are hex SHA-256, None where there was or is no file.

    For rename and copy sha256_before is the source's.
    """

    path: RelPath
    action: Action
    source: RelPath | None
    sha256_before: str | None
    sha256_after: str | None
    backup: RelPath | None
    notes: tuple[str, ...] = ()
    """What the caller should know, e.g. that other hard links keep the old content."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A transaction that is done. id is what `undo` takes."""

    id: str
    files: tuple[FileReceipt, ...]
    notes: tuple[str, ...] = ()
    """What recovery did or kept before this transaction ran."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One transaction that can be undone, newest first in `history`."""

    id: str
    time_ns: int
    """When it was committed, since the epoch."""
    kind: str
    """`apply` or `undo`."""
    files: tuple[FileReceipt, ...]
    undone_by: str | None = None
    """The id of the undo that reverted it."""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo does or would do, a record for each path."""

    id: str
    files: tuple[FileReceipt, ...]
    receipt: Receipt | None
    """None for a dry run."""


@dataclass(frozen=True, slots=True)
class Report:
    """What recovery found at start; empty tuples where nothing was open."""

    rolled_back: tuple[str, ...] = ()
    """Ids of transactions that a crash had left open."""
    kept: tuple[RelPath, ...] = ()
    """Files that somebody edited after the crash: left as they are."""
    ignored: tuple[str, ...] = ()
    """Journals that are not this workspace's own, with the reason."""

    def as_json(self) -> dict[str, Any]:
        """For logs and replies."""
        return {
            "rolled_back": list(self.rolled_back),
            "kept": list(self.kept),
            "ignored": list(self.ignored),
        }
