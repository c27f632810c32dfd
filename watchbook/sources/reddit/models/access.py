"""The one row through which all processes share Reddit's token and its rate limit."""

from __future__ import annotations

from django.db import models


class Access(models.Model):
    """Changed only by compare-and-swap on `revision`. Times in it are milliseconds of real time, like Reddit's own."""

    name = models.CharField(max_length=120, unique=True, db_comment="whose limit: base address and client")
    revision = models.BigIntegerField(default=0)
    # fetch/bucket.py: requests in flight and lately done, pauses, lowered limits.
    state = models.JSONField(default=dict)
    granted_count = models.BigIntegerField(default=0)
    sealed_token = models.TextField(blank=True, default="")
    token_until_ms = models.BigIntegerField(default=0)
    # Somebody is fetching a new token until then.
    token_lease_ms = models.BigIntegerField(default=0)

    class Meta:
        db_table = "reddit_access"
