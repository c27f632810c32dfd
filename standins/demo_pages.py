"""The pages' part of the demo: a harbour whose pages change, move and go, read behind its sitemap, with a rule."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from typing import Any

from standins.demo_server import DemoServer, becomes, until
from standins.sitemap_site import SitemapSite

PIERS = 8
# Notified once, when the price of pier 3 falls below it.
RULE = "price < 3"
WEATHER = ("calm", "a fresh breeze", "fog until noon", "rain", "a light swell")


class Harbour:
    def __init__(self, stack: contextlib.ExitStack, host: str = "127.0.0.1") -> None:
        self.site = stack.enter_context(SitemapSite(host=host))
        self.site_id = self.monitor_id = 0
        self._turns = itertools.count(1)
        for number in range(1, PIERS + 1):
            self._write(number, f"Boats leave pier {number} every {number * 5} minutes.", lastmod="2026-10-01")
        self.site.split(1)

    def _write(self, number: int | str, words: str, *, price: str = "3.90", lastmod: str = "2026-11-01") -> None:
        path = f"/piers/{number}"
        self.site.write(path, title=f"Pier {number}", paragraphs=[words, "Tickets are sold on board."], price=price)
        if self.site.ledger.current(self.site.page_url(path)) is None:
            self.site.add(path, lastmod)
        else:
            self.site.edit(path, lastmod=lastmod)

    def set_up(self, server: DemoServer) -> None:
        """Watch the sitemap of the harbour and read the pages behind it, with one rule."""
        monitor = server.ask("POST", "/sitemaps/monitors", {"name": "Harbour", "sitemap_url": self.site.sitemap})
        self.monitor_id = monitor["id"]
        listed = until("the list of the harbour", lambda: self._list(server))
        body = {"list_name": listed["name"], "mode": "all"}
        self.site_id = server.ask("POST", "/pages/sites", body)["id"]
        rule = {"kind": "notify", "condition": RULE, "pattern": ""}
        server.ask("POST", f"/pages/sites/{self.site_id}/rules", rule)

    def _list(self, server: DemoServer) -> Any:
        """The list of the monitor, once it was read."""
        rows = server.ask("GET", "/pages/lists")["items"]
        return next((row for row in rows if row["name"].endswith(str(self.monitor_id)) and row["count"]), None)

    def read_count(self, server: DemoServer) -> int:
        rows = server.ask("GET", f"/pages/sites/{self.site_id}/pages?limit=200")["items"]
        return sum(row["version_count"] > 0 for row in rows)

    def change(self) -> None:
        """Two pages say something else, one moves, one goes."""
        self._write(2, "Boats leave pier 2 at sunrise only.", lastmod="2026-11-02")
        self._write(3, "Boats leave pier 3 every 15 minutes.", price="2.50", lastmod="2026-11-02")
        self.site.rename("/piers/4", "/piers/four")
        self.site.texts.pages["/piers/four"] = self.site.texts.pages["/piers/4"]
        self.site.remove("/piers/5")
        self.site.write("/piers/5", mood="gone")

    def check(self, server: DemoServer) -> None:
        server.ask("POST", f"/sitemaps/monitors/{self.monitor_id}/check")

    def events(self, server: DemoServer) -> Counter[str]:
        rows = server.ask("GET", f"/pages/sites/{self.site_id}/changes?limit=200")["items"]
        return Counter(row["kind"] for row in rows)

    def go_on(self, server: DemoServer) -> None:
        """The harbour master writes the weather on one page; now and then the price of another one falls."""
        turn = next(self._turns)
        stamp = self.site.now().isoformat(timespec="seconds")
        self._write(1, f"Today: {WEATHER[turn % len(WEATHER)]}. Notice {turn}.", lastmod=stamp)
        if turn == 1:
            self.change()
        if turn % 5 == 0:
            price = "2.80" if turn % 2 else "3.90"
            self._write(6, f"Boats leave pier 6 every {turn} minutes.", price=price, lastmod=stamp)
        self.check(server)
        server.ask("POST", f"/pages/sites/{self.site_id}/check")

    def one_round(self, server: DemoServer) -> tuple[tuple[Any, ...], bool]:
        """Read all pages, change the harbour, and find each change once: two texts, a move, a page gone, the rule."""
        self.set_up(server)
        read = becomes(lambda: self.read_count(server) == PIERS and PIERS) or self.read_count(server)
        self.change()
        self.check(server)
        wanted = Counter(changed=2, moved=1, gone=1, rule=1)
        becomes(lambda: self._looked(server) == wanted)
        seen = self.events(server)
        if (read, seen) != (PIERS, wanted):
            print(
                f"pages: the harbour has {PIERS} pages and changed by {dict(wanted)}, "
                f"Watchbook saw {read} and {dict(seen)}"
            )
        row = ("pages", read, f"+{seen['moved']} −{seen['gone']} ~{seen['changed']}", 0)
        return row, (read, seen) == (PIERS, wanted)

    def _looked(self, server: DemoServer) -> Counter[str]:
        """The schedule reads the list every few minutes; a user selects *Check now*."""
        server.ask("POST", f"/pages/sites/{self.site_id}/check")
        return self.events(server)

    def wrote(self, page: dict[str, Any]) -> bool:
        """Whether a saved page says what one of the pages said."""
        said = [text.paragraphs[0] for texts in self.site.texts.history.values() for text in texts]
        return any(words in page["content"] for words in said)
