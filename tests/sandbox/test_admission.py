"""Who may come in over HTTP: decided from headers alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import admission, gate
from sandbox.admission import Refusal

TOKEN = "correct-horse"


def status(refusal: Refusal | None) -> int | None:
    return None if refusal is None else refusal.status


@pytest.mark.parametrize(
    "header",
    ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535", "127.8.9.1:80",
     "[::1]", "[::1]:8000", "[::ffff:127.0.0.1]:80", "localhost:0"],
)  # fmt: skip
@pytest.mark.parametrize("bound", ["127.0.0.1", "::1", "[::1]", "localhost", "0.0.0.0", "::"])
def test_54_loopback_names_are_served_on_loopback(header: str, bound: str) -> None:
    assert admission.allowed_host(header, bound) is None


@pytest.mark.parametrize(
    "header",
    [None, "", " ", "evil.example", "evil.example:8000", "localhost.evil", "localhost.evil:80",
     "evil.localhost", "localhost.", "127.0.0.1.evil", "127.0.0.1.nip.io", "127.1", "2130706433",
     "0x7f000001", "localhost@evil", "evil@localhost", "localhost:80@evil", "localhost:", "localhost:x",
     "localhost:-1", "localhost:65536", "localhost:080000", "localhost:٨٠", "localhost,evil",
     "localhost, localhost", "localhost evil", "localhost/", "localhost#", "localhost?x", "http://localhost",
     "[::1", "::1", "[::1]x", "[::1]:", "[127.0.0.1]", "[::1%25lo]", "[::2]:80", "10.0.0.1", "0.0.0.0",
     "localhost\x00", "localhost\nevil", "lоcalhost"],
)  # fmt: skip
def test_54_any_other_name_is_421(header: str | None) -> None:
    refusal = admission.allowed_host(header, "127.0.0.1")
    assert status(refusal) == 421, refusal


def test_54_a_name_rebound_to_loopback_is_421() -> None:
    """The attack: the page's own name, pointed at 127.0.0.1 after it was loaded."""
    refusal = admission.check_request(
        host="rebind.evil:8000", origin="http://rebind.evil:8000",
        authorization=f"Bearer {TOKEN}", token=TOKEN, bound_host="127.0.0.1",
    )  # fmt: skip
    assert refusal is not None and refusal.status == 421
    assert "rebind.evil:8000" in refusal.message


@pytest.mark.parametrize(
    ("header", "bound", "allowed"),
    [
        ("192.168.1.5:80", "192.168.1.5", True), ("192.168.1.6:80", "192.168.1.5", False),
        ("localhost", "192.168.1.5", False), ("127.0.0.1", "192.168.1.5", False),
        ("192.168.1.5", "0.0.0.0", True), ("[fe80::1]", "::", True), ("box.lan", "0.0.0.0", False),
        ("box.lan", "box.lan", True), ("BOX.lan:80", "box.lan", True), ("box.lan.evil", "box.lan", False),
    ],
)  # fmt: skip
def test_54_another_bound_address_serves_its_own_name(header: str, bound: str, allowed: bool) -> None:
    assert (admission.allowed_host(header, bound) is None) is allowed


def test_54_listed_names_are_served() -> None:
    assert admission.allowed_host("box.lan:80", "0.0.0.0", ("Box.lan",)) is None
    assert admission.allowed_origin("https://box.lan", "0.0.0.0", ("box.lan",)) is None
    assert status(admission.allowed_host("x.box.lan", "0.0.0.0", ("box.lan",))) == 421


@pytest.mark.parametrize(
    "header",
    [None, "http://localhost:3000", "https://localhost", "http://127.0.0.1:8000", "HTTP://[::1]:1"],
)
def test_54_programs_and_own_pages_pass(header: str | None) -> None:
    assert admission.allowed_origin(header) is None


@pytest.mark.parametrize(
    "header",
    ["", "null", "NULL", "http://evil.example", "https://localhost.evil", "http://evil/localhost",
     "http://localhost/", "http://localhost@evil", "file://", "chrome-extension://abc", "localhost",
     "ftp://localhost", "http://", "://localhost", "http://localhost http://evil", "*"],
)  # fmt: skip
def test_54_pages_from_elsewhere_are_403(header: str) -> None:
    assert status(admission.allowed_origin(header)) == 403


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
def test_55_the_right_token_passes(header: str) -> None:
    assert admission.check_token(header, TOKEN) is None


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", f"Bearer{TOKEN}", f"Bearer {TOKEN}x",
     f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN}, Bearer x", "Bearer é",
     f"Bearer \t{TOKEN}", "Bearer \udcff"],
)  # fmt: skip
def test_55_any_other_is_401(header: str | None) -> None:
    refusal = admission.check_token(header, TOKEN)
    assert refusal is not None and refusal.status == 401
    assert TOKEN not in refusal.message


