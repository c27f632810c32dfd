"""My monitors: state, size, what changed last, when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.base.text import clean_text, fold
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.charts.record import Value
from watchbook.core.ui.paging import keyset
from watchbook.sources.sitemaps.models import ChangeRecord, ChangeType, Health, MonitorTask, SitemapCheck, Status
from watchbook.sources.sitemaps.views.days import Days
from watchbook.sources.sitemaps.views.history import READ
from watchbook.sources.sitemaps.views.own import LONG_COLUMNS, own_monitors, reader
from watchbook.sources.sitemaps.views.words import FAILED, monitor_badges

PER_PAGE = 50
TREND_DAYS = 14
TROUBLE = (Health.DEGRADED, Health.SUSPECT, *FAILED)
IN_TROUBLE = ~Q(status=Status.PAUSED) & (Q(status=Status.ERROR) | Q(health__in=TROUBLE))
SHOWN = {"trouble": IN_TROUBLE, "paused": Q(status=Status.PAUSED)}


@dataclass(frozen=True)
class Row:
    """A monitor as a line of the table; `change` is its last one."""

    monitor: MonitorTask
    badges: list[Badge]
    change: ChangeRecord | None
    trend: Sequence[Value]

    @property
    def interval_seconds(self) -> int:
        return self.monitor.check_interval_minutes * 60

    @property
    def modified(self) -> int:
        return self.change.modified_count - self.change.noisy_count if self.change else 0


@require_GET
def monitors(request: HttpRequest) -> HttpResponse:
    now = clock.now()
    shown, words = request.GET.get("show", ""), clean_text(request.GET.get("q", ""))[:200].strip()
    rows = own_monitors(request).filter(SHOWN.get(shown, Q()))
    if words:
        rows = rows.filter(pk__in=_named(request, fold(words).split()[:10]))
    page = keyset(_with_last_change(rows), request.GET, by="created_at", size=PER_PAGE)
    context = {
        "counts": _counts(request),
        "rows": rows_of(page.items, now),
        "page": page,
        "shown": shown if shown in SHOWN else "",
        "words": words,
        "now": now,
        "deleted": _deleted(request),
    }
    return render(request, "sitemaps/monitors.html", context)


def _named(request: HttpRequest, words: Sequence[str]) -> list[UUID]:
    """Whose name or address has every word. Compared here: databases do not agree on what is the same letter."""
    own = MonitorTask.objects.of(request.user).values_list("pk", "name", "sitemap_url")
    return [pk for pk, name, url in own if all(word in fold(f"{name}\n{url}") for word in words)]


def _with_last_change(rows: QuerySet[MonitorTask]) -> QuerySet[MonitorTask]:
    changed = ChangeRecord.objects.filter(monitor_task=OuterRef("pk"), change_type=ChangeType.CHANGED)
    return rows.annotate(last_change_id=Subquery(changed.order_by("-created_at", "-pk").values("pk")[:1]))


def _counts(request: HttpRequest) -> dict[str, int | datetime | None]:
    return MonitorTask.objects.of(request.user).aggregate(
        total=Count("pk"),
        trouble=Count("pk", filter=IN_TROUBLE),
        paused=Count("pk", filter=Q(status=Status.PAUSED)),
        last_check_at=Max("last_check_at"),
        next_check_at=Min("next_check_at", filter=~Q(status=Status.PAUSED)),
    )


def _deleted(request: HttpRequest) -> MonitorTask | None:
    """The monitor that was deleted a moment ago, so that it can be taken back."""
    try:
        wanted = UUID(request.GET.get("deleted", ""))
    except ValueError:
        return None
    return MonitorTask.objects.filter(user=reader(request), pk=wanted, deleted_at__isnull=False).first()


def rows_of(found: Sequence[MonitorTask], now: datetime) -> list[Row]:
    trends = _trends(found, now)
    wanted = [monitor.last_change_id for monitor in found if monitor.last_change_id]  # type: ignore[attr-defined]
    changes = ChangeRecord.objects.defer(*LONG_COLUMNS).in_bulk(wanted)
    return [
        Row(
            monitor,
            monitor_badges(monitor),
            changes.get(monitor.last_change_id),  # type: ignore[attr-defined]
            trends.get(monitor.pk, ()),
        )
        for monitor in found
    ]


def _trends(found: Sequence[MonitorTask], now: datetime) -> dict[UUID, Sequence[Value]]:
    """Changed URLs per day, without noise; None where no check could be read. One query for all."""
    axis = Days.last(TREND_DAYS, now)
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
    """Without the days before the first measurement, and without today when it was not looked at yet."""
    first = next((place for place, value in enumerate(values) if value is not None), len(values))
    return values[first : -1 if values and values[-1] is None else None]
