"""A confined child tries to get out, each way with a control that gets out unconfined."""

from __future__ import annotations

import errno
import os
import pathlib
import pickle
import platform
import pty
import resource
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pygit2
import pytest

from sandbox import confine, landlock, privileges, seccomp
from sandbox.confine import Confinement, ConfinementMissing
from sandbox.landlock import Mode
from sandbox.root import Root
from tests.sandbox import attacks
from tests.sandbox.attacks import SECRET, Scene
from tests.sandbox.children import Outcome, confined, in_child, with_deadline

MODES: tuple[Mode, ...] = ("read", "write")


def _abi() -> int:
    try:
        return landlock.abi()
    except OSError:
        return 0


needs_landlock = pytest.mark.skipif(
    _abi() < landlock.ABI_TRUNCATE, reason="this kernel has no Landlock of version 3 or newer"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has what is given up here")
needs_tables = pytest.mark.skipif(
    confine.architecture() is None, reason="no system call tables for this machine"
)
pytestmark = needs_tables


@pytest.fixture
def scene(tmp_path: pathlib.Path) -> Iterator[Scene]:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, root / "sub", root / "empty", outside, outside / "empty"):
        folder.mkdir()
    (root / "f").write_bytes(b"inside")
    (root / "program").write_text("#!/bin/true\n")
    (root / "program").chmod(0o755)
    (root / "out").symlink_to("../outside/secret")
    (root / "outdir").symlink_to(outside)
    secret = outside / "secret"
    secret.write_bytes(SECRET)
    try:
        os.setxattr(secret, "user.a", b"old")
    except OSError:
        pass  # the control of those attacks then skips
    root_fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    inherited = os.open(secret, os.O_RDONLY)
    mount = os.open(outside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        handle = attacks.name_to_handle(str(secret))
    except OSError:
        handle = b""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    here = pathlib.Path.cwd()
    os.chdir(outside)
    door.bind("s")  # the whole path may be too long for an address
    os.chdir(here)
    door.listen()
    abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    abstract.bind(b"\0toolbox-test-%d" % os.getpid())
    abstract.listen()
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tcp.bind(("127.0.0.1", 0))
    tcp.listen()
    master, terminal = pty.openpty()
    yield Scene(
        root, outside, root_fd, os.getpid(), inherited, handle, mount,
        f"/proc/self/fd/{mount}/s", b"\0toolbox-test-%d" % os.getpid(), tcp.getsockname()[1], terminal,
    )  # fmt: skip
    for fd in (root_fd, inherited, mount, master, terminal):
        os.close(fd)
    for sock in (door, abstract, tcp):
        sock.close()


def state(folder: pathlib.Path) -> list[tuple[object, ...]]:
    """Everything under a folder that an attack could have changed."""
    found: list[tuple[object, ...]] = []
    for path in sorted([folder, *folder.rglob("*")]):
        entry = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        try:
            attributes = [(name, os.getxattr(path, name)) for name in os.listxattr(path)]
        except OSError:
            attributes = []
        times = entry.st_mtime_ns if path.is_file() else 0
        found.append(
            (str(path), entry.st_mode, entry.st_uid, entry.st_gid, entry.st_nlink, times, content, attributes)
        )
    return found


def control(scene: Scene, attack: Callable[[Scene], Any]) -> None:
    """The attack succeeds where nothing confines; a machine that lacks it skips."""
    outcome = in_child(with_deadline(lambda: (os.chdir(scene.root.parent), attack(scene), None)[2]))
    if outcome.went_through:
        return
    error = outcome.error
    if isinstance(error, OSError):
        if error.errno in attacks.MISSING:
            pytest.skip(f"this kernel or file system lacks it: {error.strerror}")
        if error.errno in (errno.EPERM, errno.EACCES) and os.geteuid() != 0:
            pytest.skip("refused to this user anyway: only root can try")
        if error.errno in (errno.EIO, errno.EPERM, errno.EACCES, errno.EBUSY):
            pytest.skip(f"refused on this machine anyway: {error.strerror}")
    raise AssertionError(f"the control did not get through: {outcome}")


def attack_confined(scene: Scene, attack: Callable[[Scene], Any], mode: Mode) -> Outcome:
    return confined(
        with_deadline(lambda: (attack(scene), None)[1]),
        scene.root_fd,
        mode,
        before=lambda: os.chdir(scene.root.parent),
    )


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", attacks.OUTSIDE)
def test_50_nothing_outside_is_read_or_changed(scene: Scene, name: str, mode: Mode) -> None:
    before = state(scene.outside)
    outcome = attack_confined(scene, attacks.OUTSIDE[name], mode)
    assert outcome.refused, outcome
    assert state(scene.outside) == before
    control(scene, attacks.OUTSIDE[name])


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", attacks.NETWORK)
def test_50_no_socket_is_made(scene: Scene, name: str, mode: Mode) -> None:
    outcome = attack_confined(scene, attacks.NETWORK[name], mode)
    assert outcome.refused, outcome
    control(scene, attacks.NETWORK[name])


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", attacks.PROCESSES)
def test_50_no_other_process_is_reached(scene: Scene, name: str, mode: Mode) -> None:
    outcome = attack_confined(scene, attacks.PROCESSES[name], mode)
    assert outcome.refused, outcome
    control(scene, attacks.PROCESSES[name])


@needs_landlock
@pytest.mark.parametrize("name", attacks.writes_inside())
def test_50_a_read_worker_changes_nothing_inside(scene: Scene, name: str) -> None:
    attack = attacks.writes_inside()[name]
    before = state(scene.root)
    outcome = attack_confined(scene, attack, "read")
    assert outcome.refused, outcome
    assert state(scene.root) == before
    control(scene, attack)


@needs_landlock
@pytest.mark.parametrize("name", attacks.writes_inside())
def test_the_write_worker_can_do_its_work(scene: Scene, name: str) -> None:
    attack = attacks.writes_inside()[name]
    outcome = attack_confined(scene, attack, "write")
    if isinstance(outcome.error, OSError) and outcome.error.errno in attacks.MISSING:
        control(scene, attack)  # skips: the file system lacks it
    assert outcome.went_through, outcome


@needs_landlock
@pytest.mark.parametrize("name", ["symlink", "fifo", "device", "socket"])
def test_the_write_worker_makes_files_and_folders_only(scene: Scene, name: str) -> None:
    makers: dict[str, Callable[[Scene], Any]] = {
        "symlink": lambda s: os.symlink("x", s.root / "new"),
        "fifo": lambda s: os.mkfifo(s.root / "new"),
        "device": lambda s: os.mknod(s.root / "new", 0o020600, os.makedev(1, 5)),
        "socket": lambda s: os.mknod(s.root / "new", 0o140600),
    }
    assert attack_confined(scene, makers[name], "write").refused
    control(scene, makers[name])


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
def test_50_a_32_bit_call_ends_the_worker(scene: Scene, mode: Mode) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("only x86-64 kernels take 32-bit calls from 64-bit programs")
    if in_child(attacks.call_32_bit).value is None:
        pytest.skip("this kernel has no 32-bit calls")
    outcome = attack_confined(scene, lambda s: attacks.call_32_bit(), mode)
    assert outcome.killed_by == signal.SIGSYS


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_52_reading_inside_works(scene: Scene, mode: Mode, resolver: Any) -> None:
    root = Root.open(str(scene.root), resolver=resolver)

    def work() -> tuple[bytes, list[str]]:
        with root.open_file("f") as file:
            content = os.read(file.fd, 64)
        with root.open_folder(".") as folder:
            names = sorted(entry.name for entry in os.scandir(folder.fd))
        return content, names

    outcome = confined(work, root.fd, mode)
    assert outcome.value == (b"inside", ["empty", "f", "out", "outdir", "program", "sub"]), outcome


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
def test_52_what_libraries_need_works(scene: Scene, mode: Mode) -> None:
    repository = pygit2.init_repository(str(scene.root))
    blob = repository.create_blob(b"kept in git")
    builder = repository.TreeBuilder()
    builder.insert("f", blob, pygit2.enums.FileMode.BLOB)
    who = pygit2.Signature("a", "a@example.org", 1, 0)
    commit = repository.create_commit("refs/heads/main", who, who, "m", builder.write(), [])
    levels = pygit2.enums.ConfigLevel

    def forget_configuration() -> None:
        for level in (levels.SYSTEM, levels.XDG, levels.GLOBAL, levels.PROGRAMDATA):
            pygit2.option(pygit2.enums.Option.SET_SEARCH_PATH, level, "")

    def work() -> tuple[bytes, int, str, str, bool]:
        found = pygit2.Repository(str(scene.root))[commit].tree["f"].data
        clock = time.strftime("%Z", time.localtime(0))
        lock = threading.Lock()
        with lock:
            return found, len(os.urandom(8)), attacks.start_thread(), clock, os.isatty(0)

    expected_zone = time.strftime("%Z", time.localtime(0))
    outcome = confined(work, scene.root_fd, mode, before=forget_configuration)
    assert outcome.error is None, outcome
    assert outcome.value[:4] == (b"kept in git", 8, "ran", expected_zone)


@needs_landlock
def test_52_the_zone_is_the_machine_s_own(scene: Scene) -> None:
    """A zone file read late would not be found, and times would silently be UTC."""
    os.environ["TZ"] = "America/New_York"
    try:
        if not pathlib.Path("/usr/share/zoneinfo/America/New_York").exists():
            pytest.skip("no zone files on this machine")
        outcome = confined(lambda: time.localtime(0).tm_gmtoff, scene.root_fd, "read")
        assert outcome.value == -5 * 3600, outcome
    finally:
        del os.environ["TZ"]
        time.tzset()


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
def test_51_imports_after_the_confinement_fail(scene: Scene, mode: Mode) -> None:
    def work() -> None:
        import wave  # noqa: F401

    outcome = confined(work, scene.root_fd, mode)
    assert isinstance(outcome.error, (ImportError, PermissionError)), outcome
    assert in_child(work).went_through


@needs_landlock
def test_51_a_thread_started_before_is_told_and_refused(scene: Scene) -> None:
    """The control is in it: that thread still reads outside."""

    def run() -> tuple[bool, bytes, str]:
        go, done = threading.Event(), threading.Event()
        read: list[bytes] = []

        def early() -> None:
            go.wait()
            # The filter does not bind it either: it is another thread's.
            read.append(os.read(os.open(scene.secret, os.O_RDONLY), 64))
            done.set()

        threading.Thread(target=early, daemon=True).start()
        layers = confine.apply(Confinement.WARN, scene.root_fd, "read")
        go.set()
        done.wait(5)
        (layer,) = (x for x in layers.layers if x.name == "single_thread")
        return layer.holds, read[0], layer.why

    outcome = in_child(run)
    assert outcome.error is None, outcome
    assert outcome.value == (False, SECRET, "2 threads ran before, and those keep their rights")

    def require() -> None:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        confine.apply(Confinement.REQUIRE, scene.root_fd, "read")

    refused = in_child(require)
    assert isinstance(refused.error, ConfinementMissing)
    assert "single_thread: 2 threads ran before" in str(refused.error)


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
def test_51_open_descriptors_are_exactly_the_expected_ones(scene: Scene, mode: Mode) -> None:
    ours, theirs = socket.socketpair()

    def work() -> tuple[tuple[int, ...], tuple[int, int]]:
        return privileges.open_descriptors(), (os.fstat(0).st_rdev, os.fstat(1).st_rdev)

    def run() -> Any:
        layers = confine.apply(
            Confinement.REQUIRE, scene.root_fd, mode, keep=(theirs.fileno(), scene.root_fd, 2)
        )
        theirs.sendall(pickle.dumps((work(), layers)))  # the pipe of the helper is closed too

    in_child(run)
    (found, devices), layers = pickle.loads(ours.recv(1 << 16))
    assert set(found) == {0, 1, 2, scene.root_fd, theirs.fileno()}
    assert devices == (os.makedev(1, 3),) * 2  # /dev/null
    assert any(
        layer.name == "descriptors" and str(scene.inherited) in layer.why for layer in layers.layers
    )
    ours.close()
    theirs.close()


@needs_landlock
def test_51_an_inherited_descriptor_is_the_attack_that_closing_ends(scene: Scene) -> None:
    left_open = confined(lambda: os.pread(scene.inherited, 64, 0), scene.root_fd, "read")
    assert left_open.value == SECRET


def _hide(*rules: seccomp.Instruction) -> Callable[[], None]:
    """A filter such as a container's: real, around everything that follows."""
    program = [seccomp._load(0), *rules, seccomp._return(seccomp.ALLOW)]
    code = b"".join(struct.pack("<HBBI", *rule) for rule in program)

    def install() -> None:
        seccomp.set_no_new_privs()
        seccomp.install(code)

    return install


def _answer(number: int, code: int) -> tuple[seccomp.Instruction, seccomp.Instruction]:
    return (0x15, 0, 1, number), seccomp._return(0x00050000 | code)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSYS, "the kernel has no Landlock"),
        (errno.EOPNOTSUPP, "off at boot"),
        (errno.EPERM, "the container around this process refuses Landlock"),
    ],
)
def test_53_landlock_missing_under_require_does_not_start(
    scene: Scene, mode: Mode, code: int, words: str
) -> None:
    hide = _hide(*_answer(444, code))
    outcome = confined(lambda: "served", scene.root_fd, mode, before=hide)
    assert isinstance(outcome.error, ConfinementMissing), outcome
    assert f"files: {words}" in str(outcome.error) or words in str(outcome.error)
    assert "--confine=warn" in str(outcome.error)


