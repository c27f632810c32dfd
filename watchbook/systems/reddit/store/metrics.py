"""Metrics per hour and per day. Workers add to an hour with single UPDATE statements, so that no count is lost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import F, FloatField, Sum
from django.db.models.functions import Cast

from watchbook.base.clock import SHANGHAI
from watchbook.base.store.rows import upsert
from watchbook.systems.reddit.models import CommunityCache, CrawlDay, CrawlMetrics, FoundBy, Outcome, PostRaw
from watchbook.systems.reddit.records import COMMENTS, CrawlReport, Tally

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
