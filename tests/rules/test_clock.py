"""A clock that jumped ahead leaves nothing behind: every source is read again when the clock is right.

The schedules of jobs are in `core/jobs/tests/test_queue.py`, monitors in `systems/sitemaps/tests/test_due.py`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache

from tests.rules.failing_sources import WORLDS
from watchbook.base import clock
from watchbook.core.jobs.runner import run_now
from watchbook.systems.pages.jobs.read import run_due_now
from watchbook.systems.pages.models import Page, Site
from watchbook.systems.reddit.models import CommunityCache

pytestmark = pytest.mark.django_db

FUTURE = datetime(2038, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def local_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.rules.failing_sources import Names

    monkeypatch.setattr("socket.getaddrinfo", Names())
    cache.clear()


def test_community_is_crawled_again_after_a_clock_jump(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with WORLDS["reddit"](operator, monkeypatch) as (site, case):
        before = case.now()
        site.world.hold_time(FUTURE)
        with clock.set_to(FUTURE):
            run_now("reddit.incremental")
        assert CommunityCache.objects.get().next_due > FUTURE
        now = before + timedelta(hours=30)
        site.world.hold_time(now)
        requests = site.log.count("/r/lanterns/new")
        with clock.set_to(now):
            run_now("reddit.incremental")
        assert site.log.count("/r/lanterns/new") == requests + 1
        assert CommunityCache.objects.get().next_due < now + timedelta(days=2)


def test_page_is_read_again_after_a_clock_jump(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with WORLDS["pages"](operator, monkeypatch) as (site, case):
        before = case.now()
        with clock.set_to(FUTURE):
            run_due_now()
        assert Page.objects.get().next_at > FUTURE
        now = before + timedelta(hours=3)
        requests = site.log.count("/piers/4")
        with clock.set_to(now):
            run_due_now()
        assert site.log.count("/piers/4") > requests
        assert Page.objects.get().next_at < now + timedelta(days=2)
        assert Site.objects.get().next_at < now + timedelta(days=2)
