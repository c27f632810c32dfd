"""notification_channels: where a person wants to be told."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock


class ChannelType(models.TextChoices):
    EMAIL = "email", _("E-mail")
    WEBHOOK = "webhook", _("Webhook")
    APPRISE = "apprise", _("Apprise service")


class Digest(models.TextChoices):
    IMMEDIATE = "immediate", _("At once")
    HOURLY = "hourly", _("Every hour")
    DAILY = "daily", _("Every day")


class Level(models.TextChoices):
    """How grave an alert is. P0 is the worst; a channel set to P1 is told P0 and P1."""

    P0 = "P0", "P0"
    P1 = "P1", "P1"
    P2 = "P2", "P2"


class ChannelQuerySet(models.QuerySet["NotificationChannel"]):
    def of(self, user: Any) -> ChannelQuerySet:
        """What a person sees as his channels; the house's own line to him is not one of them."""
        return self.filter(user=user, house_slot=None)

    def active(self) -> ChannelQuerySet:
        return self.filter(is_active=True, user__is_active=True)

    def admitting(self, level: str) -> ChannelQuerySet:
        """Operators' channels that want alerts of this level."""
        wanted = [name for name in Level.values if name >= level]
        return self.active().filter(user__is_staff=True, alert_level__in=wanted)


class NotificationChannel(models.Model):
    """One way to reach one person. `config` is what may be shown; what is secret in it is sealed in `secret`."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False, db_comment="主键")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="channels", db_index=False, db_comment="所属用户"
    )
    name = models.CharField(max_length=255, db_comment="渠道名称（用户自定义）")
    channel_type = models.CharField(max_length=20, choices=ChannelType.choices, db_comment="渠道类型")
    config = models.JSONField(default=dict, db_comment="渠道配置（可示部分）")
    is_active = models.BooleanField(default=True, db_comment="是否启用")
    last_test_at = models.DateTimeField(null=True, default=None, db_comment="最后测试时间")
    last_test_success = models.BooleanField(null=True, default=None, db_comment="最后测试是否成功")
    created_at = models.DateTimeField(default=clock.now, db_comment="创建时间")
    updated_at = models.DateTimeField(default=clock.now, db_comment="最后更新时间")

    secret = models.TextField(blank=True, default="")
    digest = models.CharField(max_length=12, choices=Digest.choices, default=Digest.IMMEDIATE)
    alert_level = models.CharField(max_length=2, choices=Level.choices, blank=True, default="")
    # Why the house switched it off: gone, failing, unsubscribed. Empty when a person did, or when it is on.
    disabled_reason = models.CharField(max_length=40, blank=True, default="")
    # Failures in a row, over all its notices. One success makes it 0.
    failure_count = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True, default=None)
    blocked_until = models.DateTimeField(null=True, default=None)
    # Set when the owner was mailed about the present trouble: one mail per outage.
    owner_told_at = models.DateTimeField(null=True, default=None)
    last_sequence = models.PositiveBigIntegerField(default=0)
    last_duration_ms = models.PositiveIntegerField(default=0)
    # The house's own line to a person's account address; his id sits here once.
    house_slot = models.UUIDField(null=True, default=None, unique=True)

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