@pytest.mark.parametrize("mode", MODES)
def test_53_a_refused_filter_under_require_does_not_start(scene: Scene, mode: Mode) -> None:
    prctl = 157 if platform.machine() == "x86_64" else 167
    hide = _hide(
        (0x15, 0, 3, prctl),
        seccomp._argument(0),
        (0x15, 0, 1, 22),
        seccomp._return(0x00050000 | errno.EPERM),
    )
    outcome = confined(lambda: "served", scene.root_fd, mode, before=hide)
    assert isinstance(outcome.error, ConfinementMissing), outcome
    assert "calls: the kernel refused" in str(outcome.error)


@pytest.mark.parametrize("abi", [-1, 0])
def test_53_an_abi_below_one_counts_as_missing(scene: Scene, abi: int) -> None:
    outcome = confined(lambda: 0, scene.root_fd, "read", landlock_abi=lambda: abi)
    assert isinstance(outcome.error, ConfinementMissing), outcome


def test_without_landlock_a_read_worker_still_cannot_write(scene: Scene) -> None:
    """The filter then refuses openat2 too, whose flags it cannot see."""
    for name, attack in attacks.writes_inside().items():
        outcome = confined(
            lambda attack=attack: attack(scene),
            scene.root_fd,
            "read",
            policy=Confinement.WARN,
            before=_hide(*_answer(444, errno.ENOSYS)),
        )
        assert outcome.refused, (name, outcome)


