"""`@diff undo`: the files of one apply put back, where none has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Meta

from sandbox import history
from sandbox.changes import FileReceipt
from toolbox import limits
from toolbox.engines.patch.preview import name_text, plural
from toolbox.verb import Answer, Args, Context, Example, Result, Verb


class UndoArgs(Args, frozen=True, kw_only=True):
    id: Annotated[
        str, Meta(description="what `apply` answered in `undo`; `history` lists the last ones")
    ]
    dry_run: Annotated[
        bool, Meta(description="true only tells what would happen; false writes")
    ] = True


class UndoneFile(Result, frozen=True, kw_only=True):
    path: str
    source: str | None
    action: str
    """What the undo does: create, replace, remove, rename or mode."""
    sha256_before: str | None
    sha256_after: str | None
    backup: str | None
    notes: list[str]


class UndoResult(Result, frozen=True, kw_only=True):
    id: str
    undone: bool
    dry_run: bool
    files: list[UndoneFile]
    files_total: int
    undo: str | None
    """The id by which this undo can itself be undone."""
    notes: list[str]


def run(args: UndoArgs, ctx: Context) -> Answer:
    """What is, or would be, put back; raises where a file changed since."""
    done = history.undo(ctx.root, args.id, dry_run=args.dry_run)
    files = [_file(receipt) for receipt in done.files]
    count = plural(len(files), "file")
    ident = done.receipt.id if done.receipt else None
    notes = done.receipt.notes if done.receipt else ()
    if args.dry_run:
        head = f"dry run, nothing was written: {count} would be put back"
        again = f'@diff undo {{"id": "{args.id}", "dry_run": false}}'
        tail = f"next: {again}"
    else:
        head, again = f"put back {count}", None
        tail = f'to take this back: @diff undo {{"id": "{ident}", "dry_run": false}}'
    return Answer(
        result=lambda n: UndoResult(
            id=args.id, undone=not args.dry_run, dry_run=args.dry_run, files=files[:n],
            files_total=len(files), undo=ident, notes=list(notes),
        ),
        rows=[_line(f) for f in files], head=lambda n: head, tail=tail, notes=notes,
        noun="files", hint=again,
    )  # fmt: skip


def _file(receipt: FileReceipt) -> UndoneFile:
    return UndoneFile(
        path=name_text(receipt.path),
        source=name_text(receipt.source) if receipt.source else None,
        action=receipt.action, sha256_before=receipt.sha256_before,
        sha256_after=receipt.sha256_after,
        backup=name_text(receipt.backup) if receipt.backup else None, notes=list(receipt.notes),
    )  # fmt: skip


def _line(file: UndoneFile) -> str:
    text = f"{file.path}: {file.action}"
    if file.source:
        text += f" from {file.source}"
    return text + (f" (backup {file.backup})" if file.backup else "")


def _writes(args: Mapping[str, Any]) -> bool:
    return args.get("dry_run", args.get("dryRun", True)) is False


VERB: Final = Verb(
    tool="diff",
    name="undo",
    summary="Puts every file of one apply back, if none has changed since, or names those that "
    "have.",
    args=UndoArgs,
    result=UndoResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=(
        "E_INVALID_ARG", "E_NOT_FOUND", "E_CHANGED", "E_PROTECTED", "E_EXISTS", "E_WRITE_FAILED",
        "E_TIMEOUT", "E_BUSY",
    ),
    examples=(
        Example(
            about="an id that no apply gave",
            args={"id": "0123456789abcdef"},
            shows="no transaction",
            fails="E_NOT_FOUND",
        ),
    ),
    limits=("the last 100 applies can be undone",),
    writes=_writes,
    positional=("id",),
)  # fmt: skip
