"""What the archive tells the house: search documents of topics, and lines of the stream."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from datetime import datetime

from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text
from watchbook.core.search import index
from watchbook.core.stream import record as stream
from watchbook.sources.nga.models import Thread, ThreadSearchDocument
from watchbook.sources.nga.paths import path
from watchbook.sources.nga.store import versions
from watchbook.sources.nga.store.versions import Change

SOURCE, SCOPE, KIND = "nga", "members", "nga_thread"
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
    index.put(_document(thread, texts.get(thread.pk, "")) for thread in threads)


def _known_texts(threads: Iterable[Thread]) -> dict[int, str]:
    rows = ThreadSearchDocument.objects.filter(pk__in=[thread.pk for thread in threads])
    return dict(rows.values_list("pk", "first_post_plain_text"))


def _document(thread: Thread, text: str) -> index.Document:
    return index.Document(
        kind=KIND,
        object_id=str(thread.pk),
        scope=SCOPE,
        title=thread.title,
        body=text,
        url_path=path(thread),
        occurred_at=thread.thread_created_at,
        source=SOURCE,
    )


def tell_topics(threads: Iterable[Thread], kind: str, now: datetime) -> None:
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


def tell_floors(thread: Thread, changes: Iterable[Change], now: datetime) -> None:
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
