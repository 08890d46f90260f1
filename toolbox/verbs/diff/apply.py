"""`@diff apply`: a patch applied exactly, to all its files or to none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from sandbox import errors as refusals
from sandbox import transaction
from sandbox.changes import Change, FileReceipt
from sandbox.protect import Guard
from sandbox.reader import read_open
from sandbox.root import RelPath, Root, Stamp
from toolbox import errors, limits
from toolbox.engines.patch import report
from toolbox.engines.patch.outcome import FileVerdict, Options, Plan, State
from toolbox.engines.patch.parse import parse
from toolbox.engines.patch.plan import plan
from toolbox.engines.patch.preview import name_text, plural
from toolbox.engines.patch.records import Ignored, Patch
from toolbox.engines.patch.verdict import HunkVerdict, Repairs
from toolbox.verb import Answer, Args, Context, Example, Result, Verb

_STRIP_MOST: Final = 64
_AT_BYTES: Final = 24_000
"""Of the verdicts in a refusal: past it hunks that fit are left out, then files that fit."""


class ApplyArgs(Args, frozen=True, kw_only=True):
    patch: Annotated[
        str | None,
        Meta(description="the patch: unified diff text (git diff, diff -u, git format-patch)"),
    ] = None
    patch_file: Annotated[
        str | None, Meta(description="instead: a file of the workspace that holds the patch")
    ] = None
    file: Annotated[
        str | None,
        Meta(description="the file that the hunks are for; without it the patch names its files"),
    ] = None
    dry_run: Annotated[
        bool, Meta(description="true only tells what would happen; false writes")
    ] = True
    strip: Annotated[
        Literal["auto"] | Annotated[int, Meta(ge=0, le=_STRIP_MOST)],
        Meta(description="leading components to take off the patch's file names; auto finds out"),
    ] = "auto"
    relocate: Annotated[
        bool,
        Meta(description="apply a hunk elsewhere where its old lines stand at exactly one place"),
    ] = False
    recount: Annotated[
        bool, Meta(description="take a hunk's lines as they are where its header counts them wrong")
    ] = False
    eol: Annotated[
        Literal["exact", "file"],
        Meta(description="file: LF lines match CRLF ones, and added lines get the file's ends"),
    ] = "exact"
    expect_sha256: Annotated[
        Any,
        Meta(
            description="the SHA-256 that the file must have now, or an object of path to SHA-256; "
            "a file with another is refused"
        ),
    ] = None


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


def run(args: ApplyArgs, ctx: Context) -> Answer:
    """The verdicts of a dry run, or what was written; a patch that does not fit raises."""
    expect = _expected(args.expect_sha256)
    data = _patch_bytes(args, ctx.root)
    patch = parse(data, clock=ctx.deadline)
    options = Options(
        file=None if args.file is None else _Files(ctx.root).named(args.file),
        strip=None if args.strip == "auto" else args.strip,
        repairs=Repairs(args.relocate, args.recount, args.eol == "file"),
        expect_sha256=expect,
    )
    planned, changes = _plan(patch, options, ctx, dry_run=args.dry_run)
    if args.dry_run:
        if changes:
            transaction.check(ctx.root, changes)
        return _dry(planned, args)
    if not changes:
        return _done(planned, (), None, ("the files hold this already; nothing was written",))
    try:
        receipt = transaction.commit(ctx.root, changes)
    except refusals.Changed:
        # Another process wrote between the reading and the lock: once more, under the lock.
        with transaction.lock(ctx.root, exclusive=True) as held:
            planned, changes = _plan(patch, options, ctx, dry_run=False)
            receipt = transaction.commit(ctx.root, changes, held=held)
    return _done(planned, receipt.files, receipt.id, receipt.notes)


def _plan(
    patch: Patch, options: Options, ctx: Context, *, dry_run: bool
) -> tuple[Plan, list[Change]]:
    """What the patch does to the files as they are now; raises where it does not fit."""
    files = _Files(ctx.root)
    planned = plan(patch, files.state, options, guard=files.guard, clock=ctx.deadline)
    if planned.refused:
        raise _refusal(planned, dry_run=dry_run)
    return planned, [change for f in planned.files if (change := files.change(f)) is not None]


def _expected(given: object) -> Mapping[str, str] | str | None:
    """`expect_sha256` held against its two forms."""
    values = given.values() if isinstance(given, dict) else [] if given is None else [given]
    for value in values:
        if not isinstance(value, str) or len(value) != 64 or not set(value.lower()) <= set("0123456789abcdef"):
            raise errors.InvalidArg(
                "expect_sha256: expected 64 hex digits, or an object of path to 64 hex digits",
                hint="the dry run tells each file's sha256_before",
                at={"fields": ["expect_sha256"]},
            )
    return given  # type: ignore[return-value]


def _patch_bytes(args: ApplyArgs, root: Root) -> bytes:
    if args.patch_file is not None:
        with root.open_file(args.patch_file) as opened:
            return read_open(opened, limit_bytes=limits.PATCH_BYTES, what="patch").data
    data = (args.patch or "").encode()
    if len(data) > limits.PATCH_BYTES:
        raise errors.TooLarge(
            f"the patch has {len(data)} bytes, at most {limits.PATCH_BYTES} are applied in one call",
            hint="split it by file, and apply the parts one after the other",
            at={"size_bytes": len(data), "limit_bytes": limits.PATCH_BYTES},
        )
    return data


class _Files:
    """What the engine may ask about the workspace, and the stamps of what was read for it."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.stamps: dict[str, Stamp] = {}
        self._guard: Guard | None = None

    def named(self, given: str) -> str:
        """The `file` argument as a path relative to the root, `..` resolved as the kernel does."""
        path = self.root.relative(given)
        if given.endswith("/"):
            raise refusals.NotAFile(f"{name_text(given)} names a folder; expected a file", at={"path": path})
        if ".." not in path.split("/"):
            return path
        place = self.root.locate(path)
        try:
            return os.fsdecode(place.path)
        finally:
            place.close()

    def state(self, path: str) -> State:
        """What stands at a path; links, on the way or at its end, are told as such."""
        try:
            place = self.root.locate(path)
        except refusals.NotFound as exc:
            link = self._link(path)
            return State("symlink", detail=f"{name_text(link)} is a symlink") if link else State("missing", detail=exc.hint or "")
        except refusals.OutsideWorkspace as exc:
            return State("outside", detail=exc.message)
        except (refusals.NotAFile, refusals.InvalidPath) as exc:
            return State("not-a-file", detail=exc.message)
        try:
            followed = place.through_link or os.fsdecode(place.path) != path
            exists = place.exists
        finally:
            place.close()
        if followed:
            return State("symlink", detail=f"{name_text(self._link(path) or path)} is a symlink")
        return self._read(path) if exists else State("missing")

    def _read(self, path: str) -> State:
        try:
            with self.root.open_file(path) as opened:
                content = read_open(opened, limit_bytes=limits.DIFF_FILE_BYTES, what="file to patch")
        except refusals.NotFound:
            return State("missing")
        except refusals.TooLarge as exc:
            return State("too-large", detail=exc.message)
        except refusals.OutsideWorkspace as exc:
            return State("outside", detail=exc.message)
        except refusals.NotAFile as exc:
            kind = self.root.kind(path)
            return State("folder" if kind == "folder" else "not-a-file", detail=exc.message)
        self.stamps[path] = content.stamp
        return State(
            "file", content.data, bool(content.mode & 0o100),
            identity=(content.stamp.dev, content.stamp.ino),
        )  # fmt: skip

    def _link(self, path: str) -> str | None:
        """The first component of a path that is a link, None where none is."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            upto = "/".join(parts[:depth])
            try:
                place = self.root.locate(upto)
            except refusals.SandboxError:
                return None
            try:
                if place.through_link or os.fsdecode(place.path) != upto:
                    return upto
            finally:
                place.close()
        return None

    def guard(self, path: str) -> str | None:
        """Why a path may never be written, or None."""
        if self._guard is None:
            self._guard = Guard(self.root)
        try:
            self._guard.check(os.fsencode(path), name_text(path))
        except refusals.Protected as exc:
            return exc.message
        return None

    def change(self, file: FileVerdict) -> Change | None:
        """What the transaction is told to do for a file, None where nothing would change."""
        old = file.source or file.path
        stamp = self.stamps.get(old) if file.before is not None else None
        digest = None if file.before is None else sha256(file.before).hexdigest()
        flips = file.executable_before != file.executable_after
        executable = file.executable_after if flips else None
        match file.action:
            case "create":
                return Change("create", file.path, file.after, executable=file.executable_after)
            case "delete":
                return Change("remove", file.path, expect=stamp, expect_sha256=digest)
            case "rename" | "copy":
                data = file.after if file.after != file.before else None
                return Change(file.action, file.path, data, file.source, executable, stamp, digest)
        if file.after == file.before:
            if executable is None:
                return None
            return Change("mode", file.path, executable=executable, expect=stamp, expect_sha256=digest)
        return Change("replace", file.path, file.after, None, executable, stamp, digest)


def _hunk(verdict: HunkVerdict) -> HunkResult:
    return HunkResult(
        hunk=verdict.hunk, header=verdict.header, verdict=verdict.verdict, kind=verdict.kind,
        patch_line=verdict.patch_line, file_line=verdict.file_line, reason=verdict.reason,
        expected=verdict.expected, found=verdict.found,
        candidates=[CandidateResult(line=c.line, header=c.header) for c in verdict.candidates],
    )  # fmt: skip


def _hash(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def _file(file: FileVerdict, receipt: FileReceipt | None = None, *, applied: bool = False) -> FileResult:
    notes = [*file.notes, *(receipt.notes if receipt else ())]
    return FileResult(
        path=name_text(file.path),
        source=name_text(file.source) if file.source and file.source != file.path else None,
        action=file.action,
        verdict="applied" if applied and file.fits else file.verdict,
        kind=file.kind, reason=file.reason, hunks=[_hunk(h) for h in file.hunks],
        sha256_before=_hash(file.before), sha256_after=_hash(file.after),
        backup=name_text(receipt.backup) if receipt and receipt.backup else None, notes=notes,
    )  # fmt: skip


def _ignored(spans: tuple[Ignored, ...]) -> list[IgnoredResult]:
    return [IgnoredResult(first_line=s.first_line, last_line=s.last_line, what=s.what) for s in spans[:50]]


def _dry(planned: Plan, args: ApplyArgs) -> Answer:
    notes = report.notes_of(planned)
    source = f'"patch_file": "{args.patch_file}", ' if args.patch_file else ""
    call = f"the same call with {source}\"dry_run\": false writes {'it' if len(planned.files) == 1 else 'them'}"
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


def _done(
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


def _refusal(planned: Plan, *, dry_run: bool) -> errors.ToolboxError | refusals.SandboxError:
    """The error for a plan that is refused, with a verdict for every hunk in `at`."""
    message, hint = report.refusal(planned)
    notes = report.notes_of(planned)
    if notes:
        message += "".join(f"\nnote: {note}" for note in notes[:5])
    family = planned.family or "mismatch"
    kind = planned.fault.kind if planned.fault else next(f.kind for f in planned.files if not f.fits)
    at: dict[str, Any] = {
        "kind": kind, "applied": False, "dry_run": dry_run,
        "files": _bounded(planned.files), "files_total": len(planned.files),
        "ignored": [{"first_line": s.first_line, "last_line": s.last_line, "what": s.what} for s in planned.ignored[:20]],
    }  # fmt: skip
    if planned.fault and planned.fault.patch_line:
        at["patch_line"] = planned.fault.patch_line
    return _CODES[family](message, hint=hint, at=at)


def _bounded(files: tuple[FileVerdict, ...]) -> list[dict[str, Any]]:
    """Files as plain values within _AT_BYTES: refused ones first to be kept, in patch order."""
    import msgspec

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


def _writes(args: Mapping[str, Any]) -> bool:
    return args.get("dry_run", args.get("dryRun", True)) is False


_PATCH: Final = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n def main():\n-    go()\n+    go(1)\n"

VERB: Final = Verb(
    tool="diff",
    name="apply",
    summary="Applies a unified patch exactly, to all its files or to none, or says for each hunk "
    "why it does not fit and what would repair it.",
    args=ApplyArgs,
    result=ApplyResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=(
        "E_INVALID_ARG", "E_OUTSIDE_WORKSPACE", "E_PROTECTED", "E_NOT_FOUND", "E_NOT_A_FILE",
        "E_TOO_LARGE", "E_CHANGED", "E_PATCH_MALFORMED", "E_PATCH_MISMATCH",
        "E_PATCH_UNSUPPORTED", "E_EXISTS", "E_WRITE_FAILED", "E_TIMEOUT", "E_BUSY",
    ),
    examples=(
        Example(
            about="a dry run tells what would happen",
            args={"patch": _PATCH},
            shows="hunk 1 fits",
            files={"app.py": "def main():\n    go()\n"},
        ),
        Example(
            about="hunks alone, for a file named in the call, written",
            args={"file": "app.py", "patch": "@@ -2 +2 @@\n-    go()\n+    go(1)\n", "dry_run": False},
            shows="backup app.py.bak",
            files={"app.py": "def main():\n    go()\n"},
        ),
        Example(
            about="lines that stand elsewhere are offered with the header that fits",
            args={"patch": _PATCH},
            shows='use "@@ -3,2 +3,2 @@"',
            files={"app.py": "# one\n# two\ndef main():\n    go()\n"},
            fails="E_PATCH_MISMATCH",
        ),
        Example(
            about="and are taken there only when asked",
            args={"patch": _PATCH, "relocate": True},
            shows="2 lines lower",
            files={"app.py": "# one\n# two\ndef main():\n    go()\n"},
        ),
        Example(
            about="a wrong count is refused with the header that fits",
            args={"patch": _PATCH.replace("-1,2 +1,2", "-1,3 +1,3")},
            shows='The body fits "@@ -1,2 +1,2 @@"',
            files={"app.py": "def main():\n    go()\n"},
            fails="E_PATCH_MALFORMED",
        ),
    ),
    limits=(
        f"a patch and each of its files may have {limits.PATCH_BYTES} bytes",
        "every context and removed line must stand at its stated place, byte for byte",
    ),
    exactly_one=(("patch", "patch_file"),),
    writes=_writes,
    positional=("patch_file",),
)  # fmt: skip
