"""Documents kept between calls: found by what the open file itself says, never by name alone."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec

from sandbox.errors import SandboxError
from sandbox.reader import read_open
from toolbox import limits
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.formats import Doc, Looks, open_document
from toolbox.engines.documents.kept import kept_bytes
from toolbox.engines.query.paths import leading_keys, parse
from toolbox.errors import InvalidArg, TooLarge, ToolboxError

if TYPE_CHECKING:
    from sandbox.root import RelPath, Root, Stamp

TEXTS: Final = 8
"""Inline texts that are kept: a model asks several questions of what it just pasted."""

REREAD_USES: Final = 2
"""Uses from which a changed file is parsed again before it is asked for."""

Key = tuple["Stamp | bytes", str, Doc]


class _Entry(msgspec.Struct):
    document: Document
    path: RelPath | None
    """None for a text."""
    source: bytes | None
    """The bytes themselves while the file was too young for its stamp to tell a later change."""
    bytes: int
    uses: int = 1


class DocumentStore:
    """The documents of one worker, least recently used first out when memory is spent.

    A file's key is its identity, size and change times, from the descriptor that is read. A file
    that changed within a tick of the clock before it was read can change again without a new
    time: it is read once more at its next use, and compared.
    """

    def __init__(
        self,
        root: Root,
        budget_bytes: int = limits.KEPT_DOCUMENT_BYTES,
        *,
        document_bytes: int = limits.DOCUMENT_BYTES,
        texts: int = TEXTS,
    ) -> None:
        self.root = root
        self.budget_bytes = budget_bytes
        self.document_bytes = document_bytes
        self.texts = texts
        self.hit = False
        """Whether the last `open` was answered by a kept document."""
        self._kept: OrderedDict[Key, _Entry] = OrderedDict()

    @property
    def kept_bytes(self) -> int:
        """About how much memory the kept documents take."""
        return sum(entry.bytes for entry in self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)

    def open(
        self,
        *,
        file: str | None = None,
        text: str | None = None,
        doc: Doc = None,
        path: str | None = None,
        deadline: Looks | None = None,
    ) -> Document:
        """The document of a workspace file or of an inline text, of which exactly one is given.

        path: the path asked next, which the pass that opens the document may follow on its way.
        `hit` then tells whether a kept document answered. Raises what the sandbox and the formats
        raise, and TooLarge past the limit.
        """
        self.hit = False
        chain, indexed = leading_keys(parse(path)) if path else ((), False)
        if file is not None:
            return self._open_file(file, doc, chain, indexed, deadline)
        if text is None:
            raise InvalidArg("expected one of `file` and `text`, got neither")
        return self._open_text(text, doc, chain, indexed, deadline)

    def _open_file(
        self,
        file: str,
        doc: Doc,
        chain: tuple[str, ...],
        indexed: bool,
        deadline: Looks | None,
    ) -> Document:
        with self.root.open_file(file) as opened:
            key = (opened.stamp, _ending(opened.path), doc)
            entry = self._kept.get(key)
            if entry is not None and entry.source is None:
                return self._use(key, entry)
            now_ns = time.time_ns()
            content = read_open(opened, limit_bytes=self.document_bytes, what="document")
        settled = content.stamp.settled(now_ns)
        if entry is not None and entry.source == content.data:
            if settled:
                entry.source = None
            return self._use(key, entry)
        self._forget(content.path, doc)
        self._kept.pop(key, None)
        document = open_document(
            content.data, content.path, doc, chain=chain, indexed=indexed, deadline=deadline
        )
        source = None if settled else content.data
        self._keep(key, _Entry(document, content.path, source, kept_bytes(document)))
        return document

    def _open_text(
        self,
        text: str,
        doc: Doc,
        chain: tuple[str, ...],
        indexed: bool,
        deadline: Looks | None,
    ) -> Document:
        try:
            source = text.encode()
        except UnicodeEncodeError as broken:
            raise InvalidArg(
                f"text: expected Unicode, got a lone surrogate at character {broken.start + 1}",
                hint="write the escape into the JSON text itself (\\\\ud83d), or give a file",
            ) from None
        if len(source) > self.document_bytes:
            raise TooLarge(
                f"the text is too large: it has {_count(len(source))} bytes, at most "
                f"{_count(self.document_bytes)} are read",
                hint="split it, or take the part that matters",
                at={"size_bytes": len(source), "limit_bytes": self.document_bytes},
            )
        key = (source, "", doc)
        entry = self._kept.get(key)
        if entry is not None:
            return self._use(key, entry)
        document = open_document(source, None, doc, chain=chain, indexed=indexed, deadline=deadline)
        own = 0 if document.text is source else len(source)
        self._keep(key, _Entry(document, None, None, kept_bytes(document) + own))
        texts = [k for k, e in self._kept.items() if e.path is None]
        for old in texts[: max(len(texts) - self.texts, 0)]:
            del self._kept[old]
        return document

    def drop(self, path: str) -> None:
        """Forget a file that changed; parse it again now where it was in use."""
        try:
            known = self.root.relative(path)
        except SandboxError:
            return
        uses: dict[Doc, int] = {}
        for key, entry in list(self._kept.items()):
            if entry.path == known:
                del self._kept[key]
                uses[key[2]] = max(uses.get(key[2], 0), entry.uses)
        for doc, times in uses.items():
            if times >= REREAD_USES:
                try:
                    self.open(file=known, doc=doc)
                except (SandboxError, ToolboxError):
                    continue  # it went away or broke: its next caller is told

    def _use(self, key: Key, entry: _Entry) -> Document:
        self._kept.move_to_end(key)
        self.hit = True
        entry.uses += 1
        entry.bytes = kept_bytes(entry.document)
        return entry.document

    def _forget(self, path: RelPath, doc: Doc) -> None:
        """Drop older versions of a file."""
        for key, entry in list(self._kept.items()):
            if entry.path == path and key[2] == doc:
                del self._kept[key]

    def _keep(self, key: Key, entry: _Entry) -> None:
        if entry.bytes > self.budget_bytes:
            return
        self._kept[key] = entry
        spent = self.kept_bytes
        while spent > self.budget_bytes:
            spent -= self._kept.popitem(last=False)[1].bytes


def _ending(path: str) -> str:
    return path.rsplit("/", 1)[-1].rpartition(".")[2].lower()


def _count(n: int) -> str:
    return f"{n:,}".replace(",", " ")
