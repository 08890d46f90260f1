"""Documents kept between calls: never older than the file, never more than the budget."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from sandbox.errors import NotFound, OutsideWorkspace, SandboxError
from sandbox.root import Root
from toolbox.engines.documents.kept import kept_bytes
from toolbox.errors import BadPath, InvalidArg, ParseFailed, TooLarge
from toolbox.store import DocumentStore


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    return DocumentStore(Root.open(tmp_path))


def age(path: Path, store: DocumentStore) -> None:
    """Wait until a later change is sure to have another time."""
    with store.root.open_file(path.name) as opened:
        stamp = opened.stamp
    while not stamp.settled(time.time_ns()):
        pass


def test_the_second_question_is_answered_by_what_is_kept(
    store: DocumentStore, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"n": 1}')
    age(path, store)
    first = store.open(file="a.json")
    assert not store.hit
    assert store.open(file="./a.json") is first
    assert store.hit
    assert store.open(file=str(path)) is first
    assert len(store) == 1


def test_a_young_file_is_read_again_and_compared(store: DocumentStore, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    stamp = None
    for _ in range(200):  # until the same stamp really has two contents, or none here ever does
        path.write_text('{"n": 1}')
        before = store.open(file="a.json")
        with store.root.open_file("a.json") as opened:
            stamp = opened.stamp
        with path.open("r+") as same:
            same.write('{"n": 2}')
        after = store.open(file="a.json")
        assert after.text == b'{"n": 2}' and before.text == b'{"n": 1}'
    assert stamp is not None


def test_the_same_times_and_size_with_other_bytes(store: DocumentStore, tmp_path: Path) -> None:
    """What a coarse clock does, made certain: the kept entry is young and its bytes differ."""
    path = tmp_path / "a.json"
    path.write_text('{"n": 1}')
    document = store.open(file="a.json")
    ((key, entry),) = store._kept.items()
    entry.source = b'{"n": 0}'  # as if other bytes had been read under this stamp
    again = store.open(file="a.json")
    assert again is not document and not store.hit
    assert again.text == b'{"n": 1}'
    assert len(store) == 1
    del key


def test_a_changed_file_is_parsed_anew_and_the_old_one_let_go(
    store: DocumentStore, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"n": 1}')
    store.open(file="a.json")
    path.write_text('{"n": 22}')
    assert store.open(file="a.json").text == b'{"n": 22}'
    other = tmp_path / "b.json"
    other.write_text('{"n": 333}')
    os.replace(other, path)
    assert store.open(file="a.json").text == b'{"n": 333}'
    assert len(store) == 1
    path.unlink()
    with pytest.raises(NotFound):
        store.open(file="a.json")


def test_the_same_file_under_another_ending_is_another_document(
    store: DocumentStore, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text("[1]\n")
    os.link(tmp_path / "a.json", tmp_path / "a.jsonl")
    assert store.open(file="a.json").text.strip() == b"[1]"
    assert store.open(file="a.jsonl").format == "jsonl"


def test_the_budget_holds_and_the_oldest_goes(tmp_path: Path) -> None:
    text = json.dumps(["x" * 10_000])
    for n in range(5):
        (tmp_path / f"{n}.json").write_text(text)
    store = DocumentStore(Root.open(tmp_path), budget_bytes=40_000)
    for n in range(5):
        store.open(file=f"{n}.json")
        assert store.kept_bytes <= 40_000
    store.open(file="4.json")
    assert len(store) == 2
    small = DocumentStore(Root.open(tmp_path), budget_bytes=1_000)
    assert small.open(file="0.json").text == text.encode()
    assert len(small) == 0 and small.kept_bytes == 0


def test_texts_are_kept_a_few(store: DocumentStore) -> None:
    first = store.open(text="[0]")
    assert store.open(text="[0]") is first and store.hit
    for n in range(1, 20):
        store.open(text=f"[{n}]")
    assert len(store) == store.texts
    store.open(text="[0]")
    assert not store.hit


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_the_size_limit(tmp_path: Path, over: int) -> None:
    store = DocumentStore(Root.open(tmp_path), document_bytes=100)
    text = '"é' + "x" * (96 + over) + '"'
    assert len(text.encode()) == 100 + over
    (tmp_path / "a.json").write_text(text)
    if over <= 0:
        assert store.open(text=text).text == store.open(file="a.json").text
        return
    with pytest.raises(TooLarge) as caught:
        store.open(text=text)
    assert "101" in caught.value.message and "100" in caught.value.message
    with pytest.raises(SandboxError) as refused:
        store.open(file="a.json")
    assert refused.value.code == "E_TOO_LARGE"


def test_drop_forgets_and_reads_again_what_was_in_use(
    store: DocumentStore, tmp_path: Path
) -> None:
    for name in ("used.json", "once.json"):
        (tmp_path / name).write_text("[1]")
    store.open(file="used.json")
    store.open(file="used.json")
    store.open(file="once.json")
    for name in ("used.json", "once.json"):
        (tmp_path / name).write_text("[1, 2]")
        age(tmp_path / name, store)
        store.drop(name)
    assert len(store) == 1
    assert store.open(file="used.json").text == b"[1, 2]"
    assert store.hit
    (tmp_path / "used.json").unlink()
    store.drop("used.json")
    store.drop("never.json")
    store.drop("../outside.json")
    assert len(store) == 0


def test_what_is_kept_beside_a_document_counts(store: DocumentStore) -> None:
    from toolbox.engines.query.find import find

    text = json.dumps([{"k": n} for n in range(5_000)])
    document = store.open(text=text)
    before = kept_bytes(document)
    find(document, "[17].k")
    assert kept_bytes(document) >= before + 8 * 5_000


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({}, InvalidArg),
        ({"text": "\ud83d"}, InvalidArg),
        ({"text": "[1]", "path": "a..b"}, BadPath),
        ({"text": "[1"}, ParseFailed),
        ({"text": "[1]", "doc": 2}, InvalidArg),
        ({"file": "../x.json"}, OutsideWorkspace),
    ],
)
def test_refusals(
    store: DocumentStore, asked: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        store.open(**asked)  # type: ignore[arg-type]
    assert len(store) == 0
