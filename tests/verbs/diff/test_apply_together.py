"""Several processes applying at once: every apply is whole, a later one sees what an earlier wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.verbs.conftest import Workspace

WORKER = """
import json, sys
from sandbox.root import Root
from toolbox.dispatch import Call, run
from toolbox.store import DocumentStore
root = Root.open(sys.argv[1])
documents = DocumentStore(root)
done = []
for k in range(int(sys.argv[3])):
    while True:
        text = open(sys.argv[1] + "/a.txt").read()
        n = int(text)
        patch = "".join(
            f"--- a/{name}\\n+++ b/{name}\\n@@ -1 +1 @@\\n-{n}\\n+{n + 1}\\n" for name in ("a.txt", "b.txt")
        )
        patch += f"--- /dev/null\\n+++ b/made-{n + 1}\\n@@ -0,0 +1 @@\\n+{sys.argv[2]}\\n"
        reply = run(Call("diff", "apply", json.dumps({"patch": patch, "dry_run": False}).encode()), root, documents)
        if reply.ok:
            done.append(n + 1)
            break
        assert reply.code in ("E_PATCH_MISMATCH", "E_CHANGED", "E_EXISTS", "E_BUSY"), reply.text
print(json.dumps(done))
"""


def test_two_processes(tmp_path: Path) -> None:
    each = 8
    (tmp_path / "a.txt").write_text("0\n")
    (tmp_path / "b.txt").write_text("0\n")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), name, str(each)],
            stdout=subprocess.PIPE, cwd=Path(__file__).parents[3],
        )
        for name in ("one", "two")
    ]  # fmt: skip
    outcomes = [json.loads(p.communicate(timeout=100)[0]) for p in running]
    assert [p.returncode for p in running] == [0, 0]
    # Every number was written exactly once, by one of the two, and both files went together.
    assert sorted(outcomes[0] + outcomes[1]) == list(range(1, 2 * each + 1))
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text() == f"{2 * each}\n"
    for name, numbers in zip(("one", "two"), outcomes, strict=True):
        for n in numbers:
            assert (tmp_path / f"made-{n}").read_text() == f"{name}\n"
    workspace = Workspace(tmp_path)
    entries = workspace.ask("diff", "history", {"limit": 100}).result["entries"]
    assert len(entries) == 2 * each
