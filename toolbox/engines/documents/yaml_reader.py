"""Open YAML: libyaml's events into verbatim JSON text, ruamel.yaml where libyaml falls short."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final, Literal, Protocol

from yaml import YAMLError
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.error import MarkedYAMLError

from toolbox.engines.documents import surrogates, yaml_reference
from toolbox.engines.documents.collection import paused
from toolbox.engines.documents.diagnose import describe_bad_utf8, name_wide_encoding
from toolbox.engines.documents.document import Document, SourceMap
from toolbox.engines.documents.json_text import BOM_NOTE
from toolbox.engines.documents.kept import SHADOW
from toolbox.engines.documents.positions import BOM, locate, snippet
from toolbox.engines.documents.yaml_builder import Builder
from toolbox.engines.documents.yaml_causes import find_cause
from toolbox.engines.documents.yaml_pieces import Pieces
from toolbox.engines.documents.yaml_refusals import Bounds, Differs, Refused
from toolbox.errors import InvalidArg, ParseFailed
from toolbox.limits import NESTING_LEVELS, YAML_EXPANSION_FACTOR, YAML_EXPANSION_NODES

REFERENCE_BYTES: Final = 256 * 1024
"""Texts up to this size go to the reference parser where libyaml fails: about half a second."""

EXPANSION_CHARACTERS: Final = 64 * 1024 * 1024
"""Text that aliases may copy: beyond three times the largest source it is an attack."""

COMPLEX_KEY_NODES: Final = 2_000
"""Nodes of a container that is a key: a key is printed whole wherever its mapping is listed."""

BOUNDS: Final = Bounds(
    NESTING_LEVELS, YAML_EXPANSION_FACTOR, YAML_EXPANSION_NODES, EXPANSION_CHARACTERS,
    COMPLEX_KEY_NODES,
)  # fmt: skip

DOCUMENTS: Final = "yaml.documents"
"""Key of `Document.kept`: how many documents the stream holds."""

_STOOD_IN_FOR: Final = "\x85\u2028\u2029\ufeff?"
"""Line breaks, a mark that is skipped, and an indicator for libyaml; plain characters in 1.2."""

_ALIAS: Final = re.compile(r"\*([^\s,\[\]{}]+)")
_FLOW_QUESTION: Final = re.compile(r"(?<=[\[{,])(\s*)\?(?=[^\s,\[\]{}:])")
"""Where libyaml takes the ? of a plain scalar in a flow collection for a key's indicator."""

TABS_MENDED: Final = 32
"""Tabs that YAML 1.2 allows and libyaml does not, each worth another read of a small text."""

_VERSION: Final = re.compile(
    r"(?:\A|^\.\.\.[^\n]*\n)(?:#[^\n]*\n|%(?!YAML)[^\n]*\n|[ \t]*\r?\n)*%YAML[ \t]+(1\.\d)(?=\s)",
    re.M,
)
_TABS: Final = re.compile(r"([ \t]+)([^\r\n]*)")
_TAB_REFUSED: Final = re.compile("cannot start any token|tab character that violates")
_COLLECTION: Final = re.compile(r"^[-?:](?:\s|$)|:(?:\s|$)")
_NOT_PRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
)


class Looks(Protocol):
    """A deadline: `check` raises when it has passed."""

    def check(self) -> None: ...


def open_yaml(
    source: bytes,
    doc: int | Literal["*"] | None = None,
    deadline: Looks | None = None,
    *,
    bounds: Bounds = BOUNDS,
    reference_bytes: int = REFERENCE_BYTES,
) -> Document:
    """The document of a YAML stream by the 1.2 core schema, with merge keys, as JSON text.

    doc: which document, from 1; None is the first, with a note where there are more; "*" all of
    them as an array. An empty stream is null. Raises ParseFailed with {line, column, offset,
    cause, snippet} in `at`, and InvalidArg where there is no such document.
    """
    if wide := name_wide_encoding(source):
        raise _fail(source, 0, f"expected UTF-8, got {wide}", "save the text as UTF-8")
    head = len(BOM) if source.startswith(BOM) else 0
    try:
        text = source[head:].decode("utf-8")
    except UnicodeDecodeError as error:
        said, cause = describe_bad_utf8(source, head + error.start, error.reason)
        raise _fail(source, head + error.start, said, cause) from None
    offsets = ByteOffsets(text, head)
    stream = _Stream(text, source, offsets, bounds, deadline)
    wanted = None if doc == "*" else doc or 1
    with paused():
        try:
            made = stream.read(wanted, reference_bytes)
        except Refused as refused:
            place = offsets.find(refused.mark.index)
            raise _fail(source, place, refused.message, refused.cause) from None
        count = stream.builder.documents
        if wanted is not None and wanted > count and (doc is not None or count):
            raise InvalidArg(
                f"doc: the file holds {count} YAML document{'' if count == 1 else 's'}, "
                f"got {wanted}",
                hint=f'give doc from 1 to {count}, or "*" for all' if count else None,
            )
        return stream.finish(made, doc, head)


