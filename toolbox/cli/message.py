"""`toolbox call`: a message with tagged calls to the workspace's daemon, or to one of our own."""

from __future__ import annotations

import os
import subprocess
import sys

from toolbox.cli.out import DONE, ERROR


def send(workspace: str, message: bytes, *, jsonl: bool) -> int:
    """Send the message, copy the replies to standard output; the exit status."""
    import json

    from toolbox.cli import client

    framing = "jsonl" if jsonl else "tags"
    payload = message
    if jsonl:
        text = message.decode("utf-8", "replace")
        payload = json.dumps({"id": None, "message": text}, ensure_ascii=False).encode() + b"\n"
    channel = client.connect(workspace, f"TOOLBOX/1 {framing} name=cli\n")
    if channel is not None:
        import socket
        import threading

        def pump() -> None:
            try:
                channel.sendall(payload)
                channel.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        threading.Thread(target=pump, daemon=True).start()
        with channel:
            while chunk := channel.recv(1 << 16):
                sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return DONE
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "toolbox",
            "serve",
            "--workspace",
            os.fspath(workspace),
            "--stdio",
            "--format",
            framing,
        ],
        input=payload,
        capture_output=True,
        check=False,
    )
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.buffer.flush()
    if done.returncode:
        sys.stderr.buffer.write(done.stderr)
        return ERROR
    return DONE
