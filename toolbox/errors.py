"""Why a call failed: one class for each stable code, all below `ToolboxError`.

Wording: expected X, got Y; lower case; no blame; the hint names the next call to make.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final


class ToolboxError(Exception):
    """The base of every failed call.

    message: what was asked, what stood in the way, where. hint: the next call, or None.
    at: where, as plain JSON values (path, line, column, offset, or the verb's own record).
    """

    code: ClassVar[str] = "E_INTERNAL"

    def __init__(
        self, message: str, *, hint: str | None = None, at: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at


class InvalidArg(ToolboxError):
    """Raised when arguments do not fit the verb; every problem is told in the one message."""

    code = "E_INVALID_ARG"


class UnknownTool(ToolboxError):
    """Raised when no tool has the name; the hint has the nearest."""

    code = "E_UNKNOWN_TOOL"


class UnknownVerb(ToolboxError):
    """Raised when the tool has no such verb; the hint has the nearest."""

    code = "E_UNKNOWN_VERB"


class BadCall(ToolboxError):
    """Raised when a tag or frame cannot be understood as a call."""

    code = "E_BAD_CALL"


class TooLarge(ToolboxError):
    """Raised when an input is past its limit."""

    code = "E_TOO_LARGE"


class ParseFailed(ToolboxError):
    """Raised when a document is not what it claims to be; `at` has line, column and offset."""

    code = "E_PARSE"


class NoPath(ToolboxError):
    """Raised when a path misses; `at` is {segment, path, type, keys, keys_total}."""

    code = "E_NO_PATH"


class BadPath(ToolboxError):
    """Raised when a path does not follow the grammar; `at` has the offset in the path."""

    code = "E_BAD_PATH"


class BadWhere(ToolboxError):
    """Raised when a filter does not follow the grammar; `at` has the offset in the filter."""

    code = "E_BAD_WHERE"


class BadPattern(ToolboxError):
    """Raised when a regular expression is refused; `at` has the offset in the pattern."""

    code = "E_BAD_PATTERN"


class Changed(ToolboxError):
    """Raised when a file changed since a cursor or hash that the caller gave."""

    code = "E_CHANGED"


class PatchMalformed(ToolboxError):
    """Raised when a patch contradicts itself; `at` has the files and their verdicts."""

    code = "E_PATCH_MALFORMED"


class PatchMismatch(ToolboxError):
    """Raised when a hunk does not fit its file; `at` has the files and their verdicts."""

    code = "E_PATCH_MISMATCH"


class PatchUnsupported(ToolboxError):
    """Raised when a patch is of a kind that is never applied; the message names the kind."""

    code = "E_PATCH_UNSUPPORTED"


class NotARepo(ToolboxError):
    """Raised when the workspace's root is in no usable git repository."""

    code = "E_NOT_A_REPO"


class BadRevision(ToolboxError):
    """Raised when git knows no such revision."""

    code = "E_BAD_REVISION"


class TimedOut(ToolboxError):
    """Raised when a call passed its deadline."""

    code = "E_TIMEOUT"


class Busy(ToolboxError):
    """Raised when the queue is full; the hint says when to try again."""

    code = "E_BUSY"


class Cancelled(ToolboxError):
    """Raised when the caller went away or the daemon stopped before the call ran."""

    code = "E_CANCELLED"


class Internal(ToolboxError):
    """Raised for a fault of the toolbox itself; the message has the id of the log line."""

    code = "E_INTERNAL"


CODES: Final = (
    "E_INVALID_ARG",
    "E_UNKNOWN_TOOL",
    "E_UNKNOWN_VERB",
    "E_BAD_CALL",
    "E_OUTSIDE_WORKSPACE",
    "E_PROTECTED",
    "E_NOT_FOUND",
    "E_NOT_A_FILE",
    "E_TOO_LARGE",
    "E_PARSE",
    "E_NO_PATH",
    "E_BAD_PATH",
    "E_BAD_WHERE",
    "E_BAD_PATTERN",
    "E_CHANGED",
    "E_PATCH_MALFORMED",
    "E_PATCH_MISMATCH",
    "E_PATCH_UNSUPPORTED",
    "E_EXISTS",
    "E_NOT_A_REPO",
    "E_BAD_REVISION",
    "E_WRITE_FAILED",
    "E_TIMEOUT",
    "E_BUSY",
    "E_CANCELLED",
    "E_INTERNAL",
)
"""Every code a reply can carry. E_WRITE_FAILED (a full or read-only disk) is a caller's to mend,
so it is told apart from E_INTERNAL."""
