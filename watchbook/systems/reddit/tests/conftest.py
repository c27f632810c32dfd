"""A stand-in Reddit, a pool, and crawls in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from standins.reddit import RedditSite
from watchbook.base import clock
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.systems.reddit.actions.comments import set_comments
from watchbook.systems.reddit.models import CommentListing, CommunityCache, CommunityPool

START = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def point_at(monkeypatch: pytest.MonkeyPatch, site: RedditSite) -> None:
    """This Reddit may be asked, and without waiting; one community at a time, as a test's database needs it."""
    for name, value in site.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", site.netloc)
    monkeypatch.setenv("WATCHBOOK_PACE", "off")
    monkeypatch.setenv("CRAWLER_MAX_CONCURRENCY", "1")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[RedditSite]:
    with RedditSite() as made:
        made.rate_budget = 1_000_000
        made.world.hold_time(START)
        point_at(monkeypatch, made)
        yield made


class Scanner:
    """Both worlds at one time: what the stand-in does and what is crawled happen at `now`."""

    def __init__(self, site: RedditSite) -> None:
        self.site = site
        self.world = site.world
        self.now = START

    def add(self, *names: str, tier: str = "medium") -> None:
        for name in names:
            self.world.add_community(name)
            CommunityPool.objects.create(name=f"r/{name}", tier=tier)

    def wait(self, **span: float) -> None:
        self.now += timedelta(**span)
        self.world.hold_time(self.now)

    def run(self, job: str, **args: Any) -> JobRun:
        with clock.set_to(self.now):
            return run_now(job, args)

    def crawl(self, name: str) -> dict[str, Any]:
        """Visit one community; gives its line of the report."""
        run = self.run("reddit.community", community=name)
        assert run.error == "", run.error
        return run.progress["communities"][0]

    def crawl_comments(self, name: str) -> dict[str, Any]:
        """Visit one community whose comments are on; gives the line of its comments."""
        run = self.run("reddit.community", community=name)
        assert run.error == "", run.error
        return run.progress["communities"][1]

    def add_with_comments(self, name: str, posts: int = 1) -> list[str]:
        """A community whose comments are on, with some posts that were read."""
        self.add(name)
        made = [self.world.post(name, f"Thread {number}", f"Text {number}") for number in range(posts)]
        self.crawl(name)
        self.switch_comments(name, True)
        return made

    def switch_comments(self, name: str, is_on: bool) -> None:
        with clock.set_to(self.now):
            set_comments(name, is_on)

    def comments(self, name: str) -> CommentListing:
        return CommentListing.objects.get(community_id=f"r/{name}")

    def community(self, name: str) -> CommunityCache:
        return CommunityCache.objects.get(community_name=f"r/{name}")


@pytest.fixture
def scanner(db: Any, site: RedditSite) -> Scanner:
    return Scanner(site)
