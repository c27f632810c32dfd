"""stream_entries: one row per event. stream_feeds: addresses for feed readers. stream_reading_*: what users read."""

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
    """One event of the activity log, written by a system in the transaction of the change."""

    source = models.CharField(max_length=40)
    kind = models.CharField(max_length=60)
    scope = models.CharField(max_length=80)
    object_kind = models.CharField(max_length=60, blank=True, default="")
    object_id = models.CharField(max_length=200)
    # Separates two events of one kind and object, e.g. the number of the version.
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
            models.Index(fields=["object_kind", "object_id"], name="stream_entries_object"),
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
    # In the query language. Not empty: the feed has the items that the search finds instead of activity.
    query = models.CharField(max_length=400, blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "stream_feeds"

    def __str__(self) -> str:
        return self.name


class ReadingState(models.Model):
    """How far a user has read: entries up to the watermark are read, later ones unread, except those with a mark."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="reading_state"
    )
    # The id of an entry. Ids follow the order of arrival; `occurred_at` does not.
    watermark = models.BigIntegerField(default=0)

    class Meta:
        db_table = "stream_reading_states"

    def __str__(self) -> str:
        return f"{self.user_id}: {self.watermark}"


class ReadingMark(models.Model):
    """One entry that differs from the watermark: unread although it is before it, or read although it is after it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    entry = models.ForeignKey(StreamEntry, models.CASCADE, related_name="+")

    class Meta:
        db_table = "stream_reading_marks"
        constraints = [models.UniqueConstraint(fields=["user", "entry"], name="stream_reading_marks_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.entry_id}"
