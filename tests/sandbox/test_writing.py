"""What a write does and refuses, file by file. Attacks 7, 8, 24, 29 to 33, 37 to 41."""

from __future__ import annotations

import ctypes
import hashlib
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.changes import Change
from sandbox.errors import (
    Busy,
    Changed,
    Exists,
    InvalidPath,
    NotAFile,
    NotFound,
    OutsideWorkspace,
    TooLarge,
    WriteFailed,
)
from sandbox.limits import TRANSACTION_FILES
from sandbox.operations import Operations
from sandbox.root import Root, Stamp
from sandbox.transaction import check, commit, history, lock, undo
from tests.sandbox.children import in_child
from tests.sandbox.world import CANARY, build, snapshot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build(tmp_path)


@pytest.fixture
def root(folder: Path) -> Root:
    return Root.open(folder)


def refused(root: Root, folder: Path, kind: type[Exception], *changes: Change) -> Exception:
    """It is refused like that, by the dry run too, and nothing changes in or around it."""
    before = snapshot(folder.parent)
    with pytest.raises(kind):
        check(root, changes)
    with pytest.raises(kind) as refusal:
        commit(root, changes)
    assert snapshot(folder.parent) == before
    assert not (folder / ".toolbox").exists()
    return refusal.value


class Interfering(Operations):
    """Does something of its own right before the nth call of a kind."""

    def __init__(self, name: str, act: Callable[[], object], nth: int = 1) -> None:
        left = nth

        def hook(called: str) -> None:
            nonlocal left
            if called == name:
                left -= 1
                if left == 0:
                    act()

        super().__init__(hook)


class TestOutside:
    @pytest.mark.parametrize(
        "path",
        ["../x", "/outside-x/y", "up/x", "out-folder/x", "out-folder/nothing/x", "d/../../x",
         "out-relative", "out-absolute", "out-prefix", "dangling-out", "nothing/../../x"],
    )  # fmt: skip
    def test_attack_8_22_40_every_end_of_every_change(
        self, root: Root, folder: Path, path: str
    ) -> None:
        kinds = (OutsideWorkspace, NotFound)
        for change in (
            Change("create", path, b"x"),
            Change("replace", path, b"x"),
            Change("remove", path),
            Change("rename", path, source="plain"),
            Change("rename", "new", source=path),
            Change("copy", path, source="plain"),
            Change("copy", "new", source=path),
        ):
            refusal = refused(root, folder, kinds, Change("create", "first", b""), change)  # type: ignore[arg-type]
            assert str(folder.parent) not in str(refusal)

    def test_control_22_a_plain_write_lands_outside(self, folder: Path) -> None:
        for path in ("../x", "out-folder/x", "dangling-out"):
            (folder / path).write_bytes(b"x")
        assert (folder.parent / "new-outside").read_bytes() == b"x"

    @pytest.mark.parametrize("path", ["dangling", "dangling-out"])
    def test_attack_7_nothing_is_created_through_a_dangling_link(
        self, root: Root, folder: Path, path: str
    ) -> None:
        refused(root, folder, (Exists, OutsideWorkspace), Change("create", path, b"x"))  # type: ignore[arg-type]
        assert not (folder / "nothing").exists()

    @pytest.mark.parametrize("nth", [1, 2, 3, 4])
    @pytest.mark.parametrize("name", ["create", "link", "renameat2", "fsync"])
    def test_folder_swapped_for_a_link_out_while_writing(
        self, root: Root, folder: Path, name: str, nth: int
    ) -> None:
        """The folder is held open: what is written goes there, or nowhere."""

        def swap() -> None:
            (folder / "d").rename(folder / "moved")
            (folder / "d").symlink_to(folder.parent / "outside")

        changes = [Change("replace", "d/f", b"new"), Change("create", "d/canary", b"new")]
        refusal = None
        try:
            commit(root, changes, operations=Interfering(name, swap, nth))
        except (Changed, OutsideWorkspace, NotFound, NotAFile) as exc:
            refusal = exc
        assert snapshot(folder.parent / "outside") == {"canary": ("file", CANARY, 0o644)}
        moved = folder / "moved" if (folder / "moved").exists() else folder / "d"
        new = ["canary", "f", "f.bak"]
        assert sorted(one.name for one in moved.iterdir() if one.is_file() and not one.is_symlink()) == (
            ["f"] if refusal else new
        )
        assert (moved / "f").read_bytes() == (b"d/f" if refusal else b"new")


