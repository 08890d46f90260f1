"""The text of a call's arguments understood: JSON first, then the other spellings, each once."""

from __future__ import annotations

import ast
import html
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import msgspec

from toolbox.wire.items import Reason

LITERAL_BYTES: Final = 64 * 1024
"""A Python-style literal: such calls are small, and its parser is slow and deep on large ones."""

INTEGER_DIGITS: Final = 4_000
"""Digits that Python turns into an int; longer ones become a Decimal, equally exact."""

PREVIEW_CHARACTERS: Final = 24

PYTHON_NOTE: Final = (
    "the arguments were a Python literal, read as such; write JSON: double quotes, true, null"
)


class Refused(Exception):
    """Raised where the text is no call: the reason, and where it broke."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Decoded:
    """A JSON value and its text; `python` where it was spelled as a Python literal."""

    value: Any
    text: bytes
    python: bool = False


@dataclass(frozen=True, slots=True)
class Shaped:
    """A call's parts: the verb, the whole object, the JSON text of the verb's own arguments."""

    cmd: str | None
    args: dict[str, Any]
    raw: bytes
    args_json: bytes


class _Twice(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return made


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= INTEGER_DIGITS else Decimal(text)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_constant=_no_constant, strict=False
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_REFERENCE = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_ONCE: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_QUOTES: Final = "“”„‟‘’‚‛«»＂＇´″′"


def decode(text: bytes, *, attribute_quote: str = "") -> Decoded:
    """The JSON value that the text spells; Refused where no reading fits.

    Read as JSON; else with its backslashes taken off once; else with its character references
    decoded once; else as a Python literal, which the caller must allow.
    """
    try:
        given = text.decode()
    except UnicodeDecodeError as exc:
        raise Refused(
            "bad_json", f"the arguments are not UTF-8: byte {text[exc.start]:#04x} at {exc.start}"
        ) from None
    if not given.strip():
        raise Refused("args_not_object", "expected args to be an object, got nothing")
    failures: list[Refused] = []
    for spelled in _spellings(given, attribute_quote):
        try:
            return _decode_json(spelled)
        except Refused as exc:
            if exc.reason != "bad_json":
                raise
            failures.append(exc)
    for spelled in {given: None, _unreferenced(given): None}:
        literal = _decode_python(spelled)
        if literal is not None:
            return literal
    raise failures[0]


def _spellings(given: str, attribute_quote: str) -> Iterator[str]:
    yield given
    if attribute_quote == "'" and "\\'" in given:
        # The attribute's own quote escaped, within JSON that is otherwise whole.
        yield _ESCAPED.sub(lambda m: "'" if m[1] == "'" else m[0], given)
    if '\\"' in given or "\\'" in given:
        yield _ESCAPED.sub(lambda m: m[0] if m[1] == "u" else _ONCE.get(m[1], m[1]), given)
    if _REFERENCE.search(given):
        yield _unreferenced(given)


def _unreferenced(text: str) -> str:
    return _REFERENCE.sub(lambda m: html.unescape(m[0]), text)


def _decode_json(
    text: str, decoder: json.JSONDecoder = _decoder, what: str = "the arguments are"
) -> Decoded:
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = decoder.raw_decode(text, start)
        if rest := text[end:].strip(" \t\r\n"):
            at = text.index(rest[0], end)
            raise Refused("bad_json", f"{what} no JSON: more after its end: {preview(text, at)}")
    except json.JSONDecodeError as exc:
        if text[exc.pos : exc.pos + 1] and text[exc.pos] in _QUOTES:
            raise Refused(
                "bad_quotes", f"{what} no JSON: typographic quotes: {preview(text, exc.pos)}"
            ) from None
        raise Refused(
            "bad_json", f"{what} no JSON: {exc.msg.lower()}: {preview(text, exc.pos)}"
        ) from None
    except _Twice as exc:
        raise Refused("duplicate_key", f"the key {exc.key[:40]!r} stands twice") from None
    except RecursionError:
        raise Refused("bad_json", f"{what} nested too deep") from None
    except ValueError as exc:
        raise Refused("bad_json", f"{what} no JSON: {exc}") from None
    return Decoded(value, escape_controls(text.strip(" \t\r\n").encode()))


_strict = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_constant=_no_constant
)


def decode_strict(text: str, what: str) -> Decoded:
    """The value of JSON text that must be just that: no other reading, no raw control characters.

    Raises Refused as `decode` does.
    """
    return _decode_json(text, _strict, what)


def preview(text: str, at: int) -> str:
    """Where in a text, with the few characters around the place."""
    before = text[max(at - PREVIEW_CHARACTERS, 0) : at]
    after = text[at : at + PREVIEW_CHARACTERS]
    return f"at character {at + 1}, {before + '▸' + after!r}"


_STRING_RUN = re.compile(rb'(?:[^"\\]+|\\.){0,1000}', re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")


def escape_controls(text: bytes) -> bytes:
    """Valid JSON text as it is, but for control characters in strings, which become escapes."""
    if not _CONTROL.search(text):
        return text
    parts: list[bytes] = []
    done = 0
    while (start := text.find(b'"', done)) >= 0:
        end = start + 1
        while text[end : end + 1] != b'"':
            match = _STRING_RUN.match(text, end)
            if match is None or match.end() == end:
                return text  # an open string: no JSON, which its reader will say
            end = match.end()
        parts.append(text[done:start])
        parts.append(_CONTROL.sub(lambda m: b"\\u%04x" % m[0][0], text[start : end + 1]))
        done = end + 1
    parts.append(text[done:])
    return b"".join(parts)


_MAY_BE_PYTHON = re.compile(r"[{\[,:(\s]'|\b(?:True|False|None)\b")


def _decode_python(text: str) -> Decoded | None:
    """A bounded Python literal as JSON; None where it is none, or has no JSON form."""
    if len(text) > LITERAL_BYTES or not _MAY_BE_PYTHON.search(text):
        return None
    try:
        text = text.strip().replace("\r\n", "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval")
        if not _is_pythonic(tree, text):
            return None
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                keys = [k.value for k in node.keys if isinstance(k, ast.Constant)]
                if len(keys) != len(node.keys) or not all(isinstance(k, str) for k in keys):
                    return None
                _unique([(str(k), None) for k in keys])
        value = ast.literal_eval(tree)
        spelled = json.dumps(value, ensure_ascii=False, allow_nan=False)
        raw = spelled.encode()
        return Decoded(json.loads(spelled), raw, python=True)
    except _Twice as exc:
        raise Refused("duplicate_key", f"the key {exc.key[:40]!r} stands twice") from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _is_pythonic(tree: ast.AST, text: str) -> bool:
    """Whether a literal is spelled as Python would: otherwise it is JSON with a fault in it."""
    lines = text.encode().split(b"\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            line = lines[node.lineno - 1] if node.lineno <= len(lines) else b""
            mark = line[node.col_offset : node.col_offset + 1]
            if node.value is None or isinstance(node.value, bool) or mark == b"'":
                return True
    return False


# -- from a value to a call -----------------------------------------------------------------------


def shape(decoded: Decoded) -> Shaped:
    """The parts of `{"cmd": …, "args": {…}}`, or of the same without the inner object."""
    value, raw = decoded.value, decoded.text
    if not isinstance(value, dict):
        raise Refused("args_not_object", f"expected args to be an object, got {kind(value)}")
    cmd = value.get("cmd")
    if cmd is not None and not isinstance(cmd, str):
        raise Refused("bad_cmd", f"expected cmd to be a verb's name, got {kind(cmd)}")
    if "args" in value:
        if not isinstance(value["args"], dict):
            raise Refused(
                "args_not_object", f"expected the inner args to be an object, got "
                f"{kind(value['args'])}",
            )  # fmt: skip
        stray = [key for key in value if key not in ("cmd", "args")]
        if stray:
            raise Refused(
                "stray_members",
                f"{', '.join(repr(k[:40]) for k in stray[:5])} beside cmd and args: "
                "a verb's arguments stand within args",
            )
        return Shaped(cmd, value, raw, members(raw, value)["args"])
    rest = {key: text for key, text in members(raw, value).items() if key != "cmd"}
    return Shaped(cmd, value, raw, raw if len(rest) == len(value) else join(rest))


def unwrap(decoded: Decoded, name: str | None) -> tuple[Decoded, str | None, Any]:
    """What `{"name": …, "arguments": …}` wraps, the name, and an id, where it does wrap.

    arguments may be a JSON string. Anything else comes back as it is.
    """
    value = decoded.value
    if not isinstance(value, dict):
        return decoded, name, None
    wraps = "arguments" in value and "cmd" not in value
    if not wraps and (name is not None or "name" not in value):
        return decoded, name, None
    inner_name = value.get("name")
    if inner_name is not None and not isinstance(inner_name, str):
        raise Refused("missing_name", f"expected name to be a string, got {kind(inner_name)}")
    if name is not None and inner_name is not None and _bare(name) != _bare(inner_name):
        raise Refused("name_conflict", f"the tag names {name[:40]!r}, its body {inner_name[:40]!r}")
    texts = members(decoded.text, value)
    ident = value.get("id")
    if wraps or ("args" in value and "cmd" not in value):
        key = "arguments" if wraps else "args"
        inner = Decoded(value[key], texts[key], decoded.python)
        if isinstance(inner.value, str):
            inner = decode(inner.value.encode("utf-8", "surrogatepass"))
    else:
        rest = {k: v for k, v in value.items() if k not in ("name", "id")}
        inner = Decoded(rest, join({k: texts[k] for k in rest}), decoded.python)
    return inner, inner_name if inner_name is not None else name, ident


def _bare(name: str) -> str:
    return name.strip().removeprefix("@")


_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def members(raw: bytes, value: dict[str, Any]) -> dict[str, bytes]:
    """The text of each member of an object that has been decoded to value."""
    try:
        return {key: bytes(text) for key, text in _members.decode(raw).items()}
    except msgspec.DecodeError:  # lone surrogate escapes, which only the standard library reads
        return {k: json.dumps(v, default=str).encode() for k, v in value.items()}


def join(texts: dict[str, bytes]) -> bytes:
    """An object's text from its members'."""
    return b"{" + b",".join(json.dumps(k).encode() + b":" + v for k, v in texts.items()) + b"}"


def kind(value: Any) -> str:
    """A JSON value's type in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "an array"
    return "an object" if isinstance(value, dict) else "a number"
