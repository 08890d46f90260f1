"""What in a document a JSON Schema does not allow: every violation with its path.

Numbers are compared exactly: integers and decimals as the document spells them, `1.0` and `1e3`
being integers. Nothing is fetched: a `$ref` leads into the schema itself or to a meta-schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from functools import lru_cache
from typing import Any, Final

from toolbox.engines.documents import nesting
from toolbox.engines.documents.document import Document
from toolbox.engines.documents.duplicates import Looks
from toolbox.errors import InvalidArg

VIOLATIONS_TOLD: Final = 100
"""Violations that are told one by one; past them the rest is counted."""

VIOLATIONS_COUNTED: Final = 10_000
"""Violations after which counting stops: a schema that fits nothing fails on every element."""

_INTEGER_DIGITS: Final = 4_000
"""Digits up to which a number is made an integer; longer ones stay decimals, which cost less."""

_RECURSION_LEVELS: Final = 6_000
"""Frames that schema and document may nest to: about a thousand levels of each."""

_PREVIEW_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class Violation:
    """One place where the document is not as the schema asks."""

    steps: tuple[str | int, ...]
    """The path of the value."""
    keyword: str
    message: str
    schema_pointer: str
    """Where in the schema the rule stands, as a JSON Pointer."""


@dataclass(frozen=True, slots=True)
class Violations:
    """The first violations in the order of the document's paths, and how many there are."""

    told: tuple[Violation, ...]
    total: int
    whole: bool
    """False where counting stopped."""
    draft: str


def find_violations(
    doc: Document,
    schema: Document,
    *,
    most: int = VIOLATIONS_TOLD,
    counted: int = VIOLATIONS_COUNTED,
    deadline: Looks | None = None,
) -> Violations:
    """The violations of a document against a schema (2020-12 unless its `$schema` says otherwise).

    InvalidArg where the schema is none, names a dialect that is not known, or refers to what is
    not in it.
    """
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    with nesting.room(_RECURSION_LEVELS):
        rules, instance = decode_exact(schema), decode_exact(doc)
        validator_class, draft = _choose(rules)
        told: list[Violation] = []
        total = 0
        try:
            validator_class.check_schema(rules)
            for error in _make(validator_class, rules).iter_errors(instance):
                if deadline is not None:
                    deadline.check()
                total += 1
                if total > counted:
                    break
                if len(told) < most:
                    told.append(_describe(error))
        except SchemaError as error:
            at = "".join(f"/{step}" for step in error.absolute_path)
            raise InvalidArg(
                f"schema: not a JSON Schema of {draft}: {_word(error)}"
                + (f" (at {at} in the schema)" if at else ""),
                hint="give a schema that is valid itself",
            ) from None
        except Unresolvable as error:
            ref = str(getattr(error, "ref", "")) or str(error)
            raise InvalidArg(
                f"schema: $ref {ref[:_PREVIEW_CHARACTERS]!r} leads out of the schema, and nothing "
                "is fetched",
                hint="put the referred part under $defs and refer to #/$defs/…",
            ) from None
        except re.error as error:
            raise InvalidArg(f"schema: a pattern is not a regular expression: {error}") from None
        except RecursionError:
            raise InvalidArg(
                "schema: it leads deeper than can be followed (a $ref to itself?)",
                hint="validate a deeper part, or break the cycle of $refs",
            ) from None
    return Violations(tuple(told), min(total, counted), total <= counted, draft)


def decode_exact(doc: Document) -> Any:
    """The document as Python values: numbers exact, a YAML number that is no JSON as its value."""
    text = _respell(doc).decode()
    return json.loads(text, parse_int=_integer, parse_float=_decimal)


def _integer(spelled: str) -> int | Decimal:
    return int(spelled) if len(spelled) <= _INTEGER_DIGITS else Decimal(spelled)


def _decimal(spelled: str) -> int | Decimal:
    try:
        value = Decimal(spelled)
    except DecimalException:  # an exponent that no decimal holds
        return Decimal("Infinity") if "e-" not in spelled.lower() else Decimal(0)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or value.adjusted() > _INTEGER_DIGITS:
        return value
    return int(value) if exponent >= 0 or value == value.to_integral_value() else value


