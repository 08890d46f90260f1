"""From a path to an open descriptor that is beneath a folder, twice with the same results.

`Openat2Resolver` asks the kernel; `WalkResolver` opens one component after the other without
following links and edits `..` in the list of components, for where openat2 is missing or refused.
Neither ever gives back a path to be opened again: checked paths can be swapped before they are
opened, which leaked 1 to 4 % of opens under a rename race; descriptors did not leak.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from sandbox.limits import HELD_FOLDERS, LINKS, TRIES
from sandbox.system import (
    RESOLVE_BENEATH,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    RESOLVE_NO_XDEV,
    mount_of,
    open_how,
    openat2,
)

# O_NONBLOCK: a FIFO must not hang; O_NOCTTY: a terminal must not become ours.
READ_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
PATH_FLAGS: Final = os.O_PATH | os.O_CLOEXEC
_STEP_FLAGS: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REFUSED: Final = frozenset({errno.ENOSYS, errno.EPERM})

Way = Literal["dots", "link", "mount"]


class Leaves(OSError):
    """Raised (as EXDEV) when a path would leave the folder.

    way: through `..`, a link, or a mount. at: the components walked so far, the last of them the
    link or mount; never a target.
    """

    def __init__(self, way: Way, at: bytes) -> None:
        super().__init__(errno.EXDEV, os.strerror(errno.EXDEV))
        self.way = way
        self.at = at


@dataclass(slots=True)
class Place:
    """Where a path's last component stands or would stand, every link before it followed.

    folder_fd is an O_PATH descriptor of the folder and belongs to whoever asked. name is one
    component, never a link at the time of the walk, empty for the folder itself. folder is the
    resolved path of the folder, its components joined. exists tells what was seen at the walk.
    through_link is true where the path's own last component was a link.
    """

    folder_fd: int
    folder: bytes
    name: bytes
    exists: bool
    through_link: bool

    @property
    def path(self) -> bytes:
        """The resolved path."""
        return b"/".join(part for part in (self.folder, self.name) if part) or b"."

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.folder_fd)


class Resolver(Protocol):
    """What the root asks for descriptors."""

    @property
    def name(self) -> str: ...

    def open(self, folder_fd: int, path: bytes, flags: int) -> int:
        """A descriptor beneath the folder, links inside followed; OSError otherwise."""
        ...

    def open_child(self, folder_fd: int, name: bytes, flags: int) -> int:
        """A descriptor of one entry of a folder; a link is ELOOP or ENOTDIR, a mount EXDEV."""
        ...


class WalkResolver:
    """One component after the other, no link followed by the kernel, no `..` ever opened."""

    name = "walk"

    def __init__(self, prefixes: tuple[bytes, ...] = (), *, cross_mounts: bool = False) -> None:
        """prefixes: absolute spellings of the folder itself, for absolute links that stay inside;
        without a slash at their end (the empty one for `/`)."""
        self._prefixes = prefixes
        self._cross = cross_mounts

    def open(self, folder_fd: int, path: bytes, flags: int) -> int:
        walk = _Walk(self, folder_fd, flags)
        try:
            return walk.run(path)
        finally:
            walk.close()

    def open_child(self, folder_fd: int, name: bytes, flags: int) -> int:
        fd = os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder_fd)
        try:
            if not self._cross and mount_of(fd) != mount_of(folder_fd):
                raise Leaves("mount", name)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def locate(self, folder_fd: int, path: bytes) -> Place:
        """Where the path's last component stands or would stand; the folders must exist."""
        walk = _Walk(self, folder_fd, PATH_FLAGS)
        try:
            exists = True
            try:
                os.close(walk.run(path))
            except FileNotFoundError:
                if walk.missing is None:
                    raise
                exists = False
            if not exists:
                name = walk.missing or b""
            elif walk.ended_on_folder:
                name = walk.trail[-1] if walk.trail else b""
                if walk.trail:
                    walk.climb()
            else:
                name = walk.last
            return Place(
                folder_fd=os.open(b".", PATH_FLAGS | os.O_DIRECTORY, dir_fd=walk.current()),
                folder=b"/".join(walk.trail),
                name=name,
                exists=exists,
                through_link=walk.last_was_link,
            )
        finally:
            walk.close()

    def inside(self, target: bytes) -> bytes | None:
        """The rest of an absolute target that points back beneath the folder, else None."""
        return beneath(target, self._prefixes)

    @property
    def cross_mounts(self) -> bool:
        return self._cross


