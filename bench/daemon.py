"""A daemon to measure: started for one workspace, asked over its socket."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Any


class Daemon:
    """`toolbox serve --socket` and one connection to it."""

    def __init__(self, workspace: pathlib.Path, *more: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tb")
        os.chmod(self.folder.name, 0o700)
        self.path = os.path.join(self.folder.name, "s")
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "toolbox",
                "serve",
                "--workspace",
                str(workspace),
                "--socket",
                self.path,
                *more,
            ],
            stderr=subprocess.DEVNULL,
        )
        self.channel = self.connect()
        self.file = self.channel.makefile("rb")
        self.call("@json", "get", text="{}", path="")

    def connect(self) -> socket.socket:
        """A fresh connection, jsonl, each verb's own cap."""
        give_up = time.monotonic() + 30
        while True:
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                channel.connect(self.path)
                channel.sendall(b"TOOLBOX/1 jsonl name=bench\n")
                return channel
            except OSError:
                channel.close()
                if time.monotonic() > give_up or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def raw(self, tool: str, cmd: str, **args: Any) -> bytes:
        """One call's line."""
        request = {"id": 1, "name": tool, "args": {"cmd": cmd, "args": args}}
        self.channel.sendall(json.dumps(request).encode() + b"\n")
        return self.file.readline()

    def call(self, tool: str, cmd: str, **args: Any) -> dict[str, Any]:
        """One call's envelope; RuntimeError where it failed."""
        reply: dict[str, Any] = json.loads(self.raw(tool, cmd, **args))
        if not reply["ok"]:
            raise RuntimeError(f"{cmd}: {reply['error']}")
        return reply

    def __enter__(self) -> Daemon:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.close()
        self.channel.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()
