"""Many files or none, and back again: shapes of transactions, undo and history."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import ledger
from sandbox.changes import Change
from sandbox.errors import Changed, InvalidPath, NotFound, SandboxError, WriteFailed
from sandbox.root import Root
from sandbox.transaction import check, commit, history, undo
from tests.sandbox.world import mount_bind, snapshot, unmount

Files = dict[str, bytes]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fill(folder: Path, files: Files) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def files(folder: Path) -> Files:
    """The content of every file but backups."""
    return {
        name: data  # type: ignore[misc]
        for name, (kind, data, _) in snapshot(folder).items()
        if kind == "file" and ".bak" not in name
    }


START: Files = {"a": b"A", "b": b"B", "c": b"C", "d/x": b"X", "d/y": b"Y", "e/f/g": b"G"}

SHAPES = {
    "swap": (
        [Change("rename", "b", source="a"), Change("rename", "a", source="b")],
        {"a": b"B", "b": b"A"},
    ),
    "swap-with-edits": (
        [Change("rename", "b", b"1", "a"), Change("rename", "a", b"2", "b")],
        {"a": b"2", "b": b"1"},
    ),
    "chain": (
        [Change("rename", "b", source="a"), Change("rename", "c", source="b"), Change("rename", "z", source="c")],
        {"a": None, "b": b"A", "c": b"B", "z": b"C"},
    ),
    "ring-of-three": (
        [Change("rename", "b", source="a"), Change("rename", "c", source="b"), Change("rename", "a", source="c")],
        {"a": b"C", "b": b"A", "c": b"B"},
    ),
    "rename-and-create-in-its-place": (
        [Change("rename", "z", source="a"), Change("create", "a", b"new")],
        {"a": b"new", "z": b"A"},
    ),
    "remove-and-create-in-its-place": (
        [Change("remove", "a"), Change("create", "a", b"new")],
        {"a": b"new"},
    ),
    "copy-of-a-file-that-is-edited": (
        [Change("copy", "z", source="a"), Change("replace", "a", b"new")],
        {"a": b"new", "z": b"A"},
    ),
    "copy-of-a-file-that-goes": (
        [Change("copy", "z", source="a"), Change("remove", "a")],
        {"a": None, "z": b"A"},
    ),
    "two-copies": (
        [Change("copy", "y", source="a"), Change("copy", "z", b"edited", "a")],
        {"y": b"A", "z": b"edited"},
    ),
    "file-becomes-folder": (
        [Change("remove", "a"), Change("create", "a/in/side", b"new")],
        {"a": None, "a/in/side": b"new"},
    ),
    "file-moves-into-a-folder-of-its-name": (
        [Change("rename", "a/a", source="a")],
        {"a": None, "a/a": b"A"},
    ),
    "folder-becomes-file": (
        [Change("remove", "e/f/g"), Change("create", "e", b"new")],
        {"e/f/g": None, "e": b"new"},
    ),
    "file-moves-out-and-takes-the-folders-name": (
        [Change("rename", "e", source="e/f/g")],
        {"e/f/g": None, "e": b"G"},
    ),
    "folders-made": (
        [Change("create", "n/e/w/1", b"1"), Change("create", "n/e/2", b"2")],
        {"n/e/w/1": b"1", "n/e/2": b"2"},
    ),
    "folder-moves": (
        [Change("rename", "d2/x", source="d/x"), Change("rename", "d2/y", source="d/y")],
        {"d/x": None, "d/y": None, "d2/x": b"X", "d2/y": b"Y"},
    ),
    "empty-files": (
        [Change("create", "z", b""), Change("replace", "a", b"")],
        {"a": b"", "z": b""},
    ),
    "same-bytes": ([Change("replace", "a", b"A")], {}),
    "modes": (
        [Change("mode", "a", executable=True), Change("create", "z", b"", executable=True)],
        {"z": b""},
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "plain-rename"])
def test_shape_and_back(
    tmp_path: Path, shape: str, reverse: bool, exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is done, whatever the order; undo gives every byte, mode and folder back; and undo
    of the undo does it again. Also where the file system knows neither exchange nor no-replace."""
    if not exchange:
        monkeypatch.setattr("sandbox.operations.rename_special", _lacking)
    changes, differences = SHAPES[shape]
    fill(tmp_path, START)
    (tmp_path / "b").chmod(0o600)
    (tmp_path / "c").chmod(0o751)
    (tmp_path / "e/f").chmod(0o750)
    before = snapshot(tmp_path)
    expected = {**START, **differences}
    expected = {name: data for name, data in expected.items() if data is not None}
    with Root.open(tmp_path) as root:
        check(root, changes)
        receipt = commit(root, changes[::-1] if reverse else changes, backup=False)
        after = snapshot(tmp_path)
        assert files(tmp_path) == expected
        for one in receipt.files:
            if one.action != "remove":
                assert one.sha256_after == sha(expected[one.path])
            if one.sha256_before is not None:
                assert one.sha256_before == sha(START[one.source or one.path])
        plan = undo(root, receipt.id, dry_run=True)
        assert snapshot(tmp_path) == after
        undone = undo(root, receipt.id, dry_run=False)
        assert snapshot(tmp_path) == before
        assert [(one.path, one.action) for one in undone.files] == [
            (one.path, one.action) for one in plan.files
        ]
        assert undone.receipt is not None
        undo(root, undone.receipt.id, dry_run=False)
        assert snapshot(tmp_path) == after


