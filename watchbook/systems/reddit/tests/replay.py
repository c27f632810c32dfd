"""Fixed tiers and the adaptive schedule on the same recorded arrivals: requests and delays, without any database.

The rules are the system's own (`schedule`); rates are learned as it learns them, from what was seen so far.
"""

from __future__ import annotations

import heapq
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from standins.reddit import Life, Nature, World
from watchbook.systems.reddit.schedule import Load, frequency_hours, intervals, tier_of
from watchbook.systems.reddit.tests.simulation import START

HOUR = 1.0
TICK = {"tiers": 0.5, "adaptive": 1 / 60}
WEEK = 7 * 24.0
PAGE = 100
# Hours of the past that a first visit of a hundred posts covers at most; what Life makes before its start.
PAST = 72.0


def arrivals(communities: int, days: float, seed: int, nature: Nature) -> dict[str, list[float]]:
    """Hours since the start at which posts entered each list, sorted; those approved late are left out."""
    world = World()
    names = [f"madeup{number:03}" for number in range(communities)]
    Life(world, names, START, days, seed=seed, nature=nature).until(START + timedelta(days=days))
    found: dict[str, list[float]] = {name: [] for name in names}
    for post in world.listed():
        if post.listed_at - post.created_at < timedelta(minutes=1):
            found[post.community].append((post.listed_at - START) / timedelta(hours=1))
    return {name: sorted(times) for name, times in found.items()}


@dataclass(frozen=True)
class Result:
    requests_a_day: float
    mean_minutes: float
    p95_minutes: float


@dataclass
class Policy:
    """`max_hours` lifts the promised maximum for all; without it each community has its tier's."""

    kind: str
    budget: float = 0.0
    max_hours: float | None = None


def replay(times: Mapping[str, Sequence[float]], days: float, policy: Policy) -> Result:
    """Visit by the policy; a post's delay is the time from its entry to the next visit."""
    end, tick = days * 24, TICK[policy.kind]
    rates = {name: _rate(entries, 0.0) for name, entries in times.items()}
    plan, planned_at = _plan(rates, policy), 0.0
    queue = [(0.0, name) for name in times]
    seen = {name: bisect_left(entries, 0.0) for name, entries in times.items()}
    delays: list[float] = []
    requests = 0
    while queue[0][0] <= end:
        due, name = heapq.heappop(queue)
        now = -(-due // tick) * tick
        if now - planned_at >= HOUR:
            plan, planned_at = _plan(rates, policy), now
        entries = times[name]
        upto = bisect_right(entries, now)
        fresh = entries[seen[name] : upto]
        delays += [now - moment for moment in fresh]
        requests += _pages(len(fresh), tier_of(rates[name]).limit)
        seen[name], rates[name] = upto, _rate(entries, now)
        heapq.heappush(queue, (now + plan[name], name))
    ordered = sorted(delays)
    mean = statistics.fmean(ordered)
    return Result(requests / days, 60 * mean, 60 * ordered[int(0.95 * len(ordered))])


def _rate(entries: Sequence[float], now: float) -> float:
    since = max(now - WEEK, -PAST)
    return (bisect_right(entries, now) - bisect_left(entries, since)) / (now - since) * 24


def _plan(rates: Mapping[str, float], policy: Policy) -> dict[str, float]:
    promised = {name: float(frequency_hours(tier_of(rate).key, "low")) for name, rate in rates.items()}
    if policy.kind == "tiers":
        return promised
    loads = [Load(name, rate, policy.max_hours or promised[name]) for name, rate in rates.items()]
    return intervals(loads, policy.budget)


def _pages(fresh: int, limit: int) -> int:
    """The first page, and as many full ones as it takes to come to three known posts."""
    size = PAGE if fresh > limit - 5 else limit
    return 1 + max(0, -(-(fresh + 3 - size) // PAGE))


def other_requests(times: Mapping[str, Sequence[float]]) -> float:
    """What looks by id, deep walks and top listings take out of the budget, as the planner reckons it."""
    from watchbook.systems.reddit.store.communities import other_requests as reckoned

    return reckoned([Load(name, _rate(entries, 0.0), 24.0) for name, entries in times.items()])
