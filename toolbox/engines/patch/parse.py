"""Patch text → sections and hunks: git's form, plain unified diffs, mails, fenced in prose or not.

Nothing is judged here that needs another section or a file; what does not read as the form it
starts as carries a fault, and the sections after it are read all the same.
"""

from __future__ import annotations

import re
from typing import Any, Final

from toolbox.engines.patch import foreign
from toolbox.engines.patch.hunks import extent, is_file_header, is_signature, read_hunk
from toolbox.engines.patch.names import read_header_name, read_plain_name
from toolbox.engines.patch.preview import plural, quote
from toolbox.engines.patch.records import NULL, Clock, Fault, Hunk, Ignored, Patch, Section

CLOCK_HUNKS: Final = 256
"""Hunks between two looks at the deadline."""

_NOISE: Final = re.compile(
    rb"\s*$|diff -|Index: |={10,}|index [0-9a-f]+|RCS file: |retrieving revision |Only in |"
    rb"\\ No newline|Property changes on: |_{10,}|# HG changeset patch|No differences encountered"
)
_ONLY_IN: Final = re.compile(rb"Only in (.+): (.+?)\r?$")
_BINARY: Final = re.compile(rb"Binary files (.+) and (.+) differ\r?$")
_BASE85: Final = re.compile(rb"(?:literal|delta) \d+\r?$|[A-Za-z][!-~]{5,}\r?$|\r?$")
_INDEX: Final = re.compile(rb"index [0-9a-fA-F]+\.\.[0-9a-fA-F]+(?: (\d+))?\r?$")
_MODES: Final = {
    b"old mode ": "old_mode", b"new mode ": "new_mode",
    b"new file mode ": "created_mode", b"deleted file mode ": "deleted_mode",
}  # fmt: skip
_NAMES: Final = {
    b"rename from ": "rename_from", b"rename to ": "rename_to",
    b"copy from ": "copy_from", b"copy to ": "copy_to",
}  # fmt: skip


class _Draft:
    """A section while it is read."""

    def __init__(self, number: int, patch_line: int, *, git: bool) -> None:
        self.fields: dict[str, Any] = {"number": number, "patch_line": patch_line, "git": git}
        self.hunks: list[Hunk] = []
        self.old_epoch = self.new_epoch = False

    @property
    def nameless(self) -> bool:
        return not self.fields["git"] and "old_name" not in self.fields

    def names(self, minus: bytes, plus: bytes) -> None:
        old, self.old_epoch = read_header_name(minus[4:])
        new, self.new_epoch = read_header_name(plus[4:])
        self.fields.update(old_name=old, new_name=new)
        if old == NULL:
            self.fields["old_missing"] = True
        if new == NULL:
            self.fields["new_missing"] = True

    def finish(self) -> Section:
        if self.old_epoch and self.hunks and all(h.old_count == 0 for h in self.hunks):
            self.fields["old_missing"] = True
        if self.new_epoch and self.hunks and all(h.new_count == 0 for h in self.hunks):
            self.fields["new_missing"] = True
        if "created_mode" in self.fields:
            self.fields["old_missing"] = True
        if "deleted_mode" in self.fields:
            self.fields["new_missing"] = True
        return Section(**self.fields, hunks=tuple(self.hunks))


def parse(data: bytes, *, clock: Clock | None = None) -> Patch:
    """A patch text as sections; what is no part of it is listed as ignored.

    Where nothing can be read, `Patch.fault` names the format that the text seems to be in.
    """
    notes: list[str] = []
    if fault := foreign.unreadable(data):
        return Patch((), fault=fault)
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        notes.append("the patch text starts with a byte order mark, which was left out")
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    reader = _Reader(lines, clock)
    reader.read()
    sections = tuple(draft.finish() for draft in reader.drafts)
    notes.extend(reader.notes)
    ignored = tuple(reader.ignored)
    if not sections or all(_says_nothing(s) for s in sections):
        fault = foreign.recognise(lines)
        if not sections or (fault and fault.kind != "no-patch"):
            return Patch((), (), tuple(notes), fault)
    return Patch(sections, ignored, tuple(notes))


def _says_nothing(section: Section) -> bool:
    """True for bare headers, which also stand at the head of texts in other forms."""
    return not (
        section.hunks or section.fault or section.binary or section.modes()
        or section.rename_from or section.copy_from
    )  # fmt: skip


