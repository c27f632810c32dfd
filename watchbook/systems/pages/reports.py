"""Answers from stored rows: sections of a website, new pages per week of several websites, and the life of one URL.

The number of queries does not depend on how many pages, sections or websites there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Sum
from django.db.models.functions import TruncWeek

from watchbook.base.clock import SHANGHAI
from watchbook.systems.pages.filters import up_to
from watchbook.systems.pages.models import (
    Fate,
    Page,
    PageEvent,
    PageVersion,
    SectionCount,
    SectionDay,
    Site,
    SiteDay,
    SiteQuerySet,
)
from watchbook.systems.pages.store import counts

WEEKS = 12
DAYS = 30
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
    weeks = weeks_until(now)
    empty = dict.fromkeys(("known", *Fate.values), 0)
    rows = SectionCount.objects.filter(site=site).exclude(section=counts.WHOLE).exclude(**empty)
    rows = rows.order_by("-known", "section")
    found = list(rows[:SECTIONS])
    more = up_to(rows.values("pk")).count - SECTIONS if len(found) == SECTIONS else 0
    names = [row.section for row in found]
    sums, trends = _sums(site, names, now), _new_per_week(site, names, weeks)
    return [
        SectionRow(
            row.section, row.known, row.read, *sums.get(row.section, (0, 0, 0)),
            trend=[trends.get((row.section, week), 0) for week in weeks],
        )
        for row in found
    ], more  # fmt: skip


def _sums(site: Site, names: Sequence[str], now: datetime) -> dict[str, tuple[int, int, int]]:
    """New, changed and removed pages of sections in 30 days, as many as the header of the website says."""
    since = now.astimezone(SHANGHAI).date() - timedelta(days=DAYS)
    days = SectionDay.objects.filter(site=site, section__in=names, day__gt=since).order_by()
    rows = days.values_list("section").annotate(Sum("new"), Sum("changed"), Sum("removed"))
    return {section: (new, changed, removed) for section, new, changed, removed in rows}


def _new_per_week(site: Site, names: Sequence[str], weeks: Sequence[date]) -> dict[tuple[str, date], int]:
    days = SectionDay.objects.filter(site=site, section__in=names, day__gte=weeks[0], new__gt=0).order_by()
    rows = days.annotate(week=TruncWeek("day")).values_list("section", "week").annotate(n=Sum("new"))
    return {(section, week): count for section, week, count in rows}


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
