"""Reading one topic: from the page that is owed to its end or to the page limit. Each page is stored as it is read."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from django.db import DataError, IntegrityError

from watchbook.core.jobs.context import JobContext
from watchbook.sources.nga.errors import NgaTrouble, PageUnreadable, PastEnd, SiteTrouble, TopicGone
from watchbook.sources.nga.fetch import BoardReader
from watchbook.sources.nga.models import CrawlRun, CrawlRunThread, Post, Thread, ThreadReadingState
from watchbook.sources.nga.parse import FloorRecord, TopicPage
from watchbook.sources.nga.parse.records import FLOORS_PER_PAGE
from watchbook.sources.nga.store.floors import store_page
from watchbook.sources.nga.store.gone import note_gone, note_readable
from watchbook.sources.nga.store.lists import page_of_floor
from watchbook.sources.nga.store.records import PageReading
from watchbook.sources.nga.store.runs import ThreadWork, begin_thread, finish_thread, forget_place, save_counts

log = logging.getLogger(__name__)


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

    def __post_init__(self) -> None:
        self.state = ThreadReadingState.objects.filter(pk=self.thread.pk).first()

    def read(self, *, is_change: bool) -> ThreadWork:
        """To the end or to the limit. Trouble with the topic is noted; trouble with the site is noted and raised."""
        with self.ctx.writing():
            row = begin_thread(self.run, self.thread, is_change=is_change, now=self.ctx.now)
        try:
            self._read_pages(row)
        except SiteTrouble as trouble:
            self._note(trouble)
            self._finish(row)
            raise
        except NgaTrouble as trouble:
            self._note(trouble)
        except (DataError, IntegrityError) as error:
            # Something about this very topic that no column takes; a database that is away is everybody's trouble.
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
                # Nobody had said so: pages are counted from the other end, and the turn of this one may come later.
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

    def _may_have(self, number: int) -> bool:
        if number in self.held or self.page_limit is None:
            return True
        # A page before its turn brings nothing by itself: with a limit of one the topic would never be read.
        return self.work.fetched_page_count < (max(self.page_limit, 2) if self.held else self.page_limit)

    def _fetch_or_end(self, number: int) -> TopicPage | None:
        """None: the topic is shorter than it was, and nothing is owed."""
        try:
            return self.fetch(number)
        except PastEnd:
            if number == 1:
                raise
        with self.ctx.writing():
            forget_place(self.thread, self.ctx.now)
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
        """A page that may be taken for whole. One that is not teaches nothing, and the topic stays where it is."""
        page = self.reader.topic_page(self.thread.source_thread_id, number)
        self.work.fetched_page_count += 1
        self.work.last_page = number
        if page.is_whole(number):
            return page
        # Past the end some see the last page instead: then that is the page that was read.
        if page.page_number < number and page.page_number == page.page_count and page.is_whole(page.page_number):
            return page
        raise PageUnreadable("missing_part", f"page {number} is not whole")

    def store(self, page: TopicPage, row: CrawlRunThread, *, next_page: int | None, moves_on: bool = True) -> None:
        reading = PageReading(
            thread_id=self.thread.pk,
            crawl_run_id=self.run.pk,
            run_thread_id=row.pk,
            page=page,
            floors=(*page.floors, *self._notes_of(page)),
            next_page=next_page,
            moves_on=moves_on,
        )
        with self.ctx.writing():
            stored = store_page(reading, self.ctx.now)
            self.state = note_readable(self.thread, self.state, page.is_newest_first, self.ctx.now)
        self.work.new_post_count += stored.new_count
        self.work.updated_post_count += stored.updated_count
        self.work.cuts += stored.cuts
        self.ctx.beat()

    def _notes_of(self, page: TopicPage) -> list[FloorRecord]:
        """Texts of the page's notes whose posts stand on other pages. At most one more request a page."""
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
        except PageUnreadable as trouble:
            # All else of the page is known: the notes are a gap, which audits list and repairs try to fill.
            log.warning("topic %s, page %s: %s", self.thread.source_thread_id, page.page_number, trouble.summary)
            return {}
        return {floor.source_post_id: floor for floor in shown.floors}

    def _note(self, trouble: NgaTrouble) -> None:
        self.work.error_summary = trouble.summary
        self.work.http_error_code = trouble.http_error_code
        if isinstance(trouble, TopicGone):
            with self.ctx.writing():
                note_gone(self.thread, self.run.pk, self.ctx.now)

    def _finish(self, row: CrawlRunThread) -> None:
        self.run.http_request_count = self.reader.http_request_count
        with self.ctx.writing():
            finish_thread(row, self.thread, self.work, self.ctx.now)
            save_counts(self.run, self.ctx.now)
