"""Scores over time: a point when a post is first seen and at each recheck, and how fast the post rises.

`rising` compares the points per hour since the point before with what is usual in the community at this age: the median
of the last four weeks. It is 0 if less than ten posts were measured, if the post gained fewer than five points, if the
post is gone, and after the last recheck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db import connection

from watchbook.base.store.rows import Columns
from watchbook.systems.reddit.models import CommunityCache, PostPoint, PostRaw
from watchbook.systems.reddit.models.posts import SOURCE
from watchbook.systems.reddit.parse import PostRecord
from watchbook.systems.reddit.store.decide import RECHECK_AGES, Decision, Step

ROWS = Columns(PostPoint, [
    "source_post_id", "subreddit", "at", "step", "score", "num_comments", "upvote_ratio", "per_hour",
])  # fmt: skip
USUAL_SPAN = timedelta(days=28)
USUAL_EVERY = timedelta(hours=24)
# The newest points of a busy community are enough for a median.
MAX_USUAL_POINTS = 2000
MIN_USUAL_POINTS = 10
MIN_GAIN = 5
MIN_USUAL = 0.1
SET_RISING = "UPDATE posts_raw SET rising = %s WHERE source = %s AND source_post_id = %s AND is_current"


def store_points(
    decisions: Sequence[Decision], communities: Mapping[str, str], now: datetime, *, is_look: bool
) -> None:
    """Write points of posts that are seen first, or of all posts of a recheck (`is_look`).

    `communities` are names by post ID.
    """
    first = [one.record for one in decisions if one.step is Step.NEW]
    ROWS.insert([_values(record, communities, now, 0, None) for record in first], pass_over=True)
    if is_look:
        known = [one.record for one in decisions if one.step is not Step.NEW]
        _store_looks(known, communities, now)
    else:
        _carry([one for one in decisions if one.closes])


def _store_looks(records: Sequence[PostRecord], communities: Mapping[str, str], now: datetime) -> None:
    if not records:
        return
    before = _last_points([record.post_id for record in records])
    usual = usual_rates({communities[record.post_id] for record in records}, now)
    rows, rising = [], []
    for record in records:
        step = sum(record.created_at + age <= now for age in RECHECK_AGES)
        at, score = before.get(record.post_id, (record.created_at, 0))
        hours = (now - at) / timedelta(hours=1)
        per_hour = (record.score - score) / hours if hours > 0 else None
        rows.append(_values(record, communities, now, step, per_hour))
        is_watched = 0 < step < len(RECHECK_AGES) and not record.is_gone and record.score - score >= MIN_GAIN
        ordinary = usual[communities[record.post_id]].get(str(step))
        ratio = (per_hour or 0.0) / max(ordinary, MIN_USUAL) if is_watched and ordinary is not None else 0.0
        rising.append((round(max(ratio, 0.0), 2), SOURCE, record.post_id))
    ROWS.insert(rows, pass_over=True)
    _set_rising(rising)


def _values(
    record: PostRecord, communities: Mapping[str, str], now: datetime, step: int, per_hour: float | None
) -> tuple[Any, ...]:
    """Return values in the order of `ROWS`."""
    ratio = record.extra_data.get("upvote_ratio")
    home = communities[record.post_id]
    return (record.post_id, home, now, step, record.score, record.num_comments, ratio, per_hour)


def _last_points(post_ids: Iterable[str]) -> dict[str, tuple[datetime, int]]:
    points = PostPoint.objects.filter(source_post_id__in=list(post_ids)).order_by("at")
    return {post_id: (at, score) for post_id, at, score in points.values_list("source_post_id", "at", "score")}


def usual_rates(names: Iterable[str], now: datetime) -> dict[str, dict[str, float]]:
    """Return the usual points per hour by step of these communities; calculate those that are older than a day."""
    found: dict[str, dict[str, float]] = {name: {} for name in names}
    for row in CommunityCache.objects.filter(community_name__in=list(found)):
        if row.usual_rates_at is None or now - row.usual_rates_at >= USUAL_EVERY:
            row.usual_rates, row.usual_rates_at = _calculate(row.community_name, now), now
            row.save(update_fields=["usual_rates", "usual_rates_at"])
        found[row.community_name] = row.usual_rates or {}
    return found


def _calculate(name: str, now: datetime) -> dict[str, float]:
    newest = PostPoint.objects.filter(subreddit=name, at__gte=now - USUAL_SPAN, step__gt=0).exclude(per_hour=None)
    by_step: dict[int, list[float]] = {}
    for step, per_hour in newest.order_by("-at").values_list("step", "per_hour")[:MAX_USUAL_POINTS]:
        by_step.setdefault(step, []).append(per_hour or 0.0)
    return {str(step): median(rates) for step, rates in by_step.items() if len(rates) >= MIN_USUAL_POINTS}


def _carry(changed: Sequence[Decision]) -> None:
    """A new text is a new row: the value of the row before stays with the post."""
    closed = [one.closes.pk for one in changed if one.closes]
    if closed:
        rows = PostRaw.objects.filter(pk__in=closed, rising__gt=0).values_list("rising", "source", "source_post_id")
        _set_rising(list(rows))


def _set_rising(values: Sequence[tuple[float, str, str]]) -> None:
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(SET_RISING, values)
