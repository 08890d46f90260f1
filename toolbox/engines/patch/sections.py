"""One section of a patch held against its file: what becomes of it, or why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from unicodedata import normalize

from msgspec.structs import replace

from toolbox.engines.patch.apply import apply
from toolbox.engines.patch.check import check_section
from toolbox.engines.patch.judge import judge
from toolbox.engines.patch.locate import Target, place_of
from toolbox.engines.patch.malformed import unchecked
from toolbox.engines.patch.names import decode_name
from toolbox.engines.patch.outcome import Act, FileVerdict, State, Work
from toolbox.engines.patch.preview import name_text, plural, quote
from toolbox.engines.patch.records import FAMILIES, Fault, Hunk, Section
from toolbox.engines.patch.targets import Names, other_strip
from toolbox.engines.patch.verdict import HunkVerdict

_SYMLINK: Final = "apply changes no file by way of a symlink"


def _title(section: Section) -> str:
    name = section.new_name if not section.new_missing else section.old_name
    name = name or section.old_name or section.rename_to or section.git_rest
    return name_text(decode_name(name)) if name else f"(patch line {section.patch_line})"


def judge_section(
    section: Section, names: Names | Fault, clash: Fault | None, work: Work
) -> FileVerdict:
    path = names.target if isinstance(names, Names) else _title(section)
    source = names.source if isinstance(names, Names) else None
    action: Act = "edit"
    if isinstance(names, Names):
        action = (
            "mode"
            if names.action == "edit" and not section.hunks and section.new_mode
            else names.action
        )
    elif section.old_missing != section.new_missing:
        action = "create" if section.old_missing else "delete"

    def refuse(fault: Fault, hunks: tuple[HunkVerdict, ...] | None = None) -> FileVerdict:
        why = "not checked: " + fault.message
        return FileVerdict(
            section.number, fault.patch_line or section.patch_line, path, source, action, "refused",
            fault.family, fault.kind, fault.message,
            hunks if hunks is not None else tuple(unchecked(h, why) for h in section.hunks),
        )  # fmt: skip

    static = check_section(section)
    if isinstance(names, Fault):
        return refuse(static if static is not None and names.family != "outside" else names)
    if static is not None:
        return refuse(static, _try_hunks(section, names, work))
    if clash is not None:
        return refuse(clash)
    for one in {names.target, names.source if names.action == "rename" else names.target}:
        if one and (why := work.guard(one)):
            return refuse(Fault("protected", "protected", why))
    if names.action == "create":
        return _create(section, names, work, refuse, action)
    assert names.source is not None
    state = work.state(names.source)
    if state.kind == "missing" and _may_create(section, names):
        return _create(section, Names("create", None, names.target), work, refuse, "create")
    if fault := _not_a_file(names.source, state, work, names):
        return refuse(fault)
    if names.action in ("rename", "copy") and (fault := _occupied(names, work)):
        return refuse(fault)
    return _change(section, names, state, work, refuse, action)


def _may_create(section: Section, names: Names) -> bool:
    """A plain diff may create a file without saying so, by one hunk that has no old lines."""
    return (
        not section.git and names.action == "edit" and len(section.hunks) == 1
        and not section.hunks[0].old and section.hunks[0].old_start == 0
        and section.hunks[0].fault is None
    )  # fmt: skip


def _try_hunks(section: Section, names: Names, work: Work) -> tuple[HunkVerdict, ...] | None:
    """Verdicts on the hunks of a section that is refused anyway, where its file can be read."""
    if names.source is None or not section.hunks or work.state(names.source).kind != "file":
        return None
    return _judge_hunks(section.hunks, work.target(names.source), work)


_Refuse = Callable[..., FileVerdict]


def _not_a_file(path: str, state: State, work: Work, names: Names) -> Fault | None:
    match state.kind:
        case "file":
            return None
        case "missing":
            return Fault(
                "missing",
                "missing-target",
                f"{_who(path, names)}does not exist{_missing_hint(path, work, names)}",
            )
        case "symlink":
            return Fault(
                "unsupported",
                "symlink",
                f"{state.detail or 'a symlink stands on the path'}; {_SYMLINK}",
            )
        case "folder":
            return Fault("not-a-file", "folder", "is a folder, not a file")
        case "too-large":
            return Fault("too-large", "too-large", state.detail)
        case "outside":
            return Fault("outside", "unsafe-path", state.detail)
        case "protected":
            return Fault("protected", "protected", state.detail)
        case _:
            return Fault("not-a-file", "not-a-file", f"{state.detail or 'is no regular file'}")


def _who(path: str, names: Names) -> str:
    """The source of a rename or copy by name, where it is not the file that is spoken of."""
    return "" if path == names.target else f"its source {name_text(path)} "


def _missing_hint(path: str, work: Work, names: Names) -> str:
    if names.action == "rename" and work.kind_of(names.target) == "file":
        return "; the new name does: the rename seems to be applied already"
    if names.action == "delete":
        return "; it seems to be deleted already"
    text = f" in the workspace, not even as a symlink ({_SYMLINK})"
    if names.strip is not None and (other := other_strip(names, work.kind_of)):
        count, rest = other
        return text + f", but {name_text(rest)} does: give strip: {count}, or `file`"
    if "\\" in path and work.kind_of(path.replace("\\", "/")) == "file":
        return text + f", but {name_text(path.replace(chr(92), '/'))} does; write names with '/'"
    idea = work.suggest(path)
    return text + (f"; {idea}" if idea else "")


def _occupied(names: Names, work: Work) -> Fault | None:
    """A fault where the new name of a rename or copy is taken (unless its file moves away, which
    check_together has seen)."""
    there = work.state(names.target)
    free = work.becomes_free(names.target, there)
    if there.kind == "missing" or names.target in work.leaving or free:
        return None
    if there.kind == "file":
        own = work.state(names.source or "")
        if there.identity is not None and there.identity == own.identity and _same_folded(names):
            return None
        return Fault(
            "exists",
            "target-exists",
            f"exists already; a {names.action} never replaces a file",
        )
    return _not_a_file(names.target, there, work, names)


def _same_folded(names: Names) -> bool:
    """True for a rename that changes only case or Unicode form."""

    def fold(path: str) -> str:
        return normalize("NFC", path).casefold()

    return names.source is not None and fold(names.source) == fold(names.target)


def _create(
    section: Section, names: Names, work: Work, refuse: _Refuse, action: Act
) -> FileVerdict:
    """A new file: one hunk of added lines, or none for an empty one."""
    state = work.state(names.target)
    hunks = section.hunks
    verdicts: list[HunkVerdict] = []
    notes: list[str] = []
    for hunk in hunks:
        target = Target(b"")
        if hunk.old:
            reason = (
                f"has {plural(len(hunk.old), 'context or removed line')}, but the file is new "
                f"and has none: {quote(hunk.old[0])}"
            )
            verdicts.append(
                replace(
                    unchecked(hunk, reason),
                    verdict="refused",
                    kind="create-with-old-lines",
                    family="malformed",
                    reason=reason,
                )
            )
            continue
        verdict = judge(
            hunk if hunk.old_start == 0 else replace(hunk, old_start=0, new_start=1),
            target,
            0,
            work.options.repairs,
            work.effort,
        )
        if hunk.old_start != 0 and verdict.verdict == "fits":
            notes.append(
                f"hunk {hunk.number}: a new file's hunk starts at -0,0; {verdict.header} was taken "
                f"as that"
            )
        verdicts.append(verdict)
    judged = tuple(verdicts)
    if len(hunks) > 1:
        return refuse(
            Fault(
                "malformed",
                "create-with-hunks",
                f"is a new file, but has {len(hunks)} hunks; one holds all its lines",
                hunks[1].patch_line,
            ),
            judged,
        )
    bad = [v for v in judged if v.verdict != "fits"]
    content = apply([], [(hunks[0], 0)]) if hunks and not bad else b""
    if state.kind == "file" and names.target not in work.leaving:
        same = (
            " with the very content that the patch gives it; the patch seems to be applied already"
            if not bad and state.data == content
            else ""
        )
        return refuse(
            Fault(
                "exists",
                "target-exists",
                f"exists already{same}; a creation never replaces a file",
            ),
            judged,
        )
    if state.kind not in ("missing", "file") and not work.becomes_free(names.target, state):
        fault = _not_a_file(names.target, state, work, names)
        assert fault is not None
        return refuse(fault, judged)
    if bad:
        return _by_hunks(section, names, action, judged, None)
    executable = section.created_mode == "100755" or section.new_mode == "100755"
    return FileVerdict(
        section.number, section.patch_line, names.target, None, "create", "fits", None, "fits",
        f"is new, {plural(len(hunks[0].new) if hunks else 0, 'line')}", judged,
        before=None, after=content, executable_after=executable, notes=(*notes, *_notes(judged)),
    )  # fmt: skip


def _notes(verdicts: Sequence[HunkVerdict]) -> tuple[str, ...]:
    return tuple(note for v in verdicts for note in v.notes)


def _by_hunks(
    section: Section,
    names: Names,
    action: Act,
    verdicts: tuple[HunkVerdict, ...],
    before: bytes | None,
) -> FileVerdict:
    """A file refused for its hunks: the first that does not fit speaks for it."""
    bad = [v for v in verdicts if v.verdict in ("refused", "unchecked")]
    worst = min((v.family or "mismatch" for v in bad), key=FAMILIES.index)
    first = bad[0]
    rest = (
        f" ({len(bad)} of {len(verdicts)} hunks {'does' if len(bad) == 1 else 'do'} not fit)"
        if len(verdicts) > 1
        else ""
    )
    return FileVerdict(
        section.number, first.patch_line, names.target, names.source, action, "refused", worst,
        first.kind, f"hunk {first.hunk}: {first.reason}{rest}", verdicts, before=before,
        notes=_notes(verdicts),
    )  # fmt: skip


def _judge_hunks(hunks: Sequence[Hunk], target: Target, work: Work) -> tuple[HunkVerdict, ...]:
    """Verdicts in order; hunks out of order or overlapping are refused."""
    repairs = work.options.repairs
    verdicts: list[HunkVerdict] = []
    shift = 0
    stop, before = 0, None
    for hunk in hunks:
        verdict = judge(hunk, target, shift, repairs, work.effort)
        shift += len(hunk.new) - len(hunk.old)
        place = verdict.place
        if place < 0 and hunk.fault is None and hunk.old_start is not None:
            place = place_of(hunk.old_start, len(hunk.old))
        if place >= 0:
            if before is not None and place < stop:
                verdict = _out_of_order(hunk, verdict, place, before, stop)
            if place + len(hunk.old) >= stop:
                stop, before = place + len(hunk.old), (hunk, place)
        verdicts.append(verdict)
    return tuple(verdicts)


def _out_of_order(
    hunk: Hunk, verdict: HunkVerdict, place: int, before: tuple[Hunk, int], stop: int
) -> HunkVerdict:
    other, other_place = before
    if place < other_place:
        text = (
            f"(line {place + 1}) comes before hunk {other.number} (line {other_place + 1}); "
            "put the hunks in the order of the file"
        )
        kind = "out-of-order"
    else:
        text = (
            f"overlaps hunk {other.number}: line {place + 1} is covered by both (hunk "
            f"{other.number} ends at "
            f"line {stop}); join them into one hunk"
        )
        kind = "overlap"
    return replace(
        verdict,
        verdict="refused",
        kind=kind,
        family="malformed",
        reason=text,
        place=-1,
        candidates=(),
    )


def _change(
    section: Section, names: Names, state: State, work: Work, refuse: _Refuse, action: Act
) -> FileVerdict:
    """An edit, deletion, rename, copy or mode change of a file that is there."""
    assert names.source is not None
    target = work.target(names.source)
    verdicts = _judge_hunks(section.hunks, target, work)
    if any(v.verdict in ("refused", "unchecked") for v in verdicts):
        refused = _by_hunks(section, names, action, verdicts, state.data)
        covered = sum(len(h.old) for h in section.hunks)
        if names.action == "delete" and covered != len(target.lines):
            more = f"; the file is to be deleted, but has {len(target.lines)} lines where the "
            more += f"patch removes {covered}"
            refused = replace(refused, reason=refused.reason + more)
        return refused
    placed = [(h, v.place) for h, v in zip(section.hunks, verdicts, strict=True)]
    after: bytes | None
    if section.hunks:
        after = apply(target.lines, placed, file_ends=work.options.repairs.file_ends)
    else:
        after = state.data
    notes = [*_notes(verdicts)]
    if names.action == "delete":
        if after:
            left = Target(after).lines
            removed = len(target.lines) - len(left)
            how = (
                f"the hunks remove {removed} of its {len(target.lines)} lines"
                if section.hunks
                else f"no hunk removes its {plural(len(left), 'line')}"
            )
            return refuse(
                Fault(
                    "mismatch",
                    "delete-not-empty",
                    f"is to be deleted, but {how}; left: {quote(left[0])}",
                    section.patch_line,
                ),
                verdicts,
            )
        after = None
    executable = state.executable
    if section.old_mode and (section.old_mode == "100755") != state.executable:
        notes.append(
            f"the mode was {'100755' if state.executable else '100644'}, not {section.old_mode} as "
            f"the patch says"
        )
    if section.new_mode:
        executable = section.new_mode == "100755"
    return FileVerdict(
        section.number, section.patch_line, names.target, names.source, action, "fits", None,
        "fits", _fits_text(section, names, action, verdicts), verdicts,
        before=state.data, after=after,
        executable_before=state.executable, executable_after=executable and after is not None,
        notes=tuple(notes),
    )  # fmt: skip


def _fits_text(section: Section, names: Names, action: Act, verdicts: Sequence[HunkVerdict]) -> str:
    if action == "mode":
        return f"mode {section.old_mode or '?'} to {section.new_mode}"
    if not verdicts:
        return {
            "delete": "is empty",
            "rename": "moves unchanged",
            "copy": "is copied unchanged",
        }.get(action, "fits")
    moved = [v for v in verdicts if v.verdict == "relocated"]
    text = "hunk 1 fits" if len(verdicts) == 1 else f"all {len(verdicts)} hunks fit"
    if moved:
        text += ", relocated: " + "; ".join(f"hunk {v.hunk} {v.reason}" for v in moved[:5])
    if names.source and names.source != names.target:
        text = f"from {name_text(names.source)}, {text}"
    return text
