"""The hot copies: what was seen lately, until it expires. A post that is gone leaves at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from watchbook.base.store.rows import Columns
from watchbook.sources.reddit import options
from watchbook.sources.reddit.models import PostHot
from watchbook.sources.reddit.models.posts import SOURCE
from watchbook.sources.reddit.parse import PostRecord
from watchbook.sources.reddit.store import refresh
from watchbook.sources.reddit.store.deciding import Decision, Step
from watchbook.sources.reddit.store.lookups import hot_ids

CHANGED = ["subreddit", "title", "content", "score", "expires_at", "extra_data"]
ROWS = Columns(PostHot, ["source", "source_post_id", "created_at", *CHANGED])


def store_hot(decisions: Sequence[Decision], *, community_of: Callable[[PostRecord], str], now: datetime) -> None:
    """Copies of everything that can be seen. One whose text is as it was only lives longer and takes the new score."""
    expires = now + timedelta(hours=options.HOT_TTL_HOURS.value)
    seen = [one for one in decisions if not one.record.is_gone and one.record.text is not None]
    here = hot_ids(one.record.post_id for one in seen)
    known = [one for one in seen if one.record.post_id in here]
    refresh.refresh_hot([one for one in known if one.step is Step.SAME], expires)
    changed = [_copy(one.record, community_of(one.record), expires) for one in known if one.step is not Step.SAME]
    ROWS.upsert(changed, unique=["source", "source_post_id"], update=CHANGED)
    fresh = [one.record for one in seen if one.record.post_id not in here]
    ROWS.insert([_copy(record, community_of(record), expires) for record in fresh])
    gone = [one.record.post_id for one in decisions if one.record.is_gone and one.row is not None]
    if gone:
        forget(gone)


def _copies(post_ids: Iterable[str]) -> QuerySet[PostHot]:
    return PostHot.objects.filter(source=SOURCE, source_post_id__in=list(post_ids))


def _copy(record: PostRecord, community: str, expires: datetime) -> tuple[Any, ...]:
    """In the order of `ROWS`."""
    extra = {**record.extra_data, "num_comments": record.num_comments, "author": record.author}
    shown = (community, record.title, record.text or "", record.score, expires, extra)
    return (SOURCE, record.post_id, record.created_at, *shown)


def forget(post_ids: Sequence[str]) -> None:
    _copies(post_ids).delete()


def forget_expired(now: datetime, batch: int = 5000) -> int:
    """Delete what has expired, a batch at a time so that no lock is held for long. Gives how many; 0 when done."""
    pks = list(PostHot.objects.filter(expires_at__lt=now).order_by("expires_at").values_list("pk", flat=True)[:batch])
    return PostHot.objects.filter(pk__in=pks).delete()[0] if pks else 0
