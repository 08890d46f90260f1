"""What `files` and `text` share: two texts compared, and the answer cut into pages of hunks.

A page ends after a hunk; a hunk too large for one is cut between lines, a line too large between
characters. The pages' `unified` texts, one after the other, are the whole diff.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from toolbox import limits
from toolbox.engines.diff import cursor
from toolbox.engines.diff.lines import is_utf8, show
from toolbox.engines.diff.names import quote
from toolbox.engines.diff.operations import Operation, numbered, operations
from toolbox.engines.diff.unified import Hunk, UnifiedDiff, unified
from toolbox.errors import InvalidArg
from toolbox.output import encode, number
from toolbox.verb import Answer, Args, Context, Result

BINARY_BYTES: Final = 8_000
"""A NUL among so many first bytes makes a file binary, as git judges it."""

REPEATED_BYTES: Final = 4_096
"""Up to this size a whole diff of inline texts is also given as `diff`, `inserted`, `deleted`."""

TIGHT_BYTES: Final = 1_000
"""Below this cap a part of a diff is told with what it cannot do without."""

Format = Literal["unified", "structured", "both"]


class CompareArgs(Args, frozen=True, kw_only=True):
    """The options of a text comparison."""

    context: Annotated[
        int, Meta(ge=0, le=limits.CONTEXT_MOST, description="common lines around each change")
    ] = limits.CONTEXT_DEFAULT
    ignore_whitespace: Annotated[
        bool,
        Meta(
            description="a run of blanks equals one blank, and none at the ends of a line; the "
            "diff is then for reading, not for applying"
        ),
    ] = False
    ignore_case: Annotated[
        bool, Meta(description="letters equal whatever their case; for reading, not for applying")
    ] = False
    format: Annotated[
        Format,
        Meta(description="unified text, structured (operations with line numbers), or both"),
    ] = "unified"
    cursor: Annotated[
        str | None, Meta(description="where a cut answer said that it goes on")
    ] = None


class Stats(Result, frozen=True, kw_only=True):
    addedLines: int
    removedLines: int
    unchangedLines: int


class Binary(Result, frozen=True, kw_only=True):
    sha256_a: str
    sha256_b: str


class CompareResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    equal: bool
    """Whether there is no difference, under the options given."""
    truncated: bool
    """True when hunks follow; `cursor` gets them."""
    beforeBytes: int
    afterBytes: int
    changes: int
    """Changed lines: insertions and deletions, of the whole diff."""
    insertions: int
    deletions: int
    unified: str | None = None
    """The page's part of the diff; empty where the sides are equal. Absent for `structured`."""
    operations: list[Operation] | None = None
    """The lines of the page's hunks, for `structured` and `both`."""
    cursor: str | None = None
    appliable: bool | None = None
    """Whether `unified` turns the first side into the second byte for byte: false with an ignore
    option, and where bytes that are not UTF-8 are shown as \\xNN. Absent on a part of a diff."""
    binary: Binary | None = None
    """Set where a side is binary; then there is no text."""
    note: str | None = None
    """Set where the edit budget ran out: what stands as one block replacement."""
    stats: Stats | None = None
    diff: str | None = None
    """`unified` again, of inline texts with a short diff; with it come the next two."""
    inserted: list[str] | None = None
    deleted: list[str] | None = None


class Side(NamedTuple):
    """One side of a comparison. name: for readers; label: for the `---` or `+++` line."""

    name: str
    label: str
    data: bytes


def compare(kind: str, a: Side, b: Side, args: CompareArgs, ctx: Context) -> Answer:
    """The answer of the verb `kind` about two texts."""
    if b"\0" in a.data[:BINARY_BYTES] or b"\0" in b.data[:BINARY_BYTES]:
        return _binary(a, b)
    diff = unified(
        a.data,
        b.data,
        a_name=a.label,
        b_name=b.label,
        context=args.context,
        ignore_whitespace=args.ignore_whitespace,
        ignore_case=args.ignore_case,
        deadline=ctx.deadline,
    )
    return _Pages(kind, a, b, args, diff, ctx.cap_bytes).answer()


