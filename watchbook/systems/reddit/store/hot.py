"""The hot copies and the cache of posts; erases title, text and author of all versions and copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import QuerySet

from watchbook.base.store.rows import Columns
from watchbook.core.accounts import audit
from watchbook.core.erase import erase
from watchbook.systems.reddit import options
from watchbook.systems.reddit.models import PostHot, PostRaw
from watchbook.systems.reddit.models.posts import KIND, SOURCE
from watchbook.systems.reddit.parse import PostRecord
from watchbook.systems.reddit.store import files, metrics
from watchbook.systems.reddit.store.comments import erase_thread_titles
from watchbook.systems.reddit.store.decide import Decision, Step, hot_ids, refresh_hot
from watchbook.systems.reddit.store.erased import without_words

CHANGED = ["subreddit", "title", "content", "score", "expires_at", "extra_data"]
ROWS = Columns(PostHot, ["source", "source_post_id", "created_at", *CHANGED])


def store_hot(decisions: Sequence[Decision], *, community_of: Callable[[PostRecord], str], now: datetime) -> None:
    """Copy visible posts. A copy with unchanged text gets the new score and expiry."""
    expires = now + timedelta(hours=options.HOT_TTL_HOURS.value)
    seen = [one for one in decisions if not one.record.is_gone and one.record.text is not None]
    here = hot_ids(one.record.post_id for one in seen)
    known = [one for one in seen if one.record.post_id in here]
    refresh_hot([one for one in known if one.step is Step.SAME], expires)
    changed = [_copy(one.record, community_of(one.record), expires) for one in known if one.step is not Step.SAME]
    ROWS.upsert(changed, unique=["source", "source_post_id"], update=CHANGED)
    fresh = [one.record for one in seen if one.record.post_id not in here]
    ROWS.insert([_copy(record, community_of(record), expires) for record in fresh])
    gone = [one.record.post_id for one in decisions if one.record.is_gone and one.row is not None]
    if gone:
        delete_copies(gone)


def _copies(post_ids: Iterable[str]) -> QuerySet[PostHot]:
    return PostHot.objects.filter(source=SOURCE, source_post_id__in=list(post_ids))


def _copy(record: PostRecord, community: str, expires: datetime) -> tuple[Any, ...]:
    """Return values in the order of `ROWS`."""
    extra = {**record.extra_data, "num_comments": record.num_comments, "author": record.author}
    shown = (community, record.title, record.text or "", record.score, expires, extra)
    return (SOURCE, record.post_id, record.created_at, *shown)


def erase_authors(post_ids: Sequence[str]) -> None:
    """Erase the author name in hot copies and cached lists."""
    copies = list(_copies(post_ids))
    for copy in copies:
        copy.extra_data = {**copy.extra_data, "author": "", "author_fullname": ""}
    PostHot.objects.bulk_update(copies, ["extra_data"])
    clear_cached({copy.subreddit for copy in copies})


def delete_copies(post_ids: Sequence[str]) -> None:
    _copies(post_ids).delete()


def delete_expired(now: datetime, batch: int = 5000) -> int:
    """Delete one batch of expired copies and return its size. Batches keep locks short."""
    pks = list(PostHot.objects.filter(expires_at__lt=now).order_by("expires_at").values_list("pk", flat=True)[:batch])
    return PostHot.objects.filter(pk__in=pks).delete()[0] if pks else 0


# A list from the hot store is cached briefly: the next crawl may find more.
HOT_READ_SECONDS = 60


def read_posts(community: str, *, limit: int, now: datetime) -> list[dict[str, Any]]:
    """Return the newest posts of a community from cache, hot store or full store."""
    kept = cache.get(_key(community))
    if isinstance(kept, list) and kept:
        metrics.add_read(True, now)
        return kept[:limit]
    hot = list(PostHot.objects.filter(subreddit=community, expires_at__gt=now).order_by("-created_at", "-pk")[:limit])
    if hot:
        metrics.add_read(True, now)
        found = [_from_hot(row) for row in hot]
        cache.set(_key(community), found, HOT_READ_SECONDS)
        return found
    metrics.add_read(False, now)
    cold = PostRaw.objects.valid().filter(subreddit=community).order_by("-created_at", "-pk")[:limit]
    return [_from_cold(row) for row in cold]


def cache_posts(community: str, posts: Sequence[PostRecord]) -> int:
    """Write posts of the batch crawl to the cache only."""
    worded = [post for post in without_words(posts) if not post.is_gone and post.text is not None]
    kept = [_from_record(post) for post in worded][: options.POST_LIMIT.value]
    cache.set(_key(community), kept, int(options.HOT_TTL_HOURS.value * 3600))
    return len(kept)


def clear_cached(communities: Iterable[str]) -> None:
    cache.delete_many([_key(name) for name in communities])


def _key(community: str) -> str:
    return f"reddit:posts:{community.lower()}"


def _from_hot(row: PostHot) -> dict[str, Any]:
    extra = row.extra_data
    return _item(row.source_post_id, row, extra.get("num_comments", 0), extra.get("author", ""))


def _from_cold(row: PostRaw) -> dict[str, Any]:
    return _item(row.source_post_id, row, row.num_comments, row.author)


def _item(post_id: str, row: PostHot | PostRaw, comments: int, author: str) -> dict[str, Any]:
    return {
        "source_post_id": post_id,
        "title": row.title,
        "content": row.content,
        "author": author,
        "score": row.score,
        "num_comments": comments,
        "created_at": row.created_at.isoformat(),
    }


def _from_record(post: PostRecord) -> dict[str, Any]:
    return {
        "source_post_id": post.post_id,
        "title": post.title,
        "content": post.text or "",
        "author": post.author,
        "score": post.score,
        "num_comments": post.num_comments,
        "created_at": post.created_at.isoformat(),
    }


BATCH = 200


def erase_posts(
    rows: Sequence[PostRaw], now: datetime, *, actor: object = None, reason: str = "deleted on Reddit"
) -> int:
    """Erase all versions of these posts and all copies, and write one audit row. Return the number of versions."""
    ids = [row.source_post_id for row in rows]
    if not ids:
        return 0
    versions = PostRaw.objects.of(ids).update(
        title="", content="", author="", extra_data={}, blanked_at=now, updated_at=now, recheck_due=None
    )
    delete_copies(ids)
    clear_cached({row.subreddit for row in rows})
    erase(KIND, ids)
    files.release(ids)
    erase_thread_titles(ids, now)
    audit.record(
        "reddit.blanked", actor=actor, subject=f"{len(ids)} posts", posts=ids, versions=versions, reason=reason
    )
    return versions


def next_to_erase() -> list[PostRaw]:
    return list(PostRaw.objects.to_erase().filter(source=SOURCE).only("source_post_id", "subreddit")[:BATCH])
