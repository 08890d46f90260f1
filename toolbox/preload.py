"""Everything that a confined worker may need, imported before it is confined."""

from __future__ import annotations

import codecs
import importlib
import pkgutil
from typing import Final

import sandbox
import toolbox.engines
from toolbox.registry import all_verbs

LAZY: Final[tuple[str, ...]] = (
    "difflib",
    "logging",
    "msgspec.json",
    "orjson",
    "re2",
    "secrets",
    "yaml",
    "ruamel.yaml",
    "jsonschema",
    "pathspec",
    "pygit2",
    "markdown_it",
)
"""Libraries that engines import inside functions, so that the command line starts fast."""

CODECS: Final[tuple[str, ...]] = (
    "ascii",
    "cp1252",
    "idna",
    "iso8859_15",
    "latin_1",
    "punycode",
    "raw_unicode_escape",
    "shift_jis",
    "unicode_escape",
    "utf_8_sig",
    "utf_16",
    "utf_16_be",
    "utf_16_le",
    "utf_32",
    "utf_32_be",
    "utf_32_le",
)
"""Codecs that an engine may name; one that is looked up for the first time is imported then."""


def import_all() -> None:
    """Import every verb, every engine and what they import late."""
    for codec in CODECS:
        codecs.lookup(codec)
    for name in LAZY:
        importlib.import_module(name)
    for package in (sandbox, toolbox.engines):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    all_verbs()
