"""52: the sandbox's own reader, walker and writer do all their work inside a confined worker."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from sandbox import landlock, transaction
from sandbox.changes import Change
from sandbox.landlock import Mode
from sandbox.reader import read_file
from sandbox.root import Root
from sandbox.syscalls import architecture
from tests.sandbox.children import Outcome, confined


def _missing() -> str | None:
    try:
        version = landlock.abi()
    except OSError as exc:
        return landlock.why_missing(exc)
    if version < landlock.ABI_TRUNCATE:
        return f"Landlock version {version} is older than 3"
    return None if architecture() else "no system call tables for this machine"


pytestmark = pytest.mark.skipif(_missing() is not None, reason=_missing() or "")

RESOLVERS = pytest.mark.parametrize("resolver", ["openat2", "walk"])


def run(folder: pathlib.Path, mode: Mode, resolver: Any, act: Callable[[Root], Any]) -> Outcome:
    """Confine a child as a worker is, its descriptors too, and run it there."""
    root = Root.open(str(folder), resolver=resolver)
    try:
        return confined(lambda: act(root), root.fd, mode)
    finally:
        root.close()


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "old.txt").write_bytes(b"old\n")
    (root / "sub" / "moved.txt").write_bytes(b"moved\n")
    (root / "gone.txt").write_bytes(b"gone\n")
    (root / "link.txt").symlink_to("old.txt")
    return root


CHANGES = [
    Change("replace", "old.txt", data=b"new\n"),
    Change("create", "made/deep/new.txt", data=b"made\n"),
    Change("rename", "renamed.txt", source="sub/moved.txt"),
    Change("remove", "gone.txt"),
]


def apply(root: Root) -> str:
    return transaction.commit(root, CHANGES).id


def content(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".toolbox" not in path.parts and not path.name.endswith(".bak")
    }


@RESOLVERS
def test_52_a_transaction_its_history_and_its_undo(folder: pathlib.Path, resolver: Any) -> None:
    (folder / "old.txt").chmod(0o640)
    try:
        os.setxattr(folder / "old.txt", "user.note", b"kept")
    except OSError:
        pass
    attributes = os.listxattr(folder / "old.txt")
    before = content(folder)

    applied = run(folder, "write", resolver, apply)
    assert applied.error is None, applied
    assert content(folder) == {
        "link.txt": b"new\n",
        "made/deep/new.txt": b"made\n",
        "old.txt": b"new\n",
        "renamed.txt": b"moved\n",
    }
    entry = (folder / "old.txt").stat()
    assert entry.st_mode & 0o777 == 0o640
    assert os.listxattr(folder / "old.txt") == attributes
    assert (folder / "old.txt.bak").read_bytes() == b"old\n"

    listed = run(folder, "read", resolver, lambda root: [x.id for x in transaction.history(root)])
    assert listed.value == [applied.value], listed
    tried = run(
        folder,
        "read",
        resolver,
        lambda root: {str(x.path) for x in transaction.undo(root, applied.value, dry_run=True).files},
    )
    assert tried.value == {
        "gone.txt", "made/deep/new.txt", "old.txt", "renamed.txt", "sub/moved.txt"
    }, tried  # fmt: skip

    undone = run(
        folder, "write", resolver, lambda root: bool(transaction.undo(root, applied.value, dry_run=False).receipt)
    )
    assert undone.value is True, undone
    assert content(folder) == before


@RESOLVERS
def test_52_a_read_worker_that_is_made_to_write_fails_and_changes_nothing(
    folder: pathlib.Path, resolver: Any
) -> None:
    before = content(folder)
    outcome = run(folder, "read", resolver, apply)
    assert outcome.error is not None
    assert content(folder) == before
    assert not (folder / ".toolbox").exists()
    assert run(folder, "write", resolver, apply).error is None  # the control


@RESOLVERS
@pytest.mark.parametrize("mode", ["read", "write"])
def test_52_files_are_read_through_links(folder: pathlib.Path, resolver: Any, mode: Mode) -> None:
    outcome = run(
        folder, mode, resolver, lambda root: read_file(root, "sub/../link.txt", limit_bytes=100).data
    )
    assert outcome.value == b"old\n", outcome


@pytest.mark.parametrize("mode", ["read", "write"])
def test_15_the_held_folder_is_served_after_it_was_moved_away(
    folder: pathlib.Path, mode: Mode
) -> None:
    root = Root.open(str(folder))

    def move() -> None:
        folder.rename(folder.with_name("elsewhere"))
        folder.mkdir()
        (folder / "old.txt").write_bytes(b"another folder's\n")

    def act() -> bytes:
        return read_file(root, "old.txt", limit_bytes=100).data

    assert confined(act, root.fd, mode, before=move).value == b"old\n"
    root.close()
