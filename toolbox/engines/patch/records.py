"""What a patch is once read: frozen records that the later stages share.

Lines are bytes without their `\\n`. A last line that lacks its newline carries a `\\n` of its own
as a mark (no line can hold one otherwise), so equality of lists is equality of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

UNENDED = b"\n"
"""The mark at the end of a last line that has no newline in its file."""

NULL = b"/dev/null"
"""The name of the side that does not exist."""

Family = Literal[
    "outside", "protected", "unsupported", "malformed", "too-large", "changed",
    "exists", "missing", "not-a-file", "mismatch",
]  # fmt: skip
"""What a refusal is about, worst first; the verb maps each to its stable code."""

FAMILIES: tuple[Family, ...] = (
    "outside", "protected", "unsupported", "malformed", "too-large", "changed",
    "exists", "missing", "not-a-file", "mismatch",
)  # fmt: skip


class Clock(Protocol):
    """What long loops look at; raises when the call's time is over."""

    def check(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something is refused: a family, the kind by name, a sentence, and its patch line."""

    family: Family
    kind: str
    message: str
    patch_line: int | None = None


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """One `@@` block. Counts and starts are None where the header has no usable numbers.

    body holds the lines as written, `\\ No newline` lines too, so that body[k] stands on patch
    line patch_line + 1 + k. old and new are the two sides. Where the counts are wrong (`fault`
    says so) body is everything that reads as this hunk's.
    """

    number: int
    patch_line: int
    header: bytes
    old_start: int | None
    old_count: int | None
    new_start: int | None
    new_count: int | None
    section: bytes
    body: Sequence[bytes]
    old: list[bytes]
    new: list[bytes]
    context: bool
    """True where at least one line stands on both sides."""
    changes: bool
    fault: Fault | None = None
    promised: int | None = None
    """Where the counts are too low: how many body lines they cover."""
    trailer: Sequence[bytes] = ()
    """Lines right after the hunk that may be part of it; the file tells. Blank ones and hunk-like
    ones after a whole hunk, whatever follows after a body that breaks off."""

    def title(self) -> str:
        return f"hunk {self.number}"


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What a patch says about one file. Names are as written, unquoted, prefixes included."""

    number: int
    patch_line: int
    git: bool
    git_rest: bytes = b""
    """What stands after `diff --git `."""
    old_name: bytes | None = None
    new_name: bytes | None = None
    old_missing: bool = False
    """The old side is `/dev/null`, an epoch time stamp, or a `new file mode` line."""
    new_missing: bool = False
    rename_from: bytes | None = None
    rename_to: bytes | None = None
    copy_from: bytes | None = None
    copy_to: bytes | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    created_mode: str | None = None
    deleted_mode: str | None = None
    index_mode: str | None = None
    binary: str | None = None
    """How the patch says that the content is binary, or None."""
    hunks: tuple[Hunk, ...] = ()
    fault: Fault | None = None

    def modes(self) -> tuple[str, ...]:
        given = (
            self.old_mode,
            self.new_mode,
            self.created_mode,
            self.deleted_mode,
            self.index_mode,
        )
        return tuple(m for m in given if m)


@dataclass(frozen=True, slots=True)
class Ignored:
    """Lines of the patch text that are no part of any change. Numbers are 1-based, inclusive."""

    first_line: int
    last_line: int
    what: str


@dataclass(frozen=True, slots=True)
class Patch:
    """A whole patch text, read."""

    sections: tuple[Section, ...]
    ignored: tuple[Ignored, ...] = ()
    notes: tuple[str, ...] = ()
    fault: Fault | None = None
    """Why nothing could be read from it: a foreign format, an empty text."""


def split_lines(data: bytes) -> list[bytes]:
    """The lines of a file, a last one without its newline marked. Only `\\n` ends a line."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    else:
        lines[-1] += UNENDED
    return lines


def join_lines(lines: Sequence[bytes]) -> bytes:
    """The bytes of lines: the inverse of split_lines."""
    if not lines:
        return b""
    data = b"\n".join(lines)
    return data[:-1] if lines[-1].endswith(UNENDED) else data + b"\n"


def range_text(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def header_text(old_start: int, old_count: int, new_start: int, new_count: int) -> str:
    """A hunk header as `diff -u` writes it, starts as they are to stand there."""
    return f"@@ -{range_text(old_start, old_count)} +{range_text(new_start, new_count)} @@"