class _Reader:
    def __init__(self, lines: list[bytes], clock: Clock | None) -> None:
        self.lines = lines
        self.clock = clock
        self.at = 0
        self.drafts: list[_Draft] = []
        self.ignored: list[Ignored] = []
        self.notes: list[str] = []
        self.gap_from: int | None = None
        self.hunks_read = 0

    def read(self) -> None:
        lines, end = self.lines, len(self.lines)
        while self.at < end:
            line = lines[self.at]
            first = line[:1]
            if first == b"d" and line.startswith(b"diff --git "):
                self._close_gap()
                self._read_git()
            elif first == b"-" and is_file_header(lines, self.at):
                self._close_gap()
                self._read_plain()
            elif first == b"@" and (line.startswith(b"@@ ") or line.rstrip() == b"@@"):
                self._read_stray_hunk()
            elif first == b"B" and (found := _BINARY.match(line)):
                self._close_gap()
                draft = self._open(git=False)
                draft.names(b"--- " + found[1], b"+++ " + found[2])
                draft.fields["binary"] = "the patch only says that the files differ"
                self.at += 1
            elif first in (b"-", b"+") and self._lone_header():
                pass
            elif found_foreign := foreign.block(lines, self.at):
                self._close_gap()
                fault, names, stop = found_foreign
                draft = self._open(git=False)
                draft.fields["fault"] = fault
                if names:
                    draft.names(b"--- " + names[0], b"+++ " + names[1])
                self.at = stop
            else:
                if self.gap_from is None:
                    self.gap_from = self.at
                if found := _ONLY_IN.match(line):
                    self.notes.append(
                        f"patch line {self.at + 1}: {quote(line)}: the patch has nothing about its "
                        f"content"
                    )
                self.at += 1
        self._close_gap()

    def _open(self, *, git: bool) -> _Draft:
        draft = _Draft(len(self.drafts) + 1, self.at + 1, git=git)
        self.drafts.append(draft)
        return draft

    def _close_gap(self) -> None:
        """Note the lines since the last change, if they say anything."""
        if self.gap_from is None:
            return
        first, last = self.gap_from, self.at - 1
        lines = self.lines
        while first <= last and _NOISE.match(lines[first]):
            first += 1
        while last >= first and _NOISE.match(lines[last]):
            last -= 1
        self.gap_from = None
        if first > last:
            return
        count = plural(last - first + 1, "line")
        if not self.drafts:
            mail = any(
                lines[k].startswith((b"From ", b"Subject: "))
                for k in range(first, min(last + 1, first + 20))
            )
            what = (
                f"{count} of a mail's head before the first change"
                if mail
                else f"{count} of text before the first change"
            )
        elif is_signature(lines, first):
            what = f"{count} of a mail's signature"
        elif lines[first].startswith((b"```", b"~~~")) and first == last:
            what = "the end of a Markdown fence"
        else:
            what = f"{count} of text after {self._last_title()}"
        self.ignored.append(Ignored(first + 1, last + 1, what))

    def _last_title(self) -> str:
        hunks = self.drafts[-1].hunks
        return f"hunk {hunks[-1].number}" if hunks else "a change"

    def _lone_header(self) -> bool:
        """A `---` or `+++` line that lacks its other half, with a hunk right after it."""
        lines, i = self.lines, self.at
        line = lines[i]
        if not (line.startswith((b"--- ", b"+++ ")) and i + 1 < len(lines)):
            return False
        if not lines[i + 1].startswith(b"@@ "):
            return False
        self._close_gap()
        draft = self._open(git=False)
        name, _ = read_header_name(line[4:])
        other = b"+++" if line.startswith(b"---") else b"---"
        draft.fields.update(
            old_name=name, new_name=name,
            fault=Fault(
                "malformed", "header-pair",
                f'{quote(line)} has no "{other.decode()} …" line beside it; a file\'s hunks need '
                f'both',
                i + 1,
            ),
        )  # fmt: skip
        self.at += 1
        self._read_hunks(draft)
        return True

    def _read_plain(self) -> None:
        draft = self._open(git=False)
        draft.names(self.lines[self.at], self.lines[self.at + 1])
        self.at += 2
        self._read_hunks(draft)

    def _read_stray_hunk(self) -> None:
        """A hunk without a header of its own: it goes on with the section above if nothing but
        blank lines lies between, or names no file."""
        apart = self.gap_from is not None and any(
            line.strip() for line in self.lines[self.gap_from : self.at]
        )
        last = self.drafts[-1] if self.drafts else None
        self._close_gap()
        if last is not None and not last.fields.get("binary") and (last.nameless or not apart):
            self._read_hunks(last)
        else:
            self._read_hunks(self._open(git=False))

    def _read_hunks(self, draft: _Draft) -> None:
        lines, end = self.lines, len(self.lines)
        while self.at < end and lines[self.at].startswith(b"@@"):
            if lines[self.at].startswith(b"@@@"):
                draft.fields["fault"] = foreign.combined(self.at + 1)
                self.at = extent(lines, self.at + 1)
                continue
            hunk, self.at = read_hunk(lines, self.at, len(draft.hunks) + 1)
            draft.hunks.append(hunk)
            self.hunks_read += 1
            if self.clock is not None and self.hunks_read % CLOCK_HUNKS == 0:
                self.clock.check()

    def _read_git(self) -> None:
        lines, end = self.lines, len(self.lines)
        draft = self._open(git=True)
        fields = draft.fields
        fields["git_rest"] = lines[self.at][len(b"diff --git ") :].rstrip(b"\r")
        i = self.at + 1
        while i < end:
            line = lines[i]
            if is_file_header(lines, i):
                draft.names(line, lines[i + 1])
                i += 2
                break
            if line.startswith(b"@@"):
                break
            if _BINARY.match(line):
                fields["binary"] = "the patch only says that the files differ"
                i += 1
                break
            if line.startswith(b"GIT binary patch"):
                fields["binary"] = "a git binary patch"
                i += 1
                while i < end and _BASE85.match(lines[i]):
                    i += 1
                break
            if not self._extended(draft, line):
                break
            i += 1
        if (
            i < end
            and not lines[i].strip()
            and set(fields) == {"number", "patch_line", "git", "git_rest"}
        ):
            while i < end and not lines[i].strip():
                i += 1
            if i < end and is_file_header(lines, i):
                draft.names(lines[i], lines[i + 1])
                i += 2
        self.at = i
        self._read_hunks(draft)

    def _extended(self, draft: _Draft, line: bytes) -> bool:
        """Take one of git's extended header lines; False if it is none."""
        fields = draft.fields
        if line.startswith(b"index "):
            if (found := _INDEX.match(line)) and found[1]:
                fields["index_mode"] = found[1].decode()
            return True
        for prefix, field in _MODES.items():
            if line.startswith(prefix):
                fields[field] = line[len(prefix) :].strip().decode("ascii", "backslashreplace")
                return True
        for prefix, field in _NAMES.items():
            if line.startswith(prefix):
                fields[field] = read_plain_name(line[len(prefix) :])
                return True
        return line.startswith((b"similarity index ", b"dissimilarity index "))
