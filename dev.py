#!/usr/bin/env python3
"""Every task of this repository, on a machine with Python 3.11 or newer and git.

    python3 dev.py demo     set up, then ask a saved API response and apply a patch
    python3 dev.py test     set up, then run the tests
    python3 dev.py check    lint and types
    python3 dev.py bench    speed against peers, side by side
    python3 dev.py fuzz     long property runs and races
    python3 dev.py docs     regenerate the reference pages
    python3 dev.py site     build the docs site into site/

Everything goes into a virtual environment of its own, `.venv`; the system's Python is not touched.
Words after the task go to the program that does it: `python3 dev.py test tests/wire -k tags`.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VENV = pathlib.Path(os.environ.get("TOOLBOX_VENV") or HERE / ".venv")
PYTHON = VENV / "bin" / "python"
OLDEST = (3, 11)


def run(*command: str | os.PathLike[str], **more: object) -> int:
    """Run a program in the repository; its exit status."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONHOME"}
    return subprocess.run(
        [os.fspath(c) for c in command], cwd=HERE, env=environment, **more
    ).returncode  # type: ignore[call-overload, no-any-return]


def fail(message: str) -> None:
    print(f"dev.py: {message}", file=sys.stderr)
    sys.exit(2)


def interpreter() -> str:
    """A Python that is new enough: this one, or the newest on PATH."""
    if sys.version_info >= OLDEST:
        return sys.executable
    for minor in range(20, OLDEST[1] - 1, -1):
        if found := shutil.which(f"python3.{minor}"):
            return found
    fail(f"expected Python {OLDEST[0]}.{OLDEST[1]} or newer, found {sys.version.split()[0]}")
    raise AssertionError


def make_venv() -> None:
    """A virtual environment with pip in it, also where the system's Python lacks ensurepip."""
    if (
        PYTHON.exists()
        and run(
            PYTHON, "-m", "pip", "--version", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        == 0
    ):
        return
    python = interpreter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if run(python, "-m", "venv", VENV, **quiet) == 0:
        return
    shutil.rmtree(VENV, ignore_errors=True)
    for maker in (
        (shutil.which("uv") or "", "venv", "--seed", "--python", python),
        (shutil.which("virtualenv") or "", "--python", python),
    ):
        if maker[0] and run(*maker, VENV, **quiet) == 0:
            return
    # No ensurepip: a bare environment, filled by the system's own pip from outside.
    if (
        run(python, "-m", "venv", "--without-pip", VENV) == 0
        and run(python, "-m", "pip", "--python", PYTHON, "install", "--quiet", "pip", **quiet) == 0
    ):
        return
    fail(
        f"{python} can make no virtual environment: install its venv package "
        "(python3-venv on Debian and Ubuntu) or uv, then run this again"
    )


def groups() -> dict[str, list[str]]:
    """The dependency groups of pyproject.toml, which pip alone cannot install before 25.1."""
    import tomllib

    found: dict[str, list[str]] = tomllib.loads((HERE / "pyproject.toml").read_text())[
        "dependency-groups"
    ]
    return found


def setup() -> None:
    """Install the project and its tools once for each state of pyproject.toml."""
    make_venv()
    text = (HERE / "pyproject.toml").read_bytes()
    stamp = VENV / "toolbox-setup"
    state = hashlib.sha256(text + str(HERE).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == state:
        return
    print("setting up .venv …", file=sys.stderr, flush=True)
    if run(
        PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--editable",
        HERE,
        *groups()["dev"],
    ):
        fail("pip could not install the project; see above")
    stamp.write_text(state)


def test(words: list[str]) -> int:
    """Run the tests in a short temporary folder: a socket's path has at most 107 bytes."""
    base = tempfile.mkdtemp(prefix="t")
    try:
        words = words or ["-n", "auto", "--dist", "loadfile"]
        return run(PYTHON, "-m", "pytest", f"--basetemp={base}", *words)
    finally:
        run("rm", "-rf", base)


def check(words: list[str]) -> int:
    return run(PYTHON, "-m", "ruff", "check", ".") or run(PYTHON, "-m", "mypy")


def site(words: list[str]) -> int:
    """Build the site; a broken link or a stale reference page ends it."""
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    return (
        run(*pip, *groups()["docs"])
        or run(PYTHON, "-m", "toolbox.reference", "--check")
        or run(PYTHON, "-m", "zensical", "build", "--clean", "--strict", *words)
    )


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if argv else 2
    task, *words = argv
    tasks = {
        "demo": lambda: run(PYTHON, "examples/demo.py", *words),
        "test": lambda: test(words),
        "check": lambda: check(words),
        "bench": lambda: run(PYTHON, "-m", "bench", *words),
        "fuzz": lambda: run(PYTHON, "-m", "bench.fuzz", *words),
        "docs": lambda: run(PYTHON, "-m", "toolbox.reference", *words),
        "site": lambda: site(words),
    }
    if task not in tasks:
        fail(f"no task {task!r}; the tasks are {', '.join(tasks)}")
    if sys.version_info < OLDEST:
        os.execv(interpreter(), [interpreter(), __file__, *argv])
    setup()
    return tasks[task]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
