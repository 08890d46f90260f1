"""What a failed open means to the caller: which refusal, in which words, with which next call.

No path outside the workspace is ever in one: a link or mount is named by where it stands.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from sandbox.errors import (
    Busy,
    Changed,
    InvalidPath,
    NotAFile,
    NotFound,
    OutsideWorkspace,
    SandboxError,
)
from sandbox.resolve import Leaves
from sandbox.suggest import missing_component, nearest_names

if TYPE_CHECKING:
    from sandbox.root import Root


def wrong_kind(path: str, kind: str, wanted: str) -> NotAFile:
    hint = None
    if kind == "folder":
        hint = "name a file in it"
    return NotAFile(f"expected a {wanted} at {path}, got a {kind}", hint=hint, at={"path": path})


def refusal(root: Root, exc: OSError, path: str) -> SandboxError:
    """What an OSError from resolving a relative path means to the caller."""
    code = exc.errno
    where = {"path": path}
    if isinstance(exc, Leaves) or code == errno.EXDEV:
        return _outside(exc)
    if code == errno.ENOENT:
        return _not_found(root, path)
    if code == errno.ELOOP:
        return NotAFile(f"{path} runs through a loop of links, or more than 40 of them", at=where)
    if code == errno.ENOTDIR:
        return _not_a_folder(root, path)
    if code in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):
        return NotAFile(f"expected a file at {path}, got a socket or device", at=where)
    if code in (errno.EACCES, errno.EPERM):
        return NotAFile(
            f"{path} may not be opened: permission denied",
            hint="its permissions must allow the user that runs the toolbox to read it",
            at=where,
        )
    if code in (errno.EMFILE, errno.ENFILE):
        return Busy("no file descriptor is free", hint="call again in a moment")
    if code == errno.EAGAIN:
        return Changed(
            f"folders on the way to {path} kept changing while it was opened",
            hint="call again when whatever renames them is done",
            at=where,
        )
    if code in (errno.ENAMETOOLONG, errno.EINVAL):
        return InvalidPath(f"no file system holds such a path: {os.strerror(code)}")
    return SandboxError(f"{path} cannot be opened: {os.strerror(code or 0)}", at=where)


def _not_found(root: Root, path: str) -> SandboxError:
    folder, name, dangling = missing_component(root, path)
    here = "the workspace's root" if folder == "." else folder
    at: dict[str, object] = {"path": path, "missing": name}
    if dangling:
        return NotFound(f"{path} is not there: {name} in {here} is a link to nothing", at=at)
    near = nearest_names(root, folder, name)
    prefix = "" if folder == "." else folder + "/"
    hint = None
    if near:
        at["nearest"] = [prefix + one for one in near]
        hint = "nearest there: " + ", ".join(prefix + one for one in near)
    return NotFound(f"{path} is not there: no {name} in {here}", hint=hint, at=at)


def _not_a_folder(root: Root, path: str) -> NotAFile:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for depth in range(1, len(parts) + 1):
        upto = "/".join(parts[:depth])
        try:
            kind = root.kind(upto)
        except SandboxError:
            break
        if kind is not None and kind != "folder":
            return NotAFile(
                f"{path} asks for a folder at {upto}, which is a {kind}",
                hint=f"name {upto} itself" if kind == "file" else None,
                at={"path": path},
            )
    return NotAFile(f"a component of {path} is no folder", at={"path": path})


def _outside(exc: OSError) -> OutsideWorkspace:
    """The refusal; it names the link or mount, which is inside, and never where it leads."""
    way = exc.way if isinstance(exc, Leaves) else None
    if isinstance(exc, Leaves) and exc.way != "dots":
        inside = os.fsdecode(exc.at)
        if way == "link":
            return OutsideWorkspace(
                f"{inside} is a link that leads outside the workspace", at={"path": inside}
            )
        return OutsideWorkspace(
            f"{inside} is a mount, which counts as outside the workspace",
            hint="mounts below the root can be allowed when the daemon is started",
            at={"path": inside},
        )
    return OutsideWorkspace(
        "the path leads above the workspace's root through `..`",
        hint="give a path relative to the workspace's root",
    )