def _fail(source: bytes, offset: int, said: str, cause: str | None) -> ParseFailed:
    line, column = locate(source, offset)
    return ParseFailed(
        f"not valid YAML at line {line}, column {column}: {said}",
        hint=cause,
        at={
            "line": line, "column": column, "offset": offset, "message": said, "cause": cause,
            "snippet": snippet(source, offset),
        },
    )  # fmt: skip


class ByteOffsets:
    """Byte offsets in the source for indices of characters in its text."""

    _BLOCK: Final = 256

    def __init__(self, text: str, head: int) -> None:
        self._text = text
        self._head = head
        self._ascii = text.isascii()
        self._blocks: array[int] = array("I")
        self._plain: list[bool] = []

    def _measure(self) -> None:
        text, block = self._text, self._BLOCK
        blocks = [text[k : k + block] for k in range(0, len(text) + 1, block)]
        sizes = [len(part.encode()) for part in blocks]
        self._plain = [len(part) == size for part, size in zip(blocks, sizes, strict=True)]
        self._blocks = array("I", accumulate(sizes, initial=0))

    def find(self, index: int) -> int:
        """The byte offset of one character."""
        return self.find_all([index])[0]

    def find_all(self, indices: Sequence[int]) -> array[int]:
        """The byte offsets of characters."""
        head = self._head
        if self._ascii:
            return array("I", [k + head for k in indices] if head else indices)
        if not self._blocks:
            self._measure()
        text, plain, blocks = self._text, self._plain, self._blocks
        return array("I", [
            head + blocks[k >> 8]
            + ((k & 255) if plain[k >> 8] else len(text[k & ~255 : k].encode()))
            for k in indices
        ])  # fmt: skip


