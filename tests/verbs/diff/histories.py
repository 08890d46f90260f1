"""Made git histories: every kind of change, by `git fast-import`, the same for the same seed."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess
from typing import NamedTuple

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000",
}  # fmt: skip


def git(folder: pathlib.Path, *args: str, data: bytes | None = None, check: bool = True) -> bytes:
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "core.quotePath=false", *args],
        cwd=folder, env=ENVIRONMENT, input=data, capture_output=True, check=False,
    )  # fmt: skip
    if check and done.returncode:
        raise AssertionError((args, done.stderr))
    return done.stdout


def git_version() -> tuple[int, ...]:
    words = subprocess.run(["git", "version"], capture_output=True, check=True).stdout.split()
    return tuple(int(part) for part in words[2].decode().split(".")[:2])


class File(NamedTuple):
    mode: str
    data: bytes


SUBMODULE = "160000"


def quoted(path: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % c if c < 0x21 or c > 0x7E or c in b'"\\' else bytes([c]) for c in path) + b'"'


class Maker:
    """A working state, changed at random, and the stream that records it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.files: dict[bytes, File] = {}
        self.stream: list[bytes] = []
        self.count = 0

    def text(self, lines: int | None = None) -> bytes:
        r = self.random
        n = r.choice((0, 1, 3, 8, 20, 60)) if lines is None else lines
        rows = [b"%d %s" % (r.randrange(40), r.choice((b"alpha", b"beta", b"}", b"", b"a longer line of text " * 6))) for _ in range(n)]
        body = b"\n".join(rows) + (b"\n" if rows and r.random() < 0.85 else b"")
        return body.replace(b"\n", b"\r\n") if r.random() < 0.1 else body

    def name(self) -> bytes:
        r = self.random
        folder = b"/".join(r.choice((b"src", b"lib", b"a b", b"docs")) for _ in range(r.randrange(3)))
        base = r.choice((b"main.c", b"util.py", b"readme", b"x-%d.txt" % r.randrange(60), b"\xc3\xa4-%d" % r.randrange(9), b"raw\xff%d" % r.randrange(4), b'q"%d' % r.randrange(4)))
        return folder + b"/" + base if folder else base

    def free(self) -> bytes | None:
        for _ in range(20):
            path = self.name()
            parts = path.split(b"/")
            parents = {b"/".join(parts[:i]) for i in range(1, len(parts))}
            if path not in self.files and not parents & self.files.keys() and not any(p.startswith(path + b"/") for p in self.files):
                return path
        return None

    def edit(self, data: bytes) -> bytes:
        r = self.random
        lines = data.split(b"\n")
        for _ in range(r.choice((1, 1, 2, 5, 15))):
            at = r.randrange(len(lines))
            lines[at : at + r.randrange(2)] = [b"edit %d" % r.randrange(1000)] * r.randrange(3)
            lines = lines or [b""]
        return b"\n".join(lines)

    def step(self) -> None:
        r = self.random
        for _ in range(r.choice((1, 2, 4, 9))):
            kind = r.random()
            paths = sorted(self.files)
            if kind < 0.3 or len(paths) < 6:
                path = self.free()
                if path is not None:
                    what = r.random()
                    if what < 0.1:
                        self.files[path] = File("120000", r.choice((b"main.c", b"../x", b"docs/readme")))
                    elif what < 0.15:
                        self.files[path] = File(SUBMODULE, b"%040x" % r.getrandbits(160))
                    elif what < 0.25:
                        self.files[path] = File("100644", bytes(r.randrange(256) for _ in range(r.choice((5, 200, 900)))) + b"\0")
                    elif what < 0.45 and paths:
                        self.files[path] = self.files[r.choice(paths)]
                    else:
                        self.files[path] = File(r.choice(("100644", "100644", "100755")), self.text())
                continue
            path = r.choice(paths)
            old = self.files[path]
            if kind < 0.55:
                data = b"%040x" % r.getrandbits(160) if old.mode == SUBMODULE else self.edit(old.data)
                if old.mode == "120000":
                    data = data.replace(b"\n", b"_") or b"x"
                self.files[path] = File(old.mode, data)
            elif kind < 0.65:
                del self.files[path]
            elif kind < 0.88:
                to = self.free()
                if to is not None:
                    del self.files[path]
                    data = self.edit(old.data) if old.mode.startswith("100") and r.random() < 0.6 else old.data
                    self.files[to] = File(old.mode, data)
            elif kind < 0.94:
                if old.mode.startswith("100"):
                    self.files[path] = File("100755" if old.mode == "100644" else "100644", old.data)
            else:
                mode = r.choice(("100644", "120000", SUBMODULE))
                data = b"%040x" % r.getrandbits(160) if mode == SUBMODULE else b"target" if mode == "120000" else self.text()
                self.files[path] = File(mode, data)

    def commit(self, branch: str = "main") -> None:
        self.count += 1
        out = self.stream
        out.append(b"commit refs/heads/%s\nmark :%d\ncommitter a <a@example.org> %d +0000\ndata 1\nx\n" % (branch.encode(), self.count, 1_700_000_000 + self.count))
        if self.count > 1:
            out.append(b"from :%d\n" % (self.count - 1))
        out.append(b"deleteall\n")
        for path, file in sorted(self.files.items()):
            if file.mode == SUBMODULE:
                out.append(b"M 160000 %s %s\n" % (file.data, quoted(path)))
            else:
                out.append(b"M %s inline %s\ndata %d\n%s\n" % (file.mode.encode(), quoted(path), len(file.data), file.data))


def make(folder: pathlib.Path, commits: int, seed: int) -> None:
    """A repository without checked-out files, with that many commits on main."""
    git(folder, "init", "-q")
    maker = Maker(seed)
    for _ in range(commits):
        maker.step()
        maker.commit()
    git(folder, "fast-import", "--quiet", data=b"".join(maker.stream))
