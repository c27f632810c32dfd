"""Addresses of a topic's pages; activity entries and search documents of topics and posts."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cache
from typing import NamedTuple

from django.urls import get_script_prefix, reverse

from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.core.stream import entries as stream
from watchbook.systems.nga.models import Forum, Post, Thread, ThreadSearchDocument
from watchbook.systems.nga.models.forum import FLOORS_PER_PAGE
from watchbook.systems.nga.store import versions
from watchbook.systems.nga.store.versions import Change


def path(thread: Thread, name: str = "topic", *args: int) -> str:
    numbers = (thread.source_thread_id, *args)
    pattern = _pattern(get_script_prefix(), name, len(numbers))
    return f"{pattern.format(*numbers)}{thread.at_board}"


@cache
def _pattern(_prefix: str, name: str, count: int) -> str:
    """An address with places for its numbers: looking one up costs as much as storing a floor."""
    marks = [10**9 + number for number in range(count)]
    found = reverse(f"nga:{name}", args=marks)
    for number, mark in enumerate(marks):
        found = found.replace(str(mark), f"{{{number}}}")
    return found


def page_path(thread: Thread, number: int) -> str:
    """One page of its floors."""
    start = path(thread)
    return start if number <= 1 else f"{start}{'&' if '?' in start else '?'}page={number}"


def floor_url(thread: Thread, floor_number: int) -> str:
    """Return the address of a post on its page, whether it is stored or not."""
    return f"{page_path(thread, floor_number // FLOORS_PER_PAGE + 1)}#f{floor_number}"


SOURCE, SCOPE, KIND, POST_KIND = "nga", "members", "nga_thread", "nga_post"
NEW_TOPIC, TITLE_CHANGED, EDITED, DELETED, FOLDED, GONE = (
    "new_topic", "title_changed", "edited", "deleted", "folded", "gone"
)  # fmt: skip
KIND_OF_REASON = {versions.CONTENT: EDITED, versions.DELETED: DELETED, versions.FOLDED: FOLDED}
SEARCHED = Columns(ThreadSearchDocument, ["thread", "title_text", "first_post_plain_text", "updated_at"])
# A column of text takes more; nobody searches for the hundred-thousandth word of an opening post.
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
