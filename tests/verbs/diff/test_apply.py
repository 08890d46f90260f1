"""`@diff apply` on a real workspace: exact or refused, all or nothing, never outside."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.verbs.conftest import Asked, Workspace

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases" / "apply.jsonl").read_text("utf-8").splitlines()
]
SUITE = Path(__file__).parents[4] / "shared" / "suites" / "patch-triples"
TRIPLES = sorted(SUITE.iterdir()) if SUITE.is_dir() else []

APP = "def main():\n    go()\n    stop()\n"
EDIT = "--- a/app.py\n+++ b/app.py\n@@ -1,3 +1,3 @@\n def main():\n-    go()\n+    go(1)\n     stop()\n"


def data(value: dict[str, Any]) -> bytes:
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return str(value.get("text", "")).encode("utf-8", "surrogateescape")


def tree(folder: Path) -> dict[str, bytes]:
    """Every regular file but backups and the toolbox's own state."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.is_symlink() and ".toolbox" not in p.parts and ".bak" not in p.name
    }


def apply(workspace: Workspace, patch: str | bytes, **args: Any) -> Asked:
    """A real write, unless the arguments say otherwise."""
    args = {"dry_run": False, **args}
    if isinstance(patch, bytes):
        try:
            return workspace.ask("diff", "apply", {"patch": patch.decode(), **args})
        except UnicodeDecodeError:
            (workspace.folder / "given.patch").write_bytes(patch)
            return workspace.ask("diff", "apply", {"patch_file": "given.patch", **args})
    return workspace.ask("diff", "apply", {"patch": patch, **args})


def prepare(workspace: Workspace, case: dict[str, Any]) -> None:
    workspace.write({path: data(value) for path, value in case["files"].items()})
    for link, target in case.get("symlinks", {}).items():
        (workspace.folder / link).symlink_to(target)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case(workspace: Workspace, case: dict[str, Any]) -> None:
    prepare(workspace, case)
    before = tree(workspace.folder)
    target = case["call"].get("target")
    got = apply(workspace, data(case["patch"]), **({"file": target} if target else {}))
    after = tree(workspace.folder)
    after.pop("given.patch", None)
    expect = case["expect"]
    if expect["verdict"] == "apply":
        assert got.ok, got.text
        assert after == {path: data(value) for path, value in expect["files_after"].items()}
        for path in expect.get("executable_after", []):
            assert (workspace.folder / path).stat().st_mode & 0o111
        return
    assert not got.ok
    assert after == before
    whole = json.dumps(got.error, ensure_ascii=False)
    assert [m for m in expect.get("must_mention", []) if str(m) not in whole] == []
    assert got.error["code"] != "E_INTERNAL"
    assert got.error["hint"]


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_a_dry_run_says_the_same_and_writes_nothing(workspace: Workspace, case: dict[str, Any]) -> None:
    prepare(workspace, case)
    before = sorted(p for p in workspace.folder.rglob("*"))
    dry = apply(workspace, data(case["patch"]).decode("utf-8", "replace"), dry_run=True)
    assert sorted(p for p in workspace.folder.rglob("*")) == before
    assert dry.ok == (case["expect"]["verdict"] == "apply")
    files = dry.result["files"] if dry.ok else dry.error["at"]["files"]
    for file in files:
        assert {"path", "action", "verdict", "reason", "hunks", "sha256_before", "sha256_after", "backup"} <= set(file)
        for hunk in file["hunks"]:
            assert {"hunk", "header", "verdict", "patch_line", "file_line", "reason", "expected", "found", "candidates"} <= set(hunk)


@pytest.mark.skipif(not TRIPLES, reason="the suite is not at hand")
@pytest.mark.parametrize("triple", TRIPLES, ids=[t.name for t in TRIPLES])
def test_triple(workspace: Workspace, triple: Path) -> None:
    meta = json.loads((triple / "meta.json").read_bytes())
    workspace.write({
        str(p.relative_to(triple / "before")): p.read_bytes()
        for p in (triple / "before").rglob("*") if p.is_file()
    })  # fmt: skip
    before = tree(workspace.folder)
    target = meta.get("target")
    got = apply(workspace, (triple / "patch").read_bytes(), **({"file": target} if target else {}))
    (workspace.folder / "given.patch").unlink(missing_ok=True)
    after = tree(workspace.folder)
    if meta["expect"]["verdict"] == "apply":
        assert got.ok, got.text
        assert after == tree(triple / "after")
    else:
        assert not got.ok and got.error["code"] != "E_INTERNAL"
        assert after == before


