"""Which communities are watched (the pool, the operator's wish) and what is known of each (the cache, computed)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock

NAME_LENGTH = 100
# A slot and a due time that were made a moment apart must not wait a whole slot for each other.
TICK_SLACK = timedelta(seconds=60)
# Where a database compares bytes, `iexact` and `icontains` find too little.
FOLDED = Lower("community_name")


class Wish(models.TextChoices):
    """What the operator wants of a community: its first tier, and the longest time between two visits."""

    HIGH = "high", _p("community", "High")
    MEDIUM = "medium", _p("community", "Medium")
    LOW = "low", _p("community", "Low")


class Outcome(models.TextChoices):
    """How a visit ended. None but `ok` and `empty` says anything about how busy the community is."""

    OK = "ok", _p("visit", "Read")
    EMPTY = "empty", _p("visit", "Empty")
    SUSPICIOUS_EMPTY = "suspicious_empty", _p("visit", "Suddenly empty")
    PRIVATE = "private", _p("visit", "Private")
    BANNED = "banned", _p("visit", "Banned")
    NONEXISTENT = "nonexistent", _p("visit", "Does not exist")
    QUARANTINED = "quarantined", _p("visit", "Quarantined")
    FORBIDDEN = "forbidden", _p("visit", "Refused")
    THROTTLED = "throttled", _p("visit", "Too many requests")
    UPSTREAM = "upstream", _p("visit", "Reddit is ill")
    UNREACHABLE = "unreachable", _p("visit", "Not reached")
    WALL = "wall", _p("visit", "A page instead of data")
    GARBAGE = "garbage", _p("visit", "Unreadable answer")
    AUTH = "auth", _p("visit", "Sign-in refused")
    BUSY = "busy", _p("visit", "Waiting for its turn")


# Only these count towards setting a community inactive: they are about the community, not about the moment.
REFUSALS = (Outcome.PRIVATE, Outcome.BANNED, Outcome.NONEXISTENT, Outcome.QUARANTINED, Outcome.FORBIDDEN)


class CommunityPool(models.Model):
    """A community that is to be watched. `tier` is the operator's wish; the computed tier is in the cache."""

    name = models.CharField(max_length=NAME_LENGTH, unique=True, db_comment="r/webdev")
    tier = models.CharField(max_length=10, choices=Wish.choices, default=Wish.MEDIUM)
    categories = models.JSONField(default=list, blank=True)
    quality_score = models.FloatField(default=0.0)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "community_pool"

    def __str__(self) -> str:
        return self.name


class CommunityCacheQuerySet(models.QuerySet["CommunityCache"]):
    def active(self) -> CommunityCacheQuerySet:
        return self.filter(is_active=True)

    def due(self, now: datetime) -> CommunityCacheQuerySet:
        """Whose time has come, the longest waiting first."""
        return self.active().filter(next_due__lte=now + TICK_SLACK).order_by("next_due", "community_name")

    def low_quality(self, now: datetime) -> CommunityCacheQuerySet:
        """Not crawled for eight hours, fewer than fifty posts a day, active; the longest untouched first."""
        return (
            self.active()
            .filter(last_crawled_at__lt=now - timedelta(hours=8), avg_valid_posts__lt=50)
            .order_by("last_crawled_at", "community_name")
        )

    def named(self, name: str) -> CommunityCache | None:
        """Reddit does not tell upper and lower case apart."""
        return self.filter(community_name=name).first() or self.alias(folded=FOLDED).filter(folded=name.lower()).first()


class CommunityCache(models.Model):
    """What is known of a community: watermark, averages, computed tier, counts of visits, and when it is due."""

    community_name = models.CharField(max_length=NAME_LENGTH, unique=True)
    last_crawled_at = models.DateTimeField(null=True, blank=True)
    # Newest post seen in `new` order: reported, and for the gap test. What is new is decided by id, not by it.
    last_seen_post_id = models.CharField(max_length=20, null=True, blank=True)
    last_seen_created_at = models.DateTimeField(null=True, blank=True)
    posts_cached = models.IntegerField(default=0)
    avg_valid_posts = models.IntegerField(default=0, db_comment="new valid posts per day over seven days")
    quality_tier = models.CharField(max_length=10, default="tier3")
    crawl_frequency_hours = models.IntegerField(default=24, db_comment="promised maximum age")
    empty_hit = models.IntegerField(default=0)
    success_hit = models.IntegerField(default=0)
    failure_hit = models.IntegerField(default=0)

    next_due = models.DateTimeField(default=clock.now)
    is_active = models.BooleanField(default=True)
    inactive_reason = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)
    # Posts a day as a fraction: what the schedule reckons with.
    rate = models.FloatField(default=0.0)
    # From here on every post of the community is known; older ones only by chance.
    covered_from = models.DateTimeField(null=True, blank=True)
    # Start of the last visit that joined up with what was known. Posts of later, broken visits prove nothing.
    last_complete_at = models.DateTimeField(null=True, blank=True)
    # A visit that did not join up: when, and whether it is still the newest word.
    possible_gap = models.BooleanField(default=False)
    gap_at = models.DateTimeField(null=True, blank=True)
    gap_count = models.IntegerField(default=0)
    last_outcome = models.CharField(max_length=20, choices=Outcome.choices, blank=True, default="")
    # Failures in a row, of any kind; refusals in a row, and since when.
    failures_in_row = models.IntegerField(default=0)
    refusals_in_row = models.IntegerField(default=0)
    refused_since = models.DateTimeField(null=True, blank=True)
    deep_walked_at = models.DateTimeField(null=True, blank=True)
    top_read_at = models.DateTimeField(null=True, blank=True)
    request_count = models.BigIntegerField(default=0)

    objects = CommunityCacheQuerySet.as_manager()

    class Meta:
        db_table = "community_cache"
        indexes = [
            models.Index(fields=["is_active", "next_due"], name="community_due"),
            models.Index(fields=["-avg_valid_posts"], name="community_busiest"),
        ]

    def __str__(self) -> str:
        return self.community_name

    @property
    def subreddit(self) -> str:
        """The name as Reddit's addresses have it."""
        return self.community_name.removeprefix("r/")
