"""Attaching a client: its own configuration with our entry in it, every other byte as it was."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbox.cli.attach import CLIENTS, changed
from toolbox.cli.jsonc import NotJsonc, parse, set_member

COMMAND = ["/opt/bin/toolbox", "mcp", "--workspace", "/w s/é"]


@pytest.mark.parametrize("client", CLIENTS)
def test_an_absent_file_gets_the_entry(client: str) -> None:
    text = changed("", CLIENTS[client], COMMAND)
    value = tomllib.loads(text) if CLIENTS[client].toml else json.loads(text)
    for key in CLIENTS[client].keys:
        value = value[key]
    assert value == CLIENTS[client].entry(COMMAND)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_time_changes_nothing(client: str) -> None:
    once = changed("", CLIENTS[client], COMMAND)
    assert changed(once, CLIENTS[client], COMMAND) == once


def test_comments_order_and_commas_survive() -> None:
    before = '{\n    // mine\n    "servers": {\n        "x": {"n": 1.10}, // keep\n    },\n    "z": [1,],\n}\n'
    after = set_member(before, ("servers", "toolbox"), {"command": "c"})
    assert after == (
        '{\n    // mine\n    "servers": {\n        "x": {"n": 1.10}, // keep\n        "toolbox": {\n'
        '            "command": "c"\n        },\n    },\n    "z": [1,],\n}\n'
    )


def test_our_own_entry_is_replaced_in_place() -> None:
    before = '{"a": 1, "m": {"toolbox": {"old": true}, "b": 2} /* c */}'
    after = set_member(before, ("m", "toolbox"), 7)
    assert after == '{"a": 1, "m": {"toolbox": 7, "b": 2} /* c */}'


def test_windows_line_ends_stay() -> None:
    after = set_member('{\r\n\t"a": 1\r\n}\r\n', ("b",), {"c": 2})
    assert after == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}\r\n'


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"a" 1}', '{"mcp": 3}', '{"a": 1} x', "{'a': 1}"], ids=repr
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(NotJsonc):
        changed(text, CLIENTS["opencode"], COMMAND)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), _json, max_size=5), st.sampled_from([None, 2, "\t"]))
def test_any_object_keeps_its_members(value: dict[str, object], indent: object) -> None:
    before = json.dumps(value, indent=indent)  # type: ignore[arg-type]
    if not isinstance(value.get("mcp", {}), dict):
        return
    after = json.loads(changed(before, CLIENTS["opencode"], COMMAND))
    expected = dict(value)
    expected["mcp"] = {**value.get("mcp", {}), "toolbox": CLIENTS["opencode"].entry(COMMAND)}  # type: ignore[dict-item]
    assert after == expected
    assert list(after) == list(expected)


def test_toml_outside_our_table_stays() -> None:
    before = '# top\nmodel = "o"  # m\n\n[mcp_servers.toolbox]\ncommand = "old"\nargs = []\n\n# other\n[mcp_servers.x]\ncommand = "y"\n'
    after = changed(before, CLIENTS["codex"], COMMAND)
    assert after == before.replace(
        'command = "old"\nargs = []\n',
        'command = "/opt/bin/toolbox"\nargs = ["mcp", "--workspace", "/w s/é"]\n'
        'env_vars = ["XDG_RUNTIME_DIR"]\nrequired = true\nstartup_timeout_sec = 30\n',
    )


def test_toml_that_holds_the_server_inline_is_refused() -> None:
    with pytest.raises(ValueError):
        changed('mcp_servers = {toolbox = {command = "x"}}\n', CLIENTS["codex"], COMMAND)


def test_a_scanned_file_has_the_value_that_json_reads() -> None:
    assert parse('\ufeff{"a": [1, {"b": null}], "c": "\\u00e9"}').value == {"a": [1, {"b": None}], "c": "é"}


def _toolbox(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "toolbox", *words], capture_output=True, text=True)


def test_print_shows_and_writes_nothing(tmp_path: pathlib.Path) -> None:
    done = _toolbox("attach", "cursor", "--workspace", str(tmp_path), "--print")
    assert done.returncode == 0 and "+++ .cursor/mcp.json" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_it_asks_for_yes(tmp_path: pathlib.Path) -> None:
    done = _toolbox("attach", "gemini", "--workspace", str(tmp_path))
    assert done.returncode == 1 and "--yes" in done.stderr and list(tmp_path.iterdir()) == []


def test_yes_writes_through_a_link_and_keeps_the_mode(tmp_path: pathlib.Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("{}")
    real.chmod(0o600)
    (tmp_path / "opencode.json").symlink_to("real.json")
    done = _toolbox("attach", "opencode", "--workspace", str(tmp_path), "--yes")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "opencode.json").is_symlink()
    assert os.stat(real).st_mode & 0o777 == 0o600
    assert "toolbox" in json.loads(real.read_text())["mcp"]