def test_the_reply_tells_hashes_backup_and_undo(workspace: Workspace) -> None:
    workspace.write({"app.py": APP})
    got = apply(workspace, EDIT)
    new = APP.replace("go()", "go(1)")
    (file,) = got.result["files"]
    assert file["sha256_before"] == hashlib.sha256(APP.encode()).hexdigest()
    assert file["sha256_after"] == hashlib.sha256(new.encode()).hexdigest()
    assert (file["action"], file["verdict"], file["backup"]) == ("edit", "applied", "app.py.bak")
    assert (workspace.folder / "app.py.bak").read_text() == APP
    assert got.result["applied"] is True and got.result["dry_run"] is False
    assert f'"id": "{got.result["undo"]}"' in got.text
    again = apply(workspace, EDIT.replace("go()", "go(1)").replace("+    go(1)", "+    go(2)"))
    assert again.result["files"][0]["backup"] == "app.py.bak"
    assert (workspace.folder / "app.py.bak.1").read_text() == APP


def test_a_dry_run_names_the_next_call(workspace: Workspace) -> None:
    workspace.write({"app.py": APP, "p.patch": EDIT})
    got = workspace.ask("diff", "apply", {"patch_file": "p.patch"})
    assert got.text.splitlines()[0] == "dry run, nothing was written: the patch fits its file"
    assert "app.py: edit, hunk 1 fits" in got.text
    assert '"patch_file": "p.patch", "dry_run": false' in got.text
    assert (workspace.folder / "app.py").read_text() == APP


def test_undo_puts_everything_back_and_history_lists_it(workspace: Workspace) -> None:
    workspace.write({"app.py": APP, "old.txt": "x\n", "gone.txt": "y\n"})
    before = tree(workspace.folder)
    patch = (
        EDIT
        + "diff --git a/old.txt b/sub/new.txt\nsimilarity index 100%\nrename from old.txt\nrename to sub/new.txt\n"
        + "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n"
        + "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+z\n"
    )
    ident = apply(workspace, patch).result["undo"]
    assert set(tree(workspace.folder)) == {"app.py", "sub/new.txt", "made.txt"}
    listed = workspace.ask("diff", "history", {})
    assert listed.result["entries"][0]["id"] == ident
    dry = workspace.ask("diff", "undo", {"id": ident})
    assert dry.result["undone"] is False and len(dry.result["files"]) >= 4
    assert set(tree(workspace.folder)) == {"app.py", "sub/new.txt", "made.txt"}
    done = workspace.ask("diff", "undo", {"id": ident, "dry_run": False})
    assert done.result["undone"] is True
    assert tree(workspace.folder) == before


def test_undo_refuses_where_a_file_changed_since(workspace: Workspace) -> None:
    workspace.write({"app.py": APP})
    ident = apply(workspace, EDIT).result["undo"]
    (workspace.folder / "app.py").write_text("mine\n")
    got = workspace.ask("diff", "undo", {"id": ident, "dry_run": False})
    assert got.error["code"] == "E_CHANGED"
    assert "app.py" in got.text
    assert (workspace.folder / "app.py").read_text() == "mine\n"


# Attacks


