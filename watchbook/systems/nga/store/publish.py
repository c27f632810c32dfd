"""What others see of a stored page: search documents, activity, and notifications of subscribed topics and authors."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.utils import translation
from django.utils.translation import ngettext

from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts.models import User
from watchbook.core.notify import outbox
from watchbook.core.notify.message import Named
from watchbook.core.notify.rules import Subject
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.core.stream import entries as stream
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.nga.models import Forum, Post, Subscription, SubscriptionNews, Thread, ThreadSearchDocument
from watchbook.systems.nga.models.forum import floor_url, path
from watchbook.systems.nga.store import versions
from watchbook.systems.nga.store.versions import Change, NewFloor

SOURCE, SCOPE, KIND, POST_KIND = "nga", "members", "nga_thread", "nga_post"
NEW_TOPIC, TITLE_CHANGED, EDITED, DELETED, FOLDED, GONE = (
    "new_topic", "title_changed", "edited", "deleted", "folded", "gone"
)  # fmt: skip
KIND_OF_REASON = {versions.CONTENT: EDITED, versions.DELETED: DELETED, versions.FOLDED: FOLDED}
SEARCHED = Columns(ThreadSearchDocument, ["thread", "title_text", "first_post_plain_text", "updated_at"])
# A column of text takes more; no one searches for the hundred-thousandth word of an opening post.
LONGEST_TEXT = 100_000

_BREAKS = re.compile(r"<(?:br|/?(?:p|div|li|ul|ol|tr|table|blockquote|h[1-6]|pre|details|summary))\b[^<>]*>", re.I)
_TAGS = re.compile(r"<[^<>]*>")


def plain_text(content_html: str) -> str:
    """The words of our own clean HTML."""
    spaced = _TAGS.sub("", _BREAKS.sub("\n", content_html))
    lines = (" ".join(line.split()) for line in html.unescape(spaced).split("\n"))
    return clean_text("\n".join(line for line in lines if line))[:LONGEST_TEXT]


def index_threads(threads: Iterable[Thread], now: datetime, *, opening_html: str | None = None) -> None:
    """Title and opening post into the search. Without a text the one that is known stays."""
    threads = list(threads)
    if not threads:
        return
    if opening_html is not None:
        texts = dict.fromkeys([thread.pk for thread in threads], plain_text(opening_html))
    else:
        texts = _known_texts(threads)
    Thread.objects.mark_mirrors(threads)
    rows = [(thread.pk, thread.title, texts.get(thread.pk, ""), now) for thread in threads]
    SEARCHED.upsert(rows, unique=["thread"], update=SEARCHED.names[1:])
    boards = _boards(threads)
    index.put(_document(thread, texts.get(thread.pk, ""), boards[thread.forum_id]) for thread in threads)


def _known_texts(threads: Iterable[Thread]) -> dict[int, str]:
    rows = ThreadSearchDocument.objects.filter(pk__in=[thread.pk for thread in threads])
    return dict(rows.values_list("pk", "first_post_plain_text"))


def _boards(threads: Iterable[Thread]) -> dict[int, int]:
    """The numbers of boards on the site, by row."""
    loaded = {each.forum_id: each.forum.source_forum_id for each in threads if "forum" in each._state.fields_cache}
    missing = {each.forum_id for each in threads} - set(loaded)
    if not missing:
        return loaded
    return loaded | dict(Forum.objects.filter(pk__in=missing).values_list("pk", "source_forum_id"))


def search_attributes(kind: str, ids: Collection[str]) -> dict[str, Attributes]:
    """Author and board of stored topics and posts."""
    numbers = [int(each) for each in ids if each.isdigit()]
    if kind == POST_KIND:
        rows = Post.objects.filter(pk__in=numbers)
        columns = rows.values_list("pk", "author_name", "thread__forum__source_forum_id")
        return {str(pk): Attributes(author=name, place=str(fid)) for pk, name, fid in columns}
    if kind != KIND:
        return {}
    threads = Thread.objects.filter(pk__in=numbers).select_related("forum")
    return {str(each.pk): _attributes(each, each.forum.source_forum_id) for each in threads}


def _attributes(thread: Thread, fid: int) -> Attributes:
    return Attributes(author=thread.author_name or "", place=str(fid))


def _document(thread: Thread, text: str, fid: int) -> index.Document:
    return index.Document(
        kind=KIND,
        object_id=str(thread.pk),
        scope=SCOPE,
        title=thread.title,
        body=text,
        url_path=path(thread),
        occurred_at=thread.thread_created_at,
        source=SOURCE,
        attributes=_attributes(thread, fid),
    )


class IndexedPost(NamedTuple):
    """A post as the search needs it."""

    pk: int
    floor_number: int
    author_name: str
    post_created_at: datetime
    content_html: str


def index_posts(thread: Thread, posts: Iterable[IndexedPost]) -> None:
    """Texts of posts into the search. The opening post is there with its topic. Titles are found by topics alone."""
    start, _, end = path(thread, "floor", 0).rpartition("/0/")
    place = str(_boards([thread])[thread.forum_id])
    index.put(
        index.Document(
            kind=POST_KIND,
            object_id=str(post.pk),
            scope=SCOPE,
            title="",
            body=plain_text(post.content_html),
            url_path=f"{start}/{post.floor_number}/{end}",
            occurred_at=post.post_created_at,
            source=SOURCE,
            attributes=Attributes(author=post.author_name, place=place),
        )
        for post in posts
        if post.floor_number
    )


def search_titles(kind: str, ids: Collection[str]) -> dict[str, str]:
    """For a hit in a post: its topic and number."""
    numbers = [int(each) for each in ids if each.isdigit()] if kind == POST_KIND else []
    rows = Post.objects.filter(pk__in=numbers).values_list("pk", "thread__title", "floor_number")
    return {str(pk): f"{title} #{number}" for pk, title, number in rows}


def publish_topics(threads: Iterable[Thread], kind: str, now: datetime) -> None:
    """One line for each topic."""
    stream.record(
        stream.Entry(
            source=SOURCE,
            kind=kind,
            title=thread.title,
            summary=thread.author_name,
            url_path=path(thread),
            scope=SCOPE,
            object_kind="nga_thread",
            object_id=str(thread.pk),
            occurred_at=thread.thread_created_at if kind == NEW_TOPIC else now,
            event_key="" if kind == NEW_TOPIC else f"{now:%Y%m%dT%H%M%S}",
        )
        for thread in threads
    )


def publish_posts(thread: Thread, changes: Iterable[Change], now: datetime) -> None:
    """One line for each floor that was edited, deleted or folded."""
    # Made once for all floors.
    start, _, end = path(thread, "floor", 0).rpartition("/0/")
    event_key = f"{now:%Y%m%dT%H%M%S}"
    stream.record(
        stream.Entry(
            source=SOURCE,
            kind=KIND_OF_REASON[reason],
            title=thread.title,
            summary=f"#{change.floor.floor_number} {change.floor.author_name}",
            url_path=f"{start}/{change.floor.floor_number}/{end}",
            scope=SCOPE,
            object_kind="nga_post",
            object_id=str(change.floor.pk),
            occurred_at=now,
            event_key=event_key,
        )
        for change in changes
        for reason in change.reasons
    )


NEW_POSTS, EDITED_POSTS = "new_posts", "edited"
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

    One query if no user chose this topic or one of these authors.
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
            _store(chosen, thread, NEW_POSTS, news, now)
        if chosen.notifies_edits:
            _store(chosen, thread, EDITED_POSTS, edited, now)


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
    if kind == NEW_POSTS:
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