def _lacking(*_: object) -> None:
    raise OSError(22, "invalid argument")


def test_emptied_folders_go_as_git_apply_does(tmp_path: Path) -> None:
    fill(tmp_path, {"d/e/x": b"", "d/keep": b"", "f/g/y": b""})
    with Root.open(tmp_path) as root:
        commit(root, [Change("rename", "x", source="d/e/x"), Change("rename", "y", source="f/g/y")])
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != ".toolbox") == ["d", "x", "y"]
    assert [p.name for p in (tmp_path / "d").iterdir()] == ["keep"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_mounts_that_are_allowed_are_written_to(tmp_path: Path) -> None:
    """No link and no rename goes from one mount to another: copies and in-folder renames do."""
    folder = tmp_path / "root"
    fill(folder, {"m/x": b"", "a": b"A"})
    fill(tmp_path / "other", {"f": b"F", "g": b"G", "h": b"H"})
    mount_bind(tmp_path / "other", folder / "m")
    try:
        with Root.open(folder, cross_mounts=True) as root:
            before = snapshot(folder)
            receipt = commit(
                root,
                [
                    Change("replace", "m/f", b"new"),
                    Change("remove", "m/g"),
                    Change("rename", "moved", source="m/h"),
                    Change("rename", "m/a", source="a"),
                ],
                backup=False,
            )
            assert files(folder) == {"m/f": b"new", "moved": b"H", "m/a": b"A"}
            assert not [p for p in os.listdir(folder / "m") if "tmp" in p]
            undo(root, receipt.id, dry_run=False)
            assert snapshot(folder) == before
    finally:
        unmount(folder / "m")


class TestUndo:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        fill(tmp_path, START)
        return tmp_path

    @pytest.fixture
    def root(self, folder: Path) -> Root:
        return Root.open(folder)

    def test_files_that_changed_since_are_named_and_nothing_is_done(
        self, root: Root, folder: Path
    ) -> None:
        changes = [
            Change("replace", "a", b"1"), Change("replace", "b", b"2"), Change("remove", "c"),
            Change("create", "n", b"3"), Change("rename", "m", source="d/x"), Change("mode", "d/y", executable=True),
        ]  # fmt: skip
        receipt = commit(root, changes)
        spoil = {
            "a": lambda: (folder / "a").write_bytes(b"edited"),
            "b": lambda: (folder / "b").chmod(0o700),
            "c": lambda: (folder / "c").write_bytes(b"came back"),
            "n": lambda: (folder / "n").unlink(),
            "d/x": lambda: (folder / "d/x").symlink_to("y"),
            "d/y": lambda: (folder / "d/y").unlink(),
        }
        changed = []
        for name, act in sorted(spoil.items()):
            act()
            changed.append(name)
            before = snapshot(folder)
            for dry_run in (True, False):
                with pytest.raises(Changed) as refusal:
                    undo(root, receipt.id, dry_run=dry_run)
                assert refusal.value.at is not None
                assert sorted(refusal.value.at["changed"]) == sorted(changed)
            assert snapshot(folder) == before

    def test_edited_undo_copy_is_noticed(self, root: Root, folder: Path) -> None:
        """The backup and the undo copy are one file: who edits the one spoils the other."""
        receipt = commit(root, [Change("replace", "a", b"new")])
        (folder / "a.bak").write_bytes(b"edited")
        with pytest.raises(Changed, match=r"a \(its kept copy\)"):
            undo(root, receipt.id, dry_run=False)
        assert (folder / "a").read_bytes() == b"new"

    def test_unknown_and_hostile_ids(self, root: Root, folder: Path) -> None:
        with pytest.raises(NotFound, match="no transaction"):
            undo(root, f"{0:012x}-{0:016x}", dry_run=True)
        receipt = commit(root, [Change("replace", "a", b"new")])
        with pytest.raises(NotFound) as refusal:
            undo(root, f"{0:012x}-{0:016x}", dry_run=False)
        assert refusal.value.hint is not None
        assert receipt.id in refusal.value.hint
        for id in ("", "..", "../open", "x" * 1000, receipt.id + "/", receipt.id.upper() + "\n"):
            with pytest.raises((InvalidPath, NotFound)):
                undo(root, id, dry_run=False)

    def test_history_newest_first_with_what_was_undone(self, root: Root, folder: Path) -> None:
        assert history(root) == []
        first = commit(root, [Change("replace", "a", b"1")])
        second = commit(root, [Change("replace", "b", b"2")])
        undone = undo(root, second.id, dry_run=False).receipt
        assert undone is not None
        found = history(root)
        assert [(one.id, one.kind, one.undone_by) for one in found] == [
            (undone.id, "undo", None),
            (second.id, "apply", undone.id),
            (first.id, "apply", None),
        ]
        assert found[2].files == first.files
        assert found[0].time_ns >= found[2].time_ns > 0
        with pytest.raises(Changed) as refusal:
            undo(root, second.id, dry_run=False)
        assert refusal.value.hint == f"it was undone by {undone.id} already"
        undo(root, undone.id, dry_run=False)
        assert history(root)[2].undone_by is None, "what was done again is not undone"
        undo(root, second.id, dry_run=False)
        assert len(history(root, 2)) == 2

    def test_only_the_last_are_kept(
        self, root: Root, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ledger, "HISTORY_ENTRIES", 3)
        ids = [commit(root, [Change("replace", "a", b"%d" % n)], backup=False).id for n in range(5)]
        assert [one.id for one in history(root)] == ids[:1:-1]
        assert len(os.listdir(folder / ".toolbox/history")) == 3
        with pytest.raises(NotFound):
            undo(root, ids[1], dry_run=False)
        for id in ids[:1:-1]:
            undo(root, id, dry_run=False) if id == ids[-1] else None
        assert (folder / "a").read_bytes() == b"3"

    def test_history_of_a_copied_workspace_is_not_believed(
        self, root: Root, folder: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        receipt = commit(root, [Change("replace", "a", b"new")])
        copy = tmp_path_factory.mktemp("copies") / "copy"
        shutil.copytree(folder, copy)
        with Root.open(copy) as other:
            assert history(other) == []
            with pytest.raises(NotFound, match="not this workspace's"):
                undo(other, receipt.id, dry_run=False)
        assert (copy / "a").read_bytes() == b"new"


names = st.sampled_from(["a", "b", "c", "d/x", "d/y", "e/f/g", "n", "d", "e", "e/f", "a/z"])
change = st.one_of(
    st.builds(Change, st.sampled_from(["create", "replace"]), names, st.sampled_from([b"", b"1", b"2"])),
    st.builds(Change, st.just("remove"), names),
    st.builds(Change, st.just("mode"), names, executable=st.booleans()),
    st.builds(
        Change, st.sampled_from(["rename", "copy"]), names, st.sampled_from([None, b"3"]), names,
    ),
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(change, min_size=1, max_size=5), st.booleans())
def test_any_changes_are_done_whole_or_refused_whole(
    tmp_path_factory: pytest.TempPathFactory, changes: list[Change], backup: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    fill(folder, START)
    before = snapshot(folder)
    with Root.open(folder) as root:
        try:
            receipt = commit(root, changes, backup=backup)
        except SandboxError as exc:
            assert not isinstance(exc, WriteFailed)
            assert snapshot(folder) == before
            return
        expected = dict(START)
        for one in changes:
            if one.action == "remove":
                expected.pop(one.path)
            elif one.action == "rename" and one.source is not None:
                expected.pop(one.source)
        for one in changes:
            if one.action != "remove" and one.action != "mode":
                data = one.data if one.data is not None else START[one.source or one.path]
                expected[one.path] = data
        assert files(folder) == expected
        if backup:
            kept = {data for _, (_, data, _) in snapshot(folder).items()}
            below_new_file = {p for p in START if any(p.startswith(q + "/") for q in expected)}
            assert {START[p] for p in START.keys() - below_new_file} <= kept, "no byte is lost"
        undo(root, receipt.id, dry_run=False)
        assert files(folder) == START
        if not backup:
            assert snapshot(folder) == before
