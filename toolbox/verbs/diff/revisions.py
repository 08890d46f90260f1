"""`@diff revisions`: the files that differ between two revisions of the workspace's repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sandbox.reader import read_file
from toolbox import limits
from toolbox.engines.diff.lines import is_utf8, show
from toolbox.engines.diff.unified import Hunk
from toolbox.engines.revisions import cursor, texts
from toolbox.engines.revisions.changes import LETTERS, Change, Changes, assemble
from toolbox.engines.revisions.spelling import WORKTREE
from toolbox.engines.revisions.trees import SUBMODULE, Difference, Filter, Side, compare, exists
from toolbox.errors import BadRevision, Changed, InvalidArg
from toolbox.output import number
from toolbox.verb import Answer, Args, Context, Example, Result, Verb
from toolbox.verbs.diff.repository import Repository, Resolved
from toolbox.verbs.diff.worktree import FILE_BYTES, Worktree, scan

LIMIT_DEFAULT: Final = 500
PAGE_BYTES_DEFAULT: Final = 32_768


class RevisionsArgs(Args, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: Annotated[
        str,
        Meta(description="the old side: a branch, tag, id of at least 4 digits, HEAD, ~N, ^N"),
    ]
    to: Annotated[
        str, Meta(description="the new side, likewise; :worktree for the files as they are")
    ]
    format: Annotated[
        Literal["names", "stat", "unified"],
        Meta(description="names: path and status; stat: also line counts; unified: also hunks"),
    ] = "names"
    paths: Annotated[
        tuple[str, ...],
        Meta(description="only files at or below these paths; all where empty"),
    ] = ()
    context: Annotated[
        int, Meta(description="common lines around each change", ge=0, le=limits.CONTEXT_MOST)
    ] = limits.CONTEXT_DEFAULT
    limit: Annotated[int, Meta(description="the most files to return", ge=1)] = LIMIT_DEFAULT
    max_bytes: Annotated[
        int,
        Meta(description="the most bytes that the files of a unified page take as JSON", ge=1),
    ] = PAGE_BYTES_DEFAULT
    cursor: Annotated[
        str | None, Meta(description="the previous page's cursor: go on after its last file")
    ] = None


class HunkRecord(Result, frozen=True, kw_only=True):
    """One hunk; starts are 1-based, with a count of 0 the line before."""

    header: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: list[str]
    """Each with its sign; `\\ No newline at end of file` where a side ends so."""


class FileRecord(Result, frozen=True, kw_only=True):
    path: str
    status: Literal["added", "deleted", "modified", "renamed", "type_changed"]
    from_path: str | UnsetType = UNSET
    similarity: int | UnsetType = UNSET
    """Of a rename, in percent."""
    untracked: bool | UnsetType = UNSET
    """True for a file that the working tree has and git does not know yet."""
    path_escaped: bool | UnsetType = UNSET
    """True where a path has bytes that are not UTF-8: they are shown as \\xNN."""
    binary: bool | UnsetType = UNSET
    insertions: int | UnsetType = UNSET
    deletions: int | UnsetType = UNSET
    old_mode: str | UnsetType = UNSET
    new_mode: str | UnsetType = UNSET
    old_id: str | UnsetType = UNSET
    new_id: str | UnsetType = UNSET
    hunks: list[HunkRecord] | UnsetType = UNSET
    hunks_truncated: bool | UnsetType = UNSET
    """True where only the first hunks fit: a lower context, or `get` by other means, for more."""
    hunks_total: int | UnsetType = UNSET
    escaped: bool | UnsetType = UNSET
    """True where lines have bytes that are not UTF-8: they are shown as \\xNN."""
    note: str | UnsetType = UNSET


class RevisionsResult(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    """The id that `from` stands for."""
    to: str
    """The id that `to` stands for, or :worktree."""
    files: list[FileRecord]
    total: int
    """Files that differ, over all pages."""
    truncated: bool
    cursor: str | UnsetType = UNSET
    """Present where more files follow."""


_FILES: Final = msgspec.json.Encoder()

_COUNTED: Final[dict[tuple[bool, tuple[bytes, ...]], texts.Counts | None]] = {}
"""Line counts by the ids compared (None: binary), so that the next page or call has them."""
_COUNTED_MOST: Final = 20_000


def run(args: RevisionsArgs, ctx: Context) -> Answer:
    """One page of the files that differ."""
    paths = [_path(one, ctx) for one in args.paths]
    wanted = Filter([p.encode("utf-8", "surrogateescape") for p in paths if p != "."])
    if "." in paths:
        wanted = Filter()
    asked = (args.from_, args.to, sorted(set(paths)))
    place = cursor.read(args.cursor, asked) if args.cursor is not None else None
    with Repository(ctx.root, ctx.deadline) as repo:
        sides = _sides(args, repo, place)
        notes: list[str] = []
        differences, tree, digest = _differences(repo, sides, wanted, ctx)
        blobs = _Blobs(repo, tree)
        changes = assemble(differences, blobs, ctx.deadline.check)
        fixed = tuple(side.id if isinstance(side, Resolved) else digest for side in sides)
        if place is not None:
            _check_place(place, fixed, changes)
        if changes.note:
            notes.append(changes.note)
        if tree is not None:
            notes.extend(tree.notes)
            if tree.untracked:
                notes.append(f"{len(tree.untracked)} of the files are not tracked by git yet")
        for path in wanted.paths:
            if path not in wanted.met and not _known(repo, sides, path):
                notes.append(f"neither side has {show(path)}")
        start = place.given if place is not None else 0
        page = _Page(args, ctx, blobs, changes.files, tree)
        records, rows = page.fill(start)
    end = start + len(records)
    more = end < len(changes.files)
    result = RevisionsResult(
        from_=_shown_id(sides[0]),
        to=_shown_id(sides[1]),
        files=records,
        total=len(changes.files),
        truncated=more,
        cursor=cursor.write(cursor.Place(fixed[0], fixed[1], end), asked) if more else UNSET,
    )
    return _answer(result, rows, start, tuple(notes))


def _path(given: str, ctx: Context) -> str:
    path = str(ctx.root.relative(given)) if given else "."
    if ".." in path.split("/"):
        raise InvalidArg(
            f"paths: expected paths of the repository, got {given[:80]!r} with `..`",
            hint="give each path relative to the workspace's root, as `names` lists it",
            at={"fields": ["paths"]},
        )
    return path


def _sides(
    args: RevisionsArgs, repo: Repository, place: cursor.Place | None
) -> tuple[Resolved | None, Resolved | None]:
    """Both sides; None for the files as they are. A cursor decides over names that moved."""
    sides: list[Resolved | None] = []
    for argument, text in (("from", args.from_), ("to", args.to)):
        if text == WORKTREE:
            if repo.bare:
                raise BadRevision(
                    f"{argument}: the repository is bare, it has no files beside it",
                    hint="name two revisions",
                    at={"argument": argument, "revision": text},
                )
            sides.append(None)
        elif place is not None:
            ident = place.old if argument == "from" else place.new
            try:
                sides.append(Resolved(ident, repo.tree_of(ident)))
            except BadRevision:
                raise cursor.refusal("this repository lacks what it names") from None
        else:
            sides.append(repo.resolve(text, argument))
    return sides[0], sides[1]


def _differences(
    repo: Repository,
    sides: tuple[Resolved | None, Resolved | None],
    wanted: Filter,
    ctx: Context,
) -> tuple[list[Difference], Worktree | None, bytes]:
    old, new = sides
    if old is not None and new is not None:
        found = compare(old.tree, new.tree, repo.tree_data, wanted, ctx.deadline.check)
        return found, None, b""
    known = old or new
    if known is None:
        return [], None, b"\0" * 20
    tree = scan(repo, known.tree, wanted)
    if old is None:
        return [Difference(d.path, d.new, d.old) for d in tree.differences], tree, tree.digest()
    return tree.differences, tree, tree.digest()


def _check_place(place: cursor.Place, fixed: tuple[bytes, ...], changes: Changes) -> None:
    if (place.old, place.new) != fixed:
        raise Changed(
            "the files of the working tree changed since the cursor was given",
            hint="call @diff revisions again without the cursor",
            at={"fields": ["cursor"]},
        )
    if place.given >= len(changes.files):
        raise cursor.refusal("there is nothing after it")


def _known(repo: Repository, sides: tuple[Resolved | None, Resolved | None], path: bytes) -> bool:
    trees = [side.tree for side in sides if side is not None]
    return any(exists(tree, path, repo.tree_data) for tree in trees) or (
        None in sides and repo.root.exists(path.decode("utf-8", "surrogateescape"))
    )


def _shown_id(side: Resolved | None) -> str:
    return WORKTREE if side is None else side.id.hex()


class _Blobs:
    """Contents of both sides: from the repository, or from the files as they are."""

    def __init__(self, repo: Repository, tree: Worktree | None) -> None:
        self._repo = repo
        self._tree = tree or Worktree()
        self._sizes: dict[bytes, int] = {}

    def size(self, side: Side) -> int:
        if side.mode == SUBMODULE:
            return len(texts.content_of(side, b""))
        if (size := self._tree.sizes.get(side.id)) is not None:
            return size
        size = self._repo.store.size(side.id)
        return size if size is not None else 0

    def data(self, side: Side) -> bytes:
        return bytes(self.content(side) or b"")

    def content(self, side: Side) -> texts.Content | None:
        """The bytes, or a blob that holds them; None where they are too many to look into."""
        if self.size(side) > FILE_BYTES:
            return None
        if side.mode == SUBMODULE:
            return texts.content_of(side, b"")
        if (target := self._tree.links.get(side.id)) is not None:
            return target
        if (path := self._tree.paths.get(side.id)) is not None:
            return read_file(self._repo.root, path, limit_bytes=FILE_BYTES, what="comparison").data
        return self._repo.store.blob(side.id)


@dataclass(slots=True)
class _Page:
    args: RevisionsArgs
    ctx: Context
    blobs: _Blobs
    files: list[Change]
    tree: Worktree | None

    def fill(self, start: int) -> tuple[list[FileRecord], list[str]]:
        """The records of a page and their text, from a place on."""
        records: list[FileRecord] = []
        rows: list[str] = []
        most = self._most_bytes()
        spent = 1  # the opening bracket; each record then comes with a comma or the closing one
        for change in self.files[start : start + self.args.limit]:
            self.ctx.deadline.check()
            if self.args.format == "names":
                record, row = self._record(change), _line(change)
            elif self.args.format == "stat":
                record, row = self._counted(change)
            else:
                record, row = self._unified(change)
                size = len(_FILES.encode(record)) + 1
                if spent + size > most:
                    if records:
                        break
                    record, row = self._cut(change, record, most - spent - 1)
                spent += size
            records.append(record)
            rows.append(row)
        return records, rows

    def _most_bytes(self) -> int:
        asked, cap = self.args.max_bytes, self.ctx.cap_bytes
        # A door that shows less lowers the default page; what a caller asks for stands.
        if asked == PAGE_BYTES_DEFAULT and cap is not None:
            return min(asked, cap)
        return asked

    def _record(self, change: Change, **more: object) -> FileRecord:
        names = [change.path, *([change.from_path] if change.from_path is not None else [])]
        fields: dict[str, object] = {"path": show(change.path), "status": change.status, **more}
        if change.from_path is not None:
            fields["from_path"] = show(change.from_path)
            fields["similarity"] = change.similarity
        if self.tree is not None and change.path in self.tree.untracked:
            fields["untracked"] = True
        if not all(map(is_utf8, names)):
            fields["path_escaped"] = True
        return FileRecord(**fields)  # type: ignore[arg-type]

    def _contents(self, change: Change) -> tuple[texts.Content, texts.Content] | None:
        """Both texts; None for a binary file, also one too large to be looked into."""
        pair: list[texts.Content] = []
        for side in (change.old, change.new):
            content = b"" if side is None else self.blobs.content(side)
            if content is None:
                return None
            pair.append(content)
        return None if texts.either_binary(*pair) else (pair[0], pair[1])

    def _counted(self, change: Change) -> tuple[FileRecord, str]:
        # Ids stand for contents, so what was counted once holds for good.
        ids = tuple(side.id for side in (change.old, change.new) if side is not None)
        key = (change.old is None, ids)
        if key in _COUNTED:
            counts = _COUNTED[key]
        else:
            if len(_COUNTED) >= _COUNTED_MOST:
                _COUNTED.clear()
            counts = _COUNTED[key] = self._count(change)
        if counts is None:
            return self._record(change, binary=True), f"{_line(change)}  binary"
        record = self._record(
            change, binary=False, insertions=counts.insertions, deletions=counts.deletions
        )
        return record, f"{_line(change)}  +{counts.insertions} -{counts.deletions}"

    def _count(self, change: Change) -> texts.Counts | None:
        contents = self._contents(change)
        if contents is None:
            return None
        if change.old is not None and change.new is not None and change.old.id == change.new.id:
            return texts.Counts(0, 0)
        return texts.count_changes(*contents, deadline=self.ctx.deadline)

    def _unified(self, change: Change) -> tuple[FileRecord, str]:
        sides: dict[str, object] = {}
        for word, side in (("old", change.old), ("new", change.new)):
            if side is not None:
                sides[f"{word}_mode"] = f"{side.mode:06o}"
                sides[f"{word}_id"] = side.id.hex()
        contents = self._contents(change)
        if contents is None:
            row = texts.render(texts.Part(change, []), binary=True)
            return self._record(change, binary=True, **sides), _text(row)
        parts, note = self._parts(change, (bytes(contents[0]), bytes(contents[1])))
        hunks = [hunk for part in parts for hunk in part.hunks]
        if note is not None:
            sides["note"] = note
        if not all(is_utf8(hunk.body) for hunk in hunks):
            sides["escaped"] = True
        record = self._record(
            change,
            binary=False,
            insertions=sum(hunk.insertions for hunk in hunks),
            deletions=sum(hunk.deletions for hunk in hunks),
            hunks=[_hunk(hunk) for hunk in hunks],
            **sides,
        )
        return record, _text(b"".join(texts.render(part, binary=False) for part in parts))

    def _parts(
        self, change: Change, contents: tuple[bytes, bytes]
    ) -> tuple[list[texts.Part], str | None]:
        context, deadline = self.args.context, self.ctx.deadline
        if change.status != "type_changed":
            hunks, note = texts.make_hunks(*contents, context, deadline)
            return [texts.Part(change, hunks)], note
        gone = change._replace(status="deleted", new=None)
        come = change._replace(status="added", old=None)
        return [
            texts.Part(gone, texts.make_hunks(contents[0], b"", context, deadline)[0]),
            texts.Part(come, texts.make_hunks(b"", contents[1], context, deadline)[0]),
        ], None

    def _cut(self, change: Change, record: FileRecord, most: int) -> tuple[FileRecord, str]:
        """The one file of a page with as many of its first hunks as fit."""
        hunks = record.hunks if isinstance(record.hunks, list) else []
        bare = msgspec.structs.replace(
            record, hunks=[], hunks_truncated=True, hunks_total=len(hunks)
        )
        room = most - len(_FILES.encode(bare))
        kept: list[HunkRecord] = []
        for hunk in hunks:
            room -= len(_FILES.encode(hunk)) + 1
            if room < -1:  # the first has no comma
                break
            kept.append(hunk)
        if not hunks:
            return record, _line(change)
        cut = msgspec.structs.replace(bare, hunks=kept)
        lines = [line for hunk in kept for line in (hunk.header, *hunk.lines)]
        lines.append(f"… {len(kept)} of {len(hunks)} hunks of {record.path} fit max_bytes")
        return cut, "\n".join([_line(change), *lines])


def _hunk(hunk: Hunk) -> HunkRecord:
    return HunkRecord(
        header=hunk.header.decode(),
        old_start=hunk.a_start,
        old_count=hunk.a_lines,
        new_start=hunk.b_start,
        new_count=hunk.b_lines,
        lines=[show(line) for line in hunk.lines],
    )


def _text(patch: bytes) -> str:
    return show(patch[:-1] if patch.endswith(b"\n") else patch)


def _line(change: Change) -> str:
    moved = f"{show(change.from_path)} -> " if change.from_path is not None else ""
    return f"{LETTERS[change.status]}  {moved}{show(change.path)}"


def _answer(result: RevisionsResult, rows: list[str], start: int, notes: tuple[str, ...]) -> Answer:
    total, shown = result.total, len(rows)
    head = f"{result.from_[:12]}..{result.to[:12]}: "
    if not total:
        head += "no file differs"
    elif shown == total:
        head += f"{number(total)} {'file differs' if total == 1 else 'files differ'}"
    else:
        head += f"files {number(start + 1)} to {number(start + shown)} of {number(total)}"
    hint = None
    if isinstance(result.cursor, str):
        hint = f"for the next files add cursor: {result.cursor!r}"
    return Answer(
        result=lambda n: result,
        rows=rows,
        head=lambda n: head,
        tail=f"… showing {number(shown)} of {number(total)} files; {hint}" if hint else "",
        notes=notes,
        noun="files",
        hint=hint,
        truncated=result.truncated,
        negative=bool(total),
    )


VERB = Verb(
    tool="diff",
    name="revisions",
    summary="The files that differ between two revisions of the git repository, in path order.",
    args=RevisionsArgs,
    result=RevisionsResult,
    run=run,
    cap_bytes=PAGE_BYTES_DEFAULT,
    own_max_bytes=True,
    errors=("E_NOT_A_REPO", "E_BAD_REVISION", "E_INVALID_ARG", "E_CHANGED", "E_TOO_LARGE"),
    limits=(
        "a page holds at most limit files, and in unified at most max_bytes of them",
        f"a blob of more than {FILE_BYTES // (1024 * 1024)} MiB counts as binary",
    ),
    positional=("from", "to"),
    examples=(
        Example(
            about="a workspace that is no repository",
            args={"from": "main~1", "to": "main"},
            shows="there is no .git",
            files={"a.txt": "a\n"},
            fails="E_NOT_A_REPO",
        ),
    ),
)
