"""`@diff revisions` against git itself, on made histories."""

from __future__ import annotations

import pathlib
import random
import shutil
from typing import Any

import pytest

from tests.verbs.diff.calls import Reply, call, write
from tests.verbs.diff.histories import git, git_version, make
from toolbox import errors
from toolbox.verbs.diff.revisions import VERB

COMMITS = 220
WORDS = {"A": "added", "D": "deleted", "M": "modified", "T": "type_changed"}

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the histories")


def revisions(folder: pathlib.Path, old: str, new: str, **more: Any) -> Any:
    return call(VERB, folder, {"from": old, "to": new, **more}).result


def reply(folder: pathlib.Path, old: str, new: str, **more: Any) -> Reply:
    return call(VERB, folder, {"from": old, "to": new, **more})


def shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


@pytest.fixture(scope="module", params=[11, 12])
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("history")
    make(folder, COMMITS, request.param)
    return folder


def pairs(seed: int, count: int) -> list[tuple[str, str]]:
    r = random.Random(seed)
    found = []
    for _ in range(count):
        a = r.randrange(COMMITS)
        b = min(max(a + r.choice((-1, 1, 1, 2, 7, 30, 120)), 0), COMMITS - 1)
        found.append((f"main~{a}", f"main~{b}"))
    return found


def git_names(folder: pathlib.Path, *args: str) -> list[dict[str, Any]]:
    words = git(folder, "diff", "--name-status", "-M", "-z", *args).split(b"\0")[:-1]
    found: list[dict[str, Any]] = []
    at = 0
    while at < len(words):
        letter = words[at][:1].decode()
        if letter == "R":
            found.append({
                "path": shown(words[at + 2]), "status": "renamed", "from_path": shown(words[at + 1]),
                "similarity": int(words[at][1:]),
            })  # fmt: skip
            at += 3
        else:
            found.append({"path": shown(words[at + 1]), "status": WORDS[letter]})
            at += 2
    return found


def git_counts(folder: pathlib.Path, *args: str) -> list[tuple[str, int | None, int | None]]:
    words = git(folder, "diff", "--numstat", "-M", "-z", *args).split(b"\0")[:-1]
    found = []
    at = 0
    while at < len(words):
        plus, minus, path = words[at].split(b"\t")
        if not path:
            path = words[at + 2]
            at += 2
        at += 1
        numbers = (None, None) if plus == b"-" else (int(plus), int(minus))
        found.append((shown(path), *numbers))
    return found


def plain(file: dict[str, Any]) -> dict[str, Any]:
    return {k: file[k] for k in ("path", "status", "from_path", "similarity") if k in file}


same_renames = pytest.mark.skipif(git_version() >= (2, 44), reason="git from 2.44 on counts a last line otherwise")


@same_renames
def test_names_are_those_of_name_status(history: pathlib.Path) -> None:
    for old, new in pairs(1, 60):
        got = revisions(history, old, new, limit=10_000)["files"]
        assert [plain(file) for file in got] == git_names(history, old, new), (old, new)


@same_renames
def test_stat_is_that_of_numstat(history: pathlib.Path) -> None:
    for old, new in pairs(2, 60):
        got = revisions(history, old, new, format="stat", limit=10_000)["files"]
        assert [(f["path"], f.get("insertions"), f.get("deletions")) for f in got] == git_counts(history, old, new)
        assert all(f["binary"] == ("insertions" not in f) for f in got)


def test_unified_text_applies_and_gives_the_new_tree(history: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Every change that a text patch can carry, through git's own apply."""
    tried = 0
    for old, new in pairs(3, 40):
        got = reply(history, old, new, format="unified", limit=10_000, max_bytes=10_000_000, context=tried % 4 + 1)
        files = got.result["files"]
        if any(f["binary"] or f.get("escaped") or f.get("path_escaped") for f in files) or not files:
            continue
        tried += 1
        git(history, "read-tree", f"--index-output={tmp_path / 'index'}", old)
        env_index = tmp_path / "index"
        shutil.copy(env_index, history / ".git" / "index")
        git(history, "apply", "--cached", "-", data=got.text.encode() + b"\n")
        assert git(history, "write-tree") == git(history, "rev-parse", f"{new}^{{tree}}"), (old, new)
    assert tried > 4


def test_hunks_of_the_result_are_those_of_the_text(history: pathlib.Path) -> None:
    for old, new in pairs(4, 15):
        got = reply(history, old, new, format="unified", limit=10_000, max_bytes=10_000_000)
        for file in got.result["files"]:
            for hunk in file.get("hunks", ()):
                assert "\n".join([hunk["header"], *hunk["lines"]]) in got.text
                counted = [line for line in hunk["lines"] if line[0] != "\\"]
                assert sum(line[0] in " -" for line in counted) == hunk["old_count"]
                assert sum(line[0] in " +" for line in counted) == hunk["new_count"]
            if not file["binary"]:
                lines = [line for hunk in file["hunks"] for line in hunk["lines"]]
                assert file["insertions"] == sum(line[0] == "+" for line in lines)
                assert file["deletions"] == sum(line[0] == "-" for line in lines)


def pages(folder: pathlib.Path, old: str, new: str, **more: Any) -> list[list[dict[str, Any]]]:
    found = []
    cursor = None
    while True:
        got = revisions(folder, old, new, **more, **({"cursor": cursor} if cursor else {}))
        found.append(got["files"])
        assert got["truncated"] == ("cursor" in got)
        cursor = got.get("cursor")
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 7, 1_000])
@pytest.mark.parametrize("form", ["names", "stat", "unified"])
def test_pages_lose_and_repeat_nothing(history: pathlib.Path, limit: int, form: str) -> None:
    for old, new in pairs(5, 3):
        whole = revisions(history, old, new, format=form, limit=10_000, max_bytes=10**9)
        got = pages(history, old, new, format=form, limit=limit, max_bytes=6_000)
        flat = [file for page in got for file in page]
        assert [f["path"] for f in flat] == [f["path"] for f in whole["files"]]
        for file, full in zip(flat, whole["files"], strict=True):
            if not file.get("hunks_truncated"):
                assert file == full
            else:
                assert file["hunks"] == full["hunks"][: len(file["hunks"])]
                assert file["hunks_total"] == len(full["hunks"])
        assert all(len(page) <= limit for page in got)


