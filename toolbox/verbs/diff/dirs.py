"""`@diff dirs`: which files differ between two folders of the workspace."""

from __future__ import annotations

import os
from collections import Counter
from typing import Annotated, Final, NamedTuple

from msgspec import Meta

from sandbox.compare import Comparison, Difference, compare_trees
from sandbox.tree import Keep
from toolbox import limits
from toolbox.engines.diff import cursor
from toolbox.engines.diff.globs import selector
from toolbox.engines.diff.lines import show
from toolbox.engines.diff.names import quote
from toolbox.output import number
from toolbox.verb import Answer, Args, Context, Example, Result, Verb

_SIGNS: Final = {"added": "+", "removed": "-", "changed": "~", "kind_changed": "!"}
_SKIPPED_TOLD: Final = 5


class DirsArgs(Args, frozen=True, kw_only=True):
    a: Annotated[str, Meta(description="the first folder, before")]
    b: Annotated[str, Meta(description="the second folder, after")]
    glob: Annotated[
        str | list[str] | None,
        Meta(
            description="gitignore-style patterns of the files to compare: *.go at any depth, "
            "dir/ all below it, ! excludes; the last that matches decides"
        ),
    ] = None
    cursor: Annotated[
        str | None, Meta(description="where a cut answer said that it goes on")
    ] = None


class DirsTotals(Result, frozen=True, kw_only=True):
    added: int
    removed: int
    changed: int
    kind_changed: int
    compared: int
    """Entries looked at, those of one side too."""


class DirsResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    added: list[str]
    removed: list[str]
    changed: list[str]
    kind_changed: list[str]
    """Paths that are a file on one side and a folder, link or other kind on the other."""
    totals: DirsTotals
    """Of the whole comparison, whatever is listed here."""
    equal: bool
    truncated: bool
    cursor: str | None = None
    skipped: list[str] | None = None
    """What could not be read and so was not compared."""


class _Row(NamedTuple):
    mark: str
    path: str
    shown: str


def run(args: DirsArgs, ctx: Context) -> Answer:
    """The differing paths in order, with full counts; contents decide, links by their target."""
    patterns = [args.glob] if isinstance(args.glob, str) else args.glob
    wanted = selector(patterns) if patterns is not None else None
    matched = 0

    def keep(path: str, is_folder: bool) -> bool:
        # A folder is always entered: what is below it may be wanted.
        nonlocal matched
        if is_folder or wanted is None:
            return True
        if wanted(path):
            matched += 1
            return True
        return False

    filtered: Keep | None = None if wanted is None else keep
    comparison = Comparison()
    with ctx.root.open_folder(args.a) as before, ctx.root.open_folder(args.b) as after:
        sides = f"{_line(before.path)} → {_line(after.path)}"
        found = [
            _row(one)
            for one in compare_trees(
                before, after, comparison, keep=filtered, deadline=ctx.deadline
            )
            if one.mark != "kind_changed" or wanted is None or wanted(one.path)
        ]
    skipped = [f"{_line(one.path)}: {one.reason}" for one in comparison.skipped]
    notes = _notes(skipped, comparison.cut, patterns is not None and not matched and not found)
    return _answer(args, sides, found, comparison, skipped, notes)


def _row(one: Difference) -> _Row:
    shown = f"{_SIGNS[one.mark]} {_line(one.path)}"
    if one.mark == "kind_changed":
        shown += f" ({one.before} → {one.after})"
    return _Row(one.mark, show(os.fsencode(one.path)), shown)


def _line(path: str) -> str:
    return show(quote(path).rstrip(b"\t"))


def _notes(skipped: list[str], cut: str | None, unmatched: bool) -> tuple[str, ...]:
    notes = []
    if skipped:
        more = f" and {len(skipped) - _SKIPPED_TOLD} more" if len(skipped) > _SKIPPED_TOLD else ""
        notes.append("not compared: " + "; ".join(skipped[:_SKIPPED_TOLD]) + more)
    if cut:
        notes.append(f"the comparison stopped early: {cut}; compare a folder below")
    if unmatched:
        notes.append("no file of either folder matches the glob")
    return tuple(notes)


