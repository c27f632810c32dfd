"""What crawling did and cost: one row per hour (Shanghai time), one per day."""

from __future__ import annotations

from django.db import models


class CrawlMetrics(models.Model):
    """One hour. Every worker adds to it by single UPDATEs; averages are kept with what they are averages of."""

    metric_date = models.DateField()
    metric_hour = models.IntegerField()
    cache_hit_rate = models.FloatField(default=0.0, db_comment="share of reads that needed no cold store")
    valid_posts_24h = models.IntegerField(default=0)
    total_communities = models.IntegerField(default=0)
    successful_crawls = models.IntegerField(default=0)
    empty_crawls = models.IntegerField(default=0)
    failed_crawls = models.IntegerField(default=0)
    avg_latency_seconds = models.FloatField(default=0.0)
    total_new_posts = models.IntegerField(default=0)
    total_updated_posts = models.IntegerField(default=0)
    total_duplicates = models.IntegerField(default=0)
    tier_assignments = models.JSONField(default=dict)

    requests = models.IntegerField(default=0)
    gaps = models.IntegerField(default=0)
    freshness_p50_seconds = models.FloatField(null=True, blank=True)
    freshness_p95_seconds = models.FloatField(null=True, blank=True)
    cache_reads = models.IntegerField(default=0)
    cache_hits = models.IntegerField(default=0)
    # The sum behind the average: adding is atomic, averaging is not.
    latency_seconds = models.FloatField(default=0.0)
    # When freshness, tiers and the posts of the day were last worked out for this hour.
    described_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "crawl_metrics"
        constraints = [models.UniqueConstraint(fields=["metric_date", "metric_hour"], name="crawl_metrics_hour")]

    def __str__(self) -> str:
        return f"{self.metric_date} {self.metric_hour:02}"

    @property
    def new_posts_per_request(self) -> float | None:
        return self.total_new_posts / self.requests if self.requests else None


class CrawlDay(models.Model):
    """One day, made after midnight from its hours and posts."""

    metric_date = models.DateField(unique=True)
    requests = models.IntegerField(default=0)
    successful_crawls = models.IntegerField(default=0)
    empty_crawls = models.IntegerField(default=0)
    failed_crawls = models.IntegerField(default=0)
    total_new_posts = models.IntegerField(default=0)
    total_updated_posts = models.IntegerField(default=0)
    total_duplicates = models.IntegerField(default=0)
    gaps = models.IntegerField(default=0)
    cache_hit_rate = models.FloatField(null=True, blank=True)
    avg_latency_seconds = models.FloatField(null=True, blank=True)
    freshness_p50_seconds = models.FloatField(null=True, blank=True)
    freshness_p95_seconds = models.FloatField(null=True, blank=True)
    # Posts that a deep walk found although visits should have: the measure of what is missed.
    found_by_deep_walk = models.IntegerField(default=0)

    class Meta:
        db_table = "crawl_metrics_daily"
