"""Schedules that people write: cron lines, "daily 09:00", "weekly mon 09:00", and quiet hours. Pure."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta

from cronsim import CronSimError

from watchbook.base.clock import SHANGHAI
from watchbook.core.watching import Schedule

SHORTEST = timedelta(minutes=15)
# Slots that are compared to find the shortest gap: a day of the most frequent schedule.
LOOKED_AT = 100
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_START = datetime(2026, 1, 1, tzinfo=SHANGHAI)
_DAILY = re.compile(r"daily (\d{1,2}):(\d{2})")
_WEEKLY = re.compile(rf"weekly ({'|'.join(DAYS)})[a-z]* (\d{{1,2}}):(\d{{2}})")
_QUIET = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*[-–]\s*([01]?\d|2[0-3]):([0-5]\d)")


class InvalidSchedule(ValueError):
    """The text is no schedule, or one that checks more often than every 15 minutes."""


def parse_schedule(text: str) -> str:
    """Return the cron line of a schedule; empty for none. May raise InvalidSchedule."""
    given = " ".join(text.lower().split())[:100]
    if found := _DAILY.fullmatch(given):
        given = f"{int(found[2])} {int(found[1])} * * *"
    elif found := _WEEKLY.fullmatch(given):
        given = f"{int(found[3])} {int(found[2])} * * {DAYS.index(found[1])}"
    if not given:
        return ""
    try:
        schedule, moment = Schedule(cron=given), _START
        for _slot in range(LOOKED_AT):
            following = schedule.next_after(moment)
            if following - moment < SHORTEST and moment != _START:
                raise InvalidSchedule(given)
            moment = following
    except (ValueError, CronSimError, StopIteration) as error:
        raise InvalidSchedule(given) from error
    return given


def parse_quiet(text: str) -> str:
    """Return quiet hours as 22:00-07:00; empty for none. May raise InvalidSchedule."""
    given = text.strip()
    if not given:
        return ""
    found = _QUIET.fullmatch(given)
    if found is None or (found[1], found[2]) == (found[3], found[4]):
        raise InvalidSchedule(given)
    return f"{int(found[1]):02d}:{found[2]}-{int(found[3]):02d}:{found[4]}"


def outside_quiet(moment: datetime, quiet: str) -> datetime:
    """Return the moment, or the end of the quiet hours that it falls into."""
    first, last = (time.fromisoformat(edge) for edge in quiet.split("-"))
    local = moment.astimezone(SHANGHAI)
    at = local.time().replace(tzinfo=None)
    is_quiet = first <= at < last if first < last else at >= first or at < last
    if not is_quiet:
        return moment
    end = datetime.combine(local.date(), last, SHANGHAI)
    return end if end > local else end + timedelta(days=1)
