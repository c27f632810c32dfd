"""Lists of monitors and changes, and the URLs of a change or a snapshot, searched with bounded time and memory."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.base.store.folder import scratch
from watchbook.base.text import clean_text, fold
from watchbook.core.accounts.models import User
from watchbook.kit.lists import Changes, Choice, Column, Days, Flag, List, Order, Search, by_time
from watchbook.kit.lists.filters import Span
from watchbook.systems.sitemaps.compare import Difference, compare
from watchbook.systems.sitemaps.health import FAILED
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, Health, MonitorTask, SitemapSnapshot, Status
from watchbook.systems.sitemaps.parse.lastmod import DAY, read_lastmod
from watchbook.systems.sitemaps.store.lists import change_entries, snapshot_lists, snapshot_urls

ADDED, REMOVED, MODIFIED, NOISE = "added", "removed", "modified", "noise"
KINDS = (ADDED, REMOVED, MODIFIED, NOISE)
SIGNS = {ADDED: "+", REMOVED: "−", MODIFIED: "~", NOISE: "~"}
SHOWN = 200
# Entries that one search reads; a longer list is searched on from there, or in its download.
SCANNED = 200_000
QUERY_LENGTH, QUERY_WORDS = 200, 10
LONGEST_URL = 8192
# Changes that one search finds; the others are older.
MOST_FOUND = 1000


Row = TypeVar("Row")
NEWEST, OLDEST = "newest", "oldest"
LASTMOD = Days("days", _("Date"), "at")
# The form of a list of URLs. Its rows are in files, so it only reads and draws filters.
URLS = List(
    "urls",
    filters=(Search("q", _("Find in these URLs"), columns=("url",)), LASTMOD),
    orders=(
        Order("listed", _("In the order of the list")),
        Order(NEWEST, _("Newest lastmod first")),
        Order(OLDEST, _("Oldest lastmod first")),
    ),
)


@dataclass(frozen=True)
class Dated:
    """What the filter by date compares."""

    at: datetime | None


@dataclass(frozen=True)
class Filters:
    """Filters of a list of URLs: a kind (empty for all except frequently changing), words, dates, order, selection."""

    kind: str = ""
    text: str = ""
    words: tuple[str, ...] = ()
    days: Span | None = None
    order: str = ""
    chosen: frozenset[str] = frozenset()

    @classmethod
    def of(cls, asked: Mapping[str, Any], chosen: Iterable[str] = ()) -> Filters:
        kind = str(asked.get("kind", ""))
        text = clean_text(str(asked.get("q", "")))[:QUERY_LENGTH].strip()
        shown = URLS.show_held((), asked)
        return cls(
            kind if kind in KINDS else "",
            text,
            tuple(fold(text).split()[:QUERY_WORDS]),
            shown.chosen.values.get("days"),
            shown.order.name if shown.order.name in (NEWEST, OLDEST) else "",
            frozenset(list(chosen)[:SHOWN]),
        )

    def takes(self, kind: str) -> bool:
        return kind == self.kind if self.kind else kind != NOISE

    def matches(self, url: str) -> bool:
        """Whether the URL, as written or percent-decoded, contains every word."""
        if not self.words:
            return True
        text = _folded(f"{url}\n{unquote(url)}" if "%" in url else url)
        return all(word in text for word in self.words)

    @property
    def is_searched(self) -> bool:
        """Whether entries must be read to know how many there are."""
        return bool(self.words or self.days or self.order or self.chosen)

    def takes_row(self, url: str, lastmod: str | None) -> bool:
        if self.chosen and url not in self.chosen:
            return False
        if self.days and not LASTMOD.holds(Dated(moment_of(lastmod)), self.days):
            return False
        return self.matches(url)

    def first(self, rows: Iterable[tuple[Row, str | None]], limit: int) -> list[Row]:
        """The first rows in the chosen order, of any number of rows and their dates. Without a date a row is last."""
        numbered = ((_rank(lastmod, is_newest=self.order == NEWEST), n, row) for n, (row, lastmod) in enumerate(rows))
        return [row for _by, _n, row in nsmallest(limit, numbered, key=lambda each: each[:2])]


def moment_of(lastmod: str | None) -> datetime | None:
    """The moment of a date as a site writes it. A day without a time begins at midnight of the reader's zone."""
    found = read_lastmod(lastmod) if lastmod else None
    if found is None or found.precision < DAY:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found.nanoseconds // 1000)
    except OverflowError:
        return None
    return moment if found.precision > DAY else datetime.combine(moment, time(), timezone.get_current_timezone())


