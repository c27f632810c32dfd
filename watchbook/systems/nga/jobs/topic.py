"""Crawl one topic, as part of a run or on request. Each page is stored when it is fetched."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import DataError, IntegrityError

from watchbook.core.jobs.runner import GiveUp, JobContext, Later, Outcome
from watchbook.systems.nga.errors import NgaError, PageUnreadable, PastEnd, SiteError, TopicGone
from watchbook.systems.nga.fetch import BoardReader, SharedPause
from watchbook.systems.nga.models import (
    MOST_PAGES,
    CrawlRun,
    CrawlRunThread,
    Post,
    RunKind,
    SingleTopicForum,
    Thread,
    ThreadReadingState,
)
from watchbook.systems.nga.parse import FloorRecord, TopicPage
from watchbook.systems.nga.parse.records import FLOORS_PER_PAGE
from watchbook.systems.nga.store import follow as following
from watchbook.systems.nga.store.lists import page_of_floor
from watchbook.systems.nga.store.posts import store_page
from watchbook.systems.nga.store.runs import (
    BY_HAND,
    ThreadWork,
    begin_run,
    begin_thread,
    clear_backfill,
    finish_thread,
    record_gone,
    record_readable,
    save_counts,
    save_result,
    window_of,
)
from watchbook.systems.nga.store.versions import PageReading

log = logging.getLogger(__name__)

PAUSE_SECONDS = 60.0


@dataclass
class TopicReader:
    """One topic in one run."""

    ctx: JobContext
    reader: BoardReader
    run: CrawlRun
    thread: Thread
    page_limit: int | None
    total: int | None = None
    """Floors as this run's list counts them; None when the list did not show the topic."""
    work: ThreadWork = field(default_factory=ThreadWork)
    notes: dict[int, FloorRecord] = field(default_factory=dict)
    """Notes by post id, as they were shown under posts of the pages read so far."""
    held: dict[int, TopicPage] = field(default_factory=dict)
    """A page that was fetched before its turn, by its number."""
    last_page: TopicPage | None = None
    """The page that was stored last."""

    def __post_init__(self) -> None:
        self.state = ThreadReadingState.objects.filter(pk=self.thread.pk).first()

    def read(self, *, is_change: bool) -> ThreadWork:
        """To the end or to the limit. Errors of the topic are recorded; errors of the whole site are also raised."""
        with self.ctx.writing():
            row = begin_thread(self.run, self.thread, is_change=is_change, now=self.ctx.now)
        try:
            self._read_pages(row)
        except SiteError as failure:
            self.fail(failure)
            self._finish(row)
            raise
        except NgaError as failure:
            self.fail(failure)
        except (DataError, IntegrityError) as error:
            # A value of this topic that no column takes. A database that is away raises something else.
            log.exception("topic %s cannot be stored", self.thread.source_thread_id)
            self.work.error_summary = f"db: {type(error).__name__}"
        self._finish(row)
        return self.work

    def _read_pages(self, row: CrawlRunThread) -> None:
        is_newest_first = bool(self.state and self.state.is_newest_first)
        floor = self._first_floor(is_newest_first)
        total = self.total or self.thread.reply_count_display + 1
        while self._may_have(number := page_of_floor(floor, total, is_newest_first)):
            page = self.held.pop(number, None) or self._fetch_or_end(number)
            if page is None:
                return
            is_turned = page.is_newest_first != is_newest_first and self.work.fetched_page_count == 1
            is_newest_first, total = page.is_newest_first, page.total_floors
            if is_turned:
                # It was not known: pages are counted from the other end, and this one may be read later.
                floor = self._known_floor
                self.held[page.page_number] = page
                continue
            expected = page.expected_numbers()
            # While it is read a topic may grow, which moves floors of the newest-first kind to later pages.
            floor = max(floor, expected.stop) if expected.start <= floor else floor
            next_page = None if floor >= total else page_of_floor(floor, total, is_newest_first)
            self.store(page, row, next_page=next_page)
            if next_page is None:
                return
        self.work.is_cut = True

    @property
    def is_at_end(self) -> bool:
        return self.work.is_ok and not self.work.is_cut and self.last_page is not None

    def _may_have(self, number: int) -> bool:
        if number in self.held or self.page_limit is None:
            return True
        # A page out of order brings nothing alone: with a limit of one the topic would never be read.
        return self.work.fetched_page_count < (max(self.page_limit, 2) if self.held else self.page_limit)

    def _fetch_or_end(self, number: int) -> TopicPage | None:
        """None: the topic is shorter than it was, and nothing is owed."""
        try:
            return self.fetch(number)
        except PastEnd:
            if number == 1:
                raise
        with self.ctx.writing():
            clear_backfill(self.thread, self.ctx.now)
        return None

    def _first_floor(self, is_newest_first: bool) -> int:
        if is_newest_first:
            # Pages move under such a topic: its place is a floor, whatever page that is on today.
            return self._known_floor
        begin = ((self.thread.crawl_backfill_next_page_number or 1) - 1) * FLOORS_PER_PAGE
        # The list may say that the topic is shorter than it was.
        return begin if self.total is None else min(begin, self.total - 1)

    @property
    def _known_floor(self) -> int:
        """The last known floor, whose page may have changed; the one after it where the limit cut the reading short."""
        known = self.thread.crawl_cursor_max_floor_number
        return 0 if known is None else known + self.thread.is_truncated_by_page_limit

    def fetch(self, number: int) -> TopicPage:
        """Only a complete page is stored. Another one changes nothing, and the cursor of the topic stays."""
        page = self.reader.topic_page(self.thread.source_thread_id, number)
        self.work.fetched_page_count += 1
        self.work.last_page = number
        if page.is_complete(number):
            self._require_posts(page)
            return page
        # Past the end some see the last page instead: then that is the page that was read.
        if page.page_number < number and page.page_number == page.page_count and page.is_complete(page.page_number):
            return page
        raise PageUnreadable("missing_part", f"page {number} is not whole")

    def _require_posts(self, page: TopicPage) -> None:
        """Refuse an empty page at the end of a topic: no later page proves that its posts were deleted.

        In the middle of a topic an empty page is passed; its posts are gaps, which audits list.
        """
        total = max(page.total_floors, self.total or 0)
        is_middle = page.page_number * FLOORS_PER_PAGE < total and not page.is_newest_first
        if not page.seen_numbers and not is_middle:
            raise PageUnreadable("no_rows", f"page {page.page_number} has no posts")

    def store(self, page: TopicPage, row: CrawlRunThread, *, next_page: int | None, moves_on: bool = True) -> None:
        reading = PageReading(
            thread_id=self.thread.pk,
            crawl_run_id=self.run.pk,
            run_thread_id=row.pk,
            page=page,
            floors=(*page.floors, *self._notes_of(page)),
            next_page=next_page,
            moves_on=moves_on,
            before=self.last_page if page.is_newest_first else None,
        )
        with self.ctx.writing():
            stored = store_page(reading, self.ctx.now)
            self.state = record_readable(self.thread, self.state, page.is_newest_first, self.ctx.now)
        self.last_page = page
        self.work.new_post_count += stored.new_count
        self.work.updated_post_count += stored.updated_count
        self.work.cuts += stored.cuts
        self.ctx.beat()

    def _notes_of(self, page: TopicPage) -> list[FloorRecord]:
        """Return the page's comments whose posts are on other pages, with at most one more request."""
        self.notes |= {note.source_post_id: note for note in page.notes_elsewhere}
        unknown = {stub.source_post_id for stub in page.stubs} - self.notes.keys()
        if unknown:
            stored = Post.objects.filter(thread_id=self.thread.pk, source_post_id__in=unknown)
            unknown -= set(stored.values_list("source_post_id", flat=True))
        if unknown:
            self.notes |= {pid: note for pid, note in self._shown_as_floors(page).items() if pid in unknown}
        return [stub.filled(note) for stub in page.stubs if (note := self.notes.get(stub.source_post_id))]

    def _shown_as_floors(self, page: TopicPage) -> dict[int, FloorRecord]:
        try:
            shown = self.reader.note_page(self.thread.source_thread_id, page.page_number)
        except PageUnreadable as failure:
            # All else of the page is known: the notes are a gap, which audits list and repairs try to fill.
            log.warning("topic %s, page %s: %s", self.thread.source_thread_id, page.page_number, failure.summary)
            return {}
        return {floor.source_post_id: floor for floor in shown.floors}

    def fail(self, failure: NgaError) -> None:
        """Note an error at the topic."""
        self.work.error_summary = failure.summary
        self.work.http_error_code = failure.http_error_code
        if isinstance(failure, TopicGone):
            with self.ctx.writing():
                record_gone(self.thread, self.run.pk, self.ctx.now)

    def _finish(self, row: CrawlRunThread) -> None:
        self.run.http_request_count = self.reader.http_request_count
        with self.ctx.writing():
            finish_thread(row, self.thread, self.work, self.ctx.now)
            save_counts(self.run, self.ctx.now)


