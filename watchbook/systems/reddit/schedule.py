"""Tiers by posts per day, and the adaptive schedule. No database, no clock.

A listing is a log: waiting loses no post below its limit of 1,000 entries, it only delays each post by half an interval
on average. For a fixed number of crawls, the sum of delays is lowest if intervals are proportional to 1/sqrt(rate).
(Crawls in proportion to the rate are no better than equal intervals.) Intervals are bounded by 3 minutes and the
maximum of the tier, and by half a listing at peak time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Tier:
    """A tier. `frequency_hours` is the maximum time between two crawls; `limit` is a page size."""

    key: str
    threshold_min: Decimal
    threshold_max: Decimal | None
    frequency_hours: int
    sort: str
    time_filter: str
    limit: int


TIERS: dict[str, Tier] = {
    tier.key: tier
    for tier in (
        Tier("tier1", Decimal("20"), None, 2, "new", "week", 50),
        Tier("tier2", Decimal("10"), Decimal("20"), 6, "top", "week", 80),
        Tier("tier3", Decimal("0"), Decimal("10"), 24, "top", "month", 100),
    )
}
# The maximum interval per priority, also for communities with few posts.
PRIORITY_HOURS = {"high": 2, "medium": 6, "low": 24}
FIRST_TIER = {"high": "tier1", "medium": "tier2", "low": "tier3"}


def tier_of(posts_a_day: float) -> Tier:
    return next(tier for tier in TIERS.values() if posts_a_day >= tier.threshold_min)


def frequency_hours(tier: str, priority: str) -> int:
    """Return the interval of the tier or of the priority, whichever is shorter."""
    return min(TIERS[tier].frequency_hours, PRIORITY_HOURS.get(priority, 24))


MIN_HOURS = 0.05
# Ratio of peak to mean, and the part of a listing that may fill between two crawls.
PEAK = 1.7
HALF_LISTING = 500
# Posts per request when a crawl reads several pages.
POSTS_PER_PAGE = 90
# Communities without posts are crawled, too.
MIN_RATE = 0.05


@dataclass(frozen=True)
class Load:
    """One community: posts per day, their weight and the maximum interval."""

    name: str
    rate: float
    max_hours: float
    weight: float = 1.0


def intervals(loads: Sequence[Load], requests_a_day: float) -> dict[str, float]:
    """Return hours between crawls by name. Maximum intervals win over the budget."""
    low, high = 1e-6, 1e6
    for _ in range(32):
        middle = math.sqrt(low * high)
        if planned_requests(loads, _scaled(loads, middle)) > requests_a_day:
            low = middle
        else:
            high = middle
    return _scaled(loads, high)


def planned_requests(loads: Sequence[Load], hours: Mapping[str, float]) -> float:
    """Return the requests per day for these intervals, including further pages."""
    total = 0.0
    for load in loads:
        interval = hours[load.name]
        pages = max(1.0, load.rate / 24 * interval / POSTS_PER_PAGE)
        total += 24 / interval * pages
    return total


def _scaled(loads: Sequence[Load], factor: float) -> dict[str, float]:
    return {load.name: _within(load, factor / math.sqrt(load.weight * max(load.rate, MIN_RATE))) for load in loads}


def _within(load: Load, hours: float) -> float:
    half_listing = 24 * HALF_LISTING / (PEAK * max(load.rate, MIN_RATE))
    return max(MIN_HOURS, min(hours, load.max_hours, half_listing))


# New comments per request, requests of the rechecks per comment, and of the weekly full scan.
COMMENTS_PER_REQUEST, RECHECKS_PER_COMMENT, FULL_SCAN_REQUESTS = 90, 3 / 100, 10
# Up to this share of the daily budget a community is offered with its comments.
AFFORDABLE_SHARE = 0.02


def comment_requests(comments_per_day: float, crawls_per_day: float) -> int:
    """Return the requests per day that the comments of a community cost."""
    crawls = max(crawls_per_day, comments_per_day / COMMENTS_PER_REQUEST)
    return math.ceil(crawls + comments_per_day * RECHECKS_PER_COMMENT + FULL_SCAN_REQUESTS / 7)
