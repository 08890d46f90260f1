"""What a fault in a JSON text means: the message, the likely cause, and the place to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from toolbox.engines.documents.positions import locate, show_character
from toolbox.engines.documents.scan import Fault, find_fault

_EXPECTED: Final = {
    "value": "a value",
    "first element": "a value or ]",
    "element": "a value",
    "first key": 'a key in double quotes or "}"',
    "key": "a key in double quotes",
    "colon": "a colon after the key",
    "comma or ]": "a comma or ]",
    "comma or }": "a comma or }",
    "end": "the end of the text",
    "number": "a number as JSON spells it",
    "word": "true, false or null",
    "escape": 'an escape: \\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u and four hex digits',
    "control": "a character of the string",
    "quote": "the closing quote of the string that starts here",
}

_WORD: Final = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff-]*")
_SPELLED_NUMBER: Final = re.compile(rb"[-+]?[\w.+-]*(?::\d[\d:.]*)?")
_TOKEN: Final = re.compile(rb"[\w$.+\x80-\xff-]+|[^\x80-\xff]")
_CONFLICT: Final = re.compile(rb"(?:<{7}|={7}|>{7})(?:[ \r\n]|$)")
_LEVELS: Final = re.compile(rb"\s*(?:npm |warn|error|info|debug|\[?\d{4}-\d\d-\d\d)", re.I)
_JSONP: Final = re.compile(rb"[A-Za-z_$][\w$.]*\s*\(\s*[\[{\"]")
_TYPOGRAPHIC: Final = "“”„‟‘’‚‛«»′″"
_LINES_TRIED: Final = 200_000
"""Lines that are looked at before a text is taken for JSON Lines: a second of work at most."""



def _got(source: bytes, offset: int) -> str:
    if offset >= len(source):
        return "the end of the text"
    if found := _TOKEN.match(source, offset, offset + 40):
        token = found.group()
        if len(token) == 40:
            token = token[:36]
            return f"{token.decode('utf-8', 'ignore')}…"
        text = token.decode("utf-8", "ignore")
        if len(text) == 1 and not (text.isprintable() and text.isascii()):
            return f"the character U+{ord(text):04X}"
        return "a double quote" if text == '"' else text
    return "a character that is no JSON"


def _place(source: bytes, offset: int) -> str:
    line, column = locate(source, offset)
    return f"line {line}, column {column}"


Explained = tuple[int, str, str | None, str]
"""Offset, message, cause and kind of a diagnosis."""


def explain(source: bytes, start: int, fault: Fault) -> Explained:
    """The diagnosis of a fault found in the text that starts at `start` of the source."""
    at = fault.offset
    message = f"expected {_EXPECTED[fault.expected]}, got {_got(source, at)}"
    if fault.expected in ("control", "escape", "quote", "number"):
        special: Callable[[bytes, Fault], tuple[str, str]] = {
            "control": _explain_control, "escape": _explain_escape,
            "quote": _explain_quote, "number": _explain_number,
        }[fault.expected]  # fmt: skip
        return at, *special(source, fault), "syntax"
    if at >= len(source):
        return (at, *_explain_end(source, start, fault), "syntax")
    if fault.comma >= 0 and source[at : at + 1] == (b"}" if fault.expected == "key" else b"]"):
        closer = chr(source[at])
        return (
            fault.comma, f"expected {_EXPECTED[fault.expected]} after the comma, got {closer}",
            f"trailing comma: JSON allows none before {closer}; remove it", "syntax",
        )  # fmt: skip
    if fault.expected == "end" and fault.token >= 0 and (told := _explain_trailing(source, start)):
        return at, f"{message} (trailing data)", told[0], told[1]
    if fault.expected == "end":
        message += " (trailing data)"
    cause = (
        _explain_whole(source, start, at)
        or _explain_token(source, fault)
        or _explain_structure(source, fault)
    )
    return at, message, cause, "syntax"


def _explain_control(source: bytes, fault: Fault) -> tuple[str, str]:
    byte = source[fault.offset]
    cause: str
    names = {9: ("a tab", "\\t"), 10: ("a line break", "\\n"), 13: ("a carriage return", "\\r")}
    name, escape = names.get(byte, (f"the control character U+{byte:04X}", f"\\u{byte:04x}"))
    cause = f"{name} stands raw inside a string: write it as {escape}"
    if byte in (10, 13):
        cause += ", or close the string (unterminated)"
    where = _place(source, fault.token)
    return (
        f"expected a printable character or an escape, got {name}: control character in the "
        f"string that starts at {where}"
    ), cause


def _explain_escape(source: bytes, fault: Fault) -> tuple[str, str]:
    at = fault.offset
    got = source[at + 1 : at + 8].decode("utf-8", "ignore")
    if got[:1] == "u":
        digits = re.match(r"u[0-9a-fA-F]*", got)
        shown = "\\" + (digits.group() if digits else "u")
        cause = f"bad escape: {shown} needs four hex digits after \\u"
    else:
        shown = "\\" + "".join(map(show_character, got[:1]))
        known = {
            "'": "a single quote needs no escape in JSON",
            "x": "JSON has no \\x: write \\u00 and the two digits",
            "0": "JSON has no \\0: write \\u0000",
            "`": "a backtick needs no escape in JSON",
            "\n": "JSON has no line continuation: write \\n or nothing",
        }
        cause = "bad escape: " + known.get(
            got[:1], "a backslash itself is written \\\\ (Windows paths, regular expressions)"
        )
    return f"expected {_EXPECTED['escape']}, got {shown}", cause


def _explain_quote(source: bytes, fault: Fault) -> tuple[str, str]:
    return (
        f"expected {_EXPECTED['quote']}, got the end of the text",
        "unterminated string: the text is truncated, or a closing quote is missing",
    )


def _explain_number(source: bytes, fault: Fault) -> tuple[str, str]:
    found = _SPELLED_NUMBER.match(source, fault.offset, fault.offset + 40)
    token = found.group().decode("utf-8", "ignore") if found else "-"
    bare = token.lstrip("+-")
    if re.match(r"0[xXoObB]", bare):
        cause = "hexadecimal, octal and binary numbers are JSON5 or program text, not JSON"
    elif re.match(r"0\d", bare):
        cause = "leading zero: JSON numbers have none; quote it if it is a code"
    elif re.match(r"(?i)inf|nan", bare):
        cause = f"{token} is no JSON number (NaN and Infinity): use null or a string"
    elif re.match(r"\d[\d_]*_", bare):
        cause = "digits are not grouped by _ in JSON"
    elif re.match(r"\d*\.(?!\d)", bare) or bare.startswith("."):
        cause = "a decimal point needs a digit on both sides"
    elif re.fullmatch(r"[\d.]+[eE][-+]?", bare):
        cause = "an exponent needs at least one digit"
    elif not bare:
        cause = "a sign alone is no number"
    elif re.match(r"\d{4}-\d\d-\d\d|\d+[.:-]\d+[.:-]", bare):
        cause = "a date, version or address must be quoted: it is a string"
    else:
        cause = "a number must end before the next character; quote it if it is text"
    return f"expected {_EXPECTED['number']}, got {token}", cause


def _explain_end(source: bytes, start: int, fault: Fault) -> tuple[str, str]:
    if not fault.depth and fault.expected == "value":
        what = "empty" if len(source) == start else "empty but for white space"
        return "expected a value, got the end of the text", f"the text is {what}"
    message = f"expected {_EXPECTED[fault.expected]}, got the end of the text"
    if not fault.opened:
        return message, "truncated: the text stops early"
    opener = fault.opened[-1]
    kind, closer = ("object", "}") if source[opener] == 0x7B else ("array", "]")
    open_count = f" ({fault.depth} are open)" if fault.depth > 1 else ""
    return message, (
        f"truncated, or a missing {closer}: the {kind} that starts at {_place(source, opener)} "
        f"is never closed{open_count}"
    )


def _explain_trailing(source: bytes, start: int) -> tuple[str, str] | None:
    """JSON Lines, where every line that is not blank is a value."""
    count = 0
    position = start
    while position < len(source):
        stop = source.find(b"\n", position)
        stop = len(source) if stop < 0 else stop
        if source[position:stop].strip():
            count += 1
            if find_fault(source, position, stop):
                return None
            if count == _LINES_TRIED:
                break
        position = stop + 1
    if count < 2:
        return None
    lines = f"first {count:,}".replace(",", " ") if count == _LINES_TRIED else f"{count}"
    return (
        f"each of the {lines} lines is a value of its own: this is JSON Lines; "
        "name the file .jsonl, or make it one array",
        "json-lines",
    )


def _explain_whole(source: bytes, start: int, at: int) -> str | None:
    """What the text is instead, where its beginning shows it."""
    rest = source[at : at + 200]
    if _CONFLICT.match(rest):
        return "a merge conflict marker: the file has an unresolved conflict"
    if source[start:at].strip():
        return None
    if rest.startswith(b"<"):
        return "this is HTML or XML, not JSON (an error page instead of the answer?)"
    if rest.startswith((b"```", b"~~~")):
        return "a Markdown fence: give only the text between the fences"
    if rest.startswith((b")]}'", b"while(1)", b"for(;;)")):
        return "a prefix against script inclusion (XSSI): remove its line"
    if _JSONP.match(rest):
        return "JSONP: a function call around the JSON; give only what is inside the parentheses"
    if rest.startswith((b"---", b"%YAML")):
        return "this looks like YAML, not JSON"
    if _LEVELS.match(rest) and re.search(rb"\n\s*[\[{]", source[at : at + 100_000]):
        return "a log line before the JSON: remove what stands before the first { or ["
    return None


def _explain_token(source: bytes, fault: Fault) -> str | None:
    """What the token at the fault shows by itself."""
    at = fault.offset
    rest = source[at : at + 40]
    key = fault.expected in ("key", "first key")
    if rest.startswith((b"{{", b"{%")) or (
        rest[:1] in b"{%" and source[at - 1 : at] == b"{" and at in (a + 1 for a in fault.opened)
    ):
        return "a template ({{ … }}, as in Helm or Jinja): render it first"
    if rest.startswith((b"//", b"/*")):
        return f"a comment ({rest[:2].decode()}): JSON has none (JSONC and JSON5 do); remove it"
    if rest.startswith(b"#"):
        return "a comment (#): JSON has none (YAML does); remove it"
    if rest.startswith(b"'"):
        what = "keys" if key else "strings"
        return f"single quotes: JSON {what} stand in double quotes (JSON5 and Python allow single)"
    if rest.startswith(b"`"):
        return "backticks: JSON strings stand in double quotes"
    if rest.startswith(b'\\"'):
        return "escaped quotes: this JSON is the inside of a string; decode that string first"
    if rest.startswith(b"..."):
        return "an ellipsis: something was left out here; give the whole text"
    character = rest.decode("utf-8", "ignore")[:1]
    if character and character in _TYPOGRAPHIC:
        return f"a typographic quote ({character}): JSON strings stand in plain double quotes"
    if character and not character.isascii() and not character.isalnum():
        name = f"U+{ord(character):04X}"
        kind = "an invisible character" if not character.isprintable() else "a stray character"
        return f"{kind} ({name}) outside a string: remove it"
    if (character and ord(character) < 0x20) or character == "\x7f":
        return f"a control character (U+{ord(character):04X}) outside a string: remove it"
    if fault.expected.startswith("comma"):
        return None
    word = _WORD.match(rest)
    if not word and rest[:1] not in (b"+", b"."):
        return None
    if key and word:
        return "unquoted key: JSON keys stand in double quotes (JSON5 and JavaScript allow bare)"
    if fault.expected in ("colon", "end"):
        return None
    return _explain_word(word.group().decode("utf-8", "ignore") if word else None, source, fault)


def _explain_word(word: str | None, source: bytes, fault: Fault) -> str:
    if word is None:
        sign = chr(source[fault.offset])
        if sign == "+":
            return "a plus sign before a number: JSON has none"
        return "a decimal point needs a digit on both sides"
    if word in ("NaN", "Infinity", "nan", "inf", "Inf", "NAN"):
        return f"{word} is no JSON value (NaN and Infinity are JSON5): use null or a string"
    if word in ("None", "True", "False"):
        right = {"None": "null", "True": "true", "False": "false"}[word]
        return f"{word} is Python: JSON writes {right} (json.dumps instead of repr)"
    if word == "undefined":
        return "undefined is JavaScript: JSON has null"
    if word.lower() in ("true", "false", "null"):
        return f"JSON writes {word.lower()} in lower case"
    if any(len(word) > 1 and right.startswith(word) for right in ("true", "false", "null")):
        return f"{word} is cut short: true, false or null"
    return "an unquoted string: JSON strings stand in double quotes"


def _explain_structure(source: bytes, fault: Fault) -> str | None:
    at = fault.offset
    byte = source[at : at + 1]
    if fault.expected == "end":
        if byte in (b"}", b"]"):
            return f"one closing {byte.decode()} too many: nothing is open here"
        return "trailing data: the value before it is complete, and a JSON text is one value"
    if byte in (b"}", b"]") and fault.opened:
        opener = fault.opened[-1]
        if (source[opener] == 0x7B) != (byte == b"}"):
            kind = "object" if source[opener] == 0x7B else "array"
            return (
                f"the {kind} that starts at {_place(source, opener)} is closed by the wrong "
                f"bracket, or its own is missing before this one"
            )
    if fault.expected == "colon":
        if byte in (b",", b"}"):
            return "a key without a value: members are written key: value"
        if byte in (b"=", b"-"):
            return "a colon stands between key and value, not = or =>"
        return "missing colon between key and value"
    if fault.expected.startswith("comma"):
        if byte == b":":
            return "a colon outside an object: a missing {, or a quote or comma missing before"
        if byte == b";":
            return "a semicolon: JSON separates by commas"
        if byte == b'"' or (byte and (byte in b"[{-" or byte.isalnum())):
            what = "members" if fault.expected.endswith("}") else "elements"
            if source[at - 1 : at] == b'"' and byte != b'"':
                return f'an unescaped double quote in the string before (write \\"), or a missing comma between {what}'  # noqa: E501
            return f"missing comma between {what}"
        return "a missing comma, or a stray character"
    if byte == b",":
        return "a comma with nothing before it: a value is missing, or the comma is doubled"
    if fault.expected in ("key", "first key"):
        return "JSON keys are strings in double quotes"
    if byte in (b"}", b"]"):
        return "a value is missing before this bracket"
    return None
