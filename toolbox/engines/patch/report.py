"""A plan in words: one line a file, what does not fit hunk by hunk, and the call that would mend "
"it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolbox.engines.patch.outcome import FileVerdict, Plan
from toolbox.engines.patch.preview import name_text, plural
from toolbox.engines.patch.records import Ignored
from toolbox.engines.patch.verdict import HunkVerdict

MESSAGE_CHARACTERS: Final = 6_000
"""Of a refusal's message: past it the files that follow are only counted."""
_FITTING_NAMED: Final = 20
"""Files that fit, named one by one in a refusal."""

_DONE: Final = {
    "edit": "edited", "create": "created", "delete": "deleted", "rename": "renamed",
    "copy": "copied", "mode": "mode changed",
}  # fmt: skip


def file_line(file: FileVerdict, *, applied: bool = False, backup: str | None = None) -> str:
    """A file that fits, in one line."""
    path = name_text(file.path)
    what = _DONE[file.action] if applied else file.action
    text = f"{path}: {what}, {file.reason}"
    if backup:
        text += f" (backup {backup})"
    return text


def refused_lines(file: FileVerdict) -> list[str]:
    """A file that does not fit: a line for each hunk that does not, or one for the whole file."""
    path = name_text(file.path)
    bad = [h for h in file.hunks if h.verdict == "refused"]
    own = file.kind not in {h.kind for h in bad} or not file.reason.startswith("hunk ")
    lines = [f"{path}: {file.reason}"] if own else []
    lines.extend(f"{path} {_hunk_title(h)}: {h.reason}" for h in bad)
    fine = [h.hunk for h in file.hunks if h.verdict in ("fits", "relocated")]
    if fine and bad:
        lines.append(f"{path}: {_numbers(fine)} {'fits' if len(fine) == 1 else 'fit'}")
    return lines


def _hunk_title(verdict: HunkVerdict) -> str:
    return f"hunk {verdict.hunk} (patch line {verdict.patch_line})"


def _numbers(hunks: list[int]) -> str:
    if len(hunks) == 1:
        return f"hunk {hunks[0]}"
    shown = ", ".join(map(str, hunks[:8]))
    return f"hunks {shown}, …" if len(hunks) > 8 else f"hunks {shown}"


def refusal(plan: Plan) -> tuple[str, str | None]:
    """(message, hint) for a plan that is refused. Refused files first, then those that fit."""
    if plan.fault is not None:
        return f"nothing was changed: {plan.fault.message}", _fault_hint(plan.fault.kind)
    bad = [f for f in plan.files if not f.fits]
    good = [f for f in plan.files if f.fits]
    total = len(plan.files)
    if total == 1:
        head = "nothing was changed"
    else:
        some = "does" if len(bad) == 1 else "do"
        head = f"nothing was changed: {len(bad)} of {total} files {some} not fit"
    lines: list[str] = []
    room = MESSAGE_CHARACTERS
    told = 0
    for file in bad:
        block = refused_lines(file)
        size = sum(len(line) + 1 for line in block)
        if size > room and told:
            break
        while size > room and len(block) > 1:
            size -= len(block.pop()) + 1
        lines.extend(block)
        room -= size
        told += 1
    if told < len(bad):
        lines.append(f"… and {plural(len(bad) - told, 'more file')} that do not fit")
    for file in good[:_FITTING_NAMED]:
        lines.append(file_line(file))
    if len(good) > _FITTING_NAMED:
        lines.append(f"… and {len(good) - _FITTING_NAMED} more files that fit")
    if len(lines) == 1:
        return f"{head}: {lines[0]}", _hint(bad)
    return "\n".join([head, *lines]), _hint(bad)