def beneath(path: bytes, prefixes: tuple[bytes, ...]) -> bytes | None:
    """What follows the first prefix that the absolute path begins with, compared by component."""
    parts = [part for part in path.split(b"/") if part not in (b"", b".")]
    for prefix in prefixes:
        names = [part for part in prefix.split(b"/") if part]
        if parts[: len(names)] == names:
            rest = b"/".join(parts[len(names) :])
            ends_in_folder = path.endswith((b"/", b"/."))
            return rest + b"/" if rest and ends_in_folder else rest
    return None


class _Walk:
    """The state of one walk."""

    def __init__(self, resolver: WalkResolver, folder_fd: int, flags: int) -> None:
        self._resolver = resolver
        self._start = folder_fd
        self._flags = flags
        self._mount = None if resolver.cross_mounts else mount_of(folder_fd)
        self._held: list[int] = []
        self._links = 0
        self._tries = 0
        self._spliced = (0, b"")  # how many components were pending before the last link, its path
        self._pending: list[bytes] = []  # reversed: the next component is the last item
        self._want_folder = False
        self.trail: list[bytes] = []
        self.last = b""
        self.missing: bytes | None = None
        self.last_was_link = False
        self.ended_on_folder = False

    def close(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def current(self) -> int:
        """The descriptor of the folder reached; walked again where it is no longer held."""
        if not self.trail:
            return self._start
        if not self._held:
            fd, mine = self._start, False
            for depth, name in enumerate(self.trail):
                try:
                    step = os.open(name, _STEP_FLAGS, dir_fd=fd)
                except OSError as exc:
                    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from exc
                finally:
                    if mine:
                        os.close(fd)
                fd, mine = step, len(self.trail) - depth > HELD_FOLDERS
                if not mine:
                    self._held.append(fd)
                self._check_mount(fd, close=mine)
        return self._held[-1]

    def climb(self) -> None:
        """One step up, in the list of components."""
        if not self.trail:
            pending, link = self._spliced
            if link and len(self._pending) >= pending:
                raise Leaves("link", link)
            raise Leaves("dots", b"")
        self.trail.pop()
        if self._held:
            os.close(self._held.pop())

    def _check_mount(self, fd: int, *, close: bool) -> None:
        if self._mount is not None and mount_of(fd) != self._mount:
            if close:
                os.close(fd)
            raise Leaves("mount", b"/".join(self.trail))

    def _splice(self, path: bytes) -> None:
        """Put the path's components before those that are pending."""
        last = not self._pending
        parts = [part for part in path.split(b"/") if part not in (b"", b".")]
        if last and (path.endswith((b"/", b"/.")) or path == b"."):
            self._want_folder = True
        parts.reverse()
        self._pending.extend(parts)

    def run(self, path: bytes) -> int:
        self._splice(path)
        while self._pending:
            name = self._pending.pop()
            if name == b"..":
                self.climb()
                continue
            last = not self._pending
            fd = self._step(name) if not last or self._want_folder else self._finish(name)
            if fd >= 0:
                return fd
        self.ended_on_folder = True
        return os.open(b".", self._flags & ~os.O_NOFOLLOW, dir_fd=self.current())

    def _step(self, name: bytes) -> int:
        """Enter a folder, or splice a link's target; always -1."""
        folder = self.current()
        try:
            fd = os.open(name, _STEP_FLAGS, dir_fd=folder)
        except NotADirectoryError:
            if not self._follow(folder, name):
                raise
            return -1
        except FileNotFoundError:
            if not self._pending:
                self.missing = name
            raise
        self._held.append(fd)
        self.trail.append(name)
        if len(self._held) > HELD_FOLDERS:
            os.close(self._held.pop(0))
        self._check_mount(fd, close=False)
        return -1

    def _finish(self, name: bytes) -> int:
        """Open the last component, or splice a link's target and give -1."""
        folder = self.current()
        try:
            fd = os.open(name, self._flags | os.O_NOFOLLOW, dir_fd=folder)
        except FileNotFoundError:
            self.missing = name
            raise
        except OSError as exc:
            if exc.errno in (errno.ELOOP, errno.ENOTDIR) and self._follow(folder, name):
                return -1
            raise
        try:
            if self._flags & os.O_PATH and stat.S_ISLNK(os.fstat(fd).st_mode):
                if not self._follow(folder, name):
                    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                os.close(fd)
                return -1
            if self._mount is not None and mount_of(fd) != self._mount:
                raise Leaves("mount", b"/".join([*self.trail, name]))
        except BaseException:
            os.close(fd)
            raise
        self.last = name
        return fd

    def _follow(self, folder: int, name: bytes) -> bool:
        """Put the link's target in front; False where it is no link."""
        last = not self._pending
        try:
            target = os.readlink(name, dir_fd=folder)
        except OSError as exc:
            if exc.errno != errno.EINVAL:
                raise
            # Swapped between the open and here: once more, a bounded number of times.
            self._tries += 1
            if self._tries > TRIES:
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
            if self._is_link_or_folder(folder, name):
                self._pending.append(name)
                return True
            return False
        self._links += 1
        if self._links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if last:
            self.last_was_link = True
        self._spliced = (len(self._pending), b"/".join([*self.trail, name]))
        if target.startswith(b"/"):
            rest = self._resolver.inside(target)
            if rest is None:
                raise Leaves("link", self._spliced[1])
            self.close()
            self.trail.clear()
            target = rest or b"."
        self._splice(target)
        return True

    def _is_link_or_folder(self, folder: int, name: bytes) -> bool:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        return stat.S_ISLNK(mode) or stat.S_ISDIR(mode)


class Openat2Resolver:
    """The kernel's own resolution beneath a folder; one call for each open."""

    name = "openat2"

    def __init__(self, prefixes: tuple[bytes, ...] = (), *, cross_mounts: bool = False) -> None:
        self._resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
        if not cross_mounts:
            self._resolve |= RESOLVE_NO_XDEV
        self._hows: dict[int, int] = {}
        self._child_hows: dict[int, int] = {}
        self._walk = WalkResolver(prefixes, cross_mounts=cross_mounts)

    def open(self, folder_fd: int, path: bytes, flags: int) -> int:
        how = self._hows.get(flags)
        if how is None:
            how = self._hows[flags] = open_how(flags, self._resolve)
        fd = openat2(folder_fd, path, how)
        if fd >= 0:
            return fd
        for _ in range(TRIES):
            if fd != -errno.EAGAIN and fd != -errno.EINTR:
                break
            fd = openat2(folder_fd, path, how)
        if fd >= 0:
            return fd
        if fd == -errno.EXDEV or -fd in _REFUSED:
            # Refused for good, or an absolute link that points back inside: the walk decides.
            return self._walk.open(folder_fd, path, flags)
        raise OSError(-fd, os.strerror(-fd))

    def open_child(self, folder_fd: int, name: bytes, flags: int) -> int:
        how = self._child_hows.get(flags)
        if how is None:
            how = self._child_hows[flags] = open_how(flags, self._resolve | RESOLVE_NO_SYMLINKS)
        fd = openat2(folder_fd, name, how)
        if fd >= 0:
            return fd
        for _ in range(TRIES):
            if fd != -errno.EAGAIN and fd != -errno.EINTR:
                break
            fd = openat2(folder_fd, name, how)
        if fd >= 0:
            return fd
        if -fd in _REFUSED:
            return self._walk.open_child(folder_fd, name, flags)
        if fd == -errno.EXDEV:
            raise Leaves("mount", name)
        raise OSError(-fd, os.strerror(-fd))


def openat2_works(folder_fd: int) -> bool:
    """Whether the kernel has openat2 and lets this process use it."""
    how = open_how(PATH_FLAGS | os.O_DIRECTORY, RESOLVE_BENEATH)
    fd = openat2(folder_fd, b".", how)
    if fd < 0:
        return False
    os.close(fd)
    return True
