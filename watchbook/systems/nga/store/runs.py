"""Rows of a run and of its topics, and topics that the site deleted or hid."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from watchbook.base.clock import SHANGHAI
from watchbook.systems.nga.errors import NgaError
from watchbook.systems.nga.models import (
    MOST_PAGES,
    CrawlRun,
    CrawlRunResult,
    CrawlRunThread,
    Forum,
    RunKind,
    Thread,
    ThreadReadingState,
)
from watchbook.systems.nga.store.publish import GONE, publish_topics
from watchbook.systems.nga.store.versions import Cuts, fit_small, fit_summary

SCHEDULED, BY_HAND, BY_AUDIT, FOLLOWING, REREADING = "schedule_12h", "manual", "audit", "follow", "reread"
# Code in `error_summary` of a topic that was left out on purpose: a reason, not a failure.
SKIPPED = "skipped"
WINDOW_DAYS = 3


def window_of(now: datetime) -> tuple[date, date]:
    """The last three natural days of Shanghai, today included."""
    today = now.astimezone(SHANGHAI).date()
    return today - timedelta(days=WINDOW_DAYS - 1), today


@dataclass
class ThreadWork:
    """Counts and error of one topic in one run."""

    fetched_page_count: int = 0
    new_post_count: int = 0
    updated_post_count: int = 0
    last_page: int | None = None
    is_cut: bool = False
    """The page limit ended the reading before the topic did."""
    error_summary: str | None = None
    http_error_code: int | None = None
    cuts: Cuts = field(default_factory=Cuts)

    @property
    def is_ok(self) -> bool:
        return self.error_summary is None


def begin_run(forum: Forum, trigger: str, window: tuple[date, date], now: datetime) -> CrawlRun:
    return CrawlRun.objects.create(
        forum=forum,
        run_started_at=now,
        run_trigger_text=trigger,
        date_window_start=window[0],
        date_window_end=window[1],
        created_at=now,
        updated_at=now,
    )


def save_counts(run: CrawlRun, now: datetime, *, is_finished: bool = False) -> None:
    run.updated_at = now
    if is_finished:
        run.run_finished_at = now
    run.save(
        update_fields=[
            "thread_scanned_count", "thread_change_detected_count", "thread_updated_count", "http_request_count",
            "run_finished_at", "updated_at",
        ]
    )  # fmt: skip


def save_result(run: CrawlRun, kind: RunKind, error: NgaError | None, now: datetime, *, is_list_complete: bool) -> None:
    """Record how the run ended. `error` is the one that stopped it, or that kept the list from being complete."""
    values = {
        "run_kind": kind,
        "is_list_complete": is_list_complete,
        "error_code": error.code[:60] if error else "",
        "error_summary": fit_summary(error.summary) if error else "",
        "http_error_code": error.http_error_code if error else None,
        "finished_at": now,
    }
    CrawlRunResult.objects.update_or_create(crawl_run=run, defaults=values)


def begin_thread(run: CrawlRun, thread: Thread, *, is_change: bool, now: datetime) -> CrawlRunThread:
    return CrawlRunThread.objects.create(
        crawl_run=run,
        thread=thread,
        change_detected_by_last_reply_at=is_change,
        detected_last_reply_at=thread.last_reply_at,
        started_at=now,
    )


def finish_thread(
    row: CrawlRunThread, thread: Thread, work: ThreadWork, now: datetime, *, moves_on: bool = True
) -> None:
    """Record the result for one topic in its run, and what follows for the topic."""
    finish_row(row, work, now)
    values: dict[str, object] = {"updated_at": now}
    if work.is_ok:
        values["last_crawled_at"] = now
    if work.is_ok and moves_on:
        values |= {
            "is_truncated_by_page_limit": work.is_cut,
            "truncated_at_page_number": fit_small(work.last_page or 0) if work.is_cut else None,
        }
    Thread.objects.filter(pk=thread.pk).update(**values)


def finish_row(row: CrawlRunThread, work: ThreadWork, now: datetime) -> None:
    """Record the result for one topic in its run alone, as a repair does."""
    row.fetched_page_count = fit_small(work.fetched_page_count)
    row.page_limit_applied = work.is_cut
    row.new_post_count, row.updated_post_count = work.new_post_count, work.updated_post_count
    row.http_error_code = work.http_error_code
    row.error_summary = fit_summary(work.error_summary) if work.error_summary is not None else None
    row.finished_at = now
    row.save()


def skip_thread(run: CrawlRun, thread: Thread, now: datetime) -> None:
    """Record that a changed topic was skipped because it has too many pages."""
    row = begin_thread(run, thread, is_change=True, now=now)
    row.finished_at = now
    row.error_summary = f"{SKIPPED}: {thread.crawl_page_total_last_seen} pages"
    row.save(update_fields=["finished_at", "error_summary"])


def skip_too_long(forum: Forum, now: datetime) -> None:
    """Topics that owe pages and were found too long while they were read: the list may not show them any more."""
    owing = Thread.objects.filter(forum=forum, crawl_backfill_next_page_number__isnull=False)
    for thread in owing.filter(crawl_page_total_last_seen__gt=MOST_PAGES):
        thread.is_skipped_by_page_total_limit, thread.crawl_backfill_next_page_number = True, None
        thread.skipped_by_page_total_limit_at = thread.skipped_by_page_total_limit_at or now
        thread.updated_at = now
        thread.save(
            update_fields=[
                "is_skipped_by_page_total_limit", "crawl_backfill_next_page_number", "skipped_by_page_total_limit_at",
                "updated_at",
            ]
        )  # fmt: skip


def clear_backfill(thread: Thread, now: datetime) -> None:
    """There is no such page: the topic is shorter than it was, and nothing is owed."""
    Thread.objects.filter(pk=thread.pk).update(crawl_backfill_next_page_number=None, updated_at=now)


ANSWERS_BELIEVED = 2


def record_gone(thread: Thread, crawl_run_id: int, now: datetime) -> None:
    state, _ = ThreadReadingState.objects.get_or_create(thread=thread, defaults={"updated_at": now})
    if state.gone_crawl_run_id == crawl_run_id:
        return
    state.gone_answer_count += 1
    state.gone_crawl_run_id, state.updated_at = crawl_run_id, now
    if state.gone_answer_count >= ANSWERS_BELIEVED and state.gone_at is None:
        state.gone_at = now
        publish_topics([thread], GONE, now)
    state.save()


def record_readable(
    thread: Thread, state: ThreadReadingState | None, is_newest_first: bool, now: datetime
) -> ThreadReadingState | None:
    """The topic gave a page: it is not gone. Remembers the order of its floors, too. Most topics need no row."""
    known = (state.is_newest_first, state.gone_answer_count) if state else (False, 0)
    if known == (is_newest_first, 0):
        return state
    state = state or ThreadReadingState(thread=thread)
    state.is_newest_first, state.gone_answer_count = is_newest_first, 0
    state.gone_crawl_run_id = state.gone_at = None
    state.updated_at = now
    state.save()
    return state
