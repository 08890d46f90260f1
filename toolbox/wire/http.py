"""The HTTP door's bodies: catalogue, OpenAPI document, statuses; no I/O."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec
import orjson

from toolbox import catalogue
from toolbox.arguments import MAX_BYTES, fields_of, nearest
from toolbox.errors import BadCall, InvalidArg
from toolbox.output import API, Reply
from toolbox.registry import load
from toolbox.version import __version__
from toolbox.wire import sequence_hunks

SEQUENCE_ID: Final = sequence_hunks.ENTRY["id"]
"""The catalogue's own name of `@diff sequence`, whose answer is the bare result."""

STATUSES: Final = {
    "E_INVALID_ARG": 422,
    "E_BAD_CALL": 400,
    "E_BUSY": 429,
    "E_TIMEOUT": 504,
    "E_CANCELLED": 503,
    "E_INTERNAL": 500,
    "E_TOO_LARGE": 413,
}
"""Statuses of failed calls; every other code is 200: the call was understood, and its envelope
says why there is no answer."""


def status_of(reply: Reply) -> int:
    """The status that goes with a reply."""
    return 200 if reply.ok else STATUSES.get(reply.code, 200)


def headers_of(reply: Reply) -> dict[str, str]:
    """Headers that go with a reply."""
    return {"Retry-After": "1"} if reply.code == "E_BUSY" else {}


def error_body(code: str, message: str, hint: str | None = None) -> bytes:
    """An envelope for what failed before a verb was known."""
    return orjson.dumps(
        {
            "ok": False,
            "op": "http",
            "api": API,
            "error": {"code": code, "message": message, "hint": hint},
            "meta": {},
        }
    )


@lru_cache(maxsize=1)
def catalogue_entries() -> list[dict[str, Any]]:
    """Every entry: one a verb, and the sequence diff under its own name too."""
    return [*catalogue.catalogue(), sequence_hunks.ENTRY]


def verb_of(entry: dict[str, Any]) -> tuple[str, str]:
    """(tool, verb) that an entry runs."""
    if entry["id"] == SEQUENCE_ID:
        return "diff", "sequence"
    return entry["tool"].removeprefix("@"), entry["cmd"]


def find_entry(ident: str) -> dict[str, Any] | None:
    """The entry with this id, or None."""
    return next((e for e in catalogue_entries() if e["id"] == ident), None)


def unknown_entry(ident: str, version: str | None = None) -> tuple[str, str]:
    """Message and hint for an id or version that the catalogue lacks."""
    known = find_entry(ident)
    if known is not None:
        return (
            f"{ident} has no version {str(version)[:40]}",
            f"its version is {known['version']}: POST {known['execute_url']}",
        )
    near = nearest(ident, [e["id"] for e in catalogue_entries()])
    return f"no tool {ident[:60]}", (f"did you mean {near}? " if near else "") + "GET /v1/tools"


