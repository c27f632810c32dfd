"""Which of a page's ids are known: asked for every page, so in plain SQL. Through the ORM a hundred ids cost 3 ms."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection

from watchbook.sources.reddit.models.posts import SOURCE


def anchors(post_ids: Iterable[str], until: datetime) -> set[str]:
    """Ids that prove something: seen in `new` by a visit, up to this moment, that itself had joined up."""
    moment = connection.ops.adapt_datetimefield_value(until)
    return _ids("posts_raw", post_ids, " AND seen_in_new AND first_seen_at <= %s", moment)


def hot_ids(post_ids: Iterable[str]) -> set[str]:
    return _ids("posts_hot", post_ids)


def among(post_ids: Iterable[str]) -> tuple[str, list[str]]:
    """A condition that holds for these posts, and its values."""
    ids = list(post_ids)
    return f"source = %s AND source_post_id IN ({', '.join(['%s'] * len(ids))})", [SOURCE, *ids]


def _ids(table: str, post_ids: Iterable[str], condition: str = "", *values: Any) -> set[str]:
    is_one, ids = among(post_ids)
    if len(ids) == 1:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT source_post_id FROM {table} WHERE {is_one}{condition}", [*ids, *values])  # noqa: S608
        return {row[0] for row in cursor.fetchall()}
