"""Atom feeds: the new topics of a board, the newest floors of a topic. An address carries a token for this one feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation

from watchbook.core.stream import feeds
from watchbook.core.stream.atom import Feed, Item, atom, full_address, stable_id
from watchbook.core.stream.models import StreamFeed
from watchbook.sources.nga.models import Forum, Post, Thread, ThreadSearchDocument
from watchbook.sources.nga.views.content import plain_text

SOURCE = "nga"
ENTRIES = 50
TEXT = 2000


@dataclass(frozen=True)
class Subject:
    """What a feed is about: a board or a topic."""

    forum: Forum | None = None
    thread: Thread | None = None

    @property
    def number(self) -> int:
        return self.thread.source_thread_id if self.thread else self.forum.source_forum_id  # type: ignore[union-attr]

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
            return reverse("nga:topic", args=[self.number])
        return f"{reverse('nga:topics')}?fid={self.number}"

    def path(self, plain: str) -> str:
        return reverse("nga:feed", args=[plain, self.kind.partition(":")[0], str(self.number)])


def make(user: Any, subject: Subject, request: HttpRequest) -> str:
    """A new address of the feed; nobody can read it again."""
    _feed, plain = feeds.make(user, name=subject.name[:100], source=SOURCE, kind=subject.kind, request=request)
    return full_address(subject.path(plain))


def of(user: Any, subject: Subject) -> QuerySet[StreamFeed]:
    """The addresses of this feed that still work."""
    rows: QuerySet[StreamFeed] = feeds.of(user).filter(source=SOURCE, kind=subject.kind)
    return rows


def find(plain: str, kind: str, number: str) -> tuple[Subject, StreamFeed] | None:
    """The board or topic, when the token opens its feed: one of its own, or one that opens all of the stream."""
    feed = feeds.find(plain)
    if feed is None or feed.source not in ("", SOURCE) or feed.kind not in ("", f"{kind}:{number}"):
        return None
    subject = _subject(kind, number)
    return (subject, feed) if subject else None


def _subject(kind: str, number: str) -> Subject | None:
    if not number.removeprefix("-").isdigit() or not number.isascii() or len(number) > 18:
        return None
    if kind == "board":
        forum = Forum.objects.filter(source_forum_id=int(number)).first()
        return Subject(forum=forum) if forum else None
    thread = Thread.objects.filter(source_thread_id=int(number)).order_by("pk").first() if kind == "topic" else None
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
    rows = list(Thread.objects.filter(forum=forum).order_by("-thread_created_at", "-pk")[:ENTRIES])
    texts = ThreadSearchDocument.objects.filter(pk__in=[thread.pk for thread in rows])
    by_id = dict(texts.values_list("pk", "first_post_plain_text"))
    return [
        Item(
            id=stable_id(SOURCE, "topic", thread.source_thread_id),
            title=thread.title,
            text=f"{thread.author_name}\n\n{by_id.get(thread.pk, '')[:TEXT]}",
            link=reverse("nga:topic", args=[thread.source_thread_id]),
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
            link=reverse("nga:floor", args=[thread.source_thread_id, post.floor_number]),
            updated_at=post.content_last_changed_at or post.post_created_at,
            published_at=post.post_created_at,
            categories=(SOURCE,),
        )
        for post in rows
    ]
