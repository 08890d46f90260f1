"""The grammar of paths: `data.items[3].name` read into segments, and written back.

Segments: a name after a dot (any characters but `.` `[` `]`; a backslash before one of these makes
it part of the name); `[n]`, an index, from the end where negative; `["a.b"]`, `['a.b']`, a key with
JSON's escapes; `*` or `[*]`, each element or value. Empty, `.` and `$` are the root; `$.a`, `$[0]`
and a leading dot are understood, and a JSON Pointer (RFC 6901) where the path starts with `/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn

from toolbox.errors import BadPath


class Key(NamedTuple):
    """A member's name."""

    name: str
    quoted: bool = False
    """False where digits may also be an array's index."""
    at: int = 0
    """Where the segment starts in the path, in characters."""


class Index(NamedTuple):
    """An element's place, from 0; from the end where negative."""

    n: int
    at: int = 0


class Star(NamedTuple):
    """Every element of an array, or value of an object."""

    at: int = 0


Segment = Key | Index | Star
Step = str | int
"""A segment of a concrete path: a key, or an index from 0."""

_NAME: Final = re.compile(r"(?:\\[.\[\]]|[^.\[\]])+")
_UNESCAPE: Final = re.compile(r"\\([.\[\]])")
_INDEX: Final = re.compile(r"\[\s*(-?\d+)\s*\]")
_STAR: Final = re.compile(r"\[\s*\*\s*\]")
_QUOTED: Final = re.compile(r"""\[\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*\]""", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES: Final = {
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    '"': '"', "'": "'", "\\": "\\", "/": "/",
}  # fmt: skip
_INTEGER: Final = re.compile(r"-?\d+")
_BARE: Final = re.compile(r"""[^.\[\]\\"'\s*](?:[^.\[\]\\"'\s]*)""")
_SHOWN_CHARACTERS: Final = 120

INDEX_DIGITS: Final = 18
"""More digits than that are no index of any document."""


def parse(path: str) -> tuple[Segment, ...]:
    """The segments of a path; BadPath with the character's offset where it breaks the grammar."""
    if path.startswith("/"):
        return _parse_pointer(path)
    at, end = 0, len(path)
    if path in ("", ".", "$"):
        return ()
    if path[0] == "$" and path[1] in ".[":
        at = 1
    segments: list[Segment] = []
    if path.startswith(".[", at):
        at += 1
    bare = at == 0 and path[0] not in ".["
    while at < end:
        if path[at] == "[":
            segment, at = _bracket(path, at)
        else:
            if path[at] == ".":
                at += 1
            elif not bare:
                _refuse(path, at, f"expected `.` or `[`, got `{path[at]}`",
                        _repaired(path[:at], "." + path[at:])
                        or r'a key with such characters is quoted: ["a]b"]')  # fmt: skip
            bare = False
            segment, at = _name(path, at)
        segments.append(segment)
    return tuple(segments)


def _name(path: str, at: int) -> tuple[Segment, int]:
    found = _NAME.match(path, at)
    if found is None:
        if at >= len(path):
            _refuse(path, at, "expected a name after the last `.`, got the end of the path",
                    _repaired(path[: at - 1]))  # fmt: skip
        if path[at] == ".":
            _refuse(path, at, "expected a name between two dots",
                    _repaired(path[:at], path[at + 1 :]))  # fmt: skip
        if path[at] == "[":
            _refuse(path, at, "expected a name after `.`, got `[`",
                    _repaired(path[: at - 1], path[at:]))  # fmt: skip
        _refuse(path, at, f"expected a name, got `{path[at]}`",
                r'a key with such characters is quoted: ["a]b"]')  # fmt: skip
    text = found[0]
    if text == "*":
        return Star(at), found.end()
    return Key(_UNESCAPE.sub(r"\1", text), at=at), found.end()


def _bracket(path: str, at: int) -> tuple[Segment, int]:
    if found := _INDEX.match(path, at):
        if len(found[1].lstrip("-0")) > INDEX_DIGITS:
            _refuse(path, at + 1, f"expected an index of at most {INDEX_DIGITS} digits")
        return Index(int(found[1]), at), found.end()
    if found := _QUOTED.match(path, at):
        group = 1 if found[1] is not None else 2
        return Key(_unquote(path, found[group], found.start(group)), True, at), found.end()
    if found := _STAR.match(path, at):
        return Star(at), found.end()
    return _refuse_bracket(path, at)


def _refuse_bracket(path: str, at: int) -> NoReturn:
    close = path.find("]", at)
    inside = path[at + 1 : close] if close >= 0 else path[at + 1 :]
    rest = path[close + 1 :] if close >= 0 else ""
    before = path[:at]
    stripped = inside.strip()
    if stripped[:1] in ('"', "'"):
        quote = stripped[0]
        _refuse(path, at, f"expected the quoted key to end with {quote}]",
                f"inside it, {quote} is written \\{quote} and a backslash \\\\")  # fmt: skip
    if close < 0:
        _refuse(path, at, "expected `]`, got the end of the path",
                _repaired(path + "]") if stripped else None)  # fmt: skip
    if not stripped:
        _refuse(path, at + 1, "expected an index, a quoted key or * in the brackets, got nothing",
                _repaired(before, "[*]", rest))  # fmt: skip
    if stripped[0] == "?":
        _refuse(path, at + 1, "filters are no part of a path",
                "the verb query filters: where: \"status=failed\"")  # fmt: skip
    if ":" in stripped and re.fullmatch(r"[-\d:\s]+", stripped):
        _refuse(path, at + 1, "expected one index or *, got a slice",
                _repaired(before, "[*]", rest))  # fmt: skip
    if re.fullmatch(r"[-+.\deE]+", stripped):
        _refuse(path, at + 1, f"expected an integer index, got {stripped[:40]}",
                "an index is [0], [3] or [-1]")  # fmt: skip
    _refuse(path, at + 1, "expected an index, a quoted key or * in the brackets, got "
            f"{stripped[:40]}", _repaired(before, quote_key(stripped), rest))  # fmt: skip


def _unquote(path: str, text: str, at: int) -> str:
    if "\\" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] == "u" and len(code) == 5:
            return chr(int(code[1:], 16))
        plain = _ESCAPES.get(code)
        if plain is None:
            _refuse(path, at + found.start(), f"expected an escape of JSON, got \\{code}",
                    "a backslash in a quoted key is written \\\\")  # fmt: skip
        return plain

    made = _ESCAPE.sub(one, text)
    return _PAIR.sub(_join, made)


