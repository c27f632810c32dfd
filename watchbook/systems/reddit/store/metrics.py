"""Metrics per hour and per day. Workers add to an hour with single UPDATE statements, so that no count is lost.

Scores over time: a point when a post is first seen and at each recheck, and how fast the post rises.

`rising` compares the points per hour since the point before with what is usual in the community at this age: the median
of the last four weeks. It is 0 if less than ten posts were measured, if the post gained fewer than five points, if the
post is gone, and after the last recheck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from statistics import median
from typing import Any

from django.db import connection
from django.db.models import F, FloatField, Sum
from django.db.models.functions import Cast

from watchbook.base.clock import SHANGHAI
from watchbook.base.store.rows import Columns, upsert
from watchbook.systems.reddit.models import CommunityCache, CrawlDay, CrawlMetrics, FoundBy, Outcome, PostPoint, PostRaw
from watchbook.systems.reddit.models.posts import SOURCE
from watchbook.systems.reddit.parse import PostRecord
from watchbook.systems.reddit.records import COMMENTS, CrawlReport, Tally
from watchbook.systems.reddit.store.decide import RECHECK_AGES, Decision, Step

DESCRIBED_EVERY = timedelta(minutes=10)
# The mean comes first: MariaDB uses values that the same statement has just set, others the old ones.
COUNT_CRAWL = """
    UPDATE crawl_metrics SET
        avg_latency_seconds = (latency_seconds + %s) / (successful_crawls + empty_crawls + failed_crawls + 1),
        {kind} = {kind} + 1,
        total_new_posts = total_new_posts + %s,
        total_updated_posts = total_updated_posts + %s,
        total_duplicates = total_duplicates + %s,
        total_new_comments = total_new_comments + %s,
        requests = requests + %s,
        gaps = gaps + %s,
        latency_seconds = latency_seconds + %s
    WHERE metric_date = %s AND metric_hour = %s
"""


def hour_of(now: datetime) -> tuple[date, int]:
    wall = now.astimezone(SHANGHAI)
    return wall.date(), wall.hour


def hour_start(now: datetime) -> datetime:
    return now.astimezone(SHANGHAI).replace(minute=0, second=0, microsecond=0)


def add_crawl(report: CrawlReport, now: datetime) -> None:
    """Count one crawl of one listing, in plain SQL because it runs for every crawl."""
    kind = {Outcome.OK: "successful_crawls", Outcome.EMPTY: "empty_crawls"}.get(Outcome(report.outcome))
    kind = "empty_crawls" if report.outcome == Outcome.SUSPICIOUS_EMPTY else kind or "failed_crawls"
    seconds = report.duration_seconds
    tally = Tally() if report.listing == COMMENTS else report.tally
    comments = report.tally.new if report.listing == COMMENTS else 0
    found = (tally.new, tally.updated, tally.duplicates, comments)
    counts = (*found, report.http_request_count, int(report.possible_gap))
    values: list[Any] = [seconds, *counts, seconds, *hour_of(now)]
    with connection.cursor() as cursor:
        cursor.execute(COUNT_CRAWL.format(kind=kind), values)
        if not cursor.rowcount:
            _make_row(now)
            cursor.execute(COUNT_CRAWL.format(kind=kind), values)


def add_reading(tally: Tally, requests: int, now: datetime) -> None:
    """Count posts and requests of another reading: top listing, recheck or batch."""
    add(now, **_posts(tally), requests=F("requests") + requests)


def add_read(is_hit: bool, now: datetime) -> None:
    """Count one read of posts; `is_hit` if cache or hot store had them."""
    hits, reads = F("cache_hits") + int(is_hit), F("cache_reads") + 1
    add(now, cache_hit_rate=Cast(hits, FloatField()) / reads, cache_hits=hits, cache_reads=reads)


def add(now: datetime, **columns: Any) -> None:
    day, hour = hour_of(now)
    row = CrawlMetrics.objects.filter(metric_date=day, metric_hour=hour)
    if not row.update(**columns):
        _make_row(now)
        row.update(**columns)


def _make_row(now: datetime) -> None:
    day, hour = hour_of(now)
    CrawlMetrics.objects.bulk_create([CrawlMetrics(metric_date=day, metric_hour=hour)], ignore_conflicts=True)


def describe_hour(now: datetime, *, force: bool = False) -> None:
    """Update communities, tiers, posts of the last day and delay of this hour.

    Runs at most every 10 minutes unless `force`, because a crawl may start every minute.
    """
    day, hour = hour_of(now)
    recent = CrawlMetrics.objects.filter(metric_date=day, metric_hour=hour, described_at__gt=now - DESCRIBED_EVERY)
    if not force and recent.exists():
        return
    start = hour_start(now)
    delays = freshness(start, start + timedelta(hours=1))
    active = CommunityCache.objects.active()
    tiers: dict[str, list[str]] = {"tier1": [], "tier2": [], "tier3": []}
    for tier, name in active.order_by("community_name").values_list("quality_tier", "community_name"):
        tiers.setdefault(tier, []).append(name)
    add(
        now,
        described_at=now,
        total_communities=sum(map(len, tiers.values())),
        tier_assignments={tier: len(names) for tier, names in tiers.items()},
        valid_posts_24h=PostRaw.objects.valid().filter(created_at__gte=now - timedelta(days=1)).count(),
        freshness_p50_seconds=percentile(delays, 0.5),
        freshness_p95_seconds=percentile(delays, 0.95),
    )


def freshness(start: datetime, end: datetime) -> list[float]:
    """Return the sorted seconds from posted to first seen, for posts that crawls found in this span."""
    rows = PostRaw.objects.filter(
        first_seen_at__gte=start, first_seen_at__lt=end, found_by=FoundBy.NEW, is_current=True
    )
    return sorted((seen - made).total_seconds() for made, seen in rows.values_list("created_at", "first_seen_at"))


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest of the sorted values that at least this share does not exceed."""
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * len(ordered) * 1000) // 1000) - 1))]


