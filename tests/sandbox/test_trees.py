"""Walks and comparisons of trees. Attacks 18 and 47."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.compare import Comparison, Difference, compare_trees
from sandbox.errors import Changed
from sandbox.root import Root
from sandbox.tree import Descent, Walk
from tests.sandbox.world import build, mount_bind, unmount


@pytest.fixture(params=["openat2", "walk"])
def resolver(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def paths(folder: Path, resolver: str = "auto", **options: object) -> list[str]:
    with Root.open(folder, resolver=resolver) as root, root.open_folder() as opened:  # type: ignore[arg-type]
        return [one.path for one in Walk(opened, **options)]  # type: ignore[arg-type]


def test_order_is_that_of_whole_paths(tmp_path: Path, resolver: str) -> None:
    for name in ("a/x", "a/y/z", "a.txt", "a-b", "b", "B", "ä"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert paths(tmp_path, resolver) == [
        "B", "a-b", "a.txt", "a", "a/x", "a/y", "a/y/z", "b", "ä",
    ]  # fmt: skip


def test_records_say_what_is_there(tmp_path: Path, resolver: str) -> None:
    folder = build(tmp_path)
    with Root.open(folder, resolver=resolver) as root, root.open_folder() as opened:  # type: ignore[arg-type]
        walk = Walk(opened)
        found = {one.path: one for one in walk}
        assert walk.cut is None
        assert walk.skipped == []
    for path, entry in found.items():
        real = (folder / path).lstat()
        assert entry.identity == (real.st_dev, real.st_ino)
        assert entry.size == real.st_size
    assert found["out-folder"].kind == "link"
    assert found["out-folder"].target == "../outside"
    assert found["fifo"].kind == "fifo"
    assert found["socket"].kind == "socket"
    assert found["d"].kind == "folder"
    assert not any("canary" in path for path in found), "links are reported, never entered"
    assert set(found) == {
        os.path.relpath(os.path.join(at, name), folder)
        for at, folders, files in os.walk(folder)
        for name in folders + files
    }


def test_control_links_entered_show_what_is_outside(tmp_path: Path) -> None:
    folder = build(tmp_path)
    shown = [os.path.join(at, name) for at, _, names in os.walk(folder / "out-folder") for name in names]
    assert any(name.endswith("canary") for name in shown)


def test_version_control_and_dependencies_are_skipped_unless_asked(tmp_path: Path) -> None:
    for name in (".git", "node_modules", "src/vendor", ".toolbox", "src"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "f").touch()
    (tmp_path / "vendor").touch()  # a file of that name is no folder to skip
    assert paths(tmp_path) == ["src", "src/f", "vendor"]
    assert ".git/f" in paths(tmp_path, skip=frozenset())


def test_keep_is_asked_before_a_folder_is_entered(tmp_path: Path) -> None:
    (tmp_path / "a/deep").mkdir(parents=True)
    (tmp_path / "a/deep/f").touch()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/f").touch()
    asked: list[tuple[str, bool]] = []

    def keep(path: str, is_folder: bool) -> bool:
        asked.append((path, is_folder))
        return path != "a"

    assert paths(tmp_path, keep=keep) == ["b", "b/f"]
    assert asked == [("a", True), ("b", True), ("b/f", False)]


@pytest.mark.parametrize(("cap", "cut"), [(9, True), (10, False), (11, False)])
def test_cap_is_told(tmp_path: Path, cap: int, cut: bool) -> None:
    for number in range(9):
        (tmp_path / f"f{number}").touch()
    (tmp_path / "d").mkdir()
    with Root.open(tmp_path) as root, root.open_folder() as opened:
        walk = Walk(opened, entries=cap)
        assert len(list(walk)) == min(cap, 10)
        assert (walk.cut is not None) == cut
        if cut:
            assert walk.cut == "more than 9 entries: cut in the folder itself"


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3 000 levels, whose path no call could name."""
    top = tmp_path_factory.mktemp("deep")
    fd = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        down = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = down
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    yield top
    subprocess.run(["rm", "-rf", top], check=True)


@pytest.mark.parametrize("held", [2, 64])
def test_attack_47_3000_levels_are_walked_with_few_descriptors(
    deep: Path, resolver: str, held: int
) -> None:
    with Root.open(deep, resolver=resolver) as root, root.open_folder() as opened:  # type: ignore[arg-type]
        before = len(os.listdir("/proc/self/fd"))
        most, last = 0, None
        for one in Walk(opened, held=held):
            if one.path.count("/") % 100 == 0:
                most = max(most, len(os.listdir("/proc/self/fd")))
            last = one
        assert last is not None
        assert last.path == "d/" * 3000 + "leaf"
        assert most <= before + held + 2
        assert len(os.listdir("/proc/self/fd")) == before


