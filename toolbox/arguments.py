"""Arguments held against a verb's declaration: every problem told in one reply.

Only a handful of field types exist (see `Kind`); a declaration with any other is refused when the
verb is first looked at, never during a call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import inspect

from toolbox.errors import InvalidArg
from toolbox.verb import Args, Verb

Kind = Literal["string", "integer", "boolean", "null", "choice", "list", "json"]

MAX_BYTES = "max_bytes"
"""The argument that every verb takes: a lower output cap for one call, in bytes."""

MAX_BYTES_LEAST = 200
"""Below this not even a cut's own words fit."""

_PREVIEW_CHARACTERS = 40


class Field(msgspec.Struct, frozen=True):
    """One argument, as doors and the checker see it."""

    name: str
    doc: str
    kinds: tuple[Kind, ...]
    required: bool
    default: Any
    choices: tuple[str | int, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    item: Field | None = None
    """What a list holds."""

    def expected(self) -> str:
        """What may be given, in words."""
        words = []
        for kind in self.kinds:
            if kind == "integer":
                words.append("an integer" + self._bounds())
            elif kind == "choice":
                words.append("one of " + ", ".join(repr(c) for c in self.choices))
            elif kind == "list":
                words.append(f"a list of {self.item.plural() if self.item else 'values'}")
            elif kind == "json":
                words.append("any JSON value")
            elif kind == "null":
                words.append("null")
            else:
                words.append(f"a {kind}")
        return " or ".join(words)

    def plural(self) -> str:
        return " or ".join(
            {"json": "values", "choice": "names"}.get(k, k + "s") for k in self.kinds
        )

    def _bounds(self) -> str:
        if self.minimum is not None and self.maximum is not None:
            return f" from {self.minimum} to {self.maximum}"
        if self.minimum is not None:
            return f" of at least {self.minimum}"
        return f" of at most {self.maximum}" if self.maximum is not None else ""


class Checked(msgspec.Struct, frozen=True):
    """Arguments that fit, with what was adjusted."""

    args: Args
    max_bytes: int | None
    notes: tuple[str, ...]


_fields: dict[Any, tuple[Field, ...]] = {}


def fields_of(args: type[Args]) -> tuple[Field, ...]:
    """The arguments that a verb declares, in order; TypeError for a type that no door knows."""
    known = _fields.get(args)
    if known is None:
        known = _fields[args] = _read_fields(args)
    return known


def _read_fields(args: type[Args]) -> tuple[Field, ...]:
    info = inspect.type_info(args)
    assert isinstance(info, inspect.StructType)
    return tuple(
        _field(
            f.encode_name,
            f.type,
            required=f.required,
            default=None if f.default is msgspec.NODEFAULT else f.default,
        )
        for f in info.fields
    )


def _field(name: str, node: inspect.Type, *, required: bool, default: Any) -> Field:
    doc = ""
    while isinstance(node, inspect.Metadata):
        doc = (node.extra_json_schema or {}).get("description", doc)
        node = node.type
    members = node.types if isinstance(node, inspect.UnionType) else (node,)
    kinds: list[Kind] = []
    choices: tuple[str | int, ...] = ()
    minimum = maximum = None
    item = None
    for member in members:
        while isinstance(member, inspect.Metadata):
            doc = (member.extra_json_schema or {}).get("description", doc)
            member = member.type
        match member:
            case inspect.StrType():
                kinds.append("string")
            case inspect.IntType():
                kinds.append("integer")
                minimum, maximum = member.ge, member.le
            case inspect.BoolType():
                kinds.append("boolean")
            case inspect.NoneType():
                kinds.append("null")
            case inspect.LiteralType():
                kinds.append("choice")
                choices = tuple(v for v in member.values if isinstance(v, str | int))
            case inspect.ListType() | inspect.VarTupleType():
                kinds.append("list")
                item = _field(f"{name}[]", member.item_type, required=True, default=None)
            case inspect.AnyType() | inspect.RawType():
                kinds.append("json")
            case _:
                raise TypeError(f"argument {name!r}: no door knows the type {member!r}")
    return Field(name, doc, tuple(kinds), required, default, choices, minimum, maximum, item)


_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def _snake(name: str) -> str:
    return _CAMEL.sub(lambda m: "_" + m[1].lower(), name)


def check(verb: Verb[Any], given: Mapping[str, Any]) -> Checked:
    """The verb's own argument record, or InvalidArg that tells everything that is wrong.

    Names are understood in camelCase too. A number past its maximum is taken as the maximum, with
    a note, unless the verb is strict.
    """
    known = {f.name: f for f in fields_of(verb.args)}
    problems: list[str] = []
    notes: list[str] = []
    values: dict[str, Any] = {}
    fields_at: list[str] = []
    max_bytes: int | None = None

    def wrong(name: str, text: str) -> None:
        problems.append(text)
        fields_at.append(name)

    for given_name, value in given.items():
        name = given_name if given_name in known else _snake(given_name)
        if name == MAX_BYTES and not verb.own_max_bytes:
            if value is None:
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if type(value) is not int or value < MAX_BYTES_LEAST:
                wrong(
                    name,
                    f"max_bytes: expected an integer of at least {MAX_BYTES_LEAST}, "
                    f"got {preview(value)}",
                )
            else:
                max_bytes = value
            continue
        field = known.get(name)
        if field is None:
            wrong(given_name, f"{given_name}: unknown argument{_nearest(given_name, known)}")
            continue
        if name in values:
            wrong(name, f"{name}: given twice, as {given_name!r} too")
            continue
        if value is None and not field.required and field.default is None:
            continue
        problem, fitted, note = _fit(field, value, strict=verb.strict_maximum)
        if problem:
            wrong(name, problem)
        else:
            values[name] = fitted
            if note:
                notes.append(note)

    for field in known.values():
        if field.required and field.name not in values and field.name not in fields_at:
            wrong(field.name, f"{field.name}: missing, expected {field.expected()}")
    for group in verb.exactly_one:
        present = [n for n in group if values.get(n) is not None]
        if len(present) != 1 and not any(n in fields_at for n in group):
            got = (
                "neither"
                if not present and len(group) == 2
                else "none"
                if not present
                else ("both" if len(group) == 2 else " and ".join(present))
            )
            wrong(group[0], f"expected exactly one of {' and '.join(group)}, got {got}")
    if problems:
        takes = ", ".join(n if f.required else f"{n}?" for n, f in known.items())
        raise InvalidArg(
            f"@{verb.tool} {verb.name}: " + "; ".join(problems),
            hint=f"@{verb.tool} {verb.name} takes {{{takes}}}",
            at={"fields": fields_at},
        )
    names = zip(verb.args.__struct_encode_fields__, verb.args.__struct_fields__, strict=True)
    attributes = dict(names)  # `structs.fields` evaluates every annotation, on each call
    given_values = {attributes[name]: value for name, value in values.items()}
    return Checked(verb.args(**given_values), max_bytes, tuple(notes))


def _fit(field: Field, value: Any, *, strict: bool) -> tuple[str | None, Any, str | None]:
    """(problem, fitted value, note) for one argument."""
    for kind in field.kinds:
        if kind == "json" or (kind == "null" and value is None):
            return None, value, None
        if kind == "boolean" and isinstance(value, bool):
            return None, value, None
        if kind == "choice" and value in field.choices and not isinstance(value, bool):
            return None, value, None
        if kind == "string" and isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as exc:
                return (
                    f"{field.name}: invalid Unicode: a lone surrogate "
                    f"U+{ord(value[exc.start]):04X} at character {exc.start}",
                    None,
                    None,
                )
            return None, value, None
        if kind == "integer" and isinstance(value, int | float) and not isinstance(value, bool):
            if isinstance(value, float):
                if not value.is_integer():
                    continue
                value = int(value)
            if field.minimum is not None and value < field.minimum:
                continue
            if field.maximum is not None and value > field.maximum:
                if strict:
                    continue
                return (
                    None,
                    field.maximum,
                    f"{field.name} {value} taken as the most, {field.maximum}",
                )
            return None, value, None
        if kind == "list" and isinstance(value, list):
            assert field.item is not None
            fitted = []
            for k, element in enumerate(value):
                problem, one, _ = _fit(field.item, element, strict=True)
                if problem:
                    return problem.replace(f"{field.name}[]", f"{field.name}[{k}]", 1), None, None
                fitted.append(one)
            return None, fitted, None
    text = f"{field.name}: expected {field.expected()}, got {preview(value)}"
    if "choice" in field.kinds and isinstance(value, str):
        text += _nearest(value, [str(c) for c in field.choices])
    return text, None, None


def preview(value: Any) -> str:
    """A value in at most 40 characters, with its type where that is what is wrong."""
    if isinstance(value, str):
        cut = value if len(value) <= _PREVIEW_CHARACTERS else value[:_PREVIEW_CHARACTERS] + "…"
        return f"the string {cut!r}".encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, dict):
        return f"an object of {len(value)} members"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = str(value)
    return text if len(text) <= _PREVIEW_CHARACTERS else text[:_PREVIEW_CHARACTERS] + "…"


