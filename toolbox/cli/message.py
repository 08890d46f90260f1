"""`toolbox call`: a message with tagged calls to the workspace's daemon, or to one of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from toolbox.cli import client
from toolbox.cli.out import DONE, ERROR, quiet, say, write

CHUNK_BYTES = 1 << 16


def send(workspace: str, message: bytes, *, jsonl: bool) -> int:
    """Send the message, copy the replies to standard output as they come; the exit status."""
    framing = "jsonl" if jsonl else "tags"
    payload = message
    if jsonl:
        text = message.decode("utf-8", "replace")
        payload = json.dumps({"id": None, "message": text}, ensure_ascii=False).encode() + b"\n"
    channel = client.connect(workspace, f"TOOLBOX/1 {framing} name=cli\n")
    if channel is None:
        return _alone(workspace, payload, framing)
    import socket
    import threading

    def pump() -> None:
        try:
            channel.sendall(payload)
            channel.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # its replies, if any, are still read

    threading.Thread(target=pump, daemon=True).start()
    with channel:
        while chunk := channel.recv(CHUNK_BYTES):
            if not write(chunk):
                break
    return DONE


def _alone(workspace: str, payload: bytes, framing: str) -> int:
    """A daemon for this message alone: the same parser, the same workers, the same bytes."""
    daemon = subprocess.Popen(
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
            "--quiet",
        ],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        _, said = daemon.communicate(payload)
    except BrokenPipeError:
        said = b""
    except KeyboardInterrupt:
        daemon.terminate()
        daemon.wait()
        raise
    if daemon.returncode > 0:
        say(said.decode("utf-8", "replace"))
        return ERROR
    if daemon.returncode < 0:
        quiet()
    return DONE
