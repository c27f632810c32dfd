"""Reads stored pages again to find edits: the likeliest first, within the daily budget of requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from watchbook.base.work import crash_point
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.nga import options
from watchbook.systems.nga.errors import Denied, NgaError, SiteError, TopicGone
from watchbook.systems.nga.fetch import BoardReader, SharedPause, is_paused
from watchbook.systems.nga.jobs.topic import TopicReader
from watchbook.systems.nga.models import CrawlRunThread, Forum, RunKind, Thread
from watchbook.systems.nga.parse.records import FLOORS_PER_PAGE
from watchbook.systems.nga.store import runs
from watchbook.systems.nga.store.lists import page_of_floor
from watchbook.systems.nga.store.runs import (
    REREADING,
    begin_run,
    begin_thread,
    finish_row,
    last_failures,
    save_counts,
    save_result,
    window_of,
)

# A page of a topic that shows its newest posts first is on two of the site's pages, which move while it grows.
MOST_REQUESTS_A_PAGE = 4


def anything_due(now: datetime) -> bool:
    return options.REREAD_REQUESTS.value > 0 and runs.is_anything_due(now) and not is_paused()


def reread(ctx: JobContext) -> Outcome:
    """Read the due pages with the most expected edits. An outage ends the run; the rest stays due."""
    allowed = runs.requests_left(ctx.now)
    chosen = runs.due(ctx.now, allowed) if allowed > 0 else []
    failures = last_failures(row.thread_id for row in chosen)
    chosen.sort(key=lambda row: failures.get(row.thread_id, 0))
    threads = Thread.objects.select_related("forum").in_bulk({row.thread_id for row in chosen})
    boards: dict[Forum, dict[Thread, list[int]]] = {}
    for row in chosen:
        thread = threads[row.thread_id]
        boards.setdefault(thread.forum, {}).setdefault(thread, []).append(row.page_number)
    work = Rereading(ctx, allowed)
    for forum, topics in boards.items():
        work.read_board(forum, topics)
        if work.failure is not None:
            break  # all boards are on one site
    if work.failure is not None:
        error = {"code": work.failure.code, "message": work.failure.summary}
        return Outcome("failed", {**work.counts, "error": error})
    return Outcome("done", dict(work.counts)) if work.counts else NOTHING_TO_DO


class Rereading:
    """One run over all boards, and the requests that it may still send."""

    def __init__(self, ctx: JobContext, allowed: int) -> None:
        self.ctx = ctx
        self.allowed = allowed
        self.counts: Counter[str] = Counter()
        self.failure: SiteError | None = None

    @property
    def is_spent(self) -> bool:
        return self.counts["http_request_count"] >= self.allowed

    def read_board(self, forum: Forum, topics: dict[Thread, list[int]]) -> None:
        if self.is_spent:
            return
        reader = BoardReader(
            requests_per_second=forum.requests_per_second, pause=SharedPause(), board=forum.source_forum_id
        )
        with self.ctx.writing():
            run = begin_run(forum, REREADING, window_of(self.ctx.now), self.ctx.now)
        for thread, numbers in topics.items():
            if self.is_spent or self.failure is not None:
                break
            self._read_topic(TopicReader(self.ctx, reader, run, thread, page_limit=None), sorted(numbers))
        with self.ctx.writing():
            save_counts(run, self.ctx.now, is_finished=True)
            save_result(run, RunKind.REREAD, self.failure, self.ctx.now, is_list_complete=False)

    def _read_topic(self, topic: TopicReader, numbers: Sequence[int]) -> None:
        with self.ctx.writing():
            row = begin_thread(topic.run, topic.thread, is_change=False, now=self.ctx.now)
        for at, number in enumerate(numbers):
            if self.is_spent:
                break
            asked = [number]
            try:
                read_page(topic, row, number)
            except SiteError as failure:
                self.failure = failure
                asked = []  # the page is not at fault and stays due
                topic.fail(failure)
            except NgaError as failure:
                topic.fail(failure)
                if isinstance(failure, TopicGone | Denied):
                    asked = list(numbers[at:])  # said of the whole topic
            self._count(topic, asked)
            if self.failure is not None or len(asked) > 1:
                break
        self.counts["topics"] += 1
        self.counts["fetched_page_count"] += topic.work.fetched_page_count
        self.counts["updated_post_count"] += topic.work.updated_post_count
        with self.ctx.writing():
            finish_row(row, topic.work, self.ctx.now)
        self.ctx.report(topics=self.counts["topics"], requests=self.counts["http_request_count"])

    def _count(self, topic: TopicReader, asked: Sequence[int]) -> None:
        """Count the requests with each page: after a crash the budget knows them."""
        crash_point("nga.page_reread")
        self.counts["http_request_count"] += topic.reader.http_request_count - topic.run.http_request_count
        topic.run.http_request_count = topic.reader.http_request_count
        with self.ctx.writing():
            save_counts(topic.run, self.ctx.now)
            # Only what is still due: a page that was read whole has its next time.
            runs.postpone(topic.thread, asked, self.ctx.now)


def read_page(topic: TopicReader, row: CrawlRunThread, number: int) -> None:
    """Read one page by post number; the topic's own place stays."""
    floor, end = (number - 1) * FLOORS_PER_PAGE, number * FLOORS_PER_PAGE
    is_newest_first = bool(topic.state and topic.state.is_newest_first)
    total = max(topic.thread.reply_count_display + 1, (topic.thread.crawl_cursor_max_floor_number or 0) + 1)
    for _attempt in range(MOST_REQUESTS_A_PAGE):
        page = topic.fetch(page_of_floor(floor, total, is_newest_first))
        topic.store(page, row, next_page=None, moves_on=False)
        is_newest_first, total = page.is_newest_first, page.total_floors
        expected = page.expected_numbers()
        if floor in expected:
            floor = expected.stop
        if floor >= min(end, total):
            return
