"""Honouring deletions: words and author of every version go, the row stays as a tombstone with ids, times and hash."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from watchbook.core.accounts import audit
from watchbook.core.search import index
from watchbook.core.stream.models import StreamEntry
from watchbook.sources.reddit.models import PostRaw
from watchbook.sources.reddit.models.posts import SOURCE
from watchbook.sources.reddit.store import hot
from watchbook.sources.reddit.store.reading import forget_cached
from watchbook.sources.reddit.store.telling import KIND, SYSTEM

BATCH = 200


def blank_posts(
    rows: Sequence[PostRaw], now: datetime, *, actor: object = None, reason: str = "deleted at Reddit"
) -> int:
    """Blank all versions of these posts, and every copy: hot, cache, search, stream. Writes one audit row."""
    ids = [row.source_post_id for row in rows]
    if not ids:
        return 0
    versions = PostRaw.objects.of(ids).update(
        title="", content="", author="", extra_data={}, blanked_at=now, updated_at=now, recheck_due=None
    )
    hot.forget(ids)
    forget_cached({row.subreddit for row in rows})
    index.remove(KIND, ids)
    StreamEntry.objects.filter(source=SYSTEM, object_kind=KIND, object_id__in=ids).update(title="", summary="")
    audit.record(
        "reddit.blanked", actor=actor, subject=f"{len(ids)} posts", posts=ids, versions=versions, reason=reason
    )
    return versions


def next_to_blank() -> list[PostRaw]:
    return list(PostRaw.objects.to_blank().filter(source=SOURCE).only("source_post_id", "subreddit")[:BATCH])