def _posts(tally: Tally) -> dict[str, Any]:
    return {
        "total_new_posts": F("total_new_posts") + tally.new,
        "total_updated_posts": F("total_updated_posts") + tally.updated,
        "total_duplicates": F("total_duplicates") + tally.duplicates,
    }


def hit_rate(hits: int, reads: int) -> float | None:
    return hits / reads if reads else None


SUMMED = (
    "requests", "successful_crawls", "empty_crawls", "failed_crawls", "total_new_posts", "total_updated_posts",
    "total_duplicates", "total_new_comments", "gaps",
)  # fmt: skip


def store_day(day: date, start: datetime, end: datetime) -> CrawlDay:
    """Write the row of the day, or replace it."""
    names = (*SUMMED, "cache_hits", "cache_reads", "latency_seconds")
    sums = CrawlMetrics.objects.filter(metric_date=day).aggregate(**{name: Sum(name) for name in names})
    sums = {name: value or 0 for name, value in sums.items()}
    crawls = sums["successful_crawls"] + sums["empty_crawls"] + sums["failed_crawls"]
    delays = freshness(start, end)
    late = PostRaw.objects.current().filter(first_seen_at__gte=start, first_seen_at__lt=end, found_by=FoundBy.DEEP)
    row = CrawlDay(
        metric_date=day,
        **{name: sums[name] for name in SUMMED},
        cache_hit_rate=hit_rate(sums["cache_hits"], sums["cache_reads"]),
        avg_latency_seconds=sums["latency_seconds"] / crawls if crawls else None,
        freshness_p50_seconds=percentile(delays, 0.5),
        freshness_p95_seconds=percentile(delays, 0.95),
        found_by_deep_walk=late.count(),
    )
    columns = [field.name for field in CrawlDay._meta.concrete_fields if field.name not in ("id", "metric_date")]
    upsert(CrawlDay, [row], unique=["metric_date"], update=columns)
    return row


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
