"""Pages about the snapshots of a monitor, one snapshot, and the files of a sitemap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Q, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from watchbook.base import clock
from watchbook.base.store.folder import scratch
from watchbook.base.text import clean_text
from watchbook.kit.days import end_of
from watchbook.kit.lists.shown import FORMAT_TITLES, Total
from watchbook.kit.paging import Page, keyset
from watchbook.systems.sitemaps import options
from watchbook.systems.sitemaps.compare.reliability import LastmodFacts, count_lastmods, lastmod_reliability
from watchbook.systems.sitemaps.filters import LONGEST_URL, SCANNED, URLS, Filters, find_urls
from watchbook.systems.sitemaps.filters import SHOWN as SHOWN_URLS
from watchbook.systems.sitemaps.forms import MomentForm
from watchbook.systems.sitemaps.health import FAILED
from watchbook.systems.sitemaps.models import (
    ChangeRecord,
    ChangeType,
    MonitorTask,
    SitemapCheck,
    SitemapPart,
    SitemapSnapshot,
)
from watchbook.systems.sitemaps.parse.records import INDEX
from watchbook.systems.sitemaps.records import READ_WHOLE, lastmod_text
from watchbook.systems.sitemaps.store.lists import snapshot_urls
from watchbook.systems.sitemaps.views import (
    changes,
    group_notes,
    header_context,
    kind_text,
    outcome_text,
    own_monitor,
    own_snapshot,
)
from watchbook.systems.sitemaps.views.history import READ

PER_PAGE = 30
PARTS_SHOWN = 50


@dataclass(frozen=True)
class Row:
    """A snapshot and the end of its validity; None if it is current."""

    snapshot: SitemapSnapshot
    until: datetime | None
    part_count: int


@require_GET
def snapshots(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    page = keyset(_heads(found), request.GET, by="created_at", size=PER_PAGE)
    asked = MomentForm(request.GET) if "day" in request.GET else None
    context = {
        **header_context(found),
        "tab": "snapshots",
        "page": page,
        "rows": _rows(found, page),
        "form": asked or MomentForm(),
        "then": _valid_at(found, asked) if asked is not None and asked.is_valid() else None,
        "keep_days": options.KEEP_SNAPSHOTS_DAYS.value,
        "now": clock.now(),
    }
    return render(request, "sitemaps/snapshots.html", context)


def _heads(monitor: MonitorTask) -> QuerySet[SitemapSnapshot]:
    return SitemapSnapshot.objects.filter(monitor_task=monitor).defer("urls", "notes")


def _rows(monitor: MonitorTask, page: Page[SitemapSnapshot]) -> list[Row]:
    until: datetime | None = None
    if page.items and page.newer:
        newer = _heads(monitor).filter(created_at__gt=page.items[0].created_at).order_by("created_at", "pk").first()
        until = newer.created_at if newer else None
    rows = []
    for snapshot in page:
        rows.append(Row(snapshot, until, len(snapshot.parts)))
        until = snapshot.created_at
    return rows


def _valid_at(monitor: MonitorTask, form: MomentForm) -> dict[str, Any]:
    """Return the snapshot valid at a moment, and the last check that confirmed it."""
    day, at = form.cleaned_data["day"], form.cleaned_data["time"]
    moment = _moment(day, at) if at else end_of(day)
    snapshot = _heads(monitor).filter(created_at__lte=moment).order_by("-created_at", "-pk").first()
    checks = SitemapCheck.objects.filter(monitor_task=monitor, created_at__lte=moment, outcome__in=READ)
    return {
        "moment": min(moment, clock.now()),
        "is_future": moment > clock.now() and not at,
        "snapshot": snapshot,
        "check": checks.order_by("-created_at", "-pk").first() if snapshot else None,
    }


def _moment(day: Any, at: time) -> datetime:
    return datetime.combine(day, at.replace(second=59, microsecond=999_999), tzinfo=timezone.get_current_timezone())


@require_GET
def snapshot(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    found = own_snapshot(request, snapshot_id)
    filters = replace(Filters.of(request.GET), kind="")
    listing = URLS.show_held((), request.GET)
    after = clean_text(request.GET.get("after", ""))[:LONGEST_URL]
    with scratch("urls") as folder:
        page = find_urls(found, filters, after, folder)
    listing.total = Total(len(page.rows), is_more=bool(page.after or after or len(page.rows) == SHOWN_URLS))
    successor = _heads(found.monitor_task).filter(created_at__gt=found.created_at).order_by("created_at", "pk").first()
    context = {
        **header_context(found.monitor_task),
        "snapshot": found,
        "successor": successor,
        "page": page,
        "rows": [(row, lastmod_text(row["lastmod"]) if row["lastmod"] else "") for row in page.rows],
        "filters": filters,
        "listing": listing,
        "formats": FORMAT_TITLES.items(),
        "after": after,
        "scanned_limit": SCANNED,
        "parts": [(part, outcome_text(part["outcome"])) for part in found.parts[:PARTS_SHOWN]],
        "notes": group_notes(found.notes),
        "now": clock.now(),
    }
    return render(request, "sitemaps/snapshot.html", context)


@require_http_methods(["GET", "POST"])
def snapshot_file(request: HttpRequest, snapshot_id: UUID, form: str) -> HttpResponseBase:
    """The list as it is filtered and ordered; by POST the selected URLs of it alone."""
    if form not in changes.FORMATS:
        raise Http404
    found = own_snapshot(request, snapshot_id)
    if refused := changes.nothing_selected(request, reverse("sitemaps:snapshot", args=[found.pk])):
        return refused
    filters = replace(Filters.of(request.GET, request.POST.getlist("url")), kind="")
    return changes.snapshot_file(found, filters, form)


SHOWN = 200
# Dates are judged by the first of them; more would say the same and take longer.
DATES_READ, PARTS_READ = 20_000, 5
RECORDS_READ, PERIOD = 500, timedelta(days=30)
NEEDS_ATTENTION = ~Q(outcome__in=READ_WHOLE) | Q(missing_since__isnull=False)


@dataclass(frozen=True)
class Part:
    """A file in the list."""

    url: str
    kind: str
    is_index: bool
    count: int
    outcome: str
    is_read: bool
    read_at: datetime | None
    fail_count: int
    missing_since: datetime | None


@dataclass(frozen=True)
class Reliability:
    """A score from 0 to 100 and its facts."""

    score: int
    facts: LastmodFacts


@require_GET
def parts(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    rows = SitemapPart.objects.filter(monitor_task=found)
    # A check that failed as a whole asked for no file but the first; the rows still say how the one before went.
    is_failing = found.health in FAILED
    counts = rows.aggregate(
        total=Count("pk"),
        attention=Count("pk", filter=NEEDS_ATTENTION),
        indexes=Count("pk", filter=Q(summary__kind=INDEX)),
    )
    snapshot = (
        SitemapSnapshot.objects.filter(pk=found.current_snapshot_id).first() if found.current_snapshot_id else None
    )
    context = {
        **header_context(found),
        "tab": "parts",
        "counts": counts | ({"attention": counts["total"]} if is_failing else {}),
        "parts": _parts(rows, is_failing=is_failing),
        "snapshot": snapshot,
        "notes": group_notes(snapshot.notes) if snapshot else [],
        "reliability": _reliability(found, snapshot, clock.now()) if snapshot else None,
        "now": clock.now(),
    }
    return render(request, "sitemaps/parts.html", context)


def _parts(rows: Any, *, is_failing: bool) -> list[Part]:
    """Return failed files first. Only shown columns are read: an index can list many files."""
    attention = Case(When(NEEDS_ATTENTION, then=Value(0)), default=Value(1))
    names = ("url", "summary__kind", "summary__count", "outcome", "read_at", "fail_count", "missing_since")
    found = rows.order_by(attention, "position", "pk").values_list(*names)[:SHOWN]
    return [
        Part(
            url=url,
            kind=kind_text(kind or ""),
            is_index=kind == INDEX,
            count=count or 0,
            outcome=_outcome("failed" if is_failing else outcome, missing_since),
            is_read=outcome in READ_WHOLE and not is_failing,
            read_at=read_at,
            fail_count=fail_count,
            missing_since=missing_since,
        )
        for url, kind, count, outcome, read_at, fail_count, missing_since in found
    ]


def _outcome(outcome: str, missing_since: datetime | None) -> str:
    return outcome_text("left_index" if missing_since else outcome)


def _reliability(monitor: MonitorTask, snapshot: SitemapSnapshot, now: datetime) -> Reliability | None:
    with scratch("dates") as folder:
        sample = SitemapSnapshot(urls=snapshot.urls, parts=snapshot.parts[:PARTS_READ])
        rows = islice(snapshot_urls(sample, folder), DATES_READ)
        facts = count_lastmods((row["lastmod"] or "" for row in rows), now=now)
    late = ChangeRecord.objects.filter(
        monitor_task=monitor, change_type=ChangeType.CHANGED, created_at__gte=now - PERIOD
    ).order_by("-created_at")
    changed = list(late.values_list("modified_count", "noisy_count", "extras__restamp__count")[:RECORDS_READ])
    facts = replace(
        facts,
        modified=sum(modified for modified, _noisy, _stamped in changed),
        always_changing=sum(noisy for _modified, noisy, _stamped in changed),
        restamped=sum(stamped or 0 for _modified, _noisy, stamped in changed),
    )
    score = lastmod_reliability(facts)
    return None if score is None else Reliability(score, facts)
