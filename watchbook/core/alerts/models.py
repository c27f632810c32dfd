"""alerts: what is wrong now, and what was."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.db import models
from django.urls import Resolver404, resolve

from watchbook.base import clock
from watchbook.core.notify.models import Level


class AlertQuerySet(models.QuerySet["Alert"]):
    def open(self) -> AlertQuerySet:
        """The worst first, then the newest."""
        return self.filter(live_slot__isnull=False).order_by("level", "-opened_at", "-id")

    def past(self) -> AlertQuerySet:
        return self.filter(live_slot=None)


class Alert(models.Model):
    """A condition while it lasts, and afterwards its record."""

    key = models.CharField(max_length=200)
    # The key while the alert is open: a condition is open once, however many workers notice it.
    live_slot = models.CharField(max_length=200, null=True, default=None, unique=True)
    level = models.CharField(max_length=2, choices=Level.choices)
    source = models.CharField(max_length=40, blank=True, default="")
    title = models.CharField(max_length=300)
    message = models.TextField(blank=True, default="")
    link = models.CharField(max_length=2048, blank=True, default="")
    opened_at = models.DateTimeField(default=clock.now)
    # Last time the condition was found to hold.
    seen_at = models.DateTimeField(default=clock.now)
    closed_at = models.DateTimeField(null=True, default=None)
    note = models.CharField(max_length=500, blank=True, default="")

    objects = AlertQuerySet.as_manager()

    class Meta:
        db_table = "alerts"
        indexes = [
            models.Index(fields=["key", "-opened_at"], name="alerts_by_key"),
            models.Index(fields=["-opened_at"], name="alerts_opened"),
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.title}"

    @property
    def leads_operators_only(self) -> bool:
        """Everybody sees the alert; the page where it is mended may be for operators."""
        try:
            return bool(getattr(resolve(urlsplit(self.link).path).func, "staff_only", False))
        except (Resolver404, ValueError):
            return False
