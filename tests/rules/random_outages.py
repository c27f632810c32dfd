"""All sources read for some weeks of simulated time while the outside world fails at random, with the figures of it.

Each stand-in is down, slow, refusing, failing or garbling in turn; its world keeps growing. Afterwards every source
must hold exactly what its world holds. Sources share one clock.
"""

from __future__ import annotations

import contextlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from standins.nga_board import NgaBoard
from standins.note_platform import NotePlatform
from standins.reddit import RedditSite
from standins.sitemap_site import SitemapSite
from standins.webhook_sink import WebhookSink
from watchbook.base import clock
from watchbook.base.store.folder import scratch
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.core.notify.actions import create as create_channel
from watchbook.core.notify.models import Delivery
from watchbook.systems.nga.actions import crawl_now
from watchbook.systems.nga.models import Forum, Post
from watchbook.systems.notes import actions as notes_actions
from watchbook.systems.notes.models import Candidate, Note
from watchbook.systems.notes.tests.data import KEY, offer
from watchbook.systems.pages import actions as pages_actions
from watchbook.systems.pages.jobs.read import run_due_now as read_pages_now
from watchbook.systems.pages.models import Page, PageVersion
from watchbook.systems.pages.store.pages import text_of
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, PostRaw
from watchbook.systems.sitemaps import actions as sitemaps_actions
from watchbook.systems.sitemaps.jobs.check import run_due_now
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.store.lists import snapshot_urls

START = datetime.fromisoformat("2026-06-01T04:00:00+00:00")
STEP = timedelta(hours=6)
# Steps that an outage lasts and that a site is well between two outages: an outage meets at least one read of each.
LASTS, WELL = (2, 5), (4, 9)
# Steps at the end in which every site is well: pauses end and everything owed is read.
CALM = 14
# Requests of one outage: three attempts, then one after each pause.
ATTEMPTS = 3
SITES = (SitemapSite, RedditSite, NgaBoard, NotePlatform, SitemapSite)
GARBAGE = b"\x00\xff\xfe{not what was asked for"


SLOW_SECONDS = 0.02
FAULTS: dict[str, Callable[[Any], object]] = {
    "down": lambda site: site.stop(),
    "slow": lambda site: site.faults.on().delay(SLOW_SECONDS),
    "failing": lambda site: site.faults.on().fail(),
    "garbling": lambda site: site.faults.on().answer(200, GARBAGE),
}


@dataclass
class Outage:
    kind: str
    # Requests of each read while it lasted.
    requests: list[int] = field(default_factory=list)
    began_at: datetime | None = None
    ended_at: datetime | None = None
    # Requests for robots.txt while it lasted.
    robots: int = 0


@dataclass
class Part(ABC):
    """One source: its stand-in, its jobs, and what became of its items."""

    site: Any
    outages: list[Outage] = field(default_factory=list)
    # Reads happen at every so-manieth step.
    every = 1
    # Faults that are an outage of the whole source; a slow site is none.
    outage_kinds = frozenset({"down", "failing", "garbling", "refusing"})
    # Whether every outage is announced, however short.
    announces_all = True
    # Whether its world may change between two requests of one reading.
    grows_while_read = True

    @property
    def slug(self) -> str:
        return type(self).__name__.lower()

    @abstractmethod
    def grow(self, number: int) -> None:
        """Add an item to the world."""

    @abstractmethod
    def read(self, now: datetime) -> None:
        """Run what the scheduler would run."""

    @abstractmethod
    def ledgers(self) -> tuple[set[str], set[str]]:
        """Return what the world holds and what is stored."""

    @abstractmethod
    def given_up(self) -> int:
        """Return the items that lost an attempt or are no longer read."""

    @abstractmethod
    def alerts(self) -> tuple[int, int]:
        """Return how often an outage was announced and how often its end."""

    def is_outage(self, outage: Outage) -> bool:
        return outage.kind in self.outage_kinds

    def refuse(self) -> None:
        self.site.faults.on().forbid()

    def begin(self, kind: str) -> None:
        self.outages.append(Outage(kind, began_at=clock.now()))
        if kind == "refusing":
            self.refuse()
        else:
            FAULTS[kind](self.site)

    def end(self) -> None:
        self.outages[-1].ended_at = clock.now()
        self.site.faults.clear()
        if self.outages[-1].kind == "down":
            self.site.start()

    def counted_read(self, now: datetime, *, is_ill: bool) -> None:
        last = JobRun.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        self.read(now)
        if is_ill:
            runs = JobRun.objects.filter(pk__gt=last).values_list("http_request_count", flat=True)
            self.outages[-1].requests.append(sum(runs))


