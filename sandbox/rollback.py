"""Back to before: for a transaction that failed, and at start for one that a crash left open.

Each step looks at what is there first, so it can be stopped anywhere and begun again. A file that
is neither as it was before nor as the transaction made it was edited by somebody since: it is left
as it is, and told.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from typing import Final

from sandbox.errors import Changed
from sandbox.folders import Folders, Spot
from sandbox.journal import (
    NAME,
    READY,
    After,
    Before,
    FileEntry,
    Journal,
    Use,
    gone_name,
    old_name,
    temp_name,
)
from sandbox.operations import Operations
from sandbox.planned import hash_file
from sandbox.resolve import FOLDER_FLAGS
from sandbox.root import RelPath, Root, Stamp
from sandbox.state import State
from sandbox.writer import link_or_copy, look, open_regular, put_over

TEMPORARY: Final[tuple[Use, ...]] = ("new", "old", "bak")

log = logging.getLogger("toolbox.sandbox")


def roll_back(
    root: Root,
    state: State,
    folders: Folders,
    operations: Operations,
    journal: Journal,
    fd: int,
) -> list[RelPath]:
    """Put every path back and forget the transaction; the paths that somebody edited since."""
    work = _RollBack(folders, operations, journal, fd)
    kept = work.run()
    _sync(folders, operations, work.touched)
    operations.discard(fd, NAME)  # from here on there is nothing to roll back
    operations.fsync(fd)
    delete_transaction(state.open_fd, journal.id, operations)
    return kept


def _sync(folders: Folders, operations: Operations, touched: set[bytes]) -> None:
    for folder in sorted(touched):
        if folders.exists(folder):
            operations.fsync(folders.fd(folder))


def delete_transaction(parent_fd: int, id: str, operations: Operations) -> None:
    """Remove a transaction's folder with what it holds, its journal first."""
    try:
        fd = os.open(id, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent_fd)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        operations.discard(fd, NAME)
        for name in os.listdir(fd):
            operations.discard(fd, os.fsencode(name))
    finally:
        os.close(fd)
    operations.remove_folder(parent_fd, os.fsencode(id))


