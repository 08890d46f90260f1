"""Which untracked files a working tree leaves out, as its `.gitignore` files say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Ignores:
    """The rules of a tree, read folder by folder as a walk comes by."""

    def __init__(self, read: Callable[[str], str | None], common: str = "") -> None:
        """read: the text of the `.gitignore` of a folder ("" for the root), or None. common: the
        text of the repository's own `info/exclude`, weaker than all of them."""
        from pathspec import GitIgnoreSpec

        self._make: Any = GitIgnoreSpec.from_lines
        self._read = read
        self._common = self._spec(common)
        self._kept: dict[str, Any] = {}

    def _spec(self, text: str | None) -> Any:
        if not text:
            return None
        try:
            return self._make(text.splitlines())
        except ValueError:  # one line that is no pattern: take the others
            good = []
            for line in text.splitlines():
                try:
                    self._make([line])
                except ValueError:
                    continue
                good.append(line)
            return self._make(good)

    def ignored(self, path: str, is_folder: bool) -> bool:
        """Whether the rules leave out an untracked path; its folders are asked for before it."""
        folder = path.rpartition("/")[0]
        # Rules are text: a byte that is not UTF-8 is matched as one character.
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        shown += "/" if is_folder else ""
        while True:
            spec = self._kept.get(folder, self)
            if spec is self:
                spec = self._kept[folder] = self._spec(self._read(folder))
            if spec is not None:
                inner = "/".join(shown.split("/")[folder.count("/") + 1 :]) if folder else shown
                said = spec.check_file(inner).include
                if said is not None:
                    return bool(said)
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        if self._common is None:
            return False
        return bool(self._common.check_file(shown).include)
