"""`@json query` through dispatch: what is shown of the elements that match."""

from __future__ import annotations

import json
import pathlib

from sandbox.root import Root
from toolbox.dispatch import Call, run
from toolbox.store import DocumentStore


def test_a_field_selected_twice_is_shown_once(tmp_path: pathlib.Path) -> None:
    root = Root.open(str(tmp_path))
    args = {"text": '[{"a":1,"b":2}]', "where": "", "select": ["b", "a", "b"]}
    reply = run(Call("json", "query", json.dumps(args).encode()), root, DocumentStore(root))
    assert reply.ok and reply.text.splitlines()[1] == '{"b":2,"a":1}'


def test_an_argument_with_a_lone_surrogate_in_its_name_is_an_error_reply(tmp_path: pathlib.Path) -> None:
    root = Root.open(str(tmp_path))
    raw = b'{"\\udc00":1,"text":"[]","where":""}'
    reply = run(Call("json", "query", raw), root, DocumentStore(root))
    assert reply.code == "E_INVALID_ARG"
    assert json.loads(reply.error)["at"]["fields"] == ["?"]
