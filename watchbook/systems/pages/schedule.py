"""When a page is read again. No database, no clock.

For a fixed number of looks, the mean age of the copies is lowest when looks are spread by the square root of the rate
of change; looks in proportion to the rate are no better than equal ones.
"""

from __future__ import annotations

import math
from datetime import timedelta

SHORTEST, LONGEST = timedelta(hours=1), timedelta(days=60)
# A page that never changed may still do so: half a change is assumed, spread over the time it was watched and a week.
PRIOR_CHANGES, PRIOR_DAYS = 0.5, 7.0
# Second looks, robots.txt and new pages take their part of the budget.
SHARE_OF_BUDGET = 0.8
RETRIES = (timedelta(minutes=30), timedelta(hours=2), timedelta(hours=8), timedelta(days=1), timedelta(days=3))


def weight(changes: int, watched_days: float) -> float:
    """Return the square root of the estimated changes per day."""
    return math.sqrt((changes + PRIOR_CHANGES) / (max(watched_days, 0.0) + PRIOR_DAYS))


def interval(own: float, total: float, daily_requests: int) -> timedelta:
    """Return the time to the next look, when all pages share the budget by their weights."""
    if own <= 0 or total <= 0:
        return LONGEST
    days = total / (own * max(daily_requests * SHARE_OF_BUDGET, 1.0))
    return min(max(timedelta(days=min(days, 1000.0)), SHORTEST), LONGEST)


def retry_after(failures: int) -> timedelta:
    """Return the backoff after so many failures in a row."""
    return RETRIES[min(max(failures, 1), len(RETRIES)) - 1]
