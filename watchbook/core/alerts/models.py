"""alerts: what is wrong now, and what was."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.db import models
from django.urls import Resolver404, resolve
from django.utils.translation import gettext

from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.alerts.sentences import worded
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
    # In English, for whoever reads the table; `title`, `message` and `note` are what a reader sees.
    english_title = models.CharField(max_length=300, db_column="title")
    english_message = models.TextField(blank=True, default="", db_column="message")
    # The sentences behind them, with their values; what is missing here is plain text.
    sentences = models.JSONField(default=dict, blank=True)
    link = models.CharField(max_length=2048, blank=True, default="")
    opened_at = models.DateTimeField(default=clock.now)
    # Last time the condition was found to hold.
    seen_at = models.DateTimeField(default=clock.now)
    closed_at = models.DateTimeField(null=True, default=None)
    english_note = models.CharField(max_length=500, blank=True, default="", db_column="note")
    note_sentence = models.JSONField(default=dict, blank=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        db_table = "alerts"
        indexes = [
            models.Index(fields=["key", "-opened_at"], name="alerts_by_key"),
            models.Index(fields=["-opened_at"], name="alerts_opened"),
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.title}"

    # Set and read like columns: pages, the API and mails all show them in the language of the moment.
    @property
    def title(self) -> str:
        return worded(self.sentences.get("title"), self.english_title)

    @title.setter
    def title(self, text: str) -> None:
        self.english_title = text

    @property
    def message(self) -> str:
        return worded(self.sentences.get("message"), self.english_message)

    @message.setter
    def message(self, text: str) -> None:
        self.english_message = text

    @property
    def note(self) -> str:
        return worded(self.note_sentence.get("note"), self.english_note)

    @note.setter
    def note(self, text: str) -> None:
        self.english_note = text

    @property
    def source_title(self) -> str:
        """The name of the system it is about; the house itself has none."""
        try:
            return gettext(registry.source(self.source).title)
        except LookupError:
            return self.source

    @property
    def leads_operators_only(self) -> bool:
        """Everybody sees the alert; the page where it is mended may be for operators."""
        try:
            return bool(getattr(resolve(urlsplit(self.link).path).func, "staff_only", False))
        except (Resolver404, ValueError):
            return False
