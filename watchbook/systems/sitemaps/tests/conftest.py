"""A stand-in site, a person, and a monitor that is checked in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from standins.sitemap_site import SitemapSite
from watchbook.base import clock
from watchbook.base.testing.people import bob, charlie, operator  # noqa: F401 - fixtures
from watchbook.core.accounts.models import User
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.jobs.check import run_due_now
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.tests.builders import desk  # noqa: F401 - fixture

START = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[SitemapSite]:
    with SitemapSite() as made:
        trust(monkeypatch, made.netloc)
        yield made


def trust(monkeypatch: pytest.MonkeyPatch, *doors: str) -> None:
    """Loopback servers of this test may be asked, and without waiting between requests."""
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", ",".join(doors))
    monkeypatch.setenv("WATCHBOOK_PACE", "off")


@pytest.fixture
def alice(db: Any) -> User:
    return User.objects.create_user(email="alice@example.com", password="correct horse battery")


class Watch:
    """A monitor and its clock: every check is an hour after the one before."""

    def __init__(self, user: User, site: SitemapSite) -> None:
        self.user = user
        self.site = site
        self.now = START
        self.marks: list[tuple[datetime, int]] = []
        with clock.set_to(self.now):
            self.monitor, self.look = actions.add_monitor(user, {"name": "Example", "sitemap_url": site.sitemap})

    def check(self, after: timedelta = timedelta(hours=1)) -> dict[str, Any]:
        """Wait, let everything that is due happen, and look at the monitor again."""
        if self.marks:
            self.now += after
        self.marks.append((self.now, self.site.mark()))
        with clock.set_to(self.now):
            tally = run_due_now(self.now)
        self.monitor = MonitorTask.objects.select_related("current_snapshot").get(pk=self.monitor.pk)
        return tally

    @property
    def newest(self) -> Any:
        return self.monitor.change_records.order_by("-created_at", "-pk").first()


@pytest.fixture
def watch(alice: User, site: SitemapSite) -> Callable[[], Watch]:
    return lambda: Watch(alice, site)
