"""What the archive tells the house: search documents of topics, and lines of the stream."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse

from watchbook.base.store.upsert import upsert
from watchbook.base.text import clean_text
from watchbook.core.search import index
from watchbook.core.stream import record as stream
from watchbook.sources.nga.models import ChangeReason, Post, Thread, ThreadSearchDocument
from watchbook.sources.nga.store import fit

SOURCE, SCOPE, KIND = "nga", "members", "nga_thread"
NEW_TOPIC, TITLE_CHANGED, EDITED, DELETED, FOLDED, GONE = (
    "new_topic", "title_changed", "edited", "deleted", "folded", "gone"
)  # fmt: skip
KIND_OF_REASON = {ChangeReason.CONTENT: EDITED, ChangeReason.DELETED: DELETED, ChangeReason.FOLDED: FOLDED}
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
    known = dict(
        ThreadSearchDocument.objects.filter(pk__in=[thread.pk for thread in threads]).values_list(
            "pk", "first_post_plain_text"
        )
    )
    text = plain_text(opening_html) if opening_html is not None else None
    rows = [
        ThreadSearchDocument(
            thread_id=thread.pk,
            title_text=thread.title,
            first_post_plain_text=known.get(thread.pk, "") if text is None else text,
            updated_at=now,
        )
        for thread in threads
    ]
    upsert(ThreadSearchDocument, rows, unique=["thread"], update=["title_text", "first_post_plain_text", "updated_at"])
    texts = {row.thread_id: row.first_post_plain_text for row in rows}
    index.put(_document(thread, texts[thread.pk]) for thread in threads)


def _document(thread: Thread, text: str) -> index.Document:
    return index.Document(
        kind=KIND,
        object_id=str(thread.pk),
        scope=SCOPE,
        title=thread.title,
        body=text,
        url_path=topic_path(thread),
        occurred_at=thread.thread_created_at,
        source=SOURCE,
    )


def topic_path(thread: Thread) -> str:
    return reverse("nga:topic", args=[thread.source_thread_id])


def tell_topics(threads: Iterable[Thread], kind: str, now: datetime) -> None:
    stream.record(
        stream.Entry(
            source=SOURCE,
            kind=kind,
            title=thread.title,
            summary=thread.author_name,
            url_path=topic_path(thread),
            scope=SCOPE,
            object_kind="nga_thread",
            object_id=str(thread.pk),
            occurred_at=thread.thread_created_at if kind == NEW_TOPIC else now,
            event_key="" if kind == NEW_TOPIC else f"{now:%Y%m%dT%H%M%S}",
        )
        for thread in threads
    )


def tell_floors(thread: Thread, changed: Iterable[tuple[Post, Iterable[str]]], now: datetime) -> None:
    """One line for each floor that was edited, deleted or folded."""
    stream.record(
        stream.Entry(
            source=SOURCE,
            kind=KIND_OF_REASON[ChangeReason(reason)],
            title=thread.title,
            summary=fit.summary(f"#{post.floor_number} {post.author_name}"),
            url_path=reverse("nga:floor", args=[thread.source_thread_id, post.floor_number]),
            scope=SCOPE,
            object_kind="nga_post",
            object_id=str(post.pk),
            occurred_at=now,
            event_key=f"{now:%Y%m%dT%H%M%S}",
        )
        for post, reasons in changed
        for reason in reasons
    )
