"""The HTTP door: what is refused before a route, what a verb answers, MCP's Origin check."""

from __future__ import annotations

import json
import pathlib
import socket
from collections.abc import Callable, Iterator

import httpx
import jsonschema
import pytest

from tests.daemon.conftest import Stdio
from toolbox.registry import all_verbs

JSON = {"content-type": "application/json"}


@pytest.fixture
def http(workspace: pathlib.Path, serve: Callable[..., Stdio]) -> Iterator[httpx.Client]:
    daemon = serve("--http", "127.0.0.1:0")
    daemon.call("@json", "validate", text="{}")
    line = daemon.logged("http")
    with httpx.Client(
        base_url=line["url"], headers={"authorization": f"Bearer {line['token']}"}, timeout=60, trust_env=False
    ) as client:
        yield client


def _execute(http: httpx.Client, ident: str, args: object, **more: object) -> httpx.Response:
    return http.post(f"/v1/tools/{ident}/versions/1.0.0/execute", json=args, **more)  # type: ignore[arg-type]


def test_a_call_answers_with_the_envelope_and_its_digits(http: httpx.Client, workspace: pathlib.Path) -> None:
    (workspace / "a.json").write_text('{"p": 1.10}')
    got = _execute(http, "json-get", {"file": "a.json", "path": "p"})
    assert got.status_code == 200 and b'"value":1.10' in got.content
    assert got.json()["op"] == "json.get"


def test_the_catalogue_lists_every_verb_and_each_entry_alone(http: httpx.Client) -> None:
    entries = http.get("/v1/tools").json()["tools"]
    idents = [e["id"] for e in entries]
    assert {"json-get", "diff-apply", "sequence-diff-hunks"} <= set(idents) and len(set(idents)) == len(idents)
    for entry in entries:
        assert http.get(f"/v1/tools/{entry['id']}").json() == entry


def test_the_published_sequence_tool_answers_bare(http: httpx.Client) -> None:
    entry = http.get("/v1/tools/sequence-diff-hunks").json()
    (example,) = entry["examples"]
    got = http.post(entry["execute_url"], json=example["input"])
    assert got.json() == example["output"]
    bad = http.post(entry["execute_url"], json={"left": [], "right": [], "contxt": 1})
    assert bad.status_code == 422 and "contxt" in bad.json()["error"]["message"]


REFUSALS = [
    ("no token", {"headers": {"authorization": ""}}, 401),
    ("a wrong token", {"headers": {"authorization": "Bearer nope"}}, 401),
    ("another scheme", {"headers": {"authorization": "Basic eDp5"}}, 401),
    ("an evil host", {"headers": {"host": "evil.example"}}, 421),
    ("a host that begins like ours", {"headers": {"host": "localhost.evil.example"}}, 421),
    ("an evil origin", {"headers": {"origin": "https://evil.example"}}, 403),
    ("a null origin", {"headers": {"origin": "null"}}, 403),
    ("another content type", {"headers": {"content-type": "text/xml"}}, 415),
]


@pytest.mark.parametrize(("more", "status"), [r[1:] for r in REFUSALS], ids=[r[0] for r in REFUSALS])
def test_refused_before_a_verb_runs(http: httpx.Client, more: dict[str, dict[str, str]], status: int) -> None:
    headers = {**JSON, **more["headers"]}
    got = http.post("/v1/tools/json-get/versions/1.0.0/execute", content=b'{"text":"1"}', headers=headers)
    assert got.status_code == status
    assert got.json()["ok"] is False and got.json()["error"]["message"]


def test_a_body_past_the_limit_is_413_announced_or_not(http: httpx.Client) -> None:
    url = "/v1/tools/json-get/versions/1.0.0/execute"
    big = b'{"text":"' + b"x" * (16 * 1024 * 1024) + b'"}'

    def chunks() -> Iterator[bytes]:
        for k in range(0, len(big), 1 << 20):
            yield big[k : k + (1 << 20)]

    for content in (big, chunks()):
        try:
            assert http.post(url, content=content, headers=JSON).status_code == 413
        except (httpx.WriteError, httpx.RemoteProtocolError):
            pass  # the answer came and the door closed while the rest was still being sent
    assert http.get("/healthz").json() == {"ok": True}


