"""The grammar of `where`: terms joined by `&&`, each a field, an operator and a value."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, Literal, NoReturn

from toolbox.engines.query.paths import Segment, Star, parse
from toolbox.errors import BadPath, BadWhere

Operator = Literal["=", "!=", "~", "!~", "<", "<=", ">", ">=", "has", "lacks"]

OPERATORS: Final = "= != ~ !~ < <= > >="
_OPERATOR: Final = re.compile(r"==|!=|!~|<=|>=|=|~|<|>")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_QUOTED_KEY: Final = re.compile(r"""\[\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\]""", re.DOTALL)
_HINT: Final = (
    f"a term is field OP value, OP one of {OPERATORS}; a bare field tests presence, !field "
    'absence; join terms with &&; "…" keeps spaces, && and operators in a value'
)

ELEMENT_KEY: Final = "@key"
"""The field that stands for an element's key, where an object's values are filtered."""


@dataclass(frozen=True, slots=True)
class Term:
    """One condition on an element."""

    field: str
    """As it was written."""
    segments: tuple[Segment, ...]
    op: Operator
    value: str = ""
    quoted: bool = False
    """True where the value stood in double quotes: it is a string and nothing else."""
    at: int = 0
    """Where the term starts in the filter, in characters."""

    @property
    def fans_out(self) -> bool:
        """Whether the field has a *: the condition holds where any value meets it."""
        return any(isinstance(s, Star) for s in self.segments)


def parse_where(text: str) -> tuple[Term, ...]:
    """The terms of a filter; none for a blank one, which every element meets.

    BadWhere tells the place (`at.offset`, in characters from 0) and the operators.
    """
    terms: list[Term] = []
    at = _blanks(text, 0)
    if at == len(text):
        return ()
    while True:
        term, at = _term(text, at)
        terms.append(term)
        at = _blanks(text, at)
        if at == len(text):
            return tuple(terms)
        at = _blanks(text, at + 2)  # past the &&
        if at == len(text):
            _refuse(text, at, "a term is missing after &&")


def _blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _term(text: str, start: int) -> tuple[Term, int]:
    at = start
    absent = text[at] == "!" and not text.startswith(("!=", "!~"), at)
    if absent:
        at = _blanks(text, at + 1)
    field_at = at
    if name := _STRING.match(text, at):
        at = name.end()
    while at < len(text) and not text.startswith("&&", at):
        if text[at] == "[" and (key := _QUOTED_KEY.match(text, at)):
            at = key.end()
        elif text[at] == "\\" and at + 1 < len(text):
            at += 2
        elif _OPERATOR.match(text, at):
            break
        else:
            at += 1
    field = text[field_at:at].strip()
    if not field:
        _refuse(text, at, "a field is missing")
    segments = _segments(text, field, field_at)
    if at == len(text) or text.startswith("&&", at):
        return Term(field, segments, "lacks" if absent else "has", at=start), at
    if absent:
        _refuse(text, at, f"!{field} tests absence and takes no operator")
    found = _OPERATOR.match(text, at)
    assert found is not None
    op: Operator = "=" if found[0] == "==" else found[0]  # type: ignore[assignment]
    value, quoted, end = _value(text, found.end(), op)
    return Term(field, segments, op, value, quoted, start), end


def _segments(text: str, field: str, at: int) -> tuple[Segment, ...]:
    if field == ELEMENT_KEY:
        return ()
    if field.startswith('"') and _STRING.fullmatch(field):
        field = f"[{field}]"
    try:
        return parse(field)
    except BadPath as exc:
        inner = (exc.at or {}).get("offset", 0)
        _refuse(text, at + (inner if isinstance(inner, int) else 0), exc.message, exc.hint)


def _value(text: str, at: int, op: Operator) -> tuple[str, bool, int]:
    """(value, whether it was quoted, where it ends) of what follows an operator."""
    start = at = _blanks(text, at)
    if at < len(text) and text[at] == '"':
        whole = _STRING.match(text, at)
        if whole is None:
            _refuse(text, at, "a double quote is not closed")
        after = _blanks(text, whole.end())
        if after == len(text) or text.startswith("&&", after):
            return _unquote(text, whole[0], at, op), True, after
        _refuse(text, after, "expected && or the end after a quoted value")
    end = text.find("&&", at)
    end = len(text) if end < 0 else end
    value = text[start:end].strip()
    if value[:1] in ("=", "<", ">", "~"):
        _refuse(
            text,
            start,
            f"expected a value after {op}, got {value[:1]}",
            f'is the operator one of {OPERATORS}? a value that begins so is quoted: "{value}"',
        )
    if op not in ("~", "!~") and " || " in f" {value} ":
        _refuse(
            text,
            start + value.find("||"),
            "there is no ||",
            "ask once for each, or use a pattern: field~^(a|b)$; a literal || is quoted",
        )
    return value, False, end


def _unquote(text: str, token: str, at: int, op: Operator) -> str:
    try:
        value = json.loads(token, strict=False)
        assert isinstance(value, str)
        value.encode()
        return value
    except UnicodeEncodeError:
        _refuse(text, at, "a lone surrogate in a quoted value")
    except ValueError as exc:
        if op in ("~", "!~"):
            # In a pattern a backslash is the pattern's own: "\d" is no JSON, and clear.
            return token[1:-1].replace('\\"', '"')
        place = at + getattr(exc, "pos", 0)
        _refuse(
            text,
            place,
            "a quoted value is a JSON string, and its escape is none",
            'a backslash in it is written twice: "\\\\"',
        )


def _refuse(text: str, offset: int, said: str, hint: str | None = None) -> NoReturn:
    shown = text if len(text) <= 80 else text[max(offset - 30, 0) : offset + 50]
    raise BadWhere(
        f"bad filter `{shown}` at character {offset + 1}: {said}",
        hint=hint or _HINT,
        at={"offset": offset, "column": offset + 1},
    )