class TestWhatStandsThere:
    def test_create_over_anything_is_refused(self, root: Root, folder: Path) -> None:
        for path, what in (
            ("plain", "a file"), ("d", "a folder"), ("in-relative", "a link"), ("fifo", "a fifo"),
            ("dangling", "a link"),
        ):  # fmt: skip
            refusal = refused(root, folder, Exists, Change("create", path, b"x"))
            assert what in str(refusal)

    def test_attack_40_rename_or_copy_onto_a_file(self, root: Root, folder: Path) -> None:
        for action in ("rename", "copy"):
            refused(root, folder, Exists, Change(action, "d/f", source="plain"))  # type: ignore[arg-type]

    def test_what_is_no_file_is_not_replaced(self, root: Root, folder: Path) -> None:
        for path in ("d", "fifo", "socket", "loop"):
            refused(root, folder, NotAFile, Change("replace", path, b"x"))
            refused(root, folder, NotAFile, Change("remove", path))
        refused(root, folder, NotFound, Change("replace", "nothing", b"x"))
        refused(root, folder, NotFound, Change("remove", "nothing/at/all"))
        refused(root, folder, NotAFile, Change("create", "plain/x", b"x"))
        refused(root, folder, NotAFile, Change("create", "new/", b"x"))
        refused(root, folder, NotAFile, Change("create", ".", b"x"))

    def test_link_is_followed_to_replace_and_not_to_remove(self, root: Root, folder: Path) -> None:
        refused(root, folder, NotAFile, Change("remove", "in-relative"))
        refused(root, folder, NotAFile, Change("rename", "x", source="in-relative"))
        receipt = commit(root, [Change("replace", "in-relative", b"new")])
        assert (folder / "d/f").read_bytes() == b"new"
        assert (folder / "in-relative").is_symlink()
        assert receipt.files[0].path == "d/f"
        assert receipt.files[0].backup == "d/f.bak"
        assert "is a link" in receipt.files[0].notes[0]

    def test_contradictions_are_refused(self, root: Root, folder: Path) -> None:
        for changes in (
            [Change("create", "x", b"1"), Change("create", "./x", b"2")],
            [Change("replace", "plain", b"1"), Change("mode", "plain", executable=True)],
            [Change("replace", "d/f", b"1"), Change("replace", "in-relative", b"2")],
            [Change("remove", "plain"), Change("remove", "plain")],
            [Change("rename", "x", source="plain"), Change("rename", "y", source="plain")],
            [Change("remove", "plain"), Change("replace", "plain", b"x")],
            [Change("create", "x")],
            [Change("rename", "x")],
            [Change("create", "x", b"", source="plain")],
            [],
        ):
            refused(root, folder, InvalidPath, *changes)

    def test_too_many_files(self, root: Root, folder: Path) -> None:
        changes = [Change("create", f"n{one}", b"") for one in range(TRANSACTION_FILES + 1)]
        refused(root, folder, TooLarge, *changes)
        check(root, changes[:-1])

    def test_attack_41_case_only_rename_and_twins(self, root: Root, folder: Path) -> None:
        commit(root, [Change("rename", "PLAIN", source="plain")])
        assert (folder / "PLAIN").read_bytes() == b"plain"
        assert not (folder / "plain").exists() or (folder / "plain").samefile(folder / "PLAIN")
        composed = "\u00e9"
        for name in (composed, unicodedata.normalize("NFD", composed)):
            (folder / name).write_bytes(name.encode())
        for new, old in (("e\u0301", "PLAIN"), (composed, "PLAIN"), ("e\u0301", composed)):
            with pytest.raises(Exists):
                commit(root, [Change("rename", new, source=old)])
        for name in (composed, unicodedata.normalize("NFD", composed)):
            assert (folder / name).read_bytes() == name.encode()

    def test_twins_that_are_hard_links_are_not_taken_for_one(
        self, root: Root, folder: Path
    ) -> None:
        os.link(folder / "plain", folder / "Plain")
        with pytest.raises(Exists):
            commit(root, [Change("rename", "Plain", source="plain")])
        assert (folder / "plain").exists()
        assert (folder / "Plain").exists()


