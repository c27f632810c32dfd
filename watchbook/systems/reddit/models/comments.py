"""Comments: how far each listing was read, the current text of each comment, its versions, and what a user has read.

Imports of dump files: how far each file was read, and what was skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import models

from watchbook.base import clock
from watchbook.systems.reddit.models.communities import NAME_LENGTH, TICK_SLACK, CommunityCache, ListingState
from watchbook.systems.reddit.models.posts import TITLE_LENGTH, FoundBy

COMMENT_KIND = "reddit_comment"


class CommentListingQuerySet(models.QuerySet["CommentListing"]):
    def wanted(self, by_default: bool) -> CommentListingQuerySet:
        """Filter listings of active communities with this feature, by their own setting or else by default."""
        chosen = models.Q(is_on=True) | models.Q(is_on=None) if by_default else models.Q(is_on=True)
        return self.filter(chosen, community__is_active=True)

    def due(self, now: datetime, by_default: bool) -> CommentListingQuerySet:
        """Filter due listings, the longest waiting first."""
        return self.wanted(by_default).filter(next_due__lte=now + TICK_SLACK).order_by("next_due", "community")


class CommentListing(ListingState):
    """State of the newest-comments listing of a community: the same columns as for its posts."""

    LAST_SEEN = "last_seen_comment_id"

    community = models.OneToOneField(
        CommunityCache,
        models.CASCADE,
        to_field="community_name",
        db_column="community_name",
        related_name="comment_listing",
    )
    # Null: REDDIT_COMMENTS decides.
    is_on = models.BooleanField(null=True, default=None)
    last_seen_comment_id = models.CharField(max_length=20, null=True, blank=True)

    objects = CommentListingQuerySet.as_manager()

    class Meta:
        db_table = "reddit_comment_listings"
        indexes = [models.Index(fields=["next_due"], name="reddit_comments_due")]

    def __str__(self) -> str:
        return self.community_name

    @property
    def community_name(self) -> str:  # type: ignore[override]
        return str(self.community_id)


class CommentQuerySet(models.QuerySet["Comment"]):
    def of(self, comment_ids: Iterable[str]) -> CommentQuerySet:
        return self.filter(comment_id__in=list(comment_ids))

    def valid(self) -> CommentQuerySet:
        """Filter comments that are neither removed nor deleted."""
        return self.filter(removed_by_category="", author_deleted=False, blanked_at=None)

    def to_recheck(self, now: datetime) -> CommentQuerySet:
        return self.filter(recheck_due__lte=now).order_by("recheck_due", "id")

    def to_erase(self) -> CommentQuerySet:
        """Filter removed or deleted comments that are not erased yet."""
        gone = models.Q(author_deleted=True) | ~models.Q(removed_by_category="")
        return self.filter(gone, blanked_at=None).order_by("id")


class Comment(models.Model):
    """The current text of one comment. Scores create no version; a removal is a state, not a text."""

    comment_id = models.CharField(max_length=20, unique=True, db_comment="without t1_")
    post_id = models.CharField(max_length=20, db_comment="of the thread, without t3_")
    parent_id = models.CharField(max_length=24, db_comment="with prefix: t1_ comment, t3_ post")
    subreddit = models.CharField(max_length=100, db_comment="as in community_pool: r/webdev")
    # The title of the thread as the listing gives it: the post itself may be older than the first crawl.
    thread_title = models.CharField(max_length=TITLE_LENGTH, blank=True, default="")
    content = models.TextField(blank=True, default="")
    author = models.CharField(max_length=60, blank=True, default="")
    score = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    # When Reddit says that it was edited; it says nothing of the first minutes.
    edited_at = models.DateTimeField(null=True, blank=True)
    text_norm_hash = models.CharField(max_length=64, blank=True, default="")
    version = models.IntegerField(default=1)
    extra_data = models.JSONField(default=dict)
    first_seen_at = models.DateTimeField()
    # Since when the current text is known.
    valid_from = models.DateTimeField()
    removed_by_category = models.CharField(max_length=60, blank=True, default="")
    author_deleted = models.BooleanField(default=False)
    found_by = models.CharField(max_length=10, choices=FoundBy.choices, default=FoundBy.NEW)
    # Seen in a listing of comments: only such comments prove that a later crawl has no gap.
    seen_in_new = models.BooleanField(default=True)
    # When score and state were last checked.
    observed_at = models.DateTimeField()
    updated_at = models.DateTimeField(default=clock.now)
    # Time and number of the next recheck; None when all rechecks are done.
    recheck_due = models.DateTimeField(null=True, blank=True)
    recheck_step = models.SmallIntegerField(default=0)
    # Rechecks in a row that did not find the comment. After two it counts as removed.
    missing_looks = models.SmallIntegerField(default=0)
    blanked_at = models.DateTimeField(null=True, blank=True)

    objects = CommentQuerySet.as_manager()

    class Meta:
        db_table = "reddit_comments"
        indexes = [
            models.Index(fields=["post_id", "created_at"], name="reddit_comments_thread"),
            models.Index(fields=["subreddit", "-created_at"], name="reddit_comments_community"),
            models.Index(fields=["-created_at", "-id"], name="reddit_comments_newest"),
            models.Index(fields=["author", "-created_at"], name="reddit_comments_author"),
            models.Index(fields=["recheck_due"], name="reddit_comments_recheck"),
            models.Index(fields=["first_seen_at"], name="reddit_comments_seen"),
            # For mirrors: what changed since a cursor.
            models.Index(fields=["updated_at", "id"], name="reddit_comments_changed"),
        ]

    def __str__(self) -> str:
        return f"{self.comment_id} v{self.version}"

    @property
    def is_gone(self) -> bool:
        return bool(self.removed_by_category) or self.author_deleted


class CommentVersion(models.Model):
    """An earlier text of a comment. The current one is the comment itself."""

    comment = models.ForeignKey(Comment, models.CASCADE, related_name="versions")
    version = models.IntegerField()
    content = models.TextField(blank=True, default="")
    text_norm_hash = models.CharField(max_length=64)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField()

    class Meta:
        db_table = "reddit_comment_versions"
        constraints = [models.UniqueConstraint(fields=["comment", "version"], name="reddit_comment_version_once")]


class ThreadLook(models.Model):
    """When a user last opened a thread: comments that were first seen later are new to this user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    post_id = models.CharField(max_length=20)
    looked_at = models.DateTimeField()

    class Meta:
        db_table = "reddit_thread_looks"
        constraints = [models.UniqueConstraint(fields=["user", "post_id"], name="reddit_thread_looks_once")]


class DumpImport(models.Model):
    """One import of one file. `lines` moves in the transaction of its rows: an interrupted import continues there."""

    fingerprint = models.CharField(max_length=64, db_comment="of size and beginning of the file")
    # Empty: all communities of the list.
    community_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="")
    file_name = models.CharField(max_length=200)
    lines = models.BigIntegerField(default=0)
    new = models.BigIntegerField(default=0)
    updated = models.BigIntegerField(default=0)
    unchanged = models.BigIntegerField(default=0)
    versions = models.BigIntegerField(default=0)
    # Number of lines by reason.
    skipped = models.JSONField(default=dict)
    started_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "reddit_imports"
        constraints = [
            models.UniqueConstraint(fields=["fingerprint", "community_name"], name="reddit_imports_once"),
        ]

    def begin_again(self, now: datetime) -> None:
        """Import from the first line: what is stored already is counted as unchanged."""
        self.lines = self.new = self.updated = self.unchanged = self.versions = 0
        self.skipped = {}
        self.started_at = self.updated_at = now
        self.finished_at = None
        self.save()
