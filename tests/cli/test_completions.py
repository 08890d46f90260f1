"""Completions in the real shells, the man page, and what a call imports."""

from __future__ import annotations

import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys

import pytest

from tests.cli.conftest import Shell
from toolbox.cli import completions, manual
from toolbox.cli.outline import outlines

CASES = [
    ("toolbox js", {"json"}),
    ("toolbox json g", {"get"}),
    ("toolbox json get resp", {"resp.json"}),
    ("toolbox json get resp.json --ra", {"--raw"}),
    ("toolbox diff revisions --format ", {"names", "stat", "unified"}),
    ("toolbox diff apply --wr", {"--write"}),
    ("toolbox json get --workspace fol", {"folder"}),
    ("toolbox json get --color al", {"always"}),
    ("toolbox attach cl", {"claude-code"}),
    ("toolbox serve --confine re", {"require"}),
    ("toolbox help json k", {"keys"}),
    ("toolbox completions ", {"bash", "zsh", "fish"}),
]


@pytest.fixture
def scripts(toolbox: Shell) -> pathlib.Path:
    toolbox.write({"resp.json": "{}", "folder/x": ""})
    folder = toolbox.folder.parent / "scripts"
    folder.mkdir()
    for shell, name in completions.FILES.items():
        (folder / name).write_text(completions.script(shell))
    return folder


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
def test_bash(toolbox: Shell, scripts: pathlib.Path) -> None:
    program = """
    source "$1"; read -ra COMP_WORDS <<< "$2"; [[ $2 == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); complete -p toolbox > /dev/null && _toolbox
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    for line, expected in CASES:
        done = subprocess.run(
            ["bash", "-c", program, "-", str(scripts / "toolbox.bash"), line],
            cwd=toolbox.folder, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert (set(done.stdout.split()), done.stderr) == (expected, ""), line


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish(toolbox: Shell, scripts: pathlib.Path) -> None:
    for line, expected in CASES:
        program = f"source {scripts / 'toolbox.fish'}; complete -C {completions._f(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", program], cwd=toolbox.folder, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        found = {one.split("\t")[0].rstrip("/") for one in done.stdout.splitlines()}
        assert found == expected, line


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh(toolbox: Shell, scripts: pathlib.Path) -> None:
    """Where one word fits, the line is completed with it."""
    (toolbox.folder.parent / ".zshrc").write_text(
        f"fpath=({scripts} $fpath); autoload -Uz compinit; compinit -u -D\n"
        "setopt NO_BEEP; PS1='> '; bindkey '^I' complete-word\n"
    )
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-i"], cwd=toolbox.folder, stdin=slave, stdout=slave, stderr=slave,
        env={**toolbox.env, "ZDOTDIR": str(toolbox.folder.parent), "TERM": "dumb"},
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)

    def until(wanted: bytes) -> bytes:
        shown = b""
        while wanted not in shown and select.select([master], [], [], 20)[0]:
            shown += os.read(master, 65536)
        return shown

    try:
        until(b"> ")
        for line, expected in CASES:
            if len(expected) == 1:
                whole = f"{line.rpartition(' ')[0]} {next(iter(expected))}".encode()
                os.write(master, line.encode() + b"\t")
                assert whole in until(whole).replace(b"\r", b""), line
                os.write(master, b"\x15\n")
                until(b"> ")
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def test_every_command_and_flag_is_in_each_script_and_the_man_page() -> None:
    page = manual.page().replace("\\-", "-")
    for outline in outlines():
        for word in outline.words:
            assert word in page
        for option in outline.options:
            assert option.flag in page
            for shell in ("bash", "zsh"):
                assert option.flag in completions.script(shell)
            assert f"-l {option.flag[2:]}" in completions.script("fish")


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff here")
def test_the_man_page_is_well_formed() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z"], input=manual.page().encode(), capture_output=True, check=True
    )
    assert done.stderr == b""


HEAVY = ("jsonschema", "re2", "ruamel", "yaml", "pygit2", "pathspec", "markdown_it", "rich", "mcp",
         "asyncio", "argparse", "difflib", "logging")  # fmt: skip


def _imported(toolbox: Shell, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "toolbox", *words], cwd=toolbox.folder,
        capture_output=True, text=True, env=toolbox.env, check=True,
    )  # fmt: skip
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_a_get_imports_only_what_it_needs(toolbox: Shell) -> None:
    toolbox.write({"resp.json": '{"a": [1, 2.50]}'})
    names = _imported(toolbox, "json", "get", "resp.json", "a[1]")
    assert "toolbox.verbs.json.source" in names
    assert not names & set(HEAVY)
    assert not {n for n in names if n.startswith("toolbox.verbs.diff")}


def test_a_call_through_a_daemon_imports_no_engine(toolbox: Shell) -> None:
    """The words are understood and the daemon is looked for before anything else is imported."""
    program = (
        "import sys\n"
        "from toolbox.cli import client\n"
        "client.answer_alone = lambda *a: b'{\"ok\":true,\"result\":1,\"text\":\"x\",\"meta\":{}}'\n"
        "from toolbox.cli.main import run\n"
        "run(['json', 'get', 'resp.json', 'a[1]'])\n"
        "print(*sorted(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=toolbox.folder, capture_output=True, text=True,
        env={**toolbox.env, "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2])}, check=True,
    )  # fmt: skip
    said, _, names = done.stdout.partition("\n")
    assert said == "x" and "sandbox.dial" in names.split()
    ours = {n for n in names.split() if n.startswith(("toolbox.engines", "toolbox.verbs", "toolbox.dispatch"))}
    assert not ours and not set(names.split()) & {*HEAVY, "msgspec", "dataclasses"}
