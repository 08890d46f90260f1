"""Markdown as blocks (CommonMark, tables, front matter), and what differs between two lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from toolbox.engines.diff import myers

if TYPE_CHECKING:
    from markdown_it.token import Token

Op = Literal["add", "remove", "replace", "rename"]

_FRONT: Final = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*$(?:\r?\n|\Z)", re.M | re.S)
_STEPS_MOST: Final = 2_000_000
_LIKENESS_CELLS: Final = 10_000
_KINDS: Final = {
    "paragraph_open": "p", "bullet_list_open": "ul", "ordered_list_open": "ol",
    "blockquote_open": "quote", "table_open": "table", "hr": "hr", "html_block": "html",
    "fence": "code", "code_block": "code", "heading_open": "heading",
}  # fmt: skip


class Block(NamedTuple):
    """A block at the top of the document."""

    kind: str
    """heading, p, ul, ol, quote, table, code, hr, html, front, or ref (a link's definition)."""
    text: str
    """What it says, without the marks that only format it."""
    path: str
    """`h2[1]/p[0]`: the nearest heading, and the place among blocks of its kind below it."""
    section: str
    """The headings above, `A > B`."""
    level: int = 0
    ordinal: int = 0
    """Of a heading: 1-based among all headings."""
    language: str = ""
    lines: int = 0
    """Source lines, fences included."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table, the header first."""


@lru_cache(maxsize=1)
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def preload() -> None:
    """Build the parser before a worker is confined."""
    _parser().parse("a\n")


def parse(text: str) -> list[Block]:
    """The blocks of a document, in order; definitions of links come last."""
    builder = _Builder()
    front = _FRONT.match(text)
    if front is not None:
        builder.add("front", front[1].rstrip("\r\n"), lines=front[0].count("\n"))
        text = text[front.end() :]
    environment: dict[str, Any] = {}
    tokens: list[Token] = _parser().parse(text, environment)
    at = 0
    while at < len(tokens):
        end = _end(tokens, at)
        builder.token(tokens[at : end + 1])
        at = end + 1
    for label, found in sorted(environment.get("references", {}).items()):
        title = f' "{found["title"]}"' if found.get("title") else ""
        builder.add("ref", f"[{label.lower()}]: {found['href']}{title}")
    return builder.blocks


def _end(tokens: Sequence[Token], at: int) -> int:
    """The place of the token that closes the one at this place."""
    if tokens[at].nesting != 1:
        return at
    depth = 0
    for k in range(at, len(tokens)):
        depth += tokens[k].nesting
        if depth == 0:
            return k
    return len(tokens) - 1


class _Builder:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._levels: Counter[int] = Counter()
        self._headings = 0
        self._section: list[tuple[int, str]] = []
        self._base = ""
        self._below: Counter[str] = Counter()

    def add(self, kind: str, text: str, **more: Any) -> None:
        place = self._below[kind]
        self._below[kind] += 1
        path = f"{self._base}{kind}[{place}]"
        self.blocks.append(Block(kind, text, path, self._where(), **more))

    def _where(self) -> str:
        return " > ".join(name for _, name in self._section)

    def token(self, tokens: Sequence[Token]) -> None:
        first = tokens[0]
        kind = _KINDS.get(first.type, "html")
        lines = first.map[1] - first.map[0] if first.map else 0
        if kind == "heading":
            self._heading(int(first.tag[1:]), tokens[1].content, lines)
        elif kind == "code":
            info = first.info.strip()
            language = info.split(maxsplit=1)[0] if info else ""
            self.add("code", first.content, language=language, lines=lines)
        elif kind == "table":
            rows = _rows(tokens)
            text = "\n".join(" | ".join(row) for row in rows)
            self.add("table", text, lines=lines, rows=rows)
        elif kind in ("hr", "html"):
            self.add(kind, first.content.rstrip("\n"), lines=lines)
        else:
            self.add(kind, "\n".join(_flatten(tokens)), lines=lines)

    def _heading(self, level: int, text: str, lines: int) -> None:
        self._headings += 1
        while self._section and self._section[-1][0] >= level:
            self._section.pop()
        section = self._where()
        path = f"h{level}[{self._levels[level]}]"
        self._levels[level] += 1
        self.blocks.append(
            Block("heading", text, path, section, level, self._headings, lines=lines)
        )
        self._section.append((level, text))
        self._base = path + "/"
        self._below.clear()


def _rows(tokens: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token.content)
    return tuple(map(tuple, rows))


def _flatten(tokens: Sequence[Token]) -> list[str]:
    """Nested blocks as lines: list items with the same mark whatever the source has."""
    lines: list[str] = []
    marks: list[str] = []
    numbers: list[int] = []  # the next number of each open list, -1 for bullets
    first: str | None = None  # what the next line begins with: an item's own mark
    heading = ""
    cells: list[str] | None = None

    def add(line: str) -> None:
        nonlocal first
        lead = first if first is not None else "".join(marks)
        lines.append(lead + line if line else lead.rstrip())
        first = None

    for token in tokens:
        kind = token.type
        if kind == "bullet_list_open":
            numbers.append(-1)
        elif kind == "ordered_list_open":
            start = token.attrGet("start")
            numbers.append(1 if start is None else int(start))
        elif kind in ("bullet_list_close", "ordered_list_close"):
            numbers.pop()
        elif kind == "list_item_open":
            mark = "- "
            if numbers[-1] >= 0:
                mark = f"{numbers[-1]}. "
                numbers[-1] += 1
            first = (first if first is not None else "".join(marks)) + mark
            marks.append(" " * len(mark))
        elif kind == "list_item_close":
            if first is not None:  # an empty item
                add("")
            marks.pop()
        elif kind == "blockquote_open":
            if first is not None:
                first += "> "
            marks.append("> ")
        elif kind == "blockquote_close":
            marks.pop()
        elif kind == "heading_open":
            heading = "#" * int(token.tag[1:]) + " "
        elif kind == "tr_open":
            cells = []
        elif kind == "tr_close":
            add("| " + " | ".join(cells or ()) + " |")
            cells = None
        elif kind == "inline" and cells is not None:
            cells.append(token.content)
        elif kind in ("fence", "code_block"):
            for line in (f"```{token.info.strip()}", *_lines(token), "```"):
                add(line)
        elif kind in ("inline", "html_block"):
            for line in _lines(token):
                add(heading + line)
                heading = ""
        elif kind == "hr":
            add("---")
    return lines


def _lines(token: Token) -> list[str]:
    return token.content.removesuffix("\n").split("\n")


class RowChange(NamedTuple):
    """A row of a table: its 1-based number below the header, and its cells that differ."""

    op: Literal["add", "remove", "replace"]
    row: int
    cells: list[tuple[str, str | None, str | None]]
    """Column, before, after."""


class Change(NamedTuple):
    """A block that was added, removed, changed, or a heading that was renamed."""

    op: Op
    before: Block | None
    after: Block | None
    rows: list[RowChange]

    @property
    def block(self) -> Block:
        found = self.before or self.after
        assert found is not None
        return found


@dataclass(slots=True)
class Difference:
    """Changes by what they are of, in the order of the documents."""

    headings: list[Change] = field(default_factory=list)
    blocks: list[Change] = field(default_factory=list)
    code: list[Change] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.headings) + len(self.blocks) + len(self.code)


