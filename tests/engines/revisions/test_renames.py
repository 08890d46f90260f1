"""Renames among many similar files: which of several candidates is taken is git's choice."""

from __future__ import annotations

import pathlib
import random
import shutil
from hashlib import sha1

import pytest

from tests.verbs.diff.histories import git, git_version
from toolbox.engines.revisions import renames
from toolbox.engines.revisions.renames import File
from toolbox.engines.revisions.similarity import Spectra, piece_hash
from toolbox.engines.revisions.trees import Side


class Blobs:
    def __init__(self) -> None:
        self.contents: dict[bytes, bytes] = {}

    def add(self, data: bytes) -> Side:
        ident = sha1(b"blob %d\0" % len(data) + data).digest()
        self.contents[ident] = data
        return Side(0o100644, ident)

    def size(self, side: Side) -> int:
        return len(self.contents[side.id])

    def data(self, side: Side) -> bytes:
        return self.contents[side.id]


def _bodies(r: random.Random, count: int) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
    base = [b"line %d" % k for k in range(40)]

    def edited(lines: list[bytes], times: int) -> list[bytes]:
        lines = list(lines)
        for _ in range(times):
            lines[r.randrange(len(lines))] = r.choice((b"own %d" % r.randrange(500), b"x" * r.randrange(200), b"", b"}\r"))
        return lines

    old, new = {}, {}
    for k in range(count):
        lines = edited(base, r.choice((2, 5, 10, 18, 25)))
        name = b"f%d.txt" % (k % (count // 2))
        old[b"d%d/" % (k % 7) + name] = b"\n".join(lines) + b"\n"
        to = name if r.random() < 0.5 else b"g%d" % r.randrange(10_000)
        new[b"e%d/" % r.randrange(5) + to] = b"\n".join(edited(lines, r.choice((0, 1, 4, 12, 20)))) + r.choice((b"\n", b""))
    return old, new


def _found(old: dict[bytes, bytes], new: dict[bytes, bytes], **more: int) -> renames.Found:
    blobs = Blobs()
    deleted = [File(path, blobs.add(data)) for path, data in sorted(old.items())]
    added = [File(path, blobs.add(data)) for path, data in sorted(new.items())]
    return renames.find(deleted, added, blobs, lambda: None, last_line_counts=git_version() >= (2, 44), **more)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the reference")
@pytest.mark.parametrize("seed", range(6))
def test_the_pairs_are_those_of_git(seed: int, tmp_path: pathlib.Path) -> None:
    old, new = _bodies(random.Random(seed), 70)
    git(tmp_path, "init", "-q")
    stream = []
    for mark, files in ((1, old), (2, new)):
        stream.append(b"commit refs/heads/main\nmark :%d\ncommitter a <a@b> %d +0000\ndata 1\nx\n" % (mark, 1_700_000_000 + mark))
        stream.append(b"from :1\ndeleteall\n" if mark == 2 else b"deleteall\n")
        stream += [b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(data), data) for path, data in files.items()]
    git(tmp_path, "fast-import", "--quiet", data=b"".join(stream))
    words = git(tmp_path, "diff", "--name-status", "-M", "-z", "main~1", "main").split(b"\0")
    want = [(int(w[1:]), words[k + 1], words[k + 2]) for k, w in enumerate(words) if w[:1] == b"R" and w[1:].isdigit()]
    found = _found(old, new)
    olds, news = sorted(old), sorted(new)
    assert [(p.score * 100 // 60_000, olds[p.source], news[p.target]) for p in found.pairs] == want
    assert len(want) > 20


def test_bounds_keep_what_costs_nothing_and_say_so() -> None:
    old, new = _bodies(random.Random(9), 40)
    old[b"same"], new[b"moved"] = b"equal\n", b"equal\n"
    whole = _found(old, new)
    assert whole.note is None
    for bound in ({"steps_most": 10}, {"bytes_most": 10}, {"matrix_most": 10}):
        less = _found(old, new, **bound)
        assert less.note is not None and "narrow with paths" in less.note
        assert 0 < len(less.pairs) < len(whole.pairs)


def _reference_hash(piece: bytes) -> int:
    low = high = 0
    for byte in piece:
        low, high = (low << 7 ^ high >> 25) & 0xFFFFFFFF, (high << 7 ^ low >> 25) & 0xFFFFFFFF
        low = (low + byte) & 0xFFFFFFFF
    return ((low + high * 0x61) & 0xFFFFFFFF) % 107_927


def test_the_hash_is_the_turned_sum() -> None:
    r = random.Random(4)
    for _ in range(3_000):
        piece = bytes(r.randrange(256) for _ in range(r.randrange(1, 65)))
        assert piece_hash(piece) == _reference_hash(piece)


def test_pieces_are_lines_cut_at_64_bytes() -> None:
    spectra = Spectra()
    assert sum(spectra.of(b"a\r\nb\n").values()) == 4  # a carriage return before a newline is left out
    assert sum(spectra.of(b"a\r\nb\n\0").values()) == 5  # but not of a binary
    assert sum(spectra.of(b"a\nrest").values()) == 2
    assert sum(Spectra(last_line_counts=True).of(b"a\nrest").values()) == 6
    assert sum(spectra.of(b"x" * 150 + b"\n").values()) == 151
    assert sum(spectra.of(b"x" * 150).values()) == 128
