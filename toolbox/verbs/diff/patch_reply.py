"""The replies of `@diff apply`: verdicts as results, as text, and as a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sandbox import errors as refusals
from sandbox.changes import FileReceipt
from sandbox.root import RelPath
from toolbox import errors
from toolbox.engines.patch import report
from toolbox.engines.patch.outcome import FileVerdict, Plan
from toolbox.engines.patch.preview import name_text, plural
from toolbox.engines.patch.records import Ignored
from toolbox.engines.patch.verdict import HunkVerdict
from toolbox.verb import Answer, Result

_AT_BYTES: Final = 24_000


class CandidateResult(Result, frozen=True, kw_only=True):
    line: int
    """1-based line of the file where the hunk's old lines stand."""
    header: str
    """The hunk's header for that place."""


class HunkResult(Result, frozen=True, kw_only=True):
    hunk: int
    header: str
    verdict: str
    """fits, relocated, refused, or unchecked (there was no file to hold it against)."""
    kind: str
    patch_line: int
    file_line: int | None
    reason: str
    expected: str | None
    found: str | None
    candidates: list[CandidateResult]


class FileResult(Result, frozen=True, kw_only=True):
    path: str
    source: str | None
    """The old name of a rename or copy."""
    action: str
    """edit, create, delete, rename, copy or mode."""
    verdict: str
    """fits, refused, or applied."""
    kind: str
    reason: str
    hunks: list[HunkResult]
    sha256_before: str | None
    sha256_after: str | None
    backup: str | None
    notes: list[str]


class IgnoredResult(Result, frozen=True, kw_only=True):
    first_line: int
    last_line: int
    what: str


class ApplyResult(Result, frozen=True, kw_only=True):
    applied: bool
    dry_run: bool
    files: list[FileResult]
    files_total: int
    ignored: list[IgnoredResult]
    undo: str | None
    """The id that `undo` takes, once applied."""
    notes: list[str]


_CODES: Final[Mapping[str, type[errors.ToolboxError] | type[refusals.SandboxError]]] = {
    "outside": refusals.OutsideWorkspace,
    "protected": refusals.Protected,
    "unsupported": errors.PatchUnsupported,
    "malformed": errors.PatchMalformed,
    "too-large": errors.TooLarge,
    "changed": errors.Changed,
    "exists": refusals.Exists,
    "missing": refusals.NotFound,
    "not-a-file": refusals.NotAFile,
    "mismatch": errors.PatchMismatch,
}


def _hunk(verdict: HunkVerdict) -> HunkResult:
    return HunkResult(
        hunk=verdict.hunk, header=verdict.header, verdict=verdict.verdict, kind=verdict.kind,
        patch_line=verdict.patch_line, file_line=verdict.file_line, reason=verdict.reason,
        expected=verdict.expected, found=verdict.found,
        candidates=[CandidateResult(line=c.line, header=c.header) for c in verdict.candidates],
    )  # fmt: skip


def _file(
    file: FileVerdict, receipt: FileReceipt | None = None, *, applied: bool = False
) -> FileResult:
    notes = [*file.notes, *(receipt.notes if receipt else ())]
    return FileResult(
        path=name_text(file.path),
        source=name_text(file.source) if file.source and file.source != file.path else None,
        action=file.action,
        verdict="applied" if applied and file.fits else file.verdict,
        kind=file.kind, reason=file.reason, hunks=[_hunk(h) for h in file.hunks],
        sha256_before=file.sha256_before, sha256_after=file.sha256_after,
        backup=name_text(receipt.backup) if receipt and receipt.backup else None, notes=notes,
    )  # fmt: skip


def _ignored(spans: tuple[Ignored, ...]) -> list[IgnoredResult]:
    return [
        IgnoredResult(first_line=s.first_line, last_line=s.last_line, what=s.what)
        for s in spans[:50]
    ]


def answer_dry(planned: Plan, patch_file: str | None) -> Answer:
    notes = report.notes_of(planned)
    source = f'"patch_file": "{patch_file}", ' if patch_file else ""
    them = "it" if len(planned.files) == 1 else "them"
    call = f'the same call with {source}"dry_run": false writes {them}'
    head = f"dry run, nothing was written: {_fitting(len(planned.files))}"

    def result(n: int) -> ApplyResult:
        return ApplyResult(
            applied=False, dry_run=True, files=[_file(f) for f in planned.files[:n]],
            files_total=len(planned.files), ignored=_ignored(planned.ignored), undo=None,
            notes=list(notes),
        )  # fmt: skip

    return Answer(
        result=result, rows=[report.file_line(f) for f in planned.files], head=lambda n: head,
        tail=f"next: {call}", notes=notes, noun="files", hint=call,
        oversize=lambda room: _oversize(result(len(planned.files)), f"{head}\nnext: {call}", room),
    )  # fmt: skip


