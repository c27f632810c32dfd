"""Atom feeds: the new topics of a board, the newest floors of a topic. An address carries a token for one feed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation

from watchbook.core.accounts.models import User
from watchbook.core.stream import feeds
from watchbook.core.stream.feeds import Feed, Item, atom, full_address, stable_id
from watchbook.core.stream.models import StreamFeed
from watchbook.systems.nga.models import Forum, Post, Thread, ThreadSearchDocument
from watchbook.systems.nga.models.forum import path
from watchbook.systems.nga.views.versions import plain_text

SOURCE = "nga"
ENTRIES = 50
TEXT = 2000
NUMBER = re.compile(r"(-?\d{1,18})(?:@(-?\d{1,18}))?", re.ASCII)


@dataclass(frozen=True)
class Subject:
    """The board or topic of a feed."""

    forum: Forum | None = None
    thread: Thread | None = None

    @property
    def number(self) -> str:
        """Of the topic or the board; a mirror of a topic names its board behind it."""
        if self.thread is None:
            return str(self.forum.source_forum_id)  # type: ignore[union-attr]
        board = f"@{self.thread.forum.source_forum_id}" if self.thread.is_mirror else ""
        return f"{self.thread.source_thread_id}{board}"

    @property
    def kind(self) -> str:
        """The stream knows no such kind, so that the token opens nothing of it."""
        return f"topic:{self.number}" if self.thread else f"board:{self.number}"

    @property
    def name(self) -> str:
        return self.thread.title if self.thread else str(self.forum)

    @property
    def page(self) -> str:
        if self.thread:
            return path(self.thread)
        return f"{reverse('nga:topics')}?fid={self.number}"

    @property
    def own_page(self) -> str:
        """Return the page that creates and revokes its addresses."""
        return path(self.thread, "topic_feed") if self.thread else reverse("nga:forum_feed", args=[self.number])

    def path(self, plain: str) -> str:
        return reverse("nga:feed", args=[plain, self.kind.partition(":")[0], self.number])


def make(user: User, subject: Subject, request: HttpRequest) -> str:
    """Create an address of the feed. It is shown once and cannot be read again."""
    _feed, plain = feeds.make(user, name=subject.name[:100], source=SOURCE, kind=subject.kind, request=request)
    return full_address(subject.path(plain))


def of(user: User, subject: Subject) -> QuerySet[StreamFeed]:
    """Return the active addresses of this feed."""
    rows: QuerySet[StreamFeed] = feeds.of(user).filter(source=SOURCE, kind=subject.kind)
    return rows


def find(plain: str, kind: str, number: str) -> tuple[Subject, StreamFeed] | None:
    """The board or topic, when the token opens its feed: one of its own, or one that opens all of the stream."""
    feed = feeds.find(plain)
    if feed is None or feed.source not in ("", SOURCE) or feed.kind not in ("", f"{kind}:{number}"):
        return None
    subject = subject_of(kind, number)
    return (subject, feed) if subject else None


def subject_of(kind: str, number: str) -> Subject | None:
    """Return the board or topic named by the end of an address, or None."""
    found = NUMBER.fullmatch(number)
    if found is None:
        return None
    if kind == "board":
        forum = Forum.objects.filter(source_forum_id=int(found[1])).first()
        return Subject(forum=forum) if forum else None
    if kind != "topic":
        return None
    fid = int(found[2]) if found[2] else None
    thread = Thread.objects.numbered(int(found[1]), fid).with_mirrors().select_related("forum").first()
    return Subject(thread=thread) if thread else None


def document(subject: Subject, plain: str, language: str) -> bytes:
    """The newest entries, in the language of whom the address belongs to."""
    with translation.override(language or "en"):
        head = Feed(
            id=stable_id(SOURCE, subject.kind),
            title=f"Watchbook: {subject.name}",
            link=subject.page,
            self_link=subject.path(plain),
            language="zh-Hans" if language.startswith("zh") else "en",
        )
        return atom(head, _floors(subject.thread) if subject.thread else _topics(subject.forum))


def _topics(forum: Forum | None) -> list[Item]:
    rows = list(Thread.objects.filter(forum=forum).with_mirrors().order_by("-thread_created_at", "-pk")[:ENTRIES])
    texts = ThreadSearchDocument.objects.filter(pk__in=[thread.pk for thread in rows])
    by_id = dict(texts.values_list("pk", "first_post_plain_text"))
    return [
        Item(
            id=stable_id(SOURCE, "topic", thread.source_thread_id),
            title=thread.title,
            text=f"{thread.author_name}\n\n{by_id.get(thread.pk, '')[:TEXT]}",
            link=path(thread),
            updated_at=thread.thread_created_at,
            categories=(SOURCE, *((thread.title_prefix_text,) if thread.title_prefix_text else ())),
        )
        for thread in rows
    ]


def _floors(thread: Thread) -> list[Item]:
    rows = Post.objects.filter(thread=thread).order_by("-floor_number")[:ENTRIES]
    return [
        Item(
            id=stable_id(SOURCE, "floor", thread.source_thread_id, post.source_post_id),
            title=f"#{post.floor_number} {post.author_name}",
            text=plain_text(post.content_html)[:TEXT],
            link=path(thread, "floor", post.floor_number),
            updated_at=post.content_last_changed_at or post.post_created_at,
            published_at=post.post_created_at,
            categories=(SOURCE,),
        )
        for post in rows
    ]
