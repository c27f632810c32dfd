"""Posts: all versions, their validity, and hot copies that expire."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import models
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock

SOURCE = "reddit"
KIND = "reddit_post"
TITLE_LENGTH = 1000


class FoundBy(models.TextChoices):
    """How a post was found first. The delay is measured on `new`; `deep` means that a full scan found it."""

    BASELINE = "baseline", _p("found", "First crawl")
    NEW = "new", _p("found", "Crawl")
    DEEP = "deep", _p("found", "Full scan")
    TOP = "top", _p("found", "Top listing")
    BATCH = "batch", _p("found", "Batch")
    IMPORT = "import", _p("found", "Import of a dump")


class PostRawQuerySet(models.QuerySet["PostRaw"]):
    def current(self) -> PostRawQuerySet:
        return self.filter(is_current=True)

    def of(self, post_ids: Iterable[str]) -> PostRawQuerySet:
        return self.filter(source=SOURCE, source_post_id__in=list(post_ids))

    def valid(self) -> PostRawQuerySet:
        """Filter current posts that are neither removed nor deleted."""
        return self.current().filter(removed_by_category="", author_deleted=False, blanked_at=None)

    def to_recheck(self, now: datetime) -> PostRawQuerySet:
        return self.current().filter(recheck_due__lte=now).order_by("recheck_due", "id")

    def to_erase(self) -> PostRawQuerySet:
        """Filter current rows of removed or deleted posts that are not erased yet."""
        gone = models.Q(author_deleted=True) | ~models.Q(removed_by_category="")
        return self.current().filter(gone, blanked_at=None).order_by("id")


class PostRaw(models.Model):
    """One text of one post. A restored text is the same row with a new version; PostSpan has the history.

    Scores and counts are those of the last check and create no version. A removal is a state, not a text.
    """

    source = models.CharField(max_length=20, default=SOURCE, db_default=SOURCE)
    source_post_id = models.CharField(max_length=20, db_comment="without t3_")
    subreddit = models.CharField(max_length=100, db_comment="as in community_pool: r/webdev")
    title = models.CharField(max_length=TITLE_LENGTH)
    content = models.TextField(blank=True, default="")
    score = models.IntegerField(default=0, db_default=0)
    num_comments = models.IntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()
    text_norm_hash = models.CharField(max_length=64, db_comment="of normalised title, text and link")
    version = models.IntegerField(default=1, db_default=1)
    extra_data = models.JSONField(default=dict)

    first_seen_at = models.DateTimeField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    is_current = models.BooleanField(default=True, db_default=True)
    # Free text, because Reddit adds new values. Empty if the post is not removed.
    removed_by_category = models.CharField(max_length=60, blank=True, default="")
    author_deleted = models.BooleanField(default=False, db_default=False)
    author = models.CharField(max_length=60, blank=True, default="")
    found_by = models.CharField(max_length=10, choices=FoundBy.choices, default=FoundBy.NEW)
    # Seen in a `new` listing: only such posts prove that a later crawl has no gap.
    seen_in_new = models.BooleanField(default=True)
    # When score, comments and state were last checked.
    observed_at = models.DateTimeField()
    updated_at = models.DateTimeField(default=clock.now)
    # Time and number of the next recheck; None when all rechecks are done.
    recheck_due = models.DateTimeField(null=True, blank=True)
    recheck_step = models.SmallIntegerField(default=0)
    # Rechecks in a row that did not find the post. After two the post counts as removed.
    missing_looks = models.SmallIntegerField(default=0)
    blanked_at = models.DateTimeField(null=True, blank=True)
    # Points per hour before the last recheck, as a multiple of what is usual in the community; 0 if not known.
    rising = models.FloatField(default=0.0, db_default=0.0)

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
            models.Index(fields=["author", "-created_at"], name="posts_raw_author"),
            models.Index(fields=["recheck_due"], name="posts_raw_recheck"),
            models.Index(fields=["first_seen_at"], name="posts_raw_first_seen"),
            models.Index(fields=["rising", "id"], name="posts_raw_rising"),
            # For mirrors: what changed since a cursor.
            models.Index(fields=["updated_at", "id"], name="posts_raw_changed"),
        ]

    def __str__(self) -> str:
        return f"{self.source_post_id} v{self.version}"

    @property
    def is_gone(self) -> bool:
        return bool(self.removed_by_category) or self.author_deleted


class PostSpan(models.Model):
    """Validity of a text. The texts A, B and A again are three spans over two rows."""

    post = models.ForeignKey(PostRaw, models.CASCADE, related_name="spans")
    source_post_id = models.CharField(max_length=20)
    version = models.IntegerField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "posts_raw_spans"
        constraints = [models.UniqueConstraint(fields=["source_post_id", "version"], name="posts_raw_span_once")]


class PostPoint(models.Model):
    """Score and comments of a post at one time: when it was first seen, and at each recheck.

    `step` is the number of recheck ages that the post had reached; `per_hour` is the growth since the point before.
    """

    source_post_id = models.CharField(max_length=20)
    subreddit = models.CharField(max_length=100)
    at = models.DateTimeField()
    step = models.SmallIntegerField()
    score = models.IntegerField()
    num_comments = models.IntegerField()
    upvote_ratio = models.FloatField(null=True, blank=True)
    per_hour = models.FloatField(null=True, blank=True)

    class Meta:
        db_table = "reddit_points"
        constraints = [models.UniqueConstraint(fields=["source_post_id", "at"], name="reddit_points_once")]
        indexes = [models.Index(fields=["subreddit", "-at"], name="reddit_points_usual")]


class PostHot(models.Model):
    """A copy of a recently seen post, kept until `expires_at`."""

    source = models.CharField(max_length=20, default=SOURCE, db_default=SOURCE)
    source_post_id = models.CharField(max_length=20)
    subreddit = models.CharField(max_length=100)
    title = models.CharField(max_length=TITLE_LENGTH)
    content = models.TextField(blank=True, default="")
    score = models.IntegerField(default=0, db_default=0)
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


class ErasedAuthor(models.Model):
    """Only a digest of the name: the name itself must be gone."""

    digest = models.CharField(max_length=64, unique=True)
    erased_at = models.DateTimeField()

    class Meta:
        db_table = "reddit_erased_authors"
