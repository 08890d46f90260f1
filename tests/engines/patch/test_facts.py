"""What a refusal must name: the kind of every mismatch, the format of every foreign text, the repair."""

from __future__ import annotations

import pytest

from tests.engines.patch.memory import Memory, words
from toolbox.engines.patch.verdict import Repairs

APP = (
    b"def load(path):\n    with open(path) as f:\n        return f.read()\n\n\ndef save(path, text):\n"
    b"    with open(path, 'w') as f:\n        f.write(text)\n\n\ndef main():\n    data = load('in.txt')\n"
    b"    save('out.txt', data)\n"
)
HEAD = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n"
GOOD = HEAD + "@@ -1,3 +1,4 @@\n def load(path):\n+    log()\n     with open(path) as f:\n         return f.read()\n"


def one(old: str, new: str = "+x", header: str = "@@ -1 +1 @@") -> str:
    """A patch of one removed line for the file `x`."""
    return f"--- a/x\n+++ b/x\n{header}\n-{old}\n{new}\n"


MISMATCHES = {
    # id: (patch, content of x, kind, what must be said)
    "trailing-blanks-in-patch": (one("a  "), b"a\n", "whitespace-mismatch", ["2 spaces", "none"]),
    "trailing-tab-in-file": (one("a"), b"a\t\n", "whitespace-mismatch", ["1 tab", '"a\\t"']),
    "tab-against-spaces": (one("\ta"), b"    a\n", "whitespace-mismatch", ["tab against spaces", "1 tab", "4 spaces"]),
    "inner-tab": (one("a\tb"), b"a b\n", "whitespace-mismatch", ["tab against spaces"]),
    "indentation": (one("  a"), b"    a\n", "whitespace-mismatch", ["indentation", "2 spaces", "4 spaces"]),
    "crlf-file": (one("a"), b"a\r\n", "crlf-mismatch", ["CRLF", "LF", 'eol: "file"']),
    "crlf-patch": (one("a\r"), b"a\n", "crlf-mismatch", ["CRLF", "LF"]),
    "bom-in-patch": (one("\ufeffa"), b"a\n", "byte-order-mark", ["byte order mark", "EF BB BF"]),
    "bom-in-file": (one("a"), b"\xef\xbb\xbfa\n", "byte-order-mark", ["byte order mark", "line 1"]),
    "double-quotes": (one("say \u201chi\u201d"), b'say "hi"\n', "typographic", ["U+201C", "U+0022", "column 5"]),
    "en-dash": (one("a \u2013 b"), b"a - b\n", "typographic", ["U+2013", "column 3"]),
    "ellipsis": (one("wait\u2026 x"), b"wait... x\n", "typographic", ["U+2026", "column 5"]),
    "no-break-space": (one("a\u00a0b"), b"a b\n", "typographic", ["U+00A0", "column 2"]),
    "zero-width-space": (one("a\u200bb"), b"ab\n", "typographic", ["U+200B", "column 2"]),
    "typographic-file": (one("it's"), "it\u2019s\n".encode(), "typographic", ["U+2019", "column 3", "in the file"]),
    "html": (one("if (a &lt; b &amp;&amp; c)"), b"if (a < b && c)\n", "html-escaped", ["&lt;"]),
    "html-numeric": (one("it&#39;s"), b"it's\n", "html-escaped", ["&#39;"]),
    "html-file": (one("a < b"), b"a &lt; b\n", "html-escaped", ["HTML"]),
    "backslashes": (one('say \\"hi\\"'), b'say "hi"\n', "backslash-escaped", ["backslash"]),
    "line-numbers": (one("12: foo()"), b"foo()\n", "line-numbers", ["line number", '"12: "']),
    "elided": (one("..."), b"a\n", "elided-lines", ["left out", '"..."']),
    "elided-comment": (one("    # ... existing code ..."), b"a\n", "elided-lines", ["left out"]),
    "elided-slashes": (one("// ... rest of the file"), b"a\n", "elided-lines", ["left out"]),
    "elided-html": (one("<!-- ... -->"), b"a\n", "elided-lines", ["left out"]),
    "latin-1": (one("caf\u00e9"), b"caf\xe9\n", "encoding", ["encoding", "\\xe9"]),
    "mojibake": (one("caf\u00c3\u00a9"), "caf\u00e9\n".encode(), "encoding", ["mojibake"]),
    "unicode-form": (one("cafe\u0301"), "caf\u00e9\n".encode(), "encoding", ["NFD", "NFC"]),
    "utf-16": (one("abc"), "abc\n".encode("utf-16"), "encoding", ["UTF-16"]),
    "replacement": (one("caf\ufffd"), b"caf\xe9\n", "encoding", ["U+FFFD"]),
    "newline-in-patch": (one("a"), b"a", "final-newline", ["No newline at end of file", "last line"]),
    "newline-in-file": (one("a\n\\ No newline at end of file"), b"a\n", "final-newline", ["No newline at end of file"]),
    "quotes-only": (one("f('a')"), b'f("a")\n', "context-mismatch", ["only the quotes", "column 3"]),
    "case-only": (one("Foo"), b"foo\n", "context-mismatch", ["upper and lower case"]),
    "past-the-end": (one("a", header="@@ -7 +7 @@"), b"b\n", "beyond-eof", ["7", "1 line"]),
    "applied": (one("old", "+new"), b"new\n", "already-applied", ["already", "line 1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MISMATCHES)
def test_kind(name: str) -> None:
    patch, content, kind, facts = MISMATCHES[name]
    planned = Memory({"x": content}).plan(patch.encode())
    assert planned.refused
    assert planned.files[0].hunks[0].kind == kind
    said = words(planned)
    assert [fact for fact in [*facts, "hunk 1", "x"] if fact not in said] == [], said


FOREIGN = {
    "context": ("*** app.py\t2024-01-01\n--- app.py\t2024-01-02\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "context-diff", ["context", "diff -u"]),
    "normal-change": ("2c2\n< b\n---\n> B\n", "normal-diff", ["normal diff", "diff -u"]),
    "normal-add": ("2a3,4\n> x\n> y\n", "normal-diff", ["normal diff", "diff -u"]),
    "normal-delete": ("5,6d4\n< x\n< y\n", "normal-diff", ["diff -u"]),
    "ed": ("2c\nB\n.\n1d\n", "ed-script", ["ed script", "never run"]),
    "ed-shell": ("!touch x\n1a\nfoo\n.\nw\nq\n", "ed-script", ["ed script"]),
    "rcs": ("d1 2\na4 1\nx\n", "rcs-script", ["RCS"]),
    "begin-patch": ("*** Begin Patch\n*** Update File: app.py\n@@\n-a\n+b\n*** End Patch\n", "begin-patch", ["Begin Patch", "app.py"]),
    "update-file": ("*** Update File: app.py\n@@\n-a\n+b\n", "begin-patch", ["app.py"]),
    "search-replace": ("app.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "search-replace", ["SEARCH/REPLACE"]),
    "combined": ("diff --cc app.py\nindex 1,2..3\n--- a/app.py\n+++ b/app.py\n@@@ -1,1 -1,1 +1,2 @@@\n  a\n++b\n", "combined-diff", ["combined", "app.py"]),
    "binary": ("diff --git a/app.py b/app.py\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n", "binary", ["binary", "app.py"]),
    "binary-differ": ("Binary files a/app.py and b/app.py differ\n", "binary", ["binary", "app.py"]),
    "json-patch": ('[{"op": "replace", "path": "/a", "value": 1}]', "json-patch", ["JSON Patch"]),
    "conflict": ("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n", "conflict-markers", ["conflict"]),
    "word-diff": ("hello [-world-]{+there+}\n", "word-diff", ["word diff"]),
    "raw": (":100644 100644 abc1234 def5678 M\tapp.py\n", "raw-diff", ["--raw"]),
    "stat": (" app.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n", "stat", ["summary"]),
    "empty": ("", "no-patch", ["empty"]),
    "blank": (" \n\n", "no-patch", ["empty"]),
    "prose": ("please rename the function\n", "no-patch", ["no unified diff"]),
    "quoted": ("".join("> " + line + "\n" for line in GOOD.splitlines()), "quoted", ['"> "', "quot"]),
    "quoted-partly": ("On Monday A wrote:\n" + "".join("> " + line + "\n" for line in GOOD.splitlines()), "quoted", ["> "]),
    "indented": ("".join("    " + line + "\n" for line in GOOD.splitlines()), "indented", ["indented by 4"]),
    "numbered": ("".join(f"{k}: {line}\n" for k, line in enumerate(GOOD.splitlines(), 1)), "line-numbers", ["line numbers"]),
    "escaped": (GOOD.replace("\n", "\\n"), "escaped", ["escaped"]),
    "colours": ("\x1b[1mdiff --git a/x b/x\x1b[m\n\x1b[1m--- a/x\x1b[m\n", "colour", ["colour"]),
    "headers-only": ("--- a/app.py\n+++ b/app.py\n", "no-hunk", ["no hunk"]),
    "no-header": ("@@ -1 +1 @@\n-a\n+b\n", "no-file-header", ["patch line 1", "file"]),
    "half-header": ("--- a/app.py\n@@ -1 +1 @@\n-a\n+b\n", "header-pair", ["+++"]),
    "symlink": ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/tmp\n", "symlink", ["120000", "symlink"]),
    "submodule": ("diff --git a/s b/s\nindex 1111111..2222222 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n", "submodule", ["submodule", "160000"]),
    "submodule-added": ("diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 2222222\n", "submodule", ["submodule"]),
    "encoded-mail": ("From: a\nContent-Transfer-Encoding: base64\n\nLS0t\n", "encoded-mail", ["base64"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_format(name: str) -> None:
    patch, kind, facts = FOREIGN[name]
    planned = Memory({"app.py": APP}).plan(patch.encode())
    assert planned.refused
    assert (planned.fault.kind if planned.fault else planned.files[0].kind) == kind
    said = words(planned)
    assert [fact for fact in facts if fact not in said] == [], said


def test_a_utf_16_patch_is_named() -> None:
    assert "UTF-16" in words(Memory({"app.py": APP}).plan(GOOD.encode("utf-16")))


MALFORMED = {
    "too-many": (GOOD.replace("-1,3 +1,4", "-1,9 +1,10"), "counts", ["9 old / 10 new", "3 / 4", "@@ -1,3 +1,4 @@"]),
    "too-few": (GOOD.replace("-1,3 +1,4", "-1,2 +1,3"), "left-over", ["return f.read()", "@@ -1,3 +1,4 @@"]),
    "swapped": (GOOD.replace("-1,3 +1,4", "-1,4 +1,3"), "counts", ["@@ -1,3 +1,4 @@"]),
    "wrong-and-elsewhere": (GOOD.replace("-1,3 +1,4", "-7,9 +7,9"), "counts", ["once", "6 lines higher", "@@ -1,3 +1,4 @@"]),
    "no-numbers": (GOOD.replace("@@ -1,3 +1,4 @@", "@@ def load @@"), "header", ["no line numbers", "@@ -1,3 +1,4 @@"]),
    "bare": (GOOD.replace("@@ -1,3 +1,4 @@", "@@"), "header", ["no line numbers", "@@ -1,3 +1,4 @@"]),
    "one-range": (GOOD.replace("@@ -1,3 +1,4 @@", "@@ -1,3 @@"), "header", ['"@@ -1,3 @@"', "@@ -1,3 +1,4 @@"]),
    "bullets": (GOOD + "- also this\n", "left-over", ["patch line 9", "- also this", "blank line"]),
    "plus-bullets": (GOOD + "+ also this\n", "left-over", ["+ also this"]),
    "indented-prose": (GOOD + "  and so on\n", "left-over", ["and so on"]),
    "lost-after-blank": (GOOD + "\n+    lost()\n", "left-over", ["lost()", "@@ -1,4 +1,6 @@"]),
    "unsigned-context": (GOOD.replace("\n def load", "\ndef load"), "broken-off", ["patch line 5", "def load(path):", "space before it the hunk fits"]),
    "elided": (GOOD.replace("     with open(path) as f:", "..."), "broken-off", ["patch line 7", "left out"]),
    "line-zero": (GOOD.replace("-1,3", "-0,3"), "line-zero", ["line 0", "@@ -1,3 +1,4 @@"]),
    "nothing": (HEAD + "@@ -1 +1 @@\n-def load(path):\n+def load(path):\n", "changes-nothing", ["hunk 1", "nothing"]),
    "mark-inside": (HEAD + "@@ -1,2 +1,3 @@\n def load(path):\n\\ No newline at end of file\n+x\n     with open(path) as f:\n", "newline-mark", ["No newline"]),
    "insertion-disagrees": (HEAD + "@@ -3,0 +3 @@\n+x\n", "starts-disagree", ["@@ -3,0 +4 @@", "@@ -2,0 +3 @@"]),
    "both-null": ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n", "both-missing", ["/dev/null"]),
    "names-differ": (GOOD.replace("+++ b/app.py", "+++ b/main.py"), "inconsistent-names", ["app.py", "main.py", "rename"]),
    "git-line-differs": (GOOD.replace("a/app.py b/app.py", "a/x.py b/x.py"), "inconsistent-names", ["x.py", "app.py"]),
    "half-rename": ("diff --git a/app.py b/b.py\nrename from app.py\n", "names", ["rename to"]),
    "half-mode": ("diff --git a/app.py b/app.py\nold mode 100644\n", "modes", ["new mode"]),
    "create-with-context": ("--- /dev/null\n+++ b/n\n@@ -1 +1,2 @@\n a\n+b\n", "create-with-old-lines", ["new", '"a"']),
    "create-miscounted": ("--- /dev/null\n+++ b/n\n@@ -0,0 +1,9 @@\n+a\n+b\n", "counts", ["@@ -0,0 +1,2 @@"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    patch, kind, facts = MALFORMED[name]
    planned = Memory({"app.py": APP}).plan(patch.encode())
    assert planned.refused and planned.family == "malformed"
    (file,) = planned.files
    kinds = {file.kind} | {h.kind for h in file.hunks}
    assert kind in kinds, kinds
    said = words(planned)
    assert [fact for fact in facts if fact not in said] == [], said


UNDERSTOOD = {
    "crlf-headers": (GOOD.replace("\n", "\r\n"), APP.replace(b"\n", b"\r\n")),
    "noise": ("Index: app.py\n" + "=" * 67 + "\n" + GOOD[GOOD.index("---") :], APP),
    "svn-revision": (GOOD[GOOD.index("---") :].replace("app.py\n", "app.py\t(revision 12)\n"), APP),
    "stamps-with-spaces": (GOOD[GOOD.index("---") :].replace("app.py\n", "app.py 2024-01-02 10:00:00\n"), APP),
    "dot-slash": (GOOD[GOOD.index("---") :].replace("a/app.py", "./app.py").replace("b/app.py", "./app.py"), APP),
    "mnemonic": (GOOD.replace("a/app.py", "i/app.py").replace("b/app.py", "w/app.py"), APP),
    "no-prefix": (GOOD.replace("a/app.py", "app.py").replace("b/app.py", "app.py"), APP),
    "two-folders": (GOOD[GOOD.index("---") :].replace("a/", "old/").replace("b/", "new/"), APP),
    "no-file-lines": (GOOD.replace("--- a/app.py\n+++ b/app.py\n", ""), APP),
    "signature": (GOOD + "-- \n2.40.0\n", APP),
    "fences": ("Here:\n```diff\n" + GOOD + "```\nDone.\n", APP),
    "tilde-fences": ("~~~\n" + GOOD + "~~~\n", APP),
    "bullets-after-blank": (GOOD + "\n- one\n- two\n", APP),
    "section-text": (GOOD.replace("+1,4 @@", "+1,4 @@ class X: @@"), APP),
    "only-in": ("Only in b: z\n" + GOOD[GOOD.index("---") :] + "Only in a: y\n", APP),
    "bom-before": ("\ufeff" + GOOD, APP),
    "blank-lines-between": (GOOD + "\n@@ -11,3 +12,3 @@\n def main():\n-    data = load('in.txt')\n+    data = 1\n     save('out.txt', data)\n", APP),
    "mail": ("From 1 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n- a list\n+ another\n---\n app.py | 1 +\n\n" + GOOD + "-- \n2.40\n\n", APP),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_understood(name: str) -> None:
    patch, content = UNDERSTOOD[name]
    memory = Memory({"app.py": content})
    after = memory.after(memory.plan(patch.encode()))
    assert b"def load(path):" in after["app.py"] and b"    log()" in after["app.py"]
    assert after["app.py"].count(b"\r") in (0, after["app.py"].count(b"\n"))


def test_what_was_ignored_is_told_with_its_lines() -> None:
    planned = Memory({"app.py": APP}).plan(f"Here is it:\n\n```diff\n{GOOD}```\n\nIt logs.\n".encode())
    assert [(s.first_line, s.last_line) for s in planned.ignored] == [(1, 3), (12, 14)]


def test_relocate_takes_one_other_place_only() -> None:
    moved = Memory({"app.py": b"# one\n# two\n" + APP})
    assert moved.plan(GOOD.encode()).refused
    planned = moved.plan(GOOD.encode(), repairs=Repairs(relocate=True))
    assert moved.after(planned)["app.py"] == b"# one\n# two\n" + APP.replace(b"path):\n    with", b"path):\n    log()\n    with", 1)
    assert "2 lines lower" in words(planned)
    twice = Memory({"app.py": b"# one\n" + APP + APP})
    planned = twice.plan(GOOD.encode(), repairs=Repairs(relocate=True))
    assert planned.refused and "2 places" in words(planned)


def test_relocate_never_applies_twice() -> None:
    """A hunk that is applied already is not applied again to a copy of its old lines."""
    applied = APP.replace(b"path):\n    with", b"path):\n    log()\n    with", 1)
    memory = Memory({"app.py": applied + APP})
    planned = memory.plan(GOOD.encode(), repairs=Repairs(relocate=True))
    assert planned.refused and planned.files[0].kind == "already-applied"


def test_relocated_hunks_may_not_cross() -> None:
    second = "@@ -11,3 +12,3 @@\n def main():\n-    data = load('in.txt')\n+    data = 1\n     save('out.txt', data)\n"
    moved = b"\n".join(APP.split(b"\n")[10:13]) + b"\n\n" + b"\n".join(APP.split(b"\n")[:10]) + b"\n"
    memory = Memory({"app.py": moved})
    planned = memory.plan((GOOD + second).encode(), repairs=Repairs(relocate=True))
    assert planned.refused and "before hunk 1" in words(planned)


def test_recount_takes_the_body_as_it_is() -> None:
    memory = Memory({"app.py": APP})
    for numbers in ("-1,9 +1,9", "-1,2 +1,3", "-1 +1"):
        patch = GOOD.replace("-1,3 +1,4", numbers).encode()
        assert memory.plan(patch).refused
        planned = memory.plan(patch, repairs=Repairs(recount=True))
        assert b"log()" in memory.after(planned)["app.py"]
        assert "corrected" in words(planned)


def test_the_files_own_ends_are_written() -> None:
    mixed = b"a\r\nb\nc\r\nd\n"
    memory = Memory({"x": mixed})
    patch = b"--- a/x\n+++ b/x\n@@ -1,4 +1,5 @@\n a\n+after a\n-b\n+B\n c\n d\n"
    planned = memory.plan(patch, repairs=Repairs(file_ends=True))
    assert memory.after(planned)["x"] == b"a\r\nafter a\r\nB\nc\r\nd\n"


def test_names_with_every_kind_of_escape() -> None:
    name = 'ta\tb "q" \\ é\x07'
    quoted = '"{}/ta\\tb \\"q\\" \\\\ \\303\\251\\a"'
    old, new = quoted.format("a"), quoted.format("b")
    patch = f"diff --git {old} {new}\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n"
    memory = Memory({name: b"a\n"})
    assert memory.after(memory.plan(patch.encode())) == {name: b"b\n"}


def test_a_missing_file_is_told_with_the_strip_that_finds_it() -> None:
    memory = Memory({"app.py": APP, "lib/x": b"a\n"})
    deep = GOOD.replace("a/app.py", "a/proj/app.py").replace("b/app.py", "b/proj/app.py")
    assert "strip: 2" in words(memory.plan(deep.encode()))
    assert "strip: 0" in words(memory.plan(b"--- lib/x\n+++ lib/x\n@@ -1 +1 @@\n-a\n+b\n", strip=1))


def test_two_changes_of_one_file_are_refused() -> None:
    memory = Memory({"app.py": APP, "b": b"b\n"})
    move = "diff --git a/app.py b/{0}\nsimilarity index 100%\nrename from app.py\nrename to {0}\n"
    for patch in (GOOD + GOOD, move.format("x") + GOOD, GOOD + move.format("x"), move.format("x") + move.format("y")):
        planned = memory.plan(patch.encode())
        assert planned.refused and "app.py" in words(planned)
    copy = "diff --git a/app.py b/c.py\nsimilarity index 100%\ncopy from app.py\ncopy to c.py\n"
    after = memory.after(memory.plan((copy + GOOD).encode()))
    assert after["c.py"] == APP and b"log()" in after["app.py"]


def test_epoch_stamps_create_and_delete() -> None:
    memory = Memory({"old": b"a\n"})
    patch = (
        "diff -ruN a/new b/new\n--- a/new\t1970-01-01 01:00:00.000000000 +0100\n+++ b/new\t2024-01-01 00:00:00.0 +0100\n@@ -0,0 +1 @@\n+n\n"
        "--- a/old\t2024-01-01 00:00:00.0 +0100\n+++ b/old\t1969-12-31 19:00:00.000000000 -0500\n@@ -1 +0,0 @@\n-a\n"
    )
    assert memory.after(memory.plan(patch.encode())) == {"new": b"n\n"}


def test_hostile_repetition_is_bounded() -> None:
    """Lines that all match, and hunks that all fail, cost time in their size only."""

    class Steps:
        taken = 0

        def check(self) -> None:
            self.taken += 1

    from toolbox.engines.patch.outcome import Options
    from toolbox.engines.patch.parse import parse
    from toolbox.engines.patch.plan import plan

    memory = Memory({"x": b"x\n" * 300_000})
    long = b"--- a/x\n+++ b/x\n@@ -5,20001 +5,20001 @@\n" + b" x\n" * 20_000 + b"-y\n+z\n"
    many = b"--- a/x\n+++ b/x\n" + b"".join(b"@@ -%d +%d @@\n-y\n+z\n" % (k, k) for k in range(1, 4000))
    for patch in (long, many):
        steps = Steps()
        planned = plan(parse(patch), memory.state, Options(), clock=steps)
        assert planned.refused
        assert 0 < steps.taken < 2_000
