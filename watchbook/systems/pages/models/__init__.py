"""Websites whose pages are read, their pages, the versions of each page, and what each day cost."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.pages.models.counts import SectionCount, SectionDay
from watchbook.systems.pages.models.files import PageEvidence, PageShot
from watchbook.systems.pages.schedule import LONGEST

__all__ = [
    "CHANGED", "FAR_AHEAD", "FIRST", "HAS_LEFT", "IS_LISTED", "LEFT", "RETURNING", "WHOLE_EVERY", "Fate", "Mode",
    "Page", "PageEvent", "PageEvidence", "PageQuerySet", "PageShot", "PageVersion", "Result", "RuleKind",
    "SectionCount", "SectionDay", "Site", "SiteDay", "SiteQuerySet", "SiteRule", "WebClip", "is_due", "named_fields",
    "section_of", "url_digest",
]  # fmt: skip

# A text is kept whole at every tenth version; those between are differences to the one before.
WHOLE_EVERY = 10
# No interval or backoff is longer.
FAR_AHEAD = LONGEST + timedelta(days=1)


class Mode(models.TextChoices):
    NONE = "none", _("None, only what became of URLs that left the list")
    NEW = "new", _("New and changed pages")
    ALL = "all", _("All pages by rate of change")


class Fate(models.TextChoices):
    """What became of a URL that left its list."""

    UNKNOWN = "asking", pgettext_lazy("fate", "Not known yet")
    MOVED = "moved", pgettext_lazy("fate", "Moved")
    GONE = "gone", pgettext_lazy("fate", "Gone")
    DELISTED = "delisted", pgettext_lazy("fate", "No longer listed")


class Result(models.TextChoices):
    """Result of the last reading of a page."""

    UNREAD = "unread", pgettext_lazy("web page", "Not read yet")
    OK = "ok", pgettext_lazy("web page", "OK")
    REDIRECT = "redirect", pgettext_lazy("web page", "Redirect")
    MISSING = "missing", pgettext_lazy("web page", "Not found")
    BLOCKED = "blocked", pgettext_lazy("web page", "Blocked")
    FAILED = "failed", pgettext_lazy("web page", "Error")


# Order of reading: lower comes first.
CHANGED, LEFT, RETURNING, FIRST = 0, 1, 2, 3


def url_digest(url: str) -> str:
    return sha256(url.encode("utf-8", "replace")).hexdigest()[:40]


def section_of(url: str) -> str:
    """The first folder of the path, such as /news/."""
    folder, slash, _rest = urlsplit(url).path.lstrip("/").partition("/")
    return f"/{folder}/"[:100] if slash and folder else "/"


# Django writes the bare column for `=True`, which no index of SQLite and MariaDB serves; for IN it writes a comparison.
IS_LISTED, HAS_LEFT = models.Q(is_listed__in=[True]), models.Q(is_listed__in=[False])


def is_due(now: datetime) -> models.Q:
    """Whether the next look has come, or is further ahead than any: then the clock of the server was wrong."""
    return models.Q(next_at__lte=now) | models.Q(next_at__gt=now + FAR_AHEAD)


class SiteQuerySet(models.QuerySet["Site"]):
    def live(self) -> SiteQuerySet:
        return self.filter(deleted_at=None)

    def of(self, user: User) -> SiteQuerySet:
        """Return the websites of this user; other users do not see them."""
        return self.live().filter(user=user)

    def due(self, now: datetime) -> SiteQuerySet:
        return self.live().filter(is_due(now), is_paused=False)


class Site(models.Model):
    """A website whose pages are read: those of a list that another system keeps, or single addresses."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    address = models.CharField(max_length=2048)
    # "source:key" of its list, or "host:…" for single addresses; NULL once it is deleted
    live_key = models.CharField(max_length=300, null=True)
    list_name = models.CharField(max_length=200, blank=True, default="")
    list_version = models.CharField(max_length=64, blank=True, default="")
    # Further lists of the same website, and the version of each list that was last read
    more_lists = models.JSONField(default=list)
    list_versions = models.JSONField(default=dict)
    list_count = models.PositiveIntegerField(default=0)
    # URLs of the list beyond the limit: counted, not read
    left_out_count = models.PositiveIntegerField(default=0)
    mode = models.CharField(max_length=10, choices=Mode.choices, default=Mode.NEW)
    daily_requests = models.PositiveIntegerField()
    is_paused = models.BooleanField(default=False)
    # Compare without learned noise and without what most pages share
    masks_noise = models.BooleanField(default=True)
    boilerplate = models.JSONField(default=list)
    # Digest of the include and exclude rules that its pages were last compared with
    url_rules = models.CharField(max_length=16, blank=True, default="")
    robots = models.TextField(blank=True, default="")
    robots_at = models.DateTimeField(null=True)
    # Keep what was sent and received with every version
    keeps_evidence = models.BooleanField(default=False)
    takes_screenshots = models.BooleanField(default=False)
    notifies_changed = models.BooleanField(default=True)
    notifies_removed = models.BooleanField(default=True)
    synced_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    last_failure_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=500, blank=True, default="")
    failures = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=clock.now)
    created_at = models.DateTimeField(default=clock.now)
    deleted_at = models.DateTimeField(null=True)
    channels: models.ManyToManyField[NotificationChannel, Any] = models.ManyToManyField(
        NotificationChannel, related_name="+", db_table="web_site_channels"
    )

    objects = SiteQuerySet.as_manager()
    # Sum of the weights of all its pages; a run computes it once.
    total_weight = 0.0

    class Meta:
        db_table = "web_sites"
        constraints = [models.UniqueConstraint(fields=["user", "live_key"], name="web_page_site_once")]
        indexes = [models.Index(fields=["next_at"], name="web_page_site_due")]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> str:
        return f"user:{self.user_id}"


