"""Pages of the docs as programs: their commands, what each is said to print, and the run of them.

A fenced block `console` holds lines `$ command`, continued by lines `> more`, each followed by what
it prints, standard error included. `…` stands for any text within a line, a line that is only `…`
for any lines. A block `python` is a program; a block `text` right after it is what it prints, and
without one it prints nothing. A page is one shell session in a copy of `examples/`, in page order.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
SESSION_SECONDS = 100
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.M | re.S)
_END = "@@end of step"
_DAEMON = """\
toolbox serve --socket --quiet --workers 1 2> /dev/null &
until toolbox status > /dev/null 2>&1; do sleep 0.1; done"""


@dataclass(frozen=True)
class Step:
    """One command of a page. line: where it stands; shell: what bash runs."""

    line: int
    shell: str
    expected: str


def pages() -> list[pathlib.Path]:
    """Every page that people wrote."""
    reference = ROOT / "docs" / "reference"
    below = [p for p in sorted((ROOT / "docs").rglob("*.md")) if reference not in p.parents]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *below]


def blocks(text: str) -> list[tuple[int, str, str]]:
    """Line, language and content of each fenced block."""
    found = []
    for match in _FENCE.finditer(text):
        indent = match[1]
        body = "".join(line.removeprefix(indent) for line in match[3].splitlines(keepends=True))
        found.append((text.count("\n", 0, match.start()) + 1, match[2], body))
    return found


def steps(text: str) -> list[Step]:
    """The steps of a page, in order."""
    made: list[Step] = []
    fenced = blocks(text)
    for k, (line, language, body) in enumerate(fenced):
        if language == "console":
            made += _console(line, body)
        elif language == "python":
            after = fenced[k + 1] if k + 1 < len(fenced) else None
            close = line + body.count("\n") + 1
            said = after and after[1] == "text" and after[0] - close <= 2
            shell = f"python - <<'END_OF_PYTHON'\n{body}END_OF_PYTHON"
            made.append(Step(line, shell, after[2] if after and said else ""))
    return made


def _console(line: int, body: str) -> list[Step]:
    made: list[Step] = []
    for k, row in enumerate(body.splitlines(keepends=True), line + 1):
        if row.startswith("$ "):
            made.append(Step(k, row[2:].rstrip("\n"), ""))
        elif row.startswith("> ") and made and not made[-1].expected:
            made[-1] = Step(made[-1].line, f"{made[-1].shell}\n{row[2:].rstrip()}", "")
        else:
            assert made, f"line {k}: a console block begins with a command: `$ …`"
            last = made[-1]
            made[-1] = Step(last.line, last.shell, last.expected + row)
    return made


def matches(expected: str, got: str) -> bool:
    """Whether the output is what the page says, `…` standing for what it leaves out."""
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += "[^\n]*".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n"
    return re.fullmatch(pattern, got.rstrip("\n") + "\n") is not None


def run(made: list[Step], folder: pathlib.Path) -> list[str]:
    """What each step printed, all run by one bash in a copy of `examples/` below the folder."""
    workspace = folder / "examples"
    shutil.copytree(ROOT / "examples", workspace, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "run").mkdir(mode=0o700)
    (folder / "home").mkdir()
    script = ["exec 2>&1"]
    if not any("toolbox serve" in step.shell for step in made):
        script += [_DAEMON]  # the same bytes, sooner
    for step in made:
        # The status of one step is `$?` of the next, as it is at a terminal.
        script += [step.shell, f"_status=$?; printf '\\n{_END}\\n'; (exit $_status)"]
    script += ["toolbox stop >/dev/null 2>&1"]
    environment = {
        "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(script)], cwd=workspace, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=SESSION_SECONDS,
    )  # fmt: skip
    parts = done.stdout.split(f"\n{_END}\n")
    assert len(parts) == len(made) + 1, f"the session ended early: {parts[-1][-500:]}"
    return parts[:-1]
