"""Keys of siblings: a total order that every collation keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watchbook.systems.library.models.tree import DIGITS, between, many_after


@given(st.lists(st.integers(0, 10_000), max_size=120))
def test_any_history_of_insertions_keeps_its_order(places):
    row: list[str] = []
    for place in places:
        at = place % (len(row) + 1)
        key = between(row[at - 1] if at else None, row[at] if at < len(row) else None)
        row.insert(at, key)
    assert row == sorted(set(row))
    assert all(set(key) <= set(DIGITS) for key in row)


def test_ends_stay_short():
    assert len(many_after(None, 20_000)[-1]) <= 5
    key = None
    for _ in range(20_000):
        key = between(None, key)
    assert len(key) <= 5


def test_one_gap_grows_slowly():
    low, high = "i0", "i1"
    for _ in range(100):
        high = between(low, high)
    assert len(high) <= 25
