"""What a YAML scalar is by the 1.2 core schema, as JSON text in the source's own spelling."""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import Final

_CORE_PREFIX: Final = "tag:yaml.org,2002:"

CONSTANTS: Final = {
    "": "null", "~": "null", "null": "null", "Null": "null", "NULL": "null",
    "true": "true", "True": "true", "TRUE": "true",
    "false": "false", "False": "false", "FALSE": "false",
}  # fmt: skip
"""Plain scalars that are null or a boolean (YAML 1.2.2, 10.3.2)."""

NUMBER_STARTS: Final = frozenset("+-.0123456789")

is_json_number: Final = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
).fullmatch
is_integer: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+").fullmatch
is_number: Final = re.compile(
    r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
).fullmatch

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def quote(text: str) -> str:
    """The JSON string of a text: non-ASCII as itself, lone surrogates as escapes."""
    quoted = encode_basestring(text)
    if quoted.isascii() or not _SURROGATE.search(quoted):
        return quoted
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", join_surrogates(quoted))


def join_surrogates(text: str) -> str:
    """The text with each surrogate pair, as two escapes make it, as its one character."""
    return _PAIR.sub(
        lambda found: found.group().encode("utf-16", "surrogatepass").decode("utf-16"), text
    )


def is_string(value: str) -> bool:
    """Whether a plain scalar is a string, so neither null, boolean nor number."""
    return value not in CONSTANTS and not (value[0] in NUMBER_STARTS and is_number(value))


def resolve_plain(value: str) -> tuple[str, bool]:
    """The JSON text of a plain scalar, and whether it is a number that JSON spells otherwise."""
    if (constant := CONSTANTS.get(value)) is not None:
        return constant, False
    if value[0] in NUMBER_STARTS:
        if is_json_number(value):
            return value, False
        if is_number(value):
            return f'"{value}"', True
    return quote(value), False


def resolve_tagged(tag: str, value: str) -> tuple[str, bool] | None:
    """The JSON text of a scalar under a core tag (`!!int "42"`), or None where it does not fit."""
    name = tag.removeprefix(_CORE_PREFIX)
    if name in ("str", "binary", "timestamp"):
        return quote(value), False
    if name == "null":
        return ("null", False) if CONSTANTS.get(value) == "null" else None
    if name == "bool":
        constant = CONSTANTS.get(value)
        return None if constant in (None, "null") else (str(constant), False)
    fits = is_integer(value) if name == "int" else is_number(value)
    return resolve_plain(value) if fits else None


STRING_TAGS: Final = frozenset(_CORE_PREFIX + name for name in ("str", "binary", "timestamp"))
SCALAR_TAGS: Final = STRING_TAGS | {
    _CORE_PREFIX + name for name in ("null", "bool", "int", "float")
}  # fmt: skip
MERGE_TAG: Final = _CORE_PREFIX + "merge"
MAPPING_TAGS: Final = frozenset(_CORE_PREFIX + name for name in ("map", "set"))
SEQUENCE_TAGS: Final = frozenset(_CORE_PREFIX + name for name in ("seq", "omap", "pairs"))


def show_tag(tag: str) -> str:
    """A tag as one writes it: `!Ref`, `!!set`, `!<tag:example.com,2000:x>`."""
    if tag.startswith("!"):
        return tag
    if tag.startswith(_CORE_PREFIX):
        return "!!" + tag.removeprefix(_CORE_PREFIX)
    return f"!<{tag}>"