class _Stream:
    """One stream on its way from text to pieces."""

    def __init__(
        self, text: str, source: bytes, offsets: ByteOffsets, bounds: Bounds,
        deadline: Looks | None,
    ) -> None:  # fmt: skip
        self._text = text
        self._source = source
        self._offsets = offsets
        self._bounds = bounds
        self._look: Callable[[], None] = deadline.check if deadline else lambda: None
        self._stand_ins: dict[str, str] = {}
        self._referred = False
        self._used = _find_alias_names(text)
        self.builder = Builder(text, self._used, bounds, check_names=False)

    def read(self, wanted: int | None, reference_bytes: int) -> Pieces:
        """The pieces of the wanted document, by libyaml or by the reference."""
        small = len(self._source) <= reference_bytes
        text = self._prepare()
        for _ in range(TABS_MENDED):
            try:
                return self._build(CParser(text).get_event, wanted, check_names=True)
            except Differs:
                if small:
                    return self._read_reference(text, wanted, None)
                break
            except YAMLError as error:
                if not small:
                    raise self._failure(error, None) from None
                mended = _mend_tab(text, error)
                if mended is None:
                    return self._read_reference(text, wanted, error)
                text = mended
        try:
            return self._build(CParser(text).get_event, wanted, check_names=False)
        except YAMLError as error:
            raise self._failure(error, None) from None

    def _build(
        self, get_event: Callable[[], Any], wanted: int | None, *, check_names: bool
    ) -> Pieces:
        self.builder = Builder(self._text, self._used, self._bounds, check_names=check_names)
        return self.builder.build(get_event, self._look, wanted)

    def _read_reference(self, text: str, wanted: int | None, first: YAMLError | None) -> Pieces:
        self._referred = True
        try:
            get_event = yaml_reference.open_reference(text)
            return self._build(get_event, wanted, check_names=False)
        except yaml_reference.FAILURES as error:
            if first is None:
                worded = yaml_reference.word_failure(error)
                if worded is None:
                    raise self._failure(YAMLError("the text is not valid YAML"), None) from None
                raise self._failure(YAMLError(""), worded) from None
            raise self._failure(first, yaml_reference.word_failure(error)) from None

    def _failure(self, error: YAMLError, worded: tuple[str, Any] | None) -> ParseFailed:
        """E_PARSE in the reference's words where it has a place, else in libyaml's."""
        if control := _NOT_PRINTABLE.search(self._text):
            place = self._offsets.find(control.start())
            return _fail(
                self._source, place,
                f"expected printable characters, got U+{ord(control.group()):04X}",
                'control characters stand in double quotes as escapes ("\\x00")',
            )  # fmt: skip
        said, mark = "", None
        if isinstance(error, MarkedYAMLError) and (error.problem_mark or error.context_mark):
            mark = error.problem_mark or error.context_mark
            said = ": ".join(part for part in (error.context, error.problem) if part)
        if worded is not None and (mark is None or worded[1].index >= mark.index):
            # Where the reference stops earlier, it refuses what libyaml rightly takes.
            said, mark = worded
        if mark is None:
            return _fail(self._source, 0, str(error), None)
        place = self._offsets.find(min(mark.index, len(self._text)))
        return _fail(self._source, place, said, find_cause(said, self._source, place))

    def _prepare(self) -> str:
        """The text as libyaml must see it to read YAML 1.2, of the same length.

        Characters that only YAML 1.1 takes for line breaks are stood in for by others that the
        text does not hold (they come back in `finish`), and a version it refuses is written 1.2.
        """
        text = self._text
        if "%YAML" in text:
            text = _VERSION.sub(lambda found: found.group()[:-3] + "1.2", text)
        question = "?" in text and _FLOW_QUESTION.search(text)
        if text.isascii() and not question:
            return text
        lower = ""
        code = 0xE000
        for character in _STOOD_IN_FOR:
            if character not in text or (character == "?" and not question):
                continue
            lower = lower or text.lower()
            while chr(code) in text or f"{code:x}" in lower:
                code += 1
            if character == "?":
                text = _FLOW_QUESTION.sub("\\1" + chr(code), text)
            elif character == "\ufeff":
                text = re.sub("(?<![\r\n])\ufeff", chr(code), text)
            else:
                text = text.replace(character, chr(code))
            self._stand_ins[chr(code)] = character
            code += 1
        return text

    def finish(self, made: Pieces, doc: int | Literal["*"] | None, head: int) -> Document:
        """The document that the pieces make."""
        count = self.builder.documents
        notes = []
        if head:
            notes.append(BOM_NOTE)
        if not count:
            notes.append("the file holds no YAML document")
        elif doc is None and count > 1:
            notes.append(
                f"document 1 of {count}: the file holds {count} YAML documents; "
                'doc: 2 gives the second, doc: "*" all as an array'
            )
        elif count > 1 and doc != "*":
            notes.append(f"document {doc} of {count}")
        elif doc == "*":
            notes.append(f"{count} YAML document{'' if count == 1 else 's'} as one array")
        if self.builder.templates:
            notes.append("a value starts with {{: a template? YAML reads it as a mapping in a key")
        out = made.out if made.out else ["null"]
        if self._stand_ins:
            back = str.maketrans(self._stand_ins)
            out = [piece if piece.isascii() else piece.translate(back) for piece in out]
        text = "".join(out)
        sizes = map(len, out if text.isascii() else [piece.encode() for piece in out])
        at = array("I", accumulate(sizes, initial=0))
        find = at.__getitem__
        places = SourceMap(
            array("I", map(find, made.at)) if made.at else array("I", [0]),
            self._offsets.find_all(made.starts or [0]),
            self._offsets.find_all(made.ends or [0]),
            array("I", [line + 1 for line in made.lines or [0]]),
        )
        encoded = text.encode()
        shadow = surrogates.make_shadow(encoded) if self._referred else None
        document = Document(
            "yaml", encoded, len(self._source), source_map=places,
            spellings=frozenset(map(find, made.spelled)), surrogates=shadow is not None,
            notes=tuple(notes),
        )  # fmt: skip
        document.kept[DOCUMENTS] = count
        if shadow is not None:
            document.kept[SHADOW] = shadow
        return document


def _mend_tab(text: str, error: YAMLError) -> str | None:
    """The text with the tab at which libyaml stopped as a space, where YAML 1.2 allows that tab.

    It does on a blank line, and after an indicator where no collection follows in the line.
    """
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    if mark is None or not _TAB_REFUSED.search(str(error)):
        return None  # in a block scalar the tab would be content
    if text[mark.index : mark.index + 1] != "\t":
        return None
    start = max(text.rfind("\n", 0, mark.index), text.rfind("\r", 0, mark.index)) + 1
    before = text[start : mark.index].rstrip(" \t")
    found = _TABS.match(text, mark.index)
    if found is None or (before and before[-1] not in "-?:") or (not before and found[2]):
        return None
    if found[2] and _COLLECTION.search(found[2]):
        return None
    return text[: mark.index] + " " * len(found[1]) + text[found.end(1) :]


def _find_alias_names(text: str) -> frozenset[str]:
    if "*" not in text:
        return frozenset()
    names = set(_ALIAS.findall(text))
    return frozenset(names | {re.split(r"[^\w-]", name, maxsplit=1)[0] for name in names})
