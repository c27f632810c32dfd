"""The list of monitors and the overview of one monitor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export
from watchbook.core.health import Health as SourceHealth
from watchbook.kit.badges import Badge
from watchbook.kit.charts.svg import Value
from watchbook.kit.days import DayAxis
from watchbook.kit.lists.shown import ExportLink
from watchbook.systems.sitemaps.filters import monitors_of, sample
from watchbook.systems.sitemaps.forms import BulkForm
from watchbook.systems.sitemaps.health import monitor_health
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, MonitorTask, SitemapCheck, Status
from watchbook.systems.sitemaps.views import (
    LONG_COLUMNS,
    header_context,
    live_run,
    monitor_badges,
    own_monitor,
    own_monitors,
    span_of,
    with_snapshots,
)
from watchbook.systems.sitemaps.views.changes import detail
from watchbook.systems.sitemaps.views.history import READ, History, history
from watchbook.systems.sitemaps.views.log import by_day, checks_of, entries_of

TREND_DAYS = 14


@dataclass(frozen=True)
class Row:
    """A monitor in the list; `change` is its last change."""

    monitor: MonitorTask
    badges: list[Badge]
    health: SourceHealth
    change: ChangeRecord | None
    trend: Sequence[Value]

    @property
    def reason(self) -> str:
        return self.health.reason

    @property
    def interval_seconds(self) -> int:
        return self.monitor.check_interval_minutes * 60

    @property
    def modified(self) -> int:
        return self.change.modified_count - self.change.noisy_count if self.change else 0


@require_GET
def monitors(request: HttpRequest) -> HttpResponseBase:
    now = clock.now()
    listing = monitors_of(person_of(request)).show(_with_last_change(own_monitors(request)), request.GET)
    if file := export(request, listing):
        return file
    context = {
        "counts": _counts(request),
        "listing": listing,
        "rows": rows_of(listing.page.items, now),
        "more_exports": [ExportLink("OPML", "feed", reverse("sitemaps:opml"), _("all monitors"))],
        "page": listing.page,
        "now": now,
        "deleted": _deleted(request),
        "bulk_form": BulkForm(),
    }
    return render(request, "sitemaps/monitors.html", context)


def _with_last_change(rows: QuerySet[MonitorTask]) -> QuerySet[MonitorTask]:
    changed = ChangeRecord.objects.filter(monitor_task=OuterRef("pk"), change_type=ChangeType.CHANGED)
    return rows.annotate(last_change_id=Subquery(changed.order_by("-created_at", "-pk").values("pk")[:1]))


def _counts(request: HttpRequest) -> dict[str, int | datetime | None]:
    return MonitorTask.objects.of(person_of(request)).aggregate(
        total=Count("pk"),
        last_check_at=Max("last_check_at"),
        next_check_at=Min("next_check_at", filter=~Q(status=Status.PAUSED)),
    )


def _deleted(request: HttpRequest) -> MonitorTask | None:
    """Return the monitor that was just deleted, to offer undo."""
    try:
        wanted = UUID(request.GET.get("deleted", ""))
    except ValueError:
        return None
    return MonitorTask.objects.filter(user=person_of(request), pk=wanted, deleted_at__isnull=False).first()


def rows_of(found: Sequence[MonitorTask], now: datetime) -> list[Row]:
    trends = _trends(found, now)
    wanted = [monitor.last_change_id for monitor in found if monitor.last_change_id]  # type: ignore[attr-defined]
    changes = ChangeRecord.objects.defer(*LONG_COLUMNS).in_bulk(wanted)
    return [
        Row(
            monitor,
            monitor_badges(monitor),
            monitor_health(monitor, now),
            changes.get(monitor.last_change_id),  # type: ignore[attr-defined]
            trends.get(monitor.pk, ()),
        )
        for monitor in found
    ]


def _trends(found: Sequence[MonitorTask], now: datetime) -> dict[UUID, Sequence[Value]]:
    """Count changed URLs per day in one query; None for days without a successful check."""
    axis = DayAxis.last(TREND_DAYS, now)
    record = "change_record__"
    rows = (
        SitemapCheck.objects.filter(monitor_task__in=[monitor.pk for monitor in found], created_at__gte=axis.start)
        .annotate(place=axis.bucket("created_at"))
        .values_list("monitor_task", "place")
        .annotate(
            read=Count("pk", filter=Q(outcome__in=READ)),
            changed=Sum(
                F(f"{record}added_count")
                + F(f"{record}removed_count")
                + F(f"{record}modified_count")
                - F(f"{record}noisy_count")
            ),
        )
        .order_by()
    )
    days: dict[UUID, list[Value]] = {}
    for monitor_id, place, read, changed in rows:
        if read:
            days.setdefault(monitor_id, [None] * len(axis))[place] = int(changed or 0)
    return {monitor_id: trimmed(values) for monitor_id, values in days.items()}


def trimmed(values: Sequence[Value]) -> Sequence[Value]:
    """Drop the days before the first value, and today if it has none."""
    first = next((place for place, value in enumerate(values) if value is not None), len(values))
    return values[first : -1 if values and values[-1] is None else None]


CHECKS_READ = 100
LINES = 10
SAMPLE = 12
SPANS_NAMED = 3


@require_GET
def monitor(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    run = live_run(monitor_id)
    found = own_monitor(request, monitor_id)
    now = clock.now()
    past = history(found, now)
    checks = list(checks_of(found).order_by("-created_at", "-pk")[:CHECKS_READ])
    record = _chosen(found, request.GET.get("change", ""))
    context = {
        **header_context(found),
        "run": run,
        "now": now,
        "history": past,
        "no_data": _no_data(found),
        "without_data": _without_data(past),
        "days": by_day(entries_of(checks, across_days=True)[:LINES]),
        "last_check": checks[0] if checks else None,
        "record": record,
    }
    if record is not None:
        context |= detail(record, sample(record, SAMPLE))
    return render(request, "sitemaps/monitor.html", context)


def _no_data(monitor: MonitorTask) -> str:
    if monitor.last_check_at is not None:
        return _("No data: no check has succeeded yet.")
    return _("No data yet. The first check is queued.")


def _chosen(monitor: MonitorTask, wanted: str) -> ChangeRecord | None:
    """Return the selected change, or the newest one."""
    rows = with_snapshots(ChangeRecord.objects.filter(monitor_task=monitor))
    try:
        chosen = rows.filter(pk=UUID(wanted)).first()
    except ValueError:
        chosen = None
    return chosen or rows.filter(change_type=ChangeType.CHANGED).order_by("-created_at", "-pk").first()


def _without_data(past: History) -> str:
    """Return the hatched days as text."""
    named = [span_of(span) for span in past.without_data[:SPANS_NAMED]]
    return ", ".join(named) + (" …" if len(past.without_data) > SPANS_NAMED else "")


@require_GET
def live(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """Return the progress of the running check; the page reloads when it has ended."""
    found = own_monitor(request, monitor_id)
    if not getattr(request, "htmx", False):
        return redirect("sitemaps:monitor", found.pk)
    run = live_run(monitor_id)
    answer = render(request, "sitemaps/_work.html", {"monitor": found, "run": run, "now": clock.now()})
    if run is None:
        answer.headers["HX-Refresh"] = "true"
    return answer