def alerts_of(key: str) -> tuple[int, int]:
    rows = Alert.objects.filter(key=key)
    return rows.count(), rows.filter(live_slot__isnull=True).count()


class Sitemaps(Part):
    # A monitor is announced after three failed checks, which a short outage does not reach.
    announces_all = False
    # Of a receiver that does not fail with the site.
    hook_url: str

    def prepare(self, owner: Any) -> None:
        self.listed: set[str] = set()
        self.grow(0)
        given = {"url": self.hook_url}
        channel = create_channel(owner, name="hook", channel_type="webhook", given=given)
        values = {"name": "Example", "sitemap_url": self.site.sitemap, "channels": [channel.channel]}
        self.monitor, _look = sitemaps_actions.add_monitor(owner, values)

    def grow(self, number: int) -> None:
        path = f"/page-{number}"
        self.site.add(path, lastmod="2026-01-01")
        self.listed.add(self.site.address(path))

    def read(self, now: datetime) -> None:
        run_due_now(now)

    def ledgers(self) -> tuple[set[str], set[str]]:
        self.monitor = MonitorTask.objects.select_related("current_snapshot").get(pk=self.monitor.pk)
        snapshot = self.monitor.current_snapshot
        assert snapshot is not None
        with scratch("export") as folder:
            return self.listed, {str(row["url"]) for row in snapshot_urls(snapshot, folder)}

    def given_up(self) -> int:
        return int(self.monitor.status != "active")

    def alerts(self) -> tuple[int, int]:
        kinds = list(Delivery.objects.filter(source="sitemaps").values_list("kind", flat=True))
        return sum("error" in kind for kind in kinds), sum("recover" in kind for kind in kinds)


class Reddit(Part):
    def refuse(self) -> None:
        """Refuse the whole client; 403 for a listing would mean a private community."""
        self.site.faults.on().wall()

    def prepare(self, owner: Any) -> None:
        for name in ("lanterns", "orchards"):
            self.site.world.add_community(name)
            CommunityPool.objects.create(name=f"r/{name}", tier="medium")

    def grow(self, number: int) -> None:
        self.site.world.hold_time(clock.now())
        self.site.world.post(("lanterns", "orchards")[number % 2], f"Post {number}", "Words.")

    def read(self, now: datetime) -> None:
        self.site.world.hold_time(now)
        run_now("reddit.incremental")

    def ledgers(self) -> tuple[set[str], set[str]]:
        return set(self.site.world.posts), set(PostRaw.objects.values_list("source_post_id", flat=True))

    def given_up(self) -> int:
        return CommunityCache.objects.exclude(failures_in_row=0, refusals_in_row=0, is_active=True).count()

    def alerts(self) -> tuple[int, int]:
        return alerts_of("reddit.outage")


class Nga(Part):
    every = 2

    def prepare(self, owner: Any) -> None:
        Forum.objects.get_or_create(source_forum_id=7, defaults={"list_url": self.site.url})
        self.topic = self.site.world.add_topic("灯笼")

    def grow(self, number: int) -> None:
        # Only topics of the last days are crawled: the window of the specification.
        self.site.world.set_time(clock.now())
        if number % 2 == 0:
            self.topic = self.site.world.add_topic(f"灯笼 {number}")
        self.site.world.reply(self.topic, f"第 {number} 条")

    def read(self, now: datetime) -> None:
        self.site.world.set_time(now)
        self.site.begin_run()
        crawl_now(7)

    def ledgers(self) -> tuple[set[str], set[str]]:
        topics = self.site.world.topics.items()
        listed = {f"{tid}:{post.pid}" for tid, topic in topics for post in topic.posts.values()}
        rows = Post.objects.values_list("thread__source_thread_id", "source_post_id")
        return listed, {f"{tid}:{pid}" for tid, pid in rows}

    def given_up(self) -> int:
        return 0

    def alerts(self) -> tuple[int, int]:
        return alerts_of("nga:crawl")


class Notes(Part):
    def prepare(self, owner: Any) -> None:
        for name in ("one", "two"):
            notes_actions.add_cookie(f"account_{name}", self.site.add_account(f"made-up-session-of-{name}-7731"))
        self.offered: set[str] = set()

    def grow(self, number: int) -> None:
        entries = self.site.add_many(2)
        offer(*entries)
        self.offered |= {entry.note_id for entry in entries}

    def read(self, now: datetime) -> None:
        run_now("notes.collect")
        run_now("notes.watch")

    def ledgers(self) -> tuple[set[str], set[str]]:
        return self.offered, set(Note.objects.values_list("note_id", flat=True))

    def given_up(self) -> int:
        return Candidate.objects.filter(status="failed").count()

    def alerts(self) -> tuple[int, int]:
        return alerts_of("notes:platform_unavailable")