def test_55_an_empty_token_opens_nothing() -> None:
    assert status(admission.check_token("Bearer ", "")) == 401


def test_55_a_door_without_a_token_asks_for_none() -> None:
    assert admission.check_token(None, None) is None


def test_55_an_open_path_still_checks_host_and_origin() -> None:
    def ask(host: str, origin: str | None) -> int | None:
        return status(
            admission.check_request(
                host=host, origin=origin, authorization=None, token=TOKEN,
                bound_host="127.0.0.1", open_path=True,
            )
        )

    assert ask("localhost", None) is None
    assert ask("evil", None) == 421
    assert ask("localhost", "null") == 403


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("application/json", None), ("Application/JSON; charset=utf-8", None), (" application/json ;x", None),
        (None, 415), ("", 415), ("text/plain", 415), ("application/x-www-form-urlencoded", 415),
        ("text/plain; application/json", 415), ("application/jsonp", 415), ("application/json, text/plain", 415),
    ],
)  # fmt: skip
def test_55_the_content_type_is_json_or_415(header: str | None, expected: int | None) -> None:
    assert status(admission.check_content_type(header, ("application/json",))) == expected


@pytest.mark.parametrize(
    ("length", "encoding", "expected"),
    [
        (None, None, None), (None, "chunked", None), ("0", None, None), ("99", None, None),
        ("100", None, None), ("101", None, 413), ("0000000000000000000000100", None, None),
        ("9" * 19, None, 413), ("9" * 100_000, None, 413),
        ("-1", None, 400), ("+5", None, 400), ("5, 5", None, 400), ("0x5", None, 400), ("", None, 400),
        ("٥", None, 400), (" 5", None, 400), ("1e2", None, 400), ("5", "chunked", 400), ("5", "", 400),
    ],
)  # fmt: skip
def test_56_announced_lengths(length: str | None, encoding: str | None, expected: int | None) -> None:
    refusal = admission.check_length(length, encoding, 100)
    assert status(refusal) == expected
    assert refusal is None or len(refusal.message) < 250


@pytest.mark.parametrize(
    "name", [b"Host", b"origin", b"Authorization", b"Content-Length", b"content-type", b"Transfer-Encoding"]
)
def test_54_a_header_that_decides_and_is_there_twice_is_400(name: bytes) -> None:
    """The attack: one of two Host headers is checked, the other is used."""
    twice = [(name, b"localhost"), (b"x", b"y"), (name.upper(), b"localhost")]
    refusal = admission.read_headers(twice)
    assert isinstance(refusal, Refusal) and refusal.status == 400
    assert admission.read_headers(twice[:2]) == {name.decode().lower(): "localhost", "x": "y"}


def test_other_headers_may_be_repeated() -> None:
    assert admission.read_headers([(b"A", b"1"), (b"a", b"2")]) == {"a": "2"}


@pytest.mark.parametrize(("value", "expected"), [(98, None), (99, None), (100, 431)])
def test_56_headers_are_bounded_together(value: int, expected: int | None) -> None:
    found = admission.read_headers([(b"a", b"b" * value)], limit_bytes=100)
    assert (found.status if isinstance(found, Refusal) else None) == expected


@given(st.text(max_size=60))
@settings(max_examples=200)
def test_no_text_breaks_a_decision_and_only_loopback_passes(text: str) -> None:
    if admission.allowed_host(text, "127.0.0.1") is None:
        parts = admission.split_authority(text)
        assert parts is not None and admission.is_loopback(parts[0])
    admission.allowed_origin(text)
    assert (admission.check_token(text, TOKEN) is None) == (
        text[:7].lower() == "bearer " and text[7:].strip(" ") == TOKEN
    )


@given(
    st.sampled_from(["localhost", "127.0.0.1", "[::1]", "10.0.0.1", "a.b-c", "[fe80::1]"]),
    st.none() | st.integers(0, 65_535),
)
@settings(max_examples=100)
def test_an_authority_is_split_where_it_was_joined(host: str, port: int | None) -> None:
    text = host if port is None else f"{host}:{port}"
    assert admission.split_authority(text) == (host.strip("[]"), port)


def test_the_gate_offers_the_same_decisions() -> None:
    assert gate.check_request is admission.check_request
    assert gate.Refusal is Refusal
