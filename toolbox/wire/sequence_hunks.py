"""The published entry of `sequence-diff-hunks` 1.0.0, under which `@diff sequence` is known too.

Its words, schemas and limits are a contract with those who call it by that name: they are served
as they were published.
"""

from __future__ import annotations

from typing import Any, Final

ENTRY: Final[dict[str, Any]] = {
    "id": "sequence-diff-hunks",
    "version": "1.0.0",
    "description": "Group a Myers sequence edit script into context hunks with 0-based original "
    "addresses.",
    "supported_operations": [
        "sequence diff hunks",
        "grouped sequence diff hunks",
        "sequence context hunks",
    ],
    "unsupported_operations": [
        "fuzzy matching",
        "patience diff",
        "histogram diff",
        "offset search",
        "RFC 6902 JSON Patch",
        "csv row diff",
    ],
    "semantics": [
        "left and right are sequences of JSON null, boolean, string, or IEEE-754 safe "
        "integer items.",
        "Hunks are built from the Myers SES via hunksFromSes. context defaults to 3, "
        "may be 0, and is at most 16.",
        "Changes separated by fewer than 2*context keep ops merge into one hunk.",
        "old_start and new_start are 0-based. When old_count is 0, old_start is the "
        "insertion index in [0, left.length].",
        "Hunk ops are {op, value} only. identical is true iff there are no change ops.",
        'For left ["A","B","C"] and right ["A","X","C"] with context 0 there is one '
        "hunk at old_start 1 replacing B with X.",
        'The string "__proto__" is an ordinary item. Unknown input fields are rejected.',
    ],
    "limits": {
        "max_sequence_items": 1024,
        "max_item_string_bytes": 4096,
        "max_text_bytes": 262144,
        "max_context": 16,
        "max_hunks": 1024,
        "max_output_bytes": 1048576,
    },
    "pricing": {"status": "unpriced", "charge_usd": None},
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["left", "right"],
        "properties": {
            "left": {
                "type": "array",
                "maxItems": 1024,
                "items": {
                    "description": "null, boolean, UTF-8 string, or IEEE-754 safe integer",
                    "type": ["null", "boolean", "string", "integer"],
                },
            },
            "right": {
                "type": "array",
                "maxItems": 1024,
                "items": {
                    "description": "null, boolean, UTF-8 string, or IEEE-754 safe integer",
                    "type": ["null", "boolean", "string", "integer"],
                },
            },
            "context": {"type": "integer", "minimum": 0, "maximum": 16},
        },
    },
    "output_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["hunks", "identical"],
        "properties": {
            "hunks": {"type": "array", "maxItems": 1024},
            "identical": {"type": "boolean"},
        },
    },
    "examples": [
        {
            "input": {"left": ["A", "B", "C"], "right": ["A", "X", "C"], "context": 0},
            "output": {
                "hunks": [
                    {
                        "old_start": 1,
                        "old_count": 1,
                        "new_start": 1,
                        "new_count": 1,
                        "ops": [{"op": "delete", "value": "B"}, {"op": "insert", "value": "X"}],
                    }
                ],
                "identical": False,
            },
        }
    ],
    "execute_url": "/v1/tools/sequence-diff-hunks/versions/1.0.0/execute",
}
