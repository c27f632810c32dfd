"""stream_entries: one row per thing that happened. stream_feeds: addresses under which a feed reader may follow it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import models

TITLE_LENGTH = 500


class StreamEntryQuerySet(models.QuerySet["StreamEntry"]):
    def visible_to(self, scopes: Iterable[str]) -> StreamEntryQuerySet:
        return self.filter(scope__in=list(scopes))

    def newest_first(self) -> StreamEntryQuerySet:
        return self.order_by("-occurred_at", "-pk")

    def between(self, start: datetime, end: datetime) -> StreamEntryQuerySet:
        return self.filter(occurred_at__gte=start, occurred_at__lt=end)


class StreamEntry(models.Model):
    """Something that happened, as one line of the log. Told by a system in the transaction in which it happened."""

    source = models.CharField(max_length=40)
    kind = models.CharField(max_length=60)
    scope = models.CharField(max_length=80)
    object_kind = models.CharField(max_length=60, blank=True, default="")
    object_id = models.CharField(max_length=200)
    # Tells two happenings of one kind to one object apart, e.g. the number of the revision.
    event_key = models.CharField(max_length=120, blank=True, default="")
    occurred_at = models.DateTimeField()
    created_at = models.DateTimeField()
    title = models.CharField(max_length=TITLE_LENGTH, blank=True, default="")
    summary = models.TextField(blank=True, default="")
    url_path = models.CharField(max_length=1000, blank=True, default="")
    data = models.JSONField(default=dict, blank=True)

    objects = StreamEntryQuerySet.as_manager()

    class Meta:
        db_table = "stream_entries"
        constraints = [
            models.UniqueConstraint(fields=["source", "kind", "object_id", "event_key"], name="stream_entries_once")
        ]
        indexes = [
            models.Index(fields=["occurred_at", "id"], name="stream_entries_newest"),
            models.Index(fields=["source", "kind", "occurred_at", "id"], name="stream_entries_by_kind"),
            models.Index(fields=["source", "occurred_at", "id"], name="stream_entries_by_source"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.kind} {self.object_id}"

    @property
    def counts(self) -> tuple[int, int, int] | None:
        """Added, removed, modified, when the entry has such figures."""
        data = self.data if isinstance(self.data, dict) else {}
        found = [data.get(name) for name in ("added", "removed", "modified")]
        if not any(isinstance(count, int) for count in found):
            return None
        added, removed, modified = (count if isinstance(count, int) else 0 for count in found)
        return added, removed, modified


class StreamFeed(models.Model):
    """A revocable address for feed readers: a token that may only read this, and the filters it was made with."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="stream_feeds")
    token = models.OneToOneField("accounts.ApiToken", models.CASCADE, related_name="stream_feed")
    name = models.CharField(max_length=100)
    source = models.CharField(max_length=40, blank=True, default="")
    kind = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "stream_feeds"

    def __str__(self) -> str:
        return self.name
