"""One transaction as it runs, step by step, each of which a crash or a full disk may end."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence
from functools import partial

import msgspec

from sandbox.changes import Change
from sandbox.errors import SandboxError, WriteFailed
from sandbox.folders import Folders
from sandbox.journal import (
    READY,
    VERSION,
    After,
    Before,
    FileEntry,
    Journal,
    Kind,
    gone_name,
    new_id,
    old_name,
    temp_name,
)
from sandbox.ledger import Ledger
from sandbox.locking import Held
from sandbox.operations import Operations, write_failed
from sandbox.plan import make_plan
from sandbox.planned import Kept, Plan, Planned, hash_file
from sandbox.rollback import delete_transaction, roll_back
from sandbox.root import Root
from sandbox.state import State
from sandbox.writer import (
    changed,
    copy_file,
    is_same,
    link_or_copy,
    look,
    open_regular,
    put_new,
    put_over,
    take_away,
    write_new,
)

log = logging.getLogger("toolbox.sandbox")

_COLLISION_TRIES = 3


class _Collision(Exception):
    """Raised where a name that was free at the plan was taken meanwhile: all is undone, again."""


def run_changes(
    root: Root,
    held: Held,
    changes: Sequence[Change],
    *,
    backup: bool,
    kind: Kind,
    undoes: str | None = None,
    kept: dict[str, tuple[Kept, str]] | None = None,
    folder_modes: dict[bytes, int] | None = None,
) -> Journal:
    """Plan and do the changes under a held lock; the journal of what was done.

    kept: see `make_plan`. folder_modes: the modes of folders that have to be made, else 0777 less
    the umask.
    """
    if held.state is None:
        raise ValueError("writing needs the exclusive lock")
    for _ in range(_COLLISION_TRIES):
        folders = Folders(root)
        try:
            plan = make_plan(root, folders, changes, backup=backup, kept=kept)
            run = _Run(
                root,
                held.state,
                folders,
                held.operations,
                plan,
                kind,
                undoes,
                folder_modes or {},
            )
            return run.perform()
        except _Collision:
            continue
        except OSError as exc:
            raise write_failed(exc, None) from exc
        finally:
            folders.close()
    raise WriteFailed(
        "names that were free were taken again and again; nothing was changed",
        hint="call again when whatever makes files there is done",
    )


class _Run:
    """One transaction while it runs."""

    def __init__(
        self,
        root: Root,
        state: State,
        folders: Folders,
        operations: Operations,
        plan: Plan,
        kind: Kind,
        undoes: str | None,
        folder_modes: dict[bytes, int],
    ) -> None:
        self._root = root
        self._state = state
        self._folders = folders
        self._operations = operations
        self._files = plan.files
        self._index = {one.spot.path: number for number, one in enumerate(plan.files)}
        self._folder_modes = folder_modes
        self._at: str | None = None  # the path being worked on, for refusals
        journal = Journal(
            version=VERSION,
            id=new_id(),
            kind=kind,
            undoes=undoes,
            ino=0,
            root_ino=root.identity[1],
            time_ns=0,
            files=tuple(_entry(one) for one in plan.files),
            made=tuple(plan.made),
            emptied=tuple(plan.emptied),
            done=tuple(plan.done),
        )
        self._ledger = Ledger(state, operations, journal)

    @property
    def _journal(self) -> Journal:
        return self._ledger.journal

    @property
    def _fd(self) -> int:
        """The transaction's folder."""
        return self._ledger.fd

    def perform(self) -> Journal:
        """All of it, or nothing and the reason."""
        try:
            self._ledger.begin()
            self._keep_old()
            self._make_backups()
            self._prepare_new()
            self._verify_old()
            self._take_away()
            self._make_folders()
            self._put_in_place()
            self._clean_up()
            self._ledger.commit()
        except BaseException as exc:
            if not self._ledger.committed:
                self._give_up(exc)
            if isinstance(exc, OSError):
                raise write_failed(exc, self._at) from exc
            raise
        else:
            self._tidy()
            self._ledger.prune()
            return self._journal
        finally:
            self._ledger.close()

    def _give_up(self, exc: BaseException) -> None:
        """Roll back at once; what cannot be stays open for the next start."""
        id = self._journal.id
        try:
            if self._fd >= 0:
                kept = roll_back(
                    self._root,
                    self._state,
                    self._folders,
                    self._operations,
                    self._journal,
                    self._fd,
                )
                for path in kept:
                    log.warning("%s was changed by somebody else and is left as it is", path)
            else:
                delete_transaction(self._state.open_fd, id, self._operations)
        except (OSError, SandboxError) as second:
            log.error("transaction %s is left open: %s", id, second)
            raise WriteFailed(
                "the file system refused a write and then to put back what was written; "
                "it will be put back at the next write or start",
                hint="look at the disk, then send the same call again",
                at={"id": id},
            ) from exc

    # The steps, in order

    def _keep_old(self) -> None:
        for number, one in enumerate(self._files):
            if one.old is None:
                continue
            self._at = one.spot.shown
            folder = self._folders.fd(one.spot.folder)
            try:
                link_or_copy(self._operations, folder, one.spot.name, self._fd, old_name(number))
            except FileNotFoundError:
                raise changed(one.spot.shown) from None
            self._verify_kept(number, one)
        self._operations.fsync(self._fd)

    def _verify_kept(self, number: int, one: Planned) -> None:
        """The old file was reached by its name once more: it must be the one that was hashed."""
        assert one.old is not None
        found = look(self._fd, old_name(number))
        if found is not None and is_same(found, one.old.stamp):
            return
        try:  # a copy, where links are not to be had
            fd = open_regular(self._fd, old_name(number))
        except OSError:  # a link to a link
            raise changed(one.spot.shown) from None
        try:
            if hash_file(fd) != one.old.sha256:
                raise changed(one.spot.shown)
        finally:
            os.close(fd)

    def _make_backups(self) -> None:
        for number, one in enumerate(self._files):
            if one.backup is None or one.old is None:
                continue
            self._at = one.spot.shown
            folder = self._folders.fd(one.spot.folder)
            try:
                if one.shifted is not None:
                    self._operations.rename_new(folder, one.backup, folder, one.shifted)
                # Other hard links could be edited in place, and the backup with them.
                linked = one.old.links == 1 and self._operations.link(
                    self._fd, old_name(number), folder, one.backup
                )
                if not linked:
                    temp = temp_name(self._journal.id, number, "bak")
                    copy_file(self._operations, self._fd, old_name(number), folder, temp)
                    self._operations.rename_new(folder, temp, folder, one.backup)
            except (FileExistsError, FileNotFoundError):
                raise _Collision from None

    def _prepare_new(self) -> None:
        written: list[tuple[bytes, bytes]] = []
        for number, one in enumerate(self._files):
            stage = one.stage
            if stage is None:
                continue
            self._at = one.spot.shown
            folder = self._folders.fd(one.stage_folder)
            name = temp_name(self._journal.id, number, "new")
            try:
                if stage.link:
                    assert isinstance(stage.like, bytes)
                    source = old_name(self._index[stage.like])
                    link_or_copy(self._operations, self._fd, source, folder, name)
                    continue
                like = self._open_like(stage.like)
                try:
                    write_new(
                        self._operations,
                        folder,
                        name,
                        data=stage.data,
                        like_fd=like,
                        executable=stage.executable,
                        sync=False,
                    )
                    written.append((one.stage_folder, name))
                finally:
                    if like is not None:
                        os.close(like)
            except FileExistsError:
                raise _Collision from None

        self._at = None
        self._operations.fsync_all(
            [partial(self._reopen, folder_path, name) for folder_path, name in written]
        )

    def _reopen(self, folder: bytes, name: bytes) -> int:
        return open_regular(self._folders.fd(folder), name)

    def _reopen_folder(self, folder: bytes) -> int:
        return os.dup(self._folders.fd(folder))

    def _open_like(self, like: bytes | Kept | None) -> int | None:
        if like is None:
            return None
        if isinstance(like, Kept):
            return open_regular(like.folder_fd, like.name)
        return open_regular(self._fd, old_name(self._index[like]))

    def _verify_old(self) -> None:
        """Once more, after everything that takes long and before anything that shows."""
        for one in self._files:
            if one.old is not None:
                found = self._folders.look(one.spot)
                if found is None or not is_same(found, one.old.stamp):
                    raise changed(one.spot.shown)
        os.close(self._operations.create(self._fd, READY, 0o600))
        self._operations.fsync(self._fd)

    def _take_away(self) -> None:
        for number, one in enumerate(self._files):
            if one.old is None or not one.goes:
                continue
            self._at = one.spot.shown
            folder = self._folders.fd(one.spot.folder)
            places = [
                (self._fd, gone_name(number)),
                (folder, temp_name(self._journal.id, number, "gone")),  # beyond a mount
            ]
            for to_folder, to_name in places:
                try:
                    take_away(
                        self._operations,
                        folder,
                        one.spot.name,
                        to_folder,
                        to_name,
                        one.old.stamp,
                        one.spot.shown,
                    )
                    break
                except OSError as exc:
                    if exc.errno != errno.EXDEV or to_folder == folder:
                        raise
        for emptied, _ in self._journal.emptied:
            parent, _, name = emptied.rpartition(b"/")
            try:
                self._operations.remove_folder(self._folders.fd(parent), name)
            except OSError as exc:
                if not _is_not_empty(exc):
                    raise
                continue
            self._folders.forget(emptied)

    def _make_folders(self) -> None:
        for made in self._journal.made:
            self._at = os.fsdecode(made)
            parent, _, name = made.rpartition(b"/")
            self._folders.forget(made)
            try:
                self._operations.make_folder(self._folders.fd(parent), name, 0o777)
            except FileExistsError:
                raise _Collision from None
            mode = self._folder_modes.get(made)
            if mode is not None:
                self._operations.set_mode(self._folders.fd(made), mode)

    def _put_in_place(self) -> None:
        for number, one in enumerate(self._files):
            if one.stage is None:
                continue
            self._at = one.spot.shown
            temp = temp_name(self._journal.id, number, "new")
            folder = self._folders.fd(one.spot.folder)
            if one.old is None:
                stage = self._folders.fd(one.stage_folder)
                put_new(self._operations, stage, temp, folder, one.spot.name, one.spot.shown)
            else:
                put_over(
                    self._operations,
                    folder,
                    temp,
                    one.spot.name,
                    one.old.stamp,
                    one.spot.shown,
                )

    def _clean_up(self) -> None:
        """The old files' temporary names go, the folders are synced, the modes are known."""
        files = []
        for number, one in enumerate(self._files):
            entry = self._journal.files[number]
            if one.stage is not None:
                found = self._folders.look(one.spot)
                if found is None or entry.after is None:
                    raise changed(one.spot.shown)
                mode = found.st_mode & 0o7777
                entry = msgspec.structs.replace(
                    entry, after=msgspec.structs.replace(entry.after, mode=mode)
                )
                if one.old is not None:
                    folder = self._folders.fd(one.stage_folder)
                    self._operations.discard(folder, temp_name(self._journal.id, number, "new"))
            files.append(entry)
        self._at = None
        journal = msgspec.structs.replace(self._journal, files=tuple(files))
        self._operations.fsync_all(
            [
                partial(self._reopen_folder, folder)
                for folder in touched_folders(journal)
                if self._folders.exists(folder)
            ]
        )
        self._ledger.update(journal)

    def _tidy(self) -> None:
        """What the record need not keep goes; old files with other hard links become copies,
        which no edit elsewhere reaches. The write is done: a failure here is only logged."""
        operations, copy = self._operations, b"copy"
        try:
            for number, one in enumerate(self._files):
                if one.goes:
                    operations.discard(self._fd, gone_name(number))
                    if self._folders.exists(one.spot.folder):
                        beside = temp_name(self._journal.id, number, "gone")
                        operations.discard(self._folders.fd(one.spot.folder), beside)
                if one.old is not None and one.old.links > 1:
                    copy_file(operations, self._fd, old_name(number), self._fd, copy)
                    operations.rename(self._fd, copy, self._fd, old_name(number))
        except OSError as exc:
            log.warning("an undo record could not be tidied: %s", exc.strerror)


def _is_not_empty(exc: OSError) -> bool:
    return exc.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOENT)


def touched_folders(journal: Journal) -> list[bytes]:
    """Every folder whose entries the transaction changes, deepest last."""
    found: set[bytes] = set()
    for entry in journal.files:
        found.add(entry.folder)
        found.add(entry.stage)
    for folder in (*journal.made, *(one for one, _ in journal.emptied)):
        found.add(folder.rpartition(b"/")[0])
    return sorted(found)


def _entry(one: Planned) -> FileEntry:
    return FileEntry(
        folder=one.spot.folder,
        name=one.spot.name,
        before=None
        if one.old is None
        else Before(one.old.sha256, one.old.stamp.size, one.old.mode, one.old.stamp.ino),
        after=None if one.stage is None else After(one.stage.sha256, one.stage.size),
        stage=one.stage_folder,
        stays=one.stage is None and not one.goes,
        backup=one.backup,
        shifted=one.shifted,
    )
