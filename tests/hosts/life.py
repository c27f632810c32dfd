"""The world of the run: all stand-ins on the address of the bridge, one of them with a list that needs a blob."""

from __future__ import annotations

import random
from contextlib import ExitStack
from typing import Any

from standins.demo_nga import Forum
from standins.demo_notes import Notes
from standins.demo_pages import Harbour
from standins.demo_reddit import Communities
from standins.sitemap_site import SitemapSite
from tests.crash.world import Place, World
from tests.hosts.desk import Desk

SITES = 4
# Each URL has 12 random bytes that no packing removes: the list exceeds the megabyte that a row may hold.
LARGE = 160_000


class LargePlace(Place):
    """One site with many pages. A new one at every change; its ledger is read only at the end."""

    def __init__(self, site: SitemapSite, number: int) -> None:
        chance = random.Random(number)
        super().__init__(site, number)
        self.is_whole = False
        site.add_many([f"/large/{n:06}-{chance.getrandbits(96):024x}" for n in range(LARGE)], lastmod="2019-12-31")
        site.split(2)
        self.first = self.now()

    def now(self) -> dict[str, str | None]:
        return {page.url: page.lastmod for page in self.site.world_at(self.site.mark())}


class Life:
    def __init__(self, stack: ExitStack, host: str) -> None:
        self.world = World(stack, SITES, host)
        self.world.places.append(LargePlace(stack.enter_context(SitemapSite(host=host)), SITES))
        self.forum = Forum(stack, host)
        self.communities = Communities(stack, host)
        self.notes = Notes(stack, host)
        self.harbour = Harbour(stack, host)
        self.monitors: dict[int, Any] = {}
        self.turns = 0

    @property
    def settings(self) -> dict[str, str]:
        sites = [self.harbour.site, self.forum.board, self.communities.site, self.notes.platform]
        own = self.world.environment()
        hosts = ",".join([own["WATCHBOOK_TRUSTED_HOSTS"], *(site.netloc for site in sites)])
        systems = {**self.forum.env, **self.communities.env, **self.notes.env}
        return {**systems, **own, "WATCHBOOK_TRUSTED_HOSTS": hosts}

    def set_up(self, desk: Desk) -> None:
        """Channels, monitors, communities, keywords and pages, as an operator would add them."""
        hook = {"name": "hook", "channel_type": "webhook", "config": {"url": self.world.hooks.address("/hook")}}
        mail = {"name": "mail", "channel_type": "email", "config": {"email": "desk@example.com"}}
        channels = [desk.ask("POST", "/channels", body)["id"] for body in (hook, mail)]
        for place in self.world.places:
            body = {"name": f"Example {place.number}", "sitemap_url": place.site.sitemap, "channel_ids": channels}
            self.monitors[place.number] = desk.ask("POST", "/sitemaps/monitors", body)
        self.notes.set_up(desk)
        self.harbour.set_up(desk)

    def go_on(self, desk: Desk) -> None:
        """Every site changes a little, and the installation is asked to look."""
        self.turns += 1
        for place in self.world.places:
            # The large one every third time: rendering it takes this machine a second.
            if place.number < SITES or self.turns % 3 == 0:
                place.change()
        self.forum.go_on(3)
        self.communities.go_on()
        self.notes.go_on(desk)
        self.harbour.go_on(desk)
        self.look(desk)

    def look(self, desk: Desk, *, at_all: bool = False) -> None:
        """Ask for a check of what has changed, as the schedule would in time."""
        for place in self.world.places:
            if at_all or place.number < SITES or self.turns % 3 == 0:
                desk.ask("POST", f"/sitemaps/monitors/{self.monitors[place.number]['id']}/check")
        self.forum.board.begin_run()
        desk.ask("POST", "/nga/crawl", {"fid": 7})
        for job in ("notes.search", "notes.creators", "notes.collect"):
            desk.ask("POST", f"/jobs/{job}/run")
        if at_all:
            desk.patiently("reddit", "crawl", "--force", "--json")
