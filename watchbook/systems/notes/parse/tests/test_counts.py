from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbook.systems.notes.parse.records import Count, moment_of_id, parse_count, parse_moment


@pytest.mark.parametrize(
    ("raw", "value", "exact"),
    [
        ("45", 45, True), ("11308", 11308, True), (0, 0, True), (17, 17, True), ("1.2万", 12_000, False),
        ("2.7万", 27_000, False), ("10+", 10, False), ("100+", 100, False), ("1千+", 1000, False),
        ("1万+", 10_000, False), ("10万+", 100_000, False), ("亿", 100_000_000, False), ("1.5亿", 150_000_000, False),
        ("1,234", 1234, True), ("3w", 30_000, False), ("2.5", 2, False),
        ("", None, False), (None, None, False), ("赞", None, False), (-1, None, False), ("1e9", None, False),
        (True, None, False), ("99999999999999999999", None, False), ("NaN", None, False), ([], None, False),
    ],
)  # fmt: skip
def test_count_as_it_is_shown(raw, value, exact):
    count = parse_count(raw)
    assert (count.value, count.exact) == (value, exact)


def test_what_is_not_shown_is_not_zero():
    assert parse_count(None) == Count(None, False, "")
    assert parse_count("收藏").raw == "收藏"


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.binary()))
def test_no_count_breaks_the_reader(raw):
    count = parse_count(raw)
    assert count.value is None or 0 <= count.value <= 10**15
    assert len(count.raw) <= 40


def test_times_are_read_by_their_size():
    assert parse_moment(1718185880000) == parse_moment(1718185880) == parse_moment("1718185880000")
    assert parse_moment(1718185880000).isoformat() == "2024-06-12T09:51:20+00:00"
    assert [parse_moment(wrong) for wrong in (0, -5, 10**30, "x", None, True, 1.5)] == [None] * 7


def test_id_knows_when_its_note_was_published():
    assert moment_of_id("66696f98000000000000abcd") == parse_moment(0x66696F98)
    assert moment_of_id("short") is None