def test_control_47_the_standard_walk_gives_up(deep: Path) -> None:
    """It recurses too deep, or stops without a word where the path is too long to name."""
    try:
        files = [name for _, _, names in os.walk(deep) for name in names]
    except RecursionError:
        return
    assert files == []


def test_attack_47_two_deep_trees_are_compared(deep: Path, resolver: str) -> None:
    with (
        Root.open(deep, resolver=resolver) as root,  # type: ignore[arg-type]
        root.open_folder() as before,
        root.open_folder("d") as after,
    ):
        found = list(compare_trees(before, after, Comparison()))
    assert [(one.mark, one.path.count("/")) for one in found] == [("removed", 3000), ("added", 2999)]


def test_attack_47_many_entries_are_cut_and_said(tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        for number in range(3000):
            os.close(os.open(tmp_path / side / f"{number}", os.O_CREAT | os.O_WRONLY))
    with Root.open(tmp_path) as root, root.open_folder("a") as a, root.open_folder("b") as b:
        comparison = Comparison()
        assert list(compare_trees(a, b, comparison, entries=6000)) == []
        assert comparison.cut is None
        comparison = Comparison()
        list(compare_trees(a, b, comparison, entries=5999))
        assert comparison.cut == "more than 5999 entries: cut in the folder itself"


def test_attack_18_listing_race_stays_on_the_folders_descriptor(
    tmp_path: Path, resolver: str
) -> None:
    """While a folder is listed, its name comes to lead outside: the entries stay its own."""
    folder = build(tmp_path)
    (folder / "e/canary").write_bytes(b"ours")
    with Root.open(folder, resolver=resolver) as root, root.open_folder() as opened:  # type: ignore[arg-type]
        found = []
        for one in Walk(opened):
            if one.path == "e":
                outside = (tmp_path / "outside/canary").stat()
            if one.path == "e/canary":
                found.append(one)
                (folder / "e").rename(folder / "moved")
                (folder / "e").symlink_to(tmp_path / "outside")
                assert (folder / "e/canary").stat().st_ino == outside.st_ino, "the control bites"
            if one.path == "e/f":
                found.append(one)
    assert [one.path for one in found] == ["e/canary", "e/f"]
    assert all(one.identity[1] != outside.st_ino for one in found)
    assert found[1].size == 3


def test_folder_swapped_before_it_is_entered_is_told(tmp_path: Path, resolver: str) -> None:
    folder = build(tmp_path)
    with Root.open(folder, resolver=resolver) as root, root.open_folder() as opened:  # type: ignore[arg-type]
        walk = Walk(opened)
        seen = []
        for one in walk:
            seen.append(one.path)
            if one.path == "d":
                (folder / "d").rename(folder / "moved")
                (folder / "d").symlink_to(tmp_path / "outside")
    assert not any(path.startswith("d/") for path in seen)
    assert [(one.path, one.reason) for one in walk.skipped] == [
        ("d", "changed while the tree was walked")
    ]


def test_way_back_is_only_taken_to_the_same_folder(tmp_path: Path) -> None:
    """Past the held folders the way back is `..`: moved away meanwhile, it is refused."""
    folder = tmp_path / "root"
    (folder / "a/b/c/d/e").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    with Root.open(folder) as root, root.open_folder() as opened:
        descent = Descent(opened, held=2)
        for name in "abcde":
            descent.enter(name)
        (folder / "a/b/c/d").rename(tmp_path / "outside/d")
        descent.leave()
        with pytest.raises(Changed):
            descent.leave()  # c is not held any more, and d's parent is another folder by now
        descent.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_mounts_are_not_entered(tmp_path: Path, resolver: str) -> None:
    folder = build(tmp_path)
    (folder / "mounted").mkdir()
    mount_bind(tmp_path / "outside", folder / "mounted")
    try:
        for cross, expected in ((False, False), (True, True)):
            with (
                Root.open(folder, resolver=resolver, cross_mounts=cross) as root,  # type: ignore[arg-type]
                root.open_folder() as opened,
            ):
                walk = Walk(opened)
                found = [one.path for one in walk]
                assert ("mounted/canary" in found) == expected
                assert [one.path for one in walk.skipped] == ([] if cross else ["mounted"])
    finally:
        unmount(folder / "mounted")


class TestComparing:
    def make(self, folder: Path, files: dict[str, bytes | str]) -> None:
        folder.mkdir()
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.symlink_to(content)
            else:
                path.write_bytes(content)

    def compare(self, top: Path, resolver: str = "auto", **options: object) -> list[Difference]:
        with (
            Root.open(top, resolver=resolver) as root,  # type: ignore[arg-type]
            root.open_folder("a") as a,
            root.open_folder("b") as b,
        ):
            return list(compare_trees(a, b, Comparison(), **options))  # type: ignore[arg-type]

    def test_every_kind_of_difference(self, tmp_path: Path, resolver: str) -> None:
        same = os.urandom(200_000)
        self.make(
            tmp_path / "a",
            {
                "same": b"x", "same-long": same, "gone": b"", "changed": b"one", "long": same,
                "link": "same", "link-moved": "same", "becomes-link": b"x", "becomes-folder": b"",
                "folder/x": b"", "was-folder/y": b"", "deep/er/gone": b"", "longer": same,
            },
        )  # fmt: skip
        self.make(
            tmp_path / "b",
            {
                "same": b"x", "same-long": same, "new": b"", "changed": b"two",
                "long": same[:-1] + bytes([same[-1] ^ 1]), "link": "same", "link-moved": "other",
                "becomes-link": "same", "becomes-folder/z": b"", "folder/x": b"", "was-folder": b"",
                "added/tree/f": b"", "longer": same + b"x",
            },
        )  # fmt: skip
        assert self.compare(tmp_path, resolver) == [
            ("added", "added/tree/f", None, "file"),
            ("kind_changed", "becomes-folder", "file", "folder"),
            ("added", "becomes-folder/z", None, "file"),
            ("kind_changed", "becomes-link", "file", "link"),
            ("changed", "changed", "file", "file"),
            ("removed", "deep/er/gone", "file", None),
            ("removed", "gone", "file", None),
            ("changed", "link-moved", "link", "link"),
            ("changed", "long", "file", "file"),
            ("changed", "longer", "file", "file"),
            ("added", "new", None, "file"),
            ("kind_changed", "was-folder", "folder", "file"),
            ("removed", "was-folder/y", "file", None),
        ]

    def test_keep_sees_both_sides_once(self, tmp_path: Path) -> None:
        self.make(tmp_path / "a", {"x.go": b"1", "x.txt": b"1", "d/y.go": b""})
        self.make(tmp_path / "b", {"x.go": b"2", "x.txt": b"2", "d/z.go": b""})
        found = self.compare(tmp_path, keep=lambda path, folder: folder or path.endswith(".go"))
        assert [one.path for one in found] == ["d/y.go", "d/z.go", "x.go"]

    def test_a_link_swapped_in_is_never_followed(self, tmp_path: Path, resolver: str) -> None:
        """Both sides a link by now: nothing is read through either."""
        self.make(tmp_path / "a", {"1": b"", "f": b"x"})
        self.make(tmp_path / "b", {"f": b"x"})
        with (
            Root.open(tmp_path, resolver=resolver) as root,  # type: ignore[arg-type]
            root.open_folder("a") as a,
            root.open_folder("b") as b,
        ):
            comparison = Comparison()
            asked = []

            def swap(path: str, is_folder: bool) -> bool:
                asked.append(path)
                if path == "f":  # listed, and not yet opened
                    for side, target in (("a", "/etc/passwd"), ("b", "/etc/group")):
                        (tmp_path / side / "f").unlink()
                        (tmp_path / side / "f").symlink_to(target)
                return True

            assert [one.path for one in compare_trees(a, b, comparison, keep=swap)] == ["1"]
            assert sorted(asked) == ["1", "f"]
            assert [one.path for one in comparison.skipped] == ["f"]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(["a", "a.b", "a/x", "a/y/z", "b", "b-c", "é", "z/z"]),
                st.sampled_from([b"", b"1", b"2"]),
            ),
            min_size=2,
            max_size=2,
        )
    )
    def test_agrees_with_a_plain_comparison(
        self, tmp_path_factory: pytest.TempPathFactory, sides: list[dict[str, bytes]]
    ) -> None:
        top = tmp_path_factory.mktemp("compare")
        for name, files in zip("ab", sides, strict=True):
            (top / name).mkdir()
            for path, content in files.items():
                try:
                    (top / name / path).parent.mkdir(parents=True, exist_ok=True)
                    (top / name / path).write_bytes(content)
                except (FileExistsError, NotADirectoryError, IsADirectoryError):
                    continue
        expected = set()
        trees = [
            {str(p.relative_to(top / side)): p for p in (top / side).rglob("*")} for side in "ab"
        ]
        for path in trees[0].keys() | trees[1].keys():
            old, new = trees[0].get(path), trees[1].get(path)
            if old and new and old.is_dir() != new.is_dir():
                expected.add(("kind_changed", path))
            elif old and new:
                if old.is_file() and old.read_bytes() != new.read_bytes():
                    expected.add(("changed", path))
            elif old and old.is_file():
                expected.add(("removed", path))
            elif new and new.is_file():
                expected.add(("added", path))
        found = [(one.mark, one.path) for one in self.compare(top)]
        assert set(found) == expected
        assert len(found) == len(expected)
        with_folders = [p + "/" if (top / "a" / p).is_dir() or (top / "b" / p).is_dir() else p for _, p in found]
        assert with_folders == sorted(with_folders)
