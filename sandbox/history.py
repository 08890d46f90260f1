"""What was written, and how to take it back: the transactions that are kept, newest first."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from sandbox.changes import Action, Change, FileReceipt, HistoryEntry, Receipt, UndoPlan
from sandbox.errors import Changed, InvalidPath, NotFound, SandboxError
from sandbox.execution import run_changes
from sandbox.folders import Folders, Spot
from sandbox.journal import ID, FileEntry, Foreign, Journal, old_name
from sandbox.limits import HISTORY_ENTRIES, LOCK_SECONDS
from sandbox.locking import Held, lock
from sandbox.operations import Operations
from sandbox.plan import make_plan
from sandbox.planned import Kept, hash_file, look_at
from sandbox.receipts import receipts, recovery_notes
from sandbox.resolve import FOLDER_FLAGS
from sandbox.root import RelPath, Root
from sandbox.state import State, read_journal
from sandbox.writer import open_regular


def history(root: Root, limit: int = HISTORY_ENTRIES) -> list[HistoryEntry]:
    """The last transactions, newest first; empty where nothing was ever written. Reads only.

    Records that were copied here with the workspace are left out: see `sandbox.journal`.
    """
    state = State.find(root)
    if state is None:
        return []
    with state:
        journals = list(_journals(root, state))
    undone: dict[str, str] = {}
    undoes = {one.id: one.undoes for one in journals}
    for one in reversed(journals):
        if one.undoes is not None:
            undone[one.undoes] = one.id
            redone = undoes.get(one.undoes)  # an undo that is undone leaves the first as it was
            if redone is not None:
                undone.pop(redone, None)
    return [
        HistoryEntry(one.id, one.time_ns, one.kind, receipts(one), undone.get(one.id))
        for one in journals[: max(limit, 0)]
    ]


def _journals(root: Root, state: State) -> Iterator[Journal]:
    for id in state.history_ids()[:HISTORY_ENTRIES]:
        try:
            fd = os.open(id, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=state.history_fd)
        except OSError:
            continue
        try:
            journal = read_journal(fd, id, root)
        except Foreign:
            continue
        finally:
            os.close(fd)
        if journal is not None:
            yield journal


def undo(
    root: Root,
    id: str,
    *,
    dry_run: bool,
    lock_seconds: float = LOCK_SECONDS,
    held: Held | None = None,
    operations: Operations | None = None,
) -> UndoPlan:
    """Put back what a transaction changed: bytes, modes, creations, deletions, renames.

    Only if none of its files changed since; else Changed, and `at["changed"]` names those that
    did. An undo is a transaction of its own, with its own id, and can be undone.
    """
    if dry_run:
        state = State.find(root)
        if state is None:
            raise _unknown(root, id)
        with state, _kept_transaction(root, state, id) as (journal, fd):
            changes, _, folders = _put_back(root, journal, fd)
            folders.close()
            return UndoPlan(id, tuple(_preview(one, journal) for one in changes), None)
    undo(root, id, dry_run=True)  # a refusal must not write anything
    taken = (
        nullcontext(held)
        if held is not None
        else lock(root, exclusive=True, seconds=lock_seconds, operations=operations)
    )
    with taken as mine:
        if mine.state is None:
            raise ValueError("undo needs the exclusive lock")
        with _kept_transaction(root, mine.state, id) as (journal, fd):
            changes, kept, folders = _put_back(root, journal, fd)
            folders.close()
            done = run_changes(
                root,
                mine,
                changes,
                backup=False,
                kind="undo",
                undoes=id,
                kept=kept,
                folder_modes=dict(journal.emptied),
            )
        receipt = Receipt(done.id, receipts(done), recovery_notes(mine.report))
        return UndoPlan(id, receipt.files, receipt)


def _unknown(root: Root, id: str) -> NotFound:
    known = [one.id for one in history(root)]
    hint = f"the last one is {known[0]}; history lists them" if known else "nothing was written yet"
    return NotFound(f"no transaction {id[:64]} is kept", hint=hint, at={"id": id[:64]})


@contextmanager
def _kept_transaction(root: Root, state: State, id: str) -> Iterator[tuple[Journal, int]]:
    """The journal of a finished transaction and its open folder."""
    if ID.match(id) is None:
        raise InvalidPath(
            f"expected an id such as history lists, got {id[:64]!r}",
            hint="history lists the ids",
        )
    try:
        fd = os.open(id, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=state.history_fd)
    except OSError:
        raise _unknown(root, id) from None
    try:
        try:
            journal = read_journal(fd, id, root)
        except Foreign as exc:
            raise NotFound(f"the record of {id} is not this workspace's: {exc}") from None
        if journal is None:
            raise _unknown(root, id)
        yield journal, fd
    finally:
        os.close(fd)


def _put_back(
    root: Root, journal: Journal, fd: int
) -> tuple[list[Change], dict[str, tuple[Kept, str]], Folders]:
    """The changes that put everything back, and the old files that they need."""
    folders = Folders(root)
    try:
        changed: list[str] = []
        changes: list[Change] = []
        kept: dict[str, tuple[Kept, str]] = {}
        for number, entry in enumerate(journal.files):
            if entry.stays:
                continue
            spot = Spot(entry.folder, entry.name)
            if not _is_as_left(root, folders, spot, entry):
                changed.append(spot.shown)
                continue
            expected = entry.after.sha256 if entry.after is not None else None
            if entry.before is None:
                if entry.after is not None:
                    changes.append(Change("remove", spot.shown, expect_sha256=expected))
                continue
            old = _old_file(fd, number, entry)
            if old is None:
                changed.append(f"{spot.shown} (its kept copy)")
                continue
            kept[spot.shown] = (old, entry.before.sha256)
            action: Action = "create" if entry.after is None else "replace"
            changes.append(Change(action, spot.shown, expect_sha256=expected))
        if changed:
            raise Changed(
                f"{len(changed)} of {len(journal.files)} files changed since: "
                + ", ".join(changed[:10]),
                hint=_hint(root, journal),
                at={"id": journal.id, "changed": changed},
            )
        make_plan(root, folders, changes, backup=False, kept=kept)
    except BaseException:
        folders.close()
        raise
    return changes, kept, folders


def _hint(root: Root, journal: Journal) -> str:
    for one in history(root):
        if one.id == journal.id and one.undone_by is not None:
            return f"it was undone by {one.undone_by} already"
    return "nothing was changed; put those back by hand, or make a patch of what you want"


def _is_as_left(root: Root, folders: Folders, spot: Spot, entry: FileEntry) -> bool:
    """Whether the path is as the transaction left it."""
    try:
        found = folders.look(spot)
        if entry.after is None:
            return found is None or (
                # The file went, and a folder stands there by the same transaction.
                stat.S_ISDIR(found.st_mode)
            )
        if found is None or not stat.S_ISREG(found.st_mode):
            return False
        now = look_at(root, folders, spot)
    except SandboxError:
        return False
    same_mode = entry.after.mode is None or entry.after.mode == now.mode
    return now.sha256 == entry.after.sha256 and same_mode


def _old_file(fd: int, number: int, entry: FileEntry) -> Kept | None:
    """The old file in the transaction's folder, if nobody edited it there or through a link."""
    assert entry.before is not None
    name = old_name(number)
    try:
        file = open_regular(fd, name)
    except (OSError, Changed):
        return None
    try:
        whole = hash_file(file) == entry.before.sha256
    finally:
        os.close(file)
    return Kept(fd, name, entry.before.size) if whole else None


def _preview(change: Change, journal: Journal) -> FileReceipt:
    for entry in journal.files:
        spot = Spot(entry.folder, entry.name)
        if spot.shown == change.path:
            return FileReceipt(
                path=RelPath(change.path),
                action=change.action,
                source=None,
                sha256_before=entry.after.sha256 if entry.after is not None else None,
                sha256_after=entry.before.sha256 if entry.before is not None else None,
                backup=None,
            )
    raise AssertionError("a change without its entry")
