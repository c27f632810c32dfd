"""Tables of the seed (monitors, snapshots, changes, notification logs) and of sitemap files."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.watching import Schedule

SHORTEST_INTERVAL, LONGEST_INTERVAL = 15, 1440
ERRORS_UNTIL_ERROR = 3
LONGEST_WAIT = timedelta(hours=24)
# A next check later than this is not a plan but a clock that jumped.
FAR_AHEAD = LONGEST_WAIT + timedelta(hours=1)
# Quiet hours move a check by less than this.
LONGEST_QUIET = timedelta(days=1)


class Status(models.TextChoices):
    ACTIVE = "active", _("Active")
    PAUSED = "paused", _("Paused")
    ERROR = "error", _("Error")


class Health(models.TextChoices):
    """Result of the last check, finer than the three states of the seed."""

    NEW = "new", _("Not checked yet")
    OK = "ok", _("Healthy")
    DEGRADED = "degraded", _("Incomplete")
    SUSPECT = "suspect", _("Unconfirmed")
    FAILING = "failing", pgettext_lazy("check", "Failing")
    BLOCKED = "blocked", _("Blocked")
    NOT_A_SITEMAP = "not_a_sitemap", _("Not a sitemap")


class MonitorQuerySet(models.QuerySet["MonitorTask"]):
    def live(self) -> MonitorQuerySet:
        return self.filter(deleted_at=None)

    def of(self, user: User) -> MonitorQuerySet:
        return self.live().filter(user=user)

    def working(self) -> MonitorQuerySet:
        return self.live().exclude(status=Status.PAUSED)

    def due(self, now: datetime) -> MonitorQuerySet:
        return self.working().filter(next_check_at__lte=now)

    def far_ahead(self, now: datetime) -> MonitorQuerySet:
        """Return monitors that no interval, backoff or quiet hours explain: the clock of the server was wrong."""
        return self.working().filter(is_far_ahead(now))

    def scheduled_far_ahead(self, now: datetime) -> list[uuid.UUID]:
        """Return monitors with a schedule whose next check is later than its next slot."""
        rows = self.working().exclude(schedule="").filter(next_check_at__gt=now + FAR_AHEAD)
        found, latest = [], dict[str, datetime]()
        for pk, line, next_at in rows.values_list("pk", "schedule", "next_check_at"):
            if line not in latest:
                latest[line] = max(Schedule(cron=line).next_after(now), now) + LONGEST_QUIET + FAR_AHEAD
            if next_at > latest[line]:
                found.append(pk)
        return found


def is_far_ahead(now: datetime) -> models.Q:
    """Whether a monitor with an interval is due later than any interval, backoff or quiet hours explain.

    A line of cron explains more: `scheduled_far_ahead` computes it.
    """
    later = models.Q(quiet_hours="") | models.Q(next_check_at__gt=now + FAR_AHEAD + LONGEST_QUIET)
    return later & models.Q(schedule="", next_check_at__gt=now + FAR_AHEAD)


class MonitorTask(models.Model):
    """A sitemap that a user monitors."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="monitors", db_index=False)
    name = models.CharField(max_length=255)
    sitemap_url = models.CharField(max_length=2048)
    check_interval_minutes = models.IntegerField(
        default=60,
        db_default=60,
        validators=[MinValueValidator(SHORTEST_INTERVAL), MaxValueValidator(LONGEST_INTERVAL)],
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    last_check_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(null=True, blank=True)
    error_count = models.IntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)

    deleted_at = models.DateTimeField(null=True)
    # Digest of the address while the monitor lives, NULL once it is deleted: a plain unique constraint then says
    # "once per person" on every database, and a long address never meets an index limit.
    live_url_digest = models.CharField(max_length=64, null=True)
    host = models.CharField(max_length=255)
    next_check_at = models.DateTimeField(default=clock.now)
    # The last check that read the sitemap, complete or not.
    last_success_at = models.DateTimeField(null=True)
    health = models.CharField(max_length=20, choices=Health.choices, default=Health.NEW)
    kind = models.CharField(max_length=12, blank=True, default="")
    degraded_count = models.PositiveIntegerField(default=0)
    # Digest of a shrunken list that was seen once and waits to be seen again.
    suspect_hash = models.CharField(max_length=64, blank=True, default="")
    suspect_since = models.DateTimeField(null=True)
    told_error = models.BooleanField(default=False)
    # The last fetch that sent no validators: once a day, because a stale 304 can hide a sitemap for ever.
    whole_fetch_at = models.DateTimeField(null=True)
    # A cron line instead of the interval
    schedule = models.CharField(max_length=100, blank=True, default="")
    # 22:00-07:00: no check begins then
    quiet_hours = models.CharField(max_length=11, blank=True, default="")
    folder = models.CharField(max_length=100, blank=True, default="")
    # With commas around each, such as ",shop,seo,", so that every database can search them
    tags = models.CharField(max_length=500, blank=True, default="")
    notes = models.TextField(blank=True, default="")
    # Who cares for it, in words; the monitor itself belongs to `user`
    owner = models.CharField(max_length=100, blank=True, default="")
    include_patterns = models.JSONField(default=list, blank=True)
    exclude_patterns = models.JSONField(default=list, blank=True)
    # Which changes are notified; every change is recorded.
    tell_added = models.BooleanField(default=True)
    tell_modified = models.BooleanField(default=True)
    tell_minor = models.BooleanField(default=False)
    tell_removals = models.BooleanField(default=True)
    current_snapshot = models.ForeignKey("SitemapSnapshot", models.SET_NULL, null=True, related_name="+")
    channels: models.ManyToManyField[NotificationChannel, Any] = models.ManyToManyField(
        NotificationChannel, through="MonitorTaskChannel", related_name="monitors"
    )

    objects = MonitorQuerySet.as_manager()

    class Meta:
        db_table = "monitor_tasks"
        constraints = [
            models.UniqueConstraint(fields=["user", "live_url_digest"], name="monitor_once_per_user"),
            models.CheckConstraint(
                condition=models.Q(
                    check_interval_minutes__gte=SHORTEST_INTERVAL, check_interval_minutes__lte=LONGEST_INTERVAL
                ),
                name="monitor_interval_range",
            ),
            models.CheckConstraint(condition=models.Q(status__in=Status.values), name="monitor_status_known"),
        ]
        indexes = [
            models.Index(fields=["user"], name="idx_monitor_user"),
            models.Index(fields=["status"], name="idx_monitor_status"),
            models.Index(
                fields=["status", "last_check_at"], name="idx_monitor_next_check", condition=models.Q(status="active")
            ),
            models.Index(fields=["next_check_at"], name="monitor_due"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def tag_list(self) -> list[str]:
        return [tag for tag in self.tags.split(",") if tag]

    @property
    def thread(self) -> str:
        """The thread of its notifications, by which its rule is found."""
        return f"sitemaps.monitor:{self.pk}"


def url_digest(url: str) -> str:
    return sha256(url.encode()).hexdigest()


class SitemapSnapshot(models.Model):
    """The list of a sitemap at one time. Above 1,000 entries `urls` holds a manifest of stored lists."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    monitor_task = models.ForeignKey(MonitorTask, models.CASCADE, related_name="snapshots", db_index=False)
    url_count = models.IntegerField()
    url_hash = models.CharField(max_length=64)
    urls = models.JSONField()
    fetch_duration_ms = models.IntegerField()
    parse_duration_ms = models.IntegerField()
    created_at = models.DateTimeField()

    is_complete = models.BooleanField(default=True)
    # [{url, sha256, url_count, complete, outcome}], the parts this snapshot is the union of
    parts = models.JSONField(default=list)
    notes = models.JSONField(default=list)

    class Meta:
        db_table = "sitemap_snapshots"
        indexes = [
            models.Index(fields=["monitor_task"], name="idx_snapshot_monitor"),
            models.Index(fields=["created_at"], name="idx_snapshot_created"),
        ]


class ChangeType(models.TextChoices):
    INITIAL = "initial", _("Baseline")
    NO_CHANGE = "no_change", _("No change")
    CHANGED = "changed", _("Changed")


class ChangeRecord(models.Model):
    """The result of one accepted check: the difference to the previous snapshot."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    monitor_task = models.ForeignKey(MonitorTask, models.CASCADE, related_name="change_records", db_index=False)
    old_snapshot = models.ForeignKey(SitemapSnapshot, models.SET_NULL, null=True, related_name="changes_from")
    new_snapshot = models.ForeignKey(SitemapSnapshot, models.CASCADE, related_name="changes_to")
    change_type = models.CharField(max_length=10, choices=ChangeType.choices)
    added_count = models.IntegerField(default=0, db_default=0)
    removed_count = models.IntegerField(default=0, db_default=0)
    modified_count = models.IntegerField(default=0, db_default=0)
    changes = models.JSONField()
    created_at = models.DateTimeField()

    health = models.CharField(max_length=20, choices=Health.choices, default=Health.OK)
    # Modified URLs that change frequently: listed, not notified.
    noisy_count = models.IntegerField(default=0)
    # Only changefreq or priority is different.
    minor_count = models.IntegerField(default=0)
    # Removed from a news sitemap by age: listed, not notified.
    rolled_off_count = models.IntegerField(default=0)
    # {"noisy": [urls], "minor": [...], "restamp": {lastmod, count}}, each list with its first thousand
    extras = models.JSONField(default=dict)
    notes = models.JSONField(default=list)
    # Deliveries of this change, kept when the delivery log is deleted. Those neither sent nor failing are pending.
    delivery_count = models.PositiveIntegerField(default=0)
    sent_count = models.PositiveIntegerField(default=0)
    failing_count = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "change_records"
        constraints = [
            models.CheckConstraint(condition=models.Q(change_type__in=ChangeType.values), name="change_type_known")
        ]
        indexes = [
            models.Index(fields=["monitor_task"], name="idx_change_monitor"),
            models.Index(fields=["created_at"], name="idx_change_created"),
            models.Index(fields=["change_type"], name="idx_change_type", condition=models.Q(change_type="changed")),
            models.Index(fields=["monitor_task", "-created_at"], name="change_newest"),
        ]


class SitemapCheck(models.Model):
    """One check with its result and cost, also if it failed or was not accepted."""

    monitor_task = models.ForeignKey(MonitorTask, models.CASCADE, related_name="checks", db_index=False)
    change_record = models.ForeignKey(ChangeRecord, models.SET_NULL, null=True, related_name="+")
    outcome = models.CharField(max_length=20, choices=Health.choices)
    url_count = models.IntegerField(null=True)
    removed_count = models.IntegerField(default=0)
    error_code = models.CharField(max_length=60, blank=True, default="")
    message = models.TextField(blank=True, default="")
    http_request_count = models.PositiveIntegerField(default=0)
    bytes_read = models.PositiveBigIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "sitemap_checks"
        indexes = [
            models.Index(fields=["monitor_task", "-created_at"], name="sitemap_check_newest"),
            models.Index(fields=["created_at"], name="sitemap_check_created"),
        ]


class SitemapPart(models.Model):
    """One file of a sitemap, as of its last complete reading."""

    monitor_task = models.ForeignKey(MonitorTask, models.CASCADE, related_name="parts")
    url = models.CharField(max_length=2048)
    url_digest = models.CharField(max_length=64)
    position = models.PositiveIntegerField(default=0)
    # What the reader found: kind, count, notes, children of an index.
    summary = models.JSONField(default=dict)
    # Validators are stored only together with what was read: a 304 means "same as the last part read whole".
    etag = models.CharField(max_length=500, blank=True, default="")
    last_modified = models.CharField(max_length=100, blank=True, default="")
    body_sha256 = models.CharField(max_length=64, blank=True, default="")
    outcome = models.CharField(max_length=20, default="ok")
    fail_count = models.PositiveIntegerField(default=0)
    # Listed by its index no more, but not yet known to be gone.
    missing_since = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)
    # The first check could not read it: what it lists when it is first read belongs to the baseline.
    owes_baseline = models.BooleanField(default=False)

    class Meta:
        db_table = "sitemap_parts"
        constraints = [models.UniqueConstraint(fields=["monitor_task", "url_digest"], name="sitemap_part_once")]


class UrlHistory(models.Model):
    """Which URLs changed in which of the last 7 checks, to find frequently changing URLs."""

    monitor_task = models.OneToOneField(MonitorTask, models.CASCADE, primary_key=True, related_name="url_history")
    # zstd of "url TAB history" lines
    data = models.BinaryField(default=bytes)
    # Checks without any modification since it was last written.
    unchanged_checks = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "sitemap_url_history"


class MonitorTaskChannel(models.Model):
    """Channels of a monitor."""

    pk = models.CompositePrimaryKey("monitor_task_id", "channel_id")
    monitor_task = models.ForeignKey(MonitorTask, models.CASCADE, related_name="channel_links")
    channel = models.ForeignKey(NotificationChannel, models.CASCADE, related_name="monitor_links")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "monitor_task_channels"


class LogStatus(models.TextChoices):
    PENDING = "pending", _("Pending")
    SENT = "sent", _("Sent")
    FAILED = "failed", _("Failed")


class NotificationLog(models.Model):
    """One row per channel and change: the seed's view of a delivery."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    channel = models.ForeignKey(NotificationChannel, models.CASCADE, related_name="+", db_index=False)
    change_record = models.ForeignKey(ChangeRecord, models.CASCADE, related_name="notification_logs", db_index=False)
    status = models.CharField(max_length=10, choices=LogStatus.choices, default=LogStatus.PENDING)
    error_message = models.TextField(null=True, blank=True)
    # When it was sent; while it is pending, when it was decided.
    sent_at = models.DateTimeField(default=clock.now)
    response_code = models.IntegerField(null=True, blank=True)
    retry_count = models.IntegerField(default=0, db_default=0)

    class Meta:
        db_table = "notification_logs"
        constraints = [
            models.UniqueConstraint(fields=["channel", "change_record"], name="notification_once"),
            models.CheckConstraint(condition=models.Q(status__in=LogStatus.values), name="notification_status_known"),
        ]
        indexes = [
            models.Index(fields=["channel"], name="idx_notification_channel"),
            models.Index(fields=["change_record"], name="idx_notification_change"),
            models.Index(fields=["status"], name="idx_notification_status"),
        ]