class TestStale:
    def test_attack_38_stale_hash(self, root: Root, folder: Path) -> None:
        wrong = hashlib.sha256(b"other").hexdigest()
        right = hashlib.sha256(b"plain").hexdigest()
        refusal = refused(
            root, folder, Changed, Change("replace", "plain", b"x", expect_sha256=wrong)
        )
        assert refusal.at == {"path": "plain", "expected_sha256": wrong, "sha256": right}  # type: ignore[attr-defined]
        for action, source in (("remove", None), ("rename", "plain"), ("copy", "plain")):
            change = Change(action, "plain" if not source else "x", None, source, expect_sha256=wrong)  # type: ignore[arg-type]
            refused(root, folder, Changed, change)
        commit(root, [Change("replace", "plain", b"x", expect_sha256=right.upper())])

    def test_stale_stamp(self, root: Root, folder: Path) -> None:
        with root.open_file("plain") as opened:
            stamp = opened.stamp
        (folder / "plain").write_bytes(b"PLAIN")
        os.utime(folder / "plain", ns=(stamp.mtime_ns, stamp.mtime_ns))
        refused(root, folder, Changed, Change("replace", "plain", b"x", expect=stamp))
        fresh = Stamp.from_stat((folder / "plain").stat())
        commit(root, [Change("replace", "plain", b"x", expect=fresh)])

    @pytest.mark.parametrize("how", ["link", "edit", "replace", "remove", "folder"])
    @pytest.mark.parametrize("when", [("link", 1), ("create", 2), ("fsync", 6), ("renameat2", 1)])
    @pytest.mark.parametrize("action", ["replace", "remove", "rename"])
    def test_attack_30_target_changes_after_it_was_read(
        self, root: Root, folder: Path, how: str, when: tuple[str, int], action: str
    ) -> None:
        """At four moments of the write, the last right at the atomic call: nothing is lost."""
        canary = folder.parent / "canary"

        def interfere() -> None:
            if how == "edit":
                (folder / "plain").write_bytes(b"edited")
                return
            (folder / "plain").unlink()
            if how == "link":
                (folder / "plain").symlink_to(canary)
            elif how == "replace":
                (folder / "plain").write_bytes(b"replaced")
            elif how == "folder":
                (folder / "plain").mkdir()

        change = {
            "replace": Change("replace", "plain", b"new"),
            "remove": Change("remove", "plain"),
            "rename": Change("rename", "moved", b"new", source="plain"),
        }[action]
        done = []

        def once() -> None:
            done.append(1)
            interfere()
            done.append(snapshot(folder))

        changes = [change, Change("replace", "d/f", b"new")]
        expected = None
        try:
            commit(root, changes, operations=Interfering(when[0], once, when[1]))
        except (Changed, NotAFile, NotFound):
            expected = "refused"
        assert done, "the interference ran"
        assert canary.read_bytes() == CANARY
        if expected is None:
            pytest.fail("the write went on over somebody else's change")
        found = snapshot(folder)
        stands = found.get("plain")
        assert stands == {
            "link": ("link", str(canary), 0),
            "edit": ("file", b"edited", 0o644),
            "replace": ("file", b"replaced", 0o644),
            "folder": ("folder", None, 0o755),
            "remove": None,
        }[how]
        assert found["d/f"][1] == b"d/f"
        assert not [name for name in found if "tmp" in name or name == "moved"]


