"""Communities, the community list, crawl metrics and the shared access row."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock

NAME_LENGTH = 100
QUALITY_TIERS = ("tier1", "tier2", "tier3")
# A community that is due a few seconds after a run starts must not wait for the next run.
TICK_SLACK = timedelta(seconds=60)
# No interval, backoff or pause is longer: the clock of the server was wrong.
FAR_AHEAD = timedelta(days=8)
# `iexact` and `icontains` ignore case only on some databases.
FOLDED = Lower("community_name")


class CommunityPriority(models.TextChoices):
    """Priority of a community: its first tier and the maximum time between two crawls."""

    HIGH = "high", _p("community", "High")
    MEDIUM = "medium", _p("community", "Medium")
    LOW = "low", _p("community", "Low")


class Outcome(models.TextChoices):
    """Outcome of a crawl. Only `ok` and `empty` say how active the community is."""

    OK = "ok", _p("crawl", "Read")
    EMPTY = "empty", _p("crawl", "Empty")
    SUSPICIOUS_EMPTY = "suspicious_empty", _p("crawl", "Unexpectedly empty")
    PRIVATE = "private", _p("crawl", "Private")
    BANNED = "banned", _p("crawl", "Banned")
    NONEXISTENT = "nonexistent", _p("crawl", "Does not exist")
    QUARANTINED = "quarantined", _p("crawl", "Quarantined")
    FORBIDDEN = "forbidden", _p("crawl", "Access refused")
    THROTTLED = "throttled", _p("crawl", "Too many requests (429)")
    UPSTREAM = "upstream", _p("crawl", "Reddit error (5xx)")
    UNREACHABLE = "unreachable", _p("crawl", "Could not connect")
    WALL = "wall", _p("crawl", "Web page instead of data")
    GARBAGE = "garbage", _p("crawl", "Unreadable response")
    AUTH = "auth", _p("crawl", "Sign-in refused")
    BUSY = "busy", _p("crawl", "Rate limited")


# Only these disable a community after repeated crawls: they concern the community itself.
REFUSALS = (Outcome.PRIVATE, Outcome.BANNED, Outcome.NONEXISTENT, Outcome.QUARANTINED, Outcome.FORBIDDEN)


class CommunityPool(models.Model):
    """A community of the list. `tier` is the priority; the computed tier is in CommunityCache."""

    name = models.CharField(max_length=NAME_LENGTH, unique=True, db_comment="r/webdev")
    tier = models.CharField(
        max_length=10,
        choices=CommunityPriority.choices,
        default=CommunityPriority.MEDIUM,
        db_default=CommunityPriority.MEDIUM.value,
    )
    categories = models.JSONField(default=list, blank=True)
    quality_score = models.FloatField(default=0.0, db_default=0.0)
    is_active = models.BooleanField(default=True, db_default=True)
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "community_pool"
        constraints = [
            models.CheckConstraint(condition=models.Q(tier__in=CommunityPriority.values), name="community_pool_tier")
        ]

    def __str__(self) -> str:
        return self.name


class ListingState(models.Model):
    """How far a listing of a community was read: shared by the listings of posts and of comments."""

    # The column that holds the newest item of the listing.
    LAST_SEEN = ""

    last_crawled_at = models.DateTimeField(null=True, blank=True)
    last_seen_created_at = models.DateTimeField(null=True, blank=True)
    empty_hit = models.IntegerField(default=0, db_default=0)
    success_hit = models.IntegerField(default=0, db_default=0)
    failure_hit = models.IntegerField(default=0, db_default=0)
    next_due = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)
    # Items per day as a fraction, for the schedule.
    rate = models.FloatField(default=0.0)
    # All items since this time are stored; older ones may be missing.
    covered_from = models.DateTimeField(null=True, blank=True)
    # Start of the last complete crawl. Items of later, incomplete crawls prove nothing.
    last_complete_at = models.DateTimeField(null=True, blank=True)
    # Time of the last incomplete crawl, and whether its gap is still open.
    possible_gap = models.BooleanField(default=False)
    gap_at = models.DateTimeField(null=True, blank=True)
    gap_count = models.IntegerField(default=0)
    last_outcome = models.CharField(max_length=20, choices=Outcome.choices, blank=True, default="")
    # Failures in a row, of any kind; refusals in a row, and since when.
    failures_in_row = models.IntegerField(default=0)
    refusals_in_row = models.IntegerField(default=0)
    refused_since = models.DateTimeField(null=True, blank=True)
    deep_walked_at = models.DateTimeField(null=True, blank=True)
    request_count = models.BigIntegerField(default=0)

    class Meta:
        abstract = True

    community_name: str | models.CharField[str, str]

    @property
    def last_seen_id(self) -> str:
        return getattr(self, self.LAST_SEEN) or ""

    def see(self, item_id: str, created_at: datetime) -> None:
        """Move the last seen item."""
        setattr(self, self.LAST_SEEN, item_id)
        self.last_seen_created_at = created_at

    @property
    def subreddit(self) -> str:
        """Return the name without r/."""
        return str(self.community_name).removeprefix("r/")


class CommunityCacheQuerySet(models.QuerySet["CommunityCache"]):
    def active(self) -> CommunityCacheQuerySet:
        return self.filter(is_active=True)

    def due(self, now: datetime) -> CommunityCacheQuerySet:
        """Filter due communities, the longest waiting first."""
        is_due = models.Q(next_due__lte=now + TICK_SLACK) | models.Q(next_due__gt=now + FAR_AHEAD)
        return self.active().filter(is_due).order_by("next_due", "community_name")

    def low_quality(self, now: datetime) -> CommunityCacheQuerySet:
        """Filter active communities with fewer than 50 posts per day, not crawled for 8 hours, oldest first."""
        return (
            self.active()
            .filter(last_crawled_at__lt=now - timedelta(hours=8), avg_valid_posts__lt=50)
            .order_by("last_crawled_at", "community_name")
        )

    def named(self, name: str) -> CommunityCache | None:
        """Return the community with this name. Names of Reddit ignore case."""
        return self.filter(community_name=name).first() or self.alias(folded=FOLDED).filter(folded=name.lower()).first()


class CommunityCache(ListingState):
    """State of a community: last seen post, averages, computed tier, crawl counters and next crawl."""

    LAST_SEEN = "last_seen_post_id"

    community_name = models.CharField(max_length=NAME_LENGTH, unique=True)
    # Newest post in a `new` listing, for display and the gap check. New posts are detected by ID.
    last_seen_post_id = models.CharField(max_length=20, null=True, blank=True)
    posts_cached = models.IntegerField(default=0, db_default=0)
    avg_valid_posts = models.IntegerField(default=0, db_default=0, db_comment="new valid posts per day over seven days")
    quality_tier = models.CharField(max_length=10, default="tier3", db_default="tier3")
    crawl_frequency_hours = models.IntegerField(default=24, db_default=24, db_comment="promised maximum age")
    is_active = models.BooleanField(default=True, db_default=True)
    inactive_reason = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(default=clock.now)
    top_read_at = models.DateTimeField(null=True, blank=True)
    # Usual points per hour before each recheck, {"1": 2.5, "2": 0.4}, and when they were calculated.
    usual_rates = models.JSONField(null=True, blank=True)
    usual_rates_at = models.DateTimeField(null=True, blank=True)

    objects = CommunityCacheQuerySet.as_manager()

    class Meta:
        db_table = "community_cache"
        indexes = [
            models.Index(fields=["is_active", "next_due"], name="community_due"),
            models.Index(fields=["-avg_valid_posts"], name="community_busiest"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(quality_tier__in=QUALITY_TIERS), name="community_cache_tier")
        ]

    def __str__(self) -> str:
        return self.community_name


class CrawlKind(models.TextChoices):
    """What a crawl read: new items until known ones, the whole listing, or the top listing."""

    NEW = "new", _p("crawl kind", "Crawl")
    FULL = "full", _p("crawl kind", "Full scan")
    TOP = "top", _p("crawl kind", "Top listing")
    COMMENTS = "comments", _p("crawl kind", "Comments")
    ALL_COMMENTS = "comments_full", _p("crawl kind", "Full scan of comments")


class Crawl(models.Model):
    """One crawl of one community with its outcome, written in the transaction of its posts or comments."""

    community_name = models.CharField(max_length=NAME_LENGTH)
    crawled_at = models.DateTimeField()
    kind = models.CharField(max_length=20, choices=CrawlKind.choices, default=CrawlKind.NEW)
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    detail = models.CharField(max_length=200, blank=True, default="")
    new_posts = models.IntegerField(default=0)
    updated_posts = models.IntegerField(default=0)
    unchanged_posts = models.IntegerField(default=0)
    versions = models.IntegerField(default=0)
    requests = models.IntegerField(default=0)
    duration_seconds = models.FloatField(default=0.0)
    possible_gap = models.BooleanField(default=False)

    class Meta:
        db_table = "reddit_crawls"
        indexes = [
            models.Index(fields=["community_name", "-crawled_at"], name="reddit_crawls_community"),
            models.Index(fields=["-crawled_at", "-id"], name="reddit_crawls_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.community_name} {self.crawled_at:%Y-%m-%d %H:%M} {self.outcome}"


class Access(models.Model):
    """Token and rate limit of one client, changed by compare-and-swap on `revision`. Times are Unix milliseconds."""

    name = models.CharField(max_length=120, unique=True, db_comment="whose limit: base address and client")
    revision = models.BigIntegerField(default=0)
    # State of fetch/rate_limit.py: requests in flight and done, pauses, lowered limits.
    state = models.JSONField(default=dict)
    granted_count = models.BigIntegerField(default=0)
    sealed_token = models.TextField(blank=True, default="")
    token_until_ms = models.BigIntegerField(default=0)
    # A process fetches a new token until then.
    token_lease_ms = models.BigIntegerField(default=0)

    class Meta:
        db_table = "reddit_access"


class CrawlMetrics(models.Model):
    """Metrics of one hour in Shanghai time. Workers add with single UPDATEs; sums are stored next to averages."""

    metric_date = models.DateField()
    metric_hour = models.IntegerField()
    cache_hit_rate = models.FloatField(
        default=0.0, db_default=0.0, db_comment="share of reads that needed no cold store"
    )
    valid_posts_24h = models.IntegerField(default=0, db_default=0)
    total_communities = models.IntegerField(default=0, db_default=0)
    successful_crawls = models.IntegerField(default=0, db_default=0)
    empty_crawls = models.IntegerField(default=0, db_default=0)
    failed_crawls = models.IntegerField(default=0, db_default=0)
    avg_latency_seconds = models.FloatField(default=0.0, db_default=0.0)
    total_new_posts = models.IntegerField(default=0, db_default=0)
    total_updated_posts = models.IntegerField(default=0, db_default=0)
    total_duplicates = models.IntegerField(default=0, db_default=0)
    total_new_comments = models.IntegerField(default=0, db_default=0)
    tier_assignments = models.JSONField(default=dict)

    requests = models.IntegerField(default=0, db_default=0)
    gaps = models.IntegerField(default=0, db_default=0)
    freshness_p50_seconds = models.FloatField(null=True, blank=True)
    freshness_p95_seconds = models.FloatField(null=True, blank=True)
    cache_reads = models.IntegerField(default=0, db_default=0)
    cache_hits = models.IntegerField(default=0, db_default=0)
    # The sum of the average: adding is atomic, averaging is not.
    latency_seconds = models.FloatField(default=0.0, db_default=0.0)
    # When delay, tiers and posts of the last day were last calculated for this hour.
    described_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "crawl_metrics"
        constraints = [
            models.UniqueConstraint(fields=["metric_date", "metric_hour"], name="crawl_metrics_hour"),
            models.CheckConstraint(
                condition=models.Q(metric_hour__gte=0, metric_hour__lte=23), name="crawl_metrics_hour_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric_date} {self.metric_hour:02}"

    @property
    def new_posts_per_request(self) -> float | None:
        return self.total_new_posts / self.requests if self.requests else None


class CrawlDay(models.Model):
    """Metrics of one day, calculated after midnight from its hours and posts."""

    metric_date = models.DateField(unique=True)
    requests = models.IntegerField(default=0)
    successful_crawls = models.IntegerField(default=0)
    empty_crawls = models.IntegerField(default=0)
    failed_crawls = models.IntegerField(default=0)
    total_new_posts = models.IntegerField(default=0)
    total_updated_posts = models.IntegerField(default=0)
    total_duplicates = models.IntegerField(default=0)
    total_new_comments = models.IntegerField(default=0, db_default=0)
    gaps = models.IntegerField(default=0)
    cache_hit_rate = models.FloatField(null=True, blank=True)
    avg_latency_seconds = models.FloatField(null=True, blank=True)
    freshness_p50_seconds = models.FloatField(null=True, blank=True)
    freshness_p95_seconds = models.FloatField(null=True, blank=True)
    # Posts that only a full scan found: the number of missed posts.
    found_by_deep_walk = models.IntegerField(default=0)

    class Meta:
        db_table = "crawl_metrics_daily"