def test_without_landlock_a_read_worker_reads_by_the_walk(scene: Scene) -> None:
    root = Root.open(str(scene.root))

    def work() -> bytes:
        with root.open_file("sub/../f") as file:
            return os.read(file.fd, 64)

    outcome = confined(
        work, root.fd, "read", policy=Confinement.WARN, before=_hide(*_answer(444, errno.ENOSYS))
    )
    assert outcome.value == b"inside", outcome


def _layers(scene: Scene, mode: Mode, **more: Any) -> confine.Layers:
    outcome = in_child(lambda: confine.apply(Confinement.WARN, scene.root_fd, mode, **more))
    assert isinstance(outcome.value, confine.Layers), outcome
    return outcome.value


@needs_landlock
@pytest.mark.parametrize(
    ("abi", "mode", "files", "words"),
    [
        (1, "read", False, "Linux 6.2 brought version 3"),
        (1, "write", False, "version 1 refuses every move between folders"),
        (2, "write", False, "does not hold back truncation"),
        (3, "read", True, "reads beneath the workspace only (Landlock version 3)"),
        (3, "write", True, "reads and writes beneath the workspace only (Landlock version 3)"),
    ],
)
def test_an_older_landlock_is_used_and_its_gaps_are_told(
    scene: Scene, abi: int, mode: Mode, files: bool, words: str
) -> None:
    layers = _layers(scene, mode, landlock_abi=lambda: abi)
    (layer,) = (x for x in layers.layers if x.name == "files")
    assert (layer.holds, layer.required) == (files, True)
    assert words in layer.why
    assert not layers.holds("landlock_more")


