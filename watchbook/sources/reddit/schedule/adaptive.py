"""Intervals that find the most, soonest, for a given number of requests a day.

A listing is a log: waiting loses nothing below its ceiling, it only delays, on average half an interval per post. The
sum of delays under a fixed number of visits is least when intervals go with 1/sqrt(rate): twice the posts, 1.4 times
the visits. (Visits in proportion to the rate are no better than visiting all alike.) The result is drawn into
[3 minutes, promised maximum], and to half a listing at the community's peak.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHORTEST_HOURS = 0.05
# A day's peak over its mean, and how much of the listing's thousand entries may fill up between two visits.
PEAK = 1.7
HALF_LISTING = 500
# Posts that one request brings when a visit has to page.
POSTS_PER_PAGE = 90
# A community without posts still has to be looked at.
LEAST_RATE = 0.05


@dataclass(frozen=True)
class Load:
    """One community: posts a day, how much they matter, and the promised longest interval."""

    name: str
    rate: float
    max_hours: float
    weight: float = 1.0


def intervals(loads: Sequence[Load], requests_a_day: float) -> dict[str, float]:
    """Hours between visits by name. The promises win over the budget: with too few requests all are at their most."""
    low, high = 1e-6, 1e6
    for _ in range(32):
        middle = math.sqrt(low * high)
        if planned_requests(loads, _scaled(loads, middle)) > requests_a_day:
            low = middle
        else:
            high = middle
    return _scaled(loads, high)


def planned_requests(loads: Sequence[Load], hours: Mapping[str, float]) -> float:
    """Requests a day that these intervals will cost, pages included."""
    total = 0.0
    for load in loads:
        interval = hours[load.name]
        pages = max(1.0, load.rate / 24 * interval / POSTS_PER_PAGE)
        total += 24 / interval * pages
    return total


def _scaled(loads: Sequence[Load], factor: float) -> dict[str, float]:
    return {load.name: _within(load, factor / math.sqrt(load.weight * max(load.rate, LEAST_RATE))) for load in loads}


def _within(load: Load, hours: float) -> float:
    half_listing = 24 * HALF_LISTING / (PEAK * max(load.rate, LEAST_RATE))
    return max(SHORTEST_HOURS, min(hours, load.max_hours, half_listing))
