"""Looking through a board's list: topics posted in the window, and which of them changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from watchbook.base.clock import SHANGHAI
from watchbook.core.jobs.context import JobContext
from watchbook.sources.nga.errors import NgaTrouble
from watchbook.sources.nga.fetch import BoardReader
from watchbook.sources.nga.models import Forum, Thread
from watchbook.sources.nga.parse import ListPage, TopicRecord
from watchbook.sources.nga.store.lists import ListReading, store_list_page

WINDOW_DAYS = 3
# Pins, mirrors and recommended topics disturb the order: one page without a topic of the window proves nothing.
EMPTY_PAGES_AT_THE_END = 2
# Three days of the liveliest board are far below this; a list that never ends has to end somewhere.
MOST_LIST_PAGES = 400


def window_of(now: datetime) -> tuple[date, date]:
    """The last three natural days of Shanghai, today included."""
    today = now.astimezone(SHANGHAI).date()
    return today - timedelta(days=WINDOW_DAYS - 1), today


@dataclass
class Scan:
    changed: dict[int, Thread] = field(default_factory=dict)
    """By row id, in the order of the list."""
    owing: set[int] = field(default_factory=set)
    """Row ids of topics of the window that did not change but owe pages."""
    tids: set[int] = field(default_factory=set)
    """Own topics inside the window."""
    seen: set[int] = field(default_factory=set)
    """Own topics that stood in the list under their own number."""
    mirrors: dict[int, tuple[int, TopicRecord]] = field(default_factory=dict)
    """Rows that stand for topics, with their page: of use only where the topic itself does not stand in the list."""
    denied_count: int = 0
    cuts: Counter[str] = field(default_factory=Counter)
    trouble: NgaTrouble | None = None
    """The list could not be read to its end; what was read of it counts."""


def scan_board(ctx: JobContext, reader: BoardReader, forum: Forum, window: tuple[date, date]) -> Scan:
    """Page after page until two in a row hold no own topic of the window. Each page is stored as it is read."""
    scan = Scan()
    number, empty = 1, 0
    before: set[int] = set()
    while empty < EMPTY_PAGES_AT_THE_END and number <= MOST_LIST_PAGES:
        try:
            page = reader.list_page(forum.source_forum_id, number)
        except NgaTrouble as trouble:
            scan.trouble = trouble
            break
        rows = {record.row_tid for record in page.topics}
        if rows and rows == before:
            break  # past its end a list may show its last page again
        before = rows
        scan.denied_count += page.denied_count
        own, mirrors = own_topics(page.topics, forum.source_forum_id)
        scan.seen |= {record.tid for record in own}
        scan.mirrors = {record.tid: (number, record) for record in mirrors} | scan.mirrors
        reading = ListReading(forum, number, own, window, tells_pins=number == 1 and _tells_pins(page))
        _take(ctx, reading, scan)
        empty = 0 if any(reading.is_in_window(record) for record in (*own, *mirrors)) else empty + 1
        ctx.report(list_pages=number, topics=len(scan.tids))
        if _is_last(page, number):
            break
        number += 1
    _take_mirrors(ctx, forum, window, scan)
    return scan


def own_topics(rows: Iterable[TopicRecord], fid: int) -> tuple[list[TopicRecord], list[TopicRecord]]:
    """Rows of this very board, each topic once: those with numbers of their own, and mirrors."""
    own: dict[int, TopicRecord] = {}
    mirrors: dict[int, TopicRecord] = {}
    for record in rows:
        if record.fid == fid:
            (mirrors if record.is_mirror else own).setdefault(record.tid, record)
    return list(own.values()), list(mirrors.values())


def _take(ctx: JobContext, reading: ListReading, scan: Scan) -> None:
    """Store what one page says."""
    with ctx.writing():
        stored = store_list_page(reading, ctx.now)
    scan.changed |= {thread.pk: thread for thread in stored.changed}
    scan.owing |= stored.unfinished
    scan.tids |= stored.in_window
    scan.cuts += stored.cuts


def _take_mirrors(ctx: JobContext, forum: Forum, window: tuple[date, date], scan: Scan) -> None:
    """Only now is it known which topics stand in the list themselves: those are what their own rows say."""
    left = [(number, record) for tid, (number, record) in scan.mirrors.items() if tid not in scan.seen]
    for number in sorted({number for number, _ in left}):
        _take(ctx, ListReading(forum, number, [record for at, record in left if at == number], window), scan)


def _tells_pins(page: ListPage) -> bool:
    """The HTML form does not say which topics are pinned, and silence unpins none."""
    return any(record.is_pinned is not None for record in page.topics)


def _is_last(page: ListPage, number: int) -> bool:
    if page.page_count is not None:
        return number >= page.page_count
    return not page.topics and not page.denied_count
