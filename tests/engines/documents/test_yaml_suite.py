"""yaml-test-suite: valid documents read with the values it gives, invalid ones refused."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from toolbox.engines.documents.yaml_reader import open_yaml
from toolbox.errors import ParseFailed

SOURCES = Path(__file__).resolve().parents[4] / "shared/suites/yaml-test-suite/src"

OUR_RULES = {
    "2JQS/0": "a duplicate key", "X38W/0": "a duplicate key, through an alias",
}  # fmt: skip
NOT_READ = {
    **dict.fromkeys(
        ["4MUZ/0", "4MUZ/1", "4MUZ/2", "5MUD/0", "K3WX/0", "9SA2/0", "NJ66/0", "UT92/0", "VJP3/1"],
        "a flow key on another line than its colon",
    ),
    **dict.fromkeys(["6CA3/0", "DK95/0", "Q5MG/0"], "a tab before the first character of a line"),
    **dict.fromkeys(["HWV9/0", "QT73/0", "M7A3/0"], "a document end without a document"),
    **dict.fromkeys(["ZYU8/1", "ZYU8/2", "ZYU8/3"], "a directive that no one writes"),
    "CFD4/0": "a flow pair without a key", "R4YG/0": "a tab in the blank lines of a folded scalar",
}  # fmt: skip
NOT_REFUSED = {
    **dict.fromkeys(["9C9N/0", "DK95/1", "QB6E/0", "S98Z/0", "Y79Y/3"], "indentation of what goes on"),
    **dict.fromkeys(["9JBA/0", "CVW2/0", "SU5Z/0", "X4QW/0", "MUS6/0"], "a # without a space before"),
    **dict.fromkeys(["9HCY/0", "EB22/0", "RHX7/0", "MUS6/1"], "directives without a document end"),
    **dict.fromkeys(["G5U8/0", "YJV2/0"], "a dash alone in a flow sequence"),
    "U99R/0": "a comma in a tag",
}  # fmt: skip
OTHER_VALUE = {
    "UKK6/2": "! alone is the empty string here, null there",
    "SM9W/1": "an empty key, for which JSON has no form and the suite gives null",
    "L24T/1": "a last line of blanks without a line end",
}


def _unseen(text: str) -> str:
    text = text.replace("␣", " ").replace("⇔", "\ufeff").replace("↵", "").replace("←", "\r")
    return re.sub("∎\n$", "", re.sub("—*»", "\t", text))


def _cases() -> dict[str, dict[str, str]]:
    cases = {}
    for path in sorted(SOURCES.glob("*.yaml")) if SOURCES.is_dir() else []:
        before: dict[str, str] = {}
        for k, case in enumerate(yaml.load(path.read_text(), yaml.BaseLoader)):
            kept = {name: before[name] for name in ("name", "yaml") if name in before}
            before = {**kept, **case}
            cases[f"{path.stem}/{k}"] = before
    return cases


CASES = _cases()


def _untagged(value: Any) -> Any:
    """The value without the wrappers that show local and unknown tags."""
    if isinstance(value, dict):
        if len(value) == 1 and (key := next(iter(value))).startswith("!"):
            return _untagged(value[key])
        return {key: _untagged(inner) for key, inner in value.items()}
    return [_untagged(inner) for inner in value] if isinstance(value, list) else value


def _expected(text: str) -> list[Any]:
    decoder = json.JSONDecoder(parse_float=Decimal)
    values, at = [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        values.append(value)
    return values


def _read(source: str) -> Any:
    text = open_yaml(source.encode(), doc="*").text
    return _untagged(json.loads(text, parse_float=Decimal))


@pytest.mark.parametrize("case", CASES)
def test_suite(case: str) -> None:
    content = CASES[case]
    source = _unseen(content["yaml"])
    if content.get("fail") == "true" and case not in NOT_REFUSED:
        with pytest.raises(ParseFailed) as caught:
            _read(source)
        assert caught.value.at is not None and caught.value.at["line"] >= 1
    elif case in NOT_READ or case in OUR_RULES:
        with pytest.raises(ParseFailed):
            _read(source)
    else:
        values = _read(source)
        if content.get("json") and content.get("fail") != "true" and case not in OTHER_VALUE:
            assert _spell(values) == _spell(_expected(content["json"]))


def _spell(value: Any) -> Any:
    """Numbers that JSON spells otherwise are strings in our text: 0xFFEEBB is one of them."""
    if isinstance(value, dict):
        return {key: _spell(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_spell(inner) for inner in value]
    if isinstance(value, str) and re.fullmatch("0x[0-9A-F]+", value):
        return int(value, 16)
    return value
