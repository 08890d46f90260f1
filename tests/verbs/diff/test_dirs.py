"""`@diff dirs`: what differs between two trees, listed in pages, counted whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sandbox import errors as refusals
from tests.verbs.diff.calls import call, write
from toolbox import limits
from toolbox.engines.diff.globs import selector
from toolbox.errors import Changed, InvalidArg
from toolbox.verbs.diff.dirs import VERB


def dirs(folder: Path, cap: int | None = None, **args: Any) -> Any:
    return call(VERB, folder, {"a": "v1", "b": "v2", **args}, cap)


def test_every_fate(tmp_path: Path) -> None:
    write(tmp_path, {
        "v1/same": "1\n", "v2/same": "1\n", "v1/gone": "1\n", "v2/new/deep": "1\n",
        "v1/size": "1\n", "v2/size": "22\n", "v1/bytes": "1\n", "v2/bytes": "2\n",
        "v1/file-folder": "1\n", "v2/file-folder/x": "1\n", "v1/.git/x": "1\n",
        "v1/node_modules/x": "1\n", "v2/vendor/x": "1\n",
    })  # fmt: skip
    for version, target in (("v1", "same"), ("v2", "bytes")):
        os.symlink(target, tmp_path / version / "link")
        os.symlink("same", tmp_path / version / "link-same")
    os.symlink("same", tmp_path / "v1" / "was-link")
    write(tmp_path, {"v2/was-link": "1\n"})
    got = dirs(tmp_path)
    assert got.text.splitlines()[1:] == [
        "~ bytes", "! file-folder (file → folder)", "+ file-folder/x", "- gone", "~ link",
        "+ new/deep", "~ size", "! was-link (link → file)",
    ]  # fmt: skip
    assert got.text.startswith("2 added, 1 removed, 3 changed, 2 of another kind: v1 → v2, ")
    result = got.result
    assert result["added"] == ["file-folder/x", "new/deep"]
    assert result["removed"] == ["gone"]
    assert result["changed"] == ["bytes", "link", "size"]
    assert result["kind_changed"] == ["file-folder", "was-link"]
    compared = result["totals"].pop("compared")
    assert compared > 8
    assert result["totals"] == {"added": 2, "removed": 1, "changed": 3, "kind_changed": 2}
    assert (result["equal"], result["truncated"], got.negative) == (False, False, True)


def test_no_difference_in_one_line(tmp_path: Path) -> None:
    write(tmp_path, {"v1/a": "1\n", "v2/a": "1\n"})
    got = dirs(tmp_path)
    assert got.text == "no difference: v1 → v2, 1 entry compared"
    assert got.result["equal"] and not got.negative


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.go", ["a.go", "gen/b.go", "src/deep/c.go"]),
        ("/*.go", ["a.go"]),
        ("src/", ["src/deep/c.go", "src/x.txt"]),
        ("src/*", ["src/deep/c.go", "src/x.txt"]),
        ("**/deep/**", ["src/deep/c.go"]),
        (["*.go", "!gen/"], ["a.go", "src/deep/c.go"]),
        (["*.go", "!gen/", "gen/b.go"], ["a.go", "gen/b.go", "src/deep/c.go"]),
        ("!*.go", ["src/x.txt", "wörld [1].txt"]),
        ("w*[[]?].txt", ["wörld [1].txt"]),
        ("nothing", []),
    ],
)
def test_glob(glob: Any, paths: list[str], tmp_path: Path) -> None:
    names = ["a.go", "gen/b.go", "src/deep/c.go", "src/x.txt", "wörld [1].txt"]
    write(tmp_path, {f"v1/{name}": "1\n" for name in names})
    (tmp_path / "v2").mkdir()
    got = dirs(tmp_path, glob=glob)
    assert got.result["removed"] == paths
    assert ("no file of either folder matches the glob" in got.text) is (not paths)


@pytest.mark.parametrize("glob", ["", "#note", "!", "a[", "[z-a]", ["*.go", ""], ["x"] * 101, "x" * 1001])
def test_globs_that_match_nothing_are_refused(glob: Any, tmp_path: Path) -> None:
    write(tmp_path, {"v1/a": "1\n", "v2/a": "1\n"})
    with pytest.raises(InvalidArg, match="glob: expected"):
        dirs(tmp_path, glob=glob)


def test_a_glob_is_linear() -> None:
    wanted = selector(["*a" * 40 + "b"])
    assert not wanted("a" * 250)


def test_pages_have_full_counts(tmp_path: Path) -> None:
    count = limits.DIRS_ENTRIES + 5
    write(tmp_path, {f"v2/f{i:05}": "" for i in range(count)})
    (tmp_path / "v1").mkdir()
    first = dirs(tmp_path)
    assert len(first.result["added"]) == limits.DIRS_ENTRIES
    assert first.result["totals"]["added"] == count and first.truncated
    assert "… showing 2 000 of 2 005 entries" in first.text
    second = dirs(tmp_path, cursor=first.result["cursor"])
    assert second.result["added"] == [f"f{i:05}" for i in range(limits.DIRS_ENTRIES, count)]
    assert second.result["totals"] == first.result["totals"]
    assert not second.result["truncated"] and "cursor" not in second.result


@pytest.mark.parametrize("cap", [450, 1000])
def test_capped_pages_are_the_whole(cap: int, tmp_path: Path) -> None:
    names = [f"folder {i % 7}/file {i}" for i in range(80)]
    write(tmp_path, {f"v{1 + i % 2}/{name}": "" for i, name in enumerate(names)})
    whole = dirs(tmp_path).result
    listed: dict[str, list[str]] = {"added": [], "removed": []}
    more: dict[str, Any] = {}
    for _ in range(80):
        got = dirs(tmp_path, cap, **more)
        assert len(got.text.encode()) <= cap and got.result_bytes <= cap
        for mark, paths in listed.items():
            paths += got.result[mark]
        if "cursor" not in got.result:
            break
        more = {"cursor": got.result["cursor"]}
    assert listed == {mark: whole[mark] for mark in listed}


def test_a_cursor_is_bound(tmp_path: Path) -> None:
    write(tmp_path, {f"v2/f{i:03}": "" for i in range(200)})
    (tmp_path / "v1").mkdir()
    cursor = dirs(tmp_path, 600).result["cursor"]
    with pytest.raises(InvalidArg, match="other options"):
        dirs(tmp_path, glob="*", cursor=cursor)
    with pytest.raises(InvalidArg, match="expected one that @diff dirs gave"):
        dirs(tmp_path, cursor="zzz")
    write(tmp_path, {"v2/one-more": ""})
    with pytest.raises(Changed):
        dirs(tmp_path, cursor=cursor)


def test_names_are_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    (tmp_path / "v2").mkdir()
    for raw in (b"new\nline", b"bad\xff", b'quo"te', b"two words"):
        os.close(os.open(os.fsencode(tmp_path) + b"/v2/" + raw, os.O_CREAT | os.O_WRONLY))
    got = dirs(tmp_path, glob="*")
    assert got.text.splitlines()[1:] == [
        '+ "bad\\377"', '+ "new\\nline"', '+ "quo\\"te"', "+ two words",
    ]  # fmt: skip
    assert got.result["added"] == ["bad\\xff", "new\nline", 'quo"te', "two words"]


def test_what_is_no_folder(tmp_path: Path) -> None:
    write(tmp_path, {"v1": "1\n", "v2/x": "1\n"})
    with pytest.raises(refusals.NotAFile):
        dirs(tmp_path)
    with pytest.raises(refusals.OutsideWorkspace):
        call(VERB, tmp_path, {"a": "..", "b": "v2"})


def test_the_same_folder_twice(tmp_path: Path) -> None:
    write(tmp_path, {"v1/x": "1\n"})
    assert call(VERB, tmp_path, {"a": "v1", "b": "v1"}).result["equal"]
