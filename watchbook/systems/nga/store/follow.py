"""Topics that a user named: archived without a list row, and followed until they are quiet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from watchbook.core.stream import entries as stream
from watchbook.core.watching import Plan
from watchbook.systems.nga import options
from watchbook.systems.nga.models import (
    MOST_PAGES,
    FollowedAuthor,
    FollowedThread,
    Forum,
    Post,
    SingleTopicForum,
    Thread,
)
from watchbook.systems.nga.models.forum import path
from watchbook.systems.nga.parse import ListPage, TopicPage
from watchbook.systems.nga.parse.records import TopicRecord
from watchbook.systems.nga.store.lists import attach_tags, list_url, prefix_of, tags_of_title
from watchbook.systems.nga.store.publish import NEW_TOPIC, SCOPE, SOURCE, index_threads, publish_topics
from watchbook.systems.nga.store.versions import MAX_NAME, MAX_TITLE, Cuts, fit_count, fit_text

REPLIED = "replied"
MOST_CHECKS = 200
MOST_NEW_TOPICS = 20
REPLIES_WANTED_FOR = timedelta(days=7)


def store_topic(page: TopicPage, now: datetime) -> Thread:
    """Add a topic that no list has shown. Its board is added, too, without crawling the board's list."""
    cuts = Cuts()
    values = {"list_url": list_url(page.fid), "created_at": now, "updated_at": now}
    forum, is_new = Forum.objects.get_or_create(source_forum_id=page.fid, defaults=values)
    if is_new:
        SingleTopicForum.objects.create(forum=forum, created_at=now)
    opening = next((floor for floor in page.floors if floor.floor_number == 0), None)
    created_at = page.thread_created_at or (opening.post_created_at if opening else None) or now
    is_too_long = page.page_count > MOST_PAGES
    thread, is_new = Thread.objects.get_or_create(
        forum=forum,
        source_thread_id=page.tid,
        defaults={
            "title": fit_text(page.title, MAX_TITLE, "title", cuts),
            "title_prefix_text": prefix_of(page.title, cuts),
            "author_name": fit_text(page.author_name, MAX_NAME, "author", cuts),
            "author_source_user_id": page.author_source_user_id,
            "thread_created_at": created_at,
            "last_reply_at": page.last_reply_at or created_at,
            "reply_count_display": fit_count(page.total_floors - 1),
            "is_digest": bool(page.is_digest),
            "crawl_page_total_last_seen": fit_count(page.page_count),
            "crawl_backfill_next_page_number": None if is_too_long else 1,
            "is_skipped_by_page_total_limit": is_too_long,
            "skipped_by_page_total_limit_at": now if is_too_long else None,
            "last_detected_change_at": now,
            "created_at": now,
            "updated_at": now,
        },
    )
    if is_new:
        attach_tags({thread.pk: tags_of_title(page.title, cuts)}, now)
        index_threads([thread], now)
        publish_topics([thread], NEW_TOPIC, now)
    return thread


def store_counts(thread: Thread, page: TopicPage, now: datetime) -> None:
    """Update what a list would say, for a topic that was read to its end."""
    count, replied_at = fit_count(page.total_floors - 1), page.last_reply_at or thread.last_reply_at
    if (count, replied_at) != (thread.reply_count_display, thread.last_reply_at):
        thread.reply_count_display, thread.last_reply_at, thread.updated_at = count, replied_at, now
        thread.save(update_fields=["reply_count_display", "last_reply_at", "updated_at"])


def follow(thread: Thread, now: datetime) -> FollowedThread:
    """Follow a topic; following it again changes nothing."""
    values = {"followed_at": now, "next_check_at": next_check(thread, now), "updated_at": now}
    return FollowedThread.objects.get_or_create(thread=thread, defaults=values)[0]


def unfollow(thread: Thread) -> bool:
    return bool(FollowedThread.objects.filter(thread=thread).delete()[0])


def due(now: datetime) -> Sequence[FollowedThread]:
    rows = FollowedThread.objects.filter(next_check_at__lte=now).select_related("thread__forum__single_topics")
    return list(rows.order_by("thread__forum_id", "next_check_at", "pk")[:MOST_CHECKS])


def next_check(thread: Thread, now: datetime, failures: int = 0) -> datetime:
    plan = Plan(interval=timedelta(hours=options.FOLLOW_HOURS.value))
    return plan.next_at(str(thread.source_thread_id), now, failures=failures)


def is_quiet(thread: Thread, now: datetime) -> bool:
    last = thread.last_reply_at or thread.thread_created_at
    return bool(now - last >= timedelta(days=options.FOLLOW_QUIET_DAYS.value))


