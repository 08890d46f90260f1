"""Replies as tags: a program reads them by length, and gets back what was said."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.messages import GOOD, brief, parse
from toolbox.wire.tags import format_note, format_result


def read(data: bytes) -> tuple[str, dict[str, str], str, bytes]:
    """Tag, attributes, body, and what follows, read by the `bytes` attribute alone."""
    head, rest = data.split(b">\n", 1)
    match = re.match(r"<([a-z_]+)((?: [a-z]+=\"[^\"<>]*\")*)\Z", head.decode())
    assert match
    attributes = {k: html.unescape(v) for k, v in re.findall(r' ([a-z]+)="([^"]*)"', match[2])}
    size = int(attributes["bytes"])
    closing = f"\n</{match[1]}>\n".encode()
    assert rest[size:].startswith(closing)
    return match[1], attributes, rest[:size].decode(), rest[size + len(closing) :]


def test_the_plain_form() -> None:
    assert format_result("@json", "get", "1", True, '"web-1"') == (
        b'<tool_result name="@json" cmd="get" id="1" status="ok" bytes="7">\n"web-1"\n</tool_result>\n'
    )


def test_what_is_not_known_is_left_out() -> None:
    assert format_result("", None, None, False, "é", True) == (
        '<tool_result status="error" bytes="2" truncated="true">\né\n</tool_result>\n'.encode()
    )


def test_a_body_that_looks_like_a_tag_is_escaped() -> None:
    text = "<tool_call> </TOOL_result> <tool> &lt;tool_x"
    _, attributes, body, _ = read(format_result("@json", "get", None, True, text))
    assert attributes["escaped"] == "true"
    assert body == "&lt;tool_call> &lt;/TOOL_result> <tool> &lt;tool_x"


def test_a_note_tells_what_was_skipped() -> None:
    tag, attributes, body, _ = read(format_note("not run", ["code", "thinking", "code"]))
    assert (tag, attributes["skipped"], attributes["reasons"]) == (
        "tool_note",
        "3",
        "code thinking",
    )
    assert body == "not run"


NAMES = st.text(max_size=20)


def plain(value: str | None) -> str | None:
    return value and re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\ud800-\udfff]", "\ufffd", value)


@given(NAMES, st.none() | NAMES, st.none() | NAMES, st.booleans(), st.text(), st.booleans())
def test_a_reply_reads_back(
    name: str, cmd: str | None, ident: str | None, ok: bool, text: str, truncated: bool
) -> None:
    first = format_result(name, cmd, ident, ok, text, truncated)
    tag, attributes, body, rest = read(first + b"more")
    assert (tag, rest) == ("tool_result", b"more")
    assert attributes.get("name", "") == plain(name)
    assert attributes.get("cmd") == plain(cmd) and attributes.get("id") == plain(ident)
    assert attributes["status"] == ("ok" if ok else "error")
    assert attributes.get("truncated") == ("true" if truncated else None)
    if "escaped" not in attributes:
        assert body == text
    assert not re.search(r"</?tool_", body, re.IGNORECASE | re.ASCII)
    assert re.sub("&lt;(?=/?tool_)", "<", body, flags=re.I) == re.sub(
        "&lt;(?=/?tool_)", "<", text, flags=re.I
    )


@given(st.text().map(lambda t: t + GOOD + t) | st.just(GOOD), NAMES)
def test_an_echoed_reply_runs_nothing(text: str, ident: str) -> None:
    echoed = format_result("@json", "get", ident, True, text).decode() + format_note(text).decode()
    assert brief(parse([echoed + "\n" + GOOD])) == [("call", "{}")]
