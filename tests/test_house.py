"""The rules of the house, held over the syntax trees: who may import whom, who may open files."""

from __future__ import annotations

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = sorted(p for package in ("sandbox", "toolbox") for p in (ROOT / package).rglob("*.py"))

MOST_LINES = 600
"""A file past this is asking to be split."""

MAY_IMPORT = {
    "sandbox": {"sandbox"},
    "toolbox.engines": {"toolbox.engines", "toolbox.errors", "toolbox.limits"},
    "toolbox.wire": {
        "toolbox.wire", "toolbox.errors", "toolbox.limits", "toolbox.catalogue", "toolbox.registry",
        "toolbox.arguments", "toolbox.output", "toolbox.verb", "toolbox.version",
    },
    "toolbox.verbs": {
        "sandbox", "toolbox.engines", "toolbox.verbs", "toolbox.errors", "toolbox.limits",
        "toolbox.verb", "toolbox.output", "toolbox.store", "toolbox.cursor",
    },
}  # fmt: skip
"""Data goes one way: a package → what it may import of ours. Others may import anything below
the doors."""

OPENERS = {
    ("toolbox/cli/attach.py", "open"): "the client configuration of the person who attaches",
    ("toolbox/cli/bridge.py", "open"): "the log of a daemon that it starts, beside the socket",
    ("toolbox/cli/commands.py", "open"): "`toolbox call FILE`: a person's own file, not a workspace's",
    ("toolbox/cli/out.py", "open"): "/dev/null, for a reader that went away",
    ("toolbox/daemon/http.py", "open"): "the token file that the operator names",
    ("toolbox/reference.py", "open"): "the project's own pages",
    ("toolbox/daemon/units.py", "open"): "the service manager's units of the person who asks for them",
    ("toolbox/daemon/lifecycle.py", "open"): "/dev/null, for standard streams that were closed",
    ("toolbox/daemon/lifecycle.py", "fdopen"): "standard streams that were closed at start",
    ("toolbox/daemon/stdio.py", "fdopen"): "standard input and output",
    ("toolbox/daemon/runtime.py", "fdopen"): "standard input and output",
}
"""Places outside `sandbox/` that open something, and why each may."""


def _module(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found |= {f"{node.module}.{a.name}" for a in node.names}
    return found


def _below(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: pathlib.Path) -> None:
    module = _module(path)
    rule = next((allowed for package, allowed in MAY_IMPORT.items() if _below(module, package)), None)
    if rule is None:
        return
    ours = {m for m in _imports(ast.parse(path.read_text())) if m.split(".")[0] in ("toolbox", "sandbox")}
    # `from toolbox import limits` names both the package and the module: the module counts.
    ours -= {"toolbox", "sandbox"}
    strangers = {m for m in ours if not any(_below(m, allowed) for allowed in rule)}
    assert not strangers


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_sandbox_opens_files(path: pathlib.Path) -> None:
    name = str(path.relative_to(ROOT))
    if name.startswith("sandbox/"):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        word = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        owner = called.value.id if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) else ""
        opens = (
            (isinstance(called, ast.Name) and word == "open")
            or (owner in ("os", "io") and word in ("open", "fdopen", "scandir", "listdir", "walk"))
            or (bool(owner) and word in ("read_text", "read_bytes", "write_text", "write_bytes"))
        )
        if opens:
            assert (name, word) in OPENERS, f"{name}:{node.lineno} calls {word}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_short_and_say_what_they_are(path: pathlib.Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    assert path.name not in ("utils.py", "helpers.py", "misc.py", "common.py")
    assert ast.get_docstring(ast.parse(text)), "a module says what it is for"