class TestBackups:
    def test_attack_32_no_backup_is_ever_lost(self, root: Root, folder: Path) -> None:
        for number in range(4):
            commit(root, [Change("replace", "plain", b"version %d" % number)])
        names = ["plain.bak", "plain.bak.1", "plain.bak.2", "plain.bak.3"]
        kept = [(folder / name).read_bytes() for name in names]
        assert kept == [b"version 2", b"plain", b"version 0", b"version 1"]

    @pytest.mark.parametrize("what", ["link", "link-out", "folder", "fifo"])
    def test_attack_32_what_is_no_file_is_left_and_the_next_name_taken(
        self, root: Root, folder: Path, what: str
    ) -> None:
        backup = folder / "plain.bak"
        if what.startswith("link"):
            backup.symlink_to("../canary" if what == "link-out" else "d/f")
        elif what == "folder":
            backup.mkdir()
        else:
            os.mkfifo(backup)
        (folder / "plain.bak.1").symlink_to("../canary")
        before = snapshot(folder)
        receipt = commit(root, [Change("replace", "plain", b"new")])
        assert receipt.files[0].backup == "plain.bak.2"
        after = snapshot(folder)
        assert after.pop("plain.bak.2") == ("file", b"plain", 0o644)
        assert after == {**before, "plain": ("file", b"new", 0o644)}
        assert (folder.parent / "canary").read_bytes() == CANARY

    def test_control_32_a_plain_backup_writes_through_the_link(self, folder: Path) -> None:
        (folder / "plain.bak").symlink_to("../canary")
        (folder / "plain.bak").write_bytes((folder / "plain").read_bytes())
        assert (folder.parent / "canary").read_bytes() == b"plain"

    def test_backup_names_that_the_call_itself_changes_are_left_alone(
        self, root: Root, folder: Path
    ) -> None:
        (folder / "plain.bak").write_bytes(b"mine")
        receipt = commit(
            root, [Change("replace", "plain", b"new"), Change("replace", "plain.bak", b"new bak")]
        )
        assert [one.backup for one in receipt.files] == ["plain.bak.1", "plain.bak.bak"]
        assert (folder / "plain.bak").read_bytes() == b"new bak"
        assert (folder / "plain.bak.1").read_bytes() == b"plain"
        assert (folder / "plain.bak.bak").read_bytes() == b"mine"

    def test_names_near_the_longest(self, root: Root, folder: Path) -> None:
        names = ["é" * 127, "x" * 255, "x" * 254 + "y"]
        for name in names:
            (folder / name).write_bytes(name.encode())
        receipt = commit(root, [Change("replace", name, b"new") for name in names])
        for name, one in zip(names, receipt.files, strict=True):
            assert one.backup is not None
            assert (folder / one.backup).read_bytes() == name.encode()

    def test_what_is_backed_up(self, root: Root, folder: Path) -> None:
        """Whatever bytes no file holds afterwards; not a mere rename, copy or mode."""
        for name in ("a", "b", "c", "copied", "mode"):
            (folder / name).write_bytes(name.encode())
        receipt = commit(
            root,
            [
                Change("remove", "a"),
                Change("rename", "b2", source="b"),
                Change("rename", "c2", b"new", source="c"),
                Change("copy", "copied2", b"new", source="copied"),
                Change("mode", "mode", executable=True),
            ],
        )
        assert [one.backup for one in receipt.files] == ["a.bak", None, "c.bak", None, None]
        assert (folder / "a.bak").read_bytes() == b"a"
        assert (folder / "c.bak").read_bytes() == b"c"

    def test_attack_24_files_that_other_tools_would_write_are_untouched(
        self, root: Root, folder: Path
    ) -> None:
        for name in ("plain.rej", "plain.orig", "plain~"):
            (folder / name).symlink_to("../canary")
        commit(root, [Change("replace", "plain", b"new")])
        with pytest.raises(Changed):
            commit(root, [Change("replace", "plain", b"x", expect_sha256="0" * 64)])
        assert (folder.parent / "canary").read_bytes() == CANARY


