"""The snapshots of a monitor, which one was in force at a moment, and what one of them lists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.base.store.scratch import scratch
from watchbook.base.text import clean_text
from watchbook.core.ui.paging import Page, keyset
from watchbook.sources.sitemaps import options
from watchbook.sources.sitemaps.finding import LONGEST_URL, SCANNED, Wanted, find_urls
from watchbook.sources.sitemaps.forms import MomentForm
from watchbook.sources.sitemaps.models import MonitorTask, SitemapCheck, SitemapSnapshot
from watchbook.sources.sitemaps.views import downloads
from watchbook.sources.sitemaps.views.days import end_of
from watchbook.sources.sitemaps.views.head import head
from watchbook.sources.sitemaps.views.history import READ
from watchbook.sources.sitemaps.views.own import own_monitor, own_snapshot
from watchbook.sources.sitemaps.views.words import gather, lastmod_text, outcome_text

PER_PAGE = 30
PARTS_SHOWN = 50


@dataclass(frozen=True)
class Row:
    """A snapshot and until when it was in force; None: it still is."""

    snapshot: SitemapSnapshot
    until: datetime | None
    part_count: int


@require_GET
def snapshots(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    page = keyset(_heads(found), request.GET, by="created_at", size=PER_PAGE)
    asked = MomentForm(request.GET) if "day" in request.GET else None
    context = {
        **head(found),
        "tab": "snapshots",
        "page": page,
        "rows": _rows(found, page),
        "form": asked or MomentForm(),
        "then": _in_force(found, asked) if asked is not None and asked.is_valid() else None,
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


def _in_force(monitor: MonitorTask, form: MomentForm) -> dict[str, Any]:
    """The snapshot that stood at a moment, and the last check before it that confirmed it."""
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
    wanted = Wanted.of({"q": request.GET.get("q", "")})
    after = clean_text(request.GET.get("after", ""))[:LONGEST_URL]
    with scratch("urls") as folder:
        page = find_urls(found, wanted, after, folder)
    successor = _heads(found.monitor_task).filter(created_at__gt=found.created_at).order_by("created_at", "pk").first()
    context = {
        **head(found.monitor_task),
        "snapshot": found,
        "successor": successor,
        "page": page,
        "rows": [(row, lastmod_text(row["lastmod"]) if row["lastmod"] else "") for row in page.rows],
        "wanted": wanted,
        "after": after,
        "scanned_limit": SCANNED,
        "parts": [(part, outcome_text(part["outcome"])) for part in found.parts[:PARTS_SHOWN]],
        "notes": gather(found.notes),
        "now": clock.now(),
    }
    return render(request, "sitemaps/snapshot.html", context)


@require_GET
def snapshot_file(request: HttpRequest, snapshot_id: UUID, form: str) -> HttpResponseBase:
    if form not in downloads.FORMATS:
        raise Http404
    wanted = Wanted.of({"q": request.GET.get("q", "")})
    return downloads.snapshot_file(own_snapshot(request, snapshot_id), wanted, form)
