"""The command `toolbox` as a person or a script runs it: a real process, pipes or a terminal."""

from __future__ import annotations

import os
import pathlib
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

SECONDS = 60


@dataclass
class Ran:
    """What a command left."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


class Shell:
    """A folder in which commands run."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.env = {
            k: v for k, v in os.environ.items()
            if k not in ("NO_COLOR", "TOOLBOX_WORKSPACE", "TOOLBOX_SOCKET", "COLUMNS")
        }  # fmt: skip
        self.env["TERM"] = "xterm"
        self.env["TMPDIR"] = str(folder.parent)
        self.env.pop("XDG_RUNTIME_DIR", None)
        # As an installed command runs: its modules come compiled.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def __call__(self, *words: str | bytes, stdin: bytes = b"", **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "toolbox", *words], cwd=self.folder, input=stdin,
            capture_output=True, timeout=SECONDS, env={**self.env, **env}, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def terminal(self, *words: str, answers: bytes = b"", **env: str) -> Ran:
        """The same at a terminal: both streams together, as shown in the end in `out` (progress
        is gone then), as they came in `err`.

        answers: what is typed at the prompt that ends in `] `.
        """
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "toolbox", *words], cwd=self.folder, stdin=slave,
            stdout=slave, stderr=slave, env={**self.env, **env}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        shown = b""
        try:
            while select.select([master], [], [], SECONDS)[0]:
                try:
                    chunk = os.read(master, 1 << 16)
                except OSError:  # EIO: the process has closed the terminal
                    break
                if not chunk:
                    break
                shown += chunk
                if answers and shown.endswith(b"] "):
                    os.write(master, answers)
                    answers = b""
            shown = shown.replace(b"\r\n", b"\n")
            left = re.sub(rb"\r[^\r\n]*\x1b\[K", b"", shown)
            return Ran(process.wait(SECONDS), left, shown.decode())
        finally:
            os.close(master)
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def toolbox(tmp_path: pathlib.Path) -> Shell:
    folder = tmp_path / "ws"
    folder.mkdir()
    return Shell(folder)


Toolbox = Callable[..., Ran]