def record_check(row: FollowedThread, new_count: int, now: datetime, *, is_ok: bool, is_gone: bool = False) -> bool:
    """Set the next check after an attempt; return False if following ends: the topic is quiet or gone."""
    if new_count:
        _publish(row.thread, new_count, now)
    if is_gone or (is_ok and is_quiet(row.thread, now)):
        row.delete()
        return False
    row.failure_count = 0 if is_ok else row.failure_count + 1
    row.next_check_at, row.updated_at = next_check(row.thread, now, row.failure_count), now
    row.save(update_fields=["failure_count", "next_check_at", "updated_at"])
    return True


def follow_author(uid: int, name: str, now: datetime, *, with_past: bool = False) -> FollowedAuthor:
    """Follow an author; a second time only adds the older topics, if they are wanted now."""
    values = {"author_name": name[:MAX_NAME], "followed_at": now, "next_check_at": now, "updated_at": now}
    author, is_new = FollowedAuthor.objects.get_or_create(
        author_source_user_id=uid, defaults=values | {"past_page_number": 1 if with_past else None}
    )
    if with_past and not is_new:
        author.past_page_number, author.next_check_at, author.updated_at = 1, now, now
        author.save(update_fields=["past_page_number", "next_check_at", "updated_at"])
    return author


def unfollow_author(uid: int) -> bool:
    return bool(FollowedAuthor.objects.filter(pk=uid).delete()[0])


def due_authors(now: datetime) -> Sequence[FollowedAuthor]:
    return list(FollowedAuthor.objects.filter(next_check_at__lte=now).order_by("next_check_at", "pk")[:MOST_CHECKS])


def new_topics(author: FollowedAuthor, page: ListPage) -> list[int]:
    """Topics that the author opened after being followed and that are not in the archive."""
    return _unknown(
        record.tid
        for record in _own(author, page)
        if record.thread_created_at is not None and record.thread_created_at >= author.followed_at
    )[:MOST_NEW_TOPICS]


def past_topics(author: FollowedAuthor, page: ListPage) -> list[int]:
    """All topics of the author on this page that are not in the archive."""
    return _unknown(record.tid for record in _own(author, page))


def _own(author: FollowedAuthor, page: ListPage) -> Iterator[TopicRecord]:
    return (row for row in page.topics if row.author_source_user_id == author.pk and not row.is_mirror)


def _unknown(tids: Iterable[int]) -> list[int]:
    own = set(tids)
    known = Thread.objects.filter(source_thread_id__in=own).values_list("source_thread_id", flat=True)
    return sorted(own - set(known))


def new_replies(author: FollowedAuthor, page: ListPage, now: datetime) -> dict[int, list[int]]:
    """Replies of the author that are not in the archive, by topic. One that cannot be read is not tried for ever."""
    since = max(author.followed_at, now - REPLIES_WANTED_FOR)
    found = {
        (row.tid, row.reply_post_id)
        for row in page.topics
        if row.reply_post_id is not None and row.replied_at is not None and row.replied_at >= since
    }
    stored = Post.objects.filter(
        source_post_id__in=[pid for _tid, pid in found], thread__source_thread_id__in=[tid for tid, _pid in found]
    )
    wanted: dict[int, list[int]] = {}
    for tid, pid in sorted(found - set(stored.values_list("thread__source_thread_id", "source_post_id"))):
        wanted.setdefault(tid, []).append(pid)
    return dict(list(wanted.items())[:MOST_NEW_TOPICS])


def pass_past_page(author: FollowedAuthor, page: ListPage) -> None:
    """Go to the next page of the older topics, as long as there is one."""
    number = author.past_page_number or 1
    has_more = bool(page.topics) and number < (page.page_count or 1)
    author.past_page_number = number + 1 if has_more else None
    author.save(update_fields=["past_page_number"])


def record_author_check(author: FollowedAuthor, page: ListPage | None, now: datetime) -> None:
    """Set the next check; None: the list could not be read."""
    if page is not None and not author.author_name:
        names = (record.author_name for record in page.topics if record.author_source_user_id == author.pk)
        author.author_name = next(names, "")[:MAX_NAME]
    author.failure_count = 0 if page is not None else author.failure_count + 1
    plan = Plan(interval=timedelta(hours=options.FOLLOW_HOURS.value))
    author.next_check_at = plan.next_at(f"author:{author.pk}", now, failures=author.failure_count)
    author.updated_at = now
    author.save(update_fields=["author_name", "failure_count", "next_check_at", "updated_at"])


def _publish(thread: Thread, count: int, now: datetime) -> None:
    """One activity entry per check, however many posts are new."""
    stream.record(
        [
            stream.Entry(
                source=SOURCE, kind=REPLIED, title=thread.title, summary=f"+{count}", url_path=path(thread),
                scope=SCOPE, object_kind="nga_thread", object_id=str(thread.pk), occurred_at=now,
                event_key=f"{now:%Y%m%dT%H%M%S}",
            )
        ]
    )  # fmt: skip