class _RollBack:
    def __init__(self, folders: Folders, operations: Operations, journal: Journal, fd: int) -> None:
        self._folders = folders
        self._operations = operations
        self._journal = journal
        self._fd = fd
        self._kept: list[RelPath] = []
        self._kept_entries: set[int] = set()
        self._moved = {
            one.before.ino for one in journal.files if one.before is not None and not one.stays
        }
        self._emptied = {folder for folder, _ in journal.emptied}
        self.touched: set[bytes] = set()

    def run(self) -> list[RelPath]:
        entries = [one for one in enumerate(self._journal.files) if not one[1].stays]
        if look(self._fd, READY) is not None:
            for number, entry in entries:
                if entry.after is not None:
                    self._undo_put(number, entry)
            self._remove_made()
            self._restore_emptied()
            for number, entry in entries:
                if entry.after is None:
                    self._undo_take(number, entry)
        else:
            for number, entry in entries:
                self._note_edit(number, entry)
        for number, entry in entries:
            self._drop_temporaries(number, entry)
        for number, entry in entries:
            if number not in self._kept_entries:
                self._undo_backup(number, entry)
        return self._kept

    # What was put in place

    def _undo_put(self, number: int, entry: FileEntry) -> None:
        folder = self._folder(entry.folder)
        found = look(folder, entry.name) if folder is not None else None
        if entry.before is None:
            if found is None or folder is None or self._still_folder(entry, found):
                return
            if self._is_staged(number, entry) or not self._is_ours(entry, folder, found):
                self._keep(number, entry)
                return
            self._operations.unlink(folder, entry.name)
            self.touched.add(entry.folder)
            return
        if found is not None and folder is not None:
            if found.st_ino == entry.before.ino and stat.S_ISREG(found.st_mode):
                self._note_edit(number, entry)
                return
            if self._gave_way(number, entry, folder):
                self._keep(number, entry)
                return
            if self._is_ours(entry, folder, found) and not self._is_staged(number, entry):
                self._bring_back(number, entry, folder, found)
                return
            if self._matches(folder, entry.name, entry.before):
                return
        self._keep(number, entry)

    def _is_ours(self, entry: FileEntry, folder: int, found: os.stat_result) -> bool:
        """Whether what stands there was put there by the transaction.

        A file that it renamed is so even where somebody edited it since: the edit goes back with
        the file to its old name.
        """
        assert entry.after is not None
        own = entry.before.ino if entry.before is not None else None
        if stat.S_ISREG(found.st_mode) and found.st_ino in self._moved - {own}:
            return True
        return self._matches(folder, entry.name, entry.after)

    def _still_folder(self, entry: FileEntry, found: os.stat_result) -> bool:
        """Whether a folder stands there that the transaction would have removed."""
        path = Spot(entry.folder, entry.name).path
        return stat.S_ISDIR(found.st_mode) and path in self._emptied

    def _gave_way(self, number: int, entry: FileEntry, folder: int) -> bool:
        """Whether a swap had moved somebody's edit aside and a crash came before it was seen: it
        takes its place again."""
        assert entry.before is not None and entry.after is not None
        temp = temp_name(self._journal.id, number, "new")
        found = look(folder, temp)
        if (
            found is None
            or found.st_ino == entry.before.ino
            or self._matches(folder, temp, entry.after)
        ):
            return False
        return self._operations.exchange(folder, temp, entry.name)

    def _is_staged(self, number: int, entry: FileEntry) -> bool:
        """Whether the new content still waits aside: then what stands there is not ours."""
        stage = self._folder(entry.stage)
        if stage is None:
            return False
        found = look(stage, temp_name(self._journal.id, number, "new"))
        return found is not None and (entry.before is None or found.st_ino != entry.before.ino)

    def _bring_back(
        self, number: int, entry: FileEntry, folder: int, found: os.stat_result
    ) -> None:
        """The old file takes its place again, by one atomic call."""
        if self._old(number) is None:
            self._keep(number, entry)
            return
        temp = temp_name(self._journal.id, number, "old")
        self._operations.discard(folder, temp)
        link_or_copy(self._operations, self._fd, old_name(number), folder, temp)
        try:
            put_over(self._operations, folder, temp, entry.name, Stamp.from_stat(found), "")
        except Changed:
            self._keep(number, entry)
        else:
            self._note_edit(number, entry)
        self._operations.discard(folder, temp)
        self.touched.add(entry.folder)

    def _drop_temporaries(self, number: int, entry: FileEntry) -> None:
        for path in dict.fromkeys((entry.stage, entry.folder)):
            folder = self._folder(path)
            if folder is None:
                continue
            for use in TEMPORARY:
                name = temp_name(self._journal.id, number, use)
                if look(folder, name) is not None:
                    self._operations.discard(folder, name)
                    self.touched.add(path)

    # Folders

    def _remove_made(self) -> None:
        for made in reversed(self._journal.made):
            parent, _, name = made.rpartition(b"/")
            folder = self._folder(parent)
            if folder is None or self._folder(made) is None:
                continue
            try:
                self._operations.remove_folder(folder, name)
            except OSError as exc:
                if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY):
                    raise
                continue  # somebody put something in
            self._folders.forget(made)
            self.touched.add(parent)

    def _restore_emptied(self) -> None:
        for emptied, mode in reversed(self._journal.emptied):
            parent, _, name = emptied.rpartition(b"/")
            folder = self._folder(parent)
            if folder is None:
                continue
            if look(folder, name) is None:
                self._folders.forget(emptied)
                self._operations.make_folder(folder, name, mode)
                self.touched.add(parent)
            # The umask may have taken bits, now or right before a crash in an earlier recovery.
            made = self._folder(emptied)
            if (
                made is not None
                and os.fstat(made).st_mode & 0o7777 != mode
                and not os.listdir(made)
            ):
                self._operations.set_mode(made, mode)

    # What was taken away

    def _undo_take(self, number: int, entry: FileEntry) -> None:
        before = entry.before
        if before is None:
            return
        folder = self._folder(entry.folder)
        found = look(folder, entry.name) if folder is not None else None
        if found is not None and folder is not None:
            if found.st_ino == before.ino and stat.S_ISREG(found.st_mode):
                self._note_edit(number, entry)
            elif not self._matches(folder, entry.name, before):
                self._keep(number, entry)
            return
        if folder is None:
            self._keep(number, entry)
            return
        self.touched.add(entry.folder)
        beside = temp_name(self._journal.id, number, "gone")
        for place, name in ((self._fd, gone_name(number)), (folder, beside)):
            gone = look(place, name)
            if gone is None:
                continue
            try:
                self._operations.rename_new(place, name, folder, entry.name)
            except FileExistsError:
                self._keep(number, entry)
                return
            if gone.st_ino != before.ino:
                # Somebody's edit was moved aside, and a crash came before it was seen.
                self._keep(number, entry)
            else:
                self._note_edit(number, entry)
            return
        self._keep(number, entry)  # somebody else took it away

    # Backups

    def _undo_backup(self, number: int, entry: FileEntry) -> None:
        """The backup goes and its predecessor takes its name again, where that was done."""
        if entry.backup is None or entry.before is None:
            return
        folder = self._folder(entry.folder)
        if folder is None:
            return
        moved = look(folder, entry.shifted) if entry.shifted is not None else None
        if entry.shifted is not None and moved is None:
            return  # its predecessor was never moved, so it was never made
        found = look(folder, entry.backup)
        if found is not None:
            old = self._old(number)
            ours = old is not None and (found.st_dev, found.st_ino) == (old.st_dev, old.st_ino)
            if not ours and not self._matches(folder, entry.backup, entry.before):
                return
            if old is None:
                return
            self._operations.unlink(folder, entry.backup)
            self.touched.add(entry.folder)
        if entry.shifted is not None:
            try:
                self._operations.rename_new(folder, entry.shifted, folder, entry.backup)
            except FileExistsError:
                return
            self.touched.add(entry.folder)

    # Looking

    def _folder(self, path: bytes) -> int | None:
        try:
            return self._folders.fd(path)
        except (FileNotFoundError, NotADirectoryError, Changed):
            return None

    def _old(self, number: int) -> os.stat_result | None:
        return look(self._fd, old_name(number))

    def _matches(self, folder: int, name: bytes, side: Before | After) -> bool:
        """Whether a regular file with that content stands there."""
        found = look(folder, name)
        if found is None or not stat.S_ISREG(found.st_mode) or found.st_size != side.size:
            return False
        try:
            fd = open_regular(folder, name)
        except (OSError, Changed):
            return False
        try:
            return hash_file(fd) == side.sha256
        finally:
            os.close(fd)

    def _note_edit(self, number: int, entry: FileEntry) -> None:
        """No call of ours changed what stands there; whether somebody did is worth telling."""
        folder = self._folder(entry.folder)
        if entry.before is None:
            found = look(folder, entry.name) if folder is not None else None
            edited = found is not None and not self._still_folder(entry, found)
        else:
            edited = folder is None or not self._matches(folder, entry.name, entry.before)
        if edited:
            self._kept.append(Spot(entry.folder, entry.name).shown)

    def _keep(self, number: int, entry: FileEntry) -> None:
        """Leave it, and its backup, which then is the only name of the old content."""
        self._kept.append(Spot(entry.folder, entry.name).shown)
        self._kept_entries.add(number)
