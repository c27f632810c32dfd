"""Stores posts with their versions, and publishes search documents and activity entries for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import connection

from watchbook.base.store.rows import Columns
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.reddit import options
from watchbook.systems.reddit.models import FoundBy, PostRaw, PostSpan
from watchbook.systems.reddit.models.comments import COMMENT_KIND
from watchbook.systems.reddit.models.posts import KIND, SOURCE
from watchbook.systems.reddit.parse import PostRecord
from watchbook.systems.reddit.records import Tally, community_path, post_path
from watchbook.systems.reddit.store import hot
from watchbook.systems.reddit.store.comments import search_attributes as comment_attributes
from watchbook.systems.reddit.store.decide import (
    Decision,
    KnownRow,
    Reading,
    Step,
    among,
    decide,
    next_recheck,
    refresh_cold,
)
from watchbook.systems.reddit.store.erased import mark_erased, without_words
from watchbook.systems.reddit.store.files import want_pictures
from watchbook.systems.reddit.store.metrics import store_points

KEY = ["source", "source_post_id", "text_norm_hash"]
# Columns of a known row that a record updates. Title and content belong to the version and do not change.
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
    "recheck_step", "missing_looks", "found_by", "author", "blanked_at",
])  # fmt: skip
# Every opened version is the current row of its post at this point.
SPANS = """
    INSERT INTO posts_raw_spans (post_id, source_post_id, version, valid_from)
    SELECT id, source_post_id, version, %s FROM posts_raw WHERE is_current AND {condition}
