"""Why the sandbox refused: one class for each stable code, all below `SandboxError`."""

from __future__ import annotations

from typing import Any, ClassVar


class SandboxError(Exception):
    """The base of every refusal. `str()` of it is the message; no path outside the root is in it.

    message: what was asked, what stood in the way. hint: the next call to make, or None.
    at: where, as plain JSON values (`{"path": "a/b"}`), or None.
    """

    code: ClassVar[str] = "E_INTERNAL"

    def __init__(
        self, message: str, *, hint: str | None = None, at: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at


class InvalidPath(SandboxError):
    """Raised for a path that no file system could hold: empty, a NUL, a component too long."""

    code = "E_INVALID_ARG"


class OutsideWorkspace(SandboxError):
    """Raised when the kernel's resolution of a path would leave the root."""

    code = "E_OUTSIDE_WORKSPACE"


class Protected(SandboxError):
    """Raised on a write to a name that is never written (`.git`, an agent's configuration)."""

    code = "E_PROTECTED"


class NotFound(SandboxError):
    """Raised when a component of a path does not exist."""

    code = "E_NOT_FOUND"


class NotAFile(SandboxError):
    """Raised when what stands at a path is not of the kind asked for (a folder, a FIFO, a loop)."""

    code = "E_NOT_A_FILE"


class TooLarge(SandboxError):
    """Raised when more bytes came than the caller's limit allows, whatever st_size said."""

    code = "E_TOO_LARGE"


class Changed(SandboxError):
    """Raised when a file changed while it was read, or since the caller last saw it."""

    code = "E_CHANGED"


class Exists(SandboxError):
    """Raised when something already stands where a new file should go."""

    code = "E_EXISTS"


class Busy(SandboxError):
    """Raised when a lock or a place in a queue could not be had in time."""

    code = "E_BUSY"


class WriteFailed(SandboxError):
    """Raised when the file system refused a write (full, read-only, I/O error); nothing changed."""

    code = "E_WRITE_FAILED"
