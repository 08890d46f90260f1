"""The daemon's socket, bound and spoken to for real: modes, locks, stale ones, links, peers."""

from __future__ import annotations

import errno
import os
import pathlib
import socket
import stat
import sys
from collections.abc import Iterator

import pytest

from sandbox import gate
from tests.sandbox.children import in_child

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def place(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """A short spelling of a folder, since an address holds 107 bytes."""
    folder = pathlib.Path(f"/tmp/gate-{os.getpid()}-{tmp_path.name[-4:]}")
    folder.mkdir(mode=0o700)
    yield folder
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()


def test_61_the_socket_is_0600_and_its_folder_0700_whatever_the_umask(place: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        bound = gate.bind(str(place / "s" / "x.sock"))
    finally:
        assert os.umask(before) == 0  # put back by bind
    entry = (place / "s" / "x.sock").lstat()
    assert stat.S_ISSOCK(entry.st_mode)
    assert stat.S_IMODE(entry.st_mode) == 0o600
    assert stat.S_IMODE((place / "s").stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "s" / "x.sock.lock").stat().st_mode) == 0o600
    bound.close()


def test_61_without_the_umask_the_socket_is_born_open(place: pathlib.Path) -> None:
    """The control: what bind alone does."""
    before = os.umask(0)
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(place / "x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((place / "x").lstat().st_mode) == 0o777


def test_61_a_second_daemon_is_told_which_one_runs(place: pathlib.Path) -> None:
    path = str(place / "x.sock")
    first = gate.bind(path)
    with pytest.raises(gate.AlreadyRunning) as caught:
        gate.bind(path)
    assert caught.value.pid == os.getpid()
    assert f"process {os.getpid()}" in str(caught.value)

    def elsewhere() -> int:
        try:
            gate.bind(path)
        except gate.AlreadyRunning as exc:
            return exc.pid
        return -1

    assert in_child(elsewhere).value == os.getpid()
    assert gate.pid_of(path) == os.getpid()
    first.close()
    assert gate.pid_of(path) is None
    gate.bind(path).close()


def test_61_a_stale_socket_is_reclaimed(place: pathlib.Path) -> None:
    path = str(place / "x.sock")

    def die() -> None:
        gate.bind(path).socket.listen()
        os._exit(0)

    in_child(die)
    assert stat.S_ISSOCK(os.lstat(path).st_mode)
    with pytest.raises(ConnectionRefusedError):
        gate.connect(path)
    assert gate.pid_of(path) is None
    bound = gate.bind(path)
    bound.socket.listen()
    gate.connect(path, 5).close()
    bound.close()
    assert not os.path.lexists(path)


def test_61_a_stale_socket_stops_a_daemon_that_binds_without_care(place: pathlib.Path) -> None:
    """The control: the name stays taken."""
    path = str(place / "x.sock")
    in_child(lambda: (socket.socket(socket.AF_UNIX).bind(path), os._exit(0)))
    with socket.socket(socket.AF_UNIX) as sock, pytest.raises(OSError) as caught:
        sock.bind(path)
    assert caught.value.errno == errno.EADDRINUSE


def test_61_a_living_daemon_whose_lock_file_was_cleaned_away_keeps_its_socket(
    place: pathlib.Path,
) -> None:
    path = str(place / "x.sock")
    first = gate.bind(path)
    first.socket.listen()
    os.unlink(path + ".lock")
    with pytest.raises(gate.AlreadyRunning) as caught:
        gate.bind(path)
    assert caught.value.pid == os.getpid()
    gate.connect(path, 5).close()
    first.close()


@pytest.mark.parametrize("what", ["link to nothing", "link to a socket", "file", "folder", "fifo"])
def test_61_what_is_no_socket_is_refused_and_left(place: pathlib.Path, what: str) -> None:
    path = place / "x.sock"
    target = place / "target"
    match what:
        case "link to nothing":
            path.symlink_to(target)
        case "link to a socket":
            with socket.socket(socket.AF_UNIX) as sock:
                sock.bind(str(target))
            path.symlink_to(target)
        case "file":
            path.write_text("precious")
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
    before = (path.lstat().st_ino, target.exists())
    with pytest.raises(gate.UnsafePlace, match="link" if "link" in what else "got a file"):
        gate.bind(str(path))
    assert (path.lstat().st_ino, target.exists()) == before
    assert gate.pid_of(str(path)) is None  # the lock was let go


def test_61_a_lock_file_that_is_a_link_is_refused(place: pathlib.Path) -> None:
    victim = place / "victim"
    victim.write_text("kept")
    (place / "x.sock.lock").symlink_to(victim)
    with pytest.raises(gate.UnsafePlace, match="lock file is a link"):
        gate.bind(str(place / "x.sock"))
    assert victim.read_text() == "kept"


def test_61_a_folder_that_is_a_link_is_refused(place: pathlib.Path) -> None:
    (place / "real").mkdir(mode=0o700)
    (place / "s").symlink_to("real")
    with pytest.raises(gate.UnsafePlace, match="got a link"):
        gate.bind(str(place / "s" / "x.sock"))
    assert list((place / "real").iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720])
def test_61_a_folder_that_others_may_write_is_refused(place: pathlib.Path, mode: int) -> None:
    (place / "s").mkdir()
    (place / "s").chmod(mode)
    with pytest.raises(gate.UnsafePlace, match="others may write"):
        gate.bind(str(place / "s" / "x.sock"))


@needs_root
def test_61_a_folder_of_another_user_is_refused(place: pathlib.Path) -> None:
    (place / "s").mkdir(mode=0o700)
    os.chown(place / "s", 12345, 12345)
    with pytest.raises(gate.UnsafePlace, match="belongs to uid 12345"):
        gate.bind(str(place / "s" / "x.sock"))


@pytest.mark.parametrize(("size", "fits"), [(106, True), (107, True), (108, False), (4000, False)])
def test_61_a_path_of_107_bytes_fits_and_108_are_refused(
    place: pathlib.Path, size: int, fits: bool
) -> None:
    path = str(place) + "/"
    while size - len(path) > 200:
        path += "d" * 199 + "/"
    path += "x" * (size - len(path))
    assert len(path) == size
    if fits:
        bound = gate.bind(path)
        bound.socket.listen()
        gate.connect(path, 5).close()
        bound.close()
        return
    with pytest.raises(gate.SocketPathTooLong, match=f"at most 107 bytes, got {size}"):
        gate.bind(path)


def test_61_bytes_count_and_not_characters(place: pathlib.Path) -> None:
    path = f"{place}/" + "é" * ((108 - len(str(place)) - 1) // 2 + 1)
    assert len(path) < 107 < len(os.fsencode(path))
    with pytest.raises(gate.SocketPathTooLong):
        gate.bind(path)


def test_closing_leaves_another_daemon_s_socket(place: pathlib.Path) -> None:
    path = place / "x.sock"
    bound = gate.bind(str(path))
    path.unlink()
    path.write_text("someone else's")
    bound.close()
    bound.close()  # a second time changes nothing
    assert path.read_text() == "someone else's"


def test_closing_frees_every_descriptor(place: pathlib.Path) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(3):
        gate.bind(str(place / "x.sock")).close()
        with pytest.raises(gate.GateError):
            (place / "y.sock").mkdir(exist_ok=True)
            gate.bind(str(place / "y.sock"))
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_62_the_kernel_says_who_is_on_the_other_end(place: pathlib.Path) -> None:
    bound = gate.bind(str(place / "x.sock"))
    bound.socket.listen()
    client = gate.connect(bound.path, 5)
    server, _ = bound.socket.accept()
    assert gate.peer(server) == (os.getpid(), os.geteuid())
    assert gate.peer(client) == (os.getpid(), os.geteuid())
    assert gate.peer_uid(server) == os.geteuid()
    assert gate.may_speak(server)
    for sock in (client, server):
        sock.close()
    bound.close()


@needs_root
def test_62_another_user_is_told_apart(place: pathlib.Path) -> None:
    """Its control is in it: with the modes opened, that user does connect."""
    bound = gate.bind(str(place / "x.sock"))
    bound.socket.listen()

    def connect() -> None:
        os.setgroups([])
        os.setresgid(12345, 12345, 12345)
        os.setresuid(12345, 12345, 12345)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(bound.path)
            sock.recv(1)

    assert isinstance(in_child(connect).error, PermissionError)  # the folder's 0700
    place.chmod(0o755)
    assert isinstance(in_child(connect).error, PermissionError)  # the socket's own 0600
    os.chmod(bound.path, 0o666)
    pid = os.fork()
    if pid == 0:
        try:
            connect()
        finally:
            os._exit(0)
    server, _ = bound.socket.accept()
    assert gate.peer(server) == (pid, 12345)
    assert not gate.may_speak(server)
    server.close()
    os.waitpid(pid, 0)
    bound.close()


@needs_root
def test_62_a_client_does_not_talk_to_another_user_s_daemon(place: pathlib.Path) -> None:
    place.chmod(0o777)
    path = str(place / "x.sock")
    ready, go = os.pipe()

    def pretend() -> None:
        os.setresgid(12345, 12345, 12345)
        os.setresuid(12345, 12345, 12345)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(path)
            sock.listen()
            os.write(go, b"x")
            sock.accept()[0].recv(1)

    pid = os.fork()
    if pid == 0:
        try:
            pretend()
        finally:
            os._exit(0)
    os.read(ready, 1)
    with pytest.raises(gate.UnsafePlace, match="belongs to uid 12345"):
        gate.connect(path, 5)
    os.waitpid(pid, 0)
    for fd in (ready, go):
        os.close(fd)


def test_a_socket_without_a_known_peer_may_not_speak() -> None:
    with socket.socket(socket.AF_INET) as sock:
        assert gate.peer(sock) == (0, -1)
        assert not gate.may_speak(sock)


class TestDefaultPath:
    def test_every_spelling_of_a_workspace_has_one_socket(
        self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "w").mkdir()
        (tmp_path / "link").symlink_to("w")
        monkeypatch.chdir(tmp_path)
        spellings = [str(tmp_path / "w"), "w", "./w/", str(tmp_path / "link"), "link/../w"]
        assert len({gate.default_socket_path(s) for s in spellings}) == 1
        assert gate.default_socket_path("w") != gate.default_socket_path(".")

    def test_the_runtime_folder_is_used_where_it_is_private(
        self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime = tmp_path / "r"
        runtime.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.delenv("TMPDIR", raising=False)
        path = gate.default_socket_path("/")
        if len(str(runtime)) < 60:
            assert path.startswith(f"{runtime}/toolbox/")
            assert not (runtime / "toolbox").exists()  # asking makes nothing
        runtime.chmod(0o755)
        assert gate.default_socket_path("/").startswith(f"/tmp/toolbox-{os.geteuid()}/")

    @pytest.mark.parametrize("value", ["", "relative", "/nowhere/at/all"])
    def test_an_unusable_runtime_folder_falls_back(
        self, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        monkeypatch.delenv("TMPDIR", raising=False)
        assert gate.default_socket_path("/").startswith(f"/tmp/toolbox-{os.geteuid()}/")

    def test_a_long_runtime_folder_falls_back(
        self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime = tmp_path / ("r" * 100)
        runtime.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.delenv("TMPDIR", raising=False)
        path = gate.default_socket_path("/")
        assert len(path) <= gate.SOCKET_PATH_BYTES
        assert path.startswith("/tmp/")

    def test_asking_does_not_cost_imports(self) -> None:
        """The command line asks on every start."""
        assert "tempfile" not in sys.modules["sandbox.gate"].__dict__
