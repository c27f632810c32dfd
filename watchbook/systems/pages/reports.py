"""Answers from stored rows: sections of a website, new pages per week of several websites, and the life of one URL.

The number of queries does not depend on how many pages, sections or websites there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import TruncWeek

from watchbook.base.clock import SHANGHAI
from watchbook.systems.pages.models import Page, PageEvent, PageVersion, Site, SiteDay, SiteQuerySet

WEEKS = 12
SECTIONS = 500
TIMELINE = 1_000
# What is counted per week, by the name of its column
COUNTED = ("new", "changed", "moved", "gone", "delisted")


@dataclass(frozen=True)
class SectionRow:
    """Pages below one path, what happened in 30 days, and new pages of each week."""

    section: str
    pages: int
    read: int
    new: int
    changed: int
    removed: int
    trend: list[int]


@dataclass(frozen=True)
class WeekRow:
    """What one website had in each week, oldest first; None before it was read for the first time."""

    site: Site
    weeks: list[int | None]

    @property
    def total(self) -> int:
        return sum(count or 0 for count in self.weeks)


@dataclass(frozen=True)
class Moment:
    """Something that happened to a URL. `kind` is listed, read, version, left, or the kind of an event."""

    at: datetime
    kind: str
    version: int | None = None
    fields: str = ""
    words_added: int | None = None
    words_removed: int | None = None
    more: str = ""


def weeks_until(now: datetime) -> list[date]:
    """The Mondays of the last weeks, oldest first; the last week is not over."""
    today = now.astimezone(SHANGHAI).date()
    monday = today - timedelta(days=today.weekday())
    return [monday - timedelta(weeks=back) for back in range(WEEKS - 1, -1, -1)]


def sections(site: Site, now: datetime) -> tuple[list[SectionRow], int]:
    """Return the largest sections, and how many more there are."""
    since, weeks = now - timedelta(days=30), weeks_until(now)
    listed, own = Q(is_listed=True), Page.objects.filter(site=site)
    is_new = Q(is_baseline=False, first_seen_at__gte=since)
    rows = own.values("section").annotate(
        pages=Count("pk", filter=listed),
        read=Count("pk", filter=listed & Q(last_read_at__isnull=False)),
        new=Count("pk", filter=listed & is_new),
        removed=Count("pk", filter=Q(left_at__gte=since)),
    )
    found = list(rows.order_by("-pages", "section")[:SECTIONS])
    total = own.values("section").distinct().count() if len(found) == SECTIONS else len(found)
    changed = _changed(site, since)
    trends = _new_per_week(own, weeks)
    made = [
        SectionRow(**row, changed=changed.get(row["section"], 0), trend=_filled(trends.get(row["section"], {}), weeks))
        for row in found
    ]
    return made, total - len(found)


def _changed(site: Site, since: datetime) -> dict[str, int]:
    events = PageEvent.objects.filter(site=site, kind=PageEvent.CHANGED, at__gte=since)
    rows = events.values_list("page__section").annotate(n=Count("page", distinct=True)).order_by()
    return dict(rows)


def _new_per_week(own: Any, weeks: Sequence[date]) -> dict[str, dict[date, int]]:
    start = datetime.combine(weeks[0], datetime.min.time(), SHANGHAI)
    new = own.filter(is_baseline=False, first_seen_at__gte=start)
    rows = new.annotate(week=TruncWeek("first_seen_at", tzinfo=SHANGHAI)).values_list("section", "week")
    found: dict[str, dict[date, int]] = {}
    for section, week, count in rows.annotate(n=Count("pk")).order_by():
        found.setdefault(section, {})[week.date()] = count
    return found


def _filled(counts: dict[date, int], weeks: Sequence[date]) -> list[int]:
    return [counts.get(week, 0) for week in weeks]


def weekly(sites: SiteQuerySet, counted: str, now: datetime) -> tuple[list[date], list[WeekRow]]:
    """Return what each website had per week, most first. Weeks before its first day are not measured."""
    weeks = weeks_until(now)
    days = SiteDay.objects.filter(site__in=sites, day__gte=weeks[0]).annotate(week=TruncWeek("day"))
    found: dict[int, dict[date, int]] = {}
    for site_id, week, count in days.values_list("site", "week").annotate(n=Sum(counted)).order_by():
        found.setdefault(site_id, {})[week] = count
    rows = []
    for site in sites.defer("boilerplate", "robots").order_by("name", "pk"):
        first = min([site.created_at.astimezone(SHANGHAI).date(), *found.get(site.pk, {})])
        counts = [found.get(site.pk, {}).get(week, 0) if week + timedelta(days=6) >= first else None for week in weeks]
        rows.append(WeekRow(site, counts))
    return weeks, sorted(rows, key=lambda row: -row.total)


def timeline(page: Page) -> list[Moment]:
    """Everything that is known about one URL, newest first."""
    versions = PageVersion.objects.filter(page=page).defer("data", "fields").order_by("-number")[:TIMELINE]
    events = PageEvent.objects.filter(page=page).exclude(kind=PageEvent.CHANGED).order_by("-at", "-pk")[:TIMELINE]
    found = [
        Moment(
            version.read_at, "version", version.number, ", ".join(version.changed_fields), version.words_added,
            version.words_removed,
        )
        for version in versions
    ]  # fmt: skip
    found += [
        Moment(event.at, event.kind, event.version or None, more=event.rule or _target(page, event)) for event in events
    ]
    found.append(Moment(page.first_seen_at, "listed", more=page.lastmod))
    if page.left_at:
        found.append(Moment(page.left_at, "left"))
    return sorted(found, key=lambda moment: moment.at, reverse=True)[:TIMELINE]


def _target(page: Page, event: PageEvent) -> str:
    return page.moved_to if event.kind == page.fate else ""
