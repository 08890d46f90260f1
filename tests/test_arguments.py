"""Arguments held against a declaration: what fits, and everything that does not, at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from toolbox.arguments import check, fields_of, json_schema
from toolbox.errors import InvalidArg
from toolbox.verb import Answer, Args, Result, Verb


class Sample(Args):
    path: Annotated[str, msgspec.Meta(description="where")]
    file: str | None = None
    text: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=200)] = 20
    raw: bool = False
    mode: Literal["names", "stat"] = "names"
    select: list[str] | str | None = None
    doc: int | str | None = None


class Nothing(Result):
    pass


def _verb(**more: Any) -> Verb[Sample]:
    return Verb(
        tool="json", name="sample", summary="", args=Sample, result=Nothing,
        run=lambda args, ctx: Answer(result=lambda n: Nothing()), cap_bytes=1000, errors=(),
        examples=(), exactly_one=(("file", "text"),), **more,
    )  # fmt: skip


def test_what_fits_becomes_the_record() -> None:
    got = check(_verb(), {"path": "a", "file": "f", "limit": 3, "select": ["x"], "doc": "*"})
    assert got.args == Sample(path="a", file="f", limit=3, select=["x"], doc="*")
    assert got.max_bytes is None and got.notes == ()


def test_a_number_past_its_maximum_is_taken_as_the_maximum_and_said() -> None:
    got = check(_verb(), {"path": "a", "file": "f", "limit": 201})
    assert got.args.limit == 200  # type: ignore[attr-defined]
    assert got.notes == ("limit 201 taken as the most, 200",)
    assert check(_verb(), {"path": "a", "file": "f", "limit": 200}).notes == ()


def test_a_strict_verb_refuses_it() -> None:
    with pytest.raises(InvalidArg, match="limit: expected an integer from 0 to 200, got 201"):
        check(_verb(strict_maximum=True), {"path": "a", "file": "f", "limit": 201})


def test_everything_wrong_is_told_in_one_reply() -> None:
    with pytest.raises(InvalidArg) as caught:
        check(_verb(), {"pth": "a", "limit": -1, "raw": "yes", "mode": "nams", "file": "f", "text": "t"})
    message = caught.value.message
    assert "pth: unknown argument; did you mean 'path'?" in message
    assert "limit: expected an integer from 0 to 200, got -1" in message
    assert "raw: expected a boolean, got the string 'yes'" in message
    assert "did you mean 'names'?" in message
    assert "path: missing, expected a string" in message
    assert "expected exactly one of file and text, got both" in message
    assert caught.value.at == {"fields": ["pth", "limit", "raw", "mode", "path", "file"]}
    assert caught.value.hint is not None and "path, file?, text?" in caught.value.hint


def test_neither_of_an_exclusive_pair_is_told() -> None:
    with pytest.raises(InvalidArg, match="exactly one of file and text, got neither"):
        check(_verb(), {"path": "a"})


REFUSED = [
    ("a boolean is no integer", {"limit": True}),
    ("a fraction is no integer", {"limit": 1.5}),
    ("a list item of another type", {"select": ["a", 1]}),
    ("null for a required one", {"path": None}),
    ("an object", {"path": {}}),
    ("a lone surrogate", {"path": "\ud800"}),
    ("max_bytes of zero", {"max_bytes": 0}),
    ("max_bytes as text", {"max_bytes": "1000"}),
]


@pytest.mark.parametrize("given", [g for _, g in REFUSED], ids=[n for n, _ in REFUSED])
def test_wrong_types_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArg) as caught:
        check(_verb(), {"path": "a", "file": "f"} | given)
    (name,) = given
    assert name in caught.value.message


def test_camel_case_is_understood_and_a_repeat_is_refused() -> None:
    class Snake(Args):
        sort_keys: bool = True

    verb = Verb(
        tool="json", name="snake", summary="", args=Snake, result=Nothing,
        run=lambda args, ctx: Answer(result=lambda n: Nothing()), cap_bytes=1, errors=(), examples=(),
    )  # fmt: skip
    assert check(verb, {"sortKeys": False}).args == Snake(sort_keys=False)
    with pytest.raises(InvalidArg, match="given twice"):
        check(verb, {"sortKeys": False, "sort_keys": True})


def test_null_for_an_optional_argument_is_as_if_left_out() -> None:
    assert check(_verb(), {"path": "a", "file": "f", "text": None}).args == Sample(path="a", file="f")


def test_a_whole_float_is_an_integer() -> None:
    assert check(_verb(), {"path": "a", "file": "f", "limit": 3.0}).args.limit == 3  # type: ignore[attr-defined]


def test_the_schema_has_types_bounds_docs_and_defaults() -> None:
    schema = json_schema(_verb())
    assert schema["required"] == ["path"] and schema["additionalProperties"] is False
    assert schema["properties"]["path"] == {"type": "string", "description": "where"}
    assert schema["properties"]["limit"] == {"type": "integer", "minimum": 0, "maximum": 200, "default": 20}
    assert schema["properties"]["mode"] == {"enum": ["names", "stat"], "default": "names"}
    assert schema["properties"]["max_bytes"]["minimum"] == 200


def test_a_type_that_no_door_knows_is_refused_when_the_verb_is_looked_at() -> None:
    class Odd(Args):
        when: bytes = b""

    with pytest.raises(TypeError, match="when"):
        fields_of(Odd)
