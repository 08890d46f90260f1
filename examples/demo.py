#!/usr/bin/env python3
"""The main job on a copy of this folder: a message with tagged calls in, the replies out.

It starts a real daemon (`toolbox serve`), sends `message.txt`, prints what comes back, and shows
what the patch did.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOOLBOX = [sys.executable, "-m", "toolbox"]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="toolbox-demo-") as folder:
        workspace = pathlib.Path(folder)
        for name in ("runs.json", "deploy.py", "retries.patch"):
            shutil.copy(HERE / name, workspace)
        size = (workspace / "runs.json").stat().st_size
        message = (HERE / "message.txt").read_text()
        print(f"--- a message to the daemon, about a response of {size:,} bytes ---\n{message}")
        print("--- its replies ---", flush=True)
        done = subprocess.run(
            [*TOOLBOX, "call", "--workspace", folder, "-"], input=message.encode()
        ).returncode
        print("\n--- what the patch changed ---", flush=True)
        subprocess.run(
            [*TOOLBOX, "diff", "files", "--workspace", folder, "deploy.py.bak", "deploy.py"]
        )
        return done


if __name__ == "__main__":
    sys.exit(main())