@pytest.mark.parametrize(
    "patch",
    [
        "--- ../x\n+++ ../x\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n",
        "--- /dev/null\n+++ {top}/x\n@@ -0,0 +1 @@\n+b\n",
        "diff --git a/app.py b/y\nsimilarity index 100%\nrename from app.py\nrename to ../y\n",
        "diff --git a/app.py b/y\nsimilarity index 100%\nrename from ../x\nrename to y\n",
        "diff --git a/app.py b/y\nsimilarity index 100%\ncopy from {top}/x\ncopy to y\n",
        "diff --git a/../x b/../x\nold mode 100644\nnew mode 100755\n",
        "diff --git \"a/..\\057x\" \"b/..\\057x\"\n--- \"a/..\\057x\"\n+++ \"b/..\\057x\"\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)  # fmt: skip
def test_names_that_lead_out_refuse_the_whole_patch(tmp_path: Path, patch: str) -> None:
    (tmp_path / "x").write_text("a\n")
    (tmp_path / "root").mkdir()
    workspace = Workspace(tmp_path / "root")
    workspace.write({"app.py": APP})
    got = apply(workspace, EDIT + patch.format(top=tmp_path))
    assert got.error["code"] == "E_OUTSIDE_WORKSPACE"
    assert (tmp_path / "x").read_text() == "a\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["root", "x"]
    assert tree(workspace.folder) == {"app.py": APP.encode()}


@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_a_patch_never_writes_by_way_of_a_link(tmp_path: Path, resolver: str) -> None:
    from sandbox.root import Root

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_text("a\n")
    (tmp_path / "root").mkdir()
    workspace = Workspace(tmp_path / "root")
    workspace.root = Root.open(tmp_path / "root", resolver=resolver)  # type: ignore[arg-type]
    workspace.write({"in/f": "a\n"})
    for link, target in (("lo", "../out"), ("li", "in"), ("lf", "in/f"), ("dangling", "nowhere"), ("dout", "../made")):
        (workspace.folder / link).symlink_to(target)
    for path in ("lo/f", "li/f", "lf"):
        got = apply(workspace, f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n")
        assert got.error["code"] in ("E_OUTSIDE_WORKSPACE", "E_PATCH_UNSUPPORTED")
    for path in ("lo/n", "li/n", "dangling", "dout", "li/new/n"):
        got = apply(workspace, f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+b\n")
        assert got.error["code"] in ("E_OUTSIDE_WORKSPACE", "E_PATCH_UNSUPPORTED"), path
    link = "diff --git a/d b/d\nnew file mode 120000\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+../out\n\\ No newline at end of file\n"
    got = apply(workspace, link + "--- /dev/null\n+++ b/d/n\n@@ -0,0 +1 @@\n+b\n")
    assert got.error["code"] == "E_PATCH_UNSUPPORTED" and "120000" in got.text
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"f"}
    assert (tmp_path / "out" / "f").read_text() == "a\n" == (workspace.folder / "in/f").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "root"]


def test_planted_reject_and_original_links_stay_untouched(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("v\n")
    (tmp_path / "root").mkdir()
    workspace = Workspace(tmp_path / "root")
    workspace.write({"app.py": APP})
    for end in (".rej", ".orig", ".bak"):
        (workspace.folder / f"app.py{end}").symlink_to("../victim")
    assert not apply(workspace, EDIT.replace("go()", "other()")).ok
    assert apply(workspace, EDIT).ok
    assert (tmp_path / "victim").read_text() == "v\n"
    for end in (".rej", ".orig"):
        assert (workspace.folder / f"app.py{end}").is_symlink()


@pytest.mark.parametrize("mode", ["120000", "160000", "104755", "102755", "101777", "040000", "100666"])
@pytest.mark.parametrize("line", ["new file mode {}", "old mode 100644\nnew mode {}", "index 111..222 {}"])
def test_modes_other_than_ordinary_are_refused_by_name(workspace: Workspace, mode: str, line: str) -> None:
    workspace.write({"app.py": APP})
    name = "fresh" if line.startswith("new") else "app.py"
    body = "--- /dev/null\n+++ b/fresh\n@@ -0,0 +1 @@\n+x\n" if name == "fresh" else EDIT
    got = apply(workspace, f"diff --git a/{name} b/{name}\n{line.format(mode)}\n{body}")
    assert got.error["code"] == "E_PATCH_UNSUPPORTED"
    assert mode in got.text
    assert tree(workspace.folder) == {"app.py": APP.encode()}
    assert stat.S_IMODE((workspace.folder / "app.py").stat().st_mode) & 0o7111 == 0


@pytest.mark.parametrize("path", [".git/hooks/x", ".GIT/hooks/x", ".git./x", ".gi\u200bt/x", "git~1/x", ".mcp.json", "sub/.vscode/x", ".toolbox/x"])
def test_protected_names_are_refused_in_the_dry_run_too(workspace: Workspace, path: str) -> None:
    workspace.write({"app.py": APP})
    patch = EDIT + f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    for dry in (True, False):
        got = apply(workspace, patch, dry_run=dry)
        assert got.error["code"] == "E_PROTECTED"
    assert tree(workspace.folder) == {"app.py": APP.encode()}


def test_a_stale_hash_is_refused(workspace: Workspace) -> None:
    workspace.write({"app.py": APP, "b.txt": "x\n"})
    good = hashlib.sha256(APP.encode()).hexdigest()
    for expect in ("0" * 64, {"app.py": "0" * 64}):
        got = apply(workspace, EDIT, expect_sha256=expect)
        assert got.error["code"] == "E_CHANGED" and good in got.text
    assert apply(workspace, EDIT, expect_sha256="zz").error["code"] == "E_INVALID_ARG"
    assert apply(workspace, EDIT, expect_sha256=good.upper()).ok


def test_renames_never_clobber(workspace: Workspace) -> None:
    workspace.write({"a.txt": "A\n", "b.txt": "B\n", "Read.md": "R\n"})
    move = "diff --git a/{0} b/{1}\nsimilarity index 100%\nrename from {0}\nrename to {1}\n"
    got = apply(workspace, move.format("a.txt", "b.txt"))
    assert got.error["code"] == "E_EXISTS" and "b.txt" in got.text
    assert apply(workspace, move.format("Read.md", "read.md")).ok
    assert tree(workspace.folder) == {"a.txt": b"A\n", "b.txt": b"B\n", "read.md": b"R\n"}
    workspace.write({"READ.md": "other\n"})
    got = apply(workspace, move.format("read.md", "READ.md"))
    assert got.error["code"] == "E_EXISTS"
    nfc, nfd = "caf\u00e9.txt", "cafe\u0301.txt"
    workspace.write({nfc: "1\n", nfd: "2\n"})
    assert apply(workspace, move.format(nfc, nfd)).error["code"] == "E_EXISTS"
    assert (workspace.folder / nfc).read_text() == "1\n"


def test_ed_scripts_are_never_run(workspace: Workspace) -> None:
    workspace.write({"foo": "bar\n"})
    got = apply(workspace, "--- foo\n+++ foo\n1c\nbaz\n.\n!touch PWNED\nw\nq\n")
    assert got.error["code"] in ("E_PATCH_UNSUPPORTED", "E_PATCH_MALFORMED")
    assert tree(workspace.folder) == {"foo": b"bar\n"}


def test_mode_bits_and_bytes_survive(workspace: Workspace) -> None:
    workspace.write({"run.sh": b"\xef\xbb\xbfa\r\nb\r\n\xff\n"})
    os.chmod(workspace.folder / "run.sh", 0o750)
    assert apply(workspace, "--- a/run.sh\n+++ b/run.sh\n@@ -2,2 +2,2 @@\n-b\r\n+B\r\n \udcff\n".encode("utf-8", "surrogateescape")).ok
    assert (workspace.folder / "run.sh").read_bytes() == b"\xef\xbb\xbfa\r\nB\r\n\xff\n"
    assert stat.S_IMODE((workspace.folder / "run.sh").stat().st_mode) == 0o750


def test_a_file_becomes_a_folder_and_back(workspace: Workspace) -> None:
    workspace.write({"d": "x\n"})
    there = "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+y\n"
    assert apply(workspace, there).ok
    assert tree(workspace.folder) == {"d/f": b"y\n"}


def test_the_file_argument_takes_hunks_alone(workspace: Workspace) -> None:
    workspace.write({"sub/app.py": APP})
    hunks = EDIT.split("\n", 2)[2]
    assert apply(workspace, hunks, file="sub/app.py").ok
    assert apply(workspace, hunks.replace("+    go(1)", "+    go(2)").replace("-    go()", "-    go(1)"), file=str(workspace.folder / "sub/app.py"), dry_run=True).ok
    for bad in ("../x", "/etc/passwd", "sub", "", "a" * 300, "nope", "sub/app.py/"):
        got = apply(workspace, hunks, file=bad)
        assert not got.ok and got.error["code"] != "E_INTERNAL", bad


def test_a_huge_refusal_stays_bounded(workspace: Workspace) -> None:
    workspace.write({f"f{k}.txt": "a\n" * 20 for k in range(60)})
    hunks = "".join(f"@@ -{k} +{k} @@\n-b\n+c\n" for k in range(1, 20))
    patch = "".join(f"--- a/f{k}.txt\n+++ b/f{k}.txt\n{hunks}" for k in range(60))
    got = apply(workspace, patch)
    assert got.error["code"] == "E_PATCH_MISMATCH"
    assert len(got.reply.error) < 80_000
    assert len(got.text) < 10_000
    assert got.error["at"]["files_total"] == 60


def test_a_small_cap_keeps_the_answer_valid(workspace: Workspace) -> None:
    workspace.write({f"f{k}.txt": "a\n" for k in range(50)})
    patch = "".join(f"--- a/f{k}.txt\n+++ b/f{k}.txt\n@@ -1 +1 @@\n-a\n+b\n" for k in range(50))
    got = workspace.ask("diff", "apply", {"patch": patch, "max_bytes": 2000})
    assert len(got.reply.result) <= 2000 and len(got.text.encode()) <= 2000
    assert int(got.result["files_total"]) == 50
