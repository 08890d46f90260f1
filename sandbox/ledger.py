"""A transaction's own folder and journal: begun, kept up, moved to the history at the end."""

from __future__ import annotations

import logging
import os

import msgspec

from sandbox.journal import NAME, STAGING_NAME, Journal, encode
from sandbox.limits import HISTORY_ENTRIES
from sandbox.operations import Operations
from sandbox.resolve import FOLDER_FLAGS
from sandbox.rollback import delete_transaction
from sandbox.state import State

log = logging.getLogger("toolbox.sandbox")


class Ledger:
    """The record of one transaction on disk, and in `journal`."""

    def __init__(self, state: State, operations: Operations, journal: Journal) -> None:
        self._state = state
        self._operations = operations
        self.journal = journal
        self.fd = -1
        """The transaction's folder, once it is begun."""
        self.committed = False

    def close(self) -> None:
        """Give the folder's descriptor back."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def begin(self) -> None:
        """Make the folder and the journal, synced before anything else is touched."""
        id = os.fsencode(self.journal.id)
        operations, state = self._operations, self._state
        operations.make_folder(state.open_fd, id, 0o700)
        fd = os.open(id, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=state.open_fd)
        try:
            self._write(fd)
            operations.fsync(fd)
            operations.fsync(state.open_fd)
            operations.fsync(state.fd)
        except BaseException:
            os.close(fd)
            raise
        self.fd = fd

    def update(self, journal: Journal) -> None:
        """Replace the journal by one that knows more."""
        self.journal = journal
        self._write(self.fd)
        self._operations.fsync(self.fd)

    def _write(self, fd: int) -> None:
        """Whole or not at all: written aside, then renamed."""
        operations = self._operations
        file = operations.create(fd, STAGING_NAME, 0o600)
        try:
            found = os.fstat(file)
            self.journal = msgspec.structs.replace(
                self.journal, ino=found.st_ino, time_ns=found.st_mtime_ns
            )
            operations.write(file, encode(self.journal))
            operations.fsync(file)
        finally:
            os.close(file)
        operations.rename(fd, STAGING_NAME, fd, NAME)

    def commit(self) -> None:
        """Move the folder to the history: from here on everything is as it shall be."""
        id = os.fsencode(self.journal.id)
        operations, state = self._operations, self._state
        operations.rename(state.open_fd, id, state.history_fd, id)
        self.committed = True
        try:
            operations.fsync(state.history_fd)
            operations.fsync(state.open_fd)
        except OSError as exc:
            try:
                operations.rename(state.history_fd, id, state.open_fd, id)
            except OSError:
                # Neither way is sure to last; what stands there now is the new, and whole.
                log.warning("a finished write may not survive a power cut: %s", exc.strerror)
                return
            self.committed = False
            raise

    def prune(self) -> None:
        """The oldest of the history go; a failure here is no failure of the write."""
        try:
            for id in self._state.history_ids()[HISTORY_ENTRIES:]:
                delete_transaction(self._state.history_fd, id, self._operations)
        except OSError as exc:
            log.warning("an old undo record could not be removed: %s", exc.strerror)