def _nearest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    if near := nearest(_snake(name), list(known)):
        return f"; did you mean {near!r}?"
    return f"; known are {', '.join(known)}" if known else ""


def nearest(name: str, known: list[str]) -> str | None:
    """The known name most like the given one, or None where none is near."""
    import difflib

    folded = {k.casefold(): k for k in known}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def json_schema(verb: Verb[Any]) -> dict[str, Any]:
    """The JSON Schema of a verb's arguments, one flat object without references."""
    properties: dict[str, Any] = {}
    for f in fields_of(verb.args):
        properties[f.name] = _schema(f)
    if not verb.own_max_bytes:
        properties[MAX_BYTES] = {
            "type": "integer",
            "minimum": MAX_BYTES_LEAST,
            "description": "a lower output cap for this call, in bytes",
        }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [f.name for f in fields_of(verb.args) if f.required],
        "properties": properties,
    }


def _schema(field: Field) -> dict[str, Any]:
    forms: list[dict[str, Any]] = []
    for kind in field.kinds:
        match kind:
            case "integer":
                form: dict[str, Any] = {"type": "integer"}
                if field.minimum is not None:
                    form["minimum"] = field.minimum
                if field.maximum is not None:
                    form["maximum"] = field.maximum
                forms.append(form)
            case "choice":
                forms.append({"enum": list(field.choices)})
            case "list":
                items = _schema(field.item) if field.item else {}
                if field.item and "null" in field.item.kinds:
                    items = {"anyOf": [*items.get("anyOf", [items]), {"type": "null"}]}
                forms.append({"type": "array", "items": items})
            case "json":
                forms.append({})
            case "null":
                pass  # an optional argument is left out, not null
            case _:
                forms.append({"type": kind})
    schema: dict[str, Any] = dict(forms[0]) if len(forms) == 1 else {"anyOf": forms}
    if field.doc:
        schema["description"] = field.doc
    if field.default is not None:
        schema["default"] = field.default
    return schema
