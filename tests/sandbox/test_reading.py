"""Bounded reads: the cap counts bytes, and one answer is one version of a file. Attacks 44, 45."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox import reader
from sandbox.errors import Changed, TooLarge
from sandbox.reader import read_file, read_open
from sandbox.root import Root, Stamp
from tests.sandbox.children import in_child, with_deadline


@pytest.fixture(params=["openat2", "walk"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    return Root.open(tmp_path, resolver=request.param)


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_up_to_the_limit_everything_comes(tmp_path: Path, root: Root, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "f").write_bytes(data)
    (tmp_path / "f").chmod(0o640)
    content = read_file(root, "f", limit_bytes=100)
    found = (tmp_path / "f").stat()
    assert content.data == data
    assert content.path == "f"
    assert content.mode == 0o640
    assert content.stamp == Stamp.from_stat(found)


def test_one_byte_more_is_refused_with_both_sizes(tmp_path: Path, root: Root) -> None:
    (tmp_path / "f").write_bytes(b"x" * 101)
    with pytest.raises(TooLarge) as refusal:
        read_file(root, "f", limit_bytes=100, what="patch")
    assert "f is too large for a patch: it has 101 bytes, at most 100" in refusal.value.message
    assert refusal.value.at == {"path": "f", "size_bytes": 101, "limit_bytes": 100}
    assert refusal.value.hint


def test_attack_44_sparse_terabyte_costs_nothing(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        try:
            file.truncate(1 << 40)
        except OSError:
            pytest.skip("no such sparse files here")

    def attack() -> str:
        with Root.open(tmp_path) as root:
            try:
                read_file(root, "f", limit_bytes=1 << 20)
            except TooLarge as exc:
                return exc.message
        return "read"

    assert "1 099 511 627 776 bytes" in in_child(with_deadline(attack, 2)).value


@pytest.mark.parametrize(
    ("size", "becomes"),
    [(1000, 1001), (1000, 5000), (1000, 999), (1000, 0), (1000, 1000), (0, 1000)],
    ids=["grows-by-one", "grows", "shrinks-by-one", "emptied", "rewritten", "from-nothing"],
)
def test_attack_44_change_while_read_is_an_error(
    tmp_path: Path, root: Root, size: int, becomes: int
) -> None:
    (tmp_path / "f").write_bytes(b"a" * size)
    with root.open_file("f") as opened:
        os.utime(tmp_path / "f", ns=(0, 0))  # even where the clock stood still
        (tmp_path / "f").write_bytes(b"b" * becomes)
        with pytest.raises(Changed, match="f changed while it was read"):
            read_open(opened, limit_bytes=10_000)


def test_attack_44_endless_growth_ends_at_the_limit(
    tmp_path: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that grows as fast as it is read: every read finds more."""
    (tmp_path / "f").write_bytes(b"a" * 10)
    real, calls = os.read, 0

    def growing(fd: int, size: int) -> bytes:
        nonlocal calls
        calls += 1
        with (tmp_path / "f").open("ab") as file:
            file.write(b"b" * 3000)
        return real(fd, size)

    with root.open_file("f") as opened:
        monkeypatch.setattr(reader.os, "read", growing)
        with pytest.raises(TooLarge):
            read_open(opened, limit_bytes=10_000)
    assert calls < 20


def test_control_44_trusting_the_size_cuts_a_growing_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a" * 10)
    with (tmp_path / "f").open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        (tmp_path / "f").write_bytes(b"b" * 3000)
        assert file.read(size) == b"b" * 10


def test_attack_45_pseudo_file_of_size_0_has_content() -> None:
    """Files of /proc say 0 bytes and hold more; the cap counts what comes."""
    with Root.open("/proc/sys/kernel") as root:
        stamp_size = os.stat("/proc/sys/kernel/ostype").st_size
        assert stamp_size == 0, "the control: a read by size would be empty"
        assert read_file(root, "ostype", limit_bytes=100).data == b"Linux\n"
    with Root.open(f"/proc/{os.getpid()}") as root, pytest.raises(TooLarge):
        read_file(root, "maps", limit_bytes=100)


def test_attack_45_pseudo_file_that_says_too_much() -> None:
    """Files of /sys say a page and hold less."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not path.exists():
        pytest.skip("no such file here")
    with Root.open(path.parent) as root:
        assert read_file(root, "enabled", limit_bytes=10_000).data == path.read_bytes()


def test_stamp_tells_versions_apart(tmp_path: Path, root: Root) -> None:
    (tmp_path / "f").write_bytes(b"one")
    first = read_file(root, "f", limit_bytes=10).stamp
    (tmp_path / "g").write_bytes(b"one")
    os.utime(tmp_path / "g", ns=(first.mtime_ns, first.mtime_ns))
    (tmp_path / "g").replace(tmp_path / "f")
    second = read_file(root, "f", limit_bytes=10).stamp
    assert first != second
    assert len({first, second, Stamp(*first)}) == 2
    assert second.settled(second.ctime_ns + 1_000_000_000)
    assert not second.settled(second.ctime_ns)
