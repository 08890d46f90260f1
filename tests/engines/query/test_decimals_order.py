"""Numbers sorted by value, whatever their exponents, and none kept that would fill memory."""

from __future__ import annotations

import pytest

from toolbox.engines.query import decimals
from toolbox.engines.query.decimals import order_key

SORTED = [
    "-1e" + "9" * 5001, "-1e" + "9" * 5000, "-1e9999999999999999999", "-1e400", "-1", "-1e-400",
    "-1e-" + "9" * 5000, "0", "1e-" + "9" * 5001, "1e-" + "9" * 5000, "1e-9999999999999999999", "0.10", "1", "2.5",
    "1e400", "1e999999999999999999999", "1e" + "9" * 5000,
]  # fmt: skip


def test_exponents_of_any_length_have_their_order() -> None:
    assert sorted(SORTED, key=order_key) == SORTED
    for k, low in enumerate(SORTED):
        for high in SORTED[k + 1 :]:
            assert decimals.compare(low, high) == -1


@pytest.mark.parametrize("spelling", ["9" * 100_000, "1e" + "9" * 100_000, "0." + "1" * 100_000])
def test_a_long_spelling_is_not_kept(spelling: str) -> None:
    before = decimals._value_of.cache_info().currsize
    assert decimals.equal(spelling, spelling + " ".strip())
    decimals.value_of(spelling)
    assert decimals._value_of.cache_info().currsize == before
