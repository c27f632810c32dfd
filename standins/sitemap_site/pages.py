"""Pages as a sitemap lists them; a bulk is a million of them that take no memory until they are written down."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

SECTIONS = ("garden", "kitchen", "tools", "outdoor", "paper", "lamps", "toys", "music")
FREQUENCIES = ("daily", "weekly", "monthly", "yearly")
PRIORITIES = tuple(f"0.{tenth}" for tenth in range(1, 10))
# Tables instead of formatting: a million pages are written in one go.
TIMES = [f"T{minute // 60:02d}:{minute % 60:02d}:00+00:00" for minute in range(24 * 60)]
DAYS = [(date(2020, 1, 1) + timedelta(days=number)).isoformat() for number in range(2000)]


class PageRecord(NamedTuple):
    """What a sitemap says about one page, in its own spelling."""

    url: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None


@dataclass(frozen=True)
class Bulk:
    """`count` pages made by arithmetic: the same every time, found by URL without being listed."""

    base: str
    count: int
    seed: int = 1
    name: str = "catalogue"

    def page(self, number: int) -> PageRecord:
        mixed = (number + 1) * 2654435761 * (2 * self.seed + 1) & 0xFFFFFFFF
        return PageRecord(
            f"{self.base}/{self.name}/{SECTIONS[mixed % 8]}/item-{mixed:08x}-{number}",
            DAYS[(mixed >> 3) % 2000] + TIMES[(mixed >> 5) % 1440],
            FREQUENCIES[(mixed >> 14) % 4],
            PRIORITIES[(mixed >> 16) % 9],
        )

    def find(self, url: str) -> int | None:
        if not url.startswith(f"{self.base}/{self.name}/"):
            return None
        tail = url.rpartition("-")[2]
        number = int(tail) if tail.isdigit() else self.count
        return number if number < self.count and self.page(number).url == url else None


class Shelf:
    """The pages as they are now. Each has a place for life, so that a removal does not move its neighbours."""

    def __init__(self) -> None:
        self.places = 0
        self.count = 0
        self._bulks: list[Bulk] = []
        self._starts: list[int] = []
        self._place_of: dict[str, int] = {}
        self._written: dict[int, PageRecord | None] = {}

    def put(self, page: PageRecord) -> int:
        """Add or change a page; returns its place."""
        place = self.find(page.url)
        if place is None:
            place = self.places
            self.places += 1
            self._place_of[page.url] = place
            self._written[place] = None
        self.count += self.get(place) is None
        self._written[place] = page
        return place

    def put_bulk(self, bulk: Bulk) -> range:
        self._bulks.append(bulk)
        self._starts.append(self.places)
        self.places += bulk.count
        self.count += bulk.count
        return range(self.places - bulk.count, self.places)

    def drop(self, url: str) -> int:
        place = self.find(url)
        if place is None or self.get(place) is None:
            raise KeyError(f"no such page: {url}")
        self._written[place] = None
        self.count -= 1
        return place

    def find(self, url: str) -> int | None:
        if url in self._place_of:
            return self._place_of[url]
        for start, bulk in zip(self._starts, self._bulks, strict=True):
            number = bulk.find(url)
            if number is not None:
                return start + number
        return None

    def get(self, place: int) -> PageRecord | None:
        if place in self._written:
            return self._written[place]
        index = bisect_right(self._starts, place) - 1
        return self._bulks[index].page(place - self._starts[index])

    def pages(self, places: Iterable[int]) -> Iterator[PageRecord]:
        """Those that are there, in the order of the places given."""
        for place in places:
            page = self.get(place)
            if page is not None:
                yield page