def test_length_and_chunks_together_are_refused(http: httpx.Client) -> None:
    with socket.create_connection((http.base_url.host, http.base_url.port), 30) as raw:
        raw.sendall(
            b"POST /v1/message HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        )
        assert raw.recv(65536).split(b" ")[1] == b"400"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/v1/tools/json-gte", 404), ("DELETE", "/v1/tools", 405),
     ("GET", "/v1/tools/json-get/versions/1.0.0/execute", 405),
     ("POST", "/v1/tools/json-get/versions/9.9.9/execute", 404)],
)  # fmt: skip
def test_wrong_places_and_methods(http: httpx.Client, method: str, path: str, status: int) -> None:
    got = http.request(method, path)
    assert got.status_code == status and got.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b'"x"', b"\xff"], ids=repr)
def test_a_body_that_is_no_object(http: httpx.Client, body: bytes) -> None:
    got = http.post("/v1/tools/json-get/versions/1.0.0/execute", content=body, headers=JSON)
    assert got.status_code == 400 and got.json()["ok"] is False


def test_a_message_with_tags_in_and_replies_out(http: httpx.Client) -> None:
    message = """<tool_call id="1" name="@json" args='{"cmd":"get","args":{"text":"[1.0]","path":"[0]"}}' />"""
    want = '<tool_result name="@json" cmd="get" id="1" status="ok" bytes="3">\n1.0\n</tool_result>\n'
    for content, kind in ((message, "text/plain"), (json.dumps({"message": message}), "application/json")):
        got = http.post("/v1/message", content=content, headers={"content-type": kind})
        assert got.text == want


def test_metrics_and_openapi(http: httpx.Client) -> None:
    _execute(http, "json-get", {"text": "1", "path": ""})
    assert 'toolbox_calls_total{op="json.get",outcome="ok"} 1' in http.get("/metrics").text
    document = http.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) >= {e["execute_url"] for e in http.get("/v1/tools").json()["tools"]}


def _valid(schema: dict[str, object], value: object) -> None:
    jsonschema.Draft202012Validator(schema).validate(value)


def test_the_openapi_document_holds_for_every_example(http: httpx.Client, workspace: pathlib.Path) -> None:
    """Bodies as the document says are taken, and answers are as it says."""
    paths = http.get("/openapi.json").json()["paths"]
    for verb in all_verbs():
        operation = paths[f"/v1/tools/{verb.tool}-{verb.name}/versions/1.0.0/execute"]["post"]
        takes = operation["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator.check_schema(takes)
        for example in verb.examples:
            nulls = {n: None for n, f in takes["properties"].items() if {"type": "null"} in f.get("anyOf", ())}
            for body in (dict(example.args), {**nulls, **example.args}):
                for name, text in example.files.items():
                    (workspace / name).parent.mkdir(parents=True, exist_ok=True)
                    (workspace / name).write_text(text)
                if example.fails != "E_INVALID_ARG":
                    _valid(takes, body)
                got = _execute(http, f"{verb.tool}-{verb.name}", body)
                said = operation["responses"][str(got.status_code)]["content"]["application/json"]["schema"]
                _valid(said, got.json())
                assert got.status_code < 500
                assert got.json()["ok"] is (example.fails is None), (verb.name, body, got.text)


def test_a_number_past_its_maximum_is_as_the_document_says(http: httpx.Client) -> None:
    paths = http.get("/openapi.json").json()["paths"]
    for ident, body in (("diff-history", {"limit": 101}), ("json-query", {"text": "[]", "where": "a", "limit": 9999})):
        takes = paths[f"/v1/tools/{ident}/versions/1.0.0/execute"]["post"]["requestBody"]
        _valid(takes["content"]["application/json"]["schema"], body)
        got = _execute(http, ident, body)
        assert got.status_code == 200 and "taken as the most" in got.json()["text"]


def test_blanks_around_a_header_are_no_part_of_it(http: httpx.Client) -> None:
    token = http.headers["authorization"]
    with socket.create_connection((http.base_url.host, http.base_url.port), 30) as raw:
        raw.sendall(
            f"GET /v1/tools HTTP/1.1\r\nHost: \t 127.0.0.1 \t\r\nAuthorization:   {token}  \r\n"
            "Connection: close\r\n\r\n".encode()
        )
        assert raw.recv(65536).split(b" ")[1] == b"200"
