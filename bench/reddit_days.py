"""Two weeks of two hundred made-up communities against their ledger, and fixed tiers against the adaptive schedule.

Bars: nothing missed below the listing's ceiling, every loss above it reported, versions equal to what was shown; at
equal requests the adaptive mean delay at most 0.85 of the tiers', at a tenth of the allowance at most 0.1 of it.
"""

from __future__ import annotations

import argparse
import atexit
import logging
import os
import shutil
import sys
import tempfile
import time

ALLOWANCE = 86_400


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--communities", type=int, default=200)
    parser.add_argument("--days", type=float, default=14)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=900, help="requests a day of the run through the whole system")
    parser.add_argument("--quick", action="store_true", help="only compare schedules, on recorded arrivals")
    given = parser.parse_args()
    prepare()
    failed = not compare(given.communities, given.days, given.seed)
    if not given.quick:
        failed |= not whole(given.communities, given.days, given.seed, given.budget)
    return 1 if failed else 0


def prepare() -> None:
    """A data folder of its own, and Django with it."""
    home = tempfile.mkdtemp(prefix="watchbook-days-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ.update(
        DJANGO_SETTINGS_MODULE="watchbook.project.settings", WATCHBOOK_HOME=home, WATCHBOOK_LOG_LEVEL="ERROR"
    )
    import django

    django.setup()


def whole(communities: int, days: float, seed: int, budget: int) -> bool:
    """Every part of the system but its pages, on a database of its own, with everything that goes wrong at Reddit."""
    from django.core.management import call_command

    from standins.reddit import RedditSite
    from standins.reddit.site import Mishaps
    from watchbook.base import clock
    from watchbook.systems.reddit.tests.simulation import START, Days, environment

    logging.disable(logging.INFO)
    call_command("migrate", verbosity=0)
    with RedditSite(slim=True) as site:
        site.rate_budget = 10**9
        site.mishaps = Mishaps(throttle=4999, wall=997, wall_200=499, fail=97, repeat=7, vanish=53, empty=311)
        os.environ.update(environment(site, REDDIT_DAILY_REQUEST_BUDGET=budget))
        began = time.monotonic()
        simulated = Days(site, communities, days, seed, unknown=2, minutes_between_looks=10)
        simulated.pass_by(lambda day: print(f"  {day:%m-%d}  {time.monotonic() - began:5.0f} s", flush=True))
        site.mishaps = Mishaps()
        simulated.walk_everything()
        with clock.set_to(START):
            verdict = simulated.verdict()
    print(f"{communities} communities, {days:g} days, through the whole system:")
    for line in verdict.lines():
        print(f"  {line}")
    zero = (verdict.missed, verdict.found_only_by_walking, verdict.unreported_losses, verdict.wrong_versions)
    good = not any(zero) and verdict.uncounted == 0 and verdict.unblanked == 0
    print(f"  ledger: {'agrees' if good else 'DISAGREES'}")
    return good


def compare(communities: int, days: float, seed: int) -> bool:
    """The same arrivals for all: tiers, adaptive at as many requests, adaptive at a tenth of the allowance."""
    from watchbook.systems.reddit.tests.replay import Policy, arrivals, other_requests, replay
    from watchbook.systems.reddit.tests.simulation import USUAL

    times = arrivals(communities, days, seed, USUAL)
    tiers = replay(times, days, Policy("tiers"))
    equal = replay(times, days, Policy("adaptive", budget=tiers.requests_a_day, max_hours=24))
    tenth = replay(times, days, Policy("adaptive", budget=ALLOWANCE / 10 - other_requests(times)))
    print(f"{communities} communities, {days:g} days, {sum(map(len, times.values())):,} arrivals:")
    for name, one in (("fixed tiers", tiers), ("adaptive, equal requests", equal), ("adaptive, a tenth", tenth)):
        print(
            f"  {name:26} {one.requests_a_day:7,.0f} requests/day  mean {one.mean_minutes:6.1f} min"
            f"  p95 {one.p95_minutes:6.1f} min  {one.mean_minutes / tiers.mean_minutes:.3f} of tiers"
        )
    good = equal.requests_a_day <= 1.03 * tiers.requests_a_day
    good &= equal.mean_minutes <= 0.85 * tiers.mean_minutes
    good &= tenth.requests_a_day <= ALLOWANCE / 10 and tenth.mean_minutes <= 0.1 * tiers.mean_minutes
    print(f"  bars (0.85 and 0.1): {'met' if good else 'MISSED'}")
    return good


if __name__ == "__main__":
    sys.exit(main())
