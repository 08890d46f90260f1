"""Attacks 1 to 21: one table of paths, replayed through both resolvers and with openat2 refused."""

from __future__ import annotations

import logging
import os
import signal
import time
from pathlib import Path

import pytest

from sandbox.errors import InvalidPath, NotAFile, NotFound, OutsideWorkspace, SandboxError
from sandbox.limits import COMPONENT_BYTES, PATH_BYTES
from sandbox.root import Root
from tests.sandbox.children import in_child, with_deadline
from tests.sandbox.world import (
    CANARY,
    MODES,
    build,
    mount_bind,
    outcome,
    snapshot,
    unmount,
    with_mode,
)

OUT = "E_OUTSIDE_WORKSPACE"
GONE = "E_NOT_FOUND"
KIND = "E_NOT_A_FILE"
BAD = "E_INVALID_ARG"

# attack and what it is, the path, what has to come of it
TABLE = [
    ("01-dots", "..", OUT),
    ("01-dots-slash", "../", OUT),
    ("01-dots-file", "../canary", OUT),
    ("01-dots-later", "d/../../canary", OUT),
    ("01-dots-after-missing", "nothing/../../canary", GONE),
    ("01-dots-out-and-in", "../root/plain", OUT),
    ("01-absolute", "/etc/passwd", OUT),
    ("01-absolute-root", "/", OUT),
    ("01-absolute-dots", "{root}/../canary", OUT),
    ("01-absolute-many-slashes", "///etc//passwd", OUT),
    ("02-prefix-sibling", "../rootevil/canary", OUT),
    ("02-prefix-sibling-absolute", "{root}evil/canary", OUT),
    ("02-prefix-link", "out-prefix", OUT),
    ("03-link-relative", "out-relative", OUT),
    ("03-link-absolute", "out-absolute", OUT),
    ("03-link-chain", "chain-1", OUT),
    ("03-link-in-the-middle", "out-folder/canary", OUT),
    ("03-link-deeper-in-the-middle", "d/out-folder/canary", OUT),
    ("03-link-up", "up/canary", OUT),
    ("03-link-up-and-back", "up/root/plain", OUT),
    ("03-link-out-and-in", "out-and-in", OUT),
    ("04-trailing-slash-out", "out-folder/", OUT),
    ("04-trailing-slash-file-link", "out-relative/", OUT),
    ("04-trailing-slash-folder", "in-folder/", KIND),
    ("04-trailing-slash-file", "plain/", KIND),
    ("04-trailing-dot-file", "plain/.", KIND),
    ("04-slash-in-target", "file-slashed", KIND),
    ("04-slash-in-folder-target", "slashed/g", "ok:d/e/g"),
    ("05-kernels-dots", "in-folder/../f", "ok:d/f"),
    ("05-kernels-dots-absolute-link", "in-folder-absolute/../f", "ok:d/f"),
    ("05-kernels-dots-file", "plain/../d/f", KIND),
    ("05-dots-to-the-root-and-down", "d/../d/e/../../plain", "ok:plain"),
    ("06-loop", "loop", KIND),
    ("06-loop-of-two", "ping", KIND),
    ("06-41-links", "hop-0", KIND),
    ("06-40-links", "hop-1", "ok:plain"),
    ("07-dangling", "dangling", GONE),
    ("07-dangling-out", "dangling-out", OUT),
    ("08-missing-below-link-out", "out-folder/nothing", OUT),
    ("09-nul", "plain\0.txt", BAD),
    ("09-empty", "", BAD),
    ("09-component-255", "a" * COMPONENT_BYTES, GONE),
    ("09-component-256", "a" * (COMPONENT_BYTES + 1), BAD),
    ("09-path-most", "./" * 2044 + "plainly", GONE),
    ("09-path-4096", "a/" * (PATH_BYTES // 2) + "aa", BAD),
    ("09-path-4097", "a/" * 2048 + "a", BAD),
    ("09-lone-surrogate", "a\ud800b", BAD),
    ("11-proc-root", "/proc/self/root/etc/passwd", OUT),
    ("11-proc-environ", "/proc/self/environ", OUT),
    ("11-proc-fd", "/proc/self/fd/0", OUT),
    ("17-absolute-link-inside", "in-absolute", "ok:d/f"),
    ("17-absolute-link-with-dots", "in-dots", "ok:plain"),
    ("17-absolute-link-in-the-middle", "in-folder-absolute/g", "ok:d/e/g"),
    ("17-link-to-the-root", "root-absolute/d/f", "ok:d/f"),
    ("17-relative-link-inside", "in-relative", "ok:d/f"),
    ("17-link-to-itself-as-folder", "self/self/self/plain", "ok:plain"),
    ("20-fifo", "fifo", KIND),
    ("20-socket", "socket", KIND),
    ("20-folder", "d", KIND),
    ("20-root", ".", KIND),
    ("21-many-dots", "d/../" * 800 + "plain", "ok:plain"),
    ("21-many-dots-through-a-link", "self/d/../" * 39 + "plain", "ok:plain"),
    ("plain", "plain", "ok:plain"),
    ("plain-dots-and-slashes", ".//./d///e/.//g", "ok:d/e/g"),
    ("plain-absolute", "{root}/plain", "ok:plain"),
    ("plain-absolute-slashes", "/{root}//./plain", "ok:plain"),
    ("missing", "nothing", GONE),
    ("missing-folder", "nothing/at/all", GONE),
    ("below-a-file", "plain/x", KIND),
]

BITES = [
    "01-dots-file", "01-dots-later", "01-absolute-dots", "02-prefix-sibling",
    "02-prefix-sibling-absolute", "02-prefix-link", "03-link-relative", "03-link-absolute",
    "03-link-chain", "03-link-in-the-middle", "03-link-deeper-in-the-middle", "03-link-up",
]  # fmt: skip
BY_ID = {id: (path, expected) for id, path, expected in TABLE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module", params=MODES)
def results(request: pytest.FixtureRequest, folder: Path) -> dict[str, str]:
    """Every path of the table through one way of resolving."""

    def ask(root: Root) -> dict[str, str]:
        found = {}
        for id, path, _ in TABLE:
            found[id] = outcome(root, path.replace("{root}", str(folder)))
        return found

    answers: dict[str, str] = with_mode(request.param, folder, ask)
    return answers


@pytest.mark.parametrize("id", [id for id, _, _ in TABLE])
def test_path(results: dict[str, str], id: str) -> None:
    assert results[id] == BY_ID[id][1]


@pytest.mark.parametrize("id", BITES)
def test_control_plain_open_leaks(folder: Path, id: str) -> None:
    path = BY_ID[id][0].replace("{root}", str(folder))
    assert (folder / path).read_bytes() == CANARY


@pytest.mark.parametrize("id", ["02-prefix-sibling", "02-prefix-sibling-absolute", "02-prefix-link"])
def test_control_prefix_check_leaks(folder: Path, id: str) -> None:
    real = os.path.realpath(folder / BY_ID[id][0].replace("{root}", str(folder)))
    assert real.startswith(str(folder))
    assert Path(real).read_bytes() == CANARY


def test_nothing_was_changed_by_the_table(folder: Path, tmp_path: Path) -> None:
    fresh = build(tmp_path)
    ours, theirs = snapshot(folder.parent), snapshot(fresh.parent)
    assert ours.keys() == theirs.keys()
    assert not (folder.parent / "new-outside").exists()


@pytest.fixture(params=["openat2", "walk"])
def resolver(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def open_root(folder: Path, resolver: str, **options: object) -> Root:
    return Root.open(folder, resolver=resolver, **options)  # type: ignore[arg-type]


def test_attack_10_undecodable_name_comes_back_intact(tmp_path: Path, resolver: str) -> None:
    raw = b"caf\xe9.json"
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw))).write_bytes(b"x")
    with open_root(tmp_path, resolver) as root:
        name = os.fsdecode(raw)
        with root.open_file(name) as opened:
            assert os.fsencode(opened.path) == raw
        with pytest.raises(NotFound) as miss:
            root.open_file("cafe.json")
        assert miss.value.at is not None
        assert miss.value.at["nearest"] == [name]


def test_attack_11_magic_links_of_proc_lead_nowhere(resolver: str) -> None:
    """A workspace that is a process's own folder: its magic links jump anywhere."""
    here = Path(f"/proc/{os.getpid()}")
    assert (here / "root/etc/passwd").exists(), "the control: a plain open goes through"
    with open_root(here, resolver) as root:
        for path in ("root/etc/passwd", "cwd/x", "exe", "fd/0"):
            with pytest.raises(SandboxError):
                root.open_file(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_attack_12_bind_mount_is_outside_unless_configured(tmp_path: Path, resolver: str) -> None:
    folder = build(tmp_path)
    (folder / "mounted").mkdir()
    (folder / "mounted-file").touch()
    mount_bind(tmp_path / "outside", folder / "mounted")
    try:
        mount_bind(tmp_path / "canary", folder / "mounted-file")
        assert (folder / "mounted/canary").stat().st_dev == folder.stat().st_dev, (
            "the device number alone does not tell"
        )
        with open_root(folder, resolver) as root:
            for path in ("mounted/canary", "mounted-file", "mounted/../plain"):
                with pytest.raises(OutsideWorkspace) as refusal:
                    root.open_file(path)
                assert refusal.value.at == {"path": path.partition("/")[0]}
            with root.open_file("d/f") as opened:
                assert os.read(opened.fd, 10) == b"d/f"
        with open_root(folder, resolver, cross_mounts=True) as root:
            for path in ("mounted/canary", "mounted-file"):
                with root.open_file(path) as opened:
                    assert os.read(opened.fd, 10) == CANARY
    finally:
        unmount(folder / "mounted-file")
        unmount(folder / "mounted")


def test_attack_15_replaced_root_serves_on_and_is_told(
    tmp_path: Path, resolver: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = build(tmp_path)
    with open_root(folder, resolver, check_seconds=0) as root:
        root.open_file("plain").close()
        assert not caplog.records
        folder.rename(tmp_path / "moved")
        folder.mkdir()
        (folder / "plain").write_bytes(b"another")
        assert (folder / "plain").read_bytes() == b"another", "the control: the path leads elsewhere"
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                assert outcome(root, "plain") == "ok:plain"
        assert ["replaced" in one.message for one in caplog.records] == [True], "told once"


def test_attack_16_root_that_is_a_link_has_two_spellings(tmp_path: Path, resolver: str) -> None:
    folder = build(tmp_path)
    (tmp_path / "alias").symlink_to("root")
    (folder / "through-alias").symlink_to(tmp_path / "alias/d/f")
    with open_root(tmp_path / "alias", resolver) as root:
        for spelling in ("alias", "root"):
            assert outcome(root, str(tmp_path / spelling / "d/f")) == "ok:d/f"
            assert root.relative(str(tmp_path / spelling / "d//./f")) == "d/f"
        assert outcome(root, "through-alias") == "ok:d/f"
        assert outcome(root, "in-absolute") == "ok:d/f"
        assert outcome(root, "up/canary") == OUT


@pytest.mark.parametrize("path", ["fifo", "fifo-link", "device"])
def test_attack_20_nothing_hangs_on_what_is_no_file(
    tmp_path: Path, resolver: str, path: str
) -> None:
    folder = build(tmp_path)
    (folder / "fifo-link").symlink_to("fifo")
    if path == "device":
        try:
            os.mknod(folder / "device", 0o20644, os.makedev(5, 0))
        except PermissionError:
            pytest.skip("making a device needs root")

    def attack() -> str:
        with open_root(folder, resolver) as root:
            try:
                root.open_file(path)
            except NotAFile as exc:
                return exc.message
        return "opened"

    assert "expected a file" in in_child(with_deadline(attack)).value


def test_control_20_plain_open_hangs_on_a_fifo(tmp_path: Path) -> None:
    folder = build(tmp_path)

    def attack() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        os.close(os.open(folder / "fifo", os.O_RDONLY))

    assert in_child(with_deadline(attack, 1)).killed_by == signal.SIGALRM


def test_attack_21_dots_cost_a_bounded_number_of_opens(tmp_path: Path) -> None:
    """Deep down and up again, over and over, through links: no more than some opens a component."""
    deep = tmp_path
    for _ in range(60):
        deep = deep / "d"
        deep.mkdir()
    (tmp_path / "x").symlink_to("/".join(["d"] * 60 + [".."] * 59 + ["..", "."]))
    (tmp_path / "leaf").write_bytes(b"leaf")
    opens = 0
    real = os.open

    def counted(*args: object, **options: object) -> int:
        nonlocal opens
        opens += 1
        return real(*args, **options)  # type: ignore[arg-type]

    with Root.open(tmp_path, resolver="walk") as root:
        os.open = counted  # type: ignore[assignment]
        try:
            assert outcome(root, "x/" * 40 + "leaf") == "ok:leaf"
        finally:
            os.open = real
    assert opens < 40 * 60 * 4


def test_deep_dots_past_the_held_folders_go_back_the_right_way(tmp_path: Path) -> None:
    deep = tmp_path
    for level in range(100):
        deep = deep / f"l{level}"
        deep.mkdir()
        (deep / "here").write_bytes(str(level).encode())
    names = [f"l{level}" for level in range(100)]
    for resolver in ("openat2", "walk"):
        with open_root(tmp_path, resolver) as root:
            for back in (1, 31, 32, 33, 64, 99):
                path = "/".join([*names, *[".."] * back, "here"])
                assert outcome(root, path) == f"ok:{99 - back}"
            assert outcome(root, "/".join([*names, *[".."] * 101])) == OUT


class TestMisses:
    """A miss names what is missing and what is near."""

    def test_nearest_names_and_the_first_missing_component(
        self, tmp_path: Path, resolver: str
    ) -> None:
        (tmp_path / "src/config").mkdir(parents=True)
        for name in ("settings.json", "Readme.yaml", "other.txt"):
            (tmp_path / "src/config" / name).touch()
        with open_root(tmp_path, resolver) as root:
            with pytest.raises(NotFound) as miss:
                root.open_file("src/config/setings.json")
            assert miss.value.hint == "nearest there: src/config/settings.json"
            assert miss.value.at == {
                "path": "src/config/setings.json",
                "missing": "setings.json",
                "nearest": ["src/config/settings.json"],
            }
            with pytest.raises(NotFound) as miss:
                root.open_file("src/confg/settings.json")
            assert miss.value.message == "src/confg/settings.json is not there: no confg in src"
            assert miss.value.at is not None and miss.value.at["nearest"] == ["src/config"]
            with pytest.raises(NotFound) as miss:
                root.open_file("src/config/README.YAML")
            assert miss.value.at is not None
            assert miss.value.at["nearest"][0] == "src/config/Readme.yaml"

    def test_a_file_taken_for_a_folder_is_named(self, tmp_path: Path, resolver: str) -> None:
        (tmp_path / "a.json").touch()
        with open_root(tmp_path, resolver) as root:
            for act in (root.open_file, root.open_folder):
                with pytest.raises(NotAFile) as refusal:
                    act("a.json/b")
                assert "a.json, which is a file" in refusal.value.message
            with pytest.raises(NotAFile, match=r"expected a folder at a\.json, got a file"):
                root.open_folder("a.json")

    def test_a_refusal_names_the_link_and_not_where_it_leads(
        self, tmp_path: Path, resolver: str
    ) -> None:
        folder = build(tmp_path)
        with open_root(folder, resolver) as root:
            for path, link in (
                ("out-absolute", "out-absolute"),
                ("d/out-folder/canary", "d/out-folder"),
                ("chain-1", "d/chain-3"),
                ("up/canary", "up"),
            ):
                with pytest.raises(OutsideWorkspace) as refusal:
                    root.open_file(path)
                assert refusal.value.message == f"{link} is a link that leads outside the workspace"


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotFound):
        Root.open(tmp_path / "nothing")
    with pytest.raises(NotAFile):
        Root.open(tmp_path / "file")
    with pytest.raises(InvalidPath), Root.open(tmp_path) as root:
        root.relative("")


def test_attack_48_exhausted_descriptors_are_told_and_none_is_lost(
    tmp_path: Path, resolver: str
) -> None:
    folder = build(tmp_path)

    def attack() -> tuple[list[str], int, int]:
        import resource

        with open_root(folder, resolver) as root:
            outcome(root, "d/e/g")
            before = len(os.listdir("/proc/self/fd"))
            held = []
            highest = max(int(one) for one in os.listdir("/proc/self/fd"))
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, highest + 8))
            try:
                while True:
                    held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                pass
            answers = []
            paths = ("d/e/g", "in-absolute", "out-folder/canary", "nothing", "d/../plain")
            while True:  # with ever more free descriptors, until there are enough
                answers.append([outcome(root, path) for path in paths])
                if not held:
                    break
                os.close(held.pop())
            assert answers[-1] == ["ok:d/e/g", "ok:d/f", OUT, GONE, "ok:plain"]
            kinds = sorted({one for answer in answers[:-1] for one in answer})
            return kinds, before, len(os.listdir("/proc/self/fd"))

    result = in_child(with_deadline(attack))
    assert result.went_through, result
    kinds, before, after = result.value
    assert before == after
    assert "E_BUSY" in kinds
    assert "E_INTERNAL" not in kinds


def test_opening_is_bounded_in_time_under_a_storm_of_renames(tmp_path: Path) -> None:
    """128 tries of EAGAIN and no more: an open always ends."""
    folder = build(tmp_path)
    pid = os.fork()
    if pid == 0:
        while True:
            os.rename(folder / "d/e", folder / "e/e")
            os.rename(folder / "e/e", folder / "d/e")
    try:
        with Root.open(folder, resolver="auto") as root:
            until = time.monotonic() + 0.3
            seen = set()
            while time.monotonic() < until:
                seen.add(outcome(root, "d/e/../f"))
            assert seen <= {"ok:d/f", "ok:e/f", GONE, "E_CHANGED"}
            assert "ok:d/f" in seen
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