def _rank(lastmod: str | None, *, is_newest: bool) -> float:
    moment = moment_of(lastmod)
    if moment is None:
        return math.inf
    return -moment.timestamp() if is_newest else moment.timestamp()


def in_order(rows: Iterable[dict[str, Any]], dates: Callable[[Any], str | None], filters: Filters) -> Iterator[Any]:
    """All rows in the chosen order, sorted on disk: a list can be far longer than memory."""
    if not filters.order:
        yield from rows
        return
    with scratch("sorted") as folder, closing(sqlite3.connect(folder / "rows.sqlite3")) as base:
        base.execute("CREATE TABLE rows (place REAL, row TEXT)")
        ranked = ((_rank(dates(row), is_newest=filters.order == NEWEST), json.dumps(row)) for row in rows)
        base.executemany("INSERT INTO rows VALUES (?, ?)", ranked)
        for (text,) in base.execute("SELECT row FROM rows ORDER BY place, rowid"):
            yield json.loads(text)


def _folded(text: str) -> str:
    """Fold the case of text. ASCII only needs lower case, which is faster."""
    return text.lower() if text.isascii() else fold(text)


@dataclass(frozen=True)
class Item:
    """One changed URL with its dates."""

    kind: str
    url: str
    old_lastmod: str | None = None
    new_lastmod: str | None = None

    @property
    def lastmod(self) -> str | None:
        return self.new_lastmod or self.old_lastmod


@dataclass(frozen=True)
class Found:
    """Search result. If `is_whole` is false, `matched` counts only the searched entries."""

    items: list[Item]
    matched: int
    is_whole: bool = True

    @property
    def more(self) -> int:
        return self.matched - len(self.items)


def counts_of(record: ChangeRecord) -> dict[str, int]:
    """Count the URLs of each kind; the empty kind is all except frequently changing."""
    told = record.modified_count - record.noisy_count
    return {
        "": record.added_count + record.removed_count + told,
        ADDED: record.added_count,
        REMOVED: record.removed_count,
        MODIFIED: told,
        NOISE: record.noisy_count,
    }


def counts_text(record: ChangeRecord) -> str:
    """Return a text like +412 −9 ~38; empty if only frequently changing URLs changed."""
    counts = counts_of(record)
    return " ".join(f"{SIGNS[kind]}{counts[kind]:,}" for kind in (ADDED, REMOVED, MODIFIED) if counts[kind])


def find(record: ChangeRecord, filters: Filters, limit: int = SHOWN) -> Found:
    if not filters.is_searched:
        items = []
        for item in items_of(record, filters.kind):
            if filters.takes(item.kind):
                items.append(item)
                if len(items) == limit:
                    break
        return Found(items, max(counts_of(record)[filters.kind], len(items)))
    return _search(record, filters, limit)


def _search(record: ChangeRecord, filters: Filters, limit: int) -> Found:
    """Read a bounded number of entries; keep the first of the order."""
    noisy, seen = frozenset(record.extras.get("noisy", ())), [0, 0]

    def matching() -> Iterator[tuple[Item, str | None]]:
        for name, entry in islice(change_entries(record, _stored_kind(filters.kind)), SCANNED + 1):
            seen[0] += 1
            if seen[0] > SCANNED:
                return
            item = _item(name, entry, noisy)
            if filters.takes_row(item.url, item.lastmod) and filters.takes(item.kind):
                seen[1] += 1
                yield item, item.lastmod

    shown = _first(matching(), filters, limit)
    return Found(shown, seen[1], is_whole=seen[0] <= SCANNED)


def _first(rows: Iterator[tuple[Row, str | None]], filters: Filters, limit: int) -> list[Row]:
    """The first rows; the others are read all the same, to be counted."""
    if filters.order:
        return filters.first(rows, limit)
    shown = [row for row, _lastmod in islice(rows, limit)]
    for _row in rows:
        pass
    return shown


