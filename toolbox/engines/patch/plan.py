"""A whole patch held against a workspace: a verdict for every hunk of every file, and new contents.

The engine opens no file: the caller gives a `Lookup` that says what stands at a path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from msgspec.structs import replace

from toolbox.engines.patch.names import decode_name, strip_components
from toolbox.engines.patch.occupancy import check_together
from toolbox.engines.patch.outcome import FileVerdict, Guard, Lookup, Options, Plan, Work
from toolbox.engines.patch.preview import quote
from toolbox.engines.patch.records import Clock, Fault, Patch, Section
from toolbox.engines.patch.sections import judge_section
from toolbox.engines.patch.targets import Names, resolve
from toolbox.engines.patch.verdict import Effort


def _unguarded(path: str) -> str | None:
    return None


def _no_idea(path: str) -> str:
    return ""


def plan(
    patch: Patch,
    lookup: Lookup,
    options: Options,
    *,
    guard: Guard = _unguarded,
    suggest: Callable[[str], str] = _no_idea,
    clock: Clock | None = None,
) -> Plan:
    """What the patch would do to the files that lookup tells of; nothing is changed."""
    if patch.fault is not None:
        return Plan((), patch.ignored, patch.notes, patch.fault)
    if options.file is not None and len(patch.sections) > 1:
        named = [quote(s.new_name or s.old_name or s.git_rest or b"?") for s in patch.sections[:5]]
        return Plan(
            (), patch.ignored, patch.notes,
            Fault(
                "malformed", "several-files",
                f"with `file` the hunks are for that one file, but the patch has "
                f"{len(patch.sections)} "
                f"sections ({', '.join(named)}…); leave `file` out, or give one section",
                patch.sections[1].patch_line,
            ),
        )  # fmt: skip
    work = Work(lookup, options, Effort(clock), guard, suggest)
    resolved = _resolve_all(patch.sections, work)
    together = check_together(patch.sections, resolved)
    work.leaving, work.deleted = together.leaving, together.deleted
    files = tuple(
        judge_section(section, names, clash, work)
        for section, names, clash in zip(patch.sections, resolved, together.clashes, strict=True)
    )
    return Plan(_hashed(files, options), patch.ignored, patch.notes)


def _resolve_all(sections: Sequence[Section], work: Work) -> list[Names | Fault]:
    """Names for every section; what plain sections with a file to look at stripped is the vote
    for those that create one."""
    options = work.options
    found: dict[int, Names | Fault] = {}
    votes: set[int] = set()
    later: list[Section] = []
    for section in sections:
        if not section.git and section.old_missing and not section.new_missing:
            later.append(section)
            continue
        names = resolve(section, strip=options.strip, file=options.file, kind_of=work.kind_of)
        found[section.number] = names
        if isinstance(names, Names) and not section.git and options.file is None:
            raw = section.old_name if section.old_name is not None else section.new_name
            less = strip_components(raw or b"", 1)
            votes.add(1 if less is not None and decode_name(less) == names.target else 0)
    for section in later:
        found[section.number] = resolve(
            section, strip=options.strip, file=options.file, kind_of=work.kind_of,
            votes=frozenset(votes),
        )  # fmt: skip
    return [found[section.number] for section in sections]


def _hashed(files: tuple[FileVerdict, ...], options: Options) -> tuple[FileVerdict, ...]:
    """The verdicts with the hashes of both sides; a file whose content is not the one that was
    expected is refused."""
    expect = options.expect_sha256
    out = []
    for f in files:
        before = None if f.before is None else sha256(f.before).hexdigest()
        want = expect
        if want is not None and not isinstance(want, str):
            want = want.get(f.source or f.path, want.get(f.path))
        if want is not None and before is not None and before != want.lower():
            f = replace(
                f, verdict="refused", family="changed", kind="changed", after=None,
                reason=f"its sha256 is {before}, not {want.lower()} as expected: "
                "it changed since; read it again",
            )  # fmt: skip
        after = None if f.after is None else sha256(f.after).hexdigest()
        out.append(replace(f, sha256_before=before, sha256_after=after))
    return tuple(out)
