"""The process that workers come from: alive only with its parent, also as a container's first."""

from __future__ import annotations

import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys

import pytest

from sandbox.zygote import Zygote

SCRIPT = """
import os
from sandbox.zygote import Zygote
def main(role, channel):
    channel.sendall(role.encode())
    channel.recv(1)
zygote = Zygote.start(lambda: None, main)
zygote.request("read")
zygote.control.setblocking(True)
spawned = zygote.receive()
print(os.getpid(), spawned.channel.recv(9).decode(), flush=True)
spawned.close()
zygote.stop()
"""


def test_a_daemon_may_be_the_first_process_of_its_container() -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("needs root and util-linux's unshare")
    ran = subprocess.run(
        [unshare, "--pid", "--fork", sys.executable, "-c", SCRIPT],
        cwd=pathlib.Path(__file__).parents[2], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if "unshare failed" in ran.stderr:
        pytest.skip(f"no PID namespace here: {ran.stderr.strip()}")
    assert ran.stdout == "1 read\n", ran.stderr


def test_workers_and_their_zygote_die_with_the_daemon() -> None:
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:  # the daemon
        try:
            os.close(source)
            zygote = Zygote.start(lambda: None, lambda role, channel: channel.recv(1) and None)
            zygote.request("read")
            zygote.control.setblocking(True)
            spawned = zygote.receive()
            os.write(sink, f"{zygote.pid} {spawned.pid}\n".encode())
            signal.pause()
        finally:
            os._exit(1)
    zygote_pid, worker_pid = map(int, os.read(source, 64).split())
    watched = [os.pidfd_open(zygote_pid), os.pidfd_open(worker_pid)]
    os.kill(pid, signal.SIGKILL)  # no chance to tidy up
    os.waitpid(pid, 0)
    for pidfd in watched:
        assert select.select([pidfd], [], [], 30)[0], "it outlived the daemon"
        os.close(pidfd)
    os.close(source)
    os.close(sink)
