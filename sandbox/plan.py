"""From changes as they are asked for to one plan by path, every refusal before the first write.

The plan says for each path what stands there before and what shall stand there after. Since every
new content is prepared aside, no order among the paths matters: swaps, chains, a file that becomes
a folder and a folder that becomes a file are all the same.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sandbox.backups import choose_backup
from sandbox.changes import Change
from sandbox.errors import (
    Changed,
    Exists,
    InvalidPath,
    NotAFile,
    TooLarge,
)
from sandbox.folders import Folders, Found, Spot, find_spot, parents
from sandbox.journal import Done
from sandbox.limits import STAGED_BYTES, TRANSACTION_FILES
from sandbox.planned import Kept, Old, Plan, Planned, Stage, look_at
from sandbox.protect import Guard
from sandbox.root import Root, kind_of


@dataclass(slots=True)
class _Wanted:
    change: Change
    target: Found
    source: Found | None
    kept: Kept | None = None
    kept_sha256: str = ""


def make_plan(
    root: Root,
    folders: Folders,
    changes: Sequence[Change],
    *,
    backup: bool,
    kept: dict[str, tuple[Kept, str]] | None = None,
) -> Plan:
    """The plan, or the refusal that names the first path that cannot be done.

    kept: for an undo, the old files by path, with their hashes; they stand in for `data`.
    """
    return _Planner(root, folders, backup, kept or {}).plan(changes)


class _Planner:
    def __init__(
        self, root: Root, folders: Folders, backup: bool, kept: dict[str, tuple[Kept, str]]
    ) -> None:
        self._root = root
        self._folders = folders
        self._backup = backup
        self._kept = kept
        self._guard = Guard(root)
        self._files: dict[bytes, Planned] = {}
        self._vacated: set[bytes] = set()
        self._filled: dict[bytes, Change] = {}
        self._done: list[tuple[_Wanted, Spot, bool]] = []

    def plan(self, changes: Sequence[Change]) -> Plan:
        if not changes:
            raise InvalidPath("expected at least one change, got none")
        if len(changes) > TRANSACTION_FILES:
            raise TooLarge(
                f"expected at most {TRANSACTION_FILES} files in one transaction, "
                f"got {len(changes)}",
                hint="split the patch",
            )
        staged = sum(len(one.data) for one in changes if one.data is not None)
        if staged > STAGED_BYTES:
            raise TooLarge(f"expected at most {STAGED_BYTES} bytes of new content, got {staged}")
        wanted = [self._resolve(change) for change in changes]
        for one in wanted:
            self._claim(one)
        for one in wanted:
            self._load(one)
        for one in wanted:
            self._check_target(one)
            self._stage(one)
        self._refuse_twins()
        plan = Plan(files=sorted(self._files.values(), key=lambda one: one.spot.path))
        plan.made = self._made()
        plan.emptied = self._emptied()
        for planned in plan.files:
            planned.goes = planned.stage is None and planned.spot.path in self._vacated
            if planned.stage is not None:
                planned.stage_folder = self._folders.nearest(planned.spot.folder)
        self._choose_backups(wanted)
        plan.done = [self._receipt(one) for one in wanted]
        return plan

    # Which paths

    def _resolve(self, change: Change) -> _Wanted:
        target = find_spot(self._root, self._folders, change.path)
        self._guard.check(target.spot.path, target.spot.shown)
        source = None
        if change.source is not None:
            source = find_spot(self._root, self._folders, change.source)
            if change.action != "copy":
                self._guard.check(source.spot.path, source.spot.shown)
        if (change.action in ("rename", "copy")) != (source is not None):
            raise InvalidPath(f"expected a source for rename and copy only, at {change.path}")
        kept, sha256 = self._kept.get(change.path, (None, ""))
        if change.action in ("create", "replace") and change.data is None and kept is None:
            raise InvalidPath(f"expected content to {change.action} {change.path}")
        return _Wanted(change, target, source, kept, sha256)

    def _claim(self, one: _Wanted) -> None:
        action = one.change.action
        if action == "remove":
            self._vacate(one.target)
        elif action == "rename":
            assert one.source is not None
            self._vacate(one.source)
        if action != "remove":
            path = one.target.spot.path
            if path in self._filled:
                raise InvalidPath(
                    f"two changes onto one file: {one.target.spot.shown}",
                    hint="put them into one change",
                    at={"path": one.target.spot.shown},
                )
            self._filled[path] = one.change

    def _vacate(self, found: Found) -> None:
        spot = found.spot
        if found.through_link:
            raise NotAFile(
                f"expected a file, got a link that ends at {spot.shown}",
                hint=f"name {spot.shown} itself",
                at={"path": spot.shown},
            )
        if spot.path in self._vacated:
            raise InvalidPath(
                f"two changes take away one file: {spot.shown}", at={"path": spot.shown}
            )
        self._vacated.add(spot.path)

    # What stands there

    def _load(self, one: _Wanted) -> None:
        change = one.change
        if change.action == "create":
            return
        found = one.source if one.source is not None else one.target
        if found.spot.path in self._vacated and change.action in ("replace", "mode"):
            raise InvalidPath(
                f"one change takes {found.spot.shown} away and another edits it",
                at={"path": found.spot.shown},
            )
        old = self._old(found.spot)
        expected = change.expect_sha256
        stale = expected is not None and expected.lower() != old.sha256
        if expected is None and change.expect is not None:
            stale = change.expect != old.stamp
        if stale:
            raise Changed(
                f"{found.spot.shown} is not what was expected: it changed since it was looked at",
                hint="read it again and make the change anew",
                at={
                    "path": found.spot.shown,
                    "expected_sha256": expected,
                    "sha256": old.sha256,
                },
            )

    def _old(self, spot: Spot) -> Old:
        """The file at a spot, read and hashed once; every vacated or copied path has one."""
        planned = self._files.get(spot.path)
        if planned is not None and planned.old is not None:
            return planned.old
        old = look_at(self._root, self._folders, spot)
        self._files[spot.path] = Planned(spot, old)
        return old

    def _check_target(self, one: _Wanted) -> None:
        """Refuse a new file where something stands that does not go."""
        change, target = one.change, one.target
        spot = target.spot
        if target.blocked_by is not None and target.blocked_by not in self._vacated:
            blocked = os.fsdecode(target.blocked_by)
            raise NotAFile(
                f"{spot.shown} asks for a folder at {blocked}, which is a file",
                at={"path": spot.shown},
            )
        if change.action not in ("create", "rename", "copy") or spot.path in self._vacated:
            return
        if target.through_link:
            raise self._exists(spot, "a link")
        found = self._folders.look(spot)
        if found is None:
            return
        if stat.S_ISDIR(found.st_mode):
            under = spot.path + b"/"
            if any(path.startswith(under) for path in self._vacated):
                return  # emptied by this transaction; if not, the rename says so
        elif self._is_case_only(spot, found):
            return
        raise self._exists(spot, f"a {kind_of(found.st_mode)}")

    def _exists(self, spot: Spot, what: str) -> Exists:
        return Exists(
            f"expected nothing at {spot.shown}, got {what}",
            hint="choose another name, or change what is there",
            at={"path": spot.shown},
        )

    def _is_case_only(self, spot: Spot, found: os.stat_result) -> bool:
        """Whether the name is another spelling of a vacated one, not an entry of its own."""
        identity = (found.st_dev, found.st_ino)
        for path in self._vacated:
            planned = self._files.get(path)
            if planned is None or planned.old is None or planned.spot.folder != spot.folder:
                continue
            if planned.old.stamp[:2] == identity:
                with os.scandir(self._folders.fd(spot.folder)) as entries:
                    return all(os.fsencode(entry.name) != spot.name for entry in entries)
        return False

    def _refuse_twins(self) -> None:
        """On a file system that folds names, two paths of the plan may be one file."""
        seen: dict[tuple[int, ...], Planned] = {}
        for planned in self._files.values():
            if planned.old is None or planned.old.links > 1:
                continue
            other = seen.setdefault(planned.old.stamp[:2], planned)
            if other is not planned:
                raise InvalidPath(
                    f"{other.spot.shown} and {planned.spot.shown} are one file on this file system",
                    at={"path": planned.spot.shown},
                )

    # What shall stand there

    def _stage(self, one: _Wanted) -> None:
        change = one.change
        if change.action == "remove":
            return
        planned = self._files.setdefault(one.target.spot.path, Planned(one.target.spot))
        if one.kept is not None:
            planned.stage = Stage(None, one.kept, None, False, one.kept_sha256, one.kept.size)
            return
        if change.action == "create":
            assert change.data is not None
            planned.stage = _bytes_stage(change.data, None, change.executable or False)
            return
        like = (one.source or one.target).spot
        if change.data is not None:
            planned.stage = _bytes_stage(change.data, like.path, change.executable)
            return
        old = self._old(like)
        link = change.action == "rename" and change.executable is None
        planned.stage = Stage(None, like.path, change.executable, link, old.sha256, old.stamp.size)

    def _made(self) -> list[bytes]:
        missing: set[bytes] = set()
        for path in self._filled:
            for folder in parents(self._files[path].spot.folder):
                if folder in missing or self._folders.exists(folder):
                    break
                missing.add(folder)
        return sorted(missing, key=lambda one: (one.count(b"/"), one))

    def _emptied(self) -> list[tuple[bytes, int]]:
        needed = {b""}
        for path in self._filled:
            needed.update(parents(self._files[path].spot.folder))
        found: dict[bytes, int] = {}
        for path in self._vacated - self._filled.keys():
            for folder in parents(self._files[path].spot.folder):
                if folder in needed or folder in found:
                    break
                mode = os.fstat(self._folders.fd(folder)).st_mode & 0o7777
                found[folder] = mode
        return sorted(found.items(), key=lambda one: (-one[0].count(b"/"), one[0]))

    # Backups and receipts

    def _choose_backups(self, wanted: Iterable[_Wanted]) -> None:
        if not self._backup:
            return
        taken = {one.spot.path for one in self._files.values()}
        for one in wanted:
            found = self._backed_up(one)
            if found is None:
                continue
            planned = self._files[found.path]
            if planned.backup is None and not self._lies_below_new_file(found):
                planned.backup, planned.shifted = choose_backup(self._folders, found, taken)

    def _backed_up(self, one: _Wanted) -> Spot | None:
        """The spot whose bytes no file holds any more after this change."""
        action = one.change.action
        if action == "remove":
            return one.target.spot
        if one.change.data is None or action in ("create", "copy", "mode"):
            return None
        spot = (one.source or one.target).spot
        old = self._files[spot.path].old
        stage = self._files[one.target.spot.path].stage
        assert old is not None and stage is not None
        return spot if old.sha256 != stage.sha256 else None

    def _lies_below_new_file(self, spot: Spot) -> bool:
        """A folder that becomes a file has no room for a backup: the undo copy has to do."""
        return any(folder in self._filled for folder in parents(spot.folder))

    def _receipt(self, one: _Wanted) -> Done:
        change = one.change
        target = self._files[one.target.spot.path]
        like = self._files.get((one.source or one.target).spot.path)
        old = like.old if like is not None and change.action != "create" else None
        backed = self._backed_up(one)
        kept = self._files[backed.path] if backed is not None else None
        backup = None
        if kept is not None and kept.backup is not None:
            backup = Spot(kept.spot.folder, kept.backup).path
        notes = []
        if one.target.through_link:
            notes.append(f"{change.path} is a link; the file it leads to was changed")
        if target.old is not None and target.old.links > 1 and change.action in ("replace", "mode"):
            notes.append(
                f"{target.old.links - 1} other hard links of this file keep the old content"
            )
        return Done(
            action=change.action,
            path=target.spot.path,
            source=one.source.spot.path if one.source is not None else None,
            sha256_before=old.sha256 if old is not None else None,
            sha256_after=target.stage.sha256
            if target.stage is not None and change.action != "remove"
            else None,
            backup=backup,
            notes=tuple(notes),
        )


def _bytes_stage(data: bytes, like: bytes | None, executable: bool | None) -> Stage:
    digest = hashlib.sha256(data).hexdigest()
    return Stage(data, like, executable, False, digest, len(data))
