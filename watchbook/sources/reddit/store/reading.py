"""Reading the posts of a community for people and programs: cache, then hot store, then cold. Hits are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.core.cache import cache

from watchbook.sources.reddit import options
from watchbook.sources.reddit.models import PostHot, PostRaw
from watchbook.sources.reddit.parse import PostRecord
from watchbook.sources.reddit.store import metrics

# Read from the hot store, a list is kept for a moment only: the next visit may bring more.
PASSING_SECONDS = 60


def read_posts(community: str, *, limit: int, now: datetime) -> list[dict[str, Any]]:
    """The newest posts of a community, newest first, from the nearest place that has them."""
    kept = cache.get(_key(community))
    if isinstance(kept, list) and kept:
        metrics.add_read(True, now)
        return kept[:limit]
    hot = list(PostHot.objects.filter(subreddit=community, expires_at__gt=now).order_by("-created_at", "-pk")[:limit])
    if hot:
        metrics.add_read(True, now)
        found = [_from_hot(row) for row in hot]
        cache.set(_key(community), found, PASSING_SECONDS)
        return found
    metrics.add_read(False, now)
    cold = PostRaw.objects.valid().filter(subreddit=community).order_by("-created_at", "-pk")[:limit]
    return [_from_cold(row) for row in cold]


def cache_posts(community: str, posts: Sequence[PostRecord]) -> int:
    """The batch crawl's own store: the cache alone, for as long as posts stay hot."""
    kept = [_from_record(post) for post in posts if not post.is_gone][: options.POST_LIMIT.value]
    cache.set(_key(community), kept, int(options.HOT_TTL_HOURS.value * 3600))
    return len(kept)


def forget_cached(communities: Iterable[str]) -> None:
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
