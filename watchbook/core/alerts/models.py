"""alerts: what is wrong now, and what was; outages: hosts that cannot be read now."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.urls import Resolver404, resolve
from django.utils.translation import gettext

from watchbook.base import clock
from watchbook.base.text import worded
from watchbook.core import registry
from watchbook.core.accounts.access import MEMBERS
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import Level


class AlertQuerySet(models.QuerySet["Alert"]):
    def visible_to(self, user: User | AnonymousUser) -> AlertQuerySet:
        """Return what a user may see: operators everything, others what is for all members or for them.

        Scopes of systems (a space of the library) would cost queries on every page; no alert has one.
        """
        if not user.is_active:
            return self.none()
        return self.all() if user.is_staff else self.filter(scope__in=[MEMBERS, f"user:{user.pk}"])

    def open(self) -> AlertQuerySet:
        """The worst first, then the newest."""
        return self.filter(live_slot__isnull=False).order_by("level", "-opened_at", "-id")

    def past(self) -> AlertQuerySet:
        return self.filter(live_slot=None)


class Alert(models.Model):
    """A condition while it lasts, and afterwards its record."""

    key = models.CharField(max_length=200)
    # The key while the alert is open: a condition is open once, however many workers find it.
    live_slot = models.CharField(max_length=200, null=True, default=None, unique=True)
    level = models.CharField(max_length=2, choices=Level.choices)
    source = models.CharField(max_length=40, blank=True, default="")
    # Who may see it, as in search and stream: members, staff, user:ID. Operators see every alert.
    scope = models.CharField(max_length=80, default=MEMBERS)
    # In English, for readers of the table; `title`, `message` and `note` are what a reader sees.
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
            models.Index(fields=["scope", "-opened_at"], name="alerts_scope"),
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.title}"

    # Set and read like columns: pages, the API and mails all show them in the language of the moment.
    @property
    def remedy(self) -> str:
        """What to do, or that nothing needs to be done; empty if unknown."""
        return worded(self.sentences.get("remedy"), "")

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
        """Return the name of the system it is about; empty for the server."""
        try:
            return gettext(registry.source(self.source).title)
        except LookupError:
            return self.source

    @property
    def leads_operators_only(self) -> bool:
        """Return whether only operators can open the linked page; more users see the alert."""
        try:
            return bool(getattr(resolve(urlsplit(self.link).path).func, "staff_only", False))
        except (Resolver404, ValueError):
            return False


class Outage(models.Model):
    """A host that a source cannot read now. The row exists while the outage lasts."""

    source = models.CharField(max_length=40)
    host = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, default="")
    reason = models.CharField(max_length=500, default="")
    tries = models.PositiveIntegerField(default=0)
    began_at = models.DateTimeField()
    last_failed_at = models.DateTimeField(null=True, default=None)
    # No request is sent before this time. NULL while tries are left.
    next_try_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "outages"
        constraints = [models.UniqueConstraint(fields=["source", "host"], name="outages_host")]

    def __str__(self) -> str:
        return f"{self.source} {self.host}: {self.reason}"

    @property
    def key(self) -> str:
        return f"outage:{self.source}:{self.host}"
