"""Imports of dump files: how far each file was read, and what was skipped."""

from __future__ import annotations

from django.db import models

from watchbook.systems.reddit.models.communities import NAME_LENGTH


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
