"""Crawl boards: scan the topic list, crawl what changed, continue what is incomplete."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db.models import Max

from watchbook.core.jobs.runner import GiveUp, JobContext, Later, Outcome
from watchbook.systems.nga import health, options
from watchbook.systems.nga.errors import NgaError, Paused, SiteError
from watchbook.systems.nga.fetch import BoardReader, SharedPause
from watchbook.systems.nga.jobs.topic import PAUSE_SECONDS, TopicReader
from watchbook.systems.nga.models import CrawlRun, CrawlRunResult, Forum, RunKind, Thread
from watchbook.systems.nga.parse import ListPage, TopicRecord
from watchbook.systems.nga.store.lists import ListReading, ensure_forum, store_list_page
from watchbook.systems.nga.store.runs import (
    BY_HAND,
    SCHEDULED,
    begin_run,
    last_failures,
    save_counts,
    save_result,
    skip_thread,
    skip_too_long,
    window_of,
)

# Pins, mirrors and recommended topics disturb the order: one page without a topic of the window proves nothing.
EMPTY_PAGES_AT_THE_END = 2
# Three days of the liveliest board are far below this; a list that never ends has to end somewhere.
MOST_LIST_PAGES = 400


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
    """Mirror rows with their page; used only if the topic itself is not in the list."""
    denied_count: int = 0
    cuts: Counter[str] = field(default_factory=Counter)
    failure: NgaError | None = None
    """The list could not be read to its end; what was read of it counts."""


def scan_board(ctx: JobContext, reader: BoardReader, forum: Forum, window: tuple[date, date]) -> Scan:
    """Page after page until two in a row hold no own topic of the window. Each page is stored as it is read."""
    scan = Scan()
    number, empty = 1, 0
    before: set[int] = set()
    while empty < EMPTY_PAGES_AT_THE_END and number <= MOST_LIST_PAGES:
        try:
            page = reader.list_page(forum.source_forum_id, number)
        except NgaError as failure:
            scan.failure = failure
            break
        rows = {record.row_tid for record in page.topics}
        if rows and rows == before:
            break  # past its end a list may show its last page again
        before = rows
        scan.denied_count += page.denied_count
        own, mirrors = own_topics(page.topics, forum.source_forum_id)
        scan.seen |= {record.tid for record in own}
        scan.mirrors = {record.tid: (number, record) for record in mirrors} | scan.mirrors
        reading = ListReading(forum, number, own, window, has_pins=number == 1 and _has_pins(page))
        _take(ctx, reading, scan)
        empty = 0 if any(reading.is_in_window(record) for record in (*own, *mirrors)) else empty + 1
        ctx.report(list_pages=number, topics=len(scan.tids))
        if _is_last(page, number):
            break
        number += 1
    _store_mirrors(ctx, forum, window, scan)
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


def _store_mirrors(ctx: JobContext, forum: Forum, window: tuple[date, date], scan: Scan) -> None:
    """Store mirror rows of topics that are not in the list themselves, after the whole list is known."""
    left = [(number, record) for tid, (number, record) in scan.mirrors.items() if tid not in scan.seen]
    for number in sorted({number for number, _ in left}):
        _take(ctx, ListReading(forum, number, [record for at, record in left if at == number], window), scan)


def _has_pins(page: ListPage) -> bool:
    """The HTML form does not say which topics are pinned, so none is unpinned."""
    return any(record.is_pinned is not None for record in page.topics)


def _is_last(page: ListPage, number: int) -> bool:
    if page.page_count is not None:
        return number >= page.page_count
    return not page.topics and not page.denied_count


log = logging.getLogger(__name__)

# After an outage a scheduled run is repeated after this time, three times in all; then the next slot follows.
OUTAGE_SECONDS = 900.0


def has_boards(now: datetime) -> bool:
    """Whether the schedule has anything to crawl: a new installation sends no requests until a board is chosen."""
    return bool(options.FORUMS.value) or Forum.objects.crawled().exists()


def crawl(ctx: JobContext, fid: int | None = None) -> Outcome:
    """Crawl one board, or all boards one after the other: they share the rate limit of one site."""
    for number in options.FORUMS.value:
        ensure_forum(number, ctx.now)
    boards = Forum.objects.crawled()
    forums = boards if fid is None else boards.filter(source_forum_id=fid)
    found = []
    for forum in failed_boards_last(forums):
        found.append(Crawl(ctx, forum).crawl_board())
        if isinstance(found[-1].failure, SiteError):
            break  # all boards are on one site: the others would fail for the same reason
    if not found:
        raise GiveUp("There is no such board. Add it first: watchbook nga forums add.", "unknown_forum")
    health.update_alert()
    failure = next((one.failure for one in found if one.failure), None)
    if failure is not None and is_scheduled(ctx):
        ctx.progress.update(_figures(found))
        if not any(one.reader.http_request_count for one in found):
            # Another job found the site away: nothing was asked, so no attempt is used.
            raise Later(failure.retry_after_seconds or PAUSE_SECONDS, failure.message)
        raise _retry_error(failure)
    word = "failed" if failure else "partly" if any(one.counts["failed_thread_count"] for one in found) else "done"
    return Outcome(word, _figures(found))


def is_scheduled(ctx: JobContext) -> bool:
    return ctx.run.key.startswith(f"{ctx.run.name}@")


def _retry_error(failure: NgaError) -> Exception:
    if isinstance(failure, Paused):
        return Later(failure.retry_after_seconds or PAUSE_SECONDS, failure.message)
    failure.retry_after_seconds = failure.retry_after_seconds or OUTAGE_SECONDS
    return failure


def _figures(found: list[Crawl]) -> dict[str, Any]:
    return found[0].figures() if len(found) == 1 else {"forums": [one.figures() for one in found]}


def failed_boards_last(forums: Iterable[Forum]) -> list[Forum]:
    """Keep the order, but put boards last whose previous crawl failed, the newest failure after all others.

    A list that no format gives ends the run. In the next run another board decides whether the site is away.
    """
    listed = list(forums)
    asked = CrawlRunResult.objects.filter(run_kind=RunKind.LIST, crawl_run__http_request_count__gt=0)
    newest = asked.filter(crawl_run__forum__in=listed).order_by().values("crawl_run__forum").annotate(last=Max("pk"))
    rows = CrawlRunResult.objects.filter(pk__in=newest.values("last"), is_list_complete=False)
    failures = dict(rows.values_list("crawl_run__forum", "pk"))
    return sorted(listed, key=lambda forum: failures.get(forum.pk, 0))


def failed_last(threads: Iterable[Thread]) -> list[Thread]:
    """Keep the order, but put topics last whose previous crawl failed: one broken topic must not stop the others."""
    listed = list(threads)
    failures = last_failures(thread.pk for thread in listed)
    return sorted(listed, key=lambda thread: failures.get(thread.pk, 0))


class Crawl:
    """One run over one board."""

    def __init__(self, ctx: JobContext, forum: Forum) -> None:
        self.ctx = ctx
        self.forum = forum
        self.window = window_of(ctx.now)
        pause = SharedPause(is_forced=not is_scheduled(ctx))
        self.reader = BoardReader(
            requests_per_second=forum.requests_per_second, pause=pause, board=forum.source_forum_id
        )
        self.counts: Counter[str] = Counter(new_post_count=0, updated_post_count=0, failed_thread_count=0)
        self.cuts: Counter[str] = Counter()
        self.failure: NgaError | None = None
        self.is_list_complete = False
        self.run: CrawlRun

    def crawl_board(self) -> Crawl:
        with self.ctx.writing():
            trigger = SCHEDULED if is_scheduled(self.ctx) else BY_HAND
            self.run = begin_run(self.forum, trigger, self.window, self.ctx.now)
        try:
            self._work()
        except SiteError as failure:
            self.failure = failure
        self._log_cuts()
        self.run.http_request_count = self.reader.http_request_count
        with self.ctx.writing():
            save_counts(self.run, self.ctx.now, is_finished=True)
            save_result(self.run, RunKind.LIST, self.failure, self.ctx.now, is_list_complete=self.is_list_complete)
        return self

    def _work(self) -> None:
        scan = scan_board(self.ctx, self.reader, self.forum, self.window)
        self.run.thread_scanned_count = len(scan.tids)
        self.run.thread_change_detected_count = len(scan.changed)
        self.failure = scan.failure
        self.counts["denied_row_count"] = scan.denied_count
        self.cuts += scan.cuts
        self.is_list_complete = scan.failure is None
        if isinstance(scan.failure, SiteError):
            return  # the changed topics have a page to crawl next: the next run requests it
        for thread in failed_last(scan.changed.values()):
            self._read_changed(thread)
        if scan.failure is None:
            # A topic that moved to the next list page during the scan may be among both.
            owing = Thread.objects.filter(pk__in=scan.owing - scan.changed.keys()).order_by("thread_created_at", "pk")
            self._read_rest(owing, in_list=True)
            with self.ctx.writing():
                skip_too_long(self.forum, self.ctx.now)
            older = Thread.objects.filter(forum=self.forum).unfinished()
            self._read_rest(older.exclude(pk__in=[*scan.changed, *scan.owing]), in_list=False)

    def _read_changed(self, thread: Thread) -> None:
        if thread.is_skipped_by_page_total_limit:
            with self.ctx.writing():
                skip_thread(self.run, thread, self.ctx.now)
        elif self._read(thread, is_change=True, in_list=True):
            self.run.thread_updated_count += 1

    def _read_rest(self, threads: Iterable[Thread], *, in_list: bool) -> None:
        for thread in failed_last(threads):
            self._read(thread, is_change=False, in_list=in_list)

    def _read(self, thread: Thread, *, is_change: bool, in_list: bool) -> bool:
        topic = TopicReader(
            self.ctx,
            self.reader,
            self.run,
            thread,
            page_limit=self.forum.crawl_page_limit,
            total=thread.reply_count_display + 1 if in_list else None,
        )
        try:
            topic.read(is_change=is_change)
        finally:
            self.counts["new_post_count"] += topic.work.new_post_count
            self.counts["updated_post_count"] += topic.work.updated_post_count
            self.counts["failed_thread_count"] += not topic.work.is_ok
            self.cuts += topic.work.cuts
        self.ctx.report(floors=self.counts["new_post_count"], requests=self.reader.http_request_count)
        return topic.work.is_ok

    def _log_cuts(self) -> None:
        self.counts["cut_text_count"] = self.cuts.total()
        if self.cuts:
            log.warning("board %s: texts were cut to their columns: %s", self.forum.source_forum_id, dict(self.cuts))

    def figures(self) -> dict[str, Any]:
        run = self.run
        figures: dict[str, Any] = {
            "run_id": run.pk,
            "fid": self.forum.source_forum_id,
            "date_window_start": run.date_window_start.isoformat(),
            "date_window_end": run.date_window_end.isoformat(),
            "thread_scanned_count": run.thread_scanned_count,
            "thread_change_detected_count": run.thread_change_detected_count,
            "thread_updated_count": run.thread_updated_count,
            **self.counts,
            "http_request_count": run.http_request_count,
        }
        if self.failure is not None:
            figures["error"] = {"code": self.failure.code, "message": str(self.failure.message)}
        return figures