def compare(
    before: Sequence[Block],
    after: Sequence[Block],
    *,
    ignore_whitespace: bool = False,
    ignore_case: bool = False,
    deadline: myers.HasCheck | None = None,
) -> Difference:
    """What differs: equal blocks are kept in order, others of one kind are paired between them."""

    def fold(text: str) -> str:
        if ignore_whitespace:
            text = " ".join(text.split())
        return text.casefold() if ignore_case else text

    def key(block: Block) -> tuple[str, int, str, str]:
        return block.kind, block.level, fold(block.text), block.language

    script = myers.compare(
        [key(b) for b in before], [key(b) for b in after], budget=_STEPS_MOST, deadline=deadline
    )
    found = Difference()
    olds: Sequence[Block] = ()
    for op, i1, i2, j1, j2 in script.edits:
        if op == "delete":
            olds = before[i1:i2]
            continue
        _stretch(found, olds, after[j1:j2] if op == "insert" else (), fold)
        olds = ()
    _stretch(found, olds, (), fold)
    return found


def _stretch(
    found: Difference, olds: Sequence[Block], news: Sequence[Block], fold: Callable[[str], str]
) -> None:
    """The changes of a stretch that has nothing in common."""
    pairs = dict(_pairs(olds, news))
    taken = set(pairs.values())
    j = 0
    for i, old in enumerate(olds):
        if i not in pairs:
            _note(found, Change("remove", old, None, []))
            continue
        while j < pairs[i]:
            if j not in taken:
                _note(found, Change("add", None, news[j], []))
            j += 1
        new = news[pairs[i]]
        j = pairs[i] + 1
        rename = old.kind == "heading" and old.level == new.level
        rows = _table(old, new, fold) if old.kind == "table" else []
        _note(found, Change("rename" if rename else "replace", old, new, rows))
    for k in range(j, len(news)):
        if k not in taken:
            _note(found, Change("add", None, news[k], []))


