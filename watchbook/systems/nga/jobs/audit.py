"""Audit: find missing posts without requests, and fetch them if repair is on."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from django.db import DatabaseError

from watchbook.base.web.errors import WebError
from watchbook.base.work import crash_point
from watchbook.core.jobs.runner import JobContext, JobError, Outcome
from watchbook.systems.nga import health, options
from watchbook.systems.nga.errors import Denied, NgaError, PageBusy, PageError, PastEnd, SiteError, TopicGone
from watchbook.systems.nga.fetch import BoardReader, SharedPause
from watchbook.systems.nga.jobs.crawl import is_scheduled
from watchbook.systems.nga.models import (
    ErrorCategory,
    FloorRepair,
    Forum,
    RunKind,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadReadingState,
)
from watchbook.systems.nga.parse import FloorRecord, TopicPage
from watchbook.systems.nga.store.audits import (
    RUN_COUNTERS,
    RepairError,
    Result,
    begin_audit,
    begin_repair,
    find_gaps,
    finish_audit,
    finish_repair,
    note_outage,
    store_gaps,
    store_result,
)
from watchbook.systems.nga.store.lists import page_of_floor
from watchbook.systems.nga.store.posts import store_missing
from watchbook.systems.nga.store.runs import (
    BY_AUDIT,
    BY_HAND,
    ThreadWork,
    begin_run,
    begin_thread,
    finish_row,
    save_counts,
    save_result,
    window_of,
)

log = logging.getLogger(__name__)

INCOMPLETE_PAGE = RepairError(ErrorCategory.PARSE, "missing_part: the page is not complete")


class Repair:
    """The repairs of one board in one audit. Each topic gets a row in the run, as in a crawl."""

    def __init__(self, ctx: JobContext, forum: Forum) -> None:
        self.ctx = ctx
        pause = SharedPause(is_forced=not is_scheduled(ctx))
        self.reader = BoardReader(
            requests_per_second=forum.requests_per_second, pause=pause, board=forum.source_forum_id
        )
        self.work = ThreadWork()
        self.failure: NgaError | None = None
        with ctx.writing():
            trigger = BY_AUDIT if is_scheduled(ctx) else BY_HAND
            self.run = begin_run(forum, trigger, window_of(ctx.now), ctx.now)

    def repair(self, row: ThreadFloorAuditThread, wanted: list[int]) -> None:
        """Fetch the pages of the missing posts, one attempt for each post. Errors of the whole site are raised.

        When the site is busy, refuses or cannot be reached, the posts that were not fetched keep their attempts.
        """
        self.work = ThreadWork()
        with self.ctx.writing():
            begin_repair(row, self.run.pk, self.ctx.now)
            entry = begin_thread(self.run, row.thread, is_change=False, now=self.ctx.now)
        try:
            self._fetch_pages(row, wanted)
        except (SiteError, PageBusy) as failure:
            self.work.error_summary, self.work.http_error_code = failure.summary, failure.http_error_code
            self.failure = failure
            with self.ctx.writing():
                note_outage(row, _error_of(failure), self.ctx.now)
            if isinstance(failure, SiteError):
                raise
        finally:
            with self.ctx.writing():
                finish_row(entry, self.work, self.ctx.now)

    def _fetch_pages(self, row: ThreadFloorAuditThread, wanted: list[int]) -> None:
        state = ThreadReadingState.objects.filter(pk=row.thread_id).first()
        is_newest_first = bool(state and state.is_newest_first)
        total = max(row.thread.reply_count_display + 1, row.max_floor_number + 1)
        left, guesses = set(wanted), 2
        while left:
            number = page_of_floor(min(left), total, is_newest_first)
            due = {floor for floor in left if page_of_floor(floor, total, is_newest_first) == number}
            try:
                page = self.reader.topic_page(row.source_thread_id, number)
            except (SiteError, PageBusy, JobError):
                raise
            except Exception as error:
                # Whatever stops one page must not stop the others.
                left -= self._failed(row, due, left, error)
                continue
            self.work.fetched_page_count += 1
            is_newest_first, total = page.is_newest_first, page.total_floors
            if guesses and page_of_floor(min(due), total, is_newest_first) != number:
                # Pages are counted from the other end, or have moved: these posts are elsewhere and were not tried.
                guesses, due = guesses - 1, set()
            shown = set(page.expected_numbers()) & left
            if due | shown:
                left -= self._take(row, page, due | shown, number)

    def _take(self, row: ThreadFloorAuditThread, page: TopicPage, due: set[int], number: int) -> set[int]:
        """Store what the page has of the floors that are due; gives the floors that were dealt with."""
        try:
            offered, unknown_texts = self._offered(page, due)
            with self.ctx.writing():
                result = Result(repaired=store_missing(row.thread_id, offered, due, self.ctx.now))
                result.failed = {
                    floor: failure for floor, failure in unknown_texts.items() if floor not in result.repaired
                }
                absent = due - result.repaired - result.failed.keys()
                if page.is_complete(number):
                    result.still_missing = absent
                else:
                    result.failed |= dict.fromkeys(absent, INCOMPLETE_PAGE)
                store_result(row, result, self.ctx.now)
        except DatabaseError as error:
            log.warning("topic %s: %s", row.source_thread_id, error)
            self._note(row, Result(failed=dict.fromkeys(due, RepairError(ErrorCategory.DB, type(error).__name__))))
        else:
            self.work.new_post_count += len(result.repaired)
        return due

    def _offered(self, page: TopicPage, due: set[int]) -> tuple[list[FloorRecord], dict[int, RepairError]]:
        """Floors of the page, notes among them with the text that is shown elsewhere; and notes without, and why."""
        notes = {note.source_post_id: note for note in page.notes_elsewhere}
        stubs = [stub for stub in page.stubs if stub.floor_number in due]
        unknown = {stub.floor_number for stub in stubs if stub.source_post_id not in notes}
        unknown_texts: dict[int, RepairError] = {}
        if unknown:
            try:
                shown = self.reader.note_page(page.tid, page.page_number)
                notes |= {floor.source_post_id: floor for floor in shown.floors}
            except PageBusy:
                raise
            except PageError as failure:
                unknown_texts = dict.fromkeys(unknown, _error_of(failure))
        found = [stub.filled(note) for stub in stubs if (note := notes.get(stub.source_post_id))]
        return [*page.floors, *found], unknown_texts

    def _failed(self, row: ThreadFloorAuditThread, due: set[int], left: Iterable[int], error: Exception) -> set[int]:
        """No page came. A topic that is gone or closed to us ends the attempts for all its pages."""
        tried = set(left) if isinstance(error, TopicGone | Denied) else due
        if isinstance(error, TopicGone | PastEnd):
            self._note(row, Result(still_missing=tried))
        else:
            why = _error_of(error)
            self.work.error_summary, self.work.http_error_code = why.summary, why.http_error_code
            self._note(row, Result(failed=dict.fromkeys(tried, why)))
        return tried

    def _note(self, row: ThreadFloorAuditThread, result: Result) -> None:
        with self.ctx.writing():
            store_result(row, result, self.ctx.now)

    def finish(self) -> None:
        self.run.http_request_count = self.reader.http_request_count
        with self.ctx.writing():
            save_counts(self.run, self.ctx.now, is_finished=True)
            save_result(self.run, RunKind.REPAIR, self.failure, self.ctx.now, is_list_complete=False)

    @staticmethod
    def conclude(ctx: JobContext, row: ThreadFloorAuditThread) -> None:
        with ctx.writing():
            finish_repair(row, ctx.now)


def _error_of(error: Exception) -> RepairError:
    if isinstance(error, NgaError):
        return RepairError(error.category, error.summary, error.http_error_code)
    if isinstance(error, WebError):
        return RepairError(ErrorCategory.HTTP, f"{error.code}: {error.message}")
    log.exception("a repair met something unexpected", exc_info=error)
    return RepairError(ErrorCategory.UNKNOWN, f"{type(error).__name__}: {error}")


def audit(ctx: JobContext, repair: bool | None = None) -> Outcome:
    """Compare every topic's cursor with its floors. Without a word of the caller the operator's setting decides."""
    wants_repair = options.AUDIT_REPAIR.value if repair is None else repair
    with ctx.writing():
        run = begin_audit("cron" if is_scheduled(ctx) else BY_HAND, repair=wants_repair, now=ctx.now)
    _scan(ctx, run)
    crash_point("nga.audited")
    repairs = Repairs(ctx)
    if wants_repair:
        repairs.do(run)
    with ctx.writing():
        finish_audit(run, ctx.now)
    health.update_alert()
    return Outcome("partly" if repairs.failure else "done", _figures(run, repairs))


def _scan(ctx: JobContext, run: ThreadFloorAuditRun) -> None:
    for looked_at, gaps in find_gaps():
        run.total_thread_count += looked_at
        with ctx.writing():
            store_gaps(run, gaps, ctx.now)
        ctx.report(topics=run.total_thread_count)


class Repairs:
    """The repairs of one audit, one reader of the site for each board."""

    def __init__(self, ctx: JobContext) -> None:
        self.ctx = ctx
        self.boards: dict[int, Repair] = {}
        self.failure: SiteError | None = None

    def do(self, run: ThreadFloorAuditRun) -> None:
        rows = run.threads.select_related("thread__forum").order_by("pk")
        for row in list(rows):
            wanted = list(row.posts.filter(repair_status=FloorRepair.MISSING).values_list("floor_number", flat=True))
            self._do(row, sorted(wanted))
        for board in self.boards.values():
            board.finish()

    def _do(self, row: ThreadFloorAuditThread, wanted: list[int]) -> None:
        board = self.boards.get(row.thread.forum_id)
        if wanted and self.failure is None:
            if board is None:
                board = self.boards[row.thread.forum_id] = Repair(self.ctx, row.thread.forum)
            try:
                board.repair(row, wanted)
            except SiteError as failure:
                # The site as a whole is in failure: the other topics wait for the next audit, with all their attempts.
                self.failure = failure
        Repair.conclude(self.ctx, row)

    @property
    def http_request_count(self) -> int:
        return sum(board.reader.http_request_count for board in self.boards.values())


def _figures(run: ThreadFloorAuditRun, repairs: Repairs) -> dict[str, Any]:
    figures: dict[str, Any] = {"audit_run_id": run.pk}
    figures |= {name: getattr(run, name) for name in RUN_COUNTERS}
    figures |= {"repair_enabled": run.repair_enabled, "http_request_count": repairs.http_request_count}
    if repairs.failure is not None:
        figures["error"] = {"code": repairs.failure.code, "message": str(repairs.failure.message)}
    return figures
