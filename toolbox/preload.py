"""Everything that a confined worker may need, imported before it is confined."""

from __future__ import annotations

import encodings.idna
import encodings.utf_16
import encodings.utf_32
import importlib
import pkgutil
from typing import Final

import sandbox
import toolbox.engines
from toolbox.registry import all_verbs

LAZY: Final[tuple[str, ...]] = (
    "difflib",
    "msgspec.json",
    "orjson",
    "re2",
    "yaml",
    "ruamel.yaml",
    "jsonschema",
    "pathspec",
    "pygit2",
    "markdown_it",
)
"""Libraries that engines import inside functions, so that the command line starts fast."""

CALLABLES: Final[tuple[str, ...]] = ()
"""`module:function` called once after the imports: tables built, codecs looked up."""


def import_all() -> None:
    """Import every verb, every engine and what they import late."""
    for module in (encodings.idna, encodings.utf_16, encodings.utf_32):
        module.getregentry()
    for name in LAZY:
        importlib.import_module(name)
    for package in (sandbox, toolbox.engines):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    all_verbs()
    for entry in CALLABLES:
        module_name, _, function = entry.partition(":")
        getattr(importlib.import_module(module_name), function)()
