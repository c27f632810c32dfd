"""The world outside: sites that change, a mail server and a receiver of webhooks, each with a ledger of its own."""

from __future__ import annotations

import random
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from standins.faults import Rule
from standins.sitemap_site import SitemapSite
from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink

Pages = dict[str, str | None]

BASE_PAGES = 40
# Fewer than the guard against mass removal looks at, even if all of them were noticed at once.
MOST_REMOVED = 15
# A notice lists so many pages at most; a site that is not looked at waits before it goes on.
MOST_UNSEEN = 40
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)


class Place:
    """One watched site. Pages come once, and only pages that were there at first are changed or go."""

    def __init__(self, site: SitemapSite, number: int, *, parts: int = 0) -> None:
        self.site = site
        self.number = number
        self.is_whole = not parts
        self.life = random.Random(number)
        self.came = self.went = self.edits = 0
        self.seen = 0
        self._states: list[Pages] = []
        site.add_many([f"/old/{n:03}" for n in range(BASE_PAGES)], lastmod="2019-12-31")
        if parts:
            site.deal(parts)

    def change(self) -> None:
        """At least one page comes, so that every change is told of."""
        if self.came - self.seen > MOST_UNSEEN:
            return
        for _ in range(self.life.randint(1, 2)):
            self.came += 1
            self.site.add(f"/new/{self.came:05}", lastmod="2020-06-01")
        if self.life.random() < 0.5:
            self.edits += 1
            stamp = f"{FIRST_DAY + timedelta(days=self.edits):%Y-%m-%d}"
            self.site.edit(f"/old/{self.life.randrange(MOST_REMOVED, BASE_PAGES):03}", lastmod=stamp)
        if self.went < MOST_REMOVED and self.life.random() < 0.2:
            self.site.remove(f"/old/{self.went:03}")
            self.went += 1

    def states(self) -> list[Pages]:
        """What the site listed at every mark of its ledger."""
        for mark in range(len(self._states), self.site.mark() + 1):
            self._states.append({page.url: page.lastmod for page in self.site.world_at(mark)})
        return self._states

    def now(self) -> Pages:
        return self.states()[-1]


class World:
    def __init__(self, stack: ExitStack, places: int, host: str = "127.0.0.1") -> None:
        sites = [stack.enter_context(SitemapSite(host=host)) for _ in range(places)]
        # The last one is an index of files, read one after the other.
        self.places = [Place(site, n, parts=3 if n == places - 1 else 0) for n, site in enumerate(sites)]
        self.mail = stack.enter_context(SmtpSink(host=host))
        self.hooks = stack.enter_context(WebhookSink(host=host))

    def change(self) -> None:
        for place in self.places:
            place.change()

    def hang(self) -> list[Rule]:
        """No site says a word until the rules are lifted."""
        return [place.site.faults.on("*").hang() for place in self.places]

    def environment(self) -> dict[str, str]:
        sites = [place.site.netloc for place in self.places]
        return {
            "WATCHBOOK_TRUSTED_HOSTS": ",".join([*sites, self.hooks.netloc]),
            "WATCHBOOK_PACE": "off",
            "EMAIL_HOST": self.mail.host,
            "EMAIL_PORT": str(self.mail.port),
        }
