"""Compares crawled posts with stored ones; the records of the store and the limits of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections

from watchbook.base.store.rows import Columns, run
from watchbook.base.text import clean_text, cut
from watchbook.systems.nga.models import ChangeReason, Post, PostRevision, Thread
from watchbook.systems.nga.parse import FloorRecord, TopicPage

MAX_TITLE, MAX_PREFIX, MAX_NAME, MAX_TAG, MAX_FORUM_NAME, MAX_ERROR = 200, 40, 80, 50, 100, 200
MAX_COUNT = 2**31 - 1
MAX_SMALL = 2**15 - 1

Cuts = Counter[str]
"""Number of shortened values by kind, for the log and the figures of the run."""


def fit_text(value: str, length: int, kind: str, cuts: Cuts) -> str:
    value = clean_text(value)
    if len(value) <= length:
        return value
    cuts[kind] += 1
    return cut(value, length)


def fit_count(value: int) -> int:
    return max(0, min(value, MAX_COUNT))


def fit_small(value: int) -> int:
    return max(0, min(value, MAX_SMALL))


def fit_summary(value: str) -> str:
    return cut(" ".join(value.split()), MAX_ERROR)


@dataclass(frozen=True)
class PageReading:
    """One page of a topic that was read whole."""

    thread_id: int
    crawl_run_id: int
    run_thread_id: int
    page: TopicPage
    floors: tuple[FloorRecord, ...]
    """The page's own floors, and notes among them whose text was found elsewhere."""
    next_page: int | None
    """The page to crawl next; None when the topic is complete."""
    moves_on: bool = True
    """False: the topic's place stays where it is (single pages asked for by hand)."""
    before: TopicPage | None = None
    """The page that this run stored before, where the site's pages are not those of the archive."""


@dataclass(frozen=True)
class PageStored:
    new_count: int = 0
    updated_count: int = 0
    cuts: Cuts = field(default_factory=Cuts)


@dataclass(frozen=True)
class ListStored:
    """Result of storing a list page: changed topics, and all own topics inside the window."""

    changed: tuple[Thread, ...]
    in_window: frozenset[int]
    """Topic ids."""
    unfinished: frozenset[int]
    """Row ids of stored topics of the window that owe pages without having changed."""
    cuts: Cuts = field(default_factory=Cuts)


# What storing a page needs of its topic; anything else that is asked of it is read when it is asked.
THREAD = Columns(
    Thread,
    [
        "id", "forum_id", "source_thread_id", "title", "author_name", "thread_created_at", "is_digest",
        "crawl_page_total_last_seen", "crawl_backfill_next_page_number", "crawl_cursor_max_floor_number",
        "crawl_cursor_max_source_post_id",
    ],
)  # fmt: skip
# As Thread.is_mirror says it, which every address of the topic needs.
IS_MIRROR = "EXISTS (SELECT 1 FROM threads o WHERE o.source_thread_id = threads.source_thread_id AND o.id < threads.id)"
# The text, by far the largest, is read when needed.
FLOORS = """
SELECT p.id, p.source_post_id, p.floor_number, p.author_name, p.content_fingerprint_sha256, p.is_deleted_by_source,
    p.is_folded_by_source, a.reading_count, a.crawl_run_id, n.parent_source_post_id, f.known_values
FROM posts p LEFT JOIN post_absences a ON a.post_id = p.id LEFT JOIN post_facts f ON f.post_id = p.id
    LEFT JOIN note_parents n ON n.thread_id = p.thread_id AND n.source_post_id = p.source_post_id
WHERE p.thread_id = %s AND """


class KnownFloor(NamedTuple):
    """A stored floor, and how often whole readings of its page did not show it."""

    pk: int
    source_post_id: int
    floor_number: int
    author_name: str
    content_fingerprint_sha256: str
    is_deleted_by_source: bool
    is_folded_by_source: bool
    absent_count: int | None
    """None: it was there when its page was last read."""
    absent_run_id: int | None
    parent_post_id: int | None
    """The parent of a comment, if known; None for other posts."""
    known_facts: str | None
    """None: the site said nothing beside the text."""


def lock_thread(thread_id: int) -> Thread:
    """The topic's row, locked until the end of the transaction."""
    lock = " FOR UPDATE" if connections[DEFAULT_DB_ALIAS].features.has_select_for_update else ""
    found = THREAD.select(f"id = %s{lock}", [thread_id], also=IS_MIRROR)
    if not found:
        raise Thread.DoesNotExist(f"no topic has the row {thread_id}")
    *values, is_mirror = found[0]
    thread = Thread.from_db(DEFAULT_DB_ALIAS, THREAD.names, values)
    thread.is_mirror = bool(is_mirror)
    return thread


