"""What members do together on a page: comments, who is here, who watches it, and edits that viewers suggest."""

from __future__ import annotations

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.systems.library.models.pages import TITLE_LENGTH, Page

QUOTE_LENGTH = 500
COMMENT_LENGTH = 5000


class CommentThread(models.Model):
    """Comments on a page, or on a passage of it: `quote` is the text of the passage when the thread began."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    page = models.ForeignKey(Page, models.CASCADE, related_name="threads", db_index=False)
    quote = models.CharField(max_length=QUOTE_LENGTH, blank=True, default="")
    created_at = models.DateTimeField(default=clock.now)
    resolved_at = models.DateTimeField(null=True, default=None)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        db_table = "page_comment_threads"
        indexes = [models.Index(fields=["page", "resolved_at", "created_at"], name="page_comment_threads_open")]


class Comment(models.Model):
    """One comment of a thread: the first one, or a reply."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    thread = models.ForeignKey(CommentThread, models.CASCADE, related_name="comments", db_index=False)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    text = models.TextField()
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "page_comments"
        indexes = [models.Index(fields=["thread", "created_at"], name="page_comments_order")]


class Presence(models.Model):
    """When a member was last seen on a page. Rows are a minute of truth: old ones mean nothing and are deleted."""

    page = models.ForeignKey(Page, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    seen_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "page_presence"
        indexes = [models.Index(fields=["seen_at"], name="page_presence_seen")]
        constraints = [models.UniqueConstraint(fields=["page", "user"], name="page_presence_once")]


class PageWatch(models.Model):
    """A member who is notified of changes and comments on a page, or on everything in a folder."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    page = models.ForeignKey(Page, models.CASCADE, related_name="watches")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "page_watches"
        constraints = [models.UniqueConstraint(fields=["user", "page"], name="page_watches_once")]


class SuggestionState(models.TextChoices):
    OPEN = "open", _("Open")
    ACCEPTED = "accepted", _("Accepted")
    REJECTED = "rejected", _("Rejected")


class Suggestion(models.Model):
    """An edit that a viewer suggests, made on version `version`. An editor accepts or rejects it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    page = models.ForeignKey(Page, models.CASCADE, related_name="suggestions", db_index=False)
    version = models.PositiveIntegerField()
    title = models.CharField(max_length=TITLE_LENGTH)
    content = models.TextField(blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)
    state = models.CharField(max_length=10, choices=SuggestionState.choices, default=SuggestionState.OPEN)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "page_suggestions"
        indexes = [models.Index(fields=["page", "state", "created_at"], name="page_suggestions_open")]
