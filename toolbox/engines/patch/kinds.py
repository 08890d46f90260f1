"""The kind of a mismatch: what would make an expected line equal to the line that stands there."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from toolbox.engines.patch.loosen import plain_punctuation, unescape_backslashes, unescape_html
from toolbox.engines.patch.preview import plural, quote
from toolbox.engines.patch.records import UNENDED

BOM: Final = b"\xef\xbb\xbf"
KIND_BYTES: Final = 20_000
"""A longer line is only compared, not looked at for its kind."""

_ELIDED: Final = re.compile(
    rb"\s*(?:#+|//+|/\*+|--|<!--|;+|%|\*)?\s*[\[({<]?\s*(?:\.\.\.+|\xe2\x80\xa6)"
    rb"(?P<words>[^=;(){}]*?)(?:\.\.\.+|\xe2\x80\xa6)?\s*[\])}>]?\s*(?:\*/|-->)?\s*$"
)
_ELIDED_WORDS: Final = re.compile(
    rb"(?i)\b(?:rest of|existing|unchanged|omitted|elided|remaining|snip|other) ?(?:the )?"
    rb"(?:code|file|lines?|content|class|function|method|implementation)?\b"
)
_CODECS: Final = ("cp1252", "latin-1")
"""Encodings that a line may be in, or may have been mistaken for."""
_NUMBERED: Final = re.compile(rb"\s*\d{1,7}(?:[:|\t]|\xe2\x86\x92|\s\|) ?")


@dataclass(frozen=True, slots=True)
class Kind:
    """A mismatch by name, and a clause that says what differs."""

    code: str
    clause: str


def _text(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def _bare_cr(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\r") else line


def _squeeze(line: bytes) -> bytes:
    return line.translate(None, b" \t\r\f\v")


def _unquoted(line: bytes) -> bytes:
    return line.replace(b'"', b"'").replace(b"`", b"'")


def is_elided(line: bytes) -> bool:
    """True for a line that only says that lines were left out (`...`, `# ... rest of file`)."""
    line = line.removesuffix(UNENDED)
    if len(line) > 200:
        return False
    found = _ELIDED.match(line)
    if found is None:
        return False
    words = found["words"].strip()
    return not words or _ELIDED_WORDS.search(words) is not None or len(words.split()) <= 6


def classify(expected: bytes, found: bytes | None, *, first_line: bool = False) -> Kind:
    """Why `expected` (a line of the patch) is not `found` (the file's line, None past its end)."""
    if is_elided(expected):
        return Kind(
            "elided-lines",
            f"{quote(expected)} stands for lines that were left out; a hunk needs every line it "
            f"covers",
        )
    if found is None:
        return Kind("beyond-eof", "the file ends before it")
    if expected.removesuffix(UNENDED) == found.removesuffix(UNENDED):
        return _final_newline(expected)
    e, f = expected.removesuffix(UNENDED), found.removesuffix(UNENDED)
    if max(len(e), len(f)) > KIND_BYTES:
        return Kind("context-mismatch", _where(e, f))
    lacks = first_line and f.startswith(BOM) and not e.startswith(BOM)
    if lacks and _bare_cr(f[3:]) == _bare_cr(e):
        return Kind(
            "byte-order-mark",
            "the file starts with a byte order mark (EF BB BF) that the patch lacks; "
            "the rest of the line matches",
        )
    if e.startswith(BOM) and _bare_cr(e[3:]) == _bare_cr(f):
        return Kind(
            "byte-order-mark",
            "the patch's line starts with a byte order mark (EF BB BF) that the file lacks; the "
            "rest of the line matches",
        )
    if f.startswith((b"\xff\xfe", b"\xfe\xff")) or (b"\0" in f and b"\0" not in e):
        return Kind(
            "encoding", "the file is not UTF-8 (UTF-16, or binary: its line holds NUL bytes)"
        )
    if _bare_cr(e) == _bare_cr(f):
        if f.endswith(b"\r"):
            return Kind(
                "crlf-mismatch",
                "the file's line ends with CRLF, the patch's with LF; eol: \"file\" takes the "
                "file's ends",
            )
        return Kind(
            "crlf-mismatch",
            "the patch's line ends with CRLF, the file's with LF; eol: \"file\" takes the file's "
            "ends",
        )
    if _squeeze(e) == _squeeze(f):
        return Kind("whitespace-mismatch", _blanks(e, f))
    return _by_text(e, f)


def _final_newline(expected: bytes) -> Kind:
    if expected.endswith(UNENDED):
        return Kind(
            "final-newline",
            'the patch says "\\ No newline at end of file" here, but the file\'s line ends with a '
            'newline',
        )
    return Kind(
        "final-newline",
        "the file's last line has no newline at its end; the patch needs "
        '"\\ No newline at end of file" after this line',
    )


def _blanks(e: bytes, f: bytes) -> str:
    if e.rstrip(b" \t\r\f\v") == f.rstrip(b" \t\r\f\v"):
        return f"only blanks at the end differ: the patch has {_count(e)}, the file has {_count(f)}"
    lead_e, lead_f = e[: len(e) - len(e.lstrip(b" \t"))], f[: len(f) - len(f.lstrip(b" \t"))]
    tabs = (b"\t" in e) != (b"\t" in f)
    if e.lstrip(b" \t") == f.lstrip(b" \t"):
        text = f"only the indentation differs: the patch has {_named(lead_e)}, "
        text += f"the file has {_named(lead_f)}"
        return text + (" (tab against spaces)" if tabs else "")
    text = "only blanks differ"
    if tabs:
        text += ": tab against spaces, "
        text += "a tab in the patch" if b"\t" in e else "a tab in the file"
    return text + f" ({_where(e, f)})"


def _count(line: bytes) -> str:
    tail = line[len(line.rstrip(b" \t\r\f\v")) :]
    return _named(tail)


def _named(blanks: bytes) -> str:
    if not blanks:
        return "none"
    parts = []
    for byte, noun in (
        (b" ", "space"),
        (b"\t", "tab"),
        (b"\r", "carriage return"),
        (b"\f", "form feed"),
        (b"\v", "vertical tab"),
    ):
        if n := blanks.count(byte):
            parts.append(plural(n, noun))
    return " and ".join(parts)


def _point(c: str) -> str:
    name = unicodedata.name(c, "")
    return f"U+{ord(c):04X}" + (f" ({name.lower()})" if name and not c.isascii() else "")


def _where(e: bytes, f: bytes) -> str:
    """The first place where two lines differ, in code points; by byte where not both are text."""
    te, tf = _text(e), _text(f)
    if te is None or tf is None:
        k = _shared(e, f)
        return f"they differ from byte {k + 1}"
    k = _shared(te, tf)
    ce, cf = te[k : k + 1], tf[k : k + 1]
    if (ce and not ce.isascii()) or (cf and not cf.isascii()):
        return (
            f"expected {_point(ce) if ce else 'the end of the line'} at column {k + 1}, "
            f"found {_point(cf) if cf else 'the end of the line'}"
        )
    return f"they differ from column {k + 1} on" if k else "they differ"


def _column(e: bytes, f: bytes) -> int:
    return _shared(e.decode("utf-8", "replace"), f.decode("utf-8", "replace")) + 1


def _shared(a: bytes | str, b: bytes | str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:  # type: ignore[comparison-overlap,unused-ignore]
            low = middle
        else:
            high = middle - 1
    return low


def _by_text(e: bytes, f: bytes) -> Kind:
    where = _where(e, f)
    if (plain := plain_punctuation(e)) != e and _squeeze(plain) == _squeeze(plain_punctuation(f)):
        return Kind(
            "typographic",
            f"{where}; a typographic or invisible character in the patch, the rest matches",
        )
    if plain_punctuation(f) != f and _squeeze(plain_punctuation(f)) == _squeeze(e):
        return Kind(
            "typographic",
            f"{where}; a typographic or invisible character in the file, the rest matches",
        )
    if b"&" in e and _squeeze(unescape_html(e)) == _squeeze(f):
        entity = re.search(rb"&#?\w+;", e)
        shown = entity[0].decode() if entity else "&…;"
        return Kind(
            "html-escaped", f"the patch has HTML entities ({shown}); unescaped, the line matches"
        )
    if b"&" in f and _squeeze(unescape_html(f)) == _squeeze(e):
        return Kind(
            "html-escaped",
            "the file has HTML entities where the patch has the characters themselves",
        )
    if b"\\" in e and _squeeze(unescape_backslashes(e)) == _squeeze(f):
        return Kind(
            "backslash-escaped",
            "the patch has backslashes before quotes (escaped once too often); without them the "
            "line matches",
        )
    if (number := _NUMBERED.match(e)) and _squeeze(e[number.end() :]) == _squeeze(f):
        return Kind(
            "line-numbers",
            f"the patch's line starts with a line number ({quote(number[0])}); without it the line "
            f"matches",
        )
    if kind := _by_encoding(e, f):
        return kind
    if _squeeze(_unquoted(e)) == _squeeze(_unquoted(f)):
        return Kind("context-mismatch", f"only the quotes differ, at column {_column(e, f)}")
    te, tf = _text(e), _text(f)
    if te is not None and tf is not None and te.casefold() == tf.casefold():
        return Kind(
            "context-mismatch", f"only upper and lower case differ, at column {_column(e, f)}"
        )
    if is_elided(e.rstrip(b" ;,")):
        return Kind("elided-lines", f"{quote(e)} stands for lines that were left out")
    return Kind("context-mismatch", where)


def _by_encoding(e: bytes, f: bytes) -> Kind | None:
    te, tf = _text(e), _text(f)
    if te is not None and tf is not None:
        if unicodedata.normalize("NFC", te) == unicodedata.normalize("NFC", tf):
            form = "NFC" if unicodedata.is_normalized("NFC", te) else "NFD"
            other = "NFD" if form == "NFC" else "NFC"
            return Kind(
                "encoding",
                f"the same characters in another Unicode form: {form} in the patch, {other} in the "
                f"file",
            )
        for codec in _CODECS:
            for one, two, where in ((te, f, "patch"), (tf, e, "file")):
                try:
                    if one.encode(codec) == two:
                        return Kind(
                            "encoding",
                            f"the {where}'s line was decoded as {codec} and encoded again as UTF-8 "
                            f"(mojibake)",
                        )
                except UnicodeEncodeError:
                    pass
        return None
    for raw, text, where, other in ((f, te, "file", "patch"), (e, tf, "patch", "file")):
        if text is None:
            continue
        for codec in _CODECS:
            try:
                if raw.decode(codec) == text:
                    return Kind(
                        "encoding",
                        f"the {where}'s line is in another encoding ({codec}) than the {other}'s "
                        f"UTF-8",
                    )
            except UnicodeDecodeError:
                pass
        if "\ufffd" in text:
            return Kind(
                "encoding",
                f"the {where}'s line is not UTF-8, and the {other} has U+FFFD where its bytes were "
                f"lost",
            )
    if te is not None and tf is None:
        return Kind(
            "encoding",
            f"the file's line is not UTF-8 (from byte {_shared(e, f) + 1}); give the patch as a "
            f"file with the same bytes",
        )
    return Kind("encoding", f"the patch's line is not UTF-8 (from byte {_shared(e, f) + 1})")


def preload() -> None:
    """Look the codecs up once, for workers that can open no file later."""
    for codec in _CODECS:
        "".encode(codec)
