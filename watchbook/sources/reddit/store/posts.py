"""Posts into the cold store: one upsert for a whole reading, spans and closures for the few whose text changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import connection

from watchbook.base.store.rows import Columns
from watchbook.sources.reddit.models import FoundBy, PostRaw, PostSpan
from watchbook.sources.reddit.models.posts import SOURCE
from watchbook.sources.reddit.parse import PostRecord
from watchbook.sources.reddit.records import Tally
from watchbook.sources.reddit.store import hot, refresh, telling
from watchbook.sources.reddit.store.deciding import Decision, KnownRow, Step, decide, next_recheck
from watchbook.sources.reddit.store.lookups import among

KEY = ["source", "source_post_id", "text_norm_hash"]
# What a known row takes over from a look. Never title and content: those are what the row is about.
REFRESHED = [
    "score", "num_comments", "version", "is_current", "valid_from", "valid_to", "removed_by_category",
    "author_deleted", "seen_in_new", "observed_at", "updated_at", "recheck_due", "recheck_step", "missing_looks",
    "extra_data",
]  # fmt: skip
NEW = Columns(PostRaw, [
    "source", "source_post_id", "text_norm_hash", "subreddit", "title", "content", "author", "created_at",
    "first_seen_at", "found_by", *REFRESHED,
])  # fmt: skip
KNOWN = Columns(PostRaw, [
    "id", "source_post_id", "text_norm_hash", "version", "is_current", "score", "num_comments",
    "removed_by_category", "author_deleted", "seen_in_new", "valid_from", "first_seen_at", "recheck_due",
    "recheck_step", "missing_looks", "found_by", "blanked_at",
])  # fmt: skip
# Every opened version is by now the current row of its post.
SPANS = """
    INSERT INTO posts_raw_spans (post_id, source_post_id, version, valid_from)
    SELECT id, source_post_id, version, %s FROM posts_raw WHERE is_current AND {condition}
"""


@dataclass(frozen=True)
class Reading:
    """From where and when records come. `moves_recheck` is set by the look-up by id, which counts its looks.

    Posts older than `history_before` are history from before the first visit: nobody missed them.
    """

    community: str
    now: datetime
    found_by: str
    is_new_listing: bool
    moves_recheck: bool = False
    history_before: datetime | None = None
    # Where posts of many communities come together: post id -> community. Else all are of `community`.
    by_post: Mapping[str, str] = field(default_factory=dict)

    def community_of(self, record: PostRecord) -> str:
        return self.by_post.get(record.post_id, self.community)

    def found(self, record: PostRecord) -> str:
        is_history = self.history_before is not None and record.created_at < self.history_before
        return FoundBy.BASELINE if is_history else self.found_by


def known_rows(post_ids: Iterable[str]) -> dict[str, list[KnownRow]]:
    """Every version of these posts by id, without their texts."""
    found: dict[str, list[KnownRow]] = {}
    for values in KNOWN.select(*among(post_ids)):
        state = [values[-1] is not None, values[2] == hidden_hash(values[1])]
        row = KnownRow(*[*values[:-1], *state])
        found.setdefault(row.post_id, []).append(row)
    return found


def hidden_hash(post_id: str) -> str:
    """Stands for the text of a post that was removed before anybody here saw it."""
    return sha256(f"hidden\x1f{post_id}".encode()).hexdigest()


def store_posts(records: Sequence[PostRecord], reading: Reading) -> Tally:
    """Write a reading: cold, hot, search and stream. The community's row is locked by the caller."""
    if not records:
        return Tally()
    known = known_rows(record.post_id for record in records)
    decisions = [decide(record, known.get(record.post_id, [])) for record in records]
    _reveal([one for one in decisions if one.step is Step.REVEALED])
    _close([one.closes for one in decisions if one.closes], reading.now)
    new = [one for one in decisions if one.step is Step.NEW]
    # Under the lock of the community nothing can be in the way of a row that nobody knows.
    NEW.insert([_values(one, reading) for one in new])
    written = [one for one in decisions if one.step is not Step.NEW and _needs_row(one, reading)]
    NEW.upsert([_values(one, reading) for one in written], unique=KEY, update=REFRESHED)
    _open_spans([one for one in decisions if one.opens_version], reading.now)
    _refresh([one for one in decisions if not _needs_row(one, reading)], reading.now)
    hot.store_hot(decisions, community_of=reading.community_of, now=reading.now)
    telling.tell_posts(decisions, reading)
    return _tally(decisions)


