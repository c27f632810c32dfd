"""Tables of notifications: channels, the outbox with its attempts, and the objects that a delivery names."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.core.accounts.models import User

if TYPE_CHECKING:
    from watchbook.core.notify.channels import ChannelKind


def channel_types() -> list[tuple[str, Any]]:
    """Return name and label of every channel kind; a callable, so that a new kind needs no migration."""
    from watchbook.core.notify.channels import kinds  # kinds send what this module stores

    return [(kind.name, kind.label) for kind in kinds().values()]


class Digest(models.TextChoices):
    IMMEDIATE = "immediate", _("Immediately")
    HOURLY = "hourly", _("Hourly")
    DAILY = "daily", _("Daily")
    WEEKLY = "weekly", _("Weekly")


class Level(models.TextChoices):
    """Level of an alert. P0 is the highest; a channel set to P1 receives P0 and P1."""

    P0 = "P0", "P0"
    P1 = "P1", "P1"
    P2 = "P2", "P2"


class ChannelQuerySet(models.QuerySet["NotificationChannel"]):
    def of(self, user: User) -> ChannelQuerySet:
        """Return the channels of a user, without the built-in mail channel to the account's address."""
        return self.filter(user=user, account_slot=None)

    def active(self) -> ChannelQuerySet:
        return self.filter(is_active=True, user__is_active=True)

    def admitting(self, level: str) -> ChannelQuerySet:
        """Return the channels of operators that receive alerts of this level."""
        wanted = [name for name in Level.values if name >= level]
        return self.active().filter(user__is_staff=True, alert_level__in=wanted)


class NotificationChannel(models.Model):
    """A channel of one user. `config` may be displayed; the whole configuration is encrypted in `secret`."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False, db_comment="主键")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="channels", db_index=False, db_comment="所属用户"
    )
    name = models.CharField(max_length=255, db_comment="渠道名称（用户自定义）")
    channel_type = models.CharField(max_length=20, choices=channel_types, db_comment="渠道类型")
    config = models.JSONField(default=dict, db_comment="渠道配置（可示部分）")
    is_active = models.BooleanField(default=True, db_default=True, db_comment="是否启用")
    last_test_at = models.DateTimeField(null=True, default=None, db_comment="最后测试时间")
    last_test_success = models.BooleanField(null=True, default=None, db_comment="最后测试是否成功")
    # When its owner confirmed that a test arrived: more than the service's word that it was accepted.
    arrived_at = models.DateTimeField(null=True, default=None)
    created_at = models.DateTimeField(default=clock.now, db_comment="创建时间")
    updated_at = models.DateTimeField(default=clock.now, db_comment="最后更新时间")

    secret = models.TextField(blank=True, default="")
    digest = models.CharField(max_length=12, choices=Digest.choices, default=Digest.IMMEDIATE)
    # Nothing but errors and alerts is sent between these times of the owner's day; both or none.
    quiet_from = models.TimeField(null=True, blank=True, default=None)
    quiet_until = models.TimeField(null=True, blank=True, default=None)
    alert_level = models.CharField(max_length=2, choices=Level.choices, blank=True, default="")
    # Why Watchbook disabled it: gone, failing, unsubscribed. Empty when a user did, or while it is enabled.
    disabled_reason = models.CharField(max_length=40, blank=True, default="")
    # Failed deliveries in a row. One success resets it to 0.
    failure_count = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True, default=None)
    blocked_until = models.DateTimeField(null=True, default=None)
    # Set when the owner was notified of the current failures: one e-mail per outage.
    owner_notified_at = models.DateTimeField(null=True, default=None)
    last_sequence = models.PositiveBigIntegerField(default=0)
    last_duration_ms = models.PositiveIntegerField(default=0)
    # The user's id in the built-in mail channel to the account's address; unique.
    account_slot = models.UUIDField(null=True, default=None, unique=True)

    objects = ChannelQuerySet.as_manager()

    class Meta:
        db_table = "notification_channels"
        db_table_comment = "通知渠道"
        indexes = [
            models.Index(fields=["user"], name="idx_channel_user"),
            models.Index(fields=["alert_level"], name="idx_channel_alert_level"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refuse a type without a file in `channels`; a CHECK in the database would need a migration for each kind."""
        if self.kind is None:
            raise ValueError(f"unknown channel type {self.channel_type!r}")
        super().save(*args, **kwargs)

    @property
    def kind(self) -> ChannelKind | None:
        """The code of this type of channel; None if it is not installed."""
        from watchbook.core.notify.channels import kind_of  # kinds send what this module stores

        return kind_of(self.channel_type)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of its owner."""
        try:
            return ZoneInfo(self.user.time_zone or settings.TIME_ZONE)
        except (ZoneInfoNotFoundError, ValueError):
            return ZoneInfo(settings.TIME_ZONE)

    @property
    def target(self) -> str:
        """The recipient or endpoint, without secrets."""
        return self.kind.target(self.config) if self.kind else ""

    @property
    def is_signed(self) -> bool:
        return self.kind is not None and self.kind.is_signed


class NotificationRule(models.Model):
    """How notifications about one item are sent. `thread` is that of its notifications."""

    thread = models.CharField(max_length=200, unique=True)
    # Empty: as the channel.
    digest = models.CharField(max_length=12, choices=Digest.choices, blank=True, default="")
    minimum = models.PositiveIntegerField(default=1)
    only_paths = models.TextField(blank=True, default="")
    skip_paths = models.TextField(blank=True, default="")
    quiet_from = models.TimeField(null=True, blank=True, default=None)
    quiet_until = models.TimeField(null=True, blank=True, default=None)
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "notification_rules"

    def __str__(self) -> str:
        return self.thread


class PushKey(models.Model):
    """The key pair of this server for Web Push: one row. The private key is encrypted."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    secret = models.TextField()
    public = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "notification_push_key"

    def __str__(self) -> str:
        return self.public


