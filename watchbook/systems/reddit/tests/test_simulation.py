"""Days of a living Reddit, judged by its ledger. The whole size is `python -m bench.reddit_days`."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from standins.reddit import RedditSite
from standins.reddit.site import Mishaps
from watchbook.base import clock
from watchbook.base.testing.environment import NIGHTLY
from watchbook.systems.reddit.tests.simulation import START, Days, Nature, environment

NATURE = Nature(
    median_rate=40, sigma=0.8, bursts=1, private=1, banned=1, edited=0.3, edit_hours=1.0, reverted=0.5, removed=0.08,
    filtered=0.08,
)  # fmt: skip


@pytest.mark.django_db
def test_simulated_days_miss_no_post_without_report(monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "watchbook.web")  # thousands of requests
    with RedditSite(slim=True) as site:
        site.rate_budget = 10**9
        site.mishaps = Mishaps(throttle=101, wall=37, wall_200=29, fail=13, repeat=7, vanish=11, empty=41)
        for name, value in environment(site, REDDIT_DAILY_REQUEST_BUDGET=200).items():
            monkeypatch.setenv(name, value)
        days = Days(site, communities=6, days=1.25, nature=NATURE, minutes_between_looks=5)
        days.pass_by()
        site.mishaps = Mishaps()
        days.walk_everything()
        with clock.set_to(START):
            verdict = days.verdict()
    print("\n".join(verdict.lines()))
    assert verdict.posts > 500
    assert verdict.stored > 0
    assert verdict.missed == 0
    assert verdict.found_only_by_walking == 0
    assert verdict.unreported_losses == 0
    assert verdict.lost_at_ceiling > 0  # the bursts were real
    assert verdict.gaps > 0
    assert verdict.wrong_versions == 0
    assert verdict.edited_posts > 10
    assert verdict.returned_texts > 0
    assert verdict.unblanked == 0
    assert verdict.uncounted == 0


@pytest.mark.django_db
def test_simulated_days_miss_no_comment_without_report(monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "watchbook.web")  # thousands of requests
    communities, length = (4, 1.25) if NIGHTLY else (3, 0.9)
    nature = replace(NATURE, median_rate=12, bursts=0, comments=6, comment_bursts=1, burst_comments=2600, edited=0.15)
    with RedditSite(slim=True) as site:
        site.rate_budget = 10**9
        site.mishaps = Mishaps(throttle=101, wall=37, wall_200=29, fail=13, repeat=7, vanish=11, empty=41, stub=5)
        for name, value in environment(site, REDDIT_DAILY_REQUEST_BUDGET=300, REDDIT_COMMENTS="on").items():
            monkeypatch.setenv(name, value)
        days = Days(site, communities=communities, days=length, nature=nature, minutes_between_looks=5)
        days.pass_by()
        site.mishaps = Mishaps()
        days.walk_everything()
        with clock.set_to(START):
            comments, posts = days.comments_verdict(), days.verdict()
    print(comments)
    assert comments.comments > 1500
    assert comments.missed == 0
    assert comments.unreported_losses == 0
    assert comments.lost_at_ceiling > 0  # the burst was real
    assert comments.gaps > 0
    assert comments.wrong_versions == 0
    assert comments.edited > 10
    assert comments.wrong_states == 0
    assert comments.gone > 10
    assert comments.unblanked == 0
    assert (posts.missed, posts.unreported_losses, posts.wrong_versions, posts.uncounted) == (0, 0, 0, 0)
