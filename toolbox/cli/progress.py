"""A line on standard error while something takes long, where a person looks at it."""

from __future__ import annotations

import os
import sys

from toolbox.cli.out import is_terminal

TYPE_CHECKING = False  # typing's own would import typing
if TYPE_CHECKING:
    import threading
    from typing import Final

AFTER_SECONDS: Final = 0.5
"""Nobody is told of what is done sooner."""
EVERY_SECONDS: Final = 0.2


class Progress:
    """What is waited for, and for how long, until the block ends; nothing but on a terminal.

    >>> with Progress("json schema resp.json"): ...
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if is_terminal(2) and os.environ.get("TERM") != "dumb":
            import threading

            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._tell, args=(self._stop,), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join()

    def _tell(self, stop: threading.Event) -> None:
        import time

        started = time.monotonic()
        if stop.wait(AFTER_SECONDS):
            return
        turn = 0
        while True:
            sign = "|/-\\"[turn % 4]
            turn += 1
            sys.stderr.write(f"\r{sign} {self._what}: {time.monotonic() - started:.1f} s\x1b[K")
            sys.stderr.flush()
            if stop.wait(EVERY_SECONDS):
                break
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