class PageQuerySet(models.QuerySet["Page"]):
    def of(self, user: User) -> PageQuerySet:
        return self.filter(site__in=Site.objects.of(user))

    def due(self, now: datetime) -> PageQuerySet:
        return self.filter(is_due(now))

    def known(self) -> PageQuerySet:
        """Return the pages that the list names now, or that were added one by one."""
        return self.filter(is_listed=True)

    def read(self) -> PageQuerySet:
        return self.filter(last_read_at__isnull=False)

    def blocked(self) -> PageQuerySet:
        return self.filter(result=Result.BLOCKED)

    def failing(self) -> PageQuerySet:
        return self.filter(result=Result.FAILED)

    def never_read(self) -> PageQuerySet:
        return self.filter(last_read_at=None)


class Page(models.Model):
    """One address of a website, as it was last read."""

    site = models.ForeignKey(Site, models.CASCADE, related_name="pages", db_index=False)
    url = models.CharField(max_length=2048)
    url_digest = models.CharField(max_length=40)
    section = models.CharField(max_length=100)
    title = models.CharField(max_length=500, blank=True, default="")
    is_listed = models.BooleanField(default=True)
    # A rule leaves it out: it is listed and counted, and not read
    is_excluded = models.BooleanField(default=False)
    lastmod = models.CharField(max_length=60, blank=True, default="")
    first_seen_at = models.DateTimeField()
    # Part of the first list that was read: such a page is not new.
    is_baseline = models.BooleanField(default=False)
    left_at = models.DateTimeField(null=True)
    fate = models.CharField(max_length=10, choices=Fate.choices, blank=True, default="")
    moved_to = models.CharField(max_length=2048, blank=True, default="")
    status = models.PositiveSmallIntegerField(null=True)
    result = models.CharField(max_length=10, choices=Result.choices, default=Result.UNREAD)
    is_noindex = models.BooleanField(default=False)
    error = models.CharField(max_length=300, blank=True, default="")
    failures = models.PositiveSmallIntegerField(default=0)
    last_read_at = models.DateTimeField(null=True)
    last_tried_at = models.DateTimeField(null=True)
    # NULL: not read until it changes in the list
    next_at = models.DateTimeField(null=True)
    priority = models.PositiveSmallIntegerField(default=FIRST)
    # Minutes between looks of a single address; NULL: by the observed rate of change
    interval_minutes = models.PositiveIntegerField(null=True)
    looks = models.PositiveIntegerField(default=0)
    changes = models.PositiveIntegerField(default=0)
    # Square root of the observed changes per day
    weight = models.FloatField(default=0.0)
    etag = models.CharField(max_length=1000, blank=True, default="")
    last_modified = models.CharField(max_length=100, blank=True, default="")
    mask = models.JSONField(default=dict)
    version_count = models.PositiveIntegerField(default=0)
    # The newest change; before any, when the page was first seen
    changed_at = models.DateTimeField()
    words_added = models.PositiveIntegerField(default=0)
    words_removed = models.PositiveIntegerField(default=0)
    changed_fields = models.JSONField(default=list)

    objects = PageQuerySet.as_manager()

    class Meta:
        db_table = "web_pages"
        constraints = [models.UniqueConstraint(fields=["site", "url_digest"], name="web_page_once")]
        indexes = [
            models.Index(fields=["site", "priority", "next_at"], name="web_page_due"),
            models.Index(fields=["site", "first_seen_at"], name="web_page_first_seen"),
            # One for each list that `filters` offers, in its order. The key is named: a first list gives all its
            # pages the same time, and PostgreSQL would sort them at every view.
            models.Index(fields=["site", "changed_at", "id"], name="web_page_by_change"),
            models.Index(fields=["site", "section", "changed_at", "id"], name="web_page_by_section"),
            models.Index(fields=["site", "is_listed", "result", "changed_at", "id"], name="web_page_by_result"),
            models.Index(fields=["site", "is_listed", "fate", "changed_at", "id"], name="web_page_by_fate"),
            models.Index(fields=["site", "is_listed", "is_noindex", "changed_at", "id"], name="web_page_by_noindex"),
            models.Index(fields=["site", "is_listed", "is_excluded", "changed_at", "id"], name="web_page_by_excluded"),
            models.Index(fields=["site", "is_listed", "last_read_at", "changed_at", "id"], name="web_page_by_reading"),
            models.Index(fields=["site", "next_at", "id"], name="web_page_by_next"),
        ]

    def __str__(self) -> str:
        return self.title or self.url

    @property
    def path(self) -> str:
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class PageVersion(models.Model):
    """A page as it was read when it differed from the version before."""

    page = models.ForeignKey(Page, models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    read_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField()
    fields = models.JSONField(default=dict)
    size = models.PositiveIntegerField(default=0)
    # zstd of the text; with the text of the version before as dictionary unless `is_whole`
    data = models.BinaryField(default=bytes)
    is_whole = models.BooleanField(default=True)
    text_length = models.PositiveIntegerField(default=0)
    words_added = models.PositiveIntegerField(default=0)
    words_removed = models.PositiveIntegerField(default=0)
    changed_fields = models.JSONField(default=list)
    # Digest of the selectors that its text was read with; a version after other selectors is no change of the page
    selectors = models.CharField(max_length=16, blank=True, default="")
    is_restart = models.BooleanField(default=False)

    class Meta:
        db_table = "web_page_versions"
        constraints = [models.UniqueConstraint(fields=["page", "number"], name="web_page_version_once")]
        indexes = [models.Index(fields=["read_at"], name="web_page_version_read")]

    def __str__(self) -> str:
        return f"{self.page_id}, {self.number}"


class RuleKind(models.TextChoices):
    NOTIFY = "notify", _("Notify when")
    INCLUDE = "include", _("Read only")
    EXCLUDE = "exclude", _("Do not read")
    ONLY = "only", _("Compare only")
    IGNORE = "ignore", _("Ignore")


class SiteRule(models.Model):
    """A rule over pages of a website: which are read, what of them is compared, and what is notified."""

    site = models.ForeignKey(Site, models.CASCADE, related_name="rules")
    kind = models.CharField(max_length=10, choices=RuleKind.choices, default=RuleKind.NOTIFY)
    # Addresses that it is about, as `parse.patterns` reads them; empty: all pages
    pattern = models.CharField(max_length=200, blank=True, default="")
    # A condition for "notify", a CSS selector for "only" and "ignore"
    condition = models.CharField(max_length=300, blank=True, default="")
    # The only page that it is about
    page = models.ForeignKey("Page", models.CASCADE, null=True, related_name="rules")
    # Where it notifies; none: where the website does
    channels: models.ManyToManyField[NotificationChannel, Any] = models.ManyToManyField(
        NotificationChannel, related_name="+", db_table="web_site_rule_channels"
    )
    # The day on which a rule that counts pages last notified
    notified_on = models.DateField(null=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "web_site_rules"

    def __str__(self) -> str:
        return f"{self.pattern} {self.condition}".strip()


class PageEvent(models.Model):
    """A change of a page, or what became of a URL that left its list. Notified once, with the others of its run."""

    CHANGED, RULE = "changed", "rule"

    site = models.ForeignKey(Site, models.CASCADE, related_name="events", db_index=False)
    page = models.ForeignKey(Page, models.CASCADE, related_name="events")
    # "changed", "rule", or one of Fate
    kind = models.CharField(max_length=10)
    version = models.PositiveIntegerField(default=0)
    # Fields that a change is about, with commas around each, such as ",title,price,"; "text" is the main text
    fields = models.CharField(max_length=300, blank=True, default="")
    # The rule that became true, in words, and the rule itself until it is deleted
    rule = models.CharField(max_length=500, blank=True, default="")
    by_rule = models.ForeignKey(SiteRule, models.SET_NULL, null=True, related_name="events", db_index=False)
    at = models.DateTimeField()
    is_notified = models.BooleanField(default=False)

    class Meta:
        db_table = "web_page_events"
        indexes = [
            models.Index(fields=["site", "at"], name="web_page_event_newest"),
            models.Index(fields=["site", "is_notified"], name="web_page_event_pending"),
            models.Index(fields=["at"], name="web_page_event_at"),
            models.Index(fields=["by_rule", "at"], name="web_page_event_by_rule"),
        ]


def named_fields(version: PageVersion) -> str:
    """The fields that a version changed, as `PageEvent.fields` has them."""
    names = [*version.changed_fields, *(["text"] if version.words_added or version.words_removed else [])]
    return f",{','.join(names)}," if names else ""


class SiteDay(models.Model):
    """What one day cost and brought: requests, looks and changes of a website."""

    site = models.ForeignKey(Site, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    requests = models.PositiveIntegerField(default=0)
    looks = models.PositiveIntegerField(default=0)
    new = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    moved = models.PositiveIntegerField(default=0)
    gone = models.PositiveIntegerField(default=0)
    delisted = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "web_site_days"
        constraints = [models.UniqueConstraint(fields=["site", "day"], name="web_page_site_day")]


class WebClip(models.Model):
    """A page of the web as a user last read it for the library; what the library saved is compared with it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    url = models.CharField(max_length=2048)
    url_digest = models.CharField(max_length=40)
    title = models.CharField(max_length=500, blank=True, default="")
    # zstd of markup and text
    html = models.BinaryField(default=bytes)
    text = models.BinaryField(default=bytes)
    # Digest of title and text: the same page has the same version for every user
    version = models.CharField(max_length=16)
    read_at = models.DateTimeField()

    class Meta:
        db_table = "web_clips"
        constraints = [models.UniqueConstraint(fields=["user", "url_digest"], name="web_clip_once")]
        indexes = [models.Index(fields=["read_at"], name="web_clip_read")]

    def __str__(self) -> str:
        return self.title or self.url
