"""Help that teaches by example, and what a mistyped word meant."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Shell
from toolbox.cli import help
from toolbox.cli.main import COMMANDS
from toolbox.registry import TOOLS, load

VERBS = [(tool, verb) for tool in TOOLS for verb in TOOLS[tool]]


def test_the_top_names_every_command(toolbox: Shell) -> None:
    ran = toolbox("help")
    assert ran.status == 0 and ran.text == toolbox("--help").text == help.top()
    for command in COMMANDS:
        assert f"\n  {command} " in ran.text
    bare = toolbox()
    assert (bare.status, bare.out, bare.err) == (2, b"", help.top())


@pytest.mark.parametrize(("tool", "verb"), VERBS, ids=[f"{t}-{v}" for t, v in VERBS])
def test_a_verb_s_help_shows_every_argument_and_example(tool: str, verb: str) -> None:
    text, record = help.verb_text(tool, verb), load(tool, verb)
    for field in record.args.__struct_encode_fields__:
        flag = "--" + field.replace("_", "-")
        assert field == "dry_run" or flag in text or f"  {field.upper()} " in text
    assert ("--write" in text) == ("dry_run" in record.args.__struct_encode_fields__)
    for example in record.examples:
        assert example.about in text
    assert max(map(len, text.split("examples:")[0].splitlines())) <= help.WIDTH + 4


def test_help_by_three_ways(toolbox: Shell) -> None:
    expected = help.verb_text("json", "get")
    assert toolbox("help", "json", "get").text == expected
    assert toolbox("json", "get", "--help").text == expected
    assert toolbox("json", "get", "f.json", "-h").text == expected
    assert toolbox("help", "json").text == toolbox("json", "--help").text
    assert "toolbox json get resp.json" in toolbox("help", "json").text
    assert "toolbox serve --socket " in toolbox("help", "serve").text


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("jsn get f.json a", "toolbox json get f.json a"),
        ("jsn gte f.json a", "toolbox json get f.json a"),
        ("json gte f.json a", "toolbox json get f.json a"),
        ("get f.json a.b", "toolbox json get f.json a.b"),
        ("aply pr.patch", None),
        ("diff aply pr.patch", "toolbox diff apply pr.patch"),
        ("diff old.txt new.txt", "toolbox diff files old.txt new.txt"),
        ("diff . ..", "toolbox diff dirs . .."),
        ("srve", "toolbox serve"),
        ("help jsn", "toolbox json"),
    ],
)
def test_near_misses(toolbox: Shell, words: str, meant: str | None) -> None:
    ran = toolbox(*words.split())
    assert ran.status == 2 and not ran.out
    assert f"did you mean {meant}?" in ran.err if meant else "no command" in ran.err


def test_a_mistyped_flag_and_a_missing_argument(toolbox: Shell) -> None:
    assert "did you mean --ignore-case?" in toolbox("diff", "files", "a", "b", "--ignore-cas").err
    ran = toolbox("json", "get", "resp.json")
    assert "PATH is missing" in ran.err and "usage: toolbox json get FILE PATH" in ran.err
    ran = toolbox("--json", "json", "get")
    assert ran.status == 2 and "stands before the command" in ran.err


def test_tools_shows_one_verb_by_any_name(toolbox: Shell) -> None:
    one = toolbox("tools", "json", "get").text
    assert one == toolbox("tools", "json-get").text == toolbox("tools", "get").text
    assert "<tool_call name=\"@json\" args='{\"cmd\": \"get\"" in one
    both = toolbox("tools", "json").text
    assert both.startswith("@diff json")
    entries = json.loads(toolbox("tools", "query", "--json").out)
    assert [e["id"] for e in entries] == ["json-query"]
    assert len(json.loads(toolbox("tools", "--json").out)) == len(VERBS)
    assert "did you mean toolbox tools" in toolbox("tools", "qery").err
