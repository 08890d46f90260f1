"""What `@diff apply` tells its engine of the workspace, and tells the transaction to do."""

from __future__ import annotations

import os
import stat

from sandbox import errors as refusals
from sandbox.changes import Change
from sandbox.folders import Folders
from sandbox.protect import Guard
from sandbox.reader import read_open
from sandbox.root import Root, Stamp
from toolbox import limits
from toolbox.engines.patch.outcome import FileVerdict, State
from toolbox.engines.patch.preview import name_text


class PatchFiles:
    """What the engine may ask about the workspace, and the stamps of what was read for it."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.stamps: dict[str, Stamp] = {}
        self._guard: Guard | None = None
        self._folders = Folders(root)

    def named(self, given: str) -> str:
        """The `file` argument as a path relative to the root, `..` resolved as the kernel does."""
        path = self.root.relative(given)
        if given.endswith("/"):
            raise refusals.NotAFile(
                f"{name_text(given)} names a folder; expected a file", at={"path": path}
            )
        if ".." not in path.split("/"):
            return path
        place = self.root.locate(path)
        try:
            return os.fsdecode(place.path)
        finally:
            place.close()

    def close(self) -> None:
        """Give back the folders that were held."""
        self._folders.close()

    def state(self, path: str) -> State:
        """What stands at a path; links, on the way or at its end, are told as such."""
        return self._plain(path) or self._resolved(path)

    def _plain(self, path: str) -> State | None:
        """A file, or nothing, where no link and no file lies on the way; None for all else."""
        folder, _, name = os.fsencode(path).rpartition(b"/")
        try:
            found = os.stat(name, dir_fd=self._folders.fd(folder), follow_symlinks=False)
        except FileNotFoundError:
            return State("missing")
        except (OSError, refusals.SandboxError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        state = self._read(path)
        same = state.identity == (found.st_dev, found.st_ino)
        return state if state.kind == "file" and same else None

    def suggest(self, path: str) -> str:
        """What a path that is missing may have meant, in words; empty for no idea."""
        try:
            self.root.open_file(path).close()
        except refusals.NotFound as exc:
            return exc.hint or ""
        except refusals.SandboxError:
            pass
        return ""

    def _resolved(self, path: str) -> State:
        try:
            place = self.root.locate(path)
        except refusals.NotFound:
            link = self._link(path)
            if link is None:
                return State("missing")
            return State("symlink", detail=f"{name_text(link)} is a symlink")
        except refusals.OutsideWorkspace as exc:
            return State("outside", detail=exc.message)
        except (refusals.NotAFile, refusals.InvalidPath) as exc:
            return State("not-a-file", detail=exc.message)
        try:
            followed = place.through_link or os.fsdecode(place.path) != path
            exists = place.exists
        finally:
            place.close()
        if followed:
            return State("symlink", detail=f"{name_text(self._link(path) or path)} is a symlink")
        return self._read(path) if exists else State("missing")

    def _read(self, path: str) -> State:
        try:
            with self.root.open_file(path) as opened:
                content = read_open(
                    opened, limit_bytes=limits.DIFF_FILE_BYTES, what="file to patch"
                )
        except refusals.NotFound:
            return State("missing")
        except refusals.TooLarge as exc:
            return State("too-large", detail=exc.message)
        except refusals.OutsideWorkspace as exc:
            return State("outside", detail=exc.message)
        except refusals.NotAFile as exc:
            kind = self.root.kind(path)
            return State("folder" if kind == "folder" else "not-a-file", detail=exc.message)
        self.stamps[path] = content.stamp
        return State(
            "file", content.data, bool(content.mode & 0o100),
            identity=(content.stamp.dev, content.stamp.ino),
        )  # fmt: skip

    def _link(self, path: str) -> str | None:
        """The first component of a path that is a link, None where none is."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            upto = "/".join(parts[:depth])
            try:
                place = self.root.locate(upto)
            except refusals.SandboxError:
                return None
            try:
                if place.through_link or os.fsdecode(place.path) != upto:
                    return upto
            finally:
                place.close()
        return None

    def guard(self, path: str) -> str | None:
        """Why a path may never be written, or None."""
        if self._guard is None:
            self._guard = Guard(self.root)
        try:
            self._guard.check(os.fsencode(path), name_text(path))
        except refusals.Protected as exc:
            return exc.message
        return None

    def change(self, file: FileVerdict) -> Change | None:
        """What the transaction is told to do for a file, None where nothing would change."""
        old = file.source or file.path
        stamp = self.stamps.get(old) if file.before is not None else None
        digest = file.sha256_before
        flips = file.executable_before != file.executable_after
        executable = file.executable_after if flips else None
        match file.action:
            case "create":
                return Change("create", file.path, file.after, executable=file.executable_after)
            case "delete":
                return Change("remove", file.path, expect=stamp, expect_sha256=digest)
            case "rename" | "copy":
                data = file.after if file.after != file.before else None
                return Change(file.action, file.path, data, file.source, executable, stamp, digest)
        if file.after == file.before:
            if executable is None:
                return None
            return Change(
                "mode", file.path, executable=executable, expect=stamp, expect_sha256=digest
            )
        return Change("replace", file.path, file.after, None, executable, stamp, digest)
