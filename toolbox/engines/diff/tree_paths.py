"""Paths of a structural diff: `$.a['b.c'][0]`, and JSON Pointers for patches."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from toolbox.engines.query.paths import is_bare


def render(steps: Iterable[str | int]) -> str:
    """The path from the root `$`; every reader of paths understands it."""
    return "$" + "".join(f"[{one}]" if isinstance(one, int) else _member(one) for one in steps)


@lru_cache(maxsize=4096)
def _member(key: str) -> str:
    if is_bare(key):
        return f".{key}"
    written = json.dumps(key, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"['{written}']"


def pointer(steps: Iterable[str | int]) -> str:
    """The JSON Pointer (RFC 6901) of the steps."""
    return "".join("/" + str(one).replace("~", "~0").replace("/", "~1") for one in steps)
