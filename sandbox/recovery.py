"""Before every write: what a crash left open is rolled back, what is foreign is told."""

from __future__ import annotations

import logging
import os

from sandbox.changes import Report
from sandbox.errors import Protected
from sandbox.folders import Folders, Spot
from sandbox.journal import ID, Foreign, Journal
from sandbox.operations import Operations, write_failed
from sandbox.protect import Guard
from sandbox.resolve import FOLDER_FLAGS
from sandbox.rollback import delete_transaction, roll_back
from sandbox.root import RelPath, Root
from sandbox.state import State, read_journal

log = logging.getLogger("toolbox.sandbox")


def recover_open(root: Root, state: State, operations: Operations) -> Report:
    """Roll back every open transaction that is this workspace's own; the lock must be held."""
    rolled_back: list[str] = []
    kept: list[RelPath] = []
    ignored: list[str] = []
    for id in state.open_ids():
        try:
            fd = _open_transaction(state, id)
        except Foreign as exc:
            ignored.append(f"{id[:40]}: {exc}")
            continue
        folders = Folders(root)
        try:
            journal = read_journal(fd, id, root)
            if journal is None:  # a crash before the journal was whole: nothing was begun
                delete_transaction(state.open_fd, id, operations)
                continue
            _require_allowed(root, journal)
            kept += roll_back(root, state, folders, operations, journal, fd)
            rolled_back.append(id)
        except Foreign as exc:
            ignored.append(f"{id[:40]}: {exc}")
        except OSError as exc:
            log.error("transaction %s could not be rolled back: %s", id, exc.strerror)
            raise write_failed(exc, None) from exc  # nothing may be written over it
        finally:
            folders.close()
            os.close(fd)
    for line in ignored:
        log.warning("a journal in .toolbox/open was ignored: %s", line)
    for path in kept:
        log.warning("%s was edited after a crash and is kept as it is", path)
    return Report(tuple(rolled_back), tuple(kept), tuple(ignored))


def _open_transaction(state: State, id: str) -> int:
    if ID.match(id) is None:
        raise Foreign("its name is no id")
    try:
        return os.open(id, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=state.open_fd)
    except OSError as exc:
        raise Foreign(f"it is no folder: {exc.strerror}") from None


def _require_allowed(root: Root, journal: Journal) -> None:
    """A journal never leads where a call could not: the guard is asked again."""
    guard = Guard(root)
    try:
        for entry in journal.files:
            spot = Spot(entry.folder, entry.name)
            guard.check(spot.path, spot.shown)
            if entry.stage:
                guard.check(entry.stage, os.fsdecode(entry.stage))
        for folder in (*journal.made, *(one for one, _ in journal.emptied)):
            guard.check(folder, os.fsdecode(folder))
    except Protected as exc:
        raise Foreign(exc.message) from None
