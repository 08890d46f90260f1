"""The project's own patch engine gives b from a and the diff, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.diff.test_unified import TEXT
from toolbox.engines.diff.unified import unified
from toolbox.engines.patch.outcome import Options, State
from toolbox.engines.patch.parse import parse
from toolbox.engines.patch.plan import plan


def applied(a: bytes, patch: bytes, **options: str) -> bytes:
    outcome = plan(
        parse(patch),
        lambda path: State("file", a) if path == "f" else State("missing"),
        Options(**options),  # type: ignore[arg-type]
    )
    assert not outcome.refused, outcome
    (file,) = outcome.files
    assert file.path == "f" and file.action == "edit"
    assert file.after is not None
    return file.after


@settings(max_examples=200, deadline=None)
@given(TEXT, TEXT, st.integers(1, 4))
def test_own_engine_gives_the_other_side(a: bytes, b: bytes, context: int) -> None:
    patch = unified(a, b, a_name="a/f", b_name="b/f", context=context).render()
    if patch:
        assert applied(a, patch) == b


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT)
def test_without_context_too(a: bytes, b: bytes) -> None:
    patch = unified(a, b, a_name="a/f", b_name="b/f", context=0).render()
    if patch:
        assert applied(a, patch) == b


@pytest.mark.parametrize("labels", [("before", "after"), ("a/f", "b/f")])
def test_inline_texts_apply_to_a_named_file(labels: tuple[str, str]) -> None:
    patch = unified(b"1\r\n2", b"1\n2\n", a_name=labels[0], b_name=labels[1]).render()
    assert applied(b"1\r\n2", patch, file="f") == b"1\n2\n"
