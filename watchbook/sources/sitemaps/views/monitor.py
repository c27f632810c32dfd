"""One monitor: how it stands, sixty days of it, what its checks found, and its newest change beside them."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.sources.sitemaps.finding import taste
from watchbook.sources.sitemaps.models import ChangeRecord, ChangeType, MonitorTask
from watchbook.sources.sitemaps.views.changes import detail
from watchbook.sources.sitemaps.views.head import head
from watchbook.sources.sitemaps.views.history import History, history
from watchbook.sources.sitemaps.views.lines import by_day, checks_of, lines_of
from watchbook.sources.sitemaps.views.own import live_run, own_monitor, with_snapshots
from watchbook.sources.sitemaps.views.words import span_of

CHECKS_LOOKED_AT = 100
LINES = 10
TASTE = 12
SPANS_NAMED = 3


@require_GET
def monitor(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    run = live_run(monitor_id)
    found = own_monitor(request, monitor_id)
    now = clock.now()
    past = history(found, now)
    checks = list(checks_of(found).order_by("-created_at", "-pk")[:CHECKS_LOOKED_AT])
    record = _chosen(found, request.GET.get("change", ""))
    context = {
        **head(found),
        "run": run,
        "now": now,
        "history": past,
        "silent": _silent(past),
        "days": by_day(lines_of(checks, across_days=True)[:LINES]),
        "last_check": checks[0] if checks else None,
        "record": record,
    }
    if record is not None:
        context |= detail(record, taste(record, TASTE))
    return render(request, "sitemaps/monitor.html", context)


def _chosen(monitor: MonitorTask, wanted: str) -> ChangeRecord | None:
    """The change that the reader chose in the log, else the newest one."""
    rows = with_snapshots(ChangeRecord.objects.filter(monitor_task=monitor))
    try:
        chosen = rows.filter(pk=UUID(wanted)).first()
    except ValueError:
        chosen = None
    return chosen or rows.filter(change_type=ChangeType.CHANGED).order_by("-created_at", "-pk").first()


def _silent(past: History) -> str:
    """The hatched days in words."""
    named = [span_of(span) for span in past.silent[:SPANS_NAMED]]
    return ", ".join(named) + (" …" if len(past.silent) > SPANS_NAMED else "")


@require_GET
def live(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """The check that goes on, swapped every two seconds; the page is loaded anew when it has ended."""
    found = own_monitor(request, monitor_id)
    if not getattr(request, "htmx", False):
        return redirect("sitemaps:monitor", found.pk)
    run = live_run(monitor_id)
    answer = render(request, "sitemaps/_work.html", {"monitor": found, "run": run, "now": clock.now()})
    if run is None:
        answer.headers["HX-Refresh"] = "true"
    return answer
