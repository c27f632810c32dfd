"""One crawl of a board: look through the list, read what changed, go on with what is unfinished."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Any

from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.core.jobs.errors import GiveUp, Later
from watchbook.sources.nga.errors import NgaTrouble, Paused, SiteTrouble
from watchbook.sources.nga.fetch import BoardReader
from watchbook.sources.nga.jobs.scan import scan_board, window_of
from watchbook.sources.nga.jobs.topic import TopicReader
from watchbook.sources.nga.models import CrawlRun, Forum, Thread
from watchbook.sources.nga.store.runs import begin_run, save_counts, skip_thread, skip_too_long

log = logging.getLogger(__name__)

SCHEDULED, BY_HAND = "schedule_12h", "manual"
PAUSE_SECONDS = 60.0


def crawl(ctx: JobContext, fid: int | None = None) -> Outcome:
    """Crawl one board, or all of them one after the other: they stand on one site and share its pace."""
    forums = Forum.objects.order_by("pk") if fid is None else Forum.objects.filter(source_forum_id=fid)
    found = [Crawl(ctx, forum).run_through() for forum in forums]
    if not found:
        raise GiveUp("There is no such board. Add it first: watchbook nga forums add.", "unknown_forum")
    trouble = next((one.trouble for one in found if one.trouble), None)
    if trouble is not None and is_scheduled(ctx):
        ctx.progress.update(_figures(found))
        raise _again(trouble)
    word = "failed" if trouble else "partly" if any(one.counts["failed_thread_count"] for one in found) else "done"
    return Outcome(word, _figures(found))


def is_scheduled(ctx: JobContext) -> bool:
    return ctx.run.key.startswith(f"{ctx.run.name}@")


def _again(trouble: NgaTrouble) -> Exception:
    if isinstance(trouble, Paused):
        return Later(trouble.retry_after_seconds or PAUSE_SECONDS, trouble.message)
    return trouble


def _figures(found: list[Crawl]) -> dict[str, Any]:
    return found[0].figures() if len(found) == 1 else {"forums": [one.figures() for one in found]}


class Crawl:
    """One run over one board."""

    def __init__(self, ctx: JobContext, forum: Forum) -> None:
        self.ctx = ctx
        self.forum = forum
        self.window = window_of(ctx.now)
        self.reader = BoardReader(requests_per_second=forum.requests_per_second)
        self.counts: Counter[str] = Counter(new_post_count=0, updated_post_count=0, failed_thread_count=0)
        self.cuts: Counter[str] = Counter()
        self.trouble: NgaTrouble | None = None
        self.run: CrawlRun

    def run_through(self) -> Crawl:
        with self.ctx.writing():
            trigger = SCHEDULED if is_scheduled(self.ctx) else BY_HAND
            self.run = begin_run(self.forum, trigger, self.window, self.ctx.now)
        try:
            self._work()
        except SiteTrouble as trouble:
            self.trouble = trouble
        self._note_cuts()
        self.run.http_request_count = self.reader.http_request_count
        with self.ctx.writing():
            save_counts(self.run, self.ctx.now, is_finished=True)
        return self

    def _work(self) -> None:
        scan = scan_board(self.ctx, self.reader, self.forum, self.window)
        self.run.thread_scanned_count = len(scan.tids)
        self.run.thread_change_detected_count = len(scan.changed)
        self.trouble = scan.trouble
        self.counts["denied_row_count"] = scan.denied_count
        self.cuts += scan.cuts
        if isinstance(scan.trouble, SiteTrouble):
            return  # what changed is owed: the next run reads it
        for thread in scan.changed.values():
            self._read_changed(thread)
        if scan.trouble is None:
            owing = Thread.objects.filter(pk__in=scan.owing).order_by("thread_created_at", "pk")
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
        for thread in list(threads):
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

    def _note_cuts(self) -> None:
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
        if self.trouble is not None:
            figures["error"] = {"code": self.trouble.code, "message": str(self.trouble.message)}
        return figures
