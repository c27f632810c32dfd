"""Posts: every version in the cold store, when each was valid, and the hot copies that expire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import models
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock

SOURCE = "reddit"
TITLE_LENGTH = 1000


class FoundBy(models.TextChoices):
    """Which reading first saw a post. Freshness is measured on `new` alone; `deep` is what the others had missed."""

    BASELINE = "baseline", _p("found", "First visit")
    NEW = "new", _p("found", "Visit")
    DEEP = "deep", _p("found", "Deep walk")
    TOP = "top", _p("found", "Top listing")
    BATCH = "batch", _p("found", "Batch")


class PostRawQuerySet(models.QuerySet["PostRaw"]):
    def current(self) -> PostRawQuerySet:
        return self.filter(is_current=True)

    def of(self, post_ids: Iterable[str]) -> PostRawQuerySet:
        return self.filter(source=SOURCE, source_post_id__in=list(post_ids))

    def valid(self) -> PostRawQuerySet:
        """Current, and neither removed nor deleted."""
        return self.current().filter(removed_by_category="", author_deleted=False, blanked_at=None)

    def to_recheck(self, now: datetime) -> PostRawQuerySet:
        return self.current().filter(recheck_due__lte=now).order_by("recheck_due", "id")

    def to_blank(self) -> PostRawQuerySet:
        """Current rows of posts whose deletion is not honoured yet."""
        gone = models.Q(author_deleted=True) | ~models.Q(removed_by_category="")
        return self.current().filter(gone, blanked_at=None).order_by("id")


class PostRaw(models.Model):
    """One text of one post. A text that comes back is the same row again with a new version; spans tell the story.

    Scores and counts are those of the last look and never make a version. Removal is a state, not a text.
    """

    source = models.CharField(max_length=20, default=SOURCE)
    source_post_id = models.CharField(max_length=20, db_comment="without t3_")
    subreddit = models.CharField(max_length=100, db_comment="as in community_pool: r/webdev")
    title = models.CharField(max_length=TITLE_LENGTH)
    content = models.TextField(blank=True, default="")
    score = models.IntegerField(default=0)
    num_comments = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    text_norm_hash = models.CharField(max_length=64, db_comment="of normalised title, text and link")
    version = models.IntegerField(default=1)
    extra_data = models.JSONField(default=dict)

    first_seen_at = models.DateTimeField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    is_current = models.BooleanField(default=True)
    # Free text: Reddit adds new words. Empty while nobody removed it.
    removed_by_category = models.CharField(max_length=60, blank=True, default="")
    author_deleted = models.BooleanField(default=False)
    author = models.CharField(max_length=60, blank=True, default="")
    found_by = models.CharField(max_length=10, choices=FoundBy.choices, default=FoundBy.NEW)
    # Seen in a `new` listing: only then does it prove that a later walk joined up.
    seen_in_new = models.BooleanField(default=True)
    # When score, comments and state were last looked at; "as of" of every number.
    observed_at = models.DateTimeField()
    updated_at = models.DateTimeField(default=clock.now)
    # When it is looked up again by id, and which look that is; None when all looks are done.
    recheck_due = models.DateTimeField(null=True, blank=True)
    recheck_step = models.SmallIntegerField(default=0)
    # Looks in a row that did not find it. One is an accident, two are an answer.
    missing_looks = models.SmallIntegerField(default=0)
    blanked_at = models.DateTimeField(null=True, blank=True)

    objects = PostRawQuerySet.as_manager()

    class Meta:
        db_table = "posts_raw"
        constraints = [
            models.UniqueConstraint(fields=["source", "source_post_id", "text_norm_hash"], name="posts_raw_dedup")
        ]
        indexes = [
            models.Index(fields=["subreddit", "-created_at"], name="posts_raw_community"),
            models.Index(fields=["-created_at", "-id"], name="posts_raw_newest"),
            models.Index(fields=["text_norm_hash"], name="posts_raw_reposts"),
            models.Index(fields=["recheck_due"], name="posts_raw_recheck"),
            models.Index(fields=["first_seen_at"], name="posts_raw_first_seen"),
        ]

    def __str__(self) -> str:
        return f"{self.source_post_id} v{self.version}"

    @property
    def is_gone(self) -> bool:
        return bool(self.removed_by_category) or self.author_deleted


class PostSpan(models.Model):
    """From when to when a text was the current one. A, B and A again are three spans over two rows."""

    post = models.ForeignKey(PostRaw, models.CASCADE, related_name="spans")
    source_post_id = models.CharField(max_length=20)
    version = models.IntegerField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "posts_raw_spans"
        constraints = [models.UniqueConstraint(fields=["source_post_id", "version"], name="posts_raw_span_once")]


class PostHot(models.Model):
    """A copy of a post that was seen lately, until `expires_at`."""

    source = models.CharField(max_length=20, default=SOURCE)
    source_post_id = models.CharField(max_length=20)
    subreddit = models.CharField(max_length=100)
    title = models.CharField(max_length=TITLE_LENGTH)
    content = models.TextField(blank=True, default="")
    score = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    extra_data = models.JSONField(default=dict)

    class Meta:
        db_table = "posts_hot"
        constraints = [models.UniqueConstraint(fields=["source", "source_post_id"], name="posts_hot_once")]
        indexes = [
            models.Index(fields=["subreddit", "-created_at"], name="posts_hot_community"),
            models.Index(fields=["expires_at"], name="posts_hot_expiry"),
        ]
