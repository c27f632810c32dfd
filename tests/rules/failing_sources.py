"""Sources that were read once and then fail: a world per source, and the ways in which the outside fails."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from standins.nga_board import NgaBoard
from standins.note_platform import NotePlatform
from standins.reddit import RedditSite
from standins.server import Site
from standins.sitemap_site import SitemapSite
from watchbook.base import clock
from watchbook.core.jobs.models import JobSchedule
from watchbook.core.jobs.runner import run_now
from watchbook.systems.nga.actions import crawl_now
from watchbook.systems.nga.tests.archive import Crawler
from watchbook.systems.notes import actions as notes_actions
from watchbook.systems.notes.tests.data import KEY, START, offer
from watchbook.systems.pages import actions as pages_actions
from watchbook.systems.pages.tests.conftest import Desk
from watchbook.systems.reddit.tests.conftest import START as REDDIT_START
from watchbook.systems.reddit.tests.conftest import Scanner
from watchbook.systems.sitemaps.tests.conftest import Watch

HOST = "watched.example"


class Names:
    """The name service of this test: one name, until it is gone. All other names resolve as usual."""

    def __init__(self) -> None:
        self.is_gone = False
        self._usual = socket.getaddrinfo

    def __call__(self, host: Any, *arguments: Any, **options: Any) -> Any:
        if host != HOST:
            return self._usual(host, *arguments, **options)
        if self.is_gone:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self._usual("127.0.0.1", *arguments, **options)


def name_not_found(site: Any, names: Names) -> None:
    names.is_gone = True
    # Ends open connections, which need no name.
    site.stop()
    site.start()


FAILURES: dict[str, Callable[[Any, Names], object]] = {
    "name not found": name_not_found,
    "connection refused": lambda site, names: site.stop(),
    "HTTP 403": lambda site, names: site.faults.on().forbid(),
    "HTTP 503": lambda site, names: site.faults.on().fail(),
    "garbage": lambda site, names: site.faults.on().answer(200, b"\x00\xff\xfe{not a list"),
    "empty body": lambda site, names: site.faults.on().answer(200, b""),
}


@dataclass
class Case:
    """A source that was read once: how to read it again, at which time, which job reads it and where it is shown."""

    read: Callable[[], object]
    now: Callable[[], Any]
    job: str
    pages: tuple[str, ...]
    # The page that lists its runs, newest first.
    runs: str = ""


# The owner, the environment, and whether the source was read once before it fails.
World = Callable[[Any, pytest.MonkeyPatch, bool], contextlib.AbstractContextManager[tuple[Site, Case]]]


@contextlib.contextmanager
def sitemaps(owner: Any, patch: pytest.MonkeyPatch, was_read: bool = True) -> Iterator[tuple[Site, Case]]:
    with SitemapSite() as site:
        trust(patch, site)
        site.add_many(["/a", "/b", "/c"], lastmod="2026-01-01")
        patch.setattr(type(site), "sitemap", f"http://{HOST}:{site.port}/sitemap.xml")
        watch = Watch(owner, site)
        if was_read:
            watch.check()
        own = f"/sitemaps/{watch.monitor.pk}/"
        yield site, Case(watch.check, lambda: watch.now, "sitemaps.check", ("/sitemaps/", own))


@contextlib.contextmanager
def reddit(owner: Any, patch: pytest.MonkeyPatch, was_read: bool = True) -> Iterator[tuple[Site, Case]]:
    with RedditSite() as site:
        trust(patch, site)
        site.rate_budget = 1_000_000
        site.world.hold_time(REDDIT_START)
        for name, value in site.environment().items():
            patch.setenv(name, value.replace("127.0.0.1", HOST))
        patch.setenv("CRAWLER_MAX_CONCURRENCY", "1")
        scanner = Scanner(site)
        scanner.add("lanterns")
        if was_read:
            scanner.run("reddit.community", community="lanterns")

        def read() -> None:
            scanner.wait(hours=2)
            scanner.run("reddit.community", community="lanterns")

        yield site, Case(read, lambda: scanner.now, "reddit.community", ("/reddit/", "/reddit/r/lanterns/"))


@contextlib.contextmanager
def nga(owner: Any, patch: pytest.MonkeyPatch, was_read: bool = True) -> Iterator[tuple[Site, Case]]:
    with NgaBoard() as board:
        trust(patch, board)
        patch.setenv("NGA_BASE_URL", board.url.replace("127.0.0.1", HOST))
        board.world.add_topic("灯笼")
        crawler = Crawler(board)
        if was_read:
            crawler.crawl()
        every = {"next_at": board.world.moment + timedelta(days=3), "is_enabled": True}
        JobSchedule.objects.update_or_create(name="nga.crawl", defaults=every)

        def read() -> None:
            board.world.advance(hours=12)
            with clock.set_to(board.world.moment):
                crawl_now(7)

        yield board, Case(read, lambda: board.world.moment, "nga.crawl", ("/nga/", "/nga/forums/"), "/nga/runs/")


@contextlib.contextmanager
def notes(owner: Any, patch: pytest.MonkeyPatch, was_read: bool = True) -> Iterator[tuple[Site, Case]]:
    now = START
    with NotePlatform() as site:
        trust(patch, site)
        site_url = site.url.replace("127.0.0.1", HOST)
        values = {
            "COOKIE_MASTER_KEY": KEY,
            "NOTES_ADAPTER": "standin",
            "NOTES_STANDIN_URL": site_url,
            "NOTES_PAGE_URL": site_url,
        }
        for name, value in values.items():
            patch.setenv(name, value)
        notes_actions.add_cookie("account_01", site.add_account("made-up-session-of-one-7731"))
        with clock.set_to(now):
            offer(*site.add_many(2))
            if was_read:
                run_now("notes.collect")

        def read() -> None:
            nonlocal now
            now += timedelta(hours=2)
            with clock.set_to(now):
                offer(*site.add_many(2))
                run_now("notes.collect")
                run_now("notes.watch")

        yield site, Case(read, lambda: now, "notes.collect", ("/notes/", "/notes/cookies/"), "/notes/executions/")


@contextlib.contextmanager
def pages(owner: Any, patch: pytest.MonkeyPatch, was_read: bool = True) -> Iterator[tuple[Site, Case]]:
    with SitemapSite() as site:
        trust(patch, site)
        desk = Desk(owner, site)
        site.write("/piers/4", title="Pier 4", paragraphs=["The lift is out of service."])
        with clock.set_to(desk.now):
            page = pages_actions.add_page(owner, f"http://{HOST}:{site.port}/piers/4", interval_minutes=60)
        if was_read:
            desk.read()
        own = (f"/pages/sites/{page.site_id}/", f"/pages/{page.pk}/")
        yield site, Case(desk.read, lambda: desk.now, "pages.read", ("/pages/", *own))


WORLDS: dict[str, World] = {"sitemaps": sitemaps, "pages": pages, "reddit": reddit, "nga": nga, "notes": notes}


def trust(patch: pytest.MonkeyPatch, site: Site) -> None:
    patch.setenv("WATCHBOOK_TRUSTED_HOSTS", f"{HOST}:{site.port}")
    patch.setenv("WATCHBOOK_PACE", "off")