class Pages(Part):
    # A page that is refused or garbled is that page's own result: the next one may be well.
    outage_kinds = frozenset({"down", "failing"})
    announces_all = False
    # What differs between two looks moments apart is noise of the page and no change.
    grows_while_read = False

    def prepare(self, owner: Any) -> None:
        self.owner, self.texts = owner, dict[str, str]()

    def is_outage(self, outage: Outage) -> bool:
        """A garbled robots.txt concerns all pages: none is read without its rules."""
        return super().is_outage(outage) or (outage.kind == "garbling" and outage.robots > 0)

    def begin(self, kind: str) -> None:
        super().begin(kind)
        self.outages[-1].robots = -self.site.log.count("/robots.txt")

    def end(self) -> None:
        super().end()
        self.outages[-1].robots += self.site.log.count("/robots.txt")

    def grow(self, number: int) -> None:
        # One new page a day, and a new text for each of the others in turn.
        path = f"/piers/{number if number % 4 == 1 else number % 4}"
        words = f"Pier {path} as it was at step {number}."
        self.site.write(path, title="Pier", paragraphs=[words])
        address = self.site.address(path)
        if address not in self.texts:
            pages_actions.add_page(self.owner, address, interval_minutes=360)
        self.texts[address] = words

    def read(self, now: datetime) -> None:
        read_pages_now()

    def ledgers(self) -> tuple[set[str], set[str]]:
        listed = {f"{address}: {words}" for address, words in self.texts.items()}
        newest: dict[str, str] = {}
        for version in PageVersion.objects.select_related("page").order_by("number"):
            newest[version.page.url] = text_of(version)
        return listed, {line for line in listed if line.partition(": ")[2] in newest.get(line.partition(": ")[0], "")}

    def given_up(self) -> int:
        return Page.objects.exclude(fate="", failures=0).count()

    def alerts(self) -> tuple[int, int]:
        rows = Alert.objects.filter(source="pages")
        return rows.count(), rows.filter(live_slot__isnull=True).count()


def environment(sites: list[Any]) -> dict[str, str]:
    """The settings with which a server reads these stand-ins."""
    _shop, reddit, board, platform, _harbour = sites[: len(SITES)]
    reddit.rate_budget = 1_000_000
    return {
        **reddit.environment(),
        "WATCHBOOK_TRUSTED_HOSTS": ",".join(site.netloc for site in sites),
        "WATCHBOOK_PACE": "off",
        "CRAWLER_MAX_CONCURRENCY": "1",
        "NGA_BASE_URL": board.url,
        "COOKIE_MASTER_KEY": KEY,
        "NOTES_ADAPTER": "standin",
        "NOTES_STANDIN_URL": platform.url,
        "NOTES_PAGE_URL": platform.url,
    }


def parts_of(sites: list[Any]) -> list[Any]:
    shop, reddit, board, platform, harbour = sites[: len(SITES)]
    return [Sitemaps(shop), Reddit(reddit), Nga(board), Notes(platform), Pages(harbour)]


def open_world(stack: contextlib.ExitStack, owner: Any, patch: pytest.MonkeyPatch) -> list[Any]:
    sites: list[Any] = [stack.enter_context(kind()) for kind in (*SITES, WebhookSink)]
    for name, value in environment(sites).items():
        patch.setenv(name, value)
    parts = parts_of(sites)
    parts[0].hook_url = sites[-1].address("/hook")
    with clock.set_to(START):
        for part in parts:
            part.prepare(owner)
    return parts


def live(parts: list[Any], dice: random.Random, steps: int) -> None:
    """Let so many steps pass; sites fail at random, and are well for the last steps."""
    until = dict.fromkeys((part.slug for part in parts), 0)
    ill: set[str] = set()
    for number in range(1, steps + CALM):
        is_last = number > steps
        with clock.set_to(START + number * STEP):
            for part in parts:
                if number >= until[part.slug] or (is_last and part.slug in ill):
                    _turn(part, ill, dice, is_last=is_last)
                    until[part.slug] = number + dice.randint(*(LASTS if part.slug in ill else WELL))
                if not is_last:
                    part.grow(number)
                if number % part.every == 0:
                    part.counted_read(clock.now(), is_ill=part.slug in ill)


def _turn(part: Any, ill: set[str], dice: random.Random, *, is_last: bool) -> None:
    if part.slug in ill:
        part.end()
        ill.discard(part.slug)
    elif not is_last:
        part.begin(dice.choice(("refusing", *FAULTS)))
        ill.add(part.slug)