def _binary(a: Side, b: Side) -> Answer:
    hashes = [sha256(side.data).hexdigest() for side in (a, b)]
    result = CompareResult(
        equal=a.data == b.data, truncated=False, beforeBytes=len(a.data), afterBytes=len(b.data),
        changes=0, insertions=0, deletions=0, unified="",
        binary=Binary(sha256_a=hashes[0], sha256_b=hashes[1]),
    )  # fmt: skip
    if result.equal:
        head = f"identical: {a.name} and {b.name}, binary, {number(len(a.data))} bytes"
        return Answer(result=lambda _: result, head=lambda _: head)
    told = [
        f"{side.name}: {number(len(side.data))} bytes, sha256 {digest}"
        for side, digest in zip((a, b), hashes, strict=True)
    ]
    head = "\n".join(["binary files differ:", *told])
    return Answer(result=lambda _: result, head=lambda _: head, negative=True)


class _Line(NamedTuple):
    """A line as shown, and the operation it stands for."""

    shown: str
    operation: Operation | None = None
    prefix: int = 0
    """Characters before the operation's text."""
    lines: int = 1
    """Lines of the hunk that it stands for: 2 where it takes in the marker after it."""


class _Place(NamedTuple):
    """Where a page begins: hunk, line of it (0 is its header), character of that line."""

    hunk: int
    line: int
    character: int


