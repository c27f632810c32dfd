"""Rows of a run: what was looked at, what was done to each topic, what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime

from watchbook.sources.nga.models import MOST_PAGES, CrawlRun, CrawlRunThread, Forum, Thread
from watchbook.sources.nga.store import fit


@dataclass
class ThreadWork:
    """What happened to one topic, added up while its pages are read."""

    fetched_page_count: int = 0
    new_post_count: int = 0
    updated_post_count: int = 0
    last_page: int | None = None
    is_cut: bool = False
    """The page limit ended the reading before the topic did."""
    error_summary: str | None = None
    http_error_code: int | None = None
    cuts: fit.Cuts = field(default_factory=fit.Cuts)

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
    """The verdict on one topic, and the marks that follow from it."""
    row.fetched_page_count = fit.small(work.fetched_page_count)
    row.page_limit_applied = work.is_cut
    row.new_post_count, row.updated_post_count = work.new_post_count, work.updated_post_count
    row.http_error_code = work.http_error_code
    row.error_summary = fit.summary(work.error_summary) if work.error_summary is not None else None
    row.finished_at = now
    row.save()
    values: dict[str, object] = {"updated_at": now}
    if work.is_ok:
        values["last_crawled_at"] = now
    if work.is_ok and moves_on:
        values |= {
            "is_truncated_by_page_limit": work.is_cut,
            "truncated_at_page_number": fit.small(work.last_page or 0) if work.is_cut else None,
        }
    Thread.objects.filter(pk=thread.pk).update(**values)


def skip_thread(run: CrawlRun, thread: Thread, now: datetime) -> None:
    """A topic too long to be read: seen to have changed, and left alone."""
    row = begin_thread(run, thread, is_change=True, now=now)
    row.finished_at = now
    row.save(update_fields=["finished_at"])


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


def forget_place(thread: Thread, now: datetime) -> None:
    """There is no such page: the topic is shorter than it was, and nothing is owed."""
    Thread.objects.filter(pk=thread.pk).update(crawl_backfill_next_page_number=None, updated_at=now)
