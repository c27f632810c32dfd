"""Is a floor different from what is stored? The version before a change is kept, with the reasons in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from watchbook.base.text import clean_text
from watchbook.sources.nga.models import ChangeReason, Post, PostRevision, Thread
from watchbook.sources.nga.parse import FloorRecord
from watchbook.sources.nga.store import fit, rows

REASON_ORDER = (ChangeReason.CONTENT, ChangeReason.DELETED, ChangeReason.FOLDED)
UPDATED = [
    "content_html", "content_fingerprint_sha256", "is_deleted_by_source", "is_folded_by_source",
    "content_last_changed_at", "updated_at",
]  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A stored floor that reads differently now. Without reasons only a mark was taken away: no version is made."""

    post: Post
    reasons: tuple[str, ...]
    is_deleted: bool
    is_folded: bool
    record: FloorRecord | None = None
    """None: the floor was not there."""


def difference(post: Post, record: FloorRecord) -> Change | None:
    # What moderators took away may come back empty; the text that was seen stays.
    is_emptied = not record.content_source.strip() and (record.is_deleted_by_source or record.is_folded_by_source)
    is_new_text = not is_emptied and record.content_fingerprint_sha256 != post.content_fingerprint_sha256
    found = {
        ChangeReason.CONTENT: is_new_text,
        ChangeReason.DELETED: record.is_deleted_by_source and not post.is_deleted_by_source,
        ChangeReason.FOLDED: record.is_folded_by_source and not post.is_folded_by_source,
    }
    reasons = tuple(reason.value for reason in REASON_ORDER if found[reason])
    marks = (record.is_deleted_by_source, record.is_folded_by_source)
    if not reasons and marks == (post.is_deleted_by_source, post.is_folded_by_source):
        return None
    return Change(post, reasons, *marks, record=record)


def absent(post: Post) -> Change:
    """A floor that is gone for good."""
    return Change(post, (ChangeReason.DELETED.value,), True, post.is_folded_by_source)


def reappeared(post: Post) -> Change:
    """A floor that is there again, though its text cannot be seen here."""
    return Change(post, (), False, post.is_folded_by_source)


def apply(changes: Sequence[Change], run_thread_id: int, now: datetime) -> None:
    """Keep what was, write what is. Three queries, however many changes."""
    if not changes:
        return
    texts = dict(Post.objects.filter(pk__in=[change.post.pk for change in changes]).values_list("pk", "content_html"))
    kept = [_revision(change, texts[change.post.pk], run_thread_id, now) for change in changes if change.reasons]
    rows.insert(kept)
    for change in changes:
        _renew(change, texts[change.post.pk], now)
    rows.update([change.post for change in changes], UPDATED)


def _revision(change: Change, content_html: str, run_thread_id: int, now: datetime) -> PostRevision:
    is_edit = ChangeReason.CONTENT.value in change.reasons
    return PostRevision(
        post_id=change.post.pk,
        revision_created_at=now,
        # The stamp of the edit that replaced this version; a deletion alone has none.
        source_edited_at=change.record.source_edited_at if change.record and is_edit else None,
        content_html=content_html,
        content_fingerprint_sha256=change.post.content_fingerprint_sha256,
        change_detected_reason=";".join(change.reasons),
        crawl_run_thread_id=run_thread_id,
    )


def _renew(change: Change, content_html: str, now: datetime) -> None:
    post, record = change.post, change.record
    post.content_html = content_html
    if record is not None and ChangeReason.CONTENT.value in change.reasons:
        post.content_html = clean_text(record.content_html)
        post.content_fingerprint_sha256 = record.content_fingerprint_sha256
        post.content_last_changed_at = now
    post.is_deleted_by_source = change.is_deleted
    post.is_folded_by_source = change.is_folded
    post.updated_at = now


def new_post(thread: Thread, record: FloorRecord, now: datetime, cuts: fit.Cuts) -> Post:
    return Post(
        thread_id=thread.pk,
        source_post_id=record.source_post_id,
        floor_number=record.floor_number,
        author_name=fit.text(record.author_name, fit.NAME, "author", cuts),
        author_source_user_id=record.author_source_user_id,
        post_created_at=record.post_created_at or thread.thread_created_at,
        content_html=clean_text(record.content_html),
        content_fingerprint_sha256=record.content_fingerprint_sha256,
        is_deleted_by_source=record.is_deleted_by_source,
        is_folded_by_source=record.is_folded_by_source,
        created_at=now,
        updated_at=now,
    )