class TestWhatSurvives:
    def test_attack_29_hard_link_outside_keeps_its_bytes(self, root: Root, folder: Path) -> None:
        (folder.parent / "shared").write_bytes(b"shared")
        os.link(folder.parent / "shared", folder / "shared")
        receipt = commit(root, [Change("replace", "shared", b"new")])
        assert (folder / "shared").read_bytes() == b"new"
        assert (folder.parent / "shared").read_bytes() == b"shared"
        assert receipt.files[0].notes == ("1 other hard links of this file keep the old content",)
        # Neither the backup nor the undo copy hangs on the other name.
        (folder.parent / "shared").write_bytes(b"edited outside")
        assert (folder / "shared.bak").read_bytes() == b"shared"
        undo(root, receipt.id, dry_run=False)
        assert (folder / "shared").read_bytes() == b"shared"

    def test_control_29_a_plain_write_goes_through_the_hard_link(self, folder: Path) -> None:
        (folder.parent / "shared").write_bytes(b"shared")
        os.link(folder.parent / "shared", folder / "shared")
        (folder / "shared").write_bytes(b"new")
        assert (folder.parent / "shared").read_bytes() == b"new"

    @pytest.mark.parametrize("mode", [0o644, 0o600, 0o444, 0o755, 0o750, 0o1644])
    def test_attack_37_mode_and_bytes(self, root: Root, folder: Path, mode: int) -> None:
        data = b"\xef\xbb\xbfone\r\ntwo\rthree\n\xff\x00"
        (folder / "plain").chmod(mode)
        receipt = commit(root, [Change("replace", "plain", data)])
        assert (folder / "plain").read_bytes() == data
        assert (folder / "plain").stat().st_mode & 0o7777 == mode
        assert receipt.files[0].sha256_after == hashlib.sha256(data).hexdigest()

    def test_attack_26_37_set_uid_does_not_survive(self, root: Root, folder: Path) -> None:
        (folder / "plain").chmod(0o6755)
        commit(root, [Change("replace", "plain", b"new")])
        assert (folder / "plain").stat().st_mode & 0o7777 == 0o755

    def test_executable(self, root: Root, folder: Path) -> None:
        for mode, wanted, becomes in (
            (0o644, True, 0o755), (0o640, True, 0o750), (0o600, True, 0o700),
            (0o755, False, 0o644), (0o755, None, 0o755), (0o711, False, 0o600),
        ):  # fmt: skip
            (folder / "plain").chmod(mode)
            commit(root, [Change("replace", "plain", b"%o" % mode, executable=wanted)])
            assert (folder / "plain").stat().st_mode & 0o777 == becomes

    @pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
    def test_new_files_get_what_new_files_get(self, folder: Path, umask: int) -> None:
        def act() -> list[int]:
            os.umask(umask)
            with Root.open(folder) as root:
                commit(
                    root,
                    [Change("create", "n/a", b""), Change("create", "n/b", b"", executable=True)],
                )
            return [(folder / name).stat().st_mode & 0o777 for name in ("n", "n/a", "n/b")]

        result = in_child(act)
        assert result.value == [0o777 & ~umask, 0o666 & ~umask, 0o777 & ~umask]

    def test_attack_37_attributes(self, root: Root, folder: Path) -> None:
        try:
            os.setxattr(folder / "plain", "user.comment", b"kept")
        except OSError:
            pytest.skip("no extended attributes here")
        commit(root, [Change("replace", "plain", b"new")])
        assert os.getxattr(folder / "plain", "user.comment") == b"kept"
        commit(root, [Change("rename", "moved", b"newer", source="plain")])
        assert os.getxattr(folder / "moved", "user.comment") == b"kept"

    def test_attack_37_access_lists(self, root: Root, folder: Path) -> None:
        """A list of its own survives; the folder's default is not put on a file that had none."""

        def entry(tag: int, perm: int, id: int = 0xFFFFFFFF) -> bytes:
            return bytes((tag, 0, perm, 0)) + id.to_bytes(4, "little")

        version = (2).to_bytes(4, "little")
        acl = version + entry(1, 6) + entry(2, 4, 12345) + entry(4, 4) + entry(16, 4) + entry(32, 0)
        try:
            os.setxattr(folder / "plain", "system.posix_acl_access", acl)
            os.setxattr(folder / "d", "system.posix_acl_default", acl)
        except OSError:
            pytest.skip("no access lists here")
        commit(root, [Change("replace", "plain", b"new"), Change("replace", "d/f", b"new")])
        assert os.getxattr(folder / "plain", "system.posix_acl_access") == acl
        assert "system.posix_acl_access" not in os.listxattr(folder / "d/f")
        commit(root, [Change("create", "d/fresh", b"")])
        assert "system.posix_acl_access" in os.listxattr(folder / "d/fresh")

    @pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
    def test_attack_37_owner(self, root: Root, folder: Path) -> None:
        os.chown(folder / "plain", 12345, 54321)
        commit(root, [Change("replace", "plain", b"new")])
        found = (folder / "plain").stat()
        assert (found.st_uid, found.st_gid) == (12345, 54321)

    def test_rename_keeps_the_very_file(self, root: Root, folder: Path) -> None:
        before = (folder / "plain").stat()
        commit(root, [Change("rename", "deep/er/moved", source="plain")])
        after = (folder / "deep/er/moved").stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