def _needs_row(one: Decision, reading: Reading) -> bool:
    """More than counts is to be written."""
    row = one.row
    if row is None or one.step not in (Step.SAME, Step.HIDDEN) or reading.moves_recheck or row.missing_looks:
        return True
    state = (one.record.removed_by_category, one.record.author_deleted)
    if state != (row.removed_by_category, row.author_deleted):
        return True
    return reading.is_new_listing and not row.seen_in_new


def _refresh(same: Sequence[Decision], now: datetime) -> None:
    refresh.refresh_cold([one for one in same if one.is_news], now)
    untouched = [one.row.pk for one in same if one.row and not one.is_news]
    if untouched:
        PostRaw.objects.filter(pk__in=untouched).update(observed_at=now)


def _tally(decisions: Sequence[Decision]) -> Tally:
    new = sum(one.step is Step.NEW for one in decisions)
    updated = sum(one.is_news for one in decisions) - new
    versions = sum(one.step in (Step.CHANGED, Step.RETURNED) for one in decisions)
    return Tally(new, updated, len(decisions) - new - updated, versions)


def _values(one: Decision, reading: Reading) -> tuple[Any, ...]:
    """In the order of `NEW`."""
    record, row, now = one.record, one.row, reading.now
    digest = row.text_norm_hash if row and one.step is not Step.REVEALED else record.text_norm_hash
    before = row or one.closes
    due, step = _recheck(one, reading)
    fixed = (
        SOURCE,
        record.post_id,
        digest or hidden_hash(record.post_id),
        reading.community_of(record),
        record.title,
        record.text or "",
        record.author,
        record.created_at,
        before.first_seen_at if before else now,
        before.found_by if before else str(reading.found(record)),
    )
    refreshed = {
        "score": record.score,
        "num_comments": record.num_comments,
        "version": one.version,
        "is_current": True,
        "valid_from": now if one.opens_version or row is None else row.valid_from,
        "valid_to": None,
        "removed_by_category": record.removed_by_category,
        "author_deleted": record.author_deleted,
        "seen_in_new": reading.is_new_listing or (before.seen_in_new if before else False),
        "observed_at": now,
        "updated_at": now,
        "recheck_due": due,
        "recheck_step": step,
        "missing_looks": 0,
        "extra_data": _extra(record),
    }
    return (*fixed, *refreshed.values())


def _recheck(one: Decision, reading: Reading) -> tuple[datetime | None, int]:
    before = one.row or one.closes
    if before is None or reading.moves_recheck:
        return next_recheck(one.record.created_at, reading.now)
    return before.recheck_due, before.recheck_step


def _extra(record: PostRecord) -> dict[str, Any]:
    extra = dict(record.extra_data)
    if record.url:
        extra["url"] = record.url
    if record.edited_at:
        extra["edited_at"] = record.edited_at.isoformat()
    return extra


def _reveal(revealed: Sequence[Decision]) -> None:
    """The words of a row that had none, or that were blanked: it was not there, and now it is."""
    for one in revealed:
        assert one.row is not None
        PostRaw.objects.filter(pk=one.row.pk).update(
            title=one.record.title,
            content=one.record.text or "",
            author=one.record.author,
            text_norm_hash=one.record.text_norm_hash,
            blanked_at=None,
        )


def _close(rows: Sequence[KnownRow], now: datetime) -> None:
    pks = [row.pk for row in rows]
    if pks:
        PostRaw.objects.filter(pk__in=pks).update(is_current=False, valid_to=now, recheck_due=None)
        PostSpan.objects.filter(post_id__in=pks, valid_to=None).update(valid_to=now)


def _open_spans(opened: Sequence[Decision], now: datetime) -> None:
    if not opened:
        return
    condition, ids = among(one.record.post_id for one in opened)
    with connection.cursor() as cursor:
        moment = connection.ops.adapt_datetimefield_value(now)
        cursor.execute(SPANS.format(condition=condition), [moment, *ids])
