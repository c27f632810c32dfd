"""Repairing gaps: only pages that hold missing floors are fetched, only those floors are stored."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.db import DatabaseError

from watchbook.base.web.errors import WebError
from watchbook.core.jobs.context import JobContext
from watchbook.core.jobs.errors import JobTrouble
from watchbook.sources.nga.errors import Denied, NgaTrouble, PageTrouble, PastEnd, SiteTrouble, TopicGone
from watchbook.sources.nga.fetch import BoardReader
from watchbook.sources.nga.jobs.crawl import BY_HAND
from watchbook.sources.nga.jobs.scan import window_of
from watchbook.sources.nga.models import ErrorCategory, Forum, ThreadFloorAuditThread, ThreadReadingState
from watchbook.sources.nga.parse import FloorRecord, TopicPage
from watchbook.sources.nga.store.audits import Result, Trouble, begin_repair, finish_repair, store_result
from watchbook.sources.nga.store.floors import store_missing
from watchbook.sources.nga.store.lists import page_of_floor
from watchbook.sources.nga.store.runs import begin_run, save_counts

log = logging.getLogger(__name__)

NOT_WHOLE = Trouble(ErrorCategory.PARSE, "missing_part: the page is not whole")


class Repair:
    """The repairs of one board in one audit."""

    def __init__(self, ctx: JobContext, forum: Forum) -> None:
        self.ctx = ctx
        self.reader = BoardReader(requests_per_second=forum.requests_per_second)
        with ctx.writing():
            self.run = begin_run(forum, BY_HAND, window_of(ctx.now), ctx.now)

    def repair(self, row: ThreadFloorAuditThread, wanted: list[int]) -> None:
        """Page by page, each floor tried once. Trouble with the site is noted and raised."""
        with self.ctx.writing():
            begin_repair(row, self.run.pk, self.ctx.now)
        state = ThreadReadingState.objects.filter(pk=row.thread_id).first()
        is_newest_first = bool(state and state.is_newest_first)
        total = max(row.thread.reply_count_display + 1, row.max_floor_number + 1)
        left, guesses = set(wanted), 2
        while left:
            number = page_of_floor(min(left), total, is_newest_first)
            due = {floor for floor in left if page_of_floor(floor, total, is_newest_first) == number}
            try:
                page = self.reader.topic_page(row.source_thread_id, number)
            except Exception as error:
                # Whatever stops one page must not stop the others; leases and the whole site's trouble go on up.
                if isinstance(error, JobTrouble):
                    raise
                left -= self._failed(row, due, left, error)
                if isinstance(error, SiteTrouble):
                    raise
                continue
            is_newest_first, total = page.is_newest_first, page.total_floors
            if guesses and page_of_floor(min(due), total, is_newest_first) != number:
                # Pages are counted from the other end, or have moved: these floors stand elsewhere and were not tried.
                guesses, due = guesses - 1, set()
            shown = set(page.expected_numbers()) & left
            if due | shown:
                left -= self._take(row, page, due | shown, number)

    def _take(self, row: ThreadFloorAuditThread, page: TopicPage, due: set[int], number: int) -> set[int]:
        """Store what the page has of the floors that are due; gives the floors that were dealt with."""
        try:
            offered, untold = self._offered(page, due)
            with self.ctx.writing():
                result = Result(repaired=store_missing(row.thread_id, offered, due, self.ctx.now))
                result.failed = {floor: trouble for floor, trouble in untold.items() if floor not in result.repaired}
                absent = due - result.repaired - result.failed.keys()
                if page.is_whole(number):
                    result.still_missing = absent
                else:
                    result.failed |= dict.fromkeys(absent, NOT_WHOLE)
                store_result(row, result, self.ctx.now)
        except DatabaseError as error:
            log.warning("topic %s: %s", row.source_thread_id, error)
            self._note(row, Result(failed=dict.fromkeys(due, Trouble(ErrorCategory.DB, type(error).__name__))))
        except SiteTrouble as trouble:
            self._note(row, Result(failed=dict.fromkeys(due, _trouble(trouble))))
        return due

    def _offered(self, page: TopicPage, due: set[int]) -> tuple[list[FloorRecord], dict[int, Trouble]]:
        """Floors of the page, notes among them with the text that is shown elsewhere; and notes without, and why."""
        notes = {note.source_post_id: note for note in page.notes_elsewhere}
        stubs = [stub for stub in page.stubs if stub.floor_number in due]
        unknown = {stub.floor_number for stub in stubs if stub.source_post_id not in notes}
        untold: dict[int, Trouble] = {}
        if unknown:
            try:
                shown = self.reader.note_page(page.tid, page.page_number)
                notes |= {floor.source_post_id: floor for floor in shown.floors}
            except PageTrouble as trouble:
                untold = dict.fromkeys(unknown, _trouble(trouble))
        found = [stub.filled(note) for stub in stubs if (note := notes.get(stub.source_post_id))]
        return [*page.floors, *found], untold

    def _failed(self, row: ThreadFloorAuditThread, due: set[int], left: Iterable[int], error: Exception) -> set[int]:
        """No page came. A topic that is gone or closed to us answers for all its pages at once."""
        tried = set(left) if isinstance(error, TopicGone | Denied) else due
        if isinstance(error, TopicGone | PastEnd):
            self._note(row, Result(still_missing=tried))
        else:
            self._note(row, Result(failed=dict.fromkeys(tried, _trouble(error))))
        return tried

    def _note(self, row: ThreadFloorAuditThread, result: Result) -> None:
        with self.ctx.writing():
            store_result(row, result, self.ctx.now)

    def finish(self) -> None:
        self.run.http_request_count = self.reader.http_request_count
        with self.ctx.writing():
            save_counts(self.run, self.ctx.now, is_finished=True)

    @staticmethod
    def conclude(ctx: JobContext, row: ThreadFloorAuditThread) -> None:
        with ctx.writing():
            finish_repair(row, ctx.now)


def _trouble(error: Exception) -> Trouble:
    if isinstance(error, NgaTrouble):
        return Trouble(error.category, error.summary, error.http_error_code)
    if isinstance(error, WebError):
        return Trouble(ErrorCategory.HTTP, f"{error.code}: {error.message}")
    log.exception("a repair met something unexpected", exc_info=error)
    return Trouble(ErrorCategory.UNKNOWN, f"{type(error).__name__}: {error}")
