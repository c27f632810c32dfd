"""The settings page says of the access only what crawls have shown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.systems.reddit.fetch import outage
from watchbook.systems.reddit.fetch.errors import ClientRefused
from watchbook.systems.reddit.health import last_access
from watchbook.systems.reddit.models import Crawl, Outcome

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _access(monkeypatch):
    monkeypatch.setenv("REDDIT_CLIENT_ID", "id")
    monkeypatch.setenv("REDDIT_CLIENT_SECRET", "secret")


def crawl(at, outcome):
    Crawl.objects.create(community_name="r/a", crawled_at=at, outcome=outcome)


def test_access_works_since_the_first_crawl_after_a_refused_sign_in():
    now = clock.now()
    assert last_access(None) is None
    crawl(now - timedelta(hours=4), Outcome.AUTH)
    crawl(now - timedelta(hours=3), Outcome.PRIVATE)
    crawl(now - timedelta(hours=2), Outcome.OK)
    crawl(now - timedelta(hours=1), Outcome.UPSTREAM)
    use = last_access(None)
    assert (use.is_ok, use.since, use.at) == (True, now - timedelta(hours=3), now - timedelta(hours=2))
    assert use.other_at == now - timedelta(hours=4)


def test_open_outage_fails_since_its_beginning():
    now = clock.now()
    crawl(now - timedelta(hours=1), Outcome.OK)
    outage.begin(ClientRefused(Outcome.AUTH, "401"))
    use = last_access(None)
    assert (use.is_ok, use.other_at) == (False, now - timedelta(hours=1))
    assert use.since >= now - timedelta(seconds=1)
    assert use.answer == "Reddit refused the sign-in."


def test_access_without_credentials_was_not_used(monkeypatch):
    crawl(clock.now(), Outcome.OK)
    monkeypatch.delenv("REDDIT_CLIENT_SECRET")
    assert last_access(None) is None
