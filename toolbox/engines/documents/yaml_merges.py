"""Merge keys: the members that `<<` names, put where it stands."""

from __future__ import annotations

from typing import Any

from toolbox.engines.documents.yaml_pieces import Pieces, Region, find_elements
from toolbox.engines.documents.yaml_refusals import Refused


def merge_members(
    made: Pieces, piece: int, brace: int, merge_at: int, entry: int, mark: Any
) -> None:
    """Replace a merge key in the mapping at the end of the text by what it names.

    Own keys win, wherever they stand, then earlier mappings. piece, entry: where the mapping's
    node begins; brace: its opening bracket; merge_at: the merge key; mark: its place.
    """
    body = made.cut(piece, entry)
    pieces = body.pieces()
    merge, inside = merge_at - piece, brace - piece + 1
    members = list(find_elements(pieces, inside))
    taken = {_bare(pieces[low]) for low, _ in members if low != merge}
    made.paste(body, 0, inside)
    for low, high in members:
        if low != merge:
            _paste_member(made, body, pieces, low, high)
            continue
        for first in _find_merged(pieces, merge + 1, mark):
            for k, stop in find_elements(pieces, first + 1):
                if (key := _bare(pieces[k])) not in taken:
                    taken.add(key)
                    _paste_member(made, body, pieces, k, stop)


def _paste_member(made: Pieces, body: Region, pieces: list[str], low: int, high: int) -> None:
    key = _bare(pieces[low])
    made.out.append(key if made.out[-1] == "{" else "," + key)
    made.paste(body, low + 1, high)


def _bare(piece: str) -> str:
    return piece[1:] if piece[0] == "," else piece


def _find_merged(pieces: list[str], value: int, mark: Any) -> list[int]:
    """Where the mappings that a merge key's value holds open."""
    if pieces[value] == "{":
        return [value]
    if pieces[value] == "[":
        inner = [low for low, _ in find_elements(pieces, value + 1)]
        if all(pieces[low] == "{" for low in inner):
            return inner
    raise Refused(
        "expected a mapping, or a list of mappings, under the merge key <<", mark,
        cause='a plain key of that name is written "<<"',
    )  # fmt: skip
