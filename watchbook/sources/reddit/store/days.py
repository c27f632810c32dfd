"""One row per day, made from the hours."""

from __future__ import annotations

from datetime import date, datetime

from django.db.models import Sum

from watchbook.base.store.upsert import upsert
from watchbook.sources.reddit.models import CrawlDay, CrawlMetrics, FoundBy, PostRaw
from watchbook.sources.reddit.store.metrics import freshness, hit_rate, percentile

SUMMED = (
    "requests", "successful_crawls", "empty_crawls", "failed_crawls", "total_new_posts", "total_updated_posts",
    "total_duplicates", "gaps",
)  # fmt: skip


def store_day(day: date, start: datetime, end: datetime) -> CrawlDay:
    """Write the day's row, in place of an earlier one."""
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
