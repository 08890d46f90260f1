"""What a missed path most likely meant: the first missing component and its nearest neighbours."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Final

from sandbox.limits import SUGGESTION_ENTRIES, SUGGESTIONS
from sandbox.resolve import FOLDER_FLAGS, PATH_FLAGS

if TYPE_CHECKING:
    from sandbox.root import Root

_SIMILARITY: Final = 0.6  # difflib's own default: below it the eye sees no likeness


def missing_component(root: Root, path: str) -> tuple[str, str, bool]:
    """The deepest folder that exists on a path, the component missing in it, and whether that
    component is a link to nothing."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    folder = "."
    for depth, name in enumerate(parts):
        upto = "/".join(parts[: depth + 1])
        try:
            os.close(root.resolver.open(root.fd, os.fsencode(upto), PATH_FLAGS))
        except OSError:
            return folder, name, _is_entry(root, folder, name)
        folder = upto
    return folder, parts[-1] if parts else ".", False


def _is_entry(root: Root, folder: str, name: str) -> bool:
    try:
        fd = root.resolver.open(root.fd, os.fsencode(folder), FOLDER_FLAGS)
    except OSError:
        return False
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def nearest_names(root: Root, folder: str, name: str) -> list[str]:
    """The names in a folder that are most like the one given; none where it cannot be listed."""
    try:
        fd = root.resolver.open(root.fd, os.fsencode(folder), FOLDER_FLAGS)
    except OSError:
        return []
    try:
        with os.scandir(fd) as entries:
            names = sorted(one.name for one in itertools.islice(entries, SUGGESTION_ENTRIES))
    except OSError:
        return []
    finally:
        os.close(fd)
    return nearest(name, names)


def nearest(name: str, names: list[str]) -> list[str]:
    """The names most like one: other case first, then the same stem, then by difflib."""
    folded = name.casefold()
    stem = folded.partition(".")[0]
    found = [one for one in names if one.casefold() == folded]
    if stem:
        found += [one for one in names if one.casefold().partition(".")[0] == stem]
    lowered: dict[str, str] = {}
    for one in names:
        lowered.setdefault(one.casefold(), one)
    import difflib

    close = difflib.get_close_matches(folded, list(lowered), SUGGESTIONS, _SIMILARITY)
    found += [lowered[one] for one in close]
    return list(dict.fromkeys(found))[:SUGGESTIONS]
