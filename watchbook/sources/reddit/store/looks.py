"""Looks that did not find their post. One is an accident, two are an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from watchbook.sources.reddit.models import PostRaw
from watchbook.sources.reddit.store import hot
from watchbook.sources.reddit.store.deciding import next_recheck

LOOKS_UNTIL_GONE = 2
GONE = "missing"
# After the last regular look: once more, a day later.
AGAIN_AFTER = timedelta(hours=24)
MOST_TRIES = 6


def note_missing(post_ids: Sequence[str], now: datetime, *, counts: bool) -> None:
    """With `counts` the misses are about the posts; without it only the next look is set."""
    if not post_ids:
        return
    gone = []
    for row in PostRaw.objects.current().of(post_ids):
        row.missing_looks += int(counts)
        row.recheck_due, row.recheck_step = next_recheck(row.created_at, now)
        if row.missing_looks >= LOOKS_UNTIL_GONE:
            row.removed_by_category = row.removed_by_category or GONE
            gone.append(row.source_post_id)
        elif row.recheck_due is None and now - row.created_at < AGAIN_AFTER * MOST_TRIES:
            row.recheck_due = now + AGAIN_AFTER
        row.updated_at = now
        row.save(update_fields=["missing_looks", "recheck_due", "recheck_step", "removed_by_category", "updated_at"])
    if gone:
        hot.forget(gone)
