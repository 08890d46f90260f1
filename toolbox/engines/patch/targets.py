"""Which files a section is about: prefixes stripped, names held against each other, none unsafe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from toolbox.engines.patch.names import decode_name, split_git_line, strip_components, unsafe
from toolbox.engines.patch.preview import name_text, visible
from toolbox.engines.patch.records import NULL, Fault, Section

Action = Literal["edit", "create", "delete", "rename", "copy"]

_PREFIXES: Final = ((b"a", b"b"), (b"i", b"w"), (b"c", b"i"), (b"c", b"w"), (b"o", b"w"),
                    (b"w", b"i"), (b"i", b"c"), (b"w", b"c"), (b"1", b"2"), (b"o", b"i"),
                    (b"b", b"a"))  # fmt: skip
"""First components that git puts before the old and the new name (also with mnemonic prefixes)."""


@dataclass(frozen=True, slots=True)
class Names:
    """The files of a section, relative to the workspace: source is read, target is written."""

    action: Action
    source: str | None
    target: str
    strip: int | None = None
    """The components taken off, None where the caller named the file."""
    whole: str | None = None
    """The source's name with none taken off."""


def shown(name: bytes) -> str:
    return f'"{visible(name)}"'


def action_of(section: Section) -> Action | Fault:
    """What a section does, or how it contradicts itself."""
    line = section.patch_line
    if section.old_missing and section.new_missing:
        return Fault(
            "malformed",
            "both-missing",
            "both names are /dev/null: nothing to read and nothing to write",
            line,
        )
    for old, new, verb in (
        (section.rename_from, section.rename_to, "rename"),
        (section.copy_from, section.copy_to, "copy"),
    ):
        if (old is None) != (new is None):
            side = "to" if new is None else "from"
            return Fault(
                "malformed",
                "names",
                f'a "{verb} {"from" if side == "to" else "to"}" line without its "{verb} {side}" '
                f'line',
                line,
            )
    if section.rename_from is not None and section.copy_from is not None:
        return Fault("malformed", "names", "both a rename and a copy", line)
    if section.rename_from is not None or section.copy_from is not None:
        if section.old_missing or section.new_missing:
            return Fault(
                "malformed", "names", "a rename or copy cannot also create or delete its file", line
            )
        return "rename" if section.rename_from is not None else "copy"
    if section.old_missing:
        return "create"
    return "delete" if section.new_missing else "edit"


def _raw(section: Section) -> list[bytes]:
    names = [section.old_name, section.new_name, section.rename_from, section.rename_to,
             section.copy_from, section.copy_to]  # fmt: skip
    return [n for n in names if n is not None and n != NULL]


def check_safe(names: Iterable[bytes]) -> Fault | None:
    """A fault for the first name that could lead out of the workspace, in whatever line it "
    "stands."""
    for name in names:
        if why := unsafe(name):
            return Fault(
                "outside", "unsafe-path",
                f"the name {shown(name)} {why}; a patch changes only files below the workspace, "
                "named relative to it",
            )  # fmt: skip
    return None


def resolve(
    section: Section,
    *,
    strip: int | None,
    file: str | None,
    kind_of: Callable[[str], str],
    votes: frozenset[int] = frozenset(),
) -> Names | Fault:
    """The files of a section, or why they cannot be told. kind_of: what stands at a path
    ("missing", "file", "folder", …); votes: what other plain sections of the patch stripped."""
    action = action_of(section)
    if isinstance(action, Fault):
        return action
    if fault := check_safe(_raw(section)):
        return fault
    if file is not None:
        if action in ("rename", "copy"):
            return Fault(
                "malformed",
                "names",
                f"the patch has a {action}, which names its own files; leave out `file`",
                section.patch_line,
            )
        return Names(action, None if action == "create" else file, file)
    if not section.git and section.old_name is None:
        return Fault(
            "malformed", "no-file-header",
            f"patch line {section.patch_line}: a hunk before any file header; "
            "name the file in `file`, or give \"--- …\" and \"+++ …\" lines",
            section.patch_line,
        )  # fmt: skip
    return (
        _git(section, action, strip)
        if section.git
        else _plain(section, action, strip, kind_of, votes)
    )


def _too_few(name: bytes, strip: int, line: int) -> Fault:
    return Fault(
        "malformed", "path-strip",
        f"cannot strip {strip} leading component{'' if strip == 1 else 's'} from {shown(name)}; "
        "give `strip` as the number of components to take off",
        line,
    )  # fmt: skip


