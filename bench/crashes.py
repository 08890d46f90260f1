"""SIGKILL by strace at every system call of a write: `python -m bench.crashes`.

The test suite ends writes before each of the writer's own calls. Here the kernel's side is asked:
strace ends the process as it enters the nth system call of each kind that changes files, until none
is left. Each time recovery has to give all-old or all-new.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox.root import Root
from sandbox.transaction import recover
from tests.sandbox.test_crashing import scene
from tests.sandbox.world import snapshot

CALLS = (
    "flock", "mkdirat", "linkat", "renameat2", "renameat", "rename", "unlinkat", "fchmod",
    "fchown", "fsetxattr", "sync_file_range", "fsync",
)  # fmt: skip
WRITE = """
import sys
from sandbox.root import Root
from sandbox.transaction import commit
from tests.sandbox.test_crashing import CHANGES
with Root.open(sys.argv[1]) as root:
    commit(root, CHANGES)
"""
_KILLED = 137


def write(folder: Path, call: str = "", nth: int = 0) -> bool:
    """Write in a fresh process, ended at the nth call of that name; whether it lived to the end."""
    command = [sys.executable, "-c", WRITE, str(folder)]
    if call:
        inject = f"inject={call}:signal=KILL:when={nth}"
        options = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
        command = [*options, *command]
    status = subprocess.run(command, check=False).returncode
    if status not in (0, -9, _KILLED):
        raise RuntimeError(f"the write ended with {status}")
    return status == 0


def main() -> int:
    if shutil.which("strace") is None:
        print("strace is not installed: nothing was measured")
        return 2
    ends = {"old": 0, "new": 0}
    with tempfile.TemporaryDirectory() as top:
        whole = scene(Path(top) / "whole")
        before = snapshot(whole)
        write(whole)
        after = snapshot(whole)
        mixtures = 0
        for call in CALLS:
            nth = 0
            while True:
                nth += 1
                folder = scene(Path(top) / f"{call}-{nth}")
                if write(folder, call, nth):
                    break
                with Root.open(folder) as root:
                    recover(root)
                found = snapshot(folder)
                if found not in (before, after):
                    mixtures += 1
                    print(f"a mixture after {call} {nth}")
                else:
                    ends["old" if found == before else "new"] += 1
                shutil.rmtree(folder)
            print(f"  {call}: {nth - 1}")
    print(
        f"killed at each of {sum(ends.values()) + mixtures} system calls: {ends['old']} times all "
        f"old, {ends['new']} times all new, {mixtures} mixtures"
    )
    return 1 if mixtures else 0


if __name__ == "__main__":
    sys.exit(main())