def _note(found: Difference, change: Change) -> None:
    kind = change.block.kind
    if kind == "heading":
        found.headings.append(change)
    elif kind == "code":
        found.code.append(change)
    else:
        found.blocks.append(change)


def _pairs(olds: Sequence[Block], news: Sequence[Block]) -> list[tuple[int, int]]:
    """Blocks of one kind that belong together, in order, the most alike."""
    n, m = len(olds), len(news)
    if not n or not m:
        return []
    if n * m > _LIKENESS_CELLS:
        pairs = []
        j = 0
        for i, old in enumerate(olds):
            k = next((k for k in range(j, min(m, j + 50)) if news[k].kind == old.kind), None)
            if k is not None:
                pairs.append((i, k))
                j = k + 1
        return pairs
    words = [[Counter(block.text.split()) for block in side] for side in (olds, news)]
    alike = [[_likeness(old, new, words[0][i], words[1][j]) for j, new in enumerate(news)]
             for i, old in enumerate(olds)]  # fmt: skip
    best = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            here = best[i + 1][j + 1] + alike[i][j] if alike[i][j] else 0.0
            best[i][j] = max(here, best[i + 1][j], best[i][j + 1])
    pairs = []
    i = j = 0
    while i < n and j < m:
        if alike[i][j] and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: Block, new: Block, a: Counter[str], b: Counter[str]) -> float:
    lists = {old.kind, new.kind} == {"ul", "ol"}
    if old.kind != new.kind and not lists:
        return 0.0
    common = sum((a & b).values())
    most = max(sum(a.values()), sum(b.values()), 1)
    ratio = common / most
    if old.kind == "heading" and old.level != new.level:
        return ratio if ratio > 0.5 else 0.0
    if old.kind == "code" and old.language == new.language:
        ratio += 0.2
    return 0.3 + ratio


def _table(old: Block, new: Block, fold: Callable[[str], str]) -> list[RowChange]:
    """The rows that differ; with another header the table is compared as a whole."""
    if not old.rows or not new.rows or old.rows[0] != new.rows[0]:
        return []
    header = old.rows[0]
    left, right = old.rows[1:], new.rows[1:]
    script = myers.edit_script(
        [tuple(map(fold, row)) for row in left], [tuple(map(fold, row)) for row in right]
    )
    found: list[RowChange] = []
    waiting: list[int] = []

    def empty(row: int) -> None:
        cells = [(name, cell, None) for name, cell in zip(header, left[row], strict=False)]
        found.append(RowChange("remove", row + 1, list(cells)))

    for op, i1, i2, j1, j2 in script:
        if op == "delete":
            waiting = list(range(i1, i2))
            continue
        if op == "insert":
            for j in range(j1, j2):
                if waiting:
                    i = waiting.pop(0)
                    cells = [
                        (name, a, b)
                        for name, a, b in zip(header, left[i], right[j], strict=False)
                        if fold(a) != fold(b)
                    ]
                    found.append(RowChange("replace", i + 1, list(cells)))
                else:
                    added = [
                        (name, None, cell) for name, cell in zip(header, right[j], strict=False)
                    ]
                    found.append(RowChange("add", j + 1, list(added)))
        for i in waiting:
            empty(i)
        waiting = []
    for i in waiting:
        empty(i)
    return found
