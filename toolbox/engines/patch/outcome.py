"""What a plan is made of: the workspace as the engine is told of it, and a verdict for each "
"file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from toolbox.engines.patch.locate import Target
from toolbox.engines.patch.records import FAMILIES, Family, Fault, Ignored
from toolbox.engines.patch.verdict import Effort, HunkVerdict, Repairs

StateKind = Literal[
    "missing", "file", "folder", "symlink", "not-a-file", "outside", "protected", "too-large"
]
Act = Literal["edit", "create", "delete", "rename", "copy", "mode"]


@dataclass(frozen=True, slots=True)
class State:
    """What stands at a path: a file with its bytes, or why it is none."""

    kind: StateKind
    data: bytes = b""
    executable: bool = False
    detail: str = ""
    """For what is no file: the sentence that says so, without the path."""
    identity: object = None
    """Equal for two names of one file (a case-only rename where case is not told apart)."""


Lookup = Callable[[str], State]
Guard = Callable[[str], "str | None"]
"""Why a path may never be written (a protected name), or None."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a call asks for besides the patch."""

    file: str | None = None
    strip: int | None = None
    """Components to take off the names; None finds out."""
    repairs: Repairs = field(default_factory=Repairs)
    expect_sha256: Mapping[str, str] | str | None = None
    """The hashes that files must have now: by path, or one for a patch of one file."""


class FileVerdict(msgspec.Struct, frozen=True):
    """What becomes of one file. before/after are its bytes, None where it does not exist then."""

    number: int
    patch_line: int
    path: str
    source: str | None
    action: Act
    verdict: Literal["fits", "refused"]
    family: Family | None
    kind: str
    reason: str
    hunks: tuple[HunkVerdict, ...] = ()
    before: bytes | None = None
    after: bytes | None = None
    executable_before: bool = False
    executable_after: bool = False
    notes: tuple[str, ...] = ()
    sha256_before: str | None = None
    sha256_after: str | None = None

    @property
    def fits(self) -> bool:
        return self.verdict == "fits"


@dataclass(frozen=True, slots=True)
class Plan:
    """The outcome for a whole patch; `refused` says that nothing may be written."""

    files: tuple[FileVerdict, ...]
    ignored: tuple[Ignored, ...] = ()
    notes: tuple[str, ...] = ()
    fault: Fault | None = None

    @property
    def refused(self) -> bool:
        return self.fault is not None or any(not f.fits for f in self.files)

    @property
    def family(self) -> Family | None:
        """The worst that stands in the way."""
        found = {f.family for f in self.files if f.family}
        if self.fault:
            found.add(self.fault.family)
        return next((family for family in FAMILIES if family in found), None)


@dataclass(slots=True)
class Work:
    """What one planning shares: the lookup with its answers kept, the options, the effort."""

    lookup: Lookup
    options: Options
    effort: Effort
    guard: Guard
    suggest: Callable[[str], str]
    """Words on what a missing path may have meant."""
    leaving: frozenset[str] = frozenset()
    """Paths that renames of this patch leave free."""
    deleted: frozenset[str] = frozenset()
    states: dict[str, State] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)

    def state(self, path: str) -> State:
        if path not in self.states:
            if self.effort.clock is not None:
                self.effort.clock.check()
            self.states[path] = self.lookup(path)
        return self.states[path]

    def becomes_free(self, path: str, state: State) -> bool:
        """Whether what stands in the way of a new file goes with this same patch: a file that
        becomes a folder, or a folder that becomes a file."""
        gone = self.leaving | self.deleted
        if state.kind == "not-a-file":
            parts = path.split("/")
            return any("/".join(parts[:k]) in gone for k in range(1, len(parts)))
        return state.kind == "folder" and any(one.startswith(path + "/") for one in gone)

    def kind_of(self, path: str) -> str:
        return self.state(path).kind

    def target(self, path: str) -> Target:
        if path not in self.targets:
            self.targets[path] = Target(self.state(path).data)
        return self.targets[path]
