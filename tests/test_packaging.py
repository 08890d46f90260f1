"""What is shipped: the version in one place, the wheel's contents, the registry's entry, the units."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from toolbox.version import __version__

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str], str]:
    """Names in the wheel and in the sdist, and the wheel's entry points."""
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(out)], cwd=ROOT, check=True,
                   capture_output=True)  # fmt: skip
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    assert f"-{__version__}-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        points = archive.read(next(n for n in names if n.endswith("entry_points.txt"))).decode()
    with tarfile.open(sdist) as tar:
        return names, {n.partition("/")[2] for n in tar.getnames()}, points


def test_the_wheel_holds_the_two_packages_whole_and_nothing_else(built: tuple[set[str], set[str], str]) -> None:
    names, _, points = built
    sources = {str(p.relative_to(ROOT)) for package in ("toolbox", "sandbox")
               for p in (ROOT / package).rglob("*") if p.is_file() and p.suffix != ".pyc"}  # fmt: skip
    assert {n for n in names if ".data/" not in n and ".dist-info/" not in n} == sources
    assert {"toolbox/py.typed", "sandbox/py.typed"} <= names
    assert {n.partition(".data/data/")[2] for n in names if ".data/" in n} == {
        "share/man/man1/toolbox.1",
        "share/bash-completion/completions/toolbox",
        "share/zsh/site-functions/_toolbox",
        "share/fish/vendor_completions.d/toolbox.fish",
    }
    assert re.findall(r"^([\w-]+) = (.*)$", points, re.M) == [
        ("toolbox", "toolbox.__main__:main"), ("workspace-toolbox", "toolbox.__main__:main"),
    ]  # fmt: skip


def test_the_sdist_holds_what_is_needed_to_test_it(built: tuple[set[str], set[str], str]) -> None:
    _, names, _ = built
    assert {"dev.py", "pyproject.toml", "LICENSE", "README.md", "tests/test_packaging.py",
            "examples/runs.json", "docs/index.md"} <= names  # fmt: skip
    assert not [n for n in names if n.startswith((".venv", "site/", ".git/")) or n.endswith(".pyc")]


def test_the_version_stands_in_one_place() -> None:
    server = json.loads((ROOT / "server.json").read_text())
    assert {server["version"], *(p["version"] for p in server["packages"])} == {__version__}
    text = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in text and not re.search(r"^version\s*=", text, re.M)


def test_the_registry_s_entry_starts_a_command_that_exists() -> None:
    server = json.loads((ROOT / "server.json").read_text())
    assert len(server["description"]) <= 100
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    (package,) = server["packages"]
    first, named = package["packageArguments"]
    help_text = subprocess.run(
        [sys.executable, "-m", "toolbox", first["value"], "--help"], capture_output=True, text=True
    ).stdout
    assert named["name"] in help_text
    text = (ROOT / "pyproject.toml").read_text()
    assert f'name = "{package["identifier"]}"' in text
    assert f'\n{package["identifier"]} = "toolbox.__main__:main"' in text
    assert f'server.name="{server["name"]}"' in (ROOT / "packaging" / "Dockerfile").read_text()


def test_the_image_runs_as_a_user_without_rights_and_copies_only_what_is_shipped() -> None:
    lines = (ROOT / "packaging" / "Dockerfile").read_text().splitlines()
    user = next(line for line in lines if line.startswith("USER "))
    assert int(user.split()[1].split(":")[0]) >= 1000
    assert lines.index(user) < next(k for k, x in enumerate(lines) if x.startswith("ENTRYPOINT"))
    kept = {x[1:] for x in (ROOT / ".dockerignore").read_text().splitlines() if x.startswith("!")}
    copied: set[str] = set()
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            copied |= set(line.split()[1:-1])
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)
