"""Is a floor different from what is stored? The version before a change is kept, with the reasons in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from watchbook.base.store.rows import Columns
from watchbook.sources.nga.models import ChangeReason, Post, PostRevision, Thread
from watchbook.sources.nga.parse import FloorRecord
from watchbook.sources.nga.store import fit
from watchbook.sources.nga.store.known import KnownFloor

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
    """A floor that is gone for good."""
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


def new_floor(thread: Thread, record: FloorRecord, now: datetime, cuts: fit.Cuts) -> NewFloor:
    return NewFloor(
        thread.pk,
        record.source_post_id,
        record.floor_number,
        fit.text(record.author_name, fit.NAME, "author", cuts),
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
