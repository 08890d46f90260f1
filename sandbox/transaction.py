"""Many files or none: the one way in which workspace files are changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sandbox.changes import Change, HistoryEntry, Receipt, Report, UndoPlan
from sandbox.limits import HISTORY_ENTRIES, LOCK_SECONDS
from sandbox.root import Root


def commit(
    root: Root,
    changes: Sequence[Change],
    *,
    backup: bool = True,
    lock_seconds: float = LOCK_SECONDS,
) -> Receipt:
    """Do all changes or none; see `Change` for what each means.

    Raises Protected, Exists, NotFound, NotAFile, Changed, OutsideWorkspace, TooLarge, Busy or
    WriteFailed; after any of them the workspace is as before.
    """
    raise NotImplementedError


def check(root: Root, changes: Sequence[Change]) -> None:
    """Raise what `commit` would refuse, without writing: for dry runs."""
    raise NotImplementedError


def undo(
    root: Root, id: str, *, dry_run: bool, lock_seconds: float = LOCK_SECONDS
) -> UndoPlan:
    """Put back what the transaction changed, if none of its files changed since; else Changed,
    naming those that did (`at["changed"]`)."""
    raise NotImplementedError


def history(root: Root, limit: int = HISTORY_ENTRIES) -> list[HistoryEntry]:
    """The last transactions, newest first; empty where none was ever written. Reads only."""
    raise NotImplementedError


def recover(root: Root, *, lock_seconds: float = LOCK_SECONDS) -> Report:
    """Roll back what a crash left open. `commit` and `undo` do this first by themselves."""
    raise NotImplementedError


@contextmanager
def lock(root: Root, *, exclusive: bool, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the workspace's lock across daemons and processes; Busy where it is not had in time."""
    yield
    raise NotImplementedError