"""


def known_rows(post_ids: Iterable[str]) -> dict[str, list[KnownRow]]:
    """Return all versions of these posts by ID, without their text."""
    found: dict[str, list[KnownRow]] = {}
    for values in KNOWN.select(*among(post_ids)):
        state = [values[-1] is not None, values[2] == hidden_hash(values[1])]
        row = KnownRow(*[*values[:-1], *state])
        found.setdefault(row.post_id, []).append(row)
    return found


def hidden_hash(post_id: str) -> str:
    """Return the placeholder hash of a post that was removed before it was first seen."""
    return sha256(f"hidden\x1f{post_id}".encode()).hexdigest()


def store_posts(records: Sequence[PostRecord], reading: Reading) -> Tally:
    """Store records in full store, hot store, search and activity. The caller locks the community."""
    if not records:
        return Tally()
    given, records = records, without_words(records)
    known = known_rows(record.post_id for record in records)
    decisions = [decide(record, known.get(record.post_id, [])) for record in records]
    _reveal([one for one in decisions if one.step is Step.REVEALED])
    _close([one.closes for one in decisions if one.closes], reading.now)
    new = [one for one in decisions if one.step is Step.NEW]
    # The lock of the community excludes conflicts, so a plain insert is enough.
    NEW.insert([_values(one, reading) for one in new])
    written = [one for one in decisions if one.step is not Step.NEW and _needs_row(one, reading)]
    NEW.upsert([_values(one, reading) for one in written], unique=KEY, update=REFRESHED)
    _open_spans([one for one in decisions if one.opens_version], reading.now)
    _refresh([one for one in decisions if not _needs_row(one, reading)], reading.now)
    _erase_accounts(decisions, known)
    hot.store_hot(decisions, community_of=reading.community_of, now=reading.now)
    homes = {record.post_id: reading.community_of(record) for record in records}
    store_points(decisions, homes, reading.now, is_look=reading.moves_recheck)
    want_pictures(decisions, reading)
    publish_posts(decisions, reading)
    mark_erased(records, given, reading.now)
    return _tally(decisions)


def _erase_accounts(decisions: Sequence[Decision], known: Mapping[str, list[KnownRow]]) -> None:
    """Erase the author name of posts whose account was deleted, in every version and in the hot copy."""
    if not options.HONOR_DELETIONS.value:
        return
    nameless = (one.record.post_id for one in decisions if not one.record.author)
    ids = [post_id for post_id in nameless if any(row.author for row in known.get(post_id, ()))]
    if not ids:
        return
    for row in PostRaw.objects.of(ids):
        row.author, row.extra_data = "", {**row.extra_data, "author_fullname": ""}
        row.save(update_fields=["author", "extra_data"])
    hot.erase_authors(ids)
    index.erase_authors(KIND, ids)


def _needs_row(one: Decision, reading: Reading) -> bool:
    """Return True if more than score and comments must be written."""
    row = one.row
    if row is None or one.step not in (Step.SAME, Step.HIDDEN) or reading.moves_recheck or row.missing_looks:
        return True
    state = (one.record.removed_by_category, one.record.author_deleted)
    if state != (row.removed_by_category, row.author_deleted):
        return True
    return reading.is_new_listing and not row.seen_in_new


def _refresh(same: Sequence[Decision], now: datetime) -> None:
    refresh_cold([one for one in same if one.is_news], now)
    untouched = [one.row.pk for one in same if one.row and not one.is_news]
    if untouched:
        PostRaw.objects.filter(pk__in=untouched).update(observed_at=now)


def _tally(decisions: Sequence[Decision]) -> Tally:
    new = sum(one.step is Step.NEW for one in decisions)
    updated = sum(one.is_news for one in decisions) - new
    versions = sum(one.step in (Step.CHANGED, Step.RETURNED) for one in decisions)
    return Tally(new, updated, len(decisions) - new - updated, versions)


def _values(one: Decision, reading: Reading) -> tuple[Any, ...]:
    """Return values in the order of `NEW`."""
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
    """Write the text into rows that had none or were erased."""
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


SYSTEM, SCOPE = "reddit", "members"


def publish_posts(decisions: Sequence[Decision], reading: Reading) -> None:
    worded = [one for one in decisions if one.record.text is not None and one.step not in (Step.SAME, Step.HIDDEN)]
    if worded:
        index.put(_document(one, reading.community_of(one.record)) for one in worded)
    moved = {one.record.post_id: one.record.score for one in decisions if _has_new_score(one)}
    if moved:
        index.set_scores(KIND, moved)
    entries = list(_entries(decisions, reading))
    if entries:
        record(entries)


def _has_new_score(one: Decision) -> bool:
    """Return True if the text is as it was and its score is not: the search keeps scores up to date."""
    return one.step is Step.SAME and one.row is not None and one.row.score != one.record.score


def search_attributes(kind: str, ids: Collection[str]) -> dict[str, Attributes]:
    """Return author, community, linked website and score of stored posts or comments."""
    if kind == COMMENT_KIND:
        return comment_attributes(ids)
    found = PostRaw.objects.current().of(ids) if kind == KIND else PostRaw.objects.none()
    return {
        row.source_post_id: _attributes(row.author, row.subreddit, str(row.extra_data.get("url", "")), row.score)
        for row in found.filter(blanked_at=None)
    }


def _attributes(author: str, community: str, url: str, score: int) -> Attributes:
    return Attributes(author, community.removeprefix("r/"), url, score)


def publish_current(rows: Sequence[PostRaw]) -> None:
    """Write the search documents of stored posts again, without the parent of a crosspost."""
    index.put(
        index.Document(
            kind=KIND, object_id=row.source_post_id, scope=SCOPE, title=row.title,
            body="\n".join(filter(None, (row.subreddit, row.content, str(row.extra_data.get("url", ""))))),
            url_path=post_path(row.source_post_id), occurred_at=row.created_at, source=SYSTEM,
            attributes=_attributes(row.author, row.subreddit, str(row.extra_data.get("url", "")), row.score),
        )
        for row in rows
    )  # fmt: skip


def _document(one: Decision, community: str) -> index.Document:
    post = one.record
    return index.Document(
        kind=KIND,
        object_id=post.post_id,
        scope=SCOPE,
        title=post.title,
        body="\n".join(filter(None, (community, post.text, _parent_text(post), post.url))),
        url_path=post_path(post.post_id),
        occurred_at=post.created_at,
        source=SYSTEM,
        attributes=_attributes(post.author, community, post.url or "", post.score),
    )


def _parent_text(post: PostRecord) -> str:
    """Return title and text of the parent of a crosspost."""
    parent = post.extra_data.get("crosspost") or {}
    return "\n".join(filter(None, (parent.get("title"), parent.get("text"))))


def _entries(decisions: Sequence[Decision], reading: Reading) -> Iterator[Entry]:
    """Yield one entry per crawl for new posts, and one per post that changed its text or state."""
    new = sum(one.step is Step.NEW for one in decisions)
    if new and reading.found_by not in (FoundBy.BASELINE, FoundBy.IMPORT):
        yield Entry(
            source=SYSTEM, kind="posted", title=reading.community, summary=f"+{new}",
            url_path=community_path(reading.community), scope=SCOPE, object_kind="reddit_community",
            object_id=reading.community, occurred_at=reading.now, data={"added": new},
            event_key=f"{reading.found_by}:{reading.now:%Y%m%dT%H%M%S%f}",
        )  # fmt: skip
    for one in decisions:
        kind = _kind(one)
        if kind:
            yield _entry(one, kind, reading)


def _kind(one: Decision) -> str:
    if one.step is Step.NEW:
        return ""
    if one.record.is_gone != one.was_gone:
        return "removed" if one.record.is_gone else "restored"
    return "edited" if one.step in (Step.CHANGED, Step.RETURNED) else ""


def _entry(one: Decision, kind: str, reading: Reading) -> Entry:
    post, community = one.record, reading.community_of(one.record)
    by = post.removed_by_category or ("author" if post.author_deleted else "")
    key = f"v{one.version}" if kind == "edited" else f"{reading.now:%Y%m%dT%H%M%S}"
    return Entry(
        source=SYSTEM, kind=kind, title=community if kind == "removed" else post.title,
        summary=f"{community} {by}".strip(), url_path=post_path(post.post_id), scope=SCOPE, object_kind=KIND,
        object_id=post.post_id, occurred_at=reading.now, data={"community": community}, event_key=key,
    )  # fmt: skip
