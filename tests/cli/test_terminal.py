"""What a person at a terminal sees: colour, views of diffs, questions, progress."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Shell
from toolbox.cli import unified

OLD = "one\n-- x\ntwo old\nthree\n"
NEW = "one\n-- y\ntwo new\nthree\nfour ＡＢ\n"
PATCH = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n def main():\n-    go()\n+    go(1)\n"
APP = "def main():\n    go()\n"


def _plain(data: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", data.decode())


@pytest.fixture
def files(toolbox: Shell) -> Shell:
    toolbox.write({"a.txt": OLD, "b.txt": NEW, "app.py": APP, "pr.patch": PATCH})
    return toolbox


def test_colour_is_for_terminals(files: Shell) -> None:
    piped = files("diff", "files", "a.txt", "b.txt")
    shown = files.terminal("diff", "files", "a.txt", "b.txt")
    assert b"\x1b" not in piped.out
    assert b"\x1b[36m@@" in shown.out and shown.status == 1
    assert _plain(shown.out) == piped.text
    # A removed line that looks like a header is a removed line.
    assert b"\x1b[31m--- " in shown.out and b"\x1b[1m--- a/a.txt" in shown.out
    # What differs within a line stands out.
    assert b"two \x1b[7mold\x1b[0m" in shown.out


@pytest.mark.parametrize(
    ("words", "env", "colored"),
    [((), {"NO_COLOR": "1"}, False), ((), {"TERM": "dumb"}, False),
     (("--color", "never"), {}, False), (("--color=always",), {"NO_COLOR": "1"}, True)],
)  # fmt: skip
def test_who_says_whether_to_colour(files: Shell, words: tuple[str, ...], env: dict[str, str], colored: bool) -> None:
    shown = files.terminal("diff", "files", "a.txt", "b.txt", *words, **env)
    assert (b"\x1b" in shown.out) is colored
    assert _plain(shown.out) == files("diff", "files", "a.txt", "b.txt").text


def test_stat_and_two_columns(files: Shell) -> None:
    ran = files("diff", "files", "a.txt", "b.txt", "--stat")
    assert (ran.status, ran.text) == (
        1, " a.txt → b.txt | 5 +++--\n 1 file changed, 3 lines added, 2 lines removed\n"
    )  # fmt: skip
    ran = files("diff", "files", "a.txt", "b.txt", "--side-by-side", COLUMNS="40")
    body = ran.text.splitlines()[4:]
    assert body == [
        "1 one                1 one",
        "2 -- x             | 2 -- y",
        "3 two old          | 3 two new",
        "4 three              4 three",
        "                   > 5 four ＡＢ",
    ]
    wide = "".join(chr(0x4E00 + k) for k in range(40))
    files.write({"w.txt": wide + "\n", "v.txt": "x\n"})
    ran = files("diff", "files", "w.txt", "v.txt", "--side-by-side", COLUMNS="60")
    left = [line[2:28].partition(" ")[0] for line in ran.text.splitlines()[4:]]
    assert "".join(left) == wide, "a long line goes on below, nothing is lost"
    assert files("diff", "files", "a.txt", "a.txt", "--stat").text.startswith("identical")
    assert files("diff", "files", "a.txt", "b.txt", "--stat", "--side-by-side").status == 2
    assert files("json", "get", "a.txt", "x", "--stat").status == 2


def test_a_file_s_content_cannot_command_the_terminal(toolbox: Shell) -> None:
    toolbox.write({"a.txt": "x\x1b]0;owned\x07\r\n", "b.txt": "y\n", "c.json": '{"a":"\\u001b[2J"}'})
    shown = toolbox.terminal("diff", "files", "a.txt", "b.txt").out
    assert b"]0;owned\\x07" in shown and b"\x1b]0" not in shown and b"\x07" not in shown
    assert b"\x1b" not in toolbox.terminal("json", "get", "c.json", "a", "--raw").out
    assert toolbox("json", "get", "c.json", "a", "--raw").out == b"\x1b[2J\n"
    assert b"-x\x1b]0;owned\x07\r\n" in toolbox("diff", "files", "a.txt", "b.txt").out


def test_apply_asks_at_a_terminal(files: Shell) -> None:
    ran = files.terminal("diff", "apply", "pr.patch", answers=b"n\n")
    assert ran.status == 0 and b"hunk 1 fits" in ran.out and files.read("app.py").decode() == APP
    assert b"to write: toolbox diff apply pr.patch --write" in ran.out
    ran = files.terminal("diff", "apply", "pr.patch", answers=b"y\n")
    assert ran.status == 0 and files.read("app.py") == APP.replace("go()", "go(1)").encode()
    ident = re.search(rb"to take it back: toolbox diff undo ([0-9a-f-]+) --write\n", ran.out)
    assert ident is not None
    ran = files.terminal("diff", "undo", ident[1].decode(), answers=b"yes\n")
    assert ran.status == 0 and files.read("app.py").decode() == APP


def test_progress_is_for_terminals_and_leaves_nothing(toolbox: Shell) -> None:
    row = '{"k": ' + "[" * 40 + "1.10" + "]" * 40 + "}"
    toolbox.write({"big.json": "[" + ",".join([row] * 60_000) + "]"})
    shown = toolbox.terminal("json", "schema", "big.json", "--sample", "0")
    piped = toolbox("json", "schema", "big.json", "--sample", "0")
    assert piped.err == "" and b"\r" not in piped.out
    assert shown.out == piped.out
    if "\r" in shown.err:  # a machine may be fast
        assert re.match(r"\r[|/\\-] json schema: \d+\.\d s\x1b\[K", shown.err)


def test_counts_decide_what_a_line_is() -> None:
    text = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n same\n\\ No newline at end of file\n--- c"
    kinds = [line.kind for line in unified.read(text)]
    assert kinds == ["file", "file", "hunk", "old", "new", "same", "mark", "file"]
    assert next((f.name, f.added, f.removed) for f in unified.counts(text)) == ("b", 1, 1)