def _answer(
    args: DirsArgs,
    sides: str,
    found: list[_Row],
    comparison: Comparison,
    skipped: list[str],
    notes: tuple[str, ...],
) -> Answer:
    counts = Counter(row.mark for row in found)
    totals = DirsTotals(
        added=counts["added"],
        removed=counts["removed"],
        changed=counts["changed"],
        kind_changed=counts["kind_changed"],
        compared=comparison.compared,
    )
    options = (args.glob if isinstance(args.glob, str) else tuple(args.glob or ()),)

    def content() -> bytes:
        return cursor.digest("\n".join(row.shown for row in found).encode())

    start = 0
    if args.cursor is not None:
        (start,) = cursor.read(
            args.cursor, "dirs", content(), options, 1, "what differs between the folders"
        )
    page = found[start : start + limits.DIRS_ENTRIES]

    def following(shown: int) -> str:
        return cursor.write("dirs", content(), options, (start + shown,))

    def result(shown: int) -> DirsResult:
        rows = page[:shown]
        more = start + shown < len(found)
        listed = {mark: [row.path for row in rows if row.mark == mark] for mark in _SIGNS}
        return DirsResult(
            **listed,
            totals=totals,
            equal=not found and not skipped and comparison.cut is None,
            truncated=more or comparison.cut is not None,
            cursor=following(shown) if more else None,
            skipped=skipped[:_SKIPPED_TOLD] or None,
        )

    def head(shown: int) -> str:
        entries = "entry" if totals.compared == 1 else "entries"
        looked = f"{number(totals.compared)} {entries} compared"
        if not found:
            return f"no difference: {sides}, {looked}"
        kinds = f", {number(totals.kind_changed)} of another kind" if totals.kind_changed else ""
        told = (
            f"{number(totals.added)} added, {number(totals.removed)} removed, "
            f"{number(totals.changed)} changed{kinds}: {sides}, {looked}"
        )
        return f"{told}\nfrom entry {number(start + 1)}:" if start else told

    return Answer(
        result=result,
        rows=[row.shown for row in page],
        total=len(found) - start,
        head=head,
        notes=notes,
        noun="entries",
        more=lambda shown: f'for the rest, the same call with "cursor": "{following(shown)}"',
        truncated=comparison.cut is not None,
        negative=bool(found),
    )


VERB = Verb(
    tool="diff",
    name="dirs",
    summary="The files added, removed and changed between two folders.",
    args=DirsArgs,
    result=DirsResult,
    run=run,
    cap_bytes=limits.DIFF_OUTPUT_BYTES,
    errors=(
        "E_NOT_FOUND", "E_NOT_A_FILE", "E_OUTSIDE_WORKSPACE", "E_CHANGED", "E_TIMEOUT",
    ),
    limits=(
        f"{number(limits.DIRS_ENTRIES)} entries listed, with a cursor for the next; the counts are "
        "always of all",
        ".git, node_modules and vendor are skipped",
    ),
    positional=("a", "b"),
    examples=(
        Example(
            about="one file of each fate",
            files={
                "v1/old.txt": "1\n", "v1/kept.txt": "2\n", "v1/edited.txt": "3\n",
                "v2/new.txt": "1\n", "v2/kept.txt": "2\n", "v2/edited.txt": "4\n",
            },
            args={"a": "v1", "b": "v2"},
            shows="~ edited.txt\n+ new.txt\n- old.txt",
        ),
        Example(
            about="only some files, by gitignore-style patterns",
            files={"v1/a.go": "1\n", "v1/a.txt": "1\n", "v2/gen/b.go": "1\n"},
            args={"a": "v1", "b": "v2", "glob": ["*.go", "!gen/"]},
            shows="- a.go",
        ),
    ),
)  # fmt: skip
