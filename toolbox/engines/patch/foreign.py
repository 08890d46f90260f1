"""Texts that are no unified diff, recognised by what they are, so that a refusal can say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolbox.engines.patch.preview import quote
from toolbox.engines.patch.records import Fault

LOOK_LINES: Final = 2_000
"""How far into a text its format is looked for."""

_NORMAL: Final = re.compile(rb"\d+(?:,\d+)?[acd]\d+(?:,\d+)?\r?$")
_ED: Final = re.compile(rb"(?:\d+(?:,\d+)?|\$|\.|,|%)?(?:[acdi]|s/.*/.*/[gp]?|w|q|wq)\r?$")
_RCS: Final = re.compile(rb"[ad]\d+ \d+\r?$")
_RAW: Final = re.compile(rb":\d{6} \d{6} [0-9a-f]+\.* [0-9a-f]+\.* [A-Z]\d*\t")
_STAT: Final = re.compile(
    rb" \d+ files? changed(?:, \d+ insertions?\(\+\))?(?:, \d+ deletions?\(-\))?\r?$"
)
_NUMBERED: Final = re.compile(rb"\s*\d+[:|\t ]\s?(?:diff --git |--- |\+\+\+ |@@ )")
_ANSI: Final = re.compile(rb"\x1b\[[0-9;]*m")
_CONTEXT_RANGE: Final = re.compile(rb"\*\*\* \d+(?:,\d+)? \*\*\*\*")
_COMBINED_HEAD: Final = re.compile(rb"index |mode |new file |deleted file |--- |\+\+\+ ")
_RULER: Final = re.compile(rb"\*{15}(?:[ \r]|$)")
_TRANSFER: Final = re.compile(
    rb"content-transfer-encoding:\s*(base64|quoted-printable)", re.IGNORECASE
)


def combined(patch_line: int) -> Fault:
    return Fault(
        "unsupported", "combined-diff",
        "a combined diff (of a merge, several @ and columns of signs) has no single old side; "
        "take `git diff PARENT` or `git show -m` instead",
        patch_line,
    )  # fmt: skip


def unreadable(data: bytes) -> Fault | None:
    """Why the bytes cannot be read as a patch at all, or None."""
    if not data.strip():
        return Fault("malformed", "no-patch", "the patch is empty: expected a unified diff", 1)
    for mark, name in ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")):
        if data.startswith(mark):
            return Fault(
                "malformed", "encoding",
                f"the patch text is {name} (it starts with the byte order mark "
                f"{mark.hex(' ').upper()}); "
                "save it as UTF-8 or plain bytes",
                1,
            )  # fmt: skip
    if found := re.search(rb"(?m)^(?:\x1b\[[0-9;]*m)+(?:diff --git |--- |\+\+\+ |@@ )", data):
        return Fault(
            "malformed", "colour",
            "the patch text holds terminal colour codes (ESC[…m); make it with --no-color",
            data.count(b"\n", 0, found.start()) + 1,
        )  # fmt: skip
    if found := _TRANSFER.search(data, 0, 8_192):
        head = data[: found.start()]
        if b"\n\n" not in head and re.match(rb"(?:From |[A-Za-z-]+: )", data):
            return Fault(
                "unsupported", "encoded-mail",
                f"the patch is a mail in {found[1].decode().lower()} encoding; decode it first",
                head.count(b"\n") + 1,
            )  # fmt: skip
    return None


def block(lines: Sequence[bytes], i: int) -> tuple[Fault, tuple[bytes, bytes] | None, int] | None:
    """A foreign block that starts at lines[i]: its fault, its two names if it gives them, and the
    index after what was recognised. None for anything else."""
    line = lines[i]
    if line.startswith((b"diff --cc ", b"diff --combined ")):
        name = line.split(b" ", 2)[2].rstrip(b"\r")
        body = i + 1
        while body < len(lines) and _COMBINED_HEAD.match(lines[body]):
            body += 1
        return combined(i + 1), (b"a/" + name, b"b/" + name), _until_next(lines, body)
    if line.startswith(b"@@@ "):
        return combined(i + 1), None, _until_next(lines, i + 1)
    ruler = _RULER.match(line) is not None
    if ruler or line.startswith(b"*** "):
        following = lines[i + 1] if i + 1 < len(lines) else b""
        pair = line.startswith(b"*** ") and following.startswith(b"--- ")
        if pair or ruler or _CONTEXT_RANGE.match(line):
            names = (line[4:], following[4:]) if pair else None
            return _context(i + 1), names, _until_next(lines, i + (2 if pair else 1))
        if line.startswith(
            (b"*** Begin Patch", b"*** Update File:", b"*** Add File:", b"*** Delete File:")
        ):
            return (
                Fault(
                    "unsupported", "begin-patch",
                    f"{quote(line)}: the `*** Begin Patch` form gives no line numbers and is not "
                    f"applied; "
                    "make a unified diff (diff -u, git diff)",
                    i + 1,
                ),
                _begin_patch_names(lines, i),
                _past(lines, i + 1, b"*** End Patch"),
            )  # fmt: skip
    if re.match(rb"<{5,9} ?SEARCH|-{5,9} ?SEARCH", line):
        return (
            Fault(
                "unsupported", "search-replace",
                "a SEARCH/REPLACE block gives no line numbers and is not applied; "
                "make a unified diff (diff -u, git diff)",
                i + 1,
            ),
            None,
            _past(lines, i + 1, b">>>>>>>"),
        )  # fmt: skip
    return None


def _begin_patch_names(lines: Sequence[bytes], i: int) -> tuple[bytes, bytes] | None:
    for line in lines[i : i + 2]:
        if found := re.match(rb"\*\*\* (?:Update|Add|Delete) File: (.+?)\r?$", line):
            return found[1], found[1]
    return None


def _context(patch_line: int) -> Fault:
    return Fault(
        "unsupported", "context-diff",
        "a context diff (diff -c) is not applied; make a unified one (diff -u)",
        patch_line,
    )  # fmt: skip


def _until_next(lines: Sequence[bytes], i: int) -> int:
    while i < len(lines):
        line = lines[i]
        if line.startswith((b"diff --git ", b"diff --cc ", b"diff --combined ")):
            return i
        if line.startswith(b"--- ") and i + 1 < len(lines) and lines[i + 1].startswith(b"+++ "):
            return i
        pair = i + 1 < len(lines) and lines[i + 1].startswith(b"--- ")
        if pair and line.startswith(b"*** ") and not _CONTEXT_RANGE.match(line):
            return i
        i += 1
    return i


def _past(lines: Sequence[bytes], i: int, mark: bytes) -> int:
    while i < len(lines):
        if lines[i].startswith(mark):
            return i + 1
        i += 1
    return i


def recognise(lines: Sequence[bytes]) -> Fault:
    """What a text without a single change seems to be."""
    count = len(lines)
    head = lines[:LOOK_LINES]
    filled = [line for line in head if line.strip()]
    for mark in (b"> ", b">", b"| ", b"# ", b"// "):
        quoted = [line for line in filled if line.startswith(mark.rstrip())]
        if len(quoted) == len(filled) > 0 and any(
            re.match(rb"(?:diff --git |--- |\+\+\+ |@@ )", line[len(mark.rstrip()) :].lstrip())
            for line in quoted
        ):
            return _none(
                "quoted",
                f'no diff found: {len(quoted)} of {len(filled)} lines start with "{mark.decode()}" '
                "(a quoted mail?). Remove the quoting",
            )
    marked = [
        k for k, line in enumerate(head)
        if re.match(rb"(?:> ?)+(?:diff --git |--- |\+\+\+ |@@ )", line)
    ]  # fmt: skip
    if marked:
        several = sum(line.startswith(b">") for line in head)
        return _none(
            "quoted",
            f'no diff found: {several} of {count} lines start with "> " (a quoted mail?). Remove '
            f'the quoting',
            marked[0] + 1,
        )
    for k, line in enumerate(head):
        if re.match(rb"[ \t]+(?:diff --git |--- \S|\+\+\+ \S|@@ -)", line):
            blanks = len(line) - len(line.lstrip())
            return _none(
                "indented",
                f"no diff found: patch line {k + 1} ({quote(line)}) is indented by {blanks} "
                f"blanks; "
                "a patch starts at the first column. Remove the indentation",
                k + 1,
            )
        if _NUMBERED.match(line):
            return _none(
                "line-numbers",
                f"no diff found: the lines carry line numbers (patch line {k + 1}: {quote(line)}). "
                f"Remove them",
                k + 1,
            )
        if b"\\n@@ -" in line or b"\\n+++ " in line:
            return _none(
                "escaped",
                "no diff found: the text holds \\n as two characters instead of line breaks; "
                "it was escaped once too often",
                k + 1,
            )
        if re.match(rb"&(?:lt|gt|amp);|(?:---|\+\+\+|@@)(?:&nbsp;)", line):
            return _none(
                "html", f"no diff found: the text is HTML-escaped (patch line {k + 1})", k + 1
            )
    if found := _by_command(lines[:LOOK_LINES]):
        return found
    if count and lines[0].lstrip().startswith((b"[", b"{")) and b'"op"' in b"".join(lines[:20]):
        return _unsupported(
            "json-patch",
            "this looks like a JSON Patch (RFC 6902), which is for documents, not lines",
            1,
        )
    if any(re.search(rb"\{\+.*\+\}|\[-.*-\]", line) for line in filled[:200]):
        return _unsupported(
            "word-diff",
            "this looks like a word diff (git diff --word-diff); make it with plain `git diff`",
            1,
        )
    for k, line in enumerate(head):
        if re.match(rb"<{7}( |$)", line):
            return _unsupported(
                "conflict-markers",
                "this is a text with conflict markers (<<<<<<<), not a patch; make a unified diff "
                "(diff -u)",
                k + 1,
            )
    for k, line in enumerate(head):
        if line.startswith(b"--- ") and k + 1 < count and lines[k + 1].startswith(b"+++ "):
            return _none(
                "no-patch",
                f'no hunk found: file headers stand at patch line {k + 1}, but no "@@ -…" line '
                f'follows them',
                k + 1,
            )
    return _none(
        "no-patch",
        f'no unified diff found in {count} lines: expected "--- …", "+++ …" and "@@ -…" lines '
        f'(diff -u, git diff)',
    )


def _by_command(lines: Sequence[bytes]) -> Fault | None:
    """Formats told by lines that are commands: normal diffs, ed and RCS scripts, raw, stat."""
    for k, line in enumerate(lines):
        following = lines[k + 1] if k + 1 < len(lines) else b""
        if _NORMAL.match(line) and following.startswith((b"< ", b"> ", b"<", b">")):
            return _unsupported(
                "normal-diff",
                f"patch line {k + 1} ({quote(line)}): a normal diff (diff without -u) has no "
                f"context and is not applied; "
                "make a unified one (diff -u)",
                k + 1,
            )
        if line.startswith(b"*** ") and k + 1 < len(lines) and following.startswith(b"--- "):
            return _context(k + 1)
        if _RAW.match(line):
            return _unsupported(
                "raw-diff",
                "this is `git diff --raw` output, which has no content; use `git diff`",
                k + 1,
            )
    for k, line in enumerate(lines):
        if _RCS.match(line):
            return _unsupported(
                "rcs-script",
                f"no unified hunk found; patch line {k + 1} ({quote(line)}) looks like an RCS "
                f"script (diff -n), "
                "which is not applied; make a unified diff (diff -u)",
                k + 1,
            )
        if _ED.match(line) and (re.match(rb"[\d$.,%]", line) or k > 0):
            last = len(lines)
            while last > k + 1 and not lines[last - 1].strip():
                last -= 1
            if line[:1].isdigit() or any(other.rstrip() == b"." for other in lines[k:]):
                return _unsupported(
                    "ed-script",
                    f"no unified hunk found; lines {k + 1}-{last} look like an ed script, which is "
                    f"never run; "
                    "make a unified diff (diff -u)",
                    k + 1,
                )
    for k, line in enumerate(lines):
        if _STAT.match(line):
            return _none(
                "stat",
                "this is only a summary (git diff --stat): it has no hunks; use `git diff`",
                k + 1,
            )
    return None


def _none(kind: str, message: str, patch_line: int = 1) -> Fault:
    return Fault("malformed", kind, message, patch_line)


def _unsupported(kind: str, message: str, patch_line: int) -> Fault:
    return Fault("unsupported", kind, message, patch_line)
