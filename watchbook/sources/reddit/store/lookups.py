"""Which of a page's ids are known: asked for every page, so in plain SQL. Through the ORM a hundred ids cost 3 ms."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection

from watchbook.sources.reddit.models.posts import SOURCE

AMONG = "SELECT source_post_id FROM {table} WHERE source = %s AND source_post_id IN ({marks})"


def anchors(post_ids: Iterable[str], until: datetime) -> set[str]:
    """Ids that prove something: seen in `new` by a visit, up to this moment, that itself had joined up."""
    moment = connection.ops.adapt_datetimefield_value(until)
    return _among("posts_raw", post_ids, " AND seen_in_new AND first_seen_at <= %s", moment)


def hot_ids(post_ids: Iterable[str]) -> set[str]:
    return _among("posts_hot", post_ids)


def _among(table: str, post_ids: Iterable[str], condition: str = "", *values: Any) -> set[str]:
    ids = list(post_ids)
    if not ids:
        return set()
    sql = AMONG.format(table=table, marks=", ".join(["%s"] * len(ids))) + condition
    with connection.cursor() as cursor:
        cursor.execute(sql, [SOURCE, *ids, *values])
        return {row[0] for row in cursor.fetchall()}
