"""Tells workers early that a file in use has changed, so that the next question finds it read.

Correctness never hangs on it: documents are looked up by what the open file itself says. Folders
are watched one by one through held descriptors, so that a folder swapped for a link is not
followed and large trees cost nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from sandbox.root import OpenFolder, Root
    from toolbox.daemon.service import Service
    from toolbox.daemon.telemetry import Log

FOLDERS: Final = 256
"""Folders watched at once; the least recently asked are let go first."""

SETTLE_MS: Final = 100
"""How long changes are gathered before workers hear of them."""


class Watch:
    """Watches the folders of the files that are asked about."""

    def __init__(self, root: Root, service: Service, log: Log) -> None:
        self._root = root
        self._service = service
        self._log = log
        self._folders: OrderedDict[str, OpenFolder] = OrderedDict()
        self._changed = asyncio.Event()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._service.on_route = self.add
        self._task = asyncio.get_running_loop().create_task(self._run())

    def add(self, path: str) -> None:
        """Watch the folder of a file that a call named."""
        folder = path.rpartition("/")[0]
        if folder not in self._folders:
            try:
                self._folders[folder] = self._root.open_folder(folder or ".")
            except (SandboxError, OSError):
                return
            if len(self._folders) > FOLDERS:
                _, held = self._folders.popitem(last=False)
                held.close()
            self._changed.set()
        else:
            self._folders.move_to_end(folder)

    async def _run(self) -> None:
        while not self._stop.is_set():
            await self._changed.wait()
            self._changed.clear()
            if self._stop.is_set() or not self._folders:
                continue
            try:
                await self._watch()
            except OSError as exc:  # out of inotify watches, a folder gone
                self._log("watch_failed", "warning", reason=str(exc))

    async def _watch(self) -> None:
        from watchfiles import awatch

        places = {f"/proc/self/fd/{held.fd}": name for name, held in self._folders.items()}
        async for changes in awatch(
            *places,
            watch_filter=None,
            debounce=SETTLE_MS,
            step=20,
            recursive=False,
            stop_event=self._changed,
            ignore_permission_denied=True,
        ):
            paths = set()
            for _, changed in changes:
                place, _, name = changed.rpartition("/")
                folder = places.get(place)
                if folder is not None and name:
                    paths.add(f"{folder}/{name}" if folder else name)
            if paths:
                self._service.drop(tuple(sorted(paths)))

    async def stop(self) -> None:
        """Let go of every folder."""
        self._stop.set()
        self._changed.set()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for held in self._folders.values():
            held.close()
        self._folders.clear()