@pytest.mark.parametrize("most", [1, 300, 1_000, 5_000, 40_000])
def test_a_unified_page_is_as_full_as_max_bytes_allows(history: pathlib.Path, most: int) -> None:
    import msgspec

    for old, new in pairs(6, 6):
        whole = revisions(history, old, new, format="unified", limit=10_000, max_bytes=10**9)["files"]
        at = 0
        for page in pages(history, old, new, format="unified", limit=10_000, max_bytes=most):
            size = len(msgspec.json.encode(page))
            assert size <= most or len(page) == 1
            if size > most:
                assert not page[0].get("hunks")
            if page and page[0].get("hunks_truncated"):
                assert len(page) == 1
                more = msgspec.json.encode([{**page[0], "hunks": whole[at]["hunks"][: len(page[0]["hunks"]) + 1]}])
                assert len(more) > most
            at += len(page)
            if at < len(whole) and not page[-1].get("hunks_truncated"):
                assert len(msgspec.json.encode([*page, whole[at]])) > most
        assert at == len(whole)


def test_a_cursor_goes_on_with_its_own_ids_while_the_branch_moves(history: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "moving"
    shutil.copytree(history, folder)
    git(folder, "branch", "topic", "main~40")
    first = revisions(folder, "main~80", "topic", limit=2)
    want = revisions(folder, "main~80", "topic", limit=10_000)
    git(folder, "branch", "-f", "topic", "main")
    second = revisions(folder, "main~80", "topic", limit=10_000, cursor=first["cursor"])
    assert (second["from"], second["to"]) == (want["from"], want["to"])
    assert first["files"] + second["files"] == want["files"]
    assert revisions(folder, "main~80", "topic", limit=2)["to"] != want["to"]


def test_paths_take_files_and_folders_before_renames_are_looked_for(history: pathlib.Path) -> None:
    for old, new in pairs(7, 12):
        for paths in (["src"], ["src/", "docs"], ["readme", "a b/"], ["lib/main.c"]):
            got = revisions(history, old, new, paths=paths, limit=10_000)["files"]
            assert [plain(file) for file in got] == git_names(history, old, new, "--", *(f":(literal){p}" for p in paths))


def test_spellings_mean_what_they_mean_to_git(history: pathlib.Path) -> None:
    git(history, "tag", "-f", "light", "main~3")
    git(history, "tag", "-f", "-a", "-m", "x", "heavy", "main~4")
    git(history, "tag", "-f", "-a", "-m", "x", "heavier", "heavy")
    git(history, "branch", "-f", "deep/er", "main~5")
    git(history, "pack-refs", "--all")
    git(history, "branch", "-f", "loose", "main~6")
    full = git(history, "rev-parse", "main~7").strip().decode()
    tree = git(history, "rev-parse", "main~8^{tree}").strip().decode()
    for text in (
        "HEAD", "@", "main", "light", "heavy", "heavier", "heavier^{}", "deep/er", "heads/deep/er", "tags/light",
        "refs/heads/loose", "loose~2", "loose^", "loose^1~1^0", "HEAD~", "HEAD^^", "HEAD~0", full, full[:12], full.upper()[:9],
        f"{full[:9]}~1", "heavy^{commit}", f"anything-3-g{full[:10]}", "heavy~1^{commit}",
    ):  # fmt: skip
        want = git(history, "rev-parse", "--verify", f"{text}^{{commit}}").strip().decode()
        assert revisions(history, text, "main")["from"] == want, text
    assert revisions(history, tree, "main")["from"] == tree
    assert revisions(history, "main~8^{tree}", "main")["from"] == tree


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mian", "nearest names: main"), ("main~100000", "goes past the beginning"), ("main^2", "has 1 parents"),
        ("", "empty"), ("main..topic", "from 'main', to 'topic'"), ("main:readme", "`paths`"), (":/fix", "not searched"),
        ("deadbeef" * 5, "no such object"), ("main@{upstream}", "upstreams"), ("main@{99999}", "changes"), ("ab", "4 digits"),
        ("../../x", "a range"), ("refs/heads/../../config", "range"), ("main~x", "neither ~N nor ^N"), ("HEAD^{blob}", "^{commit}"),
        ("config", "no branch"), ("/etc/passwd", "no branch"), ("main\n", "no branch"),
    ],
)  # fmt: skip
def test_what_names_no_revision_says_why_and_what_is_near(history: pathlib.Path, text: str, says: str) -> None:
    with pytest.raises(errors.BadRevision) as caught:
        revisions(history, text, "main")
    assert says in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.message.startswith("from: ")