def _first(name: bytes) -> bytes:
    return name.partition(b"/")[0]


def _prefixed(old: bytes, new: bytes) -> bool:
    return b"/" in old and b"/" in new and (_first(old), _first(new)) in _PREFIXES


def _git(section: Section, action: Action, strip: int | None) -> Names | Fault:
    """Names of a `diff --git` section: its first line, `---`/`+++`, and rename lines must agree."""
    line = section.patch_line
    if strip in (None, 1) and (quick := _ordinary(section, action)):
        return quick
    pairs = split_git_line(section.git_rest)
    for pair in pairs[:2]:
        if len(pairs) == 1 and (fault := check_safe(pair)):
            return fault
    old = None if section.old_name in (None, NULL) else section.old_name
    new = None if section.new_name in (None, NULL) else section.new_name
    count = strip if strip is not None else _git_strip(section, pairs, old, new)

    def cut(name: bytes) -> bytes | None:
        return strip_components(name, count)

    for name in (old, new):
        if name is not None and cut(name) is None:
            return _too_few(name, count, line)
    stripped_old = cut(old) if old is not None else None
    stripped_new = cut(new) if new is not None else None
    moved_from = section.rename_from if action == "rename" else section.copy_from
    moved_to = section.rename_to if action == "rename" else section.copy_to
    if moved_from is not None and moved_to is not None:
        less = max(count - 1, 0)
        source, target = strip_components(moved_from, less), strip_components(moved_to, less)
        if source is None or target is None:
            return _too_few(moved_from if source is None else moved_to, less, line)
        for said, meant, where in ((stripped_old, source, "---"), (stripped_new, target, "+++")):
            if said is not None and said != meant:
                return _disagree(
                    line, f'the "{where}" line says {shown(said)}, the {action} line {shown(meant)}'
                )
        if pairs and not any(cut(a) == source and cut(b) == target for a, b in pairs):
            return _disagree(
                line,
                f'the "diff --git" line ({shown(section.git_rest)}) names other files than the '
                f'{action} lines, {shown(source)} and {shown(target)}',
            )
        return _names(action, source, target, count, old)
    if stripped_old is None and stripped_new is None:
        same = [cut(a) for a, b in pairs if cut(a) is not None and cut(a) == cut(b)]
        if not same:
            differing = [(cut(a), cut(b)) for a, b in pairs]
            if len(differing) == 1 and all(differing[0]):
                return _differ(differing[0][0] or b"", differing[0][1] or b"", line)
            return Fault(
                "malformed", "names",
                f'no usable path in "diff --git {visible(section.git_rest)}" when {count} leading '
                f"component{'' if count == 1 else 's'} are stripped",
                line,
            )  # fmt: skip
        name = same[0]
        assert name is not None
        return _names(action, name, name, count, old)
    if stripped_old is not None and stripped_new is not None and stripped_old != stripped_new:
        return _differ(stripped_old, stripped_new, line)
    name = stripped_old if stripped_old is not None else stripped_new
    assert name is not None
    if pairs and not any(
        (action == "create" or cut(a) == name) and (action == "delete" or cut(b) == name)
        for a, b in pairs
    ):
        return _disagree(
            line,
            f'the "diff --git" line ({shown(section.git_rest)}) names other files than the "---" '
            f'and "+++" lines, {shown(name)}',
        )
    return _names(action, name, name, count, old)


def _ordinary(section: Section, action: Action) -> Names | None:
    """The names of a section that says `a/x b/x` thrice, as nearly all do; None for any other."""
    old, new = section.old_name, section.new_name
    if action != "edit" or old is None or new is None or old[:2] != b"a/" or new[:2] != b"b/":
        return None
    name = old[2:]
    if new[2:] != name or section.git_rest != old + b" " + new or not name:
        return None
    if b"//" in old or b"/." in old or old.endswith(b"/"):
        return None
    path = decode_name(name)
    return Names(action, path, path, 1, decode_name(old))


def _git_strip(
    section: Section, pairs: list[tuple[bytes, bytes]], old: bytes | None, new: bytes | None
) -> int:
    """How many components git put before the names: 1, or 0 with diff.noprefix."""
    moved = (section.rename_from or section.copy_from, section.rename_to or section.copy_to)
    if moved[0] is not None and moved[1] is not None:
        if any(pair == moved for pair in pairs):
            return 0
        return 1
    known = [n for n in (old, new) if n is not None]
    if len(known) == 2:
        if _prefixed(known[0], known[1]):
            return 1
        return 0 if known[0] == known[1] else 1
    if known:
        return (
            0 if (known[0], known[0]) in pairs and not any(_prefixed(a, b) for a, b in pairs) else 1
        )
    if any(_prefixed(a, b) and a.partition(b"/")[2] == b.partition(b"/")[2] for a, b in pairs):
        return 1
    return 0 if any(a == b for a, b in pairs) else 1


