"""The elements that a pass found, told one by one or all: the same as an index of them."""

from __future__ import annotations

import json

import pytest

from toolbox.engines.documents import lazy
from toolbox.engines.documents.json_text import open_json
from toolbox.engines.documents.nodes import LateElements
from toolbox.engines.query.find import find

SEPARATORS = (",", ", ", ",\n", ",\n    ", " , ")


def _array(separator: str, count: int = 3_000) -> tuple[bytes, list[str]]:
    values = [json.dumps({"id": k, "name": "é" * (k % 7)}, ensure_ascii=False) for k in range(count)]
    return f'{{"data":[ {separator.join(values)} ]}}'.encode(), values


@pytest.mark.parametrize("separator", SEPARATORS)
def test_one_element_then_every_element(separator: str) -> None:
    text, values = _array(separator)
    doc = open_json(text, chain=("data",), indexed=True)
    assert find(doc, "data[-1]").one.node.raw.decode() == values[-1]
    array = find(doc, "data").one.node
    elements = lazy.elements(array)
    assert isinstance(elements, LateElements)
    assert len(elements) == len(values)
    for at in (0, 1, 1_500, -2):
        assert elements[at].raw.decode() == values[at]
    assert [e.raw.decode() for e in elements] == values
    assert [e.raw.decode() for e in elements[2:4]] == values[2:4]
    assert elements.kept_bytes == 8 * len(values)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_every_element_at_once(separator: str) -> None:
    text, values = _array(separator)
    doc = open_json(text, chain=("data",), indexed=True)
    assert find(doc, "data[7].id").one.node.raw == b"7"
    found = find(doc, "data[*].id")
    assert [m.node.raw for m in found.matches] == [b"%d" % k for k in range(len(values))]


def test_past_the_end_is_a_miss() -> None:
    text, values = _array(",")
    doc = open_json(text, chain=("data",), indexed=True)
    with pytest.raises(Exception, match=r"3000 elements|0 to 2999|array\[3000\]"):
        find(doc, f"data[{len(values)}]")


def test_elements_are_told_from_slices_up_to_a_page_of_them() -> None:
    values = [json.dumps({"id": k, "name": "x" * 60}) for k in range(3_000)]
    doc = open_json(("[" + ", ".join(values) + "]").encode())
    elements = lazy.elements(lazy.root(doc))
    assert isinstance(elements, LateElements)
    for k in range(LateElements.TOLD):
        assert elements[-k - 1].raw.decode() == values[-k - 1]
    assert elements.kept_bytes == LateElements.SLICE_BYTES * len(values)
    assert elements[7].raw.decode() == values[7]
    assert elements.kept_bytes == 8 * len(values)
    assert lazy.elements(lazy.root(doc)) is elements


def test_slices_larger_than_what_they_tell_of_are_not_kept() -> None:
    doc = open_json(b"[" + b"1," * 20_000 + b"1]")
    elements = lazy.elements(lazy.root(doc))
    assert elements.kept_bytes == 8 * 20_001
    assert elements[20_000].raw == b"1"
