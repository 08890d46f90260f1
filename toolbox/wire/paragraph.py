"""Which tags of a paragraph stand in inline code: CommonMark's rule, decided as the text comes.

A run of backticks opens inline code only if a run of the same length closes it within the
paragraph; otherwise it is literal. So a tag behind an open run waits for the one or the other.
Runs inside a tag's own arguments are not runs of the text.
"""

from __future__ import annotations

from collections.abc import Callable

from toolbox.wire.items import Bad, Call, Item, Skipped, is_fragment

_Run = tuple[int, int]
"""A run of backticks: its length as a closer, and as an opener (one less after a backslash)."""


class Paragraph:
    """Items of the paragraph being read, given on once it is known whether they are code."""

    def __init__(self, give: Callable[[Item], None]) -> None:
        self._give = give
        self._events: list[_Run | Item] = []
        self.open = 0
        """The length of the run that is open, 0 for none."""
        self.last_end = -1
        """Where the last run ended."""

    def run(self, size: int, end: int, *, escaped: bool) -> None:
        """A run of backticks; the first of an escaped one is literal outside of code."""
        self.last_end = end
        if self.open:
            if size == self.open:
                self._give_code(self._events[1:])
                self._events = []
                self.open = 0
            else:
                self._events.append((size, size - escaped))
        elif size - escaped:
            self.open = size - escaped
            self._events = [(size, size - escaped)]

    def item(self, item: Item) -> None:
        """A tag was read."""
        if self.open:
            self._events.append(item)
        else:
            self._give(item)

    def end(self) -> None:
        """The paragraph ends: a run still open is literal, and those after it pair anew."""
        events, self._events, self.open = self._events, [], 0
        closer = [0] * len(events)
        nearest: dict[int, int] = {}
        for k in range(len(events) - 1, -1, -1):
            event = events[k]
            if isinstance(event, tuple):
                closer[k] = nearest.get(event[1], 0) if event[1] else 0
                nearest[event[0]] = k
        k = 0
        while k < len(events):
            event = events[k]
            if not isinstance(event, tuple):
                self._give(event)
            elif closer[k]:
                self._give_code(events[k + 1 : closer[k]])
                k = closer[k]
            k += 1

    def _give_code(self, events: list[_Run | Item]) -> None:
        for event in events:
            if isinstance(event, Skipped):
                self._give(event)
            elif isinstance(event, Call | Bad) and not is_fragment(event):
                self._give(Skipped("code"))
