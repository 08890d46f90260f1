"""Every verb's worked examples, run as they are printed in the help and the docs."""

from __future__ import annotations

import json
import pathlib

import pytest

from sandbox.root import Root
from toolbox.dispatch import Call, run
from toolbox.errors import CODES
from toolbox.registry import TOOLS, all_verbs
from toolbox.store import DocumentStore
from toolbox.verb import Example, Verb

EXAMPLES = [(verb, k, example) for verb in all_verbs() for k, example in enumerate(verb.examples)]


@pytest.mark.parametrize(
    ("verb", "example"),
    [(v, e) for v, _, e in EXAMPLES],
    ids=[f"{v.tool}-{v.name}-{k}" for v, k, _ in EXAMPLES],
)
def test_an_example_shows_what_it_says(
    tmp_path: pathlib.Path, verb: Verb, example: Example  # type: ignore[type-arg]
) -> None:
    for name, text in example.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with Root.open(tmp_path) as root:
        call = Call(verb.tool, verb.name, json.dumps(dict(example.args)).encode())
        reply = run(call, root, DocumentStore(root, budget_bytes=1 << 20))
    if example.fails is None:
        assert reply.ok, reply.text
    else:
        assert reply.code == example.fails
    assert example.shows in reply.text


@pytest.mark.parametrize("cap_bytes", [200, 230, 300, 700])
@pytest.mark.parametrize(
    ("verb", "example"),
    [(v, e) for v, _, e in EXAMPLES],
    ids=[f"{v.tool}-{v.name}-{k}" for v, k, _ in EXAMPLES],
)
def test_an_example_keeps_to_any_cap(
    tmp_path: pathlib.Path, verb: Verb, example: Example, cap_bytes: int  # type: ignore[type-arg]
) -> None:
    for name, text in example.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with Root.open(tmp_path) as root:
        args = {**example.args, "max_bytes": cap_bytes}
        reply = run(Call(verb.tool, verb.name, json.dumps(args).encode()), root, DocumentStore(root, budget_bytes=1 << 20))
    assert reply.code != "E_INTERNAL", reply.text
    assert not reply.ok or verb.own_max_bytes or len(reply.text.encode()) <= cap_bytes


@pytest.mark.parametrize("verb", all_verbs(), ids=lambda v: f"{v.tool}-{v.name}")
def test_a_verb_s_record_is_whole(verb: Verb) -> None:  # type: ignore[type-arg]
    assert verb.summary and verb.examples and verb.errors
    assert set(verb.errors) <= set(CODES)
    assert verb.cap_bytes > 0


def test_every_verb_s_file_is_in_the_table() -> None:
    folder = pathlib.Path(__file__).resolve().parents[1] / "toolbox" / "verbs"
    for tool, names in TOOLS.items():
        declared = {
            p.stem for p in (folder / tool).glob("*.py") if "\nVERB = Verb(" in p.read_text()
            or "\nVERB: " in p.read_text()
        }
        assert declared == set(names)
