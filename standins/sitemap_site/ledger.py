"""The truth about a sitemap site: every addition, edit and removal with its moment, and what follows from them."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from standins.sitemap_site.moments import same_moment
from standins.sitemap_site.pages import Bulk, PageRecord, Shelf

# A mark is a place in the ledger; a moment is a time. Either says "then", but only a mark is exact under a held clock.
Moment = datetime | int


EARLIEST = datetime.min.replace(tzinfo=UTC)


class Modified(NamedTuple):
    url: str
    old_lastmod: str | None
    new_lastmod: str | None


@dataclass(frozen=True)
class Changes:
    """Everything sorted by URL. `modified` has another lastmod as an instant, `respelled` only another text,
    `details` another changefreq or priority and the same lastmod."""

    added: tuple[PageRecord, ...] = ()
    removed: tuple[PageRecord, ...] = ()
    modified: tuple[Modified, ...] = ()
    respelled: tuple[Modified, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Not notified."""
        return not (self.added or self.removed or self.modified)


class Entry(NamedTuple):
    number: int
    at: datetime
    kind: str
    url: str
    page: PageRecord | None = None
    bulk: Bulk | None = None


class Ledger:
    """Append-only. The shelf is the present; the entries are the past."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.clock = clock
        self.shelf = Shelf()
        self.lock = threading.RLock()
        self._entries: list[Entry] = []
        self._by_url: dict[str, list[Entry]] = defaultdict(list)
        self._bulks: list[Entry] = []

    def put(self, page: PageRecord) -> int:
        """Write a page down as it now is; returns its place on the shelf."""
        with self.lock:
            old = self.current(page.url)
            if old == page:
                raise ValueError(f"nothing changes at {page.url}")
            place = self.shelf.put(page)
            self._write("edit" if old else "add", page.url, page=page)
            return place

    def put_bulk(self, bulk: Bulk) -> range:
        with self.lock:
            clash = next((url for url in self._by_url if bulk.find(url) is not None), None)
            if clash is not None or any(entry.bulk == bulk for entry in self._bulks):
                raise ValueError(f"the bulk holds pages that are known already: {clash or bulk.name}")
            places = self.shelf.put_bulk(bulk)
            self._write("bulk", "", bulk=bulk)
            return places

    def drop(self, url: str) -> int:
        with self.lock:
            place = self.shelf.drop(url)
            self._write("remove", url)
            return place

    def current(self, url: str) -> PageRecord | None:
        with self.lock:
            place = self.shelf.find(url)
            return None if place is None else self.shelf.get(place)

    def mark(self) -> int:
        with self.lock:
            return len(self._entries)

    @property
    def last_change_at(self) -> datetime | None:
        with self.lock:
            return self._entries[-1].at if self._entries else None

    def world_at(self, moment: Moment) -> list[PageRecord]:
        """Exactly what was listed then, in the order in which the pages came to the site."""
        with self.lock:
            shelf = Shelf()
            for entry in self._entries[: self._number_at(moment)]:
                if entry.bulk is not None:
                    shelf.put_bulk(entry.bulk)
                elif entry.page is not None:
                    shelf.put(entry.page)
                else:
                    shelf.drop(entry.url)
            return list(shelf.pages(range(shelf.places)))

    def changes_between(self, before: Moment, after: Moment) -> Changes:
        """What a perfect reader would find. Only what was touched is compared, so a million pages cost nothing."""
        with self.lock:
            start, end = self._number_at(before), self._number_at(after)
            touched = {entry.url for entry in self._entries[start:end] if entry.bulk is None}
            pairs = [(self._state(url, start), self._state(url, end)) for url in sorted(touched)]
            fresh = [entry.bulk for entry in self._entries[start:end] if entry.bulk is not None]
            pairs += [
                (None, page) for bulk in fresh for page in map(bulk.page, range(bulk.count)) if page.url not in touched
            ]
            return compare(pairs)

    def as_json(self) -> dict[str, object]:
        with self.lock:
            return {
                "count": self.shelf.count,
                "mark": len(self._entries),
                "entries": [
                    {"number": entry.number, "at": entry.at.isoformat(), "kind": entry.kind, "url": entry.url}
                    | ({"page": entry.page._asdict()} if entry.page else {})
                    | ({"count": entry.bulk.count} if entry.bulk else {})
                    for entry in self._entries
                ],
            }

    def _write(self, kind: str, url: str, *, page: PageRecord | None = None, bulk: Bulk | None = None) -> None:
        # A clock that was put back must not make a past in which later things came first.
        at = max(self.clock(), self.last_change_at or EARLIEST)
        entry = Entry(len(self._entries) + 1, at, kind, url, page, bulk)
        self._entries.append(entry)
        if bulk is None:
            self._by_url[url].append(entry)
        else:
            self._bulks.append(entry)

    def _number_at(self, moment: Moment) -> int:
        if isinstance(moment, datetime):
            return bisect_right(self._entries, moment, key=lambda entry: entry.at)
        return moment

    def _state(self, url: str, mark: int) -> PageRecord | None:
        past = [entry for entry in self._by_url[url] if entry.number <= mark]
        if past:
            return past[-1].page
        for entry in self._bulks:
            number = entry.bulk.find(url) if entry.bulk and entry.number <= mark else None
            if entry.bulk and number is not None:
                return entry.bulk.page(number)
        return None


def compare(pairs: Iterable[tuple[PageRecord | None, PageRecord | None]]) -> Changes:
    """Sort pairs of before and after into kinds of change."""
    added, removed, modified, respelled, details = [], [], [], [], []
    for old, new in pairs:
        if old is None and new is not None:
            added.append(new)
        elif old is not None and new is None:
            removed.append(old)
        elif old is not None and new is not None and old != new:
            stamps = Modified(old.url, old.lastmod, new.lastmod)
            if not same_moment(old.lastmod, new.lastmod):
                modified.append(stamps)
            elif old.lastmod != new.lastmod:
                respelled.append(stamps)
            if old[2:] != new[2:] and same_moment(old.lastmod, new.lastmod):
                details.append(old.url)
    return Changes(
        tuple(sorted(added, key=_by_url)),
        tuple(sorted(removed, key=_by_url)),
        tuple(sorted(modified, key=_by_url)),
        tuple(sorted(respelled, key=_by_url)),
        tuple(sorted(details)),
    )


def _by_url(record: PageRecord | Modified) -> str:
    return record.url