class _Pages:
    """One page of a diff's hunks, from a place on."""

    def __init__(
        self,
        kind: str,
        a: Side,
        b: Side,
        args: CompareArgs,
        diff: UnifiedDiff,
        cap_bytes: int | None,
    ) -> None:
        self.kind, self.a, self.b, self.args, self.diff = kind, a, b, args, diff
        self.structured = args.format == "structured"
        self.options = (args.context, args.ignore_whitespace, args.ignore_case, args.format)
        self.start = self._started(args.cursor)
        self.rows, self.operations = self._rows(cap_bytes)
        self.left = len(diff.hunks) - self.start.hunk
        self.tight = cap_bytes is not None and cap_bytes < TIGHT_BYTES
        self.cut_at: _Place | None = None

    @cached_property
    def content(self) -> bytes:
        return cursor.digest(self.a.data, self.b.data)

    def _started(self, given: str | None) -> _Place:
        if given is None:
            return _Place(0, 0, 0)
        what = "what is compared" if self.kind == "text" else "a file that is compared"
        place = _Place(*cursor.read(given, self.kind, self.content, self.options, 3, what))
        if place.hunk < len(self.diff.hunks):
            lines = self._lines(_Place(place.hunk, place.line, 0), 1)
            if lines and place.character <= len(lines[0].shown):
                return place
        raise InvalidArg(
            "cursor: expected a place in this diff, got one past its end",
            hint=f"call @diff {self.kind} again without the cursor",
            at={"fields": ["cursor"]},
        )

    def _cursor(self, place: _Place) -> str:
        return cursor.write(self.kind, self.content, self.options, place)

    def _lines(self, at: _Place, least_bytes: int | None) -> list[_Line]:
        """The lines of a hunk from a place on, as many as take so many bytes, or all."""
        hunk = self.diff.hunks[at.hunk]
        lines = [] if at.line else [_Line(show(hunk.header))]
        if at.line or least_bytes is not None:
            # A character is at most 4 bytes, so those already shown leave enough.
            least = len(hunk.body) if least_bytes is None else least_bytes + 4 * at.character
            hunk = hunk.part(max(at.line - 1, 0), least)
        lines += self._body(hunk)
        if at.character and lines:
            lines[0] = _part(lines[0], at.character, None)
        return lines

    def _body(self, hunk: Hunk) -> list[_Line]:
        if self.structured:
            numbers = [(numbered(one), one) for one in operations(hunk)]
            return [
                _Line(text, one, len(text) - len(one.text), 1 + one.noNewline)
                for text, one in numbers
            ]
        texts = show(hunk.body).split("\n")[:-1]
        if self.args.format == "unified":
            return [_Line(text) for text in texts]
        ops = operations(hunk)
        return [_Line(text) if text[0] == "\\" else _Line(text, next(ops), 1) for text in texts]

    def _rows(self, cap_bytes: int | None) -> tuple[list[str], list[list[Operation]]]:
        """A row for each hunk from the place on, as many as the cap could ever show and one.

        A row past the cap is only its beginning: it cannot be shown whole.
        """
        rows: list[str] = []
        ops: list[list[Operation]] = []
        spent = 0
        for k in range(self.start.hunk, len(self.diff.hunks)):
            hunk = self.diff.hunks[k]
            at = self.start if k == self.start.hunk else _Place(k, 0, 0)
            small = cap_bytes is None or len(hunk.body) <= cap_bytes
            if self.args.format == "unified" and at[1:] == (0, 0) and small:
                rows.append(show(hunk.render()[:-1]))
                ops.append([])
            else:
                lines = self._lines(at, None if small else cap_bytes)
                rows.append("\n".join([line.shown for line in lines]))
                ops.append([line.operation for line in lines if line.operation is not None])
            spent += len(rows[-1])
            if cap_bytes is not None and spent > cap_bytes:
                break
        return rows, ops

    # What is told

    def answer(self) -> Answer:
        """The page, ready to be cut."""
        return Answer(
            result=self._result,
            rows=self.rows,
            total=self.left,
            head=self._head,
            tail="\n".join([f"note: {note}" for note in self.notes]),
            noun="hunks",
            more=self._more,
            oversize=self._oversize,
            negative=not self.diff.equal,
        )

    def _first_page(self) -> bool:
        return self.start == (0, 0, 0)

    def _head(self, shown: int) -> str:
        sides = f"{self.a.name} → {self.b.name}"
        diff = self.diff
        if diff.equal:
            if self.a.data == self.b.data:
                size = number(len(self.a.data))
                return f"identical: {self.a.name} and {self.b.name}, {size} bytes"
            return f"no difference with {self._ignored()} ignored: {sides}"
        count = len(diff.hunks)
        if not self._first_page():
            inside = "the rest of " if self.start.line or self.start.character else ""
            return f"from {inside}hunk {self.start.hunk + 1} of {count}: {sides}"
        noun = "hunk" if count == 1 else "hunks"
        told = f"{count} {noun}, +{diff.insertions} -{diff.deletions}: {sides}"
        return told if self.structured else told + "\n" + show(diff.header[:-1])

    def _ignored(self) -> str:
        words = [w for w, on in (("whitespace", self.args.ignore_whitespace),
                                 ("case", self.args.ignore_case)) if on]  # fmt: skip
        return " and ".join(words)

    @cached_property
    def notes(self) -> list[str]:
        """What is to be said of the diff."""
        notes: list[str] = []
        if self.diff.equal:
            return notes
        if self.diff.note:
            notes.append(self.diff.note)
        if self.diff.folded:
            notes.append(f"not appliable: made with {self._ignored()} ignored")
        elif not self._carried:
            notes.append("not appliable as text: bytes that are not UTF-8 are shown as \\xNN")
        return notes

    @cached_property
    def _carried(self) -> bool:
        """Whether text can carry the diff: where both sides are UTF-8, so is every part."""
        return is_utf8(self.diff.header) and (
            (is_utf8(self.a.data) and is_utf8(self.b.data))
            or all(is_utf8(hunk.body) for hunk in self.diff.hunks)
        )

    def _more(self, shown: int) -> str:
        place = self.cut_at or _Place(self.start.hunk + shown, 0, 0)
        return f'for the rest, the same call with "cursor": "{self._cursor(place)}"'

    def _unified(self, body: str) -> str:
        if self._first_page() and not self.diff.equal:
            return show(self.diff.header) + body
        return body

    def _part(self, body: str, ops: list[Operation], next_place: _Place | None) -> CompareResult:
        """The result that shows a part of the diff."""
        diff = self.diff
        whole = next_place is None and self._first_page()
        appliable: bool | None = None
        if not self.structured and not self.tight:
            if diff.folded or not self._carried:
                appliable = False
            elif whole:
                appliable = True
        return CompareResult(
            equal=diff.equal,
            truncated=next_place is not None,
            beforeBytes=len(self.a.data),
            afterBytes=len(self.b.data),
            changes=diff.insertions + diff.deletions,
            insertions=diff.insertions,
            deletions=diff.deletions,
            unified=None if self.structured else self._unified(body),
            operations=None if self.args.format == "unified" else ops,
            cursor=None if next_place is None else self._cursor(next_place),
            appliable=appliable,
            note=diff.note if self._first_page() and not self.tight else None,
        )

    def _result(self, shown: int) -> CompareResult:
        body = "".join([row + "\n" for row in self.rows[:shown]])
        ops = [op for group in self.operations[:shown] for op in group]
        if shown < self.left:
            return self._part(body, ops, _Place(self.start.hunk + shown, 0, 0))
        result = self._part(body, ops, None)
        if self.kind != "text" or not self._first_page() or len(body) > REPEATED_BYTES:
            return result
        lines = [line for hunk in self.diff.hunks for line in hunk.lines]
        return msgspec.structs.replace(
            result,
            stats=Stats(
                addedLines=self.diff.insertions,
                removedLines=self.diff.deletions,
                unchangedLines=self.diff.a_lines - self.diff.deletions,
            ),
            diff=result.unified,
            inserted=[show(line[1:]) for line in lines if line.startswith(b"+")],
            deleted=[show(line[1:]) for line in lines if line.startswith(b"-")],
        )

    def _oversize(self, room_bytes: int) -> tuple[str, CompareResult]:
        """The first part of a hunk that is too large for a page."""
        if not self.diff.hunks:
            return self._head(0), self._part("", [], None)
        lines = self._lines(self.start, room_bytes)

        def page(whole: int, characters: int) -> tuple[str, CompareResult]:
            shown = lines[:whole]
            body = "".join([line.shown + "\n" for line in shown])
            at = self.start.line + sum(line.lines for line in shown)
            place = _Place(self.start.hunk, at, 0)
            if characters:
                part = _part(lines[whole], 0, characters)
                shown, body = [*shown, part], body + part.shown
                before = self.start.character if not whole else 0
                place = place._replace(character=before + characters)
            elif whole == len(lines):
                place = _Place(self.start.hunk + 1, 0, 0)
            ops = [line.operation for line in shown if line.operation is not None]
            self.cut_at = place
            done = place.hunk == len(self.diff.hunks)
            cut = f"… cut in hunk {self.start.hunk + 1} of {len(self.diff.hunks)}; {self._more(0)}"
            told = [body.removesuffix("\n"), *([] if done else [cut])]
            if not self.tight:
                told = [self._head(0), *told, *(f"note: {note}" for note in self.notes)]
            return "\n".join(told), self._part(body, ops, None if done else place)

        def fits(whole: int, characters: int) -> bool:
            text, result = page(whole, characters)
            size = len(text.encode())
            return size <= room_bytes and len(encode(result)) <= room_bytes

        enough = _enough([len(line.shown) for line in lines], room_bytes)
        whole = _most(lambda n: fits(n, 0), enough)
        if whole:
            return page(whole, 0)
        # Not even one line: as much of it as fits, and never nothing.
        most = min(len(lines[0].shown) - 1, room_bytes)
        if most <= 0:
            return page(1, 0)
        return page(0, max(_most(lambda n: fits(0, n), most), 1))


