"""Names of a patch: what is left of them after components are stripped."""

from __future__ import annotations

import pytest

from toolbox.engines.patch import names


@pytest.mark.parametrize(
    ("name", "count", "left"),
    [
        (b"b/x/y", 1, b"x/y"),
        (b"b//etc/passwd", 1, b"/etc/passwd"),
        (b"b/x//y", 1, b"x/y"),
        (b"./b/x", 1, b"x"),
        (b"/a/b", 0, b"/a/b"),
        (b"b", 1, None),
    ],
)
def test_what_is_left_of_a_name_shows_when_it_is_absolute(
    name: bytes, count: int, left: bytes | None
) -> None:
    assert names.strip_components(name, count) == left
