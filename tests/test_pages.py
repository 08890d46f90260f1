"""Every command, program and output in the docs, run as it is printed; drawings held to the code."""

from __future__ import annotations

import ast
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests import pages
from tests.test_house import SOURCES, _below, _imports, _module

NAMED = {str(p.relative_to(pages.ROOT)): p for p in pages.pages() if p.exists()}
RUNNABLE = [name for name, path in NAMED.items() if pages.steps(path.read_text())]

NOT_RUN = {"docker", "pip", "pipx", "uv", "systemctl", "journalctl", "git", "python3 dev.py"}
"""What a block `sh` may call: programs that a test cannot have, and this project's own tasks."""

UNCHECKED = {"", "py", "text", "json", "toml", "yaml", "mermaid", "console", "python", "sh", "diff", "xml", "html"}


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_page_s_commands_print_what_it_says(name: str, tmp_path: pathlib.Path) -> None:
    made = pages.steps(NAMED[name].read_text())
    for step, got in zip(made, pages.run(made, tmp_path), strict=True):
        assert pages.matches(step.expected, got), (
            f"{name}:{step.line}\n$ {step.shell}\n--- the page says\n{step.expected}\n--- it printed\n{got}"
        )


@pytest.mark.parametrize("name", [n for n in NAMED if n != "README.md"])
def test_a_block_that_is_not_run_calls_only_what_a_test_cannot(name: str) -> None:
    for line, language, body in pages.blocks(NAMED[name].read_text()):
        assert language in UNCHECKED, f"{name}:{line}: {language}"
        if language == "py":  # needs a framework that is no dependency: read, not run
            ast.parse(body)
        if language != "sh":
            continue
        for row in re.sub(r"\\\n", " ", body).splitlines():
            row = row.split("#")[0].strip()
            assert not row or any(row == w or row.startswith(w + " ") for w in NOT_RUN), f"{name}:{line}: {row}"


def _told(text: str) -> str:
    """A reply's words: one space between them, without the ids that differ from run to run."""
    text = re.sub(r'"[0-9a-f]{12}-[0-9a-f]{16}"', '"…"', text)
    return " ".join(re.sub(r' id="\d+"', "", text).split())


def test_the_outputs_in_the_readme_are_the_demo_s(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [sys.executable, "examples/demo.py"], cwd=pages.ROOT, capture_output=True, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = _told(done.stdout)
    outputs = [
        part
        for _, language, body in pages.blocks((pages.ROOT / "README.md").read_text())
        if not language
        for part in body.split("\n\n")
        if not part.startswith("<tool_call")
    ]
    assert outputs
    for part in outputs:
        assert _told(part) in shown, part


def test_the_run_of_pages_sees_a_difference(tmp_path: pathlib.Path) -> None:
    text = "```console\n$ false\n$ echo $?\n1\n$ printf 'a\\nb\\nc\\n'\na\n…\n$ cat <<E\n> x y\n> E\nx …\n```\n"
    made = pages.steps(text + "\n```python\nprint(6 * 7)\n```\n\n```text\n42\n```\n")
    got = pages.run(made, tmp_path)
    assert got == ["", "1\n", "a\nb\nc\n", "x y\n", "42\n"]
    assert all(pages.matches(s.expected, g) for s, g in zip(made, got, strict=True))
    assert not pages.matches("a\n", "a\nb\n") and not pages.matches("", "x\n")
    assert not pages.matches("a…c\n", "a\nc\n") and not pages.matches("a\n…\n", "b\n")


def test_every_metric_that_is_printed_is_explained() -> None:
    text = (pages.ROOT / "docs" / "metrics.md").read_text()
    explained = re.findall(r"^\| `(toolbox_\w+)` \|", text, re.M)
    assert explained and sorted(explained) == sorted(re.findall(r"^# TYPE (\w+) ", text, re.M))


# -- the architecture's drawings ----------------------------------------------------------------

ARCHITECTURE = pages.ROOT / "docs" / "explanation" / "architecture.md"


def _drawing(kind: str) -> str:
    for _, language, body in pages.blocks(ARCHITECTURE.read_text()):
        if language == "mermaid" and f"%% {kind}" in body:
            return body
    raise AssertionError(f"no drawing of {kind}")


def _nodes(drawing: str) -> dict[str, str]:
    """Node id → the module it names, of nodes written `id["module"]`."""
    return dict(re.findall(r'(\w+)\["([\w.]+)(?:<br/>[^"]*)?"\]', drawing))


def _arrows(drawing: str) -> set[tuple[str, str]]:
    nodes = _nodes(drawing)
    return {(nodes[a], nodes[b]) for a, b in re.findall(r"^ *(\w+) --> (\w+) *$", drawing, re.M)}


@pytest.mark.parametrize("kind", ["packages", "processes"])
def test_every_module_in_a_drawing_exists(kind: str) -> None:
    named = re.findall(r"\b(?:toolbox|sandbox)(?:\.[a-z_]+)+", _drawing(kind))
    assert named
    for module in named:
        assert importlib.util.find_spec(module), module


LEFT_OUT = {"toolbox", "toolbox.__main__", "toolbox.errors", "toolbox.limits", "toolbox.version"}
"""Modules that anybody may import."""


def _reach(arrows: set[tuple[str, str]], start: str) -> set[str]:
    """Everything that arrows lead to, one or several."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        here = ahead.pop()
        for source, target in arrows:
            if source == here and target not in reached:
                reached.add(target)
                ahead.append(target)
    return reached


def test_imports_follow_the_drawing_s_arrows_and_each_arrow_is_an_import() -> None:
    drawing = _drawing("packages")
    arrows = _arrows(drawing)
    drawn = sorted(_nodes(drawing).values(), key=len, reverse=True)
    used: set[tuple[str, str]] = set()
    for path in SOURCES:
        owner = next((d for d in drawn if _below(_module(path), d)), None)
        if owner is None:
            assert _module(path) in LEFT_OUT, f"{path} is in no package of the drawing"
            continue
        for module in _imports(ast.parse(path.read_text())):
            target = next((d for d in drawn if _below(module, d)), None)
            if target and target != owner:
                used.add((owner, target))
    assert {(a, b) for a, b in used if b not in _reach(arrows, a)} == set(), "against the arrows"
    assert arrows - used == set(), "drawn and not imported"
    assert not [d for d in drawn if d in _reach(arrows, d)], "the drawing goes in a circle"