_SPELLED: Final = re.compile(rb'"([^"]*)"')


def _respell(doc: Document) -> bytes:
    """The text with YAML's own numbers as ones that the reader takes."""
    if not doc.spellings:
        return doc.text
    parts: list[bytes] = []
    at = 0
    for start in sorted(doc.spellings):
        found = _SPELLED.match(doc.text, start)
        assert found is not None
        parts += (doc.text[at:start], _as_json_number(found[1].decode()).encode())
        at = found.end()
    parts.append(doc.text[at:])
    return b"".join(parts)


def _as_json_number(spelled: str) -> str:
    bare = spelled.lstrip("+-")
    sign = "-" if spelled.startswith("-") else ""
    if bare.startswith(("0x", "0o")):
        return str(int(bare, 0))
    if bare[1:].lower() in ("inf", "nan"):
        return "NaN" if bare[1:].lower() == "nan" else f"{sign}Infinity"
    mantissa, mark, exponent = re.match(r"([0-9.]+)([eE]?)(.*)", bare).groups()  # type: ignore[union-attr]
    whole, _, fraction = mantissa.partition(".")
    digits = whole.lstrip("0") or "0"
    return sign + digits + (f".{fraction}" if fraction else "") + mark + exponent


_DRAFTS: Final = {
    "http://json-schema.org/draft-07/schema": "draft 7",
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "http://json-schema.org/draft-06/schema": "draft 6",
    "http://json-schema.org/draft-04/schema": "draft 4",
}


def _choose(rules: Any) -> tuple[Any, str]:
    from jsonschema import validators

    dialect = rules.get("$schema") if isinstance(rules, dict) else None
    if dialect is None:
        if not isinstance(rules, dict | bool):
            raise InvalidArg(
                f"schema: expected a JSON Schema, an object or a boolean, got {_kind(rules)}"
            )
        return _exact(validators.Draft202012Validator), "2020-12"
    name = _DRAFTS.get(str(dialect).rstrip("#"))
    if name is None:
        raise InvalidArg(
            f"schema: its $schema {str(dialect)[:_PREVIEW_CHARACTERS]!r} is no known dialect",
            hint="2020-12 and draft 7 are supported: " + " or ".join(list(_DRAFTS)[1::-1]),
        )
    return _exact(validators.validator_for({"$schema": dialect})), name


