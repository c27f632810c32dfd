"""The most frequent write in plain SQL: scores of posts whose text is as it was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from watchbook.sources.reddit.models.posts import SOURCE
from watchbook.sources.reddit.store.deciding import Decision

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
