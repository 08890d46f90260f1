"""One native pass along the keys of a path: struct types built for them, and what they found."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

KEYS_AT_ONCE: Final = 24
"""Keys of one struct chain; a longer path goes on from what that one found."""

_CHAINS_KEPT: Final = 256


class Found(msgspec.Struct, frozen=True):
    """What one pass over a text, from its root value, found at the end of some keys."""

    keys: tuple[str, ...]
    indexed: bool
    value: Raw | list[Raw] | None
    """None where a key is missing; the elements where `indexed`."""
    repeated: bool
    """True where an object on the way, the last value's parents, was met more than once."""


class _Chain(msgspec.Struct, frozen=True):
    decoder: msgspec.json.Decoder[Any]
    met: list[int]
    """How often the object of each level was met in the last decode."""


def is_plain(key: str) -> bool:
    """Whether a struct can be built for a key."""
    return '"' not in key and "\\" not in key and key.isprintable()


def usable(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The first of the keys, as many as one chain takes."""
    n = 0
    for key in keys[:KEYS_AT_ONCE]:
        if not is_plain(key):
            break
        n += 1
    return keys[:n]


@lru_cache(maxsize=_CHAINS_KEPT)
def _build(keys: tuple[str, ...], indexed: bool) -> _Chain:
    inner: Any = list[Raw] if indexed else Raw
    met = [0] * len(keys)

    def meet(level: int) -> Any:
        def __post_init__(self: Any) -> None:
            met[level] += 1

        return __post_init__

    for level in reversed(range(len(keys))):
        inner = msgspec.defstruct(
            "Level",
            [("f", inner | UnsetType, UNSET)],
            rename={"f": keys[level]},
            namespace={"__post_init__": meet(level)} if level else {},
            gc=False,
        )
    return _Chain(msgspec.json.Decoder(inner), met)


def decode(text: bytes | memoryview, keys: tuple[str, ...], indexed: bool) -> Found:
    """What stands at the end of the keys, in one pass that checks the whole text.

    The keys must be `usable`. msgspec.ValidationError where a value on the way is of another type
    than an object (an array at the end, where `indexed`), which may also be an earlier duplicate;
    msgspec.DecodeError where the text is no JSON.
    """
    chain = _build(keys, indexed)
    chain.met[:] = [0] * len(keys)
    value = chain.decoder.decode(text)
    for _ in keys:
        if value is UNSET:
            return Found(keys, indexed, None, max(chain.met, default=0) > 1)
        value = value.f
    return Found(keys, indexed, None if value is UNSET else value, max(chain.met, default=0) > 1)


@lru_cache(maxsize=_CHAINS_KEPT)
def decoder(keys: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """A decoder to nested records whose field `f` has the next key's value, UNSET where missing."""
    inner: Any = Raw
    for key in reversed(keys):
        inner = msgspec.defstruct(
            "Level", [("f", inner | UnsetType, UNSET)], rename={"f": key}, gc=False
        )
    return msgspec.json.Decoder(inner)
