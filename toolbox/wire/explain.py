"""What the parser finds in a message, told and not run, for those who write harnesses."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from toolbox import limits
from toolbox.wire.items import Bad, Call, Skipped
from toolbox.wire.tags import TagParser


def explain(
    message: str | bytes,
    tools: Mapping[str, Collection[str]],
    is_write: Callable[[str, dict[str, Any]], bool],
    message_limit: int = limits.MESSAGE_BYTES,
) -> Iterator[dict[str, Any]]:
    """What the parser finds in a message, a dict each, for those who write harnesses.

    `{"kind":"call","name","args","id"}`, `{"kind":"error","reason",…}`,
    `{"kind":"skipped","reason"}`. args is the object as it was written.
    """
    parser = TagParser(tools, is_write, message_limit)
    for item in (*parser.feed(message), *parser.finish()):
        match item:
            case Call():
                found: dict[str, Any] = {
                    "kind": "call", "name": item.name, "args": item.args, "id": item.id,
                }  # fmt: skip
                if item.notes:
                    found["notes"] = list(item.notes)
                yield found
            case Bad():
                yield {
                    "kind": "error",
                    "reason": item.reason,
                    "message": item.message,
                    "name": item.name,
                    "id": item.id,
                }
            case Skipped():
                yield {"kind": "skipped", "reason": item.reason}


def explain_lines(
    message: str | bytes,
    tools: Mapping[str, Collection[str]],
    is_write: Callable[[str, dict[str, Any]], bool],
    message_limit: int = limits.MESSAGE_BYTES,
) -> Iterator[str]:
    """The same as JSON, a line each, the numbers of args spelled as in the message."""
    parser = TagParser(tools, is_write, message_limit)
    found = [*parser.feed(message), *parser.finish()]
    calls = iter([item for item in found if isinstance(item, Call)])
    for entry in explain(message, tools, is_write, message_limit):
        if entry["kind"] != "call":
            yield json.dumps(entry, ensure_ascii=False)
            continue
        raw = next(calls).raw.decode("utf-8", "replace")
        rest = {k: v for k, v in entry.items() if k not in ("kind", "name", "args")}
        yield (
            f'{{"kind":"call","name":{json.dumps(entry["name"])},"args":{raw},'
            + json.dumps(rest, ensure_ascii=False)[1:]
        )
