"""What the command line knows of a verb: a row of the table, made from the verb's record."""

from __future__ import annotations

from toolbox.cli.table import ROWS

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    from typing import Any, Final

UNIFIED: Final = frozenset(
    {("diff", "files"), ("diff", "text"), ("diff", "patch"), ("diff", "revisions")}
)
"""Verbs whose text may be a unified diff, which a terminal can show in other ways."""


class Word:
    """One argument. item_kinds: what a list holds."""

    __slots__ = ("choices", "doc", "item_kinds", "kinds", "name", "required")

    def __init__(
        self,
        name: str,
        kinds: tuple[str, ...],
        required: bool,
        choices: tuple[str | int, ...],
        item_kinds: tuple[str, ...],
        doc: str,
    ) -> None:
        self.name, self.kinds, self.required = name, kinds, required
        self.choices, self.item_kinds, self.doc = choices, item_kinds, doc

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        return self.kinds[0] == "boolean"

    @property
    def is_list(self) -> bool:
        return "list" in self.kinds


class Row:
    """One verb."""

    __slots__ = ("exactly_one", "name", "own_max_bytes", "positional", "summary", "tool", "words")

    def __init__(self, tool: str, name: str) -> None:
        given: Any = ROWS[tool][name]
        self.tool, self.name = tool, name
        self.summary: str = given[0]
        self.positional: tuple[str, ...] = given[1]
        self.own_max_bytes: bool = given[2]
        self.exactly_one: tuple[tuple[str, ...], ...] = given[3]
        self.words = {fields[0]: Word(*fields) for fields in given[4]}

    @property
    def writes(self) -> bool:
        """Whether `--write` makes it write."""
        return "dry_run" in self.words

    @property
    def files(self) -> frozenset[str]:
        """The arguments that name files of the workspace."""
        sides = {"a", "b"} if self.tool == "diff" and self.name != "text" else set()
        return frozenset(self.words) & ({"file", "patch_file"} | sides)

    @property
    def shows_unified(self) -> bool:
        return (self.tool, self.name) in UNIFIED


def verbs(tool: str) -> tuple[str, ...]:
    """A tool's verbs, in the order of help."""
    return tuple(ROWS[tool])
