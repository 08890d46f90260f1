"""How a revision is spelled: a name, then steps from it to parents, or a peeling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from toolbox.errors import BadRevision

WORKTREE: Final = ":worktree"
"""The files as they are, in place of a revision."""

SPELLINGS: Final = "a branch, a tag, an id of at least 4 digits, HEAD, each with ~N or ^N after it"

ABBREVIATION_DIGITS: Final = 4
_STEP: Final = re.compile(r"~(\d*)|\^\{(\w*)\}|\^(\d*)")
_REFLOG: Final = re.compile(r"(?s)(.*)@\{(\d+)\}")
_HEX: Final = re.compile(r"[0-9a-fA-F]{4,40}")
_DESCRIBED: Final = re.compile(r".+-\d+-g([0-9a-fA-F]{4,40})")
_MOST_STEPS: Final = 10_000_000
_NAME_CHARACTERS: Final = 1_000

PEELED: Final = ("", "commit", "tree", "tag", "object")


@dataclass(frozen=True, slots=True)
class Step:
    """`ancestor` N first parents back, `parent` the N-th parent (0: the commit), or `peel`."""

    how: Literal["ancestor", "parent", "peel"]
    count: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A revision taken apart."""

    text: str
    name: str
    reflog: int | None
    """N of `name@{N}`: what the name stood for N changes ago."""
    steps: tuple[Step, ...]

    @property
    def digits(self) -> str | None:
        """The name as hex digits of an id, or None where it is none."""
        return self.name.lower() if _HEX.fullmatch(self.name) else None

    @property
    def described(self) -> str | None:
        """The digits at the end of a name that `git describe` made (`v1.2-3-gabc1234`)."""
        match = _DESCRIBED.fullmatch(self.name)
        return match[1].lower() if match else None


def parse(text: str, argument: str) -> Spelling:
    """The parts of a revision; BadRevision names the argument and what is wrong with it."""

    def bad(why: str, hint: str | None = None) -> BadRevision:
        shown = text if len(text) <= 80 else text[:80] + "…"
        return BadRevision(
            f"{argument}: {shown!r} names no revision: {why}",
            hint=hint or f"a revision is {SPELLINGS}, or {WORKTREE}",
            at={"argument": argument, "revision": shown},
        )

    if not text.strip():
        raise bad("it is empty")
    if len(text) > _NAME_CHARACTERS:
        raise bad(f"it is longer than {_NAME_CHARACTERS} characters")
    if ".." in text:
        left, _, right = text.partition("..")
        raise bad(
            "it is a range of two",
            f"give them apart: from {left or 'HEAD'!r}, to {right.lstrip('.') or 'HEAD'!r}",
        )
    if text.startswith(":/") or "^{/" in text:
        raise bad("commits are not searched by their message here", "give the commit's id")
    cut = min((i for i in (text.find("~"), text.find("^")) if i >= 0), default=len(text))
    base, rest = text[:cut], text[cut:]
    if ":" in base or ":" in rest:
        raise bad(
            "it names a file of a revision",
            "give the revision alone, and the file in `paths`"
            + (f"; for the files as they are: {WORKTREE!r}" if "work" in text else ""),
        )
    steps = []
    at = 0
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None:
            raise bad(f"{rest[at:]!r} is neither ~N nor ^N")
        if match[0].startswith("~"):
            count = int(match[1] or 1)
            if count > _MOST_STEPS:
                raise bad(f"no history has {count} commits")
            steps.append(Step("ancestor", count))
        elif match[2] is not None:
            if match[2] not in PEELED:
                raise bad(f"{match[0]} is not among ^{{}}, ^{{commit}}, ^{{tree}}")
            steps.append(Step("peel", kind=match[2]))
        else:
            steps.append(Step("parent", min(int(match[3] or 1), _MOST_STEPS)))
        at = match.end()
    reflog = None
    if match := _REFLOG.fullmatch(base):
        base, reflog = match[1] or "HEAD", int(match[2])
    elif "@{" in base:
        raise bad(
            "upstreams, dates and earlier checkouts are not looked up here",
            "name the branch itself, or NAME@{N} for where it stood N changes ago",
        )
    if base == "@":
        base = "HEAD"
    if not base:
        raise bad("there is no name before the step")
    return Spelling(text, base, reflog, tuple(steps))