class TestCollisions:
    def test_attack_31_planted_temporaries_are_retried(
        self, root: Root, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An id that somebody guessed: its temporary is a link out; the next id is taken."""
        from sandbox import execution, journal

        ids = [f"{0:012x}-{one:016x}" for one in range(3)]
        given = iter(ids)
        monkeypatch.setattr(execution, "new_id", lambda: next(given))
        planted = os.fsdecode(journal.temp_name(ids[0], 0, "new"))
        (folder / planted).symlink_to("../canary")
        commit(root, [Change("replace", "plain", b"new")])
        assert (folder / "plain").read_bytes() == b"new"
        assert (folder.parent / "canary").read_bytes() == CANARY
        assert next(given) == ids[2], "one retry"

    def test_always_taken_is_refused_with_nothing_left(
        self, root: Root, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from sandbox import execution, journal

        name = f"{0:012x}-{0:016x}"
        monkeypatch.setattr(execution, "new_id", lambda: name)
        planted = folder / os.fsdecode(journal.temp_name(name, 0, "new"))

        def plant() -> None:
            planted.write_bytes(b"planted")

        before = snapshot(folder)
        operations = Operations(lambda called: plant() if called == "create" else None)
        with pytest.raises(WriteFailed, match="taken again and again"):
            commit(root, [Change("replace", "plain", b"new")], operations=operations)
        planted.unlink(missing_ok=True)
        assert snapshot(folder) == before

    def test_file_that_comes_meanwhile_is_never_clobbered(self, root: Root, folder: Path) -> None:
        for when in range(1, 3):
            name = f"the-new-{when}"

            def come(name: str = name) -> None:
                (folder / name).write_bytes(b"came")

            with pytest.raises(Exists):
                commit(
                    root,
                    [Change("replace", "plain", b"new"), Change("create", name, b"ours")],
                    operations=Interfering("renameat2", come, when),
                )
            assert (folder / name).read_bytes() == b"came"
            assert (folder / "plain").read_bytes() == b"plain"


class TestLock:
    def test_attack_39_two_writers_one_after_the_other(self, root: Root, folder: Path) -> None:
        """Two processes append to one number as fast as they can: no addition is lost."""
        (folder / "count").write_bytes(b"0")

        def add() -> int:
            done = 0
            with Root.open(folder) as mine:
                for _ in range(25):
                    with lock(mine, exclusive=True) as held:
                        now = int((folder / "count").read_bytes())
                        change = Change("replace", "count", b"%d" % (now + 1))
                        commit(mine, [change], backup=False, held=held)
                        done += 1
            return done

        pids = []
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                try:
                    os._exit(0 if add() == 25 else 1)
                finally:
                    os._exit(2)
            pids.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0]
        assert (folder / "count").read_bytes() == b"50"
        assert len(history(root)) == 50

    def test_control_39_without_the_lock_additions_are_lost(self, folder: Path) -> None:
        first = int(b"0") + 1
        second = int(b"0") + 1  # read before the first was written
        assert max(first, second) == 1

    def test_busy(self, root: Root, folder: Path) -> None:
        with lock(root, exclusive=True):
            with pytest.raises(Busy, match="another write"):
                commit(root, [Change("replace", "plain", b"new")], lock_seconds=0.05)
            with pytest.raises(Busy), lock(root, exclusive=False, seconds=0.05):
                pass
        with lock(root, exclusive=False), lock(root, exclusive=False, seconds=0.05):
            pass

    def test_shared_lock_makes_nothing(self, root: Root, folder: Path) -> None:
        with lock(root, exclusive=False):
            assert not (folder / ".toolbox").exists()


class TestHostileState:
    @pytest.mark.parametrize("what", ["link", "link-out", "file", "lock-fifo", "lock-link", "open-link"])
    def test_planted_state_is_not_followed(self, root: Root, folder: Path, what: str) -> None:
        state = folder / ".toolbox"
        if what == "link":
            state.symlink_to("d")
        elif what == "link-out":
            state.symlink_to(folder.parent / "outside")
        elif what == "file":
            state.touch()
        else:
            state.mkdir()
            if what == "lock-fifo":
                os.mkfifo(state / "lock")
            elif what == "lock-link":
                (state / "lock").symlink_to("../../canary")
            else:
                (state / "open").symlink_to("../../outside")
        before = snapshot(folder.parent)
        with pytest.raises(WriteFailed, match="toolbox"):
            commit(root, [Change("replace", "plain", b"new")])
        after = snapshot(folder.parent)
        for made in ("root/.toolbox/.gitignore", "root/.toolbox/open", "root/.toolbox/history"):
            if made not in before:
                after.pop(made, None)
        assert after == before

    def test_state_ignores_itself(self, root: Root, folder: Path) -> None:
        commit(root, [Change("replace", "plain", b"new")])
        assert (folder / ".toolbox/.gitignore").read_bytes() == b"*\n"
        assert (folder / ".toolbox").stat().st_mode & 0o777 == 0o700


class TestRealDisks:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Path:
        if os.geteuid() != 0:
            pytest.skip("mounting needs root")
        libc = ctypes.CDLL(None, use_errno=True)
        place = tmp_path / "small"
        place.mkdir()
        if libc.mount(b"tmpfs", bytes(place), b"tmpfs", 0, b"size=128k") != 0:
            pytest.skip(f"no mount here: {os.strerror(ctypes.get_errno())}")
        yield place
        libc.umount2(bytes(place), 2)

    def test_attack_33_full_disk(self, small: Path) -> None:
        (small / "a").write_bytes(b"a" * 20_000)
        (small / "b").write_bytes(b"b" * 20_000)
        before = snapshot(small)
        with Root.open(small) as root:
            with pytest.raises(WriteFailed, match="disk or quota is full") as refusal:
                commit(
                    root,
                    [
                        Change("replace", "a", b"A" * 40_000),
                        Change("replace", "b", b"B" * 60_000),
                    ],
                )
            assert "nothing was changed" in refusal.value.message
            assert snapshot(small) == before
            assert os.listdir(small / ".toolbox/open") == []
            commit(root, [Change("replace", "a", b"A" * 20_000)])

    def test_attack_33_read_only_file_system(self, small: Path) -> None:
        (small / "a").write_bytes(b"a")
        libc = ctypes.CDLL(None, use_errno=True)
        with Root.open(small) as root:
            assert history(root) == []
            libc.mount(b"", bytes(small), b"", 32 | 1, None)  # remount read-only
            with pytest.raises(WriteFailed, match="read-only"):
                commit(root, [Change("replace", "a", b"A")])
            check(root, [Change("replace", "a", b"A")])
            assert (small / "a").read_bytes() == b"a"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
    def test_attack_33_folder_without_write_permission(self, root: Root, folder: Path) -> None:
        (folder / "d").chmod(0o555)
        with pytest.raises(WriteFailed, match="permission denied"):
            commit(root, [Change("replace", "d/f", b"new")])


def test_descriptors_stay_flat(root: Root, folder: Path) -> None:
    commit(root, [Change("create", "first", b"")])
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        receipt = commit(root, [Change("create", f"n/{number}/x", b"")])
        with pytest.raises(Exists):
            commit(root, [Change("create", "plain", b"")])
        with pytest.raises(OutsideWorkspace):
            commit(root, [Change("create", "up/x", b"")])
        undo(root, receipt.id, dry_run=True)
        undo(root, receipt.id, dry_run=False)
    assert len(os.listdir("/proc/self/fd")) == before


def test_attack_48_more_folders_than_descriptors(tmp_path: Path) -> None:
    """300 files in 300 folders with 200 descriptors."""
    for number in range(300):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}/f").write_bytes(b"old")

    def act() -> int:
        import resource

        used = max(int(one) for one in os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 200, used + 200))
        with Root.open(tmp_path) as root:
            receipt = commit(
                root, [Change("replace", f"d{one}/f", b"new") for one in range(300)]
            )
            undo(root, receipt.id, dry_run=False)
        return len(receipt.files)

    result = in_child(act)
    assert result.value == 300, result
    assert {(tmp_path / f"d{one}/f").read_bytes() for one in range(300)} == {b"old"}




@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
class TestAnotherUser:
    USER = 65534

    def as_user(self, folder: Path, act: Callable[[Root], object]) -> object:
        def run() -> object:
            with Root.open(folder) as root:  # what leads here may be closed to that user
                os.setgroups([])
                os.setgid(self.USER)
                os.setuid(self.USER)
                return act(root)

        result = in_child(run)
        if result.error is not None:
            raise result.error
        assert result.status == 0
        return result.value

    def test_attack_33_folder_without_write_permission(self, folder: Path) -> None:
        os.chown(folder, self.USER, self.USER)
        before = snapshot(folder)
        with pytest.raises(WriteFailed, match="permission denied"):
            self.as_user(
                folder,
                lambda root: commit(
                    root, [Change("create", "mine", b""), Change("replace", "d/f", b"new")]
                ),
            )
        assert snapshot(folder) == before
        assert os.listdir(folder / ".toolbox/open") == []

    def test_workspace_of_somebody_else_is_read_and_not_written(self, folder: Path) -> None:
        assert self.as_user(folder, history) == []
        with pytest.raises(WriteFailed, match="permission denied"):
            self.as_user(folder, lambda root: commit(root, [Change("replace", "plain", b"x")]))

    def test_attack_37_a_file_of_somebody_else_becomes_ours(self, folder: Path) -> None:
        """It is replaced by right of its folder; no link to it is allowed, so it is copied."""
        os.chown(folder, self.USER, self.USER)
        before = (folder / "plain").stat()

        def act(root: Root) -> object:
            receipt = commit(root, [Change("replace", "plain", b"new"), Change("remove", "hop-x")])
            return undo(root, receipt.id, dry_run=False).files[0].path

        (folder / "hop-x").write_bytes(b"x")
        self.as_user(folder, act)
        after = (folder / "plain").stat()
        assert (before.st_uid, after.st_uid) == (0, self.USER)
        assert (folder / "plain").read_bytes() == b"plain"
        assert (folder / "plain.bak").read_bytes() == b"plain"
        assert (folder / "hop-x").read_bytes() == b"x"

    def test_a_file_that_may_not_be_read(self, folder: Path) -> None:
        (folder / "plain").chmod(0o600)
        with pytest.raises(NotAFile, match="plain may not be opened: permission denied"):
            self.as_user(folder, lambda root: root.open_file("plain"))


def test_the_confined_write_worker_can_do_all_of_it(folder: Path) -> None:
    """Under Landlock and the system call filter: every step by descriptors below the root."""
    from sandbox import landlock
    from tests.sandbox.children import confined
    from tests.sandbox.test_crashing import CHANGES, scene

    if landlock.abi() < landlock.ABI_REFER:
        pytest.skip("this kernel's Landlock allows no rename between folders")
    here = scene(folder / "scene")
    before = snapshot(here)
    with Root.open(here) as root:

        def act() -> tuple[int, list[str]]:
            receipt = commit(root, CHANGES)
            undone = undo(root, receipt.id, dry_run=False)
            assert undone.receipt is not None
            undo(root, undone.receipt.id, dry_run=False)
            many = [Change("create", f"many/{one}", b"x") for one in range(40)]
            commit(root, many)
            return len(history(root)), [one.kind for one in history(root)]

        result = confined(act, root.fd, "write")
    assert result.value == (4, ["apply", "undo", "undo", "apply"]), result
    after = snapshot(here)
    assert after["turns/into/folder"][1] == b"inside"
    assert before["turns"][0] == "file"


@pytest.mark.parametrize("many", [2, 40, 300])
def test_a_sync_that_fails_among_many_is_told(tmp_path: Path, many: int) -> None:
    """Also where it runs in another thread, and no descriptor is left."""
    before = len(os.listdir("/proc/self/fd"))

    def plain() -> int:
        return os.open(tmp_path, os.O_RDONLY)

    def unsyncable() -> int:
        source, sink = os.pipe()
        os.close(sink)
        return source

    Operations().fsync_all([plain] * many)
    for place in range(0, many, 7):
        opens = [plain] * many
        opens[place] = unsyncable
        with pytest.raises(OSError, match="Invalid argument"):
            Operations().fsync_all(opens)
    assert len(os.listdir("/proc/self/fd")) == before