def _part(line: _Line, start: int, end: int | None) -> _Line:
    """Some of a line's characters; its operation then holds the text that is among them."""
    operation = line.operation
    if operation is not None:
        low = max(start - line.prefix, 0)
        high = None if end is None else max(end - line.prefix, 0)
        operation = msgspec.structs.replace(operation, text=operation.text[low:high])
    return _Line(line.shown[start:end], operation, max(line.prefix - start, 0), line.lines)


def _enough(sizes: Sequence[int], room: int) -> int:
    """How many of the first sizes could fit at all."""
    spent = 0
    for n, size in enumerate(sizes):
        spent += size + 1
        if spent > room:
            return n
    return len(sizes)


def _most(fits: Callable[[int], bool], high: int) -> int:
    """The largest number up to `high` that fits, 0 where none does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def shown_name(name: str) -> str:
    """A path as one line of text."""
    return show(quote(name).rstrip(b"\t"))


EXAMPLE_LIMITS: Final[tuple[str, ...]] = (
    f"{limits.DIFF_FILE_BYTES:,} bytes a side; more is E_TOO_LARGE".replace(",", " "),
    "output past the cap ends at a hunk, with a cursor that gets the rest",
    "past 500 000 lines in what differs, blocks may be replaced whole, with a note",
)
