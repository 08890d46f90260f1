"""The workspace's lock, across daemons and processes, with what a crash left put right first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox.changes import Report
from sandbox.limits import LOCK_SECONDS
from sandbox.operations import Operations
from sandbox.recovery import recover_open
from sandbox.root import Root
from sandbox.state import State


@dataclass(frozen=True, slots=True)
class Held:
    """The workspace's lock, held; give it to `commit` and `undo` to write under it."""

    state: State | None
    """None for a shared lock where nothing was ever written."""
    report: Report
    """What recovery did when an exclusive lock was taken."""
    operations: Operations


@contextmanager
def lock(
    root: Root,
    *,
    exclusive: bool,
    seconds: float = LOCK_SECONDS,
    operations: Operations | None = None,
) -> Iterator[Held]:
    """Hold the workspace's lock across daemons and processes; Busy where it is not had in time.

    An exclusive lock makes `.toolbox/` where it is missing and rolls back what a crash left open;
    a shared one changes nothing.
    """
    operations = operations or Operations()
    state = State.make(root, operations) if exclusive else State.find(root)
    if state is None:
        yield Held(None, Report(), operations)
        return
    with state, state.locked(exclusive=exclusive, seconds=seconds):
        report = recover_open(root, state, operations) if exclusive else Report()
        yield Held(state, report, operations)
