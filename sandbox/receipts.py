"""What callers are told of a transaction, from its journal."""

from __future__ import annotations

import os

from sandbox.changes import FileReceipt, Report
from sandbox.journal import Done, Journal
from sandbox.root import RelPath


def receipts(journal: Journal) -> tuple[FileReceipt, ...]:
    """What callers are told of each change."""
    return tuple(_receipt(one) for one in journal.done)


def _receipt(one: Done) -> FileReceipt:
    return FileReceipt(
        path=RelPath(os.fsdecode(one.path)),
        action=one.action,
        source=None if one.source is None else RelPath(os.fsdecode(one.source)),
        sha256_before=one.sha256_before,
        sha256_after=one.sha256_after,
        backup=None if one.backup is None else RelPath(os.fsdecode(one.backup)),
        notes=one.notes,
    )


def recovery_notes(report: Report) -> tuple[str, ...]:
    """What recovery did, in words."""
    notes = [
        f"a transaction that a crash had left was rolled back: {id}" for id in report.rolled_back
    ]
    notes += [f"{path} was edited after that crash and is kept as it is" for path in report.kept]
    notes += [f"a journal was ignored: {why}" for why in report.ignored]
    return tuple(notes)
