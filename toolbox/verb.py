"""What a verb is: one frozen record from which every door, schema and reference page is derived.

A verb's file declares an argument type (a frozen `msgspec.Struct` whose fields are annotated with
`msgspec.Meta(description=…, ge=…, le=…)`), a result type (another struct; `msgspec.Raw` fields
carry verbatim JSON), a function, and ends with one `Verb(…)` named `VERB`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from toolbox.errors import TimedOut

if TYPE_CHECKING:
    from sandbox.root import Root
    from toolbox.store import DocumentStore


class Args(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every verb's arguments."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every verb's result."""


def _nothing(shown: int) -> str:
    return ""


class Answer(msgspec.Struct, frozen=True):
    """What a verb answers, before `toolbox.output` cuts it to the call's cap.

    The reply's text is `head(n)`, the first n of `rows`, `tail`, then `notes`, a line each; its
    result is `result(n)`. n is as many rows as fit; where that is not all of them the text says
    so and `more(n)` names the call that gets the rest.
    """

    result: Callable[[int], msgspec.Struct | list[Any]]
    """The typed result when the first n rows are shown."""
    rows: Sequence[str] = ()
    """What may be left out: each a line, or a block of lines, without its last newline."""
    head: Callable[[int], str] = _nothing
    """The lines before the rows, when n are shown; empty for none."""
    tail: str = ""
    notes: tuple[str, ...] = ()
    total: int | None = None
    """How many rows there are, where `rows` holds only as many as the cap could ever show."""
    noun: str = "lines"
    """What a row is, in the plural, for «showing 3 of 40 members»."""
    more: Callable[[int], str] = _nothing
    """The call that gets what is left out when n rows are shown."""
    hint: str | None = None
    """The next call worth making even when nothing is cut."""
    oversize: Callable[[int], tuple[str, msgspec.Struct | list[Any]]] | None = None
    """budget in bytes → text and result, where not even one row fits."""
    truncated: bool = False
    """True where the verb itself left something out (a page that a cursor continues)."""
    negative: bool = False
    """True for a verb's own «no» (invalid, differs): the command line exits 1."""
    cached: bool = False
    """True when a kept document answered."""


class Deadline(msgspec.Struct, frozen=True):
    """A moment in monotonic seconds; engine loops look at it every few thousand steps."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def check(self) -> None:
        """Raise TimedOut when the moment has passed."""
        if time.monotonic() > self.at:
            raise TimedOut(
                "the call passed its deadline",
                hint="narrow the question: a deeper path, a smaller file, fewer files",
            )


class Context(Protocol):
    """What a verb may use besides its arguments."""

    @property
    def root(self) -> Root: ...

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def deadline(self) -> Deadline: ...

    @property
    def cap_bytes(self) -> int | None:
        """The output cap of this call in bytes, None for no cap. Cutting is not the verb's work;
        verbs whose page size follows the cap (cursors) may look at it."""
        ...


class Example(msgspec.Struct, frozen=True):
    """A worked example: it runs as a test, prints in the docs, and goes through every door."""

    about: str
    args: Mapping[str, Any]
    shows: str
    """Text that the reply's text (or, when it fails, its message) contains."""
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The workspace the example runs in."""
    fails: str | None = None
    """The error code, where the example shows a failure."""


ArgsT = TypeVar("ArgsT", bound=Args)


def _never(args: Mapping[str, Any]) -> bool:
    return False


class Verb(msgspec.Struct, Generic[ArgsT], frozen=True):
    """One operation of a tool."""

    tool: str
    """`json` or `diff`, without the @."""
    name: str
    summary: str
    """One sentence: what the caller gets."""
    args: type[ArgsT]
    result: Any
    """The result's type: a Struct, or a list of Structs."""
    run: Callable[[ArgsT, Context], Answer]
    cap_bytes: int
    errors: tuple[str, ...]
    examples: tuple[Example, ...]
    limits: tuple[str, ...] = ()
    """Its limits, one sentence each, for the catalogue and the docs."""
    exactly_one: tuple[tuple[str, ...], ...] = ()
    """Groups of argument names of which each call gives exactly one."""
    strict_maximum: bool = False
    """True where a number past its maximum is refused instead of taken as the maximum."""
    writes: Callable[[Mapping[str, Any]], bool] = _never
    """From the raw arguments, whether this call changes the workspace."""
    positional: tuple[str, ...] = ()
    """The argument names that the command line takes by position, in order."""
    own_max_bytes: bool = False
    """True where `max_bytes` is the verb's own argument, not the general output cap."""
