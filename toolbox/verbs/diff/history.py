"""`@diff history`: the last applies and undos, newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final

from msgspec import Meta

from sandbox import history
from sandbox.changes import HistoryEntry
from sandbox.limits import HISTORY_ENTRIES
from toolbox import limits
from toolbox.engines.patch.preview import name_text
from toolbox.verb import Answer, Args, Context, Example, Result, Verb

_NAMES_SHOWN: Final = 5


class HistoryArgs(Args, frozen=True, kw_only=True):
    limit: Annotated[
        int, Meta(ge=1, le=HISTORY_ENTRIES, description="how many entries, newest first")
    ] = 20


class EntryFile(Result, frozen=True, kw_only=True):
    path: str
    source: str | None
    action: str
    sha256_before: str | None
    sha256_after: str | None
    backup: str | None


class Entry(Result, frozen=True, kw_only=True):
    id: str
    time: str
    """When it was written, RFC 3339 in UTC."""
    kind: str
    """apply or undo."""
    files: list[EntryFile]
    undone_by: str | None


class HistoryResult(Result, frozen=True, kw_only=True):
    entries: list[Entry]


def run(args: HistoryArgs, ctx: Context) -> Answer:
    """The last transactions of the workspace; none where nothing was ever written."""
    entries = [_entry(e) for e in history.history(ctx.root, args.limit)]
    noun = "entry" if len(entries) == 1 else "entries"
    head = f"{len(entries)} {noun}, newest first"
    if not entries:
        head = "nothing was applied in this workspace yet"
    newest = next((e for e in entries if e.undone_by is None), None)
    return Answer(
        result=lambda n: HistoryResult(entries=entries[:n]),
        rows=[_line(e) for e in entries],
        head=lambda n: head,
        noun="entries",
        more=lambda n: f'narrow with {{"limit": {max(n, 1)}}}',
        hint=f'@diff undo {{"id": "{newest.id}"}} tells what undoing the newest would do'
        if newest
        else None,
    )


def _entry(entry: HistoryEntry) -> Entry:
    moment = datetime.fromtimestamp(entry.time_ns // 1_000_000_000, UTC)
    return Entry(
        id=entry.id,
        time=moment.isoformat().replace("+00:00", "Z"),
        kind=entry.kind,
        files=[
            EntryFile(
                path=name_text(f.path), source=name_text(f.source) if f.source else None,
                action=f.action, sha256_before=f.sha256_before, sha256_after=f.sha256_after,
                backup=name_text(f.backup) if f.backup else None,
            )
            for f in entry.files
        ],
        undone_by=entry.undone_by,
    )  # fmt: skip


def _line(entry: Entry) -> str:
    names = ", ".join(f"{f.action} {f.path}" for f in entry.files[:_NAMES_SHOWN])
    more = f", … {len(entry.files)} in all" if len(entry.files) > _NAMES_SHOWN else ""
    undone = f" (undone by {entry.undone_by})" if entry.undone_by else ""
    return f"{entry.id}  {entry.time}  {entry.kind}: {names}{more}{undone}"


VERB: Final = Verb(
    tool="diff",
    name="history",
    summary="Lists the last applies and undos of the workspace, newest first, with the ids that "
    "`undo` takes.",
    args=HistoryArgs,
    result=HistoryResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=("E_INVALID_ARG", "E_TIMEOUT"),
    examples=(
        Example(
            about="a workspace in which nothing was applied",
            args={},
            shows="nothing was applied",
            files={"app.py": "x\n"},
        ),
    ),
    limits=(f"the last {HISTORY_ENTRIES} are kept",),
)
