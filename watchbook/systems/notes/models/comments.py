"""Comments of collected notes, and their earlier texts."""

from __future__ import annotations

from django.db import models

from watchbook.base import clock
from watchbook.systems.notes.models.readings import Presence


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
    presence = models.CharField(max_length=10, choices=Presence.choices, default=Presence.THERE)
    # Of the text above; earlier ones are rows of their own.
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "notes_comments"
        indexes = [models.Index(fields=["first_read_at", "id"], name="notes_comments_new")]
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