def known_posts(thread_id: int, span: range, numbers: Collection[int], pids: Collection[int]) -> dict[int, KnownFloor]:
    """Stored floors that have a number of the span or one of these numbers or post ids, by post id."""
    within = (span.start, span.stop - 1)
    wanted: list[tuple[str, Collection[int]]] = []
    if span:
        wanted.append(("p.floor_number BETWEEN %s AND %s", within))
    if beyond := set(numbers).difference(span):
        wanted.append((f"p.floor_number IN ({', '.join(['%s'] * len(beyond))})", beyond))
    if pids:
        # Most of them are in the span and need not be given twice.
        condition = f"p.source_post_id IN ({', '.join(['%s'] * len(pids))}) AND p.floor_number NOT BETWEEN %s AND %s"
        wanted.append((condition, (*pids, *within)))
    # Not by OR: SQLite would read all floors of the topic, which may be twenty thousand.
    statement = " UNION ALL ".join(FLOORS + condition for condition, _ in wanted)
    found = run(statement, [value for _, values in wanted for value in (thread_id, *values)])
    return {floor.source_post_id: floor for floor in map(KnownFloor._make, found)}


CONTENT, DELETED, FOLDED = ChangeReason.CONTENT.value, ChangeReason.DELETED.value, ChangeReason.FOLDED.value


class NewFloor(NamedTuple):
    """A row of `posts`; its key is left to the database."""

    thread_id: int
    source_post_id: int
    floor_number: int
    author_name: str
    author_source_user_id: int | None
    post_created_at: datetime
    content_html: str
    content_fingerprint_sha256: str
    is_deleted_by_source: bool
    is_folded_by_source: bool
    content_last_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime


NEW_FLOOR = Columns(Post, NewFloor._fields)
MARKS = ("is_deleted_by_source", "is_folded_by_source", "updated_at")
NEW_TEXT = Columns(Post, ["content_html", "content_fingerprint_sha256", "content_last_changed_at", *MARKS])
NEW_MARKS = Columns(Post, MARKS)
# The version before a change is in the floor's own row, from which it is copied.
REVISION = Columns(
    PostRevision,
    ["post_id", "revision_created_at", "source_edited_at", "change_detected_reason", "crawl_run_thread_id"],
)
KEPT = ("content_html", "content_fingerprint_sha256")


class Change(NamedTuple):
    """A stored floor that reads differently now. Without reasons only a mark was taken away: no version is made."""

    floor: KnownFloor
    reasons: tuple[str, ...]
    is_deleted: bool
    is_folded: bool
    record: FloorRecord | None = None
    """None: the floor was not there."""

    @property
    def has_new_text(self) -> bool:
        return self.record is not None and CONTENT in self.reasons

    @property
    def content_html(self) -> str:
        return self.record.content_html if self.record else ""


def difference(floor: KnownFloor, record: FloorRecord) -> Change | None:
    is_deleted, is_folded = record.is_deleted_by_source, record.is_folded_by_source
    reasons = []
    if record.content_fingerprint_sha256 != floor.content_fingerprint_sha256:
        # What moderators took away may come back empty; the text that was seen stays.
        is_emptied = (is_deleted or is_folded) and not record.content_source.strip()
        reasons += [] if is_emptied else [CONTENT]
    if is_deleted and not floor.is_deleted_by_source:
        reasons.append(DELETED)
    if is_folded and not floor.is_folded_by_source:
        reasons.append(FOLDED)
    if not reasons and (is_deleted, is_folded) == (floor.is_deleted_by_source, floor.is_folded_by_source):
        return None
    return Change(floor, tuple(reasons), is_deleted, is_folded, record)


def absent(floor: KnownFloor) -> Change:
    """A post that was deleted on the site."""
    return Change(floor, (DELETED,), True, floor.is_folded_by_source)


def reappeared(floor: KnownFloor) -> Change:
    """A floor that is there again, though its text cannot be seen here."""
    return Change(floor, (), False, floor.is_folded_by_source)


def apply(changes: Sequence[Change], run_thread_id: int, now: datetime) -> None:
    """Keep what was, write what is. Two queries for any number of edits, one more for other marks among them."""
    if not changes:
        return
    kept = [_revision(change, run_thread_id, now) for change in changes if change.reasons]
    REVISION.insert_copies(Post, KEPT, kept)
    texts, marks = [], []
    for change in changes:
        if change.record and change.has_new_text:
            texts.append(_new_text(change, change.record, now))
        else:
            marks.append((*_marks(change, now), change.floor.pk))
    NEW_TEXT.update(texts)
    NEW_MARKS.update(marks)


def _revision(change: Change, run_thread_id: int, now: datetime) -> tuple[object, ...]:
    # The stamp of the edit that replaced this version; a deletion alone has none.
    edited_at = change.record.source_edited_at if change.record and change.has_new_text else None
    return (change.floor.pk, now, edited_at, ";".join(change.reasons), run_thread_id, change.floor.pk)


def _new_text(change: Change, record: FloorRecord, now: datetime) -> tuple[object, ...]:
    text = (change.content_html, record.content_fingerprint_sha256, now)
    return (*text, *_marks(change, now), change.floor.pk)


def _marks(change: Change, now: datetime) -> tuple[object, ...]:
    return (change.is_deleted, change.is_folded, now)


def new_floor(thread: Thread, record: FloorRecord, now: datetime, cuts: Cuts) -> NewFloor:
    return NewFloor(
        thread.pk,
        record.source_post_id,
        record.floor_number,
        fit_text(record.author_name, MAX_NAME, "author", cuts),
        record.author_source_user_id,
        record.post_created_at or thread.thread_created_at,
        record.content_html,
        record.content_fingerprint_sha256,
        record.is_deleted_by_source,
        record.is_folded_by_source,
        None,
        now,
        now,
    )
