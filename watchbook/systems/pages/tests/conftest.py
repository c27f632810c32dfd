"""A stand-in site whose pages have texts, and a desk whose clock is moved by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from standins.sitemap_site import SitemapSite
from watchbook.base import clock
from watchbook.base.testing.people import bob, charlie, operator  # noqa: F401 - fixtures
from watchbook.core import url_lists
from watchbook.core.accounts.models import User
from watchbook.core.jobs import runner
from watchbook.core.sources import recognise
from watchbook.systems.pages import actions
from watchbook.systems.pages.jobs.read import run_due_now
from watchbook.systems.pages.models import Page, PageVersion, Site
from watchbook.systems.pages.store.pages import text_of

START = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def trust(patch: pytest.MonkeyPatch, *doors: str) -> None:
    """Loopback servers of this test may be asked, and without waiting between requests."""
    patch.setenv("WATCHBOOK_TRUSTED_HOSTS", ",".join(doors))
    patch.setenv("WATCHBOOK_PACE", "off")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[SitemapSite]:
    with SitemapSite() as made:
        trust(monkeypatch, made.netloc)
        yield made


@pytest.fixture
def alice(db: Any) -> User:
    return User.objects.create_user(email="alice@example.com", password="correct horse battery")


class Desk:
    """Reads pages in virtual time."""

    def __init__(self, user: User, site: SitemapSite) -> None:
        self.user, self.site, self.now = user, site, START

    def watch(self, path: str, **content: Any) -> Page:
        self.site.write(path, **content)
        with clock.set_to(self.now):
            return actions.add_page(self.user, self.site.address(path), interval_minutes=60)

    def website(self, mode: str = "all", **values: Any) -> Site:
        """Watch the sitemap of the site, as its own system does, and read the pages behind it."""
        with clock.set_to(self.now):
            name = self.add_list(self.site.sitemap)
            self.site.log.clear()  # the preview reads titles of pages, too
            return actions.add_site(self.user, name, {"mode": mode, **values})

    def add_list(self, address: str) -> str:
        """Watch a sitemap, as its own system does, and check it once; returns the name of its list."""
        before = {listed.name for listed in url_lists.lists_of(self.user)}
        found = recognise.recognise(address).found
        assert found is not None
        offer = recognise.make_offer(self.user, found)
        recognise.add(self.user, recognise.read_proof(self.user, recognise.sign(self.user, found, offer)))
        (listed,) = [one for one in url_lists.lists_of(self.user) if one.name not in before]
        runner.run_now(f"{listed.source}.check", {"monitor_id": listed.key})
        return listed.name

    def check_list(self) -> None:
        """Let the system that keeps the list check it."""
        (listed,) = url_lists.lists_of(self.user)
        runner.run_now(f"{listed.source}.check", {"monitor_id": listed.key})

    def cycle(self, after: timedelta = timedelta(hours=2)) -> dict[str, int]:
        """Check the list, then read what is due."""
        self.now += after
        with clock.set_to(self.now):
            self.check_list()
            Site.objects.update(next_at=self.now)
            return run_due_now()

    def page(self, path: str) -> Page:
        return Page.objects.get(url=self.site.page_url(path))

    def read(self, after: timedelta = timedelta(hours=2)) -> dict[str, int]:
        """Wait, then read everything that is due."""
        self.now += after
        with clock.set_to(self.now):
            return run_due_now()

    def versions(self, page: Page) -> list[PageVersion]:
        return list(PageVersion.objects.filter(page=page).order_by("number"))

    def texts(self, page: Page) -> list[str]:
        return [text_of(version) for version in self.versions(page)]


@pytest.fixture
def desk(alice: User, site: SitemapSite) -> Desk:
    return Desk(alice, site)