def check_object(body: bytes) -> None:
    """Raise where a body is no JSON object."""
    try:
        value = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise InvalidArg(
            "expected the arguments as a JSON object", hint="GET /v1/tools/ID has the schema"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise BadCall(f"the body is not valid JSON: {exc}") from exc
    del value


class _Request(Protocol):
    @property
    def headers(self) -> Any: ...
    async def body(self) -> bytes: ...


async def message_bytes(request: _Request) -> bytes:
    """The message of `POST /v1/message`: the body itself, or `{"message": …}`."""
    body = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            return msgspec.json.decode(body, type=dict[str, str])["message"].encode()
        except (msgspec.DecodeError, KeyError, UnicodeDecodeError):
            return b""
    return body


def _accepted(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema of a body, as the door holds it: what is optional may be null, and a number past
    its maximum is taken as the maximum (where the catalogue's own schema gives advice)."""
    schema: dict[str, Any] = entry["input_schema"]
    if entry["id"] == SEQUENCE_ID:
        return schema
    verb = load(*verb_of(entry))
    properties: dict[str, Any] = {}
    optional = {f.name for f in fields_of(verb.args) if not f.required and f.default is None}
    for name, form in schema["properties"].items():
        forms = [dict(one) for one in form.get("anyOf", [form])]
        about = {k: form[k] for k in ("description", "default") if k in form}
        for one in forms:
            one.pop("description", None)
            one.pop("default", None)
            if not verb.strict_maximum and "maximum" in one:
                about["x-most"] = one.pop("maximum")
        if (name in optional or name == MAX_BYTES) and {} not in forms:
            forms.append({"type": "null"})
        properties[name] = {**(forms[0] if len(forms) == 1 else {"anyOf": forms}), **about}
    groups = [
        {"oneOf": [{"required": [n], "properties": {n: {"not": {"type": "null"}}}} for n in group]}
        for group in verb.exactly_one
    ]
    return {**schema, "properties": properties, **({"allOf": groups} if groups else {})}


def openapi(server_url: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document of the door."""
    paths: dict[str, Any] = {}
    for entry in catalogue_entries():
        bare = entry["id"] == SEQUENCE_ID
        ok = entry["output_schema"] if bare else _envelope(entry)
        paths[entry["execute_url"]] = {
            "post": {
                "operationId": entry["id"] if bare else entry["id"].replace("-", "_"),
                "summary": entry["description"],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _accepted(entry)}},
                },
                "responses": {
                    "200": {
                        "description": "the answer, or why there is none",
                        "content": {"application/json": {"schema": {"anyOf": [ok, _ERROR]}}},
                    },
                    **{
                        str(s): _error_response()
                        for s in (400, 401, 403, 408, 413, 415, 421, 422, 429, 500, 503, 504)
                    },
                },
            }
        }
    plain = {"description": "text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    some = {"description": "JSON", "content": {"application/json": {"schema": {"type": "object"}}}}
    refused = {str(s): _error_response() for s in (401, 403, 421)}
    paths["/v1/tools"] = {
        "get": {"summary": "the catalogue", "responses": {"200": some, **refused}}
    }
    paths["/v1/tools/{id}"] = {
        "get": {
            "summary": "one entry of the catalogue",
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
            "responses": {"200": some, "404": _error_response(), **refused},
        }
    }
    paths["/v1/message"] = {
        "post": {
            "summary": "a message with tagged calls in, tagged replies out",
            "requestBody": {
                "required": True,
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
            "responses": {
                "200": plain,
                **refused,
                **{str(s): _error_response() for s in (400, 408, 413, 415)},
            },
        }
    }
    paths["/healthz"] = {
        "get": {
            "summary": "whether it is up",
            "security": [],
            "responses": {"200": some, "421": _error_response(), "403": _error_response()},
        }
    }
    paths["/metrics"] = {
        "get": {
            "summary": "counters and latency in Prometheus form",
            "responses": {"200": plain, **refused},
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "toolbox", "version": __version__},
        "servers": [{"url": server_url}] if server_url else [],
        "security": [{"bearer": []}],
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["ok", "op", "api", "error"],
    "properties": {
        "ok": {"const": False},
        "op": {"type": "string"},
        "api": {"type": "integer"},
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": ["string", "null"]},
                "at": {},
            },
        },
    },
}


def _error_response() -> dict[str, Any]:
    return {"description": "refused", "content": {"application/json": {"schema": _ERROR}}}


def _envelope(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["ok", "op", "api", "result", "text", "truncated"],
        "properties": {
            "ok": {"const": True},
            "op": {"type": "string"},
            "api": {"type": "integer"},
            "result": {},
            "text": {"type": "string"},
            "truncated": {"type": "boolean"},
            "hint": {"type": ["string", "null"]},
            "meta": {"type": "object"},
        },
        "x-result": f"see output_schema of GET /v1/tools/{entry['id']}",
    }