def read_thread(
    ctx: JobContext,
    tid: int,
    first: int | None = None,
    last: int | None = None,
    fid: int | None = None,
    follow: bool = False,
    pids: Sequence[int] = (),
    waits: bool = False,
) -> Outcome:
    """Crawl one topic to its end, or only some pages of it. A topic that is not in the archive is added.

    With `pids` only the pages that hold these posts. With `waits` an outage does not end the run: it is repeated after
    the pause. For a user who asks for a topic it does, with its reason.
    """
    thread = Thread.objects.numbered(tid, fid).select_related("forum").first()
    pause = SharedPause(is_forced=not waits)
    speed = thread.forum.requests_per_second if thread else 1.0
    board = thread.forum.source_forum_id if thread else fid
    reader = BoardReader(requests_per_second=speed, pause=pause, board=board)
    if waits and (away := pause.error()):
        raise _later(away)
    held: dict[int, TopicPage] = {}
    if thread is None:
        page = _first_page(reader, tid, waits=waits)
        with ctx.writing():
            thread = following.store_topic(page, ctx.now)
        held = {1: page}
    is_whole = first is None and not pids
    if is_whole and thread.is_skipped_by_page_total_limit:
        raise GiveUp(f"The topic has more than {MOST_PAGES} pages. Name the pages to read.", "too_many_pages")
    with ctx.writing():
        run = begin_run(thread.forum, BY_HAND, window_of(ctx.now), ctx.now)
        if follow:
            following.follow(thread, ctx.now)
    if is_whole:
        begin_at_last_post(thread)
    topic = TopicReader(ctx, reader, run, thread, page_limit=None, held=held)
    topic.work.fetched_page_count = len(held)
    failure: NgaError | None = None
    try:
        if is_whole:
            topic.read(is_change=False)
        elif pids:
            _read_pages(topic, {*topic.held}, pids)
        else:
            assert first is not None
            _read_pages(topic, {*range(first, (last or first) + 1)})
    except SiteError as error:
        failure = error
    run.http_request_count = reader.http_request_count
    with ctx.writing():
        if is_whole and topic.is_at_end and topic.last_page and _has_no_list(thread):
            following.store_counts(thread, topic.last_page, ctx.now)
        save_counts(run, ctx.now, is_finished=True)
        save_result(run, RunKind.TOPIC, failure, ctx.now, is_list_complete=False)
    if failure is not None and waits:
        raise _later(failure)
    return Outcome("done" if topic.work.is_ok else "failed", _figures(topic, tid, failure))


