"""Checks followed topics for new posts, beyond the window of the list, until they are quiet."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from watchbook.base.clock import SHANGHAI
from watchbook.base.work import crash_point
from watchbook.core.jobs import queue
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.nga.errors import NgaError, SiteError
from watchbook.systems.nga.fetch import BoardReader, SharedPause, is_paused
from watchbook.systems.nga.jobs.topic import TopicReader, begin_at_last_post
from watchbook.systems.nga.models import FollowedAuthor, FollowedThread, Forum, RunKind, ThreadReadingState
from watchbook.systems.nga.parse import ListPage
from watchbook.systems.nga.store import follow
from watchbook.systems.nga.store.publish import left_news, send_news
from watchbook.systems.nga.store.runs import FOLLOWING, begin_run, last_failures, save_counts, save_result, window_of

log = logging.getLogger(__name__)
THREAD = "nga.thread"


def anything_due(now: datetime) -> bool:
    if is_paused():
        return False
    rows = (FollowedThread.objects, FollowedAuthor.objects)
    return any(each.filter(next_check_at__lte=now).exists() for each in rows) or bool(left_news(now))


def check_followed(ctx: JobContext) -> Outcome:
    """Read each due topic from the page of its last stored post. An outage ends the run; the rest stays due."""
    counts: Counter[str] = Counter()
    for thread in left_news(ctx.now):
        with ctx.writing():
            send_news(thread)
    failure: NgaError | None = None
    for forum, rows in groupby(_in_order(follow.due(ctx.now)), key=lambda row: row.thread.forum):
        failure = _check_board(ctx, forum, rows, counts)
        if failure is not None:
            break  # all boards are on one site
    failure = failure or _check_authors(ctx, counts)
    if failure is not None:
        error = {"code": failure.code, "message": failure.summary}
        return Outcome("failed", {**counts, "error": error})
    return Outcome("done", dict(counts)) if counts else NOTHING_TO_DO


def _in_order(rows: Sequence[FollowedThread]) -> list[FollowedThread]:
    """Board by board; topics whose previous reading failed come last, the newest failure after all others."""
    failures = last_failures(row.thread_id for row in rows)
    failed_at = {row.pk: failures.get(row.thread_id, 0) for row in rows}
    boards: dict[int, int] = {}
    for row in rows:
        board = row.thread.forum_id
        boards[board] = min(failed_at[row.pk], boards.get(board, failed_at[row.pk]))
    return sorted(rows, key=lambda row: (boards[row.thread.forum_id], row.thread.forum_id, failed_at[row.pk]))


def _check_authors(ctx: JobContext, counts: Counter[str]) -> SiteError | None:
    """Two requests for each due author, one more while older topics are wanted. What is new is queued."""
    board = Forum.objects.crawled().values_list("source_forum_id", flat=True).first()
    reader = BoardReader(pause=SharedPause(), board=board)
    for author in follow.due_authors(ctx.now):
        try:
            found = _lists_of(reader, author)
        except SiteError as failure:
            counts["http_request_count"] += reader.http_request_count
            return failure
        counts["authors"] += 1
        with ctx.writing():
            _queue_news(author, found, ctx.now, counts)
            crash_point("nga.author_checked")
            follow.record_author_check(author, found.topics, ctx.now)
    counts["http_request_count"] += reader.http_request_count
    return None


@dataclass(frozen=True)
class AuthorLists:
    """What the site lists of one author; None: not asked for, or not readable."""

    topics: ListPage | None
    replies: ListPage | None
    past: ListPage | None


def _lists_of(reader: BoardReader, author: FollowedAuthor) -> AuthorLists:
    """Raises SiteError only."""
    topics = _listed(reader.author_page, author.pk)
    number = author.past_page_number
    past = topics if number == 1 else _listed(reader.author_page, author.pk, number) if number else None
    return AuthorLists(topics, _listed(reader.author_replies, author.pk), past)


def _listed(ask: Callable[..., ListPage], uid: int, *more: int) -> ListPage | None:
    try:
        return ask(uid, *more)
    except SiteError:
        raise
    except NgaError as failure:
        log.warning("list of author %s: %s", uid, failure.summary)
        return None


def _queue_news(author: FollowedAuthor, found: AuthorLists, now: datetime, counts: Counter[str]) -> None:
    """Queue a crawl of each new topic, which is then followed, of older topics, and of pages with new replies."""
    topics = follow.new_topics(author, found.topics) if found.topics else []
    past = follow.past_topics(author, found.past) if found.past else []
    replies = follow.new_replies(author, found.replies, now) if found.replies else {}
    work: dict[int, dict[str, Any]] = {tid: {"pids": pids} for tid, pids in replies.items()}
    work |= {tid: {} for tid in past} | {tid: {"follow": True} for tid in topics}
    for tid, more in work.items():
        queue.enqueue(THREAD, {"tid": tid, "waits": True, **more}, exclusive=f"{THREAD}:{tid}")
    counts["new_topics"] += len({*topics, *past})
    counts["new_replies"] += sum(len(pids) for pids in replies.values())
    if found.past:
        follow.pass_past_page(author, found.past)


def _check_board(
    ctx: JobContext, forum: Forum, rows: Iterable[FollowedThread], counts: Counter[str]
) -> SiteError | None:
    waiting = [row for row in rows if not _is_covered(ctx, row)]
    if not waiting:
        return None
    reader = BoardReader(
        requests_per_second=forum.requests_per_second, pause=SharedPause(), board=forum.source_forum_id
    )
    with ctx.writing():
        run = begin_run(forum, FOLLOWING, window_of(ctx.now), ctx.now)
    failure: SiteError | None = None
    for row in waiting:
        topic = TopicReader(ctx, reader, run, row.thread, page_limit=forum.crawl_page_limit)
        begin_at_last_post(row.thread)
        try:
            topic.read(is_change=False)
        except SiteError as error:
            failure = error
            break
        finally:
            counts["new_post_count"] += topic.work.new_post_count
            counts["updated_post_count"] += topic.work.updated_post_count
        counts["topics"] += 1
        _finish(ctx, row, topic)
        ctx.report(topics=counts["topics"], requests=reader.http_request_count)
    run.http_request_count = reader.http_request_count
    counts["http_request_count"] += reader.http_request_count
    with ctx.writing():
        save_counts(run, ctx.now, is_finished=True)
        save_result(run, RunKind.TOPIC, failure, ctx.now, is_list_complete=False)
    return failure


def _is_covered(ctx: JobContext, row: FollowedThread) -> bool:
    """Return True if the list crawl reads this topic: it is in the window of a crawled board. No request is needed."""
    first, _last = window_of(ctx.now)
    forum, thread = row.thread.forum, row.thread
    if not forum.is_crawled or thread.thread_created_at.astimezone(SHANGHAI).date() < first:
        return False
    with ctx.writing():
        follow.record_check(row, 0, ctx.now, is_ok=True)
    return True


def _finish(ctx: JobContext, row: FollowedThread, topic: TopicReader) -> None:
    is_gone = ThreadReadingState.objects.filter(thread=row.thread, gone_at__isnull=False).exists()
    with ctx.writing():
        if topic.is_at_end:
            assert topic.last_page is not None
            follow.store_counts(row.thread, topic.last_page, ctx.now)
        follow.record_check(row, topic.work.new_post_count, ctx.now, is_ok=topic.work.is_ok, is_gone=is_gone)
