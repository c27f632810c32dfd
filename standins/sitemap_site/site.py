"""The site itself: pages come, change and go; sitemaps, feeds and robots.txt follow."""

from __future__ import annotations

import random
import ssl
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from standins.faults import Rule
from standins.server import Answer, Request, Site
from standins.sitemap_site import render
from standins.sitemap_site.layout import TOP, Validators
from standins.sitemap_site.ledger import Changes, Ledger, Moment
from standins.sitemap_site.pages import FREQUENCIES, Bulk, PageRecord
from standins.sitemap_site.press import File, Press
from standins.sitemap_site.texts import Texts

UNSET: Any = object()


class SitemapSite(Site):
    """Pages are named by path or by full URL. `base` is what loc elements begin with; by default this very server."""

    def __init__(
        self,
        *,
        base: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        also_plain: bool = False,
    ) -> None:
        super().__init__(host=host, port=port, tls=tls, also_plain=also_plain)
        self.base = (base or self.url).rstrip("/")
        self.held_at: datetime | None = None
        self.ledger = Ledger(self.now)
        self.press = Press(self.ledger, self.address)
        self.validators = Validators()
        self.robots_body: bytes | None = None
        self.texts = Texts()
        self._moved: dict[str, str] = {}
        # Of these, the ones that lead elsewhere for the moment only
        self._for_now: set[str] = set()
        self._served: dict[int, int] = {}
        self._requests = 0
        self._life = random.Random(7)

    @property
    def sitemap(self) -> str:
        """The address to give to a monitor."""
        return self.address(TOP)

    def now(self) -> datetime:
        return self.held_at or datetime.now(UTC)

    def hold_time(self, moment: datetime | str | None) -> None:
        """Let the site live at this moment, so that a test with a clock of its own and the ledger agree."""
        self.held_at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment

    def page_url(self, page: str) -> str:
        return page if "://" in page else self.base + page

    def add(
        self, page: str, lastmod: str | None = None, changefreq: str | None = None, priority: str | None = None
    ) -> str:
        """Returns the URL."""
        return self._put(PageRecord(self.page_url(page), lastmod, changefreq, priority))

    def add_many(self, pages: Iterable[str], lastmod: str | None = None) -> None:
        for page in pages:
            self.add(page, lastmod)

    def add_bulk(self, count: int, seed: int = 1, name: str = "catalogue") -> None:
        """Many made-up pages together; a million take a few seconds and no memory beyond the files."""
        with self.ledger.lock:
            self.press.touch(self.ledger.put_bulk(Bulk(self.base, count, seed, name)))

    def edit(
        self, page: str, *, lastmod: str | None = UNSET, changefreq: str | None = UNSET, priority: str | None = UNSET
    ) -> None:
        """Change only what is given; None takes the element away."""
        with self.ledger.lock:
            old = self.ledger.current(self.page_url(page))
            if old is None:
                raise KeyError(f"no such page: {page}")
            given: dict[str, Any] = {"lastmod": lastmod, "changefreq": changefreq, "priority": priority}
            self._put(old._replace(**{name: value for name, value in given.items() if value is not UNSET}))

    def remove(self, page: str) -> None:
        with self.ledger.lock:
            self.press.touch([self.ledger.drop(self.page_url(page))])

    def rename(self, page: str, to: str) -> None:
        """The page leaves and comes back under another address; the old one redirects."""
        with self.ledger.lock:
            old = self.ledger.current(self.page_url(page))
            if old is None:
                raise KeyError(f"no such page: {page}")
            self.remove(page)
            self._put(old._replace(url=self.page_url(to)))
            self._moved[self.page_url(page)] = self.page_url(to)

    def redirect(self, page: str, to: str, *, is_permanent: bool = True) -> None:
        """Let an address that is no page lead to another one, for ever (301) or for the moment (302)."""
        self._moved[self.page_url(page)] = self.page_url(to)
        (self._for_now.discard if is_permanent else self._for_now.add)(self.page_url(page))

    def write(self, page: str, **content: Any) -> None:
        """Give a page a text of its own; see `Texts`."""
        self.texts.write(page, **content)

    def arrange(self, **changes: Any) -> None:
        """Change any field of the layout; the pages stay the same."""
        if "extensions" in changes or "forgotten" in changes:
            changes |= {name: frozenset(changes[name]) for name in ("extensions", "forgotten") if name in changes}
        with self.ledger.lock:
            self.press.arrange(replace(self.press.layout, **changes))

    def split(self, children: int, *, depth: int = 1) -> None:
        """An index with so many children; pages added later fill the last one and then open new ones."""
        per_child = max(1, -(-self.ledger.shelf.places // children))
        self.arrange(children=children, per_child=per_child, spread="blocks", depth=depth)

    def deal(self, children: int) -> None:
        """Re-shard: nearly every page moves to another child."""
        self.arrange(children=children, spread="dealt")

    def shuffle(self, seed: int = 1) -> None:
        self.arrange(order_seed=seed)

    def child(self, number: int) -> str:
        """The path of the n-th child, counted from 1; for `faults.on(...)` and for the log."""
        return self.press.layout.child_path(number - 1)

    def children(self) -> list[str]:
        with self.ledger.lock:
            count = self.press.layout.child_count(self.ledger.shelf.places)
            return [self.press.layout.child_path(number) for number in range(count)]

    def fail_child(self, number: int, status: int = 500) -> Rule:
        return self.faults.on(self.child(number)).fail(status)

    def truncate_child(self, number: int, keep: float = 0.5) -> Rule:
        return self.faults.on(self.child(number)).truncate(keep)

    def forget_child(self, *numbers: int) -> None:
        """The index no longer lists these children, though they still answer."""
        self.arrange(forgotten={number - 1 for number in numbers})

    def validate(self, **changes: Any) -> None:
        """Change any field of `Validators`."""
        self.validators = replace(self.validators, **changes)

    def robots(self, sitemaps: Iterable[str] | None = None, crawl_delay: float | None = None) -> None:
        addresses = [self.sitemap] if sitemaps is None else sitemaps
        self.robots_body = render.robots(addresses, crawl_delay)

    def mark(self) -> int:
        """A place in the ledger, exact even when the clock is held."""
        return self.ledger.mark()

    def mark_of(self, request: Request) -> int:
        """The state of the ledger from which this request was answered."""
        return self._served[request.number]

    def world_at(self, moment: Moment) -> list[PageRecord]:
        return self.ledger.world_at(moment)

    def changes_between(self, before: Moment, after: Moment) -> Changes:
        return self.ledger.changes_between(before, after)

    def live(self, times: int = 1) -> int:
        """A little everyday life: a page or two come, some are edited, now and then one goes. Returns the mark."""
        for _ in range(times):
            stamp = self.now().isoformat(timespec="seconds")
            for _ in range(self._life.randint(1, 2)):
                self.add(f"/news/{self._life.randrange(16**8):08x}", stamp, self._life.choice(FREQUENCIES), "0.5")
            known = self.world_at(self.mark())
            for page in self._life.sample(known, min(2, len(known))):
                if page.lastmod != stamp:
                    self.edit(page.url, lastmod=stamp)
            if len(known) > 10 and self._life.random() < 0.3:
                self.remove(self._life.choice(known).url)
        return self.mark()

    def respond(self, request: Request) -> Answer:
        with self.ledger.lock:
            self._served[request.number] = self.mark()
            if request.path == "/robots.txt":
                return Answer(200, self.robots_body or render.robots([self.sitemap]), content_type="text/plain")
            file = self.press.file(request.path)
            return self._page(request) if file is None else self._conditional(request, file)

    def actions(self) -> dict[str, Callable[..., Any]]:
        """The world by remote control, under the names of the methods."""
        names = "add add_many add_bulk edit remove rename arrange split deal shuffle forget_child validate robots"
        return {name: getattr(self, name) for name in f"{names} redirect write hold_time mark live".split()}

    def ledger_json(self) -> object:
        return self.ledger.as_json() | {"sitemap": self.sitemap, "children": self.children()}

    def _put(self, page: PageRecord) -> str:
        with self.ledger.lock:
            self.press.touch([self.ledger.put(page)])
            self._moved.pop(page.url, None)
            return page.url

    def _page(self, request: Request) -> Answer:
        url = self.base + request.target
        if url in self._moved:
            return Answer.redirect(self._moved[url], 302 if url in self._for_now else 301)
        if (written := self.texts.answer(request.target)) is not None:
            return written
        if request.target == "/" or self.ledger.current(url) is not None:
            return Answer.html(f"<!DOCTYPE html><html><title>{request.path}</title><body><p>A page.</p></body></html>")
        return super().respond(request)

    def _conditional(self, request: Request, file: File) -> Answer:
        self._requests += 1
        marks = self.validators
        digest = f"{file.digest}-{self._requests}" if marks.lie == "rotating" else file.digest
        tag = {"strong": f'"{digest}"', "weak": f'W/"{digest}"', "none": ""}[marks.etag]
        pairs = [("ETag", tag)] if tag else []
        if marks.last_modified:
            pairs.append(("Last-Modified", format_datetime(file.changed_at.astimezone(UTC), usegmt=True)))
        if self._is_unchanged(request, tag, file):
            return Answer(304, headers=tuple(pairs))
        if file.encoding:
            pairs.append(("Content-Encoding", file.encoding))
        return Answer(200, file.body, tuple(pairs), content_type=file.content_type)

    def _is_unchanged(self, request: Request, tag: str, file: File) -> bool:
        brought, since = request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since")
        if self.validators.lie == "ignored" or not (brought or since):
            return False
        if self.validators.lie == "stale":
            return True
        if brought:
            known = {mark.strip().removeprefix("W/") for mark in brought.split(",")}
            return bool(tag) and (tag.removeprefix("W/") in known or "*" in known)
        return self.validators.last_modified and _is_not_after(file.changed_at, since)


def _is_not_after(changed_at: datetime, since: str) -> bool:
    try:
        return changed_at.replace(microsecond=0) <= parsedate_to_datetime(since)
    except (TypeError, ValueError):
        return False
