"""Notifications of new and edited posts for users who chose a topic or an author."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.utils import translation
from django.utils.translation import ngettext

from watchbook.base.text import cut
from watchbook.core.accounts.models import User
from watchbook.core.notify import outbox
from watchbook.core.notify.message import Named
from watchbook.core.notify.rules import Subject
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.nga.models import Post, Subscription, SubscriptionNews, Thread
from watchbook.systems.nga.store.publish import POST_KIND, SOURCE, floor_url, path, plain_text
from watchbook.systems.nga.store.versions import Change, NewFloor

NEW, EDITED = "new_posts", "edited"
EXCERPT = 120


class Told(NamedTuple):
    """A post as a notification names it."""

    pk: int
    source_post_id: int
    floor_number: int
    author_name: str
    author_source_user_id: int | None
    post_created_at: datetime | None
    content_html: str
    fingerprint: str


# What a killed crawl left is sent by the next check of followed topics.
LEFT_AFTER = timedelta(minutes=30)


def notify_posts(
    thread: Thread, fresh: Iterable[NewFloor], changes: Iterable[Change], keys: Mapping[int, int], now: datetime
) -> None:
    """Store what to notify of, in the transaction of the page; `send_news` sends it when the topic was read.

    One query if nobody chose this topic or one of these authors.
    """
    new = [_new(floor, keys[floor.source_post_id]) for floor in fresh if not floor.is_deleted_by_source]
    edited = [_edited(change) for change in changes if change.has_new_text]
    if not new and not edited:
        return
    uids = {post.author_source_user_id for post in (*new, *edited) if post.author_source_user_id}
    for chosen in Subscription.objects.about(thread.pk, uids):
        if chosen.notifies_posts:
            # A backfill brings old posts, too: what was written before the choice is no news.
            news = [post for post in new if post.post_created_at and post.post_created_at >= chosen.created_at]
            _store(chosen, thread, NEW, news, now)
        if chosen.notifies_edits:
            _store(chosen, thread, EDITED, edited, now)


def _store(chosen: Subscription, thread: Thread, kind: str, posts: Sequence[Told], now: datetime) -> None:
    wanted = [post for post in posts if _is_wanted(chosen, thread, post)]
    rows = [
        SubscriptionNews(subscription=chosen, thread=thread, post_id=post.pk, news_kind=kind, created_at=now)
        for post in wanted
    ]
    if rows and chosen.channels.all():
        SubscriptionNews.objects.bulk_create(rows, ignore_conflicts=True)


def send_news(thread: Thread) -> None:
    """Send one notification per choice for all that is waiting of this topic. The caller has a transaction."""
    rows = SubscriptionNews.objects.filter(thread_id=thread.pk).select_related("subscription__user", "post")
    waiting: dict[tuple[int, str], list[SubscriptionNews]] = {}
    for row in rows.order_by("subscription_id", "news_kind", "post__floor_number", "post_id"):
        waiting.setdefault((row.subscription_id, row.news_kind), []).append(row)
    for (_chosen, kind), news in waiting.items():
        _notify(news[0].subscription, thread, kind, [_stored(row.post) for row in news])
    if waiting:
        SubscriptionNews.objects.filter(pk__in=[row.pk for news in waiting.values() for row in news]).delete()


def left_news(now: datetime) -> list[Thread]:
    """Return topics with posts whose crawl ended before it could notify."""
    old = SubscriptionNews.objects.filter(created_at__lt=now - LEFT_AFTER).values("thread_id")
    return list(Thread.objects.filter(pk__in=old))


def _stored(post: Post) -> Told:
    return Told(
        post.pk, post.source_post_id, post.floor_number, post.author_name, post.author_source_user_id,
        post.post_created_at, post.content_html, post.content_fingerprint_sha256,
    )  # fmt: skip


def _new(floor: NewFloor, pk: int) -> Told:
    return Told(
        pk, floor.source_post_id, floor.floor_number, floor.author_name, floor.author_source_user_id,
        floor.post_created_at, floor.content_html, floor.content_fingerprint_sha256,
    )  # fmt: skip


def _edited(change: Change) -> Told:
    record, floor = change.record, change.floor
    assert record is not None  # it has a new text
    return Told(
        floor.pk, floor.source_post_id, floor.floor_number, floor.author_name, record.author_source_user_id,
        record.post_created_at, record.content_html, record.content_fingerprint_sha256,
    )  # fmt: skip


def _is_wanted(chosen: Subscription, thread: Thread, post: Told) -> bool:
    if chosen.thread_id is None:
        return post.author_source_user_id == chosen.author_source_user_id
    return not chosen.is_starter_only or post.author_name == thread.author_name


def _notify(chosen: Subscription, thread: Thread, kind: str, posts: Sequence[Told]) -> None:
    channels = list(chosen.channels.select_related("user"))
    if channels:
        with translation.override(chosen.user.language or settings.LANGUAGE_CODE):
            outbox.notify(channels, _notification(chosen, thread, kind, posts))


def _notification(chosen: Subscription, thread: Thread, kind: str, posts: Sequence[Told]) -> outbox.Notification:
    first, last = posts[0], posts[-1]
    if kind == NEW:
        words = ngettext("%(name)s: %(n)s new post", "%(name)s: %(n)s new posts", len(posts))
    else:
        words = ngettext("%(name)s: %(n)s post edited", "%(name)s: %(n)s posts edited", len(posts))
    # By the numbers of the site: a topic that is archived under two boards notifies once.
    place = f"{thread.source_thread_id}:{first.source_post_id}-{last.source_post_id}:{last.fingerprint[:16]}"
    return outbox.Notification(
        event_id=f"nga:{chosen.pk}:{kind}:{place}",
        source=SOURCE,
        kind=kind,
        subject=words % {"name": thread.title, "n": len(posts)},
        lines=[f"#{post.floor_number} {post.author_name}: {_excerpt(post)}" for post in posts],
        payload={
            "topic": {"tid": thread.source_thread_id, "title": thread.title},
            "count": len(posts),
            "posts": [_fact(thread, post) for post in posts],
        },
        link=floor_url(thread, first.floor_number),
        thread=chosen.rule_thread,
        objects=[Named(POST_KIND, str(post.pk), number) for number, post in enumerate(posts)],
    )


def _excerpt(post: Told) -> str:
    return cut(" ".join(plain_text(post.content_html).split()), EXCERPT)


def _fact(thread: Thread, post: Told) -> dict[str, object]:
    return {
        "kind": POST_KIND, "id": str(post.pk), "floor_number": post.floor_number, "author_name": post.author_name,
        "url": floor_url(thread, post.floor_number),
    }  # fmt: skip


def rule_subject(key: str, user: User) -> Subject | None:
    """Return a choice as an item whose rule of notifications its owner sets."""
    mine = Subscription.objects.of(user).select_related("thread__forum")
    chosen = mine.filter(pk=int(key)).first() if key.isdecimal() and len(key) < 19 else None
    if chosen is None:
        return None
    return Subject(
        thread=chosen.rule_thread,
        title=str(chosen),
        url=path(chosen.thread) if chosen.thread else "/nga/forums/",
        channels=tuple(chosen.channels.select_related("user")),
        events=lambda _rule, since: _past(chosen, since),
    )


def _past(chosen: Subscription, since: datetime) -> list[datetime]:
    """When posts came in that would have been notified; those of one minute are one notification."""
    if chosen.thread is None:
        return []
    rows = StreamEntry.objects.filter(source=SOURCE, occurred_at__gte=since, title=chosen.thread.title)
    return sorted({at.replace(second=0, microsecond=0) for at in rows.values_list("occurred_at", flat=True)[:1000]})
