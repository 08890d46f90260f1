"""A workspace in memory, and what a plan makes of it: the engine's tests open no file."""

from __future__ import annotations

from collections.abc import Mapping

from toolbox.engines.patch.outcome import Options, Plan, State
from toolbox.engines.patch.parse import parse
from toolbox.engines.patch.plan import plan


class Memory:
    """Files (bytes), x bits and links by path, asked as the engine asks."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        links: Mapping[str, str] | None = None,
        executable: frozenset[str] = frozenset(),
    ) -> None:
        self.files = dict(files)
        self.links = dict(links or {})
        self.executable = set(executable)

    def state(self, path: str) -> State:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            upto = "/".join(parts[:depth])
            if upto in self.links:
                return State("symlink", detail=f"{upto} is a symlink")
            if depth < len(parts) and upto in self.files:
                return State("not-a-file", detail=f"{upto} is a file")
        if path in self.files:
            return State("file", self.files[path], path in self.executable, identity=path)
        if any(other.startswith(path + "/") for other in self.files):
            return State("folder")
        return State("missing")

    def plan(self, patch: bytes, **options: object) -> Plan:
        return plan(parse(patch), self.state, Options(**options))  # type: ignore[arg-type]

    def after(self, planned: Plan) -> dict[str, bytes]:
        """The files once a plan that fits is carried out."""
        assert not planned.refused, [(f.path, f.reason) for f in planned.files]
        files = dict(self.files)
        for file in planned.files:
            if file.action in ("rename", "delete"):
                files.pop(file.source or file.path)
        for file in planned.files:
            if file.after is not None:
                files[file.path] = file.after
        return files


def words(planned: Plan) -> str:
    """Everything that a plan says, for tests that look for a fact."""
    from toolbox.engines.patch.report import notes_of, refusal

    parts = [*notes_of(planned)]
    if planned.refused:
        message, hint = refusal(planned)
        parts += [message, hint or ""]
    for file in planned.files:
        parts += [file.path, file.reason, *file.notes]
        parts += [f"hunk {h.hunk} {h.reason} {[c.header for c in h.candidates]}" for h in file.hunks]
    return "\n".join(parts)
