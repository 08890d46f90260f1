"""The works that are measured, each a function from a folder to rows."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from bench import inputs
from bench.daemon import Daemon
from bench.echo import Echo
from bench.measure import Row, compare, interleave, peak_mb, program, wall_ms

TOOLBOX = [sys.executable, "-m", "toolbox"]
PATH = "data.items[-1].cost.amount"
JQ_PATH = ".data.items[-1].cost.amount"
WHERE = "status=failed && name~^web"
JQ_QUERY = '.data.items|map(select(.status=="failed" and (.name|tostring|test("^web"))))|.[:20][]|{id,name}'
NODE_GET = "const d=JSON.parse(require('fs').readFileSync(process.argv[1]));console.log(d.data.items.at(-1).cost.amount)"
ONE_PASS = (
    "import json,sys;d=json.load(open(sys.argv[1]));print(d['data']['items'][-1]['cost']['amount'])"
)


def _touching(path: pathlib.Path, function: Callable[[], object]) -> Callable[[], object]:
    """The function on a file whose times have just changed: nothing kept of it is valid."""

    def run() -> None:
        os.utime(path)
        function()

    return run


def json_work(folder: pathlib.Path) -> Iterator[Row]:
    """Cold and warm questions of a 20 MB response, through the socket, against whole processes."""
    path = inputs.response(folder, 20)
    name = path.name
    peers = {
        "jq": program("jq", JQ_PATH, path),
        "gojq": program("gojq", JQ_PATH, path),
        "node": program("node", "-e", NODE_GET, path),
        "python json": program(sys.executable, "-c", ONE_PASS, path),
    }
    query_peers = {
        "jq": program("jq", "-c", JQ_QUERY, path),
        "gojq": program("gojq", "-c", JQ_QUERY, path),
    }
    with Daemon(folder, "--workers", "2", "--deadline", "60") as d:

        def get() -> None:
            d.call("@json", "get", file=name, path=PATH)

        def query() -> None:
            d.call(
                "@json", "query", file=name, path="data.items", where=WHERE, select=["id", "name"]
            )

        yield compare(
            "cold get, 20 MB",
            ("socket", _touching(path, get)),
            dict(peers),
            goal="10 × jq, 4 × node",
        )
        yield compare(
            "cold query, 20 MB",
            ("socket", _touching(path, query)),
            dict(query_peers),
            goal="10 × jq",
        )
        get()
        query()
        yield _repeated("warm get, 20 MB", get, {"jq": peers["jq"]}, goal="500 × jq")
        yield _repeated("warm query, 20 MB", query, {"jq": query_peers["jq"]}, times=40)
        yield _echo_row(d, get)
        tool = program(sys.executable, "-m", "json.tool", path)
        whole = {"jq .": program("jq", ".", path), "json.tool": tool}
        verbs: dict[str, dict[str, object]] = {
            "schema": {"sample": 0},
            "validate": {},
            "pretty": {},
        }
        for verb, args in verbs.items():

            def run(verb: str = verb, args: dict[str, object] = args) -> None:
                d.call("@json", verb, file=name, **args)

            yield compare(
                f"cold {verb}, 20 MB",
                ("socket", _touching(path, run)),
                dict(whole),
                rounds=3,
                goal="5 × both",
            )
    one_shot = program(*TOOLBOX, "json", "get", "--no-daemon", "--workspace", folder, name, PATH)
    yield compare(
        "one-shot command, cold, 20 MB",
        ("command", one_shot or (lambda: None)),
        dict(peers),
        goal="4 × jq",
    )


def _repeated(
    work: str,
    ours: Callable[[], object],
    peers: Mapping[str, Callable[[], object] | None],
    *,
    times: int = 400,
    goal: str = "",
) -> Row:
    def many() -> None:
        for _ in range(times):
            ours()

    row = compare(work, ("socket", many), peers, rounds=3, goal=goal, note=f"mean of {times} calls")
    row.ours_ms /= times
    row.spread_ms = (row.spread_ms[0] / times, row.spread_ms[1] / times)
    return row


def _echo_row(d: Daemon, get: Callable[[], object]) -> Row:
    """p50 of a warm get beside p50 of an echo that takes the same way, their calls taking turns."""
    line = b'{"id":1,"name":"@json","args":{"cmd":"get","args":{"file":"f","path":"p"}}}\n'
    with Echo() as echo:
        works: dict[str, Callable[[], object]] = {
            "socket": get,
            "echo": lambda: echo.ask(line),
            "call without a verb": lambda: d.raw("@json", "no-such-verb"),
        }
        for work in works.values():
            work()
        times = {name: sorted(took) for name, took in interleave(works, 1000).items()}
    mine = times.pop("socket")
    return Row(
        "warm get, p50",
        "socket",
        mine[500],
        (mine[10], mine[990]),
        {name: took[500] for name, took in times.items()},
        goal="at least 0.33 × an echo",
        note="spread: 1st to 99th percentile",
    )


def yaml_work(folder: pathlib.Path) -> Iterator[Row]:
    """A 2 MB values file."""
    path = inputs.yaml_file(folder, 2)
    load = (
        "import yaml,sys;d=yaml.load(open(sys.argv[1]),yaml.CSafeLoader);"
        "print(d['services']['svc-99']['image'])"
    )
    peers = {
        "PyYAML CSafeLoader": program(sys.executable, "-c", load, path),
        "yq": program("yq", '.services["svc-99"].image', path),
    }
    with Daemon(folder, "--workers", "2", "--deadline", "60") as d:

        def get() -> None:
            d.call("@json", "get", file=path.name, path="services.svc-99.image")

        yield compare(
            "cold get, 2 MB YAML",
            ("socket", _touching(path, get)),
            dict(peers),
            rounds=3,
            goal="2 × both",
        )
        get()
        yield _repeated("warm get, 2 MB YAML", get, dict(peers), goal="100 × both")


def parallel_work(folder: pathlib.Path) -> Iterator[Row]:
    """Eight cold gets on eight files of 20 MB, at once and one after the other."""
    source = inputs.response(folder, 20)
    files = []
    for k in range(8):
        copy = folder / f"copy-{k}.json"
        if not copy.exists():
            shutil.copy(source, copy)
        files.append(copy)
    with Daemon(folder, "--workers", "2", "--kept-mib", "1024") as d:
        channels = [d.connect() for _ in files]
        readers = [c.makefile("rb") for c in channels]

        def ask(k: int) -> None:
            request = {
                "id": k,
                "name": "@json",
                "args": {"cmd": "get", "args": {"file": files[k].name, "path": PATH}},
            }
            channels[k].sendall(json.dumps(request).encode() + b"\n")
            assert b'"ok":true' in readers[k].readline()

        def touch() -> None:
            for path in files:
                os.utime(path)

        def one_by_one() -> None:
            touch()
            for k in range(len(files)):
                ask(k)

        with ThreadPoolExecutor(len(files)) as threads:

            def at_once() -> None:
                touch()
                list(threads.map(ask, range(len(files))))

            yield compare(
                "8 cold gets, 8 files of 20 MB",
                ("at once", at_once),
                {"one after the other": one_by_one},
                goal="1.8 ×",
            )
        for reader, channel in zip(readers, channels, strict=True):
            reader.close()
            channel.close()


def memory_work(folder: pathlib.Path) -> Iterator[Row]:
    """Peak resident memory of a whole process, in MB (the column reads ms)."""
    path = inputs.response(folder, 20)
    ours = peak_mb([*TOOLBOX, "json", "get", "--no-daemon", "--workspace", folder, path.name, PATH])
    peers = {}
    commands: dict[str, list[str | os.PathLike[str]]] = {
        "jq": ["jq", JQ_PATH, path],
        "node": ["node", "-e", NODE_GET, path],
        "python json": [sys.executable, "-c", ONE_PASS, path],
    }
    for name, words in commands.items():
        if shutil.which(str(words[0])):
            peers[name] = peak_mb(words)
    yield Row(
        "peak memory, 20 MB get (MB)", "command", ours, (ours, ours), peers, goal="a third of jq"
    )


def lines_work(folder: pathlib.Path) -> Iterator[Row]:
    """`@diff files` through the socket on four pairs of 4 MB."""
    with Daemon(folder, "--workers", "2", "--deadline", "60") as d:
        for kind in ("edits", "third", "different", "symbols"):
            a, b = inputs.text_pair(folder, kind)

            def ours(a: str = a.name, b: str = b.name) -> None:
                d.call("@diff", "files", a=a, b=b)

            yield compare(
                f"files, 4 MB, {kind}",
                ("socket", ours),
                {
                    "git diff": program("git", "diff", "--no-index", a, b, ok=(0, 1)),
                    "diff -u": program("diff", "-u", a, b, ok=(0, 1)),
                },
                goal="no slower than git",
            )


def dirs_work(folder: pathlib.Path) -> Iterator[Row]:
    """Two trees of 50 000 files."""
    a, b = inputs.trees(folder)
    with Daemon(folder, "--workers", "2", "--deadline", "60") as d:
        yield compare(
            "dirs, 50 000 files",
            ("socket", lambda: d.call("@diff", "dirs", a=a.name, b=b.name)),
            {
                "diff -rq": program("diff", "-rq", a, b, ok=(0, 1)),
                "git diff --no-index": program(
                    "git", "diff", "--no-index", "--name-status", a, b, ok=(0, 1)
                ),
            },
            rounds=3,
            goal="no slower than either",
        )


def apply_work(folder: pathlib.Path) -> Iterator[Row]:
    """A patch of 200 files: the dry run, and for real with backups and syncs."""
    repo = inputs.repository(folder, 200)
    patch = folder / "changes-200.patch"
    inputs.git(repo, "checkout", "-q", "-f", "main~1")
    shutil.copy(patch, repo / "pr.patch")
    try:
        with Daemon(repo, "--workers", "2", "--deadline", "60") as d:
            yield compare(
                "apply, 200 files, dry run",
                ("socket", lambda: d.call("@diff", "apply", patch_file="pr.patch")),
                {"git apply --check": program("git", "apply", "--check", patch, cwd=str(repo))},
                goal="2 × git's time at most",
            )
            undo: list[str] = []

            def real() -> None:
                undo.append(
                    d.call("@diff", "apply", patch_file="pr.patch", dry_run=False)["result"]["undo"]
                )

            times, git_times = [], []
            for _ in range(3):
                times.append(wall_ms(real))
                d.call("@diff", "undo", id=undo.pop(), dry_run=False)
                run = program("git", "apply", patch, cwd=str(repo))
                assert run is not None
                git_times.append(wall_ms(run))
                inputs.git(repo, "checkout", "-q", "-f", "HEAD")
            times.sort()
            yield Row(
                "apply, 200 files, for real",
                "socket",
                times[1],
                (times[0], times[-1]),
                {"git apply": sorted(git_times)[1]},
                goal="2 × git's time at most",
                note="with backups, a journal and fsync; git syncs nothing",
            )
    finally:
        shutil.rmtree(repo)


def revisions_work(folder: pathlib.Path) -> Iterator[Row]:
    """Counts of 2 000 changed files."""
    repo = inputs.repository(folder, 2000)
    args = {"from": "HEAD~1", "to": "HEAD", "format": "stat", "limit": 5000}
    with Daemon(repo, "--workers", "2", "--deadline", "60") as d:
        yield compare(
            "revisions stat, 2 000 files",
            ("socket", lambda: d.call("@diff", "revisions", **args)),
            {
                "git diff --stat": program(
                    "git", "diff", "--stat", "-M", "HEAD~1", "HEAD", cwd=str(repo)
                ),
            },
            goal="no slower",
        )


def structural_work(folder: pathlib.Path) -> Iterator[Row]:
    """Two versions of a 20 MB response, three values changed."""
    a = inputs.response(folder, 19)
    b = folder / "runs-19-b.json"
    if not b.exists():
        text = a.read_text()
        b.write_text(text.replace('"succeeded"', '"SUCCEEDED"', 3))
    load = "import json,sys;a,b=(json.load(open(p)) for p in sys.argv[1:]);print(a==b)"
    with Daemon(folder, "--workers", "2", "--deadline", "60") as d:
        yield compare(
            "json diff, two of 19 MB",
            ("socket", lambda: d.call("@diff", "json", a=a.name, b=b.name)),
            {
                "python json, equality only": program(sys.executable, "-c", load, a, b),
                "jq, equality only": program(
                    "jq", "-n", "--slurpfile", "a", a, "--slurpfile", "b", b, "$a == $b"
                ),
            },
            rounds=3,
            goal="seconds",
        )


def start_work(folder: pathlib.Path) -> Iterator[Row]:
    """From spawning `toolbox mcp` to the answer to its first request."""
    workspace = folder / "start"
    workspace.mkdir(exist_ok=True)
    (workspace / "a.json").write_text("{}")
    hello = (
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "bench", "version": "1"},
                },
            }
        ).encode()
        + b"\n"
    )

    def spawn() -> float:
        start = time.perf_counter()
        p = subprocess.Popen(
            [*TOOLBOX, "mcp", "--workspace", str(workspace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert p.stdin is not None and p.stdout is not None
        p.stdin.write(hello)
        p.stdin.flush()
        assert b"serverInfo" in p.stdout.readline()
        ms = (time.perf_counter() - start) * 1e3
        p.stdin.close()
        p.wait()
        return ms

    def stop() -> None:
        subprocess.run([*TOOLBOX, "stop", "--workspace", str(workspace)], capture_output=True)

    cold = []
    for _ in range(3):
        stop()
        cold.append(spawn())
    time.sleep(1.0)
    warm = sorted(spawn() for _ in range(7))
    stop()
    cold.sort()
    yield Row(
        "first MCP answer, daemon cold", "bridge", cold[1], (cold[0], cold[-1]), goal="1 000 ms"
    )
    yield Row("first MCP answer, daemon warm", "bridge", warm[3], (warm[0], warm[-1]), goal="50 ms")


def load_work(folder: pathlib.Path, seconds: float = 20.0, clients: int = 64) -> Iterator[Row]:
    """Many clients with mixed questions: p50, p99, replies lost."""
    big, small = inputs.response(folder, 20), inputs.wide(folder)
    calls = [
        ("@json", "get", {"file": small.name, "path": "items[3].name"}),
        ("@json", "query", {"file": small.name, "path": "items", "where": "name~9$"}),
        ("@json", "get", {"file": big.name, "path": PATH}),
        ("@json", "keys", {"file": small.name}),
        ("@diff", "text", {"a": "a\nb\n", "b": "a\nc\n"}),
    ]
    lost = 0
    times: list[float] = []
    lock = threading.Lock()
    with Daemon(folder, "--workers", "2", "--deadline", "60") as d:
        stop_at = time.perf_counter() + seconds

        def client(seed: int) -> None:
            nonlocal lost
            channel = d.connect()
            reader = channel.makefile("rb")
            mine, bad, k = [], 0, seed
            while time.perf_counter() < stop_at:
                tool, cmd, args = calls[k % len(calls)]
                k += 1
                start = time.perf_counter()
                channel.sendall(
                    json.dumps({"id": k, "name": tool, "args": {"cmd": cmd, "args": args}}).encode()
                    + b"\n"
                )
                line = reader.readline()
                mine.append((time.perf_counter() - start) * 1e3)
                bad += b'"ok":true' not in line
            with lock:
                times.extend(mine)
                lost += bad

        threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    times.sort()
    p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
    yield Row(
        f"{clients} clients, mixed, {seconds:g} s: p99",
        "socket",
        p99,
        (times[0], times[-1]),
        {"p50": p50},
        goal="p99 under 10 × p50",
        note=f"{len(times) / seconds:.0f} calls/s, {lost} lost or failed",
    )


WORKS: dict[str, Callable[[pathlib.Path], Iterator[Row]]] = {
    "json": json_work,
    "yaml": yaml_work,
    "parallel": parallel_work,
    "memory": memory_work,
    "files": lines_work,
    "dirs": dirs_work,
    "apply": apply_work,
    "revisions": revisions_work,
    "structural": structural_work,
    "start": start_work,
    "load": load_work,
}