def _fitting(count: int) -> str:
    return "the patch fits its file" if count == 1 else f"the patch fits all its {count} files"


def answer_done(
    planned: Plan, receipts: tuple[FileReceipt, ...], ident: str | None, more: tuple[str, ...]
) -> Answer:
    by_path = {r.path: r for r in receipts}
    notes = (*report.notes_of(planned), *more)
    pairs = [(f, by_path.get(RelPath(f.path))) for f in planned.files]
    extra = tuple(f"{name_text(r.path)}: {note}" for r in receipts for note in r.notes)
    undo = f'@diff undo {{"id": "{ident}", "dry_run": false}}' if ident else None
    head = f"applied to {plural(len(planned.files), 'file')}"

    def result(n: int) -> ApplyResult:
        return ApplyResult(
            applied=True, dry_run=False, files=[_file(f, r, applied=True) for f, r in pairs[:n]],
            files_total=len(pairs), ignored=_ignored(planned.ignored), undo=ident,
            notes=list(notes),
        )  # fmt: skip

    rows = [
        report.file_line(f, applied=True, backup=name_text(r.backup) if r and r.backup else None)
        for f, r in pairs
    ]
    tail = f"undo: {undo}" if undo else ""
    return Answer(
        result=result, rows=rows, head=lambda n: head, tail=tail, notes=(*notes, *extra),
        noun="files", hint=None,
        oversize=lambda room: _oversize(result(len(pairs)), f"{head}\n{tail}", room),
    )  # fmt: skip


def _oversize(whole: ApplyResult, text: str, room: int) -> tuple[str, ApplyResult]:
    """Where not even one file fits the cap: its hunks are left out."""
    bare = [_without_hunks(f) for f in whole.files]
    while bare and sum(len(f.path) + len(f.reason) + 500 for f in bare) > room:
        bare.pop()
    notes = [note[:200] for note in whole.notes[:3]]
    return text, ApplyResult(
        applied=whole.applied, dry_run=whole.dry_run, files=bare, files_total=whole.files_total,
        ignored=[], undo=whole.undo, notes=notes,
    )  # fmt: skip


def _without_hunks(file: FileResult) -> FileResult:
    return FileResult(
        path=file.path, source=file.source, action=file.action, verdict=file.verdict,
        kind=file.kind, reason=file.reason[:300], hunks=[], sha256_before=file.sha256_before,
        sha256_after=file.sha256_after, backup=file.backup, notes=[],
    )  # fmt: skip


def refuse(planned: Plan, *, dry_run: bool) -> errors.ToolboxError | refusals.SandboxError:
    """The error for a plan that is refused, with a verdict for every hunk in `at`."""
    message, hint = report.refusal(planned)
    notes = report.notes_of(planned)
    if notes:
        message += "".join(f"\nnote: {note}" for note in notes[:5])
    family = planned.family or "mismatch"
    kind = (
        planned.fault.kind if planned.fault else next(f.kind for f in planned.files if not f.fits)
    )
    at: dict[str, Any] = {
        "kind": kind, "applied": False, "dry_run": dry_run,
        "files": _bounded(planned.files), "files_total": len(planned.files),
        "ignored": msgspec.to_builtins(_ignored(planned.ignored[:20])),
    }  # fmt: skip
    if planned.fault and planned.fault.patch_line:
        at["patch_line"] = planned.fault.patch_line
    return _CODES[family](message, hint=hint, at=at)


def _bounded(files: tuple[FileVerdict, ...]) -> list[dict[str, Any]]:
    """Files as plain values within _AT_BYTES: refused ones first to be kept, in patch order."""
    plain = [(f.fits, msgspec.to_builtins(_file(f))) for f in files]
    size = sum(len(msgspec.json.encode(value)) for _, value in plain)
    for fits in (True, False):
        for one, value in plain:
            if size <= _AT_BYTES:
                break
            if one == fits:
                kept = value["hunks"] if not fits else []
                kept = [h for h in kept if h["verdict"] == "refused"][:20]
                size -= len(msgspec.json.encode(value))
                value["hunks"], value["hunks_total"] = kept, len(value["hunks"])
                size += len(msgspec.json.encode(value))
    out: list[dict[str, Any]] = []
    spent = 0
    for _, value in sorted(plain, key=lambda pair: pair[0]):
        spent += len(msgspec.json.encode(value))
        if spent > _AT_BYTES * 2 and out:
            break
        out.append(value)
    kept_ids = {id(value) for value in out}
    return [value for _, value in plain if id(value) in kept_ids]
