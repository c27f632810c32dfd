"""notification_outbox: one row per (event, channel), written in the transaction of what it tells of."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from watchbook.base import clock
from watchbook.core.notify.models.channel import NotificationChannel


class State(models.TextChoices):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    SKIPPED = "skipped"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def seen_by(self, user: Any) -> DeliveryQuerySet:
        return self.filter(channel__user=user)

    def due(self, now: datetime) -> DeliveryQuerySet:
        """To be sent now, and held by nobody. Leases are judged by the database's clock."""
        return self.filter(state=State.PENDING, next_at__lte=now).filter(Q(lease_until=None) | Q(lease_until__lt=Now()))


class Delivery(models.Model):
    """One notice for one channel. Claimed by a conditional UPDATE, held by a lease, fenced by a growing number."""

    channel = models.ForeignKey(NotificationChannel, models.CASCADE, related_name="deliveries")
    event_id = models.CharField(max_length=200)
    source = models.CharField(max_length=40)
    kind = models.CharField(max_length=60)
    subject = models.CharField(max_length=300)
    payload = models.JSONField(default=dict)
    text = models.TextField(blank=True, default="")
    html = models.TextField(blank=True, default="")
    link = models.CharField(max_length=2048, blank=True, default="")
    # What belongs together in a mail reader: one monitor, one alert.
    reference = models.CharField(max_length=200, blank=True, default="")
    bypass_digest = models.BooleanField(default=False)
    # End of the digest window this notice waits for; empty when it is told at once.
    window_at = models.DateTimeField(null=True, default=None)
    # The digest that carries it. It shares the digest's fate and is never sent by itself.
    bundle = models.ForeignKey("self", models.SET_NULL, null=True, default=None, related_name="members")

    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    # Empty while a digest carries it and once its fate is decided.
    next_at = models.DateTimeField(null=True, default=None)
    owner = models.CharField(max_length=120, blank=True, default="")
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, default=None)
    # The channel's id while this row is being sent: a channel is never served twice at the same time.
    live_slot = models.UUIDField(null=True, default=None, unique=True)

    last_status = models.PositiveIntegerField(null=True, default=None)
    error_code = models.CharField(max_length=40, blank=True, default="")
    last_error = models.CharField(max_length=500, blank=True, default="")
    # First bytes of the last answer, for operators of the receiving side. Never shown as markup.
    last_body = models.TextField(blank=True, default="")
    # Given at the first attempt, without gaps per channel: a receiver can tell that one is missing.
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


class Attempt(models.Model):
    """One try to send one notice."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField(default=0)
    succeeded = models.BooleanField()
    # The other side will hardly think better of it: twice in a row ends the matter.
    is_permanent = models.BooleanField(default=False)
    status = models.PositiveIntegerField(null=True, default=None)
    error_code = models.CharField(max_length=40, blank=True, default="")
    error = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        db_table = "notification_attempts"

    def __str__(self) -> str:
        return f"attempt {self.number} of delivery {self.delivery_id}"