_HINTS: Final[Mapping[str, str]] = {
    "changed": "read the file again and make the patch anew",
    "already-applied": "leave out what is applied already",
    "ambiguous-path": "the same call with strip: 0 or strip: 1",
    "path-strip": "the same call with another strip, or with file",
    "no-file-header": "the same call with file",
    "several-files": "the same call without file",
    "inconsistent-names": "the same call with file, or a patch with rename lines",
    "target-exists": "give hunks for the file that is there, or a free name",
    "missing-target": "correct the file's name in the patch, or give it in file",
    "two-changes": "one section for each file",
    "delete-not-empty": "remove every line of the file in the deletion's hunk",
    "out-of-order": "the hunks in the order of the file",
    "overlap": "one hunk in place of two that overlap",
    "no-hunk": "give the hunks (@@ -START,COUNT +START,COUNT @@) below the headers",
    "binary": "leave that file out of the patch",
    "symlink": "leave that file out, or name the file that the link leads to",
    "submodule": "leave that file out of the patch",
    "protected": "leave that file out of the patch",
    "mode": "leave the mode line out of the patch",
    "starts-disagree": "the same hunk with a header that agrees, or with context lines",
    "final-newline": "the hunk with its last line as the file has it",
    "unsafe-path": "name files relative to the workspace's root, without '..'",
}
"""The next call by kind of what stands in the way, where no hunk has a better one."""


def _hint(bad: list[FileVerdict]) -> str:
    """The next call, from what stands in the way."""
    hunks = [h for f in bad for h in f.hunks if h.verdict == "refused"]
    kinds = {h.kind for h in hunks} | {f.kind for f in bad}
    ways: list[str] = []
    once = [h for h in hunks if h.kind == "offset" and len(h.candidates) == 1]
    if once and len(once) == sum(h.kind == "offset" for h in hunks):
        ways.append("give the headers above, or the same call with relocate: true")
    elif "offset" in kinds:
        ways.append("choose one of the headers above")
    if kinds & {"counts", "left-over"}:
        fitting = any(h.candidates for h in hunks if h.kind in ("counts", "left-over"))
        ways.append(
            ("give the header that fits, or " if fitting else "mend the hunk, or ")
            + "the same call with recount: true"
        )
    if "header" in kinds:
        ways.append("give the header above")
    if "crlf-mismatch" in kinds:
        ways.append('the same call with eol: "file"')
    ways.extend(hint for kind, hint in _HINTS.items() if kind in kinds)
    if any(f.family == "unsupported" for f in bad) and not ways:
        ways.append("make the patch anew with git diff or diff -u")
    if not ways:
        where = _first_place(bad)
        again = f"read {where} again and make its hunks anew"
        ways.append(again if where else "mend the patch and call again")
    return "; ".join(ways[:3])


def _fault_hint(kind: str) -> str:
    return _HINTS.get(kind, "call again with a unified diff (git diff, diff -u)")


def _first_place(bad: list[FileVerdict]) -> str | None:
    for file in bad:
        if file.family == "mismatch":
            line = next(
                (h.file_line for h in file.hunks if h.verdict == "refused" and h.file_line), None
            )
            name = name_text(file.source or file.path)
            return f"{name} from line {line}" if line else name
    return None


def notes_of(plan: Plan) -> tuple[str, ...]:
    """What should be known besides: the patch's own notes, those of its files, what was ignored."""
    notes = list(plan.notes)
    many = len(plan.files) > 1
    for file in plan.files:
        prefix = f"{name_text(file.path)}: " if many else ""
        notes.extend(prefix + note for note in file.notes)
    if plan.ignored:
        notes.append(
            "ignored "
            + "; ".join(_ignored(plan.ignored[:8]))
            + (", …" if len(plan.ignored) > 8 else "")
        )
    if len(notes) > 20:
        notes = [*notes[:20], f"… and {len(notes) - 20} more notes"]
    return tuple(notes)


def _ignored(spans: Iterable[Ignored]) -> list[str]:
    out = []
    for span in spans:
        first, last = span.first_line, span.last_line
        where = f"patch line {first}" if first == last else f"patch lines {first}-{last}"
        out.append(f"{span.what} ({where})")
    return out
