"""Decides what a record means for the stored versions of its post; plain SQL of the frequent statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from django.db import connection

from watchbook.systems.reddit.models import Comment, FoundBy
from watchbook.systems.reddit.models.posts import SOURCE
from watchbook.systems.reddit.parse import Item, PostRecord

# Ages at which a post is rechecked.
RECHECK_AGES = (timedelta(hours=2), timedelta(hours=24), timedelta(hours=72))


@dataclass(frozen=True)
class Reading:
    """Origin of records. `moves_recheck` is set for rechecks, which count their attempts.

    Posts and comments older than `history_before` were written before the first crawl, so they were not missed.
    """

    community: str
    now: datetime
    found_by: str
    is_new_listing: bool
    moves_recheck: bool = False
    history_before: datetime | None = None
    # For items of several communities: ID -> community.
    by_id: Mapping[str, str] = field(default_factory=dict)

    def community_of(self, record: Item) -> str:
        return self.by_id.get(record.item_id, self.community)

    def found(self, record: Item) -> str:
        is_history = self.history_before is not None and record.created_at < self.history_before
        return FoundBy.BASELINE if is_history else self.found_by


class Step(Enum):
    NEW = "new"  # unknown post
    SAME = "same"  # the text is the current one
    CHANGED = "changed"  # a new text
    RETURNED = "returned"  # an earlier text
    HIDDEN = "hidden"  # Reddit shows a placeholder: the stored text does not change
    REVEALED = "revealed"  # the row had no text, or it was erased: the text is written into the row


@dataclass(frozen=True)
class KnownRow:
    """The columns of posts_raw that a decision needs."""

    pk: int
    post_id: str
    text_norm_hash: str
    version: int
    is_current: bool
    score: int
    num_comments: int
    removed_by_category: str
    author_deleted: bool
    seen_in_new: bool
    valid_from: datetime
    first_seen_at: datetime
    recheck_due: datetime | None
    recheck_step: int
    missing_looks: int
    found_by: str
    author: str
    is_erased: bool
    is_hidden: bool


@dataclass(frozen=True)
class Decision:
    """`row` is the current row from now on, if it exists; `closes` is the row that ends."""

    step: Step
    record: PostRecord
    row: KnownRow | None = None
    closes: KnownRow | None = None
    version: int = 1

    @property
    def opens_version(self) -> bool:
        return self.step in (Step.NEW, Step.CHANGED, Step.RETURNED)

    @property
    def was_gone(self) -> bool:
        before = self.closes or self.row
        return before is not None and bool(before.removed_by_category or before.author_deleted)

    @property
    def is_news(self) -> bool:
        """Return True if text, state, score or comments of a known post changed."""
        row = self.row
        if self.step is not Step.SAME and self.step is not Step.HIDDEN:
            return True
        assert row is not None
        now = (self.record.score, self.record.num_comments, self.record.removed_by_category, self.record.author_deleted)
        return now != (row.score, row.num_comments, row.removed_by_category, row.author_deleted)


def decide(record: PostRecord, rows: list[KnownRow]) -> Decision:
    """Decide what a record means. `rows` are all stored versions of its post."""
    current = next((row for row in rows if row.is_current), None)
    if current is None:
        return Decision(Step.NEW, record)
    if record.text is None:
        return Decision(Step.HIDDEN, record, row=current, version=current.version)
    same = record.text_norm_hash == current.text_norm_hash
    if current.is_hidden or (current.is_erased and same and not record.is_gone):
        return Decision(Step.REVEALED, record, row=current, version=current.version)
    if same:
        return Decision(Step.SAME, record, row=current, version=current.version)
    version = max(row.version for row in rows) + 1
    earlier = next((row for row in rows if row.text_norm_hash == record.text_norm_hash), None)
    step = Step.RETURNED if earlier else Step.CHANGED
    return Decision(step, record, row=earlier, closes=current, version=version)


def next_recheck(created_at: datetime, now: datetime) -> tuple[datetime | None, int]:
    """Return the time and number of the next recheck; the time is None if all are done."""
    for step, age in enumerate(RECHECK_AGES):
        if created_at + age > now:
            return created_at + age, step
    return None, len(RECHECK_AGES)


def anchors(post_ids: Iterable[str], until: datetime) -> set[str]:
    """Return the IDs that a complete crawl up to this time has seen in a `new` listing."""
    moment = connection.ops.adapt_datetimefield_value(until)
    return _ids("posts_raw", post_ids, " AND seen_in_new AND first_seen_at <= %s", moment)


def comment_anchors(comment_ids: Iterable[str], until: datetime) -> set[str]:
    """Return the IDs that a complete crawl up to this time has seen in a listing of comments."""
    seen = Comment.objects.of(comment_ids).filter(seen_in_new=True, first_seen_at__lte=until)
    return set(seen.values_list("comment_id", flat=True))


def hot_ids(post_ids: Iterable[str]) -> set[str]:
    return _ids("posts_hot", post_ids)


def among(post_ids: Iterable[str]) -> tuple[str, list[str]]:
    """Return an SQL condition for these posts, and its values."""
    ids = list(post_ids)
    return f"source = %s AND source_post_id IN ({', '.join(['%s'] * len(ids))})", [SOURCE, *ids]


def _ids(table: str, post_ids: Iterable[str], condition: str = "", *values: Any) -> set[str]:
    is_one, ids = among(post_ids)
    if len(ids) == 1:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT source_post_id FROM {table} WHERE {is_one}{condition}", [*ids, *values])  # noqa: S608
        return {row[0] for row in cursor.fetchall()}


COLD = "UPDATE posts_raw SET score = %s, num_comments = %s, observed_at = %s, updated_at = %s WHERE id = %s"
HOT = "UPDATE posts_hot SET score = %s, expires_at = %s WHERE source = %s AND source_post_id = %s"


def refresh_cold(same: Sequence[Decision], now: datetime) -> None:
    moment = connection.ops.adapt_datetimefield_value(now)
    _each(
        COLD,
        [(one.record.score, one.record.num_comments, moment, moment, one.row.pk) for one in same if one.row],
    )


def refresh_hot(same: Sequence[Decision], expires: datetime) -> None:
    moment = connection.ops.adapt_datetimefield_value(expires)
    _each(HOT, [(one.record.score, moment, SOURCE, one.record.post_id) for one in same])


def _each(sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)
