"""Keywords that are searched for candidates: how each is searched, and when.

Creators whose new notes become candidates.
"""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy as _p

from watchbook.base import clock
from watchbook.systems.notes.rules import DEFAULT_PLATFORM


class SearchSort(models.TextChoices):
    """The orders of the platform's search, under its own names."""

    GENERAL = "general", _p("search", "Relevance")
    NEWEST = "time_descending", _p("search", "Newest first")
    LIKED = "popularity_descending", _p("search", "Most liked")
    COMMENTED = "comment_descending", _p("search", "Most comments")
    SAVED = "collect_descending", _p("search", "Most saved")


class SearchType(models.TextChoices):
    """The types that a search finds; a note has one of the last two."""

    ALL = "all", _p("search", "All types")
    NORMAL = "normal", _p("note", "Pictures")
    VIDEO = "video", _p("note", "Video")


class TimeRange(models.TextChoices):
    ANY = "any", _p("search", "Any time")
    DAY = "day", _p("search", "Last day")
    WEEK = "week", _p("search", "Last week")
    HALF_YEAR = "half_year", _p("search", "Last half year")


class KeywordQuerySet(models.QuerySet["Keyword"]):
    def due(self, now: datetime) -> KeywordQuerySet:
        return self.filter(is_active=True, next_search_at__lte=now).order_by("next_search_at", "id")


class Keyword(models.Model):
    """A keyword that is searched for candidates."""

    # The folded form: two spellings of one word are one keyword on every database.
    folded = models.CharField(max_length=200)
    keyword = models.CharField(max_length=200)
    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM)
    is_active = models.BooleanField(default=True)
    sort = models.CharField(max_length=30, choices=SearchSort.choices, default=SearchSort.GENERAL)
    note_type = models.CharField(max_length=10, choices=SearchType.choices, default=SearchType.ALL)
    time_range = models.CharField(max_length=10, choices=TimeRange.choices, default=TimeRange.ANY)
    # Null: as often as NOTES_SEARCH_EVERY_MINUTES says.
    every_minutes = models.PositiveIntegerField(null=True, default=None)
    next_search_at = models.DateTimeField(default=clock.now)
    last_search_at = models.DateTimeField(null=True, default=None)
    last_error = models.CharField(max_length=300, blank=True, default="")
    found_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now)

    objects = KeywordQuerySet.as_manager()

    class Meta:
        db_table = "notes_keywords"
        indexes = [models.Index(fields=["created_at", "id"], name="notes_keywords_new")]
        constraints = [models.UniqueConstraint(fields=["platform", "folded"], name="notes_keyword_once")]

    def __str__(self) -> str:
        return self.keyword


class CreatorQuerySet(models.QuerySet["Creator"]):
    def due(self, now: datetime) -> CreatorQuerySet:
        return self.filter(is_active=True, next_check_at__lte=now).order_by("next_check_at", "id")


class Creator(models.Model):
    """A creator who is followed. The platform's ID is encrypted; the keyed hash is its identity here."""

    platform = models.CharField(max_length=30, default=DEFAULT_PLATFORM)
    # The same value as `author_id` of the notes of this creator where authors are hashed.
    author_hash = models.CharField(max_length=64)
    platform_id = models.TextField()
    xsec_token = models.TextField(blank=True, default="")
    xsec_source = models.CharField(max_length=40, blank=True, default="")
    # The name that a user gave, and the name on the platform as it is stored for authors.
    label = models.CharField(max_length=100, blank=True, default="")
    name = models.CharField(max_length=100, blank=True, default="")
    is_active = models.BooleanField(default=True)
    # Null: as often as NOTES_CREATOR_EVERY_MINUTES says.
    every_minutes = models.PositiveIntegerField(null=True, default=None)
    next_check_at = models.DateTimeField(default=clock.now)
    last_check_at = models.DateTimeField(null=True, default=None)
    # The end of the last check that read all that it wanted.
    last_success_at = models.DateTimeField(null=True, default=None)
    last_error = models.CharField(max_length=300, blank=True, default="")
    found_count = models.PositiveIntegerField(default=0)
    # The newest notes of the last such check, newest first: the next one ends where it meets one of them.
    marks = models.JSONField(default=list)
    # A check did not reach a known note, so notes between may be missing.
    possible_gap = models.BooleanField(default=False)
    gap_at = models.DateTimeField(null=True, default=None)
    gap_count = models.PositiveIntegerField(default=0)
    # The next check reads the whole listing, which closes a gap.
    wants_full = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now)

    objects = CreatorQuerySet.as_manager()

    class Meta:
        db_table = "notes_creators"
        indexes = [
            models.Index(fields=["created_at", "id"], name="notes_creators_new"),
            models.Index(fields=["is_active", "next_check_at"], name="notes_creators_due"),
        ]
        constraints = [models.UniqueConstraint(fields=["platform", "author_hash"], name="notes_creator_once")]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        return self.label or self.name or _("Creator …%(mark)s") % {"mark": self.author_hash[-4:]}
