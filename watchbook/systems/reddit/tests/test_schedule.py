"""Tiers and adaptive intervals."""

from __future__ import annotations

import pytest

from watchbook.systems.reddit.schedule import Load, frequency_hours, intervals, planned_requests, tier_of
from watchbook.systems.reddit.tests.replay import Policy, arrivals, other_requests, replay
from watchbook.systems.reddit.tests.simulation import USUAL

ALLOWANCE = 86_400


@pytest.mark.parametrize(
    ("posts", "tier"), [(0, "tier3"), (9.9, "tier3"), (10, "tier2"), (19, "tier2"), (20, "tier1"), (5000, "tier1")]
)
def test_tier_depends_on_posts_per_day(posts, tier):
    assert tier_of(posts).key == tier


def test_priority_never_lengthens_the_interval():
    assert [frequency_hours("tier3", wish) for wish in ("high", "medium", "low")] == [2, 6, 24]
    assert [frequency_hours("tier1", wish) for wish in ("high", "medium", "low")] == [2, 2, 2]


def test_four_times_the_posts_halve_the_interval():
    hours = intervals([Load("slow", 10, 24), Load("fast", 40, 24)], 20)
    assert hours["slow"] / hours["fast"] == pytest.approx(2)
    assert planned_requests([Load("slow", 10, 24), Load("fast", 40, 24)], hours) == pytest.approx(20, rel=0.01)


def test_intervals_stay_between_minimum_and_maximum():
    loads = [Load("quiet", 0.0, 24), Load("loud", 300, 2)]
    poor, rich = intervals(loads, 0.001), intervals(loads, 1e9)
    assert (poor["quiet"], poor["loud"]) == (24, 2)
    assert set(rich.values()) == {0.05}


def test_interval_is_at_most_half_a_listing():
    assert intervals([Load("flood", 12_000, 24)], 1)["flood"] < 24 * 500 / 12_000


def test_weight_shortens_the_interval():
    hours = intervals([Load("plain", 10, 24), Load("dear", 10, 24, weight=4)], 30)
    assert hours["plain"] / hours["dear"] == pytest.approx(2)


def test_adaptive_schedule_finds_posts_sooner():
    """And at a tenth of the allowance, with the promised maximum ages, ten times sooner."""
    days = 4
    times = arrivals(200, days, 1, USUAL)
    tiers = replay(times, days, Policy("tiers"))
    equal = replay(times, days, Policy("adaptive", budget=tiers.requests_a_day, max_hours=24))
    tenth = replay(times, days, Policy("adaptive", budget=ALLOWANCE / 10 - other_requests(times)))
    for name, result in (("tiers", tiers), ("adaptive, equal", equal), ("adaptive, a tenth", tenth)):
        print(f"{name:18} {result.requests_a_day:7,.0f}/day  mean {result.mean_minutes:6.1f} min  "
              f"p95 {result.p95_minutes:6.1f} min")  # fmt: skip
    assert equal.requests_a_day <= 1.03 * tiers.requests_a_day
    assert equal.mean_minutes <= 0.85 * tiers.mean_minutes
    assert tenth.requests_a_day <= ALLOWANCE / 10
    assert tenth.mean_minutes <= 0.1 * tiers.mean_minutes