def begin_at_last_post(thread: Thread) -> None:
    """If nothing is owed, begin at the page of the last known floor, as after a change."""
    if thread.crawl_backfill_next_page_number is None:
        thread.crawl_backfill_next_page_number = thread.floor_page_count or 1


def _later(failure: NgaError) -> Later:
    return Later(failure.retry_after_seconds or PAUSE_SECONDS, failure.message)


def _first_page(reader: BoardReader, tid: int, *, waits: bool) -> TopicPage:
    """Fetch the first page of a topic that is not in the archive."""
    try:
        page = reader.topic_page(tid, 1)
    except TopicGone as gone:
        raise GiveUp(gone.summary, "unknown_topic") from None
    except NgaError as failure:
        if waits and isinstance(failure, SiteError):
            raise _later(failure) from None
        raise GiveUp(failure.summary, failure.code) from None
    if not (page.is_complete(1) and page.floors and page.fid and page.title):
        raise GiveUp("The first page of the topic is not complete.", "missing_part")
    return page


def _has_no_list(thread: Thread) -> bool:
    """Return True if no list crawl updates the last reply of this topic."""
    return SingleTopicForum.objects.filter(forum_id=thread.forum_id).exists()


def _read_pages(topic: TopicReader, pages: set[int], pids: Sequence[int] = ()) -> None:
    """Read these pages, and those that hold these posts. Their posts are stored; the topic's own place stays."""
    with topic.ctx.writing():
        row = begin_thread(topic.run, topic.thread, is_change=False, now=topic.ctx.now)
    try:
        for number in sorted(pages | _pages_of_posts(topic, pids)):
            page = topic.held.pop(number, None) or topic.fetch(number)
            topic.store(page, row, next_page=None, moves_on=False)
    except NgaError as failure:
        topic.work.error_summary, topic.work.http_error_code = failure.summary, failure.http_error_code
    with topic.ctx.writing():
        finish_thread(row, topic.thread, topic.work, topic.ctx.now, moves_on=False)


def _pages_of_posts(topic: TopicReader, pids: Sequence[int]) -> set[int]:
    """Find the pages of these posts, one request each. That one is gone says nothing of the others or of the topic."""
    pages = set()
    for pid in pids:
        try:
            floor = topic.reader.post_number(topic.thread.source_thread_id, pid)
        except SiteError:
            raise
        except NgaError as failure:
            topic.work.error_summary, topic.work.http_error_code = failure.summary, failure.http_error_code
            continue
        total = max(topic.thread.reply_count_display + 1, floor + 1)
        pages.add(page_of_floor(floor, total, bool(topic.state and topic.state.is_newest_first)))
    return pages


def _figures(topic: TopicReader, tid: int, failure: NgaError | None) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "tid": tid,
        "fetched_page_count": topic.work.fetched_page_count,
        "new_post_count": topic.work.new_post_count,
        "updated_post_count": topic.work.updated_post_count,
        "http_request_count": topic.reader.http_request_count,
    }
    if not topic.work.is_ok:
        code = failure.code if failure else str(topic.work.error_summary).partition(":")[0]
        figures["error"] = {"code": code, "message": topic.work.error_summary}
    return figures
