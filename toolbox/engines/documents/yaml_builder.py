"""From YAML events to verbatim JSON text, with the place of each value in the source.

Anchored nodes are ranges of the text made so far, so that an alias costs a copy of its range;
what all aliases copy is bounded, and stopped at the alias that would pass the bound.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from itertools import repeat
from typing import Any, Final

from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from toolbox.engines.documents import yaml_scalars as scalars
from toolbox.engines.documents.yaml_merges import merge_members
from toolbox.engines.documents.yaml_pieces import Pieces, Region, find_too_deep
from toolbox.engines.documents.yaml_refusals import (
    Bounds,
    Differs,
    Refused,
    Spot,
    repeated,
    too_deep,
)  # fmt: skip

ELEMENT: Final = 0
KEY: Final = 1
VALUE: Final = 2
ROOT: Final = 3

EVENTS_A_LOOK: Final = 4096
"""Events between two looks at the deadline: about 10 ms."""

CACHED_CHARACTERS: Final = 24
"""Plain scalars up to this length are resolved once: they repeat, longer ones hardly do."""

_MERGE: Final = "\0<<"
"""What a merge key is known by. No YAML text holds a NUL, so no other key is taken for it; keys
that are no strings are known by a NUL and their text: `1` and `"1"` are two keys."""


_AFTER_NAME: Final = frozenset(("", " ", "\t", "\r", "\n", ",", "[", "]", "{", "}"))
"""What ends an anchor or alias name in YAML 1.2 (7.1: ns-anchor-char)."""


class Builder:
    """Builds one stream, a document at a time."""

    def __init__(
        self, source: str, used: frozenset[str], bounds: Bounds, *, check_names: bool
    ) -> None:
        """`used` holds every name that an alias in the source could have; others are not kept.

        check_names: raise Differs for a name that YAML 1.2 reads otherwise.
        """
        self._check_names = check_names
        self._source = source
        self._used = used
        self._bounds = bounds
        self._made = Pieces()
        self._anchors: dict[str, Region | None] = {}
        self._expanded_nodes = 0
        self._expanded_characters = 0
        self._copied = False
        self._document_piece = 0
        self.documents = 0
        self.templates = False

    def build(
        self, get_event: Callable[[], Any], look: Callable[[], None], wanted: int | None
    ) -> Pieces:
        """The pieces of the wanted document, 1-based, or of all as one array for None.

        Every document of the stream is read and checked. `look` is called now and then. Where
        there is no such document the pieces are empty.
        """
        made = chosen = self._made
        out = made.out
        append, at, starts, ends, lines = self._writers()
        quote, is_string = scalars.quote, scalars.is_string
        key_pieces: dict[str, str] = {}
        string_keys: set[str] = set()
        plain_pieces: dict[str, str] = dict(scalars.CONSTANTS)
        stack: list[tuple[Any, ...]] = []
        keys: dict[str, Any] = {}
        expect, merge_at, first_piece, depth, last_end = ROOT, -1, 0, 0, 0
        if wanted is None:
            append("[")
            at(0), starts(0), ends(len(self._source)), lines(0)
            depth = self._document_piece = 1
        while True:
            look()
            for _ in repeat(None, EVENTS_A_LOOK):
                event = get_event()
                kind = type(event)
                if kind is ScalarEvent:
                    value = event.value
                    if expect == KEY:
                        name = token = value
                        if event.tag is not None or event.anchor is not None:
                            name, token = self._special_key(event)
                        elif not event.style and value not in string_keys:
                            if value == "<<":
                                token = _MERGE
                            elif is_string(value):
                                string_keys.add(value)
                            else:
                                token = "\0" + value
                        if token in keys:
                            raise repeated(name, event.start_mark, keys[token])
                        keys[token] = event.start_mark
                        if token == _MERGE:
                            merge_at = len(out)
                        piece = key_pieces.get(name)
                        if piece is None:
                            piece = key_pieces[name] = f",{quote(name)}:"
                        append(piece if out[-1] != "{" else piece[1:])
                        expect = VALUE
                        continue
                    if expect == ELEMENT and out[-1] != "[":
                        append(",")
                    mark = event.start_mark
                    last_end = event.end_mark.index
                    at(len(out))
                    starts(mark.index)
                    ends(last_end)
                    lines(mark.line)
                    if event.tag is not None or event.anchor is not None:
                        self._add_special(event)
                    elif event.style:
                        append(quote(value))
                    else:
                        piece = plain_pieces.get(value)
                        if piece is None:
                            piece, spelled = scalars.resolve_plain(value)
                            if spelled:
                                made.spelled.append(len(out))
                            elif len(value) <= CACHED_CHARACTERS:
                                plain_pieces[value] = piece
                        append(piece)
                    if expect == VALUE:
                        expect = KEY
                elif kind is MappingStartEvent or kind is SequenceStartEvent:
                    if expect == ELEMENT and out[-1] != "[":
                        append(",")
                    mapping = kind is MappingStartEvent
                    mark = event.start_mark
                    anchor = event.anchor
                    tag = self._find_container_tag(event, mapping)
                    stack.append(
                        (keys, expect, merge_at, first_piece, tag, anchor, mark, len(made.at))
                    )
                    first_piece = len(out)
                    depth += 1 if tag is None else 2
                    if depth > self._bounds.levels:
                        raise too_deep(self._bounds.levels, mark)
                    if anchor is not None:
                        self._check_anchor(event)
                        self._anchors[anchor] = None
                    at(first_piece)
                    starts(mark.index)
                    ends(0)
                    lines(mark.line)
                    if tag is not None:
                        append("{")
                        append(quote(tag) + ":")
                    if mapping:
                        append("{")
                        keys = {}
                        expect, merge_at = KEY, -1
                    else:
                        append("[")
                        expect = ELEMENT
                elif kind is MappingEndEvent or kind is SequenceEndEvent:
                    end = event.end_mark.index
                    if end != event.start_mark.index:  # a block collection ends with its last node
                        last_end = end
                    piece_of_node = first_piece
                    merged, node_keys = merge_at, keys
                    keys, expect, merge_at, first_piece, tag, anchor, mark, entry = stack.pop()
                    if kind is SequenceEndEvent:
                        append("]")
                    else:
                        if merged >= 0:
                            look()
                            brace = piece_of_node + (0 if tag is None else 2)
                            merge_members(
                                made, piece_of_node, brace, merged, entry, node_keys[_MERGE]
                            )
                        append("}")
                    depth -= 1
                    if tag is not None:
                        append("}")
                        depth -= 1
                    made.ends[entry] = last_end
                    if anchor is not None and anchor in self._used:
                        self._anchors[anchor] = made.keep(piece_of_node, entry)
                    if expect == VALUE:
                        expect = KEY
                    elif expect == KEY:
                        self._add_complex_key(keys, piece_of_node, entry, mark, last_end)
                        expect = VALUE
                elif kind is AliasEvent:
                    if expect == ELEMENT and out[-1] != "[":
                        append(",")
                    first, entry = len(out), len(made.at)
                    self._add_alias(event)
                    last_end = event.end_mark.index
                    if expect == VALUE:
                        expect = KEY
                    elif expect == KEY:
                        self._add_complex_key(keys, first, entry, event.start_mark, -1)
                        expect = VALUE
                elif kind is DocumentEndEvent:
                    self._end_document(wanted)
                    if wanted is None:
                        append(",")
                        continue
                    if self.documents == wanted:
                        chosen = made
                    made = self._made = Pieces()
                    out = made.out
                    append, at, starts, ends, lines = self._writers()
                elif kind is StreamEndEvent:
                    if wanted is None:
                        if out[-1] == ",":
                            out.pop()
                        append("]")
                    return chosen if wanted is None or 1 <= wanted <= self.documents else Pieces()

    def _writers(self) -> tuple[Callable[[Any], None], ...]:
        made = self._made
        return (
            made.out.append, made.at.append, made.starts.append, made.ends.append,
            made.lines.append,
        )  # fmt: skip

    def _end_document(self, wanted: int | None) -> None:
        """Check what could only be known at the end, and forget what ends with the document."""
        made = self._made
        if self._copied:
            outer = 0 if wanted else 1
            levels = self._bounds.levels - outer
            deep = find_too_deep(made.out, self._document_piece, levels)
            if deep is not None:
                spot = made.starts[bisect_right(made.at, deep) - 1]
                raise too_deep(self._bounds.levels, Spot(spot))
        self.documents += 1
        self._anchors.clear()
        made.kept.clear()
        self._copied = False
        self._document_piece = len(made.out) + 1 if wanted is None else 0
        if wanted is not None:
            self._expanded_nodes = self._expanded_characters = 0

    def _find_container_tag(self, event: Any, mapping: bool) -> str | None:
        tag = event.tag
        known = scalars.MAPPING_TAGS if mapping else scalars.SEQUENCE_TAGS
        return None if tag is None or tag == "!" or tag in known else scalars.show_tag(tag)

    def _special_key(self, event: Any) -> tuple[str, str]:
        """The name of a key that has a tag or an anchor, and what it is known by."""
        value, tag = event.value, event.tag
        name = value
        if tag is None:
            if not event.style and value == "<<":
                token = _MERGE
            else:
                token = value if event.style or scalars.is_string(value) else "\0" + value
        elif tag == scalars.MERGE_TAG:
            name, token = "<<", _MERGE
        elif tag == "!" or tag in scalars.STRING_TAGS:
            token = value
        elif tag in scalars.SCALAR_TAGS:
            token = "\0" + value
        else:
            name = f"{scalars.show_tag(tag)} {value}".rstrip()
            token = "\0\0" + name
        self._check_anchor(event)
        if event.anchor in self._used:
            aside = Pieces()
            mark = event.start_mark
            aside.at.append(0)
            aside.starts.append(mark.index)
            aside.ends.append(event.end_mark.index)
            aside.lines.append(mark.line)
            self._add_scalar(event, aside)
            self._anchors[event.anchor] = Region(aside, 0, 0)
        return name, token

    def _add_special(self, event: Any) -> None:
        made = self._made
        piece, entry = len(made.out), len(made.at) - 1
        self._add_scalar(event, made)
        self._check_anchor(event)
        if event.anchor is not None and event.anchor in self._used:
            self._anchors[event.anchor] = made.keep(piece, entry)

    def _check_anchor(self, event: Any) -> None:
        if event.anchor is not None and self._check_names:
            name = "&" + event.anchor
            self._check_name(self._source.index(name, event.start_mark.index) + len(name))

    def _check_name(self, end: int) -> None:
        if self._check_names and self._source[end : end + 1] not in _AFTER_NAME:
            raise Differs

    def _add_scalar(self, event: Any, made: Pieces) -> None:
        tag, value = event.tag, event.value
        local = False
        if tag == "!" or (tag is None and event.style):
            found = scalars.quote(value), False
        elif tag in scalars.SCALAR_TAGS:
            fitting = scalars.resolve_tagged(tag, value)
            if fitting is None:
                raise Refused(
                    f"expected a value that fits {scalars.show_tag(tag)}, got {value[:40]!r}",
                    event.start_mark, cause="the tag and the scalar contradict each other",
                )  # fmt: skip
            found = fitting
        else:
            local = tag is not None
            found = (scalars.quote(value), False) if event.style else scalars.resolve_plain(value)
        if local:
            self._copied = True
            made.out += ("{", scalars.quote(scalars.show_tag(tag)) + ":")
        if found[1]:
            made.spelled.append(len(made.out))
        made.out.append(found[0])
        if local:
            made.out.append("}")

    def _add_alias(self, event: Any) -> None:
        name, mark, made = event.anchor, event.start_mark, self._made
        self._check_name(event.end_mark.index)
        region = self._anchors.get(name)
        if region is None:
            if name in self._anchors:
                raise Refused(
                    f"the alias *{name} stands inside the node it names (a cycle)", mark,
                    cause="a value that contains itself has no JSON form",
                )  # fmt: skip
            raise Refused(
                f"the alias *{name} names no anchor before it", mark,
                cause=f"define &{name} above, or quote a text that starts with *",
            )  # fmt: skip
        bounds = self._bounds
        own = len(made.at) - self._expanded_nodes
        self._expanded_nodes += region.nodes
        self._expanded_characters += region.characters
        most = max(bounds.expansion_nodes, bounds.expansion_factor * own)
        if self._expanded_nodes > most or self._expanded_characters > bounds.expansion_characters:
            what, limit = (
                ("nodes", most) if self._expanded_nodes > most
                else ("characters", bounds.expansion_characters)
            )  # fmt: skip
            raise Refused(
                f"aliases expand to more than {limit:,} {what}".replace(",", " "), mark,
                cause="aliases of aliases multiply (a billion laughs): write the values out once",
            )  # fmt: skip
        self._copied = True
        entry = len(made.at)
        made.paste(region)
        made.starts[entry] = mark.index
        made.ends[entry] = event.end_mark.index
        made.lines[entry] = mark.line

    def _add_complex_key(
        self, keys: dict[str, Any], piece: int, entry: int, mark: Any, end: int
    ) -> None:
        """Turn the node just added into a key, named by its source text where that is one line.

        `end` is where the node ends in the source; -1 for an alias, named by what it stands for.
        """
        made, bounds = self._made, self._bounds
        if len(made.at) - entry > bounds.complex_key_nodes:
            raise Refused(f"a key has more than {bounds.complex_key_nodes} nodes", mark)
        spelled = bool(made.spelled) and made.spelled[-1] >= piece
        text = "".join(made.cut(piece, entry).pieces())
        token = "\0\0" + text
        name = self._source[mark.index : end] if end > 0 else ""
        if name.startswith("&"):
            name = name.partition(" ")[2].lstrip()
        if not name or "\n" in name or "\r" in name:
            name = text
        if end < 0 and text[0] == '"':
            name = json.loads(text)
            token = "\0" + name if spelled else name
        elif end < 0 and text[0] not in "{[":
            token = "\0" + text
        if token in keys:
            raise repeated(name, mark, keys[token])
        keys[token] = mark
        if name.startswith("{") and self._source.startswith("{{", mark.index - 1):
            self.templates = True
        key = f",{scalars.quote(name)}:"
        made.out.append(key if made.out[-1] != "{" else key[1:])
