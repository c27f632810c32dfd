from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone, translation

from watchbook.kit import formatting

pytestmark = pytest.mark.usefixtures("noon")  # 2 March 2026, 04:00 UTC
EARLIER = datetime(2026, 3, 1, 20, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "style", "text"),
    [
        ("en", "full", "2 Mar 04:30"),
        ("en", "short", "04:30"),
        ("en", "date", "2 Mar"),
        ("en", "seconds", "04:30:15"),
        ("zh-hans", "full", "03-02 04:30"),
        ("zh-hans", "date", "03-02"),
    ],
)
def test_moment_is_written_in_the_readers_zone_and_language(language, style, text):
    with translation.override(language), timezone.override("Asia/Shanghai"):
        assert formatting.moment_text(EARLIER, style) == text


def test_short_moment_of_another_day_keeps_its_day():
    with timezone.override("UTC"):
        assert formatting.moment_text(EARLIER, "short") == "1 Mar 20:30"
        assert formatting.moment_text(EARLIER, "seconds") == "1 Mar 20:30:15"


def test_year_is_written_only_when_it_is_another_one():
    with timezone.override("UTC"):
        assert formatting.moment_text(datetime(2025, 11, 15, 5, 58, tzinfo=UTC)) == "15 Nov 2025 05:58"
        with translation.override("zh-hans"):
            assert formatting.day_text(date(2025, 11, 15)) == "2025-11-15"


def test_heading_of_a_day():
    day = date(2026, 11, 15)
    assert formatting.heading_text(day) == "Sunday, 15 November"
    with translation.override("zh-hans"):
        assert formatting.heading_text(day).startswith("11 月 15 日 星期")


def test_log_says_today_and_yesterday():
    with timezone.override("UTC"):
        assert formatting.log_heading(date(2026, 3, 2)) == "Today, Monday 2 March"
        assert formatting.log_heading(date(2026, 3, 1)) == "Yesterday, Sunday 1 March"
        assert formatting.log_heading(date(2026, 2, 27)) == "Friday 27 February"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.21, "0.2 s"),
        (48, "48 s"),
        (60, "1 min"),
        (123, "2 min 3 s"),
        (3600, "1 h"),
        (18_600, "5 h 10 min"),
        (273_600, "3 d 4 h"),
        (45 * 86_400 + 3600, "45 d"),
        (2313 * 86_400 + 9 * 3600, "6 y"),
        (timedelta(minutes=9, seconds=40), "9 min 40 s"),
    ],
)
def test_span_has_at_most_two_units(seconds, text):
    assert formatting.span_text(seconds) == text


def test_relative_time_reads_both_ways(noon):
    assert formatting.ago_text(noon - timedelta(minutes=3)) == "3 min ago"
    assert formatting.ago_text(noon + timedelta(hours=2)) == "in 2 h"
    assert formatting.ago_text(noon) == "now"
    with translation.override("zh-hans"):
        assert formatting.ago_text(noon - timedelta(minutes=3)) == "3 分钟前"


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "–"), (1, "1 byte"), (1023, "1023 bytes"), (1536, "1.5 kB"), (13_000_000, "12 MB"), (2**50, "1,024 TB")],
)
def test_size(count, text):
    assert formatting.size_text(count) == text


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(2_418_066, None, "2,418,066"), (None, None, "–"), (34.25, 1, "34.2"), (0, None, "0"), (-2, None, "−2")],
)
def test_number(value, places, text):
    assert formatting.number_text(value, places) == text
