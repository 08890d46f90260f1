"""What the fuzzer feeds: grammars broken on purpose, mutated documents, names that lead out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

LONG: Final = (
    "".join(f"line {k}\n" for k in range(900)),
    "".join(f"line {k}{'!' if k % 9 == 0 else ''}\n" for k in range(900)),
)

FILES: Final[dict[str, bytes]] = {
    "doc.json": b'{"a":{"b":[1.10,{"c":null,"d.e":"x"},[]]},"*":[{"k":1},{"k":-0}],"":{"":1},"n":1E400,'
    b'"\xc3\xa9":"\\ud83d","a.b":2,"dup":1,"dup":2}',
    "rows.json": json.dumps(
        [{"n": k, "s": f"v{k}", "o": {"p": [k, None]}, "t": k % 2 == 0} for k in range(20)]
        + [None, 1.5, "x", {"": 0, "a b": "&&", "n": "1e0"}]
    ).encode(),
    "conf.yaml": b"a: &x {b: [1, 0x1F, .inf, 1:20]}\nc: *x\nd: !Ref y\n? [1]\n: z\non: NO\n",
    "a.txt": b"one\ntwo\nthree\nfour\nfive\n",
    "b.txt": b"one\r\ntwo\r\n\tthree\r\n",
    "sub/c.txt": b"\xef\xbb\xbfx\ny",
    "empty.txt": b"",
    "bytes.bin": b"\0\xff\xfe",
    "long-a.txt": LONG[0].encode(),
    "long-b.txt": LONG[1].encode(),
    **{f"trees/a/d{k % 3}/f{k}": b"x\n" for k in range(30)},
    **{f"trees/b/d{k % 3}/f{k}": b"%d\n" % k for k in range(0, 60, 2)},
}


def dump(value: Any) -> bytes:
    """JSON as a door may hand it over: lone surrogates as escapes, numbers as Python has them."""
    return json.dumps(value).encode()


def _broken(pieces: Sequence[str], most: int = 12) -> st.SearchStrategy[str]:
    """Pieces of a grammar in any order, with strange characters between them."""
    piece = st.one_of(
        st.sampled_from(list(pieces)), st.sampled_from(list(pieces)), st.text(max_size=3)
    )
    return st.lists(piece, max_size=most).map("".join)


@st.composite
def _mutated(draw: st.DrawFn, valid: st.SearchStrategy[str], pieces: Sequence[str]) -> str:
    """A valid text with a few places cut, doubled, swapped or filled with pieces of its grammar."""
    text = draw(valid)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        to = min(at + draw(st.integers(0, 8)), len(text))
        action = draw(st.integers(0, 3))
        if action == 0:
            text = text[:at] + text[to:]
        elif action == 1:
            text = text[:to] + text[at:]
        elif action == 2:
            text = text[:at] + draw(st.sampled_from(list(pieces))) + text[at:]
        else:
            text = text[:at] + draw(st.characters()) + text[to:]
    return text


@st.composite
def _bytes(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> bytes:
    """The text as bytes: UTF-8, sometimes with a mark, another encoding, or a byte that breaks it."""
    raw = draw(texts).encode("utf-8", "surrogatepass")
    kind = draw(st.integers(0, 15))
    if kind == 0:
        raw = b"\xef\xbb\xbf" + raw
    elif kind == 1:
        raw = raw.decode("utf-8", "replace").encode(draw(st.sampled_from(["utf-16", "utf-32"])))
    elif kind == 2:
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(st.binary(max_size=2)) + raw[at:]
    elif kind == 3:
        raw = raw.replace(b"\n", b"\r\n")
    return raw


NUMBERS: Final = (
    "0", "-0", "1.10", "1E400", "-1e-400", "12345678901234567890123", "1e", "01", "+1", ".5", "0x1F",
    "9" * 400, "1e" + "9" * 30, "NaN", "Infinity", "1_000", "0o17", ".inf", "1:20", "2001-01-01",
)  # fmt: skip

SCALARS: Final = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-3, 300), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["", ".", "..", "a", "*", "$", "\0", "\ud800", "x" * 3000, "é", "\u202e", -1, 2**63, 2**64, 10**300]),
)  # fmt: skip

VALUES: Final = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)

# -- the wire --

_TAG_PIECES: Final = (
    "<tool_call", "</tool_call>", "<tool_call>", "<TOOL_CALL", ' name="@json"', " name='@diff'", " name=json",
    ' name="@jsn"', ' id="1"', " id='&lt;'", " args='", ' args="', "args={", '{"cmd":"get","args":{',
    '{"cmd":"keys","args":{"text":"{}"}}', '"text":"[1]"', ',"path":"[0]"', "}}", "'", '"', " />", "/>", ">",
    "&quot;", "&#34;", "\\\"", "\\n", "\n", "\n\n", "`", "```", "~~~\n", "```\n", "<think>", "</think>", "<!--", "-->",
    "<tool_result ", "</tool_result>", "{'cmd': 'get', 'args': {'text': '1'}}", "\u201c", "    ", "> ", "- ",
    '{"name":"@json","arguments":{"cmd":"get"}}', "True", "\0", "\\`", "<", "a",
)  # fmt: skip
_GOOD_TAG: Final = st.sampled_from(
    [
        """<tool_call name="@json" args='{"cmd":"get","args":{"text":"[1,2]","path":"[1]"}}' />""",
        '<tool_call name="@diff">{"cmd":"text","args":{"a":"x","b":"y"}}</tool_call>',
        """<tool_call>{"name":"@json","arguments":{"cmd":"keys","text":"{}"}}</tool_call>""",
        """<tool_call id="7" args="{&quot;cmd&quot;:&quot;validate&quot;,&quot;text&quot;:&quot;{&quot;}" name="json"/>""",
        """text\n```\n<tool_call name="@json" args='{"cmd":"get"}' />\n```\n""",
    ]
)
MESSAGES: Final = st.tuples(
    _bytes(
        st.one_of(
            _broken(_TAG_PIECES, 25),
            _mutated(st.lists(_GOOD_TAG, max_size=3).map("\n".join), _TAG_PIECES),
        )
    ),
    st.lists(st.integers(0, 5000), max_size=6),
)

_LINE_PIECES: Final = (
    "{", "}", "[", "]", ":", ",", '"id"', '"name"', '"args"', '"cmd"', '"message"', '"@json"', '"get"', '"text"',
    '"[1]"', "1", "1.10", "null", '"', "\\u0022", "\\ud800", " ", '{"a":1,"a":2}', "1" * 500, "1e999", "-0",
)  # fmt: skip
_GOOD_LINE: Final = st.sampled_from(
    [
        '{"id":1,"name":"@json","args":{"cmd":"get","args":{"text":"[1]","path":"[0]"}}}',
        '{"id":"x","message":"<tool_call name=\\"@json\\" args=\'{}\' />"}',
        '{"name":"diff","args":{"cmd":"text","a":"1","b":"2"}}',
        '{"id":1e0,"name":"@json","args":{"cmd":"validate","text":"\\ud800"}}',
    ]
)
LINES: Final = _bytes(st.one_of(_broken(_LINE_PIECES, 20), _mutated(_GOOD_LINE, _LINE_PIECES)))

FRAMES: Final = st.tuples(st.lists(st.binary(max_size=300), max_size=4), st.binary(max_size=12))

# -- grammars --

_PATH_PIECES: Final = (
    "a", "b", "*", "[*]", "[0]", "[-1]", "[99999999999999999999]", ".", "..", "$", "/", "~0", "~1", "[", "]", '["a.b"]',
    "['*']", '["', "\\.", "\\", '"]', "a.b", "dup", "\xe9", "[0x1]", "[1", "[-]", "[+1]", " ", "\0", "0", "['\\u0041']",
)  # fmt: skip
PATHS: Final = st.one_of(_broken(_PATH_PIECES), st.text(max_size=20))

_WHERE_PIECES: Final = (
    "n", "s", "o.p[0]", "o.*", "t", "=", "==", "!=", "~", "!~", "<", "<=", ">", ">=", "!", "&&", " && ", '"', '"&&"',
    "1", "1.0", "1e0", "v1", "true", "null", "(?i)", "(", ")", "[", "]", "*", "+", "{9999}", "(a+)+$", "(?=x)", "\\1",
    "\\", "\\p{L}", ".", " ", '"\\ud800"', "9" * 100, "1e999999999", '["a b"]', "|", "^", "$", "\0",
)  # fmt: skip
WHERES: Final = st.one_of(_broken(_WHERE_PIECES), st.text(max_size=20))

# -- documents --

_JSON_VALID: Final = VALUES.map(lambda v: json.dumps(v, ensure_ascii=False))
_JSON_PIECES: Final = (
    "{", "}", "[", "]", ",", ":", '"', "'", "\\", "\\u", "\\ud83d", "//", "/*", "null", "True", "undefined", "\n", "\t",
    "[" * 50, "{\"a\":" * 40, '"a":1,"a":2', "\ufeff", "\0", "{{", *NUMBERS,
)  # fmt: skip
JSON: Final = _bytes(
    st.one_of(
        _mutated(_JSON_VALID, _JSON_PIECES), _broken(_JSON_PIECES, 20),
        st.integers(900, 1100).map(lambda n: "[" * n + "]" * n),
        st.integers(900, 1100).map(lambda n: '{"a":' * n + "1" + "}" * n),
    )
)  # fmt: skip
JSON_LINES: Final = _bytes(st.lists(_mutated(_JSON_VALID, _JSON_PIECES), max_size=5).map("\n".join))

_YAML_PIECES: Final = (
    "a: ", "b:", "- ", "  ", "\n", "\n  ", "&x ", "*x", "*y", "<<: ", "? ", ": ", "!Ref ", "!!str ", "!!binary ", "!!set ",
    "| \n", ">-\n", "'", '"', "{", "}", "[", "]", ",", "#", "---\n", "...\n", "%YAML 1.1\n", "%TAG ! x\n", "\t", "null",
    "~", "on", "NO", "@", "`", "&", "*", "!", "\\x", "\\u0041", "\ud800", "\x85", "\u2028", "\0", "<<: [*x, *x]", *NUMBERS,
)  # fmt: skip
_YAML_VALID: Final = st.sampled_from(
    [
        "a: &x\n  b: [1, 2]\n  c: {d: e}\nf:\n  <<: *x\n  b: 3\n",
        "- 'it''s'\n- \"\\u00e9\\n\"\n- |\n  block\n   more\n- >-\n  folded\n  text\n",
        "--- 1\n---\na: 2\n...\n--- [x]\n",
        "? {a: 1}\n: [b]\n!Ref c: !!str 1\nd: ~\n",
        "a: &a [1,1,1,1]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: [*c,*c,*c]\n",
    ]
)
YAML: Final = _bytes(st.one_of(_mutated(_YAML_VALID, _YAML_PIECES), _broken(_YAML_PIECES, 20)))

# -- tables, texts, patches --

_CSV_PIECES: Final = (
    "id", "name", "1", "2", ",", ";", "\t", "\n", "\r\n", "\r", '"', '""', '"a,b"', '"a\nb"', " ", "\ufeff", "\0", "|", "\xe9",
)  # fmt: skip
_CSV_TEXT: Final = st.one_of(
    _broken(_CSV_PIECES, 20),
    _mutated(st.sampled_from(["id,name\n1,Al\n2,Bo\n", "a;b\n1;2\n\n3\n", '"x,y",z\n"1\n2",3\n']), _CSV_PIECES),
)  # fmt: skip
TABLES: Final = st.tuples(
    _CSV_TEXT,
    _CSV_TEXT,
    st.fixed_dictionaries(
        {},
        optional={
            "key": st.one_of(st.sampled_from(["id", "name", ["id", "name"], [0], 0, ["x"]]), SCALARS),
            "delimiter": st.one_of(st.sampled_from([",", ";", "tab", "\t", "auto", "\n", '"']), st.text(max_size=2)),
            "ignore_case": st.booleans(),
            "ignore_whitespace": st.booleans(),
        },
    ),
)  # fmt: skip

_TEXT_PIECES: Final = (
    "one\n", "two\n", "# H\n", "## H\n", "| a | b |\n", "|---|---|\n", "- x\n", "```\n", "> q\n", "\r\n", "\r", "\x0b", "\x0c", "\x85",
    "\u2028", "\0", "\ufeff", "a", " ", "\t", "é", "e\u0301", "\U0001f600", "<b>", "[l](u)", "    code\n", "\\ No newline at end of file\n",
    "-- \n", "+x\n", "-x\n", "@@ -1 +1 @@\n",
)  # fmt: skip
_TEXT: Final = _broken(_TEXT_PIECES, 20)
TEXTS: Final = st.tuples(
    _TEXT,
    _TEXT,
    st.fixed_dictionaries(
        {},
        optional={
            "context": st.integers(0, 60),
            "ignore_whitespace": st.one_of(st.booleans(), st.sampled_from(["all", "change", "eol", "none"])),
            "ignore_case": st.booleans(),
            "format": st.sampled_from(["unified", "structured", "both"]),
            "max_bytes": st.integers(200, 500),
        },
    ),
)  # fmt: skip

_PATCH_PIECES: Final = (
    "--- a/a.txt\n", "+++ b/a.txt\n", "--- /dev/null\n", "+++ /dev/null\n", "+++ b/new.txt\n", "--- a/sub/c.txt\n",
    "+++ b/../canary\n", "+++ /etc/x\n", "+++ b/out\n", "+++ b/up/x\n", "+++ b/.git/hooks/x\n", "diff --git a/a.txt b/a.txt\n",
    "index 1234567..89abcde 100644\n", "new file mode 100755\n", "new file mode 120000\n", "deleted file mode 100644\n",
    "rename from a.txt\n", "rename to z.txt\n", "copy from a.txt\n", "copy to ../z\n", "similarity index 100%\n", "old mode 100644\n",
    "new mode 100755\n", "@@ -1 +1 @@\n", "@@ -1,2 +1,2 @@\n", "@@ -0,0 +1 @@\n", "@@ -5,1 +5,0 @@\n", "@@ -1,99999999999 +1 @@\n",
    "@@ @@\n", " one\n", "-one\n", "+ONE\n", "-two\n", "+two!\n", " three\n", "\n", "\\ No newline at end of file\n", "GIT binary patch\n",
    "*** Begin Patch\n", "*** a.txt\n", "1c1\n", "< one\n", "---\n", "> ONE\n", "```diff\n", "```\n", "+++ \"b/a\\303\\251.txt\"\n",
    "\r\n", "\0", "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "diff --cc a.txt\n", "Only in x: y\n", "1d\n.\nw\n",
)  # fmt: skip
_PATCH_VALID: Final = st.sampled_from(
    [
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -4,2 +4,3 @@\n four\n five\n+six\n",
        "--- /dev/null\n+++ b/new/n.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n",
        "--- a/a.txt\n+++ /dev/null\n@@ -1,5 +0,0 @@\n-one\n-two\n-three\n-four\n-five\n",
        "diff --git a/a.txt b/sub/moved.txt\nsimilarity index 80%\nrename from a.txt\nrename to sub/moved.txt\n"
        "--- a/a.txt\n+++ b/sub/moved.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n",
        "diff --git a/a.txt b/copy.txt\ncopy from a.txt\ncopy to copy.txt\n",
        "diff --git a/empty.txt b/empty.txt\nold mode 100644\nnew mode 100755\n",
        "--- a/sub/c.txt\n+++ b/sub/c.txt\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+z\n",
        "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n",
    ]
)
PATCHES: Final = st.one_of(
    _mutated(st.lists(_PATCH_VALID, min_size=1, max_size=2).map("".join), _PATCH_PIECES),
    _broken(_PATCH_PIECES, 14),
)

CURSORS: Final = st.tuples(
    st.text(max_size=30),
    st.sampled_from(["text", "files", "dirs"]),
    st.lists(st.tuples(st.integers(0, 300), st.one_of(st.integers(32, 126), st.integers(0, 0x2FFF))), max_size=3),
)  # fmt: skip

_REVISION_PIECES: Final = (
    "main", "v1", "HEAD", "@", "@{0}", "@{-1}", "@{u}", "~", "^", "~1", "^0", "^{tree}", "^{commit}", "^{/one}", ":/two",
    ":a.txt", "..", "...", "WORKTREE", "refs/heads/main", "refs/../HEAD", "/", "-", "--all", "4b825dc", "0" * 40, "f" * 40,
    "^@", "^!", "~99999999999", "\0", "\ud800", " ",
)  # fmt: skip
_REVISION: Final = st.one_of(
    st.sampled_from(["main", "main~1", "v1", "HEAD", "WORKTREE"]), _broken(_REVISION_PIECES, 4)
)
REVISIONS: Final = st.fixed_dictionaries(
    {"from": _REVISION, "to": _REVISION},
    optional={
        "format": st.sampled_from(["unified", "stat", "name-status", "names", "summary"]),
        "paths": st.lists(st.one_of(st.sampled_from(["a.txt", "sub", "..", "", "*", ":(glob)*"]), st.text(max_size=4)), max_size=3),
        "context": st.integers(-1, 30),
        "limit": st.integers(0, 4),
        "max_bytes": st.integers(0, 3000),
        "cursor": st.text(max_size=20),
    },
)  # fmt: skip

_NAME_PIECES: Final = (
    "a.txt", "sub", "c.txt", "..", ".", "/", "//", "out", "up", "canary", "ws", "doc.json", ".git", "trees", "a", "/etc/passwd", "/proc/self",
    "\0", "\ud800", "\udcff", "\udc2e\udc2e", "x" * 255, "x" * 256, "%2e%2e", "\\", "~", "*", "\u2024\u2024", "\uff0e\uff0e",
)  # fmt: skip
_NAME: Final = st.one_of(
    st.lists(st.sampled_from(_NAME_PIECES), max_size=6).map("/".join), _broken(_NAME_PIECES, 6)
)
NAMES: Final = st.tuples(_NAME, st.one_of(_NAME, st.just("a.txt")))


def with_names(name: str, other: str) -> list[tuple[str, str, dict[str, Any]]]:
    """A file name in every argument that takes one; nothing is written."""
    header = f"--- a/{name}\n+++ b/{other}\n@@ -1 +1 @@\n-one\n+ONE\n"
    moved = f"diff --git a/{name} b/{other}\nsimilarity index 100%\nrename from {name}\nrename to {other}\n"
    hunk = "@@ -1 +1 @@\n-one\n+ONE\n"
    return [
        ("json", "get", {"file": name, "path": ""}),
        ("json", "keys", {"file": name}),
        ("json", "query", {"file": name, "where": "a"}),
        ("json", "schema", {"file": name}),
        ("json", "validate", {"file": name}),
        ("json", "validate", {"text": "{}", "schema": name}),
        ("json", "pretty", {"file": name}),
        ("diff", "files", {"a": name, "b": other}),
        ("diff", "dirs", {"a": name, "b": other}),
        ("diff", "dirs", {"a": "trees/a", "b": "trees/b", "glob": name}),
        ("diff", "json", {"a": name, "b": other}),
        ("diff", "csv", {"a": name, "b": other}),
        ("diff", "markdown", {"a": name, "b": other}),
        ("diff", "patch", {"a": name, "b": other}),
        ("diff", "revisions", {"from": "HEAD", "to": "WORKTREE", "paths": [name]}),
        ("diff", "apply", {"patch": header}),
        ("diff", "apply", {"patch": moved}),
        ("diff", "apply", {"patch": hunk, "file": name}),
        ("diff", "apply", {"patch_file": name}),
        ("diff", "undo", {"id": name}),
    ]