def test_an_ambiguous_abbreviation_lists_what_it_may_be(tmp_path: pathlib.Path) -> None:
    git(tmp_path, "init", "-q")
    seen: dict[str, bytes] = {}
    at = 0
    while True:  # two commits that share four digits: some hundred tries by birthday
        body = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b> %d +0000\ncommitter a <a@b> %d +0000\n\nx\n" % (at, at)
        from hashlib import sha1

        ident = sha1(b"commit %d\0" % len(body) + body).hexdigest()
        if ident[:4] in seen and any(c in "abcdef" for c in ident[:4]):
            break
        seen[ident[:4]] = body
        at += 1
    git(tmp_path, "mktree", data=b"")
    ids = [git(tmp_path, "hash-object", "-w", "-t", "commit", "--stdin", data=one).decode().strip() for one in (seen[ident[:4]], body)]
    with pytest.raises(errors.BadRevision) as caught:
        revisions(tmp_path, ident[:4], ids[0])
    assert all(one in caught.value.message for one in ids)
    assert revisions(tmp_path, ids[0], ids[1])["files"] == []
    # A blob that shares the digits is no revision, so it does not count.
    git(tmp_path, "update-ref", "refs/heads/main", ids[0])
    only = ids[0][:40]
    assert revisions(tmp_path, only[:10], "main")["from"] == only


def test_reflog_places_are_found(tmp_path: pathlib.Path) -> None:
    git(tmp_path, "init", "-q")
    for k in range(3):
        write(tmp_path, {"a.txt": f"{k}\n"})
        git(tmp_path, "add", "a.txt")
        git(tmp_path, "commit", "-q", "-m", "x")
    git(tmp_path, "reset", "-q", "--hard", "HEAD~2")
    for text in ("HEAD@{0}", "HEAD@{1}", "main@{1}", "@{1}", "main@{3}"):
        want = git(tmp_path, "rev-parse", text).decode().strip()
        assert revisions(tmp_path, text, "HEAD")["from"] == want


def test_bounds_are_refused_and_not_bent(history: pathlib.Path) -> None:
    for wrong in ({"limit": 0}, {"max_bytes": 0}, {"context": -1}, {"format": "patch"}, {"path": "x"}, {"cursor": "nonsense"}, {"cursor": "é"}):
        with pytest.raises(errors.InvalidArg):
            reply(history, "main~1", "main", **wrong)


def test_cursors_from_elsewhere_are_refused(history: pathlib.Path, tmp_path: pathlib.Path) -> None:
    cursor = revisions(history, "main~90", "main", limit=1)["cursor"]
    for changed in (cursor[:-1], cursor + "A", cursor.swapcase(), "B" + cursor[1:], cursor[:30] + ("A" if cursor[30] != "A" else "B") + cursor[31:]):
        with pytest.raises(errors.InvalidArg):
            revisions(history, "main~90", "main", cursor=changed)
    with pytest.raises(errors.InvalidArg):
        revisions(history, "main~91", "main", cursor=cursor)
    with pytest.raises(errors.InvalidArg):
        revisions(history, "main~90", "main", cursor=cursor, paths=["src"])
    other = tmp_path / "other"
    other.mkdir()
    make(other, 95, 77)
    with pytest.raises(errors.InvalidArg, match="lacks"):
        revisions(other, "main~90", "main", cursor=cursor)


def test_the_shape_of_the_envelope(history: pathlib.Path) -> None:
    got = revisions(history, "main", "main")
    assert got == {"from": got["from"], "to": got["from"], "files": [], "total": 0, "truncated": False}
    assert len(got["from"]) == 40
    assert not reply(history, "main", "main").negative
    assert reply(history, "main~50", "main").negative


def test_an_unknown_path_is_said(history: pathlib.Path) -> None:
    assert "neither side has no/such" in reply(history, "main~1", "main", paths=["no/such"]).text
    with pytest.raises(errors.InvalidArg):
        revisions(history, "main~1", "main", paths=["../x"])