_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _parse_pointer(path: str) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    at = 1
    for token in path[1:].split("/"):
        if bad := re.search(r"~(?![01])", token):
            _refuse(path, at + bad.start(), "expected ~0 or ~1 in a JSON Pointer",
                    "in a pointer ~ is written ~0 and / is written ~1")  # fmt: skip
        segments.append(Key(token.replace("~1", "/").replace("~0", "~"), at=at - 1))
        at += len(token) + 1
    return tuple(segments)


def _repaired(*parts: str) -> str | None:
    """The hint that gives a corrected path, where it parses."""
    path = "".join(parts)
    try:
        parse(path)
    except BadPath:
        return None
    return f"path: {path}"


def _refuse(path: str, at: int, said: str, hint: str | None = None) -> NoReturn:
    low = max(at - _SHOWN_CHARACTERS // 2, 0)
    shown = "".join(c if c.isprintable() else "·" for c in path[low : low + _SHOWN_CHARACTERS])
    marks = "…" if low else "", "…" if low + _SHOWN_CHARACTERS < len(path) else ""
    raise BadPath(
        f"bad path at character {at + 1}: {said}\n"
        f"{marks[0]}{shown}{marks[1]}\n{' ' * (at - low + len(marks[0]))}^",
        hint=hint or 'a path is like data.items[3].name, items[*].id or labels["a.b"]',
        at={"offset": at, "path": path[:200]},
    )


# Writing


def quote_key(name: str) -> str:
    """A key as a quoted segment: `["a.b"]`."""
    made = json.dumps(name, ensure_ascii=False)
    if any(0xD800 <= ord(c) < 0xE000 for c in made):
        made = "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) < 0xE000 else c for c in made)
    return f"[{made}]"


def is_digits(name: str) -> bool:
    """Whether a bare name may be an array's index."""
    return name.isascii() and name.isdecimal() and len(name) <= INDEX_DIGITS


def is_bare(name: str) -> bool:
    """Whether a key can be written after a dot and be read the same by everyone."""
    return _BARE.fullmatch(name) is not None and name.isprintable() and not _INTEGER.fullmatch(name)


def join(base: str, step: Step) -> str:
    """A concrete path, one step longer."""
    if isinstance(step, int):
        return f"{base}[{step}]"
    if not base and (step == "$" or step.startswith("/")):
        return quote_key(step)
    written = _written(step)
    return base + written if base or written[0] == "[" else written[1:]


@lru_cache(maxsize=4096)
def _written(name: str) -> str:
    return f".{name}" if is_bare(name) else quote_key(name)


def format_steps(steps: Sequence[Step]) -> str:
    """The path of concrete steps; empty for the root. `parse` of it leads to the same value."""
    path = ""
    for step in steps:
        path = join(path, step)
    return path


def canonical(segments: Sequence[Segment]) -> str:
    """Segments as a path again."""
    path = ""
    for segment in segments:
        if isinstance(segment, Star):
            path += "[*]"
        elif isinstance(segment, Index):
            path += f"[{segment.n}]"
        elif not segment.quoted and _INTEGER.fullmatch(segment.name):
            path += f".{segment.name}" if path else segment.name
        else:
            path = join(path, segment.name)
    return path


def leading_keys(segments: Sequence[Segment]) -> tuple[tuple[str, ...], bool]:
    """The keys that a path starts with, and whether an index or * follows them: what the pass
    that opens a document can find on its way."""
    keys: list[str] = []
    for segment in segments:
        if isinstance(segment, Key):
            if not segment.quoted and is_digits(segment.name):
                return tuple(keys), False
            keys.append(segment.name)
        else:
            return tuple(keys), True
    return tuple(keys), False
