"""The words after `toolbox json VERB` as arguments: by position, by flag, and as JSON.

A parser of our own: values that begin with `-` or `[` are values, flags may stand anywhere, and
it imports nothing, so that a call through a running daemon starts at once.
"""

from __future__ import annotations

import json

from toolbox.cli.rows import Row, Word

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

STANDARD_INPUT: Final = "-"

TWINS: Final[Mapping[str, str]] = {
    "file": "text",
    "patch_file": "patch",
    "a": "before",
    "b": "after",
}
"""A file argument → the inline argument that takes what standard input holds."""

COLORS: Final = ("auto", "always", "never")


class UsageError(Exception):
    """Raised for words that make no call; `hint` says what to type instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Spelled(str):
    """JSON text that stands in the call as it was typed, numbers digit for digit."""

    __slots__ = ()


class Given:
    """What the words say: the verb's arguments, and how to answer."""

    __slots__ = (
        "alone", "args", "as_json", "color", "help", "side_by_side", "standard_input", "stat",
        "workspace",
    )  # fmt: skip

    def __init__(self) -> None:
        self.args: dict[str, object] = {}
        self.standard_input: list[str] = []
        """Arguments whose value is on standard input."""
        self.workspace: str | None = None
        self.as_json = self.alone = self.stat = self.side_by_side = self.help = False
        self.color = "auto"


OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "--workspace": ("DIR", "the folder that file names are relative to (default: this one)"),
    "--json": ("", "print the envelope, the same bytes as through every other door"),
    "--max-bytes": ("N", "cut the output to so many bytes (default: whole)"),
    "--color": ("WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never"),
    "--no-daemon": ("", "answer alone, even where the workspace's daemon runs"),
    "--help": ("", "what the verb takes, with examples"),
}
"""Flags of every verb → what they take, what they do."""

UNIFIED_OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "--stat": ("", "only how many lines changed in each file"),
    "--side-by-side": ("", "old and new beside each other, as wide as the terminal"),
}
"""Flags of the verbs that answer with a unified diff."""

WRITE_OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "--write": ("", "write, instead of the dry run"),
    "--dry-run": ("", "only tell what would happen (the default)"),
}


def options_of(row: Row) -> dict[str, tuple[str, str]]:
    """The flags of one verb that are not its arguments."""
    own = dict(WRITE_OPTIONS) if row.writes else {}
    if row.shows_unified:
        own |= UNIFIED_OPTIONS
    return own | {k: v for k, v in OPTIONS.items() if k != "--max-bytes" or not row.own_max_bytes}


def parse(row: Row, words: Sequence[str]) -> Given:
    """The arguments and options that the words give; UsageError for words that make no call."""
    given = Given()
    flags = {w.flag: w for w in row.words.values() if w.name != "dry_run"}
    options = options_of(row)
    places: list[str] = []
    at, only_places = 0, False
    while at < len(words):
        word = words[at]
        at += 1
        if only_places or not word.startswith("--"):
            if word == "-h" and not only_places:
                given.help = True
            else:
                places.append(word)
            continue
        if word == "--":
            only_places = True
            continue
        flag, equals, value = word.partition("=")
        flag = "--" + flag[2:].replace("_", "-")
        name = flag[5:] if flag.startswith("--no-") else ""
        if flag in flags and not flags[flag].is_switch:
            if not equals:
                if at == len(words) or words[at].partition("=")[0] in flags | options:
                    raise UsageError(f"{flag}: no value given", f"{flag}=VALUE")
                value = words[at]
                at += 1
            _set(given, row, flags[flag], value, by_flag=True)
        elif flag in flags or ("--" + name in flags and flags["--" + name].is_switch):
            said = flag in flags
            if equals and value not in ("true", "false"):
                raise UsageError(f"{flag}: expected true or false, got {value[:40]!r}")
            found = flags[flag if said else "--" + name]
            given.args[found.name] = said is not (value == "false")
        elif flag in options:
            if options[flag][0] and not equals:
                if at == len(words):
                    raise UsageError(f"{flag}: no value given", f"{flag}={options[flag][0]}")
                value = words[at]
                at += 1
            elif equals and not options[flag][0]:
                raise UsageError(f"{flag} takes no value, got {value[:40]!r}")
            _option(given, flag, value)
        else:
            raise _unknown(row, flag, [*flags, *options])
    if not given.help:
        _place(given, row, places)
        if given.as_json and (given.stat or given.side_by_side):
            raise UsageError("--json prints the envelope alone; leave --stat or --side-by-side out")
        if given.stat and given.side_by_side:
            raise UsageError("--stat and --side-by-side are two views; choose one")
    return given


def _option(given: Given, flag: str, value: str) -> None:
    match flag:
        case "--workspace":
            given.workspace = value
        case "--json":
            given.as_json = True
        case "--max-bytes":
            given.args["max_bytes"] = int(value) if _is_integer(value) else value
        case "--color":
            if value not in COLORS:
                raise UsageError(f"--color: expected {', '.join(COLORS)}, got {value[:40]!r}")
            given.color = value
        case "--no-daemon":
            given.alone = True
        case "--stat":
            given.stat = True
        case "--side-by-side":
            given.side_by_side = True
        case "--write":
            given.args["dry_run"] = False
        case "--dry-run":
            given.args["dry_run"] = True
        case _:
            given.help = True