def _plain(
    section: Section, action: Action, strip: int | None, kind_of: Callable[[str], str],
    votes: frozenset[int],
) -> Names | Fault:  # fmt: skip
    """Names of a section with only `---` and `+++` lines."""
    line = section.patch_line
    old = None if action == "create" or section.old_name == NULL else section.old_name
    new = None if action == "delete" or section.new_name == NULL else section.new_name
    known = [n for n in (old, new) if n is not None]
    if not known:
        return Fault("malformed", "names", "no usable file name", line)
    count = strip if strip is not None else _plain_strip(known, action, kind_of, votes, line)
    if isinstance(count, Fault):
        return count
    cut = [strip_components(n, count) for n in known]
    for name, stripped in zip(known, cut, strict=True):
        if stripped is None:
            return _too_few(name, count, line)
    first, last = cut[0] or b"", cut[-1] or b""
    if first != last:
        return _differ(first, last, line)
    return _names(action, first, first, count, known[0])


def _plain_strip(
    known: list[bytes],
    action: Action,
    kind_of: Callable[[str], str],
    votes: frozenset[int],
    line: int,
) -> int | Fault:
    """0 or 1, by what stands in the workspace; a fault where both are possible."""
    whole = [strip_components(n, 0) for n in known]
    less = [strip_components(n, 1) for n in known]
    prefixed = (
        _prefixed(known[0], known[1]) if len(known) == 2
        else b"/" in known[0] and _first(known[0]) == (b"b" if action == "create" else b"a")
    )  # fmt: skip
    one = less[0] is not None and all(n == less[0] for n in less)
    if action == "create":
        if prefixed:
            folder = decode_name(_first(known[0]))
            if kind_of(folder) == "folder" and votes != {1}:
                return _ambiguous(
                    known[0], less[0], f'the folder "{name_text(folder)}" exists', line
                )
            return 1
        if votes == {1} and one:
            return 1
        return 1 if len(known) == 2 and known[0] != known[1] and one else 0
    standing = [n for n in whole if n and kind_of(decode_name(n)) != "missing"]
    below = one and kind_of(decode_name(less[0] or b"")) != "missing"
    if standing and below:
        if len(known) == 2 and known[0] == known[1] and _first(known[0]) not in (b"a", b"b"):
            return 0
        return _ambiguous(standing[0], less[0], f"{shown(standing[0])} exists", line)
    if below:
        return 1
    if standing:
        return 0
    return 1 if prefixed or (one and len(known) == 2 and known[0] != known[1]) else 0


def _ambiguous(name: bytes, less: bytes | None, why: str, line: int) -> Fault:
    return Fault(
        "malformed", "ambiguous-path",
        f"{why}, and {shown(less or b'')} (one component stripped) may be meant as well; "
        f"say which: strip 0 for {shown(name)}, strip 1 for {shown(less or b'')}",
        line,
    )  # fmt: skip


def _disagree(line: int, text: str) -> Fault:
    return Fault("malformed", "inconsistent-names", text, line)


def _differ(old: bytes, new: bytes, line: int) -> Fault:
    return Fault(
        "malformed", "inconsistent-names",
        f"the names differ, {shown(old)} and {shown(new)}, without rename lines; name the one file "
        f"to change "
        f'in `file`, or give "rename from {visible(old)}" and "rename to {visible(new)}"',
        line,
    )  # fmt: skip


def _names(
    action: Action, source: bytes, target: bytes, strip: int, whole: bytes | None
) -> Names | Fault:
    if fault := check_safe((source, target)):
        return fault
    tidy = None if whole is None else strip_components(whole, 0)
    return Names(
        action,
        None if action == "create" else decode_name(source),
        decode_name(target),
        strip,
        None if tidy is None else decode_name(tidy),
    )


def other_strip(names: Names, kind_of: Callable[[str], str]) -> tuple[int, str] | None:
    """Another number of components that, taken off, leaves the path of a file that exists."""
    if names.whole is None:
        return None
    parts = names.whole.split("/")
    for k in range(min(len(parts), 16)):
        rest = "/".join(parts[k:])
        if k != names.strip and kind_of(rest) == "file":
            return k, rest
    return None