@needs_landlock
def test_every_layer_is_named_once(scene: Scene) -> None:
    layers = _layers(scene, "read", keep=None)
    names = [layer.name for layer in layers.layers]
    assert sorted(names) == sorted(set(names))
    assert {x["name"] for x in layers.as_json()} == set(names)
    assert {"files", "calls", "no_new_privs", "capabilities", "single_thread"} <= set(names)
    assert not layers.missing_required


def test_off_confines_nothing_but_memory_and_descriptors(scene: Scene) -> None:
    def work() -> tuple[bytes, bool, int]:
        read = os.read(os.open(scene.secret, os.O_RDONLY), 64)
        return read, True, resource.getrlimit(resource.RLIMIT_CORE)[0]

    outcome = confined(work, scene.root_fd, "read", policy=Confinement.OFF)
    assert outcome.value == (SECRET, True, 0), outcome


@pytest.mark.parametrize("mode", MODES)
def test_43_an_allocation_of_4_gib_fails_in_its_call(scene: Scene, mode: Mode) -> None:
    def work() -> str:
        try:
            bytearray(4 << 30)
        except MemoryError:
            return f"{len(bytearray(64 << 20))} bytes fit"
        return "went through"

    outcome = confined(work, scene.root_fd, mode, policy=Confinement.WARN)
    assert outcome.value == f"{64 << 20} bytes fit", outcome
    assert in_child(work).value in ("went through", f"{64 << 20} bytes fit")


