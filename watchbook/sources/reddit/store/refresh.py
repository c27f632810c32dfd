"""The two most frequent writes in plain SQL: posts that are new, and scores of those whose text is as it was.

Through the ORM a row costs a quarter of a millisecond of building; here it is one list of values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Model

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


def insert(model: type[Model], rows: Sequence[dict[str, Any]]) -> None:
    """Rows that nobody knows, under the lock of their community: nothing can be in the way. Defaults are filled in."""
    if not rows:
        return
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    sql = f"INSERT INTO {model._meta.db_table} ({names}) VALUES ({', '.join(['%s'] * len(fields))})"  # noqa: S608
    blank = {field.attname: field.get_default() for field in fields if field.attname not in rows[0]}
    adapt = _Adapter()
    order = [field.attname for field in fields]
    _each(sql, [tuple(adapt(row[name] if name in row else blank[name]) for name in order) for row in rows])


class _Adapter:
    """Values as the driver takes them. A visit has few moments; each is written out once, found again by identity."""

    def __init__(self) -> None:
        self._moments: dict[int, tuple[datetime, Any]] = {}

    def __call__(self, value: Any) -> Any:
        kind = type(value)
        if kind is datetime:
            kept = self._moments.get(id(value))
            if kept is None:
                kept = self._moments[id(value)] = (value, connection.ops.adapt_datetimefield_value(value))
            return kept[1]
        return json.dumps(value) if kind is dict else value


def _each(sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)