def sample(record: ChangeRecord, limit: int) -> Found:
    """Return a few URLs of every kind."""
    total = counts_of(record)[""]
    if "manifest" in record.changes:
        return Found(find(record, Filters(), limit).items, total)
    kinds = [[item for item in items_of(record, kind) if item.kind == kind] for kind in (ADDED, REMOVED, MODIFIED)]
    shares = [min(len(items), limit // 3) for items in kinds]
    for number, items in enumerate(kinds):
        shares[number] += min(len(items) - shares[number], limit - sum(shares))
    return Found([item for items, share in zip(kinds, shares, strict=True) for item in items[:share]], total)


def items_of(record: ChangeRecord, kind: str = "") -> Iterator[Item]:
    """Yield the entries of one kind or all, and mark frequently changing URLs."""
    noisy = frozenset(record.extras.get("noisy", ()))
    for name, entry in change_entries(record, _stored_kind(kind)):
        yield _item(name, entry, noisy)


def _stored_kind(kind: str) -> str:
    return MODIFIED if kind == NOISE else kind


def _item(name: str, entry: dict[str, Any], noisy: frozenset[str]) -> Item:
    url = str(entry["url"])
    if name == MODIFIED:
        return Item(NOISE if url in noisy else MODIFIED, url, entry.get("old_lastmod"), entry.get("new_lastmod"))
    return Item(name, url, None, entry.get("lastmod"))


@dataclass(frozen=True)
class UrlPage:
    """URLs of a snapshot in alphabetical order; `after` starts the next page and is empty at the end."""

    rows: list[dict[str, str | None]]
    after: str
    scanned: int
    # False when an order needs more rows than one search reads
    is_whole: bool = True


def find_urls(snapshot: SitemapSnapshot, filters: Filters, after: str, folder: Path) -> UrlPage:
    if filters.order:
        return _first_urls(snapshot, filters, folder)
    rows: list[dict[str, str | None]] = []
    last = after
    for scanned, row in enumerate(snapshot_urls(snapshot, folder, after)):
        if len(rows) == SHOWN or scanned == SCANNED:
            return UrlPage(rows, last, scanned)
        last = str(row["url"])
        if filters.takes_row(last, row["lastmod"]):
            rows.append(row)
    return UrlPage(rows, "", 0)


def _first_urls(snapshot: SitemapSnapshot, filters: Filters, folder: Path) -> UrlPage:
    """The first URLs in the order of their dates. There are no further pages: the export has them all."""
    listed = snapshot_urls(snapshot, folder)
    taken = (
        (row, row["lastmod"]) for row in islice(listed, SCANNED) if filters.takes_row(str(row["url"]), row["lastmod"])
    )
    rows = filters.first(taken, SHOWN)
    return UrlPage(rows, "", 0, is_whole=next(listed, None) is None)


@dataclass(frozen=True)
class Compared:
    """The difference of two snapshots: how many URLs of each kind, and the first that match."""

    counts: dict[str, int]
    items: list[Item]
    matched: int


def compare_snapshots(old: SitemapSnapshot, new: SitemapSnapshot, filters: Filters, limit: int = SHOWN) -> Compared:
    """Compare any two snapshots in one walk over their sorted lists. May raise BlobMissing."""
    with scratch("compare") as folder, compare(snapshot_lists(old, folder), snapshot_lists(new, folder)) as found:
        items: list[Item] = []
        matched = 0
        for item in _compared_items(found, filters):
            matched += 1
            if matched <= limit:
                items.append(item)
        return Compared({kind: found.counts[kind] for kind in (ADDED, REMOVED, MODIFIED)}, items, matched)


def compared_items(old: SitemapSnapshot, new: SitemapSnapshot, filters: Filters) -> Iterator[Item]:
    """Yield the whole difference, for a file."""
    with scratch("compare") as folder, compare(snapshot_lists(old, folder), snapshot_lists(new, folder)) as found:
        yield from _compared_items(found, filters)


def _compared_items(found: Difference, filters: Filters) -> Iterator[Item]:
    for kind in (ADDED, REMOVED, MODIFIED):
        if filters.kind in ("", kind):
            entries = (_item(kind, entry, frozenset()) for entry in found.items(kind))
            yield from (item for item in entries if filters.matches(item.url))


NEEDS_ATTENTION = ~Q(status=Status.PAUSED) & (
    Q(status=Status.ERROR) | Q(health__in=(Health.DEGRADED, Health.SUSPECT, *FAILED))
)
SHOWN_MONITORS = {"attention": NEEDS_ATTENTION, "paused": Q(status=Status.PAUSED)}
MONITOR_COLUMNS = (
    Column("id"),
    Column("name"),
    Column("sitemap_url"),
    Column("status"),
    Column("health"),
    Column("kind"),
    Column("check_interval_minutes"),
    Column("url_count", lambda monitor: monitor.current_snapshot.url_count if monitor.current_snapshot else None),
    Column("last_check_at"),
    Column("last_success_at"),
    Column("next_check_at"),
    Column("last_error"),
    Column("error_count"),
    Column("created_at"),
    Column("schedule"),
    Column("quiet_hours"),
    Column("folder"),
    Column("tags", lambda monitor: ", ".join(monitor.tag_list)),
    Column("owner"),
    Column("notes"),
)


def _folders(user: User) -> list[tuple[str, str]]:
    rows = MonitorTask.objects.of(user).exclude(folder="").order_by("folder").values_list("folder", flat=True)
    return [(name, name) for name in rows.distinct()]


def _tags(user: User) -> list[tuple[str, str]]:
    rows = MonitorTask.objects.of(user).exclude(tags="").values_list("tags", flat=True).distinct()
    return [(tag, tag) for tag in sorted({tag for tags in rows for tag in tags.split(",") if tag})]


def _tagged(tag: str) -> Q:
    return Q(tags__contains=f",{tag.replace(',', ' ')},")


def monitors_of(user: User) -> List:
    """The list of the monitors of a user. Names are compared here: databases fold case differently."""

    def named(text: str) -> Q:
        words = fold(text).split()[:QUERY_WORDS]
        own = MonitorTask.objects.of(user).values_list("pk", "name", "sitemap_url")
        return Q(pk__in=[pk for pk, name, url in own if all(word in fold(f"{name}\n{url}") for word in words)])

    states = (("attention", _("Needs attention")), ("paused", pgettext_lazy("monitors", "Paused")))
    return List(
        "monitors",
        filters=(
            Search("q", _("Name or address"), where=named),
            Choice("show", _("State"), choices=states, where=SHOWN_MONITORS.__getitem__),
            Choice("folder", _("Folder"), choices=lambda: _folders(user), is_open=True),
            Choice("tag", _("Tag"), choices=lambda: _tags(user), is_open=True, where=_tagged),
            Days("days", _("Last check"), "last_check_at"),
        ),
        orders=(
            Order("newest", _("Newest first"), "created_at"),
            Order("name", _("By name"), "name", is_rising=True),
        ),
        columns=MONITOR_COLUMNS,
        size=50,
        changes=Changes("updated_at", "updated_at"),
    )


CHANGE_TYPES = {
    ChangeType.CHANGED: _("Changed"),
    ChangeType.INITIAL: _("Baseline"),
    ChangeType.NO_CHANGE: _("No change"),
}


def _has(kind: str) -> Q:
    if kind == MODIFIED:
        return Q(modified_count__gt=F("noisy_count"))
    return Q(**{f"{kind}_count__gt": 0})


def _with_words(monitor: MonitorTask, text: str) -> Q:
    """The changes of a monitor with a URL that contains every word; the newest 200,000 URLs are searched.

    Most databases cannot search inside stored lists, and long lists are files: each record is read here.
    """
    wanted, left = Filters.of({"q": text}), SCANNED
    found = []
    records = ChangeRecord.objects.filter(monitor_task=monitor, change_type=ChangeType.CHANGED)
    for record in records.only("changes", "extras").order_by("-created_at").iterator(chunk_size=50):
        for _kind, entry in change_entries(record):
            left -= 1
            if wanted.matches(str(entry["url"])):
                found.append(record.pk)
                break
        if left <= 0 or len(found) == MOST_FOUND:
            break
    return Q(pk__in=found)


def changes_list(monitor: MonitorTask, *types: str) -> List:
    """The list of the changes of a monitor, with these types to choose from."""
    kinds = ((ADDED, _("Added")), (REMOVED, _("Removed")), (MODIFIED, _("Modified")))
    offered = [(name, CHANGE_TYPES[ChangeType(name)]) for name in types]
    return List(
        "changes",
        filters=(
            Search("q", _("Words in the URL"), where=lambda text: _with_words(monitor, text)),
            Choice("type", _("Type"), "change_type", choices=offered),
            Choice("kind", _("URLs"), choices=kinds, where=_has),
            Flag("incomplete", _("Incomplete checks"), where=lambda _value: Q(health=Health.DEGRADED)),
            Days("days", _("Date"), "created_at"),
        ),
        orders=by_time("created_at"),
        columns=tuple(
            Column(name)
            for name in (
                "id", "monitor_task_id", "created_at", "change_type", "health", "added_count", "removed_count",
                "modified_count", "noisy_count", "minor_count", "rolled_off_count", "old_snapshot_id",
                "new_snapshot_id", "delivery_count", "sent_count",
            )
        ),
        size=50,
        changes=Changes("created_at", "created_at"),
    )  # fmt: skip


def changes_and_baselines(monitor: MonitorTask) -> List:
    return changes_list(monitor, ChangeType.CHANGED, ChangeType.INITIAL)


def every_change(monitor: MonitorTask) -> List:
    return changes_list(monitor, *ChangeType.values)
