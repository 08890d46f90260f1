"""Many files or none: the one way in which workspace files are changed.

The journal is synced before anything else; it names every file that will be touched and every
temporary. New content is prepared and synced aside, the old files get a second name in the
transaction's folder, then each path changes by one atomic call. Moving the transaction's folder
from `open` to `history` is the commit. A crash before it is rolled back at the next start, by the
journal; nothing has to be done after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from sandbox.changes import Change, Receipt, Report
from sandbox.execution import run_changes
from sandbox.folders import Folders
from sandbox.history import history, undo
from sandbox.limits import LOCK_SECONDS
from sandbox.locking import Held, lock
from sandbox.operations import Operations
from sandbox.plan import make_plan
from sandbox.receipts import receipts, recovery_notes
from sandbox.root import Root
from sandbox.state import State

__all__ = ["Held", "check", "commit", "history", "lock", "recover", "undo"]


def recover(
    root: Root, *, lock_seconds: float = LOCK_SECONDS, operations: Operations | None = None
) -> Report:
    """Roll back what a crash left open. `commit` and `undo` do this first by themselves.

    Where nothing is open nothing is written, so it can be asked of a read-only workspace.
    """
    state = State.find(root)
    if state is None:
        return Report()
    with state:
        if not state.open_ids():
            return Report()
    with lock(root, exclusive=True, seconds=lock_seconds, operations=operations) as held:
        return held.report


def check(root: Root, changes: Sequence[Change]) -> None:
    """Raise what `commit` would refuse, without writing: for dry runs."""
    folders = Folders(root)
    try:
        make_plan(root, folders, changes, backup=True)
    finally:
        folders.close()


def commit(
    root: Root,
    changes: Sequence[Change],
    *,
    backup: bool = True,
    lock_seconds: float = LOCK_SECONDS,
    held: Held | None = None,
    operations: Operations | None = None,
) -> Receipt:
    """Do all changes or none; see `Change` for what each means.

    held: the exclusive lock, where the caller has it already. Raises Protected, Exists, NotFound,
    NotAFile, Changed, OutsideWorkspace, TooLarge, Busy or WriteFailed; after any of them the
    workspace is as before.
    """
    if held is None:
        check(root, changes)  # a refusal must not even make `.toolbox/`
    taken = (
        nullcontext(held)
        if held is not None
        else lock(root, exclusive=True, seconds=lock_seconds, operations=operations)
    )
    with taken as mine:
        journal = run_changes(root, mine, changes, backup=backup, kind="apply")
        return Receipt(journal.id, receipts(journal), recovery_notes(mine.report))