def test_a_memory_limit_below_what_is_mapped_leaves_headroom(scene: Scene) -> None:
    def work() -> int:
        return len(bytearray(100 << 20))

    outcome = confined(work, scene.root_fd, "read", policy=Confinement.WARN, memory_bytes=1)
    assert outcome.value == 100 << 20, outcome


@needs_landlock
def test_48_descriptors_run_out_within_the_worker(scene: Scene) -> None:
    def work() -> tuple[int, int]:
        held = []
        try:
            while True:
                held.append(os.open("f", os.O_RDONLY, dir_fd=scene.root_fd))
        except OSError as exc:
            return exc.errno or 0, len(held)

    code, held = confined(work, scene.root_fd, "read").value
    assert code == errno.EMFILE
    assert held < 1024


@needs_root
@needs_landlock
@pytest.mark.parametrize("mode", MODES)
def test_root_s_capabilities_are_given_up(scene: Scene, mode: Mode) -> None:
    before = privileges.capabilities()
    outcome = confined(privileges.capabilities, scene.root_fd, mode)
    assert outcome.value == before & privileges.KEPT_CAPABILITIES[mode]
    assert before != outcome.value


@needs_root
@needs_landlock
def test_a_daemon_of_root_still_reads_and_keeps_the_files_of_others(scene: Scene) -> None:
    path = scene.root / "theirs"
    path.write_bytes(b"x")
    path.chmod(0o600)
    os.chown(path, 12345, 12345)

    def read() -> bytes:
        return os.read(os.open("theirs", os.O_RDONLY, dir_fd=scene.root_fd), 8)

    def replace() -> None:
        fd = os.open("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=scene.root_fd)
        os.write(fd, b"y")
        os.fchmod(fd, 0o640)
        os.fchown(fd, 12345, 12345)
        os.rename("new", "theirs", src_dir_fd=scene.root_fd, dst_dir_fd=scene.root_fd)

    assert confined(read, scene.root_fd, "read").value == b"x"
    assert confined(replace, scene.root_fd, "write").went_through
    entry = path.stat()
    assert (entry.st_uid, entry.st_gid, entry.st_mode & 0o777) == (12345, 12345, 0o640)


@needs_landlock
@pytest.mark.parametrize("mode", MODES)
def test_the_promise_to_die_with_the_parent_survives(scene: Scene, mode: Mode) -> None:
    """Dropping capabilities could have cleared it."""

    def before() -> None:
        seccomp.prctl(1, signal.SIGKILL)

    outcome = confined(privileges.dies_with_parent, scene.root_fd, mode, before=before)
    assert outcome.value is True, outcome
    assert confined(privileges.dies_with_parent, scene.root_fd, mode).value is False


@needs_landlock
def test_other_processes_cannot_attach_to_a_worker(scene: Scene) -> None:
    assert confined(lambda: attacks.LIBC.prctl(3, 0, 0, 0, 0), scene.root_fd, "read").value == 0


@needs_landlock
def test_a_survey_finds_what_holds_and_tries_to_get_out() -> None:
    found = confine.survey()
    assert found.complete
    assert [trial.layers.mode for trial in found.trials] == ["read", "write"]
    assert all(trial.escapes == () for trial in found.trials)
    assert found.as_json()["roles"]["read"]["layers"][0]["name"] == "files"
    assert confine.doctor()[-1].startswith("verdict    every required layer holds")


def test_a_survey_without_landlock_says_that_require_would_not_start() -> None:
    def look() -> tuple[bool, list[str]]:
        _hide(*_answer(444, errno.ENOSYS))()
        found = confine.survey()
        from sandbox.survey import lines

        return found.complete, lines(found)

    outcome = in_child(look)
    assert outcome.error is None, outcome
    complete, told = outcome.value
    assert complete is False
    assert any(line.startswith("  MISSING files") for line in told)
    assert "require would refuse to start" in told[-1]


def test_extra_read_opens_that_folder_and_no_other(scene: Scene) -> None:
    fd = os.open(scene.outside, os.O_PATH)

    def work() -> bytes:
        return os.read(os.open(scene.secret, os.O_RDONLY), 64)

    assert confined(work, scene.root_fd, "read", policy=Confinement.WARN, extra_read=(fd,)).value == SECRET
    os.close(fd)