@lru_cache(maxsize=8)
def _exact(base: Any) -> Any:
    """The validator of a draft, with types for exact numbers and linear patterns."""
    from jsonschema import validators

    def is_number(_: Any, value: Any) -> bool:
        return isinstance(value, int | float | Decimal) and not isinstance(value, bool)

    def is_integer(_: Any, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    checker = base.TYPE_CHECKER.redefine("number", is_number).redefine("integer", is_integer)
    keywords = {"pattern": _check_pattern, "multipleOf": _check_multiple,
                "uniqueItems": _check_unique}  # fmt: skip
    extend: Any = validators.extend
    return extend(base, validators=keywords, type_checker=checker)


def _make(validator_class: Any, rules: Any) -> Any:
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    return validator_class(rules, registry=REGISTRY)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> Callable[[str], object]:
    """The search of a pattern: linear where RE2 takes it, else Python's, which the worker's
    deadline bounds."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        found: Callable[[str], object] = re2.compile(pattern, options=options).search
    except re2.error:
        return re.compile(pattern).search
    return found


def _check_pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and not _compile(pattern)(instance):
        yield ValidationError(f"{_preview(instance)} does not match {pattern!r}")


def _check_multiple(validator: Any, factor: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "number"):
        return
    try:
        failed = bool(Decimal(instance) % Decimal(factor))
    except (DecimalException, OverflowError, ValueError):
        # More digits between the two than decimals carry: compare as fractions.
        failed = not _divides(instance, factor)
    if failed:
        yield ValidationError(f"{_preview(instance)} is no multiple of {_preview(factor)}")


def _check_unique(validator: Any, asked: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """In one pass: the library compares each element with each."""
    from jsonschema.exceptions import ValidationError

    if not asked or not validator.is_type(instance, "array"):
        return
    seen: dict[Any, int] = {}
    for k, element in enumerate(instance):
        first = seen.setdefault(_identity(element), k)
        if first != k:
            yield ValidationError(f"elements {first} and {k} are equal: {_preview(element)}")
            return


def _identity(value: Any) -> Any:
    """What two equal JSON values have in common: `1` and `1.0` are equal, `1` and `true` not."""
    if isinstance(value, dict):
        return ("o", frozenset((key, _identity(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return ("a", *map(_identity, value))
    return value if isinstance(value, str) else (type(value) is bool, value)


def _divides(instance: Any, factor: Any) -> bool:
    from fractions import Fraction

    try:
        large = Decimal(instance)
        if large.adjusted() > _INTEGER_DIGITS or large.is_nan() or large.is_infinite():
            return False
        return (Fraction(large) / Fraction(Decimal(factor))).denominator == 1
    except (ArithmeticError, ValueError):
        return False


def _describe(error: Any) -> Violation:
    pointer = "".join(
        "/" + str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_schema_path
    )
    return Violation(tuple(error.absolute_path), str(error.validator), _word(error), pointer)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float | Decimal):
        return "an integer" if isinstance(value, int) else "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _preview(value: Any) -> str:
    if isinstance(value, dict | list):
        what = "members" if isinstance(value, dict) else "elements"
        return f"{_kind(value)} of {len(value)} {what}"
    shown = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
    if len(shown) > _PREVIEW_CHARACTERS:
        return f"{shown[:_PREVIEW_CHARACTERS]}…"
    return shown


def _list(values: Any) -> str:
    shown = [_preview(v) for v in list(values)[:12]]
    return ", ".join(shown) + (", …" if len(values) > 12 else "")


def _word(error: Any) -> str:
    """The violation in words: expected X, got Y; never more of the document than a preview."""
    keyword, rule, value = error.validator, error.validator_value, error.instance
    if keyword == "type":
        types = rule if isinstance(rule, list) else [rule]
        return f"expected {' or '.join(map(str, types))}, got {_kind(value)}: {_preview(value)}"
    if keyword == "enum":
        return f"expected one of {_list(rule)}, got {_preview(value)}"
    if keyword == "const":
        return f"expected {_preview(rule)}, got {_preview(value)}"
    if keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        words = {
            "minimum": "at least", "maximum": "at most",
            "exclusiveMinimum": "more than", "exclusiveMaximum": "less than",
        }[keyword]  # fmt: skip
        return f"expected {words} {_preview(rule)}, got {_preview(value)}"
    if keyword in ("minLength", "maxLength") and isinstance(value, str):
        words = "at least" if keyword == "minLength" else "at most"
        return f"expected {words} {rule} characters, got {len(value)}"
    if keyword in ("minItems", "maxItems", "minProperties", "maxProperties"):
        words = "at least" if keyword.startswith("min") else "at most"
        what = "elements" if keyword.endswith("Items") else "members"
        return f"expected {words} {rule} {what}, got {len(value)}"
    if keyword in ("anyOf", "oneOf", "not"):
        return _word_choice(keyword, error)
    if keyword == "uniqueItems":
        return f"expected elements that all differ: {error.message}"
    if keyword is None:
        return "nothing is allowed here (the schema is false)"
    said = re.sub(r"Decimal\('([^']*)'\)", r"\1", str(error.message))
    return said if len(said) <= 200 else said[:199] + "…"


def _word_choice(keyword: str, error: Any) -> str:
    got = _preview(error.instance)
    if keyword == "not":
        return f"expected what the schema under not does not allow, got {got}"
    count = len(error.validator_value)
    if keyword == "oneOf" and not error.context:
        return f"expected exactly one of {count} schemas to fit, got {got}, which fits more"
    nearest = min(error.context, key=lambda e: (-len(e.absolute_path), e.validator == "type"))
    return f"expected one of {count} schemas to fit, got {got}; nearest: {_word(nearest)}"
