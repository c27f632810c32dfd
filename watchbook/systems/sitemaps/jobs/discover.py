"""Finds what can be watched at an address: robots.txt, links of the page, usual addresses.

The caller bounds the requests with `counted(most=…)`; a list that could not be read in time is still named.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from watchbook.base import sandbox
from watchbook.base.store.folder import scratch
from watchbook.base.web.body import to_text
from watchbook.base.web.errors import BudgetExceeded, WebError
from watchbook.systems.sitemaps.fetch import PREVIEW_WAIT_SECONDS, fetch_page, fetch_part, fetch_robots
from watchbook.systems.sitemaps.jobs.read import read_answer
from watchbook.systems.sitemaps.parse import RobotsRecord
from watchbook.systems.sitemaps.parse.lastmod import read_lastmod
from watchbook.systems.sitemaps.parse.lists import PartList
from watchbook.systems.sitemaps.parse.page import MAX_CHARS, PageHead, read_head
from watchbook.systems.sitemaps.parse.records import NotASitemap, Unreadable, UrlRecord
from watchbook.systems.sitemaps.records import PartReading, error_message

USUAL_SITEMAPS = ("/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap.xml", "/sitemap.xml.gz", "/sitemap.txt")
USUAL_FEEDS = ("/feed", "/rss.xml", "/atom.xml")
FEED_KINDS = ("rss", "atom", "rdf")
MOST_LISTS = 20
# URLs of one file that are searched for the newest ones and for those that a feed repeats.
MOST_URLS = 50_000
NEWEST, TITLES = 5, 3
DEADLINE_SECONDS = 45.0
CANNOT_READ = (WebError, Unreadable, sandbox.TaskError)


@dataclass
class Listed:
    """One sitemap, feed or text list. Without a `kind` it was not read; `problem` says why."""

    url: str
    title: str = ""
    kind: str = ""
    count: int = 0
    files: int = 0
    is_complete: bool = True
    problem: str = ""
    newest: list[UrlRecord] = field(default_factory=list)
    urls: frozenset[str] = frozenset()

    @property
    def is_feed(self) -> bool:
        return self.kind in FEED_KINDS


@dataclass
class Site:
    """What an address offers. `left_out` counts lists that the site names beyond the limit."""

    url: str
    title: str = ""
    lists: list[Listed] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    robots: RobotsRecord | None = None
    left_out: int = 0
    problem: str = ""
    code: str = ""

    @property
    def read(self) -> list[Listed]:
        return [one for one in self.lists if one.kind]


class Discovery:
    """One search at one address; used once."""

    def __init__(self, url: str, folder: Path) -> None:
        self.site = Site(url)
        self._folder = folder
        self._ends = time.monotonic() + DEADLINE_SECONDS

    def run(self) -> Site:
        """Read robots.txt and the address itself; a web page leads to its lists."""
        site = self.site
        try:
            site.robots = fetch_robots(site.url)
        except WebError:
            site.robots = None
        head = self._first()
        if head is not None:
            self._follow(head)
        self._titles()
        return site

    def _first(self) -> PageHead | None:
        """Read the address. Return the head of a web page, or None if the address is a list or the search ends."""
        try:
            part, head = self._read(self.site.url)
        except CANNOT_READ as error:
            self.site.problem, self.site.code = error_message(error), error.code
            is_root = urlsplit(self.site.url).path in ("", "/")
            return PageHead() if is_root and not error.code.startswith("private") else None
        if part is not None:
            self.site.lists.append(self._listed(Listed(self.site.url), part))
            return None
        self.site.title = head.site_name or head.title
        return head

    def _follow(self, head: PageHead) -> None:
        named = self.site.robots.sitemaps if self.site.robots else ()
        sitemaps = dict.fromkeys((*named, *head.sitemaps))
        feeds = {feed.url: feed.title for feed in head.feeds}
        if sitemaps:
            self._add(sitemaps)
        if not self.site.read:
            self._try(USUAL_SITEMAPS)
        for url, title in feeds.items():
            self._add([url], title)
        if not self.site.read:
            self._try(USUAL_FEEDS)

    def _add(self, urls: Iterable[str], title: str = "") -> None:
        for url in urls:
            if len(self.site.lists) >= MOST_LISTS:
                self.site.left_out += 1
                continue
            if all(one.url != url for one in self.site.lists):
                self.site.lists.append(self._look(Listed(url, title)))

    def _try(self, paths: Iterable[str]) -> None:
        """Try usual addresses until one is a list. What is none is only counted as tried."""
        for path in paths:
            url = urljoin(self.site.url, path)
            if self._is_over():
                return
            self.site.tried.append(path)
            found = self._look(Listed(url))
            if found.kind:
                self.site.lists.append(found)
                return

    def _look(self, one: Listed) -> Listed:
        if self._is_over():
            return one
        try:
            part, _head = self._read(one.url)
        except BudgetExceeded:
            return one
        except CANNOT_READ as error:
            one.problem = error_message(error)
            return one
        if part is None:
            one.problem = error_message(NotASitemap("html_page", "The response is a web page, not a sitemap."))
            return one
        return self._listed(one, part)

    def _listed(self, one: Listed, part: PartReading) -> Listed:
        """Take over what was read. Of an index the first file is read, too, for its newest pages."""
        children = [child for child, _lastmod in part.summary.get("children", [])]
        one.kind, one.count, one.files = str(part.summary["kind"]), part.count, len(children)
        one.is_complete = part.is_read
        if children and not self._is_over():
            try:
                child, _head = self._read(children[0])
            except CANNOT_READ as error:
                one.problem = error_message(error)
                child = None
            if child is not None and len(children) == 1:
                one.count = child.count
            part = child or part
        if part.lines is not None:
            records = list(islice(_records(part), MOST_URLS))
            one.urls = frozenset(record.url for record in records)
            one.newest = nlargest(NEWEST, records, key=_moment)
        return one

    def _read(self, url: str) -> tuple[PartReading | None, PageHead]:
        """Fetch an address once and read it as a list, or as a web page."""
        folder = self._folder / f"{len(list(self._folder.iterdir()))}"
        folder.mkdir()
        answer = fetch_part(
            url, validators=None, target=folder / "body", follow=2, wait_seconds=PREVIEW_WAIT_SECONDS
        )  # fmt: skip
        try:
            return read_answer(url, answer, folder), PageHead()
        except NotASitemap:
            with (folder / "body").open("rb") as file:
                text = to_text(file.read(MAX_CHARS), answer.headers.get("content-type", ""))
            return None, read_head(text, answer.url)

    def _titles(self) -> None:
        """Read the titles of the newest pages, as far as requests and time are left."""
        for record in newest_of(self.site)[:TITLES]:
            if self._is_over():
                return
            try:
                answer = fetch_page(record.url)
            except WebError:
                continue
            if title := read_head(answer.text, answer.url).title:
                self.site.titles[record.url] = title

    def _is_over(self) -> bool:
        return time.monotonic() > self._ends


def discover(url: str) -> Site:
    with scratch("discover") as folder:
        return Discovery(url, folder).run()


def newest_of(site: Site) -> list[UrlRecord]:
    """Return the newest URLs of all lists, each once."""
    records = {record.url: record for one in site.lists for record in one.newest}
    return nlargest(NEWEST, records.values(), key=_moment)


def _records(part: PartReading) -> Iterable[UrlRecord]:
    assert part.lines is not None
    return PartList(part.url, "", part.count, part.lines).records()


def _moment(record: UrlRecord) -> int:
    moment = read_lastmod(record.lastmod) if record.lastmod else None
    return moment.nanoseconds if moment else 0
