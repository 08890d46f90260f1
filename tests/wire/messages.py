"""What the tests of the message parser share: tools, and a parser fed in given pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolbox.wire.tags import Bad, Call, Item, Skipped, TagParser

TOOLS = {
    "json": ("get", "keys", "query", "schema", "validate", "pretty"),
    "diff": ("files", "text", "apply", "undo"),
}

GOOD = """<tool_call name="@json" args='{"cmd":"keys"}'/>"""


def is_write(tool: str, args: dict[str, Any]) -> bool:
    inner = args.get("args", {})
    return args.get("cmd") in ("apply", "undo") and inner.get("dry_run") is False


def parse(pieces: Iterable[str | bytes], limit: int = 1 << 24) -> list[Item]:
    parser = TagParser(TOOLS, is_write, limit)
    items: list[Item] = []
    for piece in pieces:
        items += parser.feed(piece)
    items += parser.finish()
    return items


def by_bytes(message: str) -> list[bytes]:
    data = message.encode()
    return [data[k : k + 1] for k in range(len(data))]


def brief(items: list[Item]) -> list[tuple[str, Any]]:
    """Each item as (kind, what matters)."""
    out: list[tuple[str, Any]] = []
    for item in items:
        match item:
            case Call():
                out.append(("call", item.args_json.decode()))
            case Bad():
                out.append(("bad", item.reason))
            case Skipped():
                out.append(("skipped", item.reason))
    return out
