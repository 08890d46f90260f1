"""What a section says that is never applied, or says nothing at all: judged without any file."""

from __future__ import annotations

import re
from typing import Final

from toolbox.engines.patch.records import Fault, Section

_REGULAR: Final = ("100644", "100755")
_SUBMODULE: Final = re.compile(rb"Subproject commit [0-9a-f]{7,64}(?:-dirty)?\n?$")


def check_section(section: Section) -> Fault | None:
    """The first reason why a section cannot be applied to whatever file, or None."""
    if section.fault is not None:
        return section.fault
    line = section.patch_line
    if fault := _modes(section):
        return fault
    if section.binary:
        return Fault(
            "unsupported", "binary",
            f"{section.binary}; binary changes are not applied", line,
        )  # fmt: skip
    lines = [x for hunk in section.hunks for x in (*hunk.old[:2], *hunk.new[:2])]
    if lines and all(_SUBMODULE.match(x) for x in lines):
        return _submodule(section)
    if section.old_missing and section.created_mode and (section.old_mode or section.rename_from):
        return Fault("malformed", "modes", "a new file cannot have an old mode or name", line)
    if (section.old_mode is None) != (section.new_mode is None):
        lacks = "new" if section.new_mode is None else "old"
        return Fault("malformed", "modes", f'a mode change without its "{lacks} mode" line', line)
    if not section.hunks and not _says_something(section):
        return Fault(
            "malformed", "no-hunk",
            "file headers, but no hunk (@@ -… @@) and no other change", line,
        )  # fmt: skip
    return None


def _says_something(section: Section) -> bool:
    return bool(
        section.rename_from or section.copy_from or section.created_mode or section.deleted_mode
        or (section.new_mode and section.new_mode != section.old_mode)
    )  # fmt: skip


def _submodule(section: Section) -> Fault:
    return Fault(
        "unsupported", "submodule",
        "a submodule (mode 160000) points at a commit; that is not applied",
        section.patch_line,
    )  # fmt: skip


def _modes(section: Section) -> Fault | None:
    """Only ordinary files, with or without the x bit."""
    line = section.patch_line
    for mode in section.modes():
        if mode in _REGULAR:
            continue
        if mode == "120000":
            return Fault(
                "unsupported", "symlink",
                "a symlink (mode 120000); symbolic links are not made or changed", line,
            )  # fmt: skip
        if mode == "160000":
            return _submodule(section)
        what = "no file mode of git's"
        if re.fullmatch(r"10[0-7]{4}", mode):
            bits = int(mode[2], 8)
            what = "it sets setuid, setgid or sticky bits" if bits else "only the x bit can change"
        elif mode in ("040000", "40000"):
            what = "it is a folder's"
        return Fault(
            "unsupported", "mode",
            f"mode {mode} is not applied ({what}); only 100644 and 100755 are", line,
        )  # fmt: skip
    return None
