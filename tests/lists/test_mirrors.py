"""A mirror that reads with `since` has, after random histories, exactly what a full read has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.test import Client

from standins.nga_board import NgaBoard
from standins.sitemap_site import SitemapSite
from watchbook.base import clock
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts.models import User
from watchbook.systems.nga.models import Thread
from watchbook.systems.nga.tests.archive import Crawler, point_at
from watchbook.systems.nga.tests.test_histories import KINDS, live
from watchbook.systems.pages.models import Page, PageEvent, PageVersion, Site
from watchbook.systems.reddit.models import CommunityCache
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.jobs.check import run_due_now
from watchbook.systems.sitemaps.models import MonitorTask

pytestmark = pytest.mark.django_db(transaction=True)
SETTLED = timedelta(seconds=61)
# Computed when it is read, from the time of reading.
OF_THE_MOMENT = ("state", "reason", "remedy")


class Mirror:
    """Keeps what the API gave out, by id, and the cursor."""

    def __init__(self, browser: Client, address: str, key: str = "id") -> None:
        self.browser, self.address, self.key = browser, address, key
        self.since = "beginning"
        self.rows: dict[Any, dict[str, Any]] = {}
        self.answered = 0

    def read(self) -> None:
        following: str | None = self.since
        while following:
            answer = self._get(since=following, limit=7)
            for item in answer["items"]:
                self.rows[item[self.key]] = item
            self.answered += len(answer["items"])
            self.since, following = answer["since"], answer["next"]

    def whole(self) -> dict[Any, dict[str, Any]]:
        """The list as a full read gives it."""
        found, cursor = {}, ""
        while True:
            answer = self._get(cursor=cursor, limit=200)
            found |= {item[self.key]: item for item in answer["items"]}
            cursor = answer["next"]
            if not cursor:
                return found

    def _get(self, **asked: Any) -> dict[str, Any]:
        answer = self.browser.get(f"/api/v1{self.address}", asked)
        assert answer.status_code == 200, answer.content
        return answer.json()


def without_moment(rows: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    return {
        key: {name: value for name, value in row.items() if name not in OF_THE_MOMENT}
        for key, row in rows.items()
        if not row.get("deleted_at")
    }


@pytest.fixture
def owner() -> User:
    return make_person("owner")


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[NgaBoard]:
    with NgaBoard() as made:
        point_at(monkeypatch, made)
        yield made


@pytest.mark.parametrize("seed", [1, 2])
def test_mirror_of_topics_and_posts_equals_a_full_read(seed: int, owner: User, board: NgaBoard) -> None:
    chance, crawler, browser = Random(seed), Crawler(board), client_of(owner)
    topics, posts = Mirror(browser, "/nga/threads"), {}
    for _round in range(5):
        live(board, [(chance.choice(KINDS), chance.randrange(999), chance.randrange(999)) for _ in range(9)])
        crawler.crawl(after=3)
        with clock.set_to(board.world.moment + SETTLED):
            topics.read()
            for tid in Thread.objects.values_list("source_thread_id", flat=True).distinct():
                posts.setdefault(tid, Mirror(browser, f"/nga/threads/{tid}/posts")).read()
    with clock.set_to(board.world.moment + SETTLED):
        before = topics.answered
        topics.read()
        assert topics.answered == before
        assert topics.rows == topics.whole()
        assert topics.rows
        for mirror in posts.values():
            assert mirror.rows == mirror.whole()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[SitemapSite]:
    with SitemapSite() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        yield made


def change_one(chance: Random, user: User, site: SitemapSite, number: int) -> None:
    """One thing that a user does, or a check."""
    monitors = list(MonitorTask.objects.filter(user=user).order_by("created_at", "pk"))
    if len(monitors) < 3:
        address = f"{site.sitemap}?n={number}"
        actions.add_monitor(user, {"name": f"Site {number}", "sitemap_url": address})
        return
    monitor = chance.choice(monitors)
    if monitor.deleted_at:
        actions.restore(monitor)
        return
    steps = [
        lambda: actions.change_monitor(monitor, {"name": f"Name {number}", "tell_minor": number % 2 == 0}),
        lambda: actions.pause(monitor),
        lambda: actions.resume(monitor),
        lambda: actions.delete(monitor),
        lambda: actions.set_channels(monitor, []),
        lambda: run_due_now(clock.now()),
    ]
    chance.choice(steps)()


def test_mirror_of_monitors_and_changes_equals_a_full_read(owner: User, site: SitemapSite) -> None:
    chance, browser = Random(7), client_of(owner)
    mirror, now, changes = Mirror(browser, "/sitemaps/monitors"), clock.now(), {}
    for number in range(24):
        now += timedelta(minutes=chance.choice([3, 61, 400]))
        with clock.set_to(now):
            change_one(chance, owner, site, number)
            if number % 4 == 0:
                run_due_now(now)
        if number % 3 == 0:
            with clock.set_to(now + SETTLED):
                mirror.read()
    with clock.set_to(now):
        actions.delete(MonitorTask.objects.filter(user=owner, deleted_at=None)[0])
    with clock.set_to(now + SETTLED):
        mirror.read()
        assert without_moment(mirror.rows) == without_moment(mirror.whole())
        for monitor in mirror.whole():
            changes[monitor] = Mirror(browser, f"/sitemaps/monitors/{monitor}/changes")
            changes[monitor].read()
            assert changes[monitor].rows == changes[monitor].whole()
    assert any(each.rows for each in changes.values())
    assert any(row["deleted_at"] for row in mirror.rows.values())


def test_mirror_of_page_versions_and_page_changes_equals_a_full_read(owner: User) -> None:
    now = clock.now()
    website = Site.objects.create(user=owner, name="Example", daily_requests=10, created_at=now)
    page = Page.objects.create(site=website, url="https://example.com/a", first_seen_at=now, changed_at=now)
    browser = client_of(owner)
    versions = Mirror(browser, f"/pages/{page.pk}/versions", key="number")
    events = Mirror(browser, "/pages/changes")
    for number in range(1, 20):
        now += timedelta(hours=1)
        PageVersion.objects.create(page=page, number=number, read_at=now, status=200)
        PageEvent.objects.create(site=website, page=page, kind="changed", at=now, version=number)
        if number % 5 == 0:
            with clock.set_to(now + SETTLED):
                versions.read()
                events.read()
    with clock.set_to(now + SETTLED):
        versions.read()
        events.read()
        assert versions.answered == len(versions.rows) == 19
        assert versions.rows == versions.whole()
        assert events.rows == events.whole()
    assert len(events.rows) == 19


def test_mirror_of_communities_gets_what_changed(owner: User) -> None:
    now = clock.now()
    for name in ("r/one", "r/two", "r/three"):
        CommunityCache.objects.create(community_name=name, updated_at=now)
    mirror = Mirror(client_of(owner), "/reddit/communities", key="community_name")
    with clock.set_to(now + SETTLED):
        mirror.read()
        assert mirror.rows == mirror.whole()
        CommunityCache.objects.filter(community_name="r/two").update(is_active=False, updated_at=clock.now())
    with clock.set_to(now + 2 * SETTLED):
        mirror.read()
        assert mirror.answered == 4
        assert mirror.rows == mirror.whole()
        assert not mirror.rows["r/two"]["is_active"]


@pytest.mark.parametrize("address", ["/nga/threads", "/sitemaps/monitors", "/reddit/communities"])
def test_since_that_is_no_cursor_of_the_list_is_refused(owner: User, address: str) -> None:
    browser = client_of(owner)
    for given in ("WyJzaW5jZSIsIngiLCIxIiwiMSJd", "yesterday"):
        assert browser.get(f"/api/v1{address}", {"since": given}).status_code == 422
