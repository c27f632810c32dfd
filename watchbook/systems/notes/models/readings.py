"""Later readings of a collected note: when it is due, its versions, its counts over time. The first one is the note.

Comments of collected notes, and their earlier texts.
"""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock


class Presence(models.TextChoices):
    THERE = "there", _p("note", "On the platform")
    # Not found once; a second time makes it gone.
    MISSING = "missing", _p("note", "Not found once")
    GONE = "gone", _p("note", "Deleted on the platform")


class NoteWatchQuerySet(models.QuerySet["NoteWatch"]):
    def due(self, now: datetime) -> NoteWatchQuerySet:
        return self.filter(next_read_at__lte=now).order_by("next_read_at", "id")

    def comments_due(self, now: datetime) -> NoteWatchQuerySet:
        return self.filter(comments_due_at__lte=now).order_by("comments_due_at", "id")


class NoteWatch(models.Model):
    """When a note is read again, and what the last reading said."""

    note = models.OneToOneField("notes.Note", models.CASCADE, related_name="watch")
    # Null: no further reading is planned.
    next_read_at = models.DateTimeField(null=True, default=None)
    last_read_at = models.DateTimeField(default=clock.now)
    presence = models.CharField(max_length=10, choices=Presence.choices, default=Presence.THERE)
    # Of the newest text; 1 is the note itself.
    version = models.PositiveIntegerField(default=1)
    # The last counts as they were read, so that an unchanged reading adds no point.
    counts = models.JSONField(default=dict)
    failures = models.PositiveIntegerField(default=0)
    last_error_code = models.CharField(max_length=40, blank=True, default="")
    last_error_reason = models.CharField(max_length=40, blank=True, default="")
    # The run that read it last: its commit can be repeated.
    execution_id = models.CharField(max_length=100, blank=True, default="")

    # When the comments are read next; null: with the next reading of the note.
    comments_due_at = models.DateTimeField(null=True, default=None)
    comments_read_at = models.DateTimeField(null=True, default=None)
    # The last reading saw every comment, not only as many as the limit.
    comments_whole = models.BooleanField(default=False)
    comments_error = models.CharField(max_length=300, blank=True, default="")

    objects = NoteWatchQuerySet.as_manager()

    class Meta:
        db_table = "notes_watches"
        indexes = [
            models.Index(fields=["next_read_at", "id"], name="notes_watches_due"),
            models.Index(fields=["comments_due_at", "id"], name="notes_watches_comments"),
        ]


class NoteVersion(models.Model):
    """Another text of a note than the one before. Number 1 is the note itself."""

    note = models.ForeignKey("notes.Note", models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=300, blank=True, default="")
    content = models.TextField(blank=True, default="")
    tags = models.JSONField(default=list)
    media = models.JSONField(default=list)
    edited_at = models.DateTimeField(null=True, default=None)
    read_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "notes_versions"
        constraints = [models.UniqueConstraint(fields=["note", "number"], name="notes_versions_number")]


class NotePoint(models.Model):
    """Counts of a note at a later reading, where they differ from those before. Rounded ones are points, too."""

    note = models.ForeignKey("notes.Note", models.CASCADE, related_name="points", db_index=False)
    read_at = models.DateTimeField()
    # As in Note.counts: {name: {value, exact, raw}}
    counts = models.JSONField(default=dict)

    class Meta:
        db_table = "notes_points"
        constraints = [models.UniqueConstraint(fields=["note", "read_at"], name="notes_points_once")]


class NoteComment(models.Model):
    """A comment as it reads now. Who wrote it is stored as authors are."""

    note = models.ForeignKey("notes.Note", models.CASCADE, related_name="comments", db_index=False)
    comment_id = models.CharField(max_length=64)
    # The comment that it answers; empty for a comment on the note itself.
    parent_id = models.CharField(max_length=64, blank=True, default="")
    author_id = models.CharField(max_length=64, blank=True, default="")
    author_name = models.CharField(max_length=100, blank=True, default="")
    content = models.TextField(blank=True, default="")
    # {value, exact, raw}
    liked = models.JSONField(default=dict)
    published_at = models.DateTimeField(null=True, default=None)
    first_read_at = models.DateTimeField(default=clock.now)
    last_read_at = models.DateTimeField(default=clock.now)
    # Another text, count or presence, for mirrors.
    changed_at = models.DateTimeField(default=clock.now)
    presence = models.CharField(max_length=10, choices=Presence.choices, default=Presence.THERE)
    # Of the text above; earlier ones are rows of their own.
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "notes_comments"
        indexes = [
            models.Index(fields=["first_read_at", "id"], name="notes_comments_new"),
            models.Index(fields=["changed_at", "id"], name="notes_comments_changed"),
        ]
        constraints = [models.UniqueConstraint(fields=["note", "comment_id"], name="notes_comments_once")]


class CommentVersion(models.Model):
    """An earlier text of a comment."""

    comment = models.ForeignKey(NoteComment, models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    content = models.TextField(blank=True, default="")
    replaced_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "notes_comment_versions"
        constraints = [models.UniqueConstraint(fields=["comment", "number"], name="notes_comment_versions_number")]
