"""A real call without a daemon: a workspace, its root, the store and the dispatcher."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.root import Root
from toolbox.dispatch import Call, run
from toolbox.output import Reply
from toolbox.store import DocumentStore


class Number(str):
    """A number as the reply spells it."""


def compact(value: Any) -> str:
    """JSON text, numbers as spelled."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + compact(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@dataclass
class Asked:
    """A reply, decoded."""

    reply: Reply

    @property
    def ok(self) -> bool:
        return self.reply.ok

    @property
    def text(self) -> str:
        return self.reply.text

    @property
    def result(self) -> Any:
        assert self.reply.ok, self.reply.text
        return json.loads(self.reply.result, parse_float=Number, parse_int=Number)

    @property
    def error(self) -> Any:
        assert not self.reply.ok, self.reply.text
        return json.loads(self.reply.error)


class Workspace:
    """A workspace and one worker's store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = Root.open(folder)
        self.documents = DocumentStore(self.root)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def ask(self, tool: str, cmd: str, args: Mapping[str, Any], cap_bytes: int | None = None) -> Asked:
        call = Call(tool, cmd, json.dumps(args).encode(), cap_bytes)
        return Asked(run(call, self.root, self.documents))

    def json(self, cmd: str, cap_bytes: int | None = None, **args: Any) -> Asked:
        return self.ask("json", cmd, args, cap_bytes)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path)
    yield made
    made.root.close()


SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def corpus() -> Iterator[Workspace]:
    """The folder of real files beside the project, where there is one."""
    folder = SHARED / "corpus"
    if not folder.is_dir():
        pytest.skip("no corpus beside the project")
    made = Workspace(folder)
    yield made
    made.root.close()
