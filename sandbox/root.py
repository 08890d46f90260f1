"""The workspace's root as a held descriptor: the one place that opens workspace files."""

from __future__ import annotations

import os
import stat
import time
from typing import Final, Literal, NamedTuple, NewType

from sandbox.errors import (
    InvalidPath,
    NotAFile,
    NotFound,
    OutsideWorkspace,
    SandboxError,
)
from sandbox.limits import COMPONENT_BYTES, IDENTITY_CHECK_SECONDS, PATH_BYTES
from sandbox.refusals import refusal, wrong_kind
from sandbox.resolve import (
    FOLDER_FLAGS,
    PATH_FLAGS,
    READ_FLAGS,
    Openat2Resolver,
    Place,
    Resolver,
    WalkResolver,
    beneath,
    openat2_works,
)

RelPath = NewType("RelPath", str)
"""A path relative to the root as its caller spelled it, without `.` and empty components; `.` is
the root. Undecodable bytes are surrogate escapes. It names, it is never proof: only the descriptor
that came with it says what was opened."""

Kind = Literal["file", "folder", "link", "fifo", "socket", "device"]
Choice = Literal["auto", "openat2", "walk"]

_KINDS: Final[dict[int, Kind]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_SETTLED_NS: Final = 20_000_000  # a kernel tick is at most 10 ms, and change times are taken at it


class Stamp(NamedTuple):
    """What identifies one version of a file, from its open descriptor; hashable."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, fd: int) -> Stamp:
        return cls.from_stat(os.fstat(fd))

    @classmethod
    def from_stat(cls, found: os.stat_result) -> Stamp:
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def settled(self, now_ns: int) -> bool:
        """Whether a change after now_ns (time.time_ns()) is sure to give another stamp.

        Before Linux 6.13 two changes within one tick of the clock can share a change time.
        """
        return self.ctime_ns + _SETTLED_NS <= now_ns


class OpenFile:
    """A regular file that is open for reading; a context manager that closes it."""

    __slots__ = ("fd", "mode", "path", "stamp")

    def __init__(self, fd: int, path: RelPath, stamp: Stamp, mode: int) -> None:
        self.fd = fd
        self.path = path
        self.stamp = stamp
        self.mode = mode
        """Its permission bits."""

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor; a second time does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class OpenFolder:
    """A folder that is open for listing; a context manager that closes it."""

    __slots__ = ("fd", "path", "resolver")

    def __init__(self, fd: int, path: RelPath, resolver: Resolver) -> None:
        self.fd = fd
        self.path = path
        self.resolver = resolver
        """What opens entries of it, see `Resolver.open_child`."""

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor; a second time does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Root:
    """The workspace: paths go in, descriptors of what is beneath come out.

    The descriptor is opened once. Where the folder is renamed or replaced later, the one that was
    opened goes on serving, and a warning is logged once.
    """

    __slots__ = (
        "_check_at",
        "_check_seconds",
        "_prefixes",
        "_warned",
        "configured",
        "cross_mounts",
        "fd",
        "identity",
        "resolver",
        "walker",
    )

    def __init__(
        self,
        fd: int,
        configured: str,
        prefixes: tuple[bytes, ...],
        resolver: Resolver,
        *,
        cross_mounts: bool,
        check_seconds: float,
    ) -> None:
        self.fd = fd
        self.configured = configured
        """The absolute path it was configured with; for logs and clients' settings only."""
        self.resolver = resolver
        self.cross_mounts = cross_mounts
        self.walker = WalkResolver(prefixes, cross_mounts=cross_mounts)
        found = os.fstat(fd)
        self.identity = (found.st_dev, found.st_ino)
        self._prefixes = prefixes
        self._warned = False
        self._check_seconds = check_seconds
        self._check_at = time.monotonic() + check_seconds

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        resolver: Choice = "auto",
        cross_mounts: bool = False,
        check_seconds: float = IDENTITY_CHECK_SECONDS,
    ) -> Root:
        """The root, its descriptor held.

        resolver: `openat2` insists on the kernel's, `walk` on the component-wise one, `auto`
        takes the kernel's where it works. cross_mounts: whether mounts below the root count as
        inside. check_seconds: how often at most to look whether the folder was replaced.
        """
        configured = os.path.abspath(os.fspath(folder))
        try:
            fd = os.open(configured, PATH_FLAGS | os.O_DIRECTORY)
        except FileNotFoundError:
            raise NotFound("the workspace folder does not exist") from None
        except NotADirectoryError:
            raise NotAFile("the workspace is not a folder") from None
        except OSError as exc:
            raise SandboxError(f"the workspace folder cannot be opened: {exc.strerror}") from None
        try:
            spellings = dict.fromkeys((configured, os.path.realpath(configured)))
            prefixes = tuple(os.fsencode(one).rstrip(b"/") for one in spellings)
            chosen: Resolver
            if resolver == "openat2" or (resolver == "auto" and openat2_works(fd)):
                if not openat2_works(fd):
                    raise SandboxError("this kernel lacks openat2, or it is refused here")
                chosen = Openat2Resolver(prefixes, cross_mounts=cross_mounts)
            else:
                chosen = WalkResolver(prefixes, cross_mounts=cross_mounts)
            return cls(
                fd,
                configured,
                prefixes,
                chosen,
                cross_mounts=cross_mounts,
                check_seconds=check_seconds,
            )
        except BaseException:
            os.close(fd)
            raise

    def close(self) -> None:
        """Give the descriptor back; a second time does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Paths

    def relative(self, given: str) -> RelPath:
        """The path relative to the root, its `..` kept: text cannot know what they mean.

        An absolute path beneath the root, as configured or as resolved, becomes relative.
        """
        self._bytes(given)
        text = given
        if text.startswith("/"):
            text = self._from_absolute(given)
        plain = "/".join(part for part in text.split("/") if part not in ("", "."))
        return RelPath(plain or ".")

    def _from_absolute(self, given: str) -> str:
        rest = beneath(os.fsencode(given), self._prefixes)
        if rest is None:
            raise OutsideWorkspace(
                "the absolute path given is outside the workspace",
                hint="give a path relative to the workspace's root",
            )
        return os.fsdecode(rest) or "."

    def _bytes(self, given: str) -> bytes:
        """The path as the kernel gets it, refused where no file system could hold it."""
        if not given:
            raise InvalidPath(
                "expected a path, got an empty one",
                hint="give a path relative to the workspace's root; `.` is the root itself",
            )
        if "\0" in given:
            raise InvalidPath(
                f"expected a path, got one with a NUL at character {given.index(chr(0))}"
            )
        try:
            raw = os.fsencode(given)
        except UnicodeEncodeError as exc:
            raise InvalidPath(
                f"expected a path, got a lone surrogate at character {exc.start}"
            ) from None
        if len(raw) > PATH_BYTES:
            raise InvalidPath(f"expected a path of at most {PATH_BYTES} bytes, got {len(raw)}")
        if len(raw) > COMPONENT_BYTES:
            longest = max(len(part) for part in raw.split(b"/"))
            if longest > COMPONENT_BYTES:
                raise InvalidPath(
                    f"expected path components of at most {COMPONENT_BYTES} bytes, got {longest}"
                )
        return raw

    def _prepare(self, given: str) -> tuple[bytes, str]:
        """The bytes to resolve (a trailing slash kept: it means a folder) and their text."""
        raw = self._bytes(given)
        if raw[0] == 47:  # a slash
            text = self._from_absolute(given)
            return os.fsencode(text), text
        return raw, given

    # Opening

    def open_file(self, path: str) -> OpenFile:
        """The regular file at a path, open for reading."""
        raw, text = self._prepare(path)
        try:
            fd = self.resolver.open(self.fd, raw, READ_FLAGS)
        except OSError as exc:
            raise self.refusal(exc, text) from None
        try:
            found = os.fstat(fd)
            mode = found.st_mode
            if not stat.S_ISREG(mode):
                raise wrong_kind(text, kind_of(mode), "file")
        except BaseException:
            os.close(fd)
            raise
        if time.monotonic() >= self._check_at:
            self.check_replaced()
        if "/." in text or "//" in text or text[0] == ".":
            text = self.relative(text)
        return OpenFile(fd, RelPath(text), Stamp.from_stat(found), mode & 0o7777)

    def open_folder(self, path: str = ".") -> OpenFolder:
        """The folder at a path, open for listing."""
        raw, text = self._prepare(path)
        try:
            fd = self.resolver.open(self.fd, raw, FOLDER_FLAGS)
        except NotADirectoryError as exc:
            kind = self.kind(text.rstrip("/"))
            if kind is not None and kind != "folder":
                raise NotAFile(
                    f"expected a folder at {text}, got a {kind}",
                    hint="name the folder that holds it",
                    at={"path": text},
                ) from None
            raise self.refusal(exc, text) from None
        except OSError as exc:
            raise self.refusal(exc, text) from None
        if time.monotonic() >= self._check_at:
            self.check_replaced()
        return OpenFolder(fd, self.relative(text), self.resolver)

    def locate(self, path: str) -> Place:
        """Where a path's last component stands or would stand, for writers; see `Place`."""
        raw, text = self._prepare(path)
        try:
            return self.walker.locate(self.fd, raw)
        except OSError as exc:
            raise self.refusal(exc, text) from None

    def kind(self, path: str) -> Kind | None:
        """What stands at a path, links followed; None where nothing does.

        A path that leaves the workspace is refused as everywhere.
        """
        raw, text = self._prepare(path)
        try:
            fd = self.resolver.open(self.fd, raw, PATH_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            raise self.refusal(exc, text) from None
        try:
            return kind_of(os.fstat(fd).st_mode)
        finally:
            os.close(fd)

    def exists(self, path: str) -> bool:
        """Whether anything stands at a path, links followed."""
        return self.kind(path) is not None

    # The root itself

    def check_replaced(self) -> bool:
        """Whether the root's path now leads elsewhere; the first time that is logged."""
        self._check_at = time.monotonic() + self._check_seconds
        try:
            found = os.stat(self.configured)
            replaced = (found.st_dev, found.st_ino) != self.identity
        except OSError:
            replaced = True
        if replaced and not self._warned:
            self._warned = True
            import logging

            logging.getLogger("toolbox.sandbox").warning(
                "the workspace's folder was moved or replaced; the one opened at start serves on"
            )
        return replaced

    def refusal(self, exc: OSError, path: str) -> SandboxError:
        """What an OSError from resolving a relative path means to the caller."""
        return refusal(self, exc, path)


def kind_of(mode: int) -> Kind:
    """The kind from a stat mode."""
    return _KINDS.get(stat.S_IFMT(mode), "device")
