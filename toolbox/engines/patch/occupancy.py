"""What the sections of one patch do to each other: nobody writes a path twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolbox.engines.patch.preview import name_text
from toolbox.engines.patch.records import Fault, Section
from toolbox.engines.patch.targets import Names


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Clashes by section (None for none), and the paths that renames and deletions leave free."""

    clashes: tuple[Fault | None, ...]
    leaving: frozenset[str]
    deleted: frozenset[str]


def check_together(sections: Sequence[Section], resolved: Sequence[Names | Fault]) -> Occupancy:
    """Every section's clash with one before it. All are meant against the files as they were, so
    a path that a rename leaves may be taken, and a swap is two renames."""
    writers: dict[str, int] = {}
    leavers: dict[str, int] = {}
    for k, names in enumerate(resolved):
        if isinstance(names, Names) and names.action == "rename" and names.source:
            leavers.setdefault(names.source, k)
    clashes: list[Fault | None] = []
    for k, (section, names) in enumerate(zip(sections, resolved, strict=True)):
        if isinstance(names, Fault):
            clashes.append(None)
            continue
        clash = None
        path = names.target
        if path in writers:
            clash = _twice(path, sections[writers[path]], section)
        elif names.action in ("edit", "delete") and path in leavers:
            clash = _twice(path, sections[leavers[path]], section)
        elif names.action == "rename" and names.source and leavers[names.source] != k:
            clash = _twice(names.source, sections[leavers[names.source]], section)
        writers.setdefault(path, k)
        clashes.append(clash)
    deleted = {n.target for n in resolved if isinstance(n, Names) and n.action == "delete"}
    return Occupancy(tuple(clashes), frozenset(leavers), frozenset(deleted))


def _twice(path: str, first: Section, second: Section) -> Fault:
    return Fault(
        "malformed", "two-changes",
        f"{name_text(path)} is changed twice, by the sections at patch lines {first.patch_line} "
        f"and "
        f"{second.patch_line}; put its hunks under one header, or apply two patches one after the "
        f"other",
        second.patch_line,
    )  # fmt: skip
