"""One topic now: no list, no page limit. Some of its pages, or everything from where it was left."""

from __future__ import annotations

from typing import Any

from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.core.jobs.errors import GiveUp
from watchbook.sources.nga.errors import NgaTrouble, SiteTrouble
from watchbook.sources.nga.fetch import BoardReader
from watchbook.sources.nga.jobs.crawl import BY_HAND
from watchbook.sources.nga.jobs.scan import window_of
from watchbook.sources.nga.jobs.topic import TopicReader
from watchbook.sources.nga.models import MOST_PAGES, Thread
from watchbook.sources.nga.store.runs import begin_run, begin_thread, finish_thread, save_counts


def read_thread(
    ctx: JobContext, tid: int, first: int | None = None, last: int | None = None, fid: int | None = None
) -> Outcome:
    thread = Thread.objects.numbered(tid, fid).select_related("forum").first()
    if thread is None:
        raise GiveUp("This topic is not in the archive.", "unknown_topic")
    if first is None and thread.is_skipped_by_page_total_limit:
        raise GiveUp(f"The topic has more than {MOST_PAGES} pages. Name the pages to read.", "too_many_pages")
    reader = BoardReader(requests_per_second=thread.forum.requests_per_second)
    with ctx.writing():
        run = begin_run(thread.forum, BY_HAND, window_of(ctx.now), ctx.now)
    if first is None and thread.crawl_backfill_next_page_number is None:
        # Nothing is owed: begin at the page of the last known floor, as after a change.
        thread.crawl_backfill_next_page_number = thread.floor_page_count or 1
    topic = TopicReader(ctx, reader, run, thread, page_limit=None)
    trouble: NgaTrouble | None = None
    try:
        if first is None:
            topic.read(is_change=False)
        else:
            _read_pages(topic, range(first, (last or first) + 1))
    except SiteTrouble as error:
        trouble = error
    run.http_request_count = reader.http_request_count
    with ctx.writing():
        save_counts(run, ctx.now, is_finished=True)
    return Outcome("done" if topic.work.is_ok else "failed", _figures(topic, tid, trouble))


def _read_pages(topic: TopicReader, pages: range) -> None:
    """Single pages: their floors are stored, the topic's own place stays."""
    with topic.ctx.writing():
        row = begin_thread(topic.run, topic.thread, is_change=False, now=topic.ctx.now)
    try:
        for number in pages:
            topic.store(topic.fetch(number), row, next_page=None, moves_on=False)
    except NgaTrouble as trouble:
        topic.work.error_summary, topic.work.http_error_code = trouble.summary, trouble.http_error_code
    with topic.ctx.writing():
        finish_thread(row, topic.thread, topic.work, topic.ctx.now, moves_on=False)


def _figures(topic: TopicReader, tid: int, trouble: NgaTrouble | None) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "tid": tid,
        "fetched_page_count": topic.work.fetched_page_count,
        "new_post_count": topic.work.new_post_count,
        "updated_post_count": topic.work.updated_post_count,
        "http_request_count": topic.reader.http_request_count,
    }
    if not topic.work.is_ok:
        code = trouble.code if trouble else str(topic.work.error_summary).partition(":")[0]
        figures["error"] = {"code": code, "message": topic.work.error_summary}
    return figures
