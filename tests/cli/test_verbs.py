"""Verbs on the command line: words to arguments, replies to bytes, exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.cli.conftest import Shell

RESP = '{"id": 1.10, "-x": true, "items": [{"name": "a"}, {"name": "ü"}], "from": "here"}\n'
PATCH = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n def main():\n-    go()\n+    go(1)\n"
APP = "def main():\n    go()\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("resp.json", "id"), "1.10\n"),
        (("resp.json", "items[-1].name"), '"ü"\n'),
        (("resp.json", "items[-1].name", "--raw"), "ü\n"),
        (("--raw", "resp.json", "items[-1].name"), "ü\n"),
        (("resp.json", "--raw", "items[-1].name"), "ü\n"),
        (("resp.json", "--path", "items[0].name"), '"a"\n'),
        (("resp.json", "--path=id"), "1.10\n"),
        (("--file", "resp.json", "id"), "1.10\n"),
        (("id", "--file=resp.json"), "1.10\n"),
        (("resp.json", "-x"), "true\n"),
        (("--", "resp.json", "-x"), "true\n"),
        (("--text", "[1, -2]", "[-1]"), "-2\n"),
        (("[-1]", "--text=[1, 1E400]"), "1E400\n"),
        (("--text", "[5]", "--path", "[-1]", "--no-raw"), "5\n"),
        (("resp.json", "from"), '"here"\n'),
        (("resp.json", ""), '{\n"id":1.10,\n"-x":true,\n"items":[{"name":"a"},{"name":"ü"}],\n"from":"here"\n}\n'),
    ],
)
def test_words_reach_the_verb_as_typed(toolbox: Shell, words: tuple[str, ...], expected: str) -> None:
    toolbox.write({"resp.json": RESP})
    ran = toolbox("json", "get", *words)
    assert (ran.status, ran.text, ran.err) == (0, expected, "")


def test_lists_and_json_are_taken_as_typed(toolbox: Shell) -> None:
    ran = toolbox("diff", "sequence", "--left", '["a", 7, null]', "--right", '[7]', "--json")
    ops = [op for hunk in json.loads(ran.out)["result"]["hunks"] for op in hunk["ops"]]
    assert [(o["op"], o["value"]) for o in ops] == [("delete", "a"), ("equal", 7), ("delete", None)]
    ran = toolbox("diff", "sequence", "--left", "a", "--left", "b", "--right", "a", "--json")
    assert [o["value"] for o in json.loads(ran.out)["result"]["hunks"][0]["ops"]] == ["a", "b"]
    toolbox.write({"t.csv": "id,v\n1,a\n", "u.csv": "v,id\nb,1\n"})
    by_name = toolbox("diff", "csv", "t.csv", "u.csv", "--key", "id", "--json")
    by_number = toolbox("diff", "csv", "t.csv", "u.csv", "--key", "1", "--json")
    assert json.loads(by_name.out)["result"] == json.loads(by_number.out)["result"]
    toolbox.write({"v1/a.go": "1", "v1/b.txt": "1", "v2/c.go": "1"})
    ran = toolbox("diff", "dirs", "v1", "v2", "--glob", "*.go", "--glob", "!c.go")
    assert ran.status == 1 and "a.go" in ran.text and "c.go" not in ran.text and "b.txt" not in ran.text


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("json", "validate", "resp.json"), 0),
        (("json", "validate", "--text", "{"), 1),
        (("diff", "files", "resp.json", "resp.json"), 0),
        (("diff", "files", "resp.json", "other.json"), 1),
        (("diff", "text", "a", "a"), 0),
        (("diff", "text", "a", "b"), 1),
        (("diff", "json", "resp.json", "resp.json"), 0),
        (("diff", "json", "resp.json", "other.json"), 1),
        (("diff", "csv", "--before", "a\n1\n", "--after", "a\n2\n"), 1),
        (("diff", "markdown", "--before", "# a\n", "--after", "# b\n"), 1),
        (("diff", "patch", "--before", "a\n", "--after", "b\n"), 1),
        (("diff", "lines", "a", "b"), 1),
        (("diff", "sequence", "--left", "[1]", "--right", "[2]"), 1),
        (("diff", "sequence", "--left", "[1]", "--right", "[1]"), 0),
        (("json", "get", "resp.json", "nope"), 2),
        (("json", "get", "nope.json", "a"), 2),
        (("json", "get", "resp.json"), 2),
        (("json", "get", "resp.json", "id", "more"), 2),
        (("json", "get", "resp.json", "id", "--nope"), 2),
        (("json", "get", "resp.json", "id", "--path"), 2),
        (("json", "keys", "resp.json", "--max-bytes", "many"), 2),
        (("json",), 2),
        (("nope",), 2),
        ((), 2),
    ],
)
def test_exit_statuses(toolbox: Shell, words: tuple[str, ...], status: int) -> None:
    toolbox.write({"resp.json": RESP, "other.json": "{}\n"})
    ran = toolbox(*words)
    assert ran.status == status, ran.err
    assert bool(ran.err) == (status == 2)
    if status == 2:
        assert not ran.out


def test_the_envelope_is_printed_for_errors_too(toolbox: Shell) -> None:
    toolbox.write({"resp.json": RESP})
    ran = toolbox("json", "get", "resp.json", "nope", "--json")
    envelope = json.loads(ran.out)
    assert (ran.status, ran.err, envelope["ok"], envelope["error"]["code"]) == (2, "", False, "E_NO_PATH")
    ran = toolbox("json", "get", "resp.json", "id", "--json")
    assert b'"value":1.10,' in ran.out and ran.out.startswith(b'{"ok":true,"op":"json.get","api":1,')
    ran = toolbox("json", "get", "resp.json", "--json")
    assert (ran.status, json.loads(ran.out)["error"]["code"]) == (2, "E_INVALID_ARG")


def test_standard_input_where_there_is_an_inline_twin(toolbox: Shell) -> None:
    toolbox.write({"resp.json": RESP, "app.py": APP, "new.py": APP.replace("go()", "go(1)")})
    assert toolbox("json", "get", "-", "id", stdin=RESP.encode()).text == "1.10\n"
    assert toolbox("json", "get", "--file", "-", "id", stdin=RESP.encode()).text == "1.10\n"
    assert toolbox("json", "validate", "-", stdin=b"{").status == 1
    assert "hunk 1 fits" in toolbox("diff", "apply", "-", stdin=PATCH.encode()).text
    assert toolbox("diff", "json", "-", "resp.json", stdin=RESP.encode()).status == 0
    assert toolbox("diff", "json", "resp.json", "-", stdin=b"{}").status == 1
    assert "-b\n" in toolbox("diff", "text", "-", "a\n", stdin=b"a\nb\n").text
    ran = toolbox("diff", "files", "-", "new.py", stdin=APP.encode())
    assert ran.status == 1 and "-    go()\n+    go(1)\n" in ran.text
    ran = toolbox("diff", "files", "new.py", "-", stdin=APP.encode())
    assert ran.status == 1 and "-    go(1)\n+    go()\n" in ran.text
    assert toolbox("diff", "files", "app.py", "-", stdin=APP.encode()).status == 0


def test_standard_input_where_it_cannot_be(toolbox: Shell) -> None:
    ran = toolbox("diff", "dirs", "-", "b")
    assert ran.status == 2 and "takes no standard input" in ran.err
    ran = toolbox("diff", "text", "-", "-", stdin=b"x")
    assert ran.status == 2 and "read once" in ran.err
    ran = toolbox("json", "get", "-", "a", stdin=b'{"a": "\xff"}')
    assert ran.status == 2 and "0xff at offset 7, line 1" in ran.err
    ran = toolbox("json", "get", "--text", "-", "")
    assert ran.text == "[\nnull\n]\n", "a flag's inline text is taken as it stands: a YAML list"


def test_a_file_outside_says_how_to_name_another_workspace(toolbox: Shell) -> None:
    outside = toolbox.folder.parent / "x.json"
    outside.write_text("{}")
    ran = toolbox("json", "get", str(outside), "a")
    assert ran.status == 2 and "E_OUTSIDE_WORKSPACE" in ran.err
    assert f"the workspace is {os.path.realpath(toolbox.folder)}; --workspace DIR" in ran.err
    toolbox.write({"sub/f.json": "{}"})
    ran = toolbox("json", "get", "f.json", "", "--workspace", "sub")
    assert (ran.status, ran.text) == (0, "{}\n")
    ran = toolbox("json", "get", "sub/f.json", "", "--workspace", "sub")
    assert ran.status == 2 and "file names are relative to the workspace" in ran.err and ": f.json" in ran.err


def test_apply_and_undo_write_only_when_told(toolbox: Shell) -> None:
    toolbox.write({"app.py": APP, "pr.patch": PATCH})
    ran = toolbox("diff", "apply", "pr.patch")
    assert (ran.status, toolbox.read("app.py").decode()) == (0, APP)
    assert "hunk 1 fits" in ran.text
    assert ran.err.strip() == "toolbox: nothing was written; to write: toolbox diff apply pr.patch --write"
    ran = toolbox("diff", "apply", "pr.patch", "--write", "--json")
    envelope = json.loads(ran.out)
    assert ran.status == 0 and envelope["result"]["applied"]
    assert toolbox.read("app.py") == APP.replace("go()", "go(1)").encode()
    assert toolbox.read("app.py.bak").decode() == APP
    ident = envelope["result"]["undo"]
    ran = toolbox("diff", "undo", ident)
    assert ran.status == 0 and f"toolbox diff undo {ident} --write" in ran.err
    assert toolbox.read("app.py") != APP.encode()
    ran = toolbox("diff", "undo", ident, "--write")
    assert (ran.status, ran.err, toolbox.read("app.py").decode()) == (0, "", APP)


def test_a_refused_patch_tells_every_hunk_and_the_flag_that_helps(toolbox: Shell) -> None:
    toolbox.write({"app.py": "# one\n# two\n" + APP, "pr.patch": PATCH})
    ran = toolbox("diff", "apply", "pr.patch", "--write")
    assert ran.status == 2 and ran.out == b""
    assert "E_PATCH_MISMATCH" in ran.err and 'use "@@ -3,2 +3,2 @@"' in ran.err
    assert "the same call with --relocate" in ran.err
    assert toolbox.read("app.py").decode() == "# one\n# two\n" + APP
    ran = toolbox("diff", "apply", "pr.patch", "--write", "--relocate")
    assert ran.status == 0 and toolbox.read("app.py").decode() == "# one\n# two\n" + APP.replace("go()", "go(1)")


def test_output_is_whole_and_quiet_when_its_reader_leaves(toolbox: Shell) -> None:
    rows = ",\n".join(f'{{"id": {k}, "pad": "{"x" * 90}"}}' for k in range(20_000))
    toolbox.write({"big.json": f"[{rows}]"})
    ran = toolbox("json", "get", "big.json", "[*].id")
    assert ran.text.splitlines()[-1] == "[19999]  19999" and len(ran.text.splitlines()) == 20_001
    cut = toolbox("json", "get", "big.json", "[*].id", "--max-bytes", "500")
    assert len(cut.out) <= 501 and "showing" in cut.text
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "toolbox", "json", "pretty", "big.json"],
        cwd=toolbox.folder, stdout=writing, stderr=subprocess.PIPE, env=toolbox.env,
    )  # fmt: skip
    os.close(writing)
    os.read(reading, 10)
    os.close(reading)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolbox", "json", "get", "big.json", "[0].id"],
            cwd=toolbox.folder, stdout=full, stderr=subprocess.PIPE, env=toolbox.env, check=False,
        )  # fmt: skip
    assert done.returncode == 2 and b"No space left" in done.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_output_is_utf8_in_every_locale(toolbox: Shell, locale: str) -> None:
    toolbox.write({"ü.json": RESP})
    for more in ({}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        ran = toolbox("json", "get", "ü.json".encode(), "items[1].name", LC_ALL=locale, **more)
        assert (ran.status, ran.out) == (0, '"ü"\n'.encode()), ran.err
        ran = toolbox("json", "get", "ü.json".encode(), "items[1].näme".encode(), LC_ALL=locale, **more)
        assert ran.status == 2 and "E_NO_PATH" in ran.err
    ran = toolbox("help", LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert ran.status == 0 and "toolbox COMMAND …" in ran.text


def test_bytes_that_are_not_utf8_are_told_as_such(toolbox: Shell) -> None:
    toolbox.write({"a.txt": b"caf\xe9\n", "b.txt": b"cafe\n"})
    ran = toolbox("diff", "files", "a.txt", "b.txt")
    assert ran.status == 1 and "-caf\\xe9\n+cafe\n" in ran.text
    ran = toolbox("json", "get", b"\xff.json", "a")
    assert ran.status == 2 and "Traceback" not in ran.err
