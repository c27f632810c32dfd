"""The table through which all processes share one rate limit per host."""

from __future__ import annotations

from django.db import models


class HostPace(models.Model):
    """When the next request to a host is allowed, and which process holds the host now.

    The row with an empty account limits the host; rows with an account only hold that account's pauses. Times are
    milliseconds of real time since 1970: with a fixed test clock a wait would never end.
    """

    host = models.CharField(max_length=262)
    account = models.CharField(max_length=32, default="")
    next_at_ms = models.BigIntegerField(default=0)
    lease_until_ms = models.BigIntegerField(default=0)
    lease_token = models.BigIntegerField(default=0)
    paused_until_ms = models.BigIntegerField(default=0)

    class Meta:
        db_table = "host_pace"
        constraints = [models.UniqueConstraint(fields=["host", "account"], name="host_pace_host_account")]

    def __str__(self) -> str:
        return self.host
