from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbook.core.watching import Schedule, cron, every

MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@given(MOMENTS, st.sampled_from([15, 60, 90, 720]))
def test_interval_has_the_same_slots_for_everybody(moment, minutes):
    schedule = every(minutes=minutes)
    following = schedule.next_after(moment)
    assert moment < following <= moment + timedelta(minutes=minutes)
    assert schedule.next_after(following - timedelta(seconds=1)) == following


@given(MOMENTS, st.integers(1, 400))
def test_missed_slots_count_as_one(moment, hours):
    schedule = every(hours=1)
    first = schedule.next_after(moment)
    later = first + timedelta(hours=hours, minutes=5)
    assert schedule.latest(first, later) == first + timedelta(hours=hours)


def test_cron_line_is_shanghai_time():
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert cron("30 2 * * *").next_after(noon) == datetime(2026, 3, 1, 18, 30, tzinfo=UTC)


@pytest.mark.parametrize("year", range(2024, 2031))
def test_half_past_two_comes_once_on_both_days_of_daylight_saving(year):
    berlin = ZoneInfo("Europe/Berlin")
    schedule = Schedule(cron="30 2 * * *", zone=berlin)
    moment = datetime(year, 1, 1, tzinfo=UTC)
    days = []
    while moment.astimezone(berlin).year == year:
        moment = schedule.next_after(moment)
        days.append(moment.astimezone(berlin).date())
    assert len(days) == len(set(days))
    assert len(days) in (366, 367) if year % 4 == 0 else len(days) in (365, 366)


@pytest.mark.parametrize("line", ["* * * * * *", "60 * * * *", "*/0 * * * *", "x", "", "0 0 30 2"])
def test_line_that_is_not_cron_is_refused(line):
    with pytest.raises(Exception, match=r"."):
        cron(line).next_after(datetime(2026, 1, 1, tzinfo=UTC))


def test_schedule_says_what_it_is():
    assert str(every(hours=12)) == "every 12 h"
    assert str(every(seconds=5)) == "every 5 s"
    assert str(cron("0 3 * * *")) == "0 3 * * *"
