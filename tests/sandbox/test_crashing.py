"""A write that is ended at any step: all old or all new. Attacks 33 to 36."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.changes import Change, Receipt
from sandbox.errors import WriteFailed
from sandbox.operations import Operations
from sandbox.root import Root
from sandbox.transaction import commit, history, recover, undo
from tests.sandbox.world import CANARY, snapshot

CHANGES = [
    Change("rename", "b", source="a"),
    Change("rename", "a", b"edited A", "b"),
    Change("replace", "kept", b"new"),
    Change("remove", "gone/deep/file"),
    Change("rename", "fresh/folder/moved", source="moving/file"),
    Change("create", "fresh/new", b"fresh", executable=True),
    Change("remove", "turns"),
    Change("create", "turns/into/folder", b"inside"),
    Change("mode", "script", executable=True),
    Change("copy", "copied", source="script"),
    Change("replace", "linked", b"new"),
]
"""Every kind at once: a swap with an edit, a backup that is shifted, folders that go and come, a
file that becomes a folder, a file with two names."""

_NUMBERS = itertools.count()

Snapshot = dict[str, tuple[str, object, int]]


def scene(folder: Path) -> Path:
    folder.mkdir()
    for name in ("a", "b", "kept", "kept.bak", "gone/deep/file", "moving/file", "turns", "script"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"old " + name.encode())
    (folder / "linked").write_bytes(b"linked")
    os.link(folder / "linked", folder / "other-name")
    (folder / "moving").chmod(0o750)
    (folder / "kept").chmod(0o640)
    return folder


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place in memory where there is one: a crash test syncs a lot."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK):
        place = memory / f"crashes-{os.getpid()}"
        place.mkdir(exist_ok=True)
        yield place
        shutil.rmtree(place, ignore_errors=True)
    else:
        yield tmp_path_factory.mktemp("crashes")


@pytest.fixture
def fresh(fast: Path) -> Callable[[], Path]:
    """A function that makes the scene anew."""

    def make() -> Path:
        for old in fast.glob("scene*"):
            shutil.rmtree(old, ignore_errors=True)
        return scene(fast / f"scene{next(_NUMBERS)}")

    return make


def do(root: Root, operations: Operations) -> Receipt:
    return commit(root, CHANGES, operations=operations)


def put_back(root: Root, operations: Operations) -> object:
    return recover(root, operations=operations)


def take_back(root: Root, operations: Operations) -> object:
    return undo(root, history(root)[0].id, dry_run=False, operations=operations)


Act = Callable[[Root, Operations], object]


class Counter:
    """Counts the calls and does something at the nth."""

    def __init__(self, at: int = 0, act: Callable[[], None] = lambda: None, on: bool = False) -> None:
        self.calls = 0
        self._at = at
        self._act = act
        self._on = on

    def __call__(self, name: str) -> None:
        self.calls += 1
        if self.calls == self._at or (self._on and self.calls > self._at > 0):
            self._act()


def killed_at(folder: Path, act: Act, step: int) -> bool:
    """Do it in a child that gets a real SIGKILL right before that call; whether it came so far."""
    pid = os.fork()
    if pid == 0:
        try:
            hook = Counter(step, lambda: os.kill(os.getpid(), signal.SIGKILL))
            with Root.open(folder) as root:
                act(root, Operations(hook))
            os._exit(0)
        except BaseException:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def count(folder: Path, act: Act) -> int:
    counter = Counter()
    with Root.open(folder) as root:
        act(root, Operations(counter))
    return counter.calls


def is_clean(folder: Path) -> bool:
    return os.listdir(folder / ".toolbox/open") == []


def links(folder: Path) -> bool:
    """Whether the two names are one file, as before the write."""
    return (folder / "linked").samefile(folder / "other-name")


@pytest.fixture(scope="module")
def sides(fast: Path) -> tuple[Snapshot, Snapshot]:
    """The scene before and after."""
    folder = scene(fast / "sides")
    before = snapshot(folder)
    with Root.open(folder) as root:
        do(root, Operations())
    after = snapshot(folder)
    assert after["turns/into/folder"][1] == b"inside"
    assert after["kept.bak"][1] == b"old kept"
    assert after["kept.bak.1"][1] == b"old kept.bak"
    assert "moving" not in after
    return before, after


def test_attack_34_sigkill_at_every_step_is_all_old_or_all_new(
    fresh: Callable[[], Path], sides: tuple[Snapshot, Snapshot]
) -> None:
    before, after = sides
    step, mixed, ends = 0, 0, []
    while True:
        step += 1
        folder = fresh()
        if not killed_at(folder, do, step):
            break
        mixed += snapshot(folder) not in (before, after)
        with Root.open(folder) as root:
            report = recover(root)
        assert report.kept == () and report.ignored == (), (step, report)
        found = snapshot(folder)
        assert found in (before, after), f"a mixture after step {step}"
        assert found == after or links(folder)
        if (folder / ".toolbox/open").exists():
            assert is_clean(folder), step
        ends.append("new" if found == after else "old")
        with Root.open(folder) as root:  # and the workspace works as if nothing had been
            if found == before:
                do(root, Operations())
            take_back(root, Operations())
    assert step > 80
    assert ends == sorted(ends, reverse=True), "old up to the commit, new from there on"
    assert {"old", "new"} == set(ends)
    assert mixed > 30, "the control: without recovery those crashes leave a mixture"


def test_attack_34_sigkill_in_recovery_too(
    fresh: Callable[[], Path], sides: tuple[Snapshot, Snapshot]
) -> None:
    """Every third step of the write, and of each recovery every step in turn (another offset for
    each, so that every pair of kinds of step is met)."""
    before, after = sides
    total = count(fresh(), do)
    tried = 0
    for step in range(10, total, 3):
        second = 1 + step // 3 % 5
        while True:
            folder = fresh()
            assert killed_at(folder, do, step)
            if not killed_at(folder, put_back, second):
                break
            if second % 2:
                killed_at(folder, put_back, second + 1)
            with Root.open(folder) as root:
                report = recover(root)
            assert report.kept == () and report.ignored == (), (step, second, report)
            found = snapshot(folder)
            assert found in (before, after), f"a mixture after steps {step} and {second}"
            assert found == after or links(folder)
            assert is_clean(folder)
            tried += 1
            second += 5
    assert tried > 100


def test_attack_34_sigkill_at_every_step_of_undo(
    fresh: Callable[[], Path], sides: tuple[Snapshot, Snapshot]
) -> None:
    before, after = sides
    undone: Snapshot | None = None
    step = 0
    while True:
        step += 2
        folder = fresh()
        with Root.open(folder) as root:
            do(root, Operations())
        if not killed_at(folder, take_back, step):
            undone = snapshot(folder)
            break
        with Root.open(folder) as root:
            report = recover(root)
        assert report.kept == () and report.ignored == ()
        found = snapshot(folder)
        kept = {name for name in found if ".bak" in name}
        if found != after:
            rest = {name: one for name, one in found.items() if name not in kept}
            expected = {name: one for name, one in before.items() if ".bak" not in name}
            for folder_kept in ("gone", "gone/deep"):  # the backup is in it
                rest.pop(folder_kept, None)
                expected.pop(folder_kept, None)
            assert rest == expected, f"a mixture after step {step}"
    assert undone is not None
    assert undone["a"] == before["a"]


FAULTS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO]


@pytest.mark.parametrize("code", FAULTS, ids=[errno.errorcode[one] for one in FAULTS])
def test_attack_33_a_call_that_fails_at_any_step_leaves_the_old(
    fresh: Callable[[], Path], sides: tuple[Snapshot, Snapshot], code: int
) -> None:
    before, after = sides

    def fail() -> None:
        raise OSError(code, os.strerror(code))

    step, refusals = 0, 0
    while True:
        step += 1
        folder = fresh()
        counter = Counter(step, fail)
        with Root.open(folder) as root:
            try:
                do(root, Operations(counter))
            except WriteFailed as exc:
                refusals += 1
                assert "nothing was changed" in exc.message, exc.message
                assert snapshot(folder) == before, f"step {step}"
                assert links(folder)
                if (folder / ".toolbox/open").exists():
                    assert is_clean(folder)
            else:
                assert snapshot(folder) == after, f"step {step}"
        if counter.calls < step:
            break
    assert refusals > 70


def test_attack_33_a_disk_that_fails_for_good_is_put_right_later(
    fresh: Callable[[], Path], sides: tuple[Snapshot, Snapshot]
) -> None:
    """From one step on every call fails, the way back too; once the disk is well, all is old."""
    before, after = sides

    def fail() -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    left_open, step = 0, 0
    while True:
        step += 1
        folder = fresh()
        counter = Counter(step, fail, on=True)
        with Root.open(folder) as root:
            try:
                do(root, Operations(counter))
            except WriteFailed as exc:
                left_open += "put back at the next write" in exc.message
                if "nothing was changed" in exc.message and step > 20:
                    assert snapshot(folder) == before
                report = recover(root)
                assert report.kept == () and report.ignored == ()
                assert snapshot(folder) == before, f"step {step}"
                assert links(folder)
            else:
                assert snapshot(folder) == after, f"step {step}"
        if counter.calls < step:
            break
    assert left_open > 50


def crash_after_puts(folder: Path, puts: int) -> None:
    """Killed when that many paths have their new content."""
    pid = os.fork()
    if pid == 0:
        left = puts

        def hook(name: str) -> None:
            nonlocal left
            if name == "renameat2":
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        with Root.open(folder) as root:
            do(root, Operations(hook))
        os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])


class TestEditsBeforeRecovery:
    @pytest.mark.parametrize("puts", range(2, 13))
    @pytest.mark.parametrize("how", ["write", "replace", "remove", "folder"])
    def test_attack_35_edits_are_kept_and_reported(
        self, fresh: Callable[[], Path], sides: tuple[Snapshot, Snapshot], puts: int, how: str
    ) -> None:
        """Somebody works on after the crash, on files that were and were not written yet: what
        they did stays, the rest is as before."""
        before, _ = sides
        for name in ("a", "b", "kept", "copied", "fresh/new", "turns", "moving/file", "script",
                     "fresh/folder/moved"):  # fmt: skip
            folder = fresh()
            names = {(folder / one).stat().st_ino: one for one in before}
            crash_after_puts(folder, puts)
            path = folder / name
            if not path.parent.exists() or path.is_dir():
                continue
            stays = name
            if how == "write":
                if path.exists():  # a file that was renamed goes back, with what was written to it
                    stays = names.get(path.stat().st_ino, name)
                path.write_bytes(b"edited meanwhile")
            elif how == "replace":
                path.unlink(missing_ok=True)
                path.write_bytes(b"edited meanwhile")
            elif how == "remove":
                if not path.exists():
                    continue
                path.unlink()
            else:
                path.unlink(missing_ok=True)
                path.mkdir()
                (path / "inside").write_bytes(b"edited meanwhile")
            with Root.open(folder) as root:
                report = recover(root)
                again = recover(root)
            found = snapshot(folder)
            if how == "remove":
                assert name not in found
            elif how == "folder":
                assert found[f"{name}/inside"][1] == b"edited meanwhile"
            else:
                assert found[stays][1] == b"edited meanwhile"
            if not (how == "remove" and name not in before):  # else it is simply as before
                assert stays in report.kept, (name, puts)
            assert again.rolled_back == () and again.kept == ()
            for other in before.keys() - {stays}:
                if other.startswith("kept.bak") and name == "kept":
                    continue  # the backup of a file that is kept stays
                assert found.get(other) == before[other], (name, other, puts)
            extra = {one for one in found.keys() - before.keys() if not one.startswith(name)}
            assert {one for one in extra if not one.startswith("fresh")} == set()

    def test_old_content_of_a_kept_file_is_not_lost(self, fresh: Callable[[], Path]) -> None:
        folder = fresh()
        crash_after_puts(folder, 9)
        for name in ("kept", "b", "linked"):
            (folder / name).unlink()
            (folder / name).write_bytes(b"edited meanwhile")
        with Root.open(folder) as root:
            recover(root)
        kept = [one.read_bytes() for one in folder.glob("*.bak*")]
        assert {b"old kept", b"old b", b"linked", b"old kept.bak"} <= set(kept)

    def test_next_write_recovers_first_and_says_so(self, fresh: Callable[[], Path]) -> None:
        folder = fresh()
        crash_after_puts(folder, 6)
        with Root.open(folder) as root:
            receipt = commit(root, [Change("replace", "a", b"next")])
        assert "rolled back" in receipt.notes[0]
        assert (folder / "a").read_bytes() == b"next"
        assert (folder / "b").read_bytes() == b"old b"


class TestForeignJournals:
    def crashed(self, folder: Path) -> tuple[Path, str]:
        crash_after_puts(folder, 8)
        (id,) = os.listdir(folder / ".toolbox/open")
        return folder / ".toolbox/open" / id, id

    def test_attack_36_journal_of_a_copied_workspace(
        self, fresh: Callable[[], Path], fast: Path
    ) -> None:
        """A clone or an unpacked archive brings its journal along: it is not followed."""
        folder = fresh()
        _, id = self.crashed(folder)
        copy = fast / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        before = snapshot(copy)
        with Root.open(copy) as root:
            report = recover(root)
            assert report.rolled_back == ()
            assert report.ignored == (f"{id}: it was written elsewhere and copied here",)
            assert snapshot(copy) == before
            commit(root, [Change("create", "works", b"")])
        with Root.open(folder) as root:
            assert recover(root).rolled_back == (id,), "the control: where it is at home it works"

    @pytest.mark.parametrize(
        ("what", "reason"),
        [
            ("path-out", "one file"), ("path-absolute", "one file"), ("path-git", "never written"),
            ("folder-git", "never written"), ("stage-git", "never written"), ("backup", "backup"),
            ("junk", "not a journal"), ("version", "version"), ("id", "folder's name"),
            ("twice", "a path twice"), ("deep", "not a journal"), ("root", "the root itself"),
        ],
    )  # fmt: skip
    def test_attack_36_forged_journal_that_knows_its_inode(
        self, fresh: Callable[[], Path], what: str, reason: str
    ) -> None:
        """Even one that was written in place and carries the right numbers leads nowhere that a
        call could not lead."""
        import msgspec

        from sandbox.journal import Journal, encode

        folder = fresh()
        (folder.parent / "canary").write_bytes(CANARY)
        (folder / ".git").mkdir()
        (folder / ".git/config").write_bytes(b"config")
        place, _ = self.crashed(folder)
        journal = msgspec.json.decode((place / "journal").read_bytes(), type=Journal)
        put = msgspec.structs.replace
        first = journal.files[0]
        forged = {
            "path-out": lambda: put(first, folder=b"..", name=b"canary"),
            "path-absolute": lambda: put(first, folder=b"/etc", name=b"passwd"),
            "path-git": lambda: put(first, folder=b".git", name=b"config"),
            "folder-git": lambda: put(first, folder=b"sub/.GIT/hooks"),
            "stage-git": lambda: put(first, stage=b".git"),
            "backup": lambda: put(first, backup=b"kept"),
        }
        if what in forged:
            journal = put(journal, files=(forged[what](), *journal.files[1:]))
        elif what == "version":
            journal = put(journal, version=2)
        elif what == "id":
            journal = put(journal, id=journal.id[::-1])
        elif what == "twice":
            journal = put(journal, files=(first, *journal.files))
        elif what == "root":
            journal = put(journal, made=(b"",))
        data = {"junk": b"{}", "deep": b"[" * 100_000}.get(what) or encode(journal)
        with (place / "journal").open("r+b") as file:  # in place: the inode stays
            file.truncate(0)
            file.write(data)
        before = snapshot(folder.parent)
        with Root.open(folder) as root:
            report = recover(root)
        assert report.rolled_back == ()
        assert len(report.ignored) == 1
        assert reason in report.ignored[0]
        assert snapshot(folder.parent) == before
        (folder.parent / "canary").unlink()

    def test_attack_36_links_and_junk_among_the_transactions(
        self, fresh: Callable[[], Path]
    ) -> None:
        folder = fresh()
        with Root.open(folder) as root:
            commit(root, [Change("create", "first", b"")])
            before = snapshot(folder)
            place = folder / ".toolbox/open"
            (place / "junk").write_bytes(b"")
            (place / f"{1:012x}-{1:016x}").symlink_to("../..")
            (place / f"{2:012x}-{2:016x}").write_bytes(b"")
            fourth = place / f"{3:012x}-{3:016x}"
            fourth.mkdir()
            (fourth / "journal").symlink_to("../../../a")
            report = recover(root)
            assert len(report.ignored) == 4
            assert report.rolled_back == ()
            assert snapshot(folder) == before
            notes = commit(root, [Change("replace", "a", b"new")]).notes
            assert len(notes) == 4


def test_recovery_of_a_read_only_workspace_writes_nothing(fresh: Callable[[], Path]) -> None:
    folder = fresh()

    def never(name: str) -> None:
        raise AssertionError(name)

    with Root.open(folder) as root:
        recover(root, operations=Operations(never))
        assert not (folder / ".toolbox").exists()
        commit(root, [Change("create", "x", b"")])
        recover(root, operations=Operations(never))