def _unknown(row: Row, flag: str, known: list[str]) -> UsageError:
    near = nearest(flag, known)
    if flag == "--yes":
        near = "--write" if row.writes else near
    return UsageError(
        f"unknown flag {flag[:60]}",
        (f"did you mean {near}? " if near else "")
        + f"a value that begins with -- goes after a lone --; toolbox {row.tool} {row.name} --help",
    )


def _place(given: Given, row: Row, places: Sequence[str]) -> None:
    """Words without a flag, in the order of the verb's positional arguments.

    An argument that a flag has given, or whose inline twin one has, is not waited for.
    """
    taken = set(given.args) | set(given.standard_input)
    for group in row.exactly_one:
        if taken & set(group):
            taken |= set(group)
    taken |= {name for name in ("a", "b") if TWINS[name] in given.args and name in row.positional}
    names = [n for n in row.positional if n not in taken]
    for n, value in enumerate(places):
        if n >= len(names):
            said = "" if n == 0 or " " in value else "; quote a path that holds blanks"
            raise UsageError(f"unexpected word {value[:60]!r}{said}", usage(row))
        _set(given, row, row.words[names[n]], value, by_flag=False)


def _set(given: Given, row: Row, word: Word, value: str, *, by_flag: bool) -> None:
    inline = TWINS.get(word.name)
    reads = value == STANDARD_INPUT and (
        word.name in row.files or (not by_flag and word.kinds[0] in ("string", "list"))
    )
    if reads and inline in row.words and word.name in row.files:
        word = row.words[str(inline)]
    if word.name in given.args and not word.is_list:
        raise UsageError(f"{word.flag}: given twice")
    if reads and word.name != "path":
        given.standard_input.append(word.name)
        given.args[word.name] = ""
        return
    if not word.is_list:
        given.args[word.name] = convert(word, value)
        return
    one = list_or_one(word, value)
    before = given.args.get(word.name)
    if before is None:
        given.args[word.name] = one
    elif isinstance(one, Spelled) or isinstance(before, Spelled):
        raise UsageError(f"{word.flag}: give one JSON list, or the flag once for each value")
    else:
        given.args[word.name] = [*(before if isinstance(before, list) else [before]), one]
    if "string" not in word.kinds and isinstance(given.args[word.name], str | int):
        only = given.args[word.name]
        given.args[word.name] = only if isinstance(only, Spelled) else [only]


def list_or_one(word: Word, value: str) -> object:
    """A JSON list as typed, or one value."""
    if value.startswith("[") and (spelled := _json(value)) is not None:
        return spelled
    return convert(word, value)


def convert(word: Word, value: str) -> object:
    """A word as the argument's type: a number, JSON as typed, or the text itself.

    What fits no type stays text, and the verb's own check says what was expected.
    """
    kinds = set(word.kinds) - {"null"}
    if "integer" in kinds and _is_integer(value):
        return int(value)
    if "json" in kinds:
        spelled = _json(value)
        if spelled is None and value[:1] in ("{", "[", '"'):
            raise UsageError(f"{word.flag}: expected JSON, got {value[:40]!r}")
        return value if spelled is None else spelled
    if kinds & {"integer", "list"} and value.startswith('"'):
        spelled = _json(value)  # a string that would otherwise be a number
        return value if spelled is None else spelled
    return value


def _is_integer(value: str) -> bool:
    digits = value[1:] if value[:1] in ("-", "+") else value
    return digits.isascii() and digits.isdigit() and len(digits) <= 40


def _json(value: str) -> Spelled | None:
    try:
        json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return Spelled(value.replace("\r", " ").replace("\n", " "))


def _refuse(word: str) -> None:
    raise ValueError(word)


def encode(args: Mapping[str, object]) -> bytes:
    """The arguments as JSON text on one line."""
    members = []
    for name, value in args.items():
        text = value if isinstance(value, Spelled) else _encode(value)
        members.append(f"{json.dumps(name)}:{text}")
    return ("{" + ",".join(members) + "}").encode()


def _encode(value: object) -> str:
    if isinstance(value, list):
        return "[" + ",".join(v if isinstance(v, Spelled) else _encode(v) for v in value) + "]"
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8: escapes, which the check names
        return json.dumps(value)
    return text


def usage(row: Row) -> str:
    """The verb's usage in one line."""
    parts = [f"toolbox {row.tool} {row.name}"]
    for name in row.positional:
        word = row.words[name]
        needed = word.required or any(name in group for group in row.exactly_one)
        needed |= name in ("a", "b")
        parts.append(name.upper() if needed else f"[{name.upper()}]")
    parts += [f"{w.flag} {w.name.upper()}" for w in row.words.values()
              if w.required and w.name not in row.positional]  # fmt: skip
    return " ".join([*parts, *(["[--write]"] if row.writes else []), "[options]"])


def missing(row: Row, args: Mapping[str, object]) -> list[str]:
    """The arguments that the call lacks, by the names that usage gives them."""
    lacking = [w.name for w in row.words.values() if w.required and w.name not in args]
    lacking += [g[-1] if g[-1] in row.positional else g[0]
                for g in row.exactly_one if not set(g) & set(args)]  # fmt: skip
    lacking += [n for n in ("a", "b")
                if TWINS[n] in row.words and n not in args and TWINS[n] not in args]  # fmt: skip
    order = list(row.positional)
    return sorted(lacking, key=lambda n: order.index(n) if n in order else len(order))


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known word most like the given one, or None where none is near."""
    import difflib

    found = difflib.get_close_matches(name.casefold(), list(known), n=1, cutoff=0.6)
    return found[0] if found else None