class State(models.TextChoices):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    SKIPPED = "skipped"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def seen_by(self, user: User) -> DeliveryQuerySet:
        return self.filter(channel__user=user)

    def due(self, now: datetime) -> DeliveryQuerySet:
        """Return what is due and not leased. Leases are compared with the clock of the database."""
        return self.filter(state=State.PENDING, next_at__lte=now).filter(Q(lease_until=None) | Q(lease_until__lt=Now()))


class Delivery(models.Model):
    """One notification for one channel: claimed by a conditional UPDATE, held by a lease, fenced by a number."""

    channel = models.ForeignKey(NotificationChannel, models.CASCADE, related_name="deliveries")
    event_id = models.CharField(max_length=200)
    source = models.CharField(max_length=40)
    kind = models.CharField(max_length=60)
    subject = models.CharField(max_length=300)
    payload = models.JSONField(default=dict)
    text = models.TextField(blank=True, default="")
    html = models.TextField(blank=True, default="")
    # The letter (`kit.letter`) from which e-mail, chat and push are drawn; empty when it has text only.
    content = models.JSONField(default=dict)
    link = models.CharField(max_length=2048, blank=True, default="")
    # What belongs together in a mail reader: one watched item, one alert.
    reference = models.CharField(max_length=200, blank=True, default="")
    bypass_digest = models.BooleanField(default=False)
    # End of the digest window; empty when it is sent immediately.
    window_at = models.DateTimeField(null=True, default=None)
    # The digest that contains it. It gets the state of the digest and is not sent separately.
    bundle = models.ForeignKey("self", models.SET_NULL, null=True, default=None, related_name="members")

    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    # Empty while it is part of a digest and once it is sent, failed or skipped.
    next_at = models.DateTimeField(null=True, default=None)
    owner = models.CharField(max_length=120, blank=True, default="")
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, default=None)
    # The channel's id while this row is being sent: a channel is served by one sender at a time.
    live_slot = models.UUIDField(null=True, default=None, unique=True)

    last_status = models.PositiveIntegerField(null=True, default=None)
    error_code = models.CharField(max_length=40, blank=True, default="")
    last_error = models.CharField(max_length=500, blank=True, default="")
    # First bytes of the last response, for operators of the endpoint. Never displayed as markup.
    last_body = models.TextField(blank=True, default="")
    # Set at the first attempt, without gaps per channel, so that an endpoint can detect a missing message.
    sequence = models.PositiveBigIntegerField(null=True, default=None)
    sent_at = models.DateTimeField(null=True, default=None)
    created_at = models.DateTimeField(default=clock.now)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        db_table = "notification_outbox"
        constraints = [models.UniqueConstraint(fields=["event_id", "channel"], name="outbox_event_channel")]
        indexes = [
            models.Index(fields=["state", "next_at"], name="outbox_due"),
            models.Index(fields=["channel", "-id"], name="outbox_log"),
            models.Index(fields=["created_at"], name="outbox_created"),
        ]

    def __str__(self) -> str:
        return f"{self.source}.{self.kind} #{self.pk}"


class Mention(models.Model):
    """An object that a delivery names, so that erasing the object can erase its words here."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="mentions")
    kind = models.CharField(max_length=60)
    object_id = models.CharField(max_length=200)
    # Number of the line of `text` that names it; NULL when the whole notification is about it.
    line = models.PositiveIntegerField(null=True, default=None)

    class Meta:
        db_table = "notification_mentions"
        indexes = [models.Index(fields=["kind", "object_id"], name="notification_mentions_object")]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id} in delivery {self.delivery_id}"


class Attempt(models.Model):
    """One attempt to send one delivery."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField(default=0)
    succeeded = models.BooleanField()
    # The response will probably not change: two in a row end the delivery.
    is_permanent = models.BooleanField(default=False)
    status = models.PositiveIntegerField(null=True, default=None)
    error_code = models.CharField(max_length=40, blank=True, default="")
    error = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        db_table = "notification_attempts"

    def __str__(self) -> str:
        return f"attempt {self.number} of delivery {self.delivery_id}"
