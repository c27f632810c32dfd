"""Dates as sites write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.systems.sitemaps.parse.lastmod import (
    DAY,
    MINUTE,
    MONTH,
    PLAIN,
    SECOND,
    YEAR,
    instant_text,
    instant_texts,
    is_backwards,
    is_unreadable,
    read_lastmod,
    same_lastmod,
)

FORMS = [
    ("2024", "2024-01-01T00:00:00", YEAR),
    ("2024-05", "2024-05-01T00:00:00", MONTH),
    ("2024-05-06", "2024-05-06T00:00:00", DAY),
    ("2017-1-3", "2017-01-03T00:00:00", DAY),
    ("2024-02-29", "2024-02-29T00:00:00", DAY),
    ("2024-05-06T07:35Z", "2024-05-06T07:35:00", MINUTE),
    ("2024-05-06T07:35:20Z", "2024-05-06T07:35:20", SECOND),
    ("2024-05-06t07:35:20z", "2024-05-06T07:35:20", SECOND),
    ("2024-05-06T07:35:20+00:00", "2024-05-06T07:35:20", SECOND),
    ("2024-05-06T07:35:20+0000", "2024-05-06T07:35:20", SECOND),
    ("2024-05-06T07:35:20+08", "2024-05-05T23:35:20", SECOND),
    ("2024-05-06T07:35:20-05:30", "2024-05-06T13:05:20", SECOND),
    ("2024-05-06T07:35:20", "2024-05-06T07:35:20", SECOND),
    ("2024-05-06 07:35:20", "2024-05-06T07:35:20", SECOND),
    ("2024-05-06 07:35:20 +02:00", "2024-05-06T05:35:20", SECOND),
    ("2024-05-06T07:35:20.12Z", "2024-05-06T07:35:20.12", SECOND + 2),
    ("2024-05-06T07:35:20.123456789Z", "2024-05-06T07:35:20.123456789", SECOND + 9),
    ("2024-05-06T07:35:20.000Z", "2024-05-06T07:35:20", SECOND + 3),
    ("Mon, 06 May 2024 07:35:20 GMT", "2024-05-06T07:35:20", SECOND),
    ("6 May 2024 07:35 -0500", "2024-05-06T12:35:00", MINUTE),
    ("Mon, 06 May 24 07:35:20 EST", "2024-05-06T12:35:20", SECOND),
    ("2099-01-01", "2099-01-01T00:00:00", DAY),
]
NOT_DATES = [
    "0000-00-00", "0001-01-01T00:00:00Z", "9999-12-31", "2024-13-01", "2023-02-29", "2024-04-31", "20240506",
    "2024-01-01T24:00:00Z", "2024-12-31T23:59:60Z", "2024-01-01T00:00:00+14:60", "2024-01-01T00:00:00+15:00",
    "yesterday", "NaN", "1714980000", "1714980000000", "06/05/2024", "Mon, 06 Foo 2024 07:35:20 GMT",
    "Mon, 06 May 2024 07:35:20 XYZ", "２０２４-05-06", "2024-05-06T", "x" * 10_000,
]  # fmt: skip


@pytest.mark.parametrize(("raw", "instant", "precision"), FORMS)
def test_forms_sites_write_are_read(raw, instant, precision):
    assert instant_text(raw.encode()) == instant.encode()
    moment = read_lastmod(f"  {raw}\n")
    assert moment is not None
    assert moment.precision == precision
    assert not is_unreadable(raw.encode())


@pytest.mark.parametrize("raw", NOT_DATES)
def test_what_is_no_date_is_kept_as_text(raw):
    assert read_lastmod(raw) is None
    assert instant_text(raw.encode()) == b"?" + raw.encode()
    assert is_unreadable(raw.encode())
    assert not re.fullmatch(PLAIN, raw.encode())


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("2025-01-01", "2025-01-01T00:00:00+00:00", True),
        ("2025-01-01", "2025-01-01T13:45:00Z", True),
        ("2025-01-01", "2025-01-02T00:00:00Z", False),
        ("2025-01", "2025-01-31", True),
        ("2025", "2025-06-01T00:00:00Z", True),
        ("2025", "2026-01-01", False),
        ("2025-01-01T08:00:00+08:00", "2025-01-01T00:00:00Z", True),
        ("2025-01-01T08:00:00+08:00", "2025-01-01T08:00:00Z", False),
        ("2025-01-01T00:00:00Z", "2025-01-01T00:00:00+00:00", True),
        ("2025-01-01T00:00:00Z", "2025-01-01T00:00:01+00:00", False),
        ("2025-01-01T07:35Z", "2025-01-01T07:35:59Z", True),
        ("2025-01-01T07:35:20Z", "2025-01-01T07:35:20.5Z", True),
        ("2025-01-01T07:35:20.50Z", "2025-01-01T07:35:20.5Z", True),
        ("2025-01-01T07:35:20.51Z", "2025-01-01T07:35:20.5Z", True),
        ("2025-01-01T07:35:20.6Z", "2025-01-01T07:35:20.5Z", False),
        ("2025-01-01", "2025-01-01T23:30:00-05:00", True),
        ("2025-01-02", "2025-01-01T23:30:00-05:00", True),
        ("2025-01-03", "2025-01-01T23:30:00-05:00", False),
        ("Wed, 01 Jan 2025 00:00:00 GMT", "2025-01-01T00:00:00Z", True),
        ("", "2025-01-01", False),
        ("2025-01-01", "", False),
        ("", "", True),
        ("yesterday", "yesterday", True),
        ("yesterday", "today", False),
        ("yesterday", "2025-01-01", False),
    ],
)
def test_dates_are_compared_as_instants_at_the_coarser_precision(old, new, same):
    assert same_lastmod(old.encode(), new.encode()) is same
    assert same_lastmod(new.encode(), old.encode()) is same


def test_date_that_goes_back_is_seen():
    assert is_backwards("2025-01-02", "2025-01-01")
    assert not is_backwards("2025-01-01", "2025-01-02")
    assert not is_backwards("2025-01-01T10:00:00Z", "2025-01-01")
    assert not is_backwards("soon", "2025-01-01")


moments = st.datetimes(min_value=datetime(1900, 1, 2), max_value=datetime(2999, 12, 30)).map(
    lambda moment: moment.replace(microsecond=0)
)
offsets = st.integers(-14 * 60 + 1, 14 * 60 - 1)


@settings(deadline=None)
@given(moments, offsets)
def test_any_zone_gives_the_same_instant(moment, minutes):
    here = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=minutes))).isoformat()
    there = moment.isoformat() + "Z"
    assert instant_text(here.encode()) == instant_text(there.encode()) == moment.isoformat().encode()
    assert same_lastmod(here.encode(), there.encode())
    assert not is_unreadable(here.encode())


values = st.sampled_from([raw.encode() for raw, _, _ in FORMS] + [b"", b"yesterday", b"2024-02-30", b"2024-02-29"])


@settings(deadline=None)
@given(
    st.lists(
        values | moments.map(lambda m: f"{m.isoformat()}Z".encode()) | moments.map(lambda m: f"{m:%Y-%m-%d}".encode())
    )
)
def test_column_gives_what_its_values_give(column):
    assert instant_texts(column) == [instant_text(value) for value in column]


@settings(deadline=None)
@given(values, values)
def test_equal_instants_are_never_a_modification(old, new):
    if instant_text(old) == instant_text(new):
        assert same_lastmod(old, new)


@settings(deadline=None)
@given(st.from_regex(re.compile(PLAIN), fullmatch=True))
def test_dates_in_the_plain_forms_can_all_be_read(value):
    assert not is_unreadable(value)
