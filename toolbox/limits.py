"""Every limit of the toolbox, with its reason and what happens past it.

They are passed into engines as arguments, so that tests can shrink them.
"""

from __future__ import annotations

from typing import Final

DOCUMENT_BYTES: Final = 20 * 1024 * 1024
"""A document of `@json`: large saved API responses fit; past it E_TOO_LARGE."""

JSON_OUTPUT_BYTES: Final = 24_000
"""What a `@json` reply's text, and its result, may take: about 8 000 tokens; past it a cut."""

DIFF_FILE_BYTES: Final = 4 * 1024 * 1024
"""One side of a text diff, and one target of a patch; past it E_TOO_LARGE."""

DIFF_OUTPUT_BYTES: Final = 30_000
"""What a `@diff` reply's text, and its result, may take; past it a cut."""

PATCH_BYTES: Final = 4 * 1024 * 1024
"""A patch; past it E_TOO_LARGE."""

DIRS_ENTRIES: Final = 2_000
"""Entries that `dirs` lists; past it a cursor, with the full counts."""

QUERY_LIMIT_DEFAULT: Final = 20
QUERY_LIMIT_MOST: Final = 200
"""Elements that `query` shows; more is taken as the most, and said."""

SCHEMA_DEPTH_DEFAULT: Final = 3
SCHEMA_DEPTH_MOST: Final = 8
SCHEMA_SAMPLE_DEFAULT: Final = 1_000
"""Elements of an array that `schema` looks at; 0 is all."""

CONTEXT_DEFAULT: Final = 3
CONTEXT_MOST: Final = 50
"""Context lines of a diff; more is taken as the most, and said."""

NESTING_LEVELS: Final = 1_000
"""Nesting of a JSON document; past it E_PARSE with the place."""

MISS_KEYS: Final = 50
"""Keys that a miss lists, nearest first; the full count is told."""

YAML_EXPANSION_FACTOR: Final = 10
YAML_EXPANSION_NODES: Final = 1_000_000
"""What aliases may expand to: that many times the file's nodes, or that many nodes."""

PATTERN_CHARACTERS: Final = 1_000
"""A regular expression's length; past it E_BAD_PATTERN."""

MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""One message with its calls, inline text included; past it it is refused."""

REFUSED_TAGS: Final = 200
"""Tags of one message that are refused; past it the rest of the message is not read, since text
made of broken tags costs the daemon seconds for each megabyte."""

CALL_SECONDS: Final = 10.0
"""One call's wall-clock time; past it its worker is killed and replaced."""

WAITING_CALLS: Final = 1_000
WAITING_CALLS_CLIENT: Final = 100
"""Calls that wait, in the daemon and for one client; past it E_BUSY with a time to try again."""

KEPT_DOCUMENT_BYTES: Final = 512 * 1024 * 1024
"""Memory for kept documents, over all workers; least recently used first out."""
