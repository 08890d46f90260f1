"""Socket activation: a daemon is handed a socket that somebody else listens on, and starts late."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sandbox import gate
from toolbox.daemon.units import units

HAND_OVER = """\
import os, sys
if (fd := int(sys.argv[1])) != 3:
    os.dup2(fd, 3)
    os.close(fd)
os.set_inheritable(3, True)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": sys.argv[2]}
os.execv(sys.executable, [sys.executable, "-m", "toolbox", *sys.argv[3:]])
"""
"""What a service manager does: the descriptor becomes 3, and the pid is told."""

CALL = b'TOOLBOX/1 jsonl\n{"id":1,"name":"@json","args":{"cmd":"get","args":{"text":"[7]","path":"[0]"}}}\n'


@pytest.fixture
def listener(tmp_path: pathlib.Path) -> Iterator[socket.socket]:
    """A listening socket of mode 0600 in a folder of mode 0700."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(folder / "s"))
        os.chmod(folder / "s", 0o600)
        sock.listen()
        yield sock


def _start(workspace: pathlib.Path, fd: int, *more: str, count: int = 1) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", HAND_OVER, str(fd), str(count), "serve", "--workspace",
         str(workspace), "--socket", *more],
        pass_fds=(fd,), stderr=subprocess.PIPE,
    )  # fmt: skip


def _ask(path: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(path)
        client.sendall(CALL)
        client.shutdown(socket.SHUT_WR)
        parts = []
        while chunk := client.recv(65536):
            parts.append(chunk)
    return b"".join(parts)


def test_a_connection_that_came_first_is_answered_and_the_socket_outlives_the_daemon(
    workspace: pathlib.Path, listener: socket.socket
) -> None:
    path = listener.getsockname()
    with socket.socket(socket.AF_UNIX) as early:
        early.settimeout(60)
        early.connect(path)  # nobody accepts yet
        early.sendall(CALL)
        for _ in range(2):  # a second daemon takes the same socket over after the first
            daemon = _start(workspace, listener.fileno())
            try:
                if early.fileno() >= 0:
                    assert b'"value":7' in early.recv(65536)
                    early.close()
                assert b'"value":7' in _ask(path)
            finally:
                daemon.terminate()
                _, log = daemon.communicate(timeout=60)
            assert daemon.returncode == 0, log
            assert pathlib.Path(path).is_socket()
            assert gate.pid_of(path) is None


def test_no_process_of_the_daemon_but_itself_holds_the_socket(
    workspace: pathlib.Path, listener: socket.socket
) -> None:
    daemon = _start(workspace, listener.fileno(), "--confine", "off")
    try:
        assert b'"value":7' in _ask(listener.getsockname())
        inode = os.fstat(listener.fileno()).st_ino
        holders = []
        pids = [daemon.pid]
        for pid in pids:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as handle:
                pids += [int(word) for word in handle.read().split()]
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            holders += [pid] * (f"socket:[{inode}]" in links)
        assert len(pids) > 2
        assert holders == [daemon.pid]
    finally:
        daemon.terminate()
        daemon.communicate(timeout=60)


def test_a_second_daemon_is_refused_while_one_runs(
    workspace: pathlib.Path, listener: socket.socket
) -> None:
    first = _start(workspace, listener.fileno())
    try:
        assert b'"value":7' in _ask(listener.getsockname())
        second = _start(workspace, listener.fileno())
        _, log = second.communicate(timeout=60)
        assert second.returncode == 2
        assert b"a daemon already runs (process %d)" % first.pid in log
        assert b'"value":7' in _ask(listener.getsockname())
    finally:
        first.terminate()
        first.communicate(timeout=60)


def test_what_is_not_a_private_listening_socket_is_refused(
    workspace: pathlib.Path, listener: socket.socket, tmp_path: pathlib.Path
) -> None:
    def refused(fd: int, count: int = 1) -> str:
        daemon = _start(workspace, fd, count=count)
        _, log = daemon.communicate(timeout=60)
        assert daemon.returncode == 2
        return log.decode()

    with open(tmp_path / "file", "wb") as handle:
        assert "expected a socket at descriptor 3" in refused(handle.fileno())
    with socket.socket(socket.AF_INET) as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        assert "ListenStream=/an/absolute/path" in refused(tcp.fileno())
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "run" / "silent"))
        assert "a listening Unix stream socket" in refused(silent.fileno())
    assert "got none at " in refused(listener.fileno(), count=101)
    os.chmod(listener.getsockname(), 0o660)
    assert "SocketMode=0600" in refused(listener.fileno())
    os.chmod(listener.getsockname(), 0o600)
    os.chmod(tmp_path / "run", 0o770)
    assert "others may write into the socket's folder" in refused(listener.fileno())


def test_descriptors_meant_for_another_process_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LISTEN_PID", str(os.getppid()))
    monkeypatch.setenv("LISTEN_FDS", "1")
    assert gate.handed_over() == ()
    assert "LISTEN_FDS" not in os.environ


def test_the_units_name_the_place_where_clients_look(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "r"
    runtime.mkdir(mode=0o700)
    folder = tmp_path / 'a b%i$HOME"'
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    made = units(str(folder), "/opt/tool box/toolbox")
    (socket_name, socket_unit), (service_name, service_unit) = made.items()
    place = os.path.relpath(gate.default_socket_path(str(folder)), runtime)
    if len(str(runtime)) < 60:
        assert f"ListenStream=%t/{place}\n" in socket_unit
    assert socket_name.removesuffix(".socket") == service_name.removesuffix(".service")
    assert socket_name.startswith("toolbox-a-b-i-HOME-")
    assert f'"{tmp_path}/a b%%i$$HOME\\""' in service_unit
    assert 'ExecStart="/opt/tool box/toolbox" serve --workspace ' in service_unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_finds_nothing_wrong_with_the_units(
    tmp_path: pathlib.Path, workspace: pathlib.Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolbox", "serve", "--workspace", str(workspace), "--write-units",
         str(tmp_path / "units")], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    paths = sorted((tmp_path / "units").iterdir())
    assert [f"wrote {p}" in done.stdout for p in paths] == [True, True]
    service = next(p for p in paths if p.suffix == ".service")
    service.write_text(service.read_text().replace(sys.argv[0], sys.executable))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--user", *map(str, paths)], capture_output=True, text=True
    )
    said = [line for line in checked.stderr.splitlines() if "toolbox" in line]
    assert not [line for line in said if "not executable" not in line], said
