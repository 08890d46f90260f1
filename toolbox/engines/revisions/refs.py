"""Names of commits as a repository keeps them: ref files, packed-refs, reflogs, its settings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Final

RULES: Final = (
    "{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD",
)  # fmt: skip
"""The order in which git takes a short name for a full one."""

_ID: Final = re.compile(rb"[0-9a-f]{40}")
_PACKED: Final = re.compile(rb"(?m)^([0-9a-f]{40}) (refs/[^\n]+)$")
_PSEUDO: Final = re.compile(r"[A-Z][A-Z_]*")
_BAD: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|/\.|\.lock(?:/|\Z)|\A[./-]|[/.]\Z")


def is_name(name: str) -> bool:
    """Whether git would allow such a ref name; nothing else is looked up as a file."""
    return name != "@" and not _BAD.search(name)


def candidates(name: str) -> list[str]:
    """The full names that a short one may stand for, in git's order."""
    if not is_name(name):
        return []
    found = [rule.format(name) for rule in RULES]
    if not (_PSEUDO.fullmatch(name) or name.startswith("refs/")):
        found = found[1:]  # only HEAD and its like stand beside the folder of refs
    return found


def short(full: str) -> str:
    """A full name as people say it."""
    for prefix in ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/"):
        if full.startswith(prefix):
            return full[len(prefix) :]
    return full


def parse_ref(data: bytes) -> bytes | str | None:
    """What a ref file says: a binary id, the full name that it stands for, or None."""
    text = data.strip()
    if text.startswith(b"ref:"):
        return text[4:].strip().decode("utf-8", "surrogateescape")
    head = text[:40]
    if _ID.fullmatch(head) and not text[40:41].isalnum():
        return bytes.fromhex(head.decode())
    return None


def parse_packed(data: bytes) -> dict[str, bytes]:
    """The refs of a packed-refs file: full name → binary id."""
    return {
        match[2].decode("utf-8", "surrogateescape"): bytes.fromhex(match[1].decode())
        for match in _PACKED.finditer(data)
    }


def reflog_entry(data: bytes, back: int) -> tuple[bytes | None, int]:
    """The id that a reflog tells for `back` changes ago (0: now), and how many it knows."""
    lines = data.splitlines()
    if back < len(lines):
        ident = lines[len(lines) - 1 - back][41:81]
    elif lines and back == len(lines):
        ident = lines[0][:40]
    else:
        return None, len(lines)
    if not _ID.fullmatch(ident) or ident == b"0" * 40:
        return None, len(lines)
    return bytes.fromhex(ident.decode()), len(lines)


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Known ref names like the one asked for, nearest first, as people say them."""
    names = dict.fromkeys(short(one) for one in known)
    folded: dict[str, str] = {}
    for one in names:
        folded.setdefault(one.casefold(), one)
    wanted = name.casefold()
    found = [folded[one] for one in difflib.get_close_matches(wanted, folded, most, 0.6)]
    tails = [one for one in names if wanted and one.casefold().rpartition("/")[2] == wanted]
    begun = [one for one in names if len(wanted) > 2 and one.casefold().startswith(wanted)]
    return list(dict.fromkeys((*tails, *found, *begun)))[:most]


_SECTION: Final = re.compile(r"\s*\[\s*([\w.-]+)(?:\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]")
_SETTING: Final = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*")


def parse_settings(data: bytes) -> dict[str, str]:
    """The plain settings of a repository's own config file: `core.worktree` → its text.

    Nothing is followed: `include.path` stays a setting like any other. The last of several wins.
    """
    found: dict[str, str] = {}
    section = ""
    text = data.decode("utf-8", "surrogateescape").replace("\\\r\n", "").replace("\\\n", "")
    for line in text.split("\n"):
        if header := _SECTION.match(line):
            section = header[1].lower() + (f".{header[2]}" if header[2] is not None else "")
            line = line[header.end() :]
        if line.lstrip()[:1] in ("", "#", ";"):
            continue
        if section and (setting := _SETTING.fullmatch(line)):
            value = setting[2]
            found[f"{section}.{setting[1].lower()}"] = "true" if value is None else _unquoted(value)
    return found


def _unquoted(text: str) -> str:
    out = []
    quoted = False
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            at += 1
            out.append({"n": "\n", "t": "\t", "b": "\b"}.get(text[at], text[at]))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            out.append(char)
        at += 1
    return "".join(out).strip()


def is_true(text: str | None) -> bool:
    """Whether a setting says yes."""
    return text is not None and text.lower() in ("true", "yes", "on", "1")


def parse_alternates(data: bytes) -> Sequence[str]:
    """The folders that an alternates file names."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return [_unquoted(one) if one[:1] == '"' else one for one in lines if one and one[0] != "#"]
