"""One call of a verb, as dispatch makes it: arguments checked, answer cut to a cap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.root import Root
from toolbox.arguments import check
from toolbox.output import fit
from toolbox.store import DocumentStore
from toolbox.verb import Deadline, Verb


@dataclass(frozen=True)
class Context:
    root: Root
    documents: DocumentStore
    deadline: Deadline
    cap_bytes: int | None


@dataclass(frozen=True)
class Reply:
    text: str
    result: Any
    result_bytes: int
    truncated: bool
    hint: str | None
    negative: bool


def call(verb: Verb[Any], folder: Path, args: Mapping[str, Any], cap: int | None = None) -> Reply:
    """The reply; errors come as they are raised. cap: None for no cap."""
    checked = check(verb, args)
    if checked.max_bytes is not None:
        cap = checked.max_bytes if cap is None else min(cap, checked.max_bytes)
    with Root.open(folder) as root:
        answer = verb.run(checked.args, Context(root, DocumentStore(root), Deadline.after(60), cap))
        fitted = fit(answer, cap, checked.notes)
    return Reply(
        fitted.text,
        json.loads(fitted.result),
        len(fitted.result),
        fitted.truncated,
        fitted.hint,
        answer.negative,
    )


def write(folder: Path, files: Mapping[str, bytes | str]) -> None:
    """Make the files, and the folders above them."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
