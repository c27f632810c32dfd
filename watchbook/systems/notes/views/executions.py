"""Run pages: the list, one run with the result of each note, the progress panel; and the alerts of notes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_GET

from watchbook.core.alerts.models import Alert
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.paging import keyset
from watchbook.systems.notes.jobs.maintenance import SOURCE, Condition, conditions
from watchbook.systems.notes.models import Candidate, CandidateStatus, Execution, ExecutionStatus, Watched
from watchbook.systems.notes.rules import LOCK_TIMEOUT_MINUTES
from watchbook.systems.notes.views import execution_badge, head, named
from watchbook.systems.notes.views.candidates import Line

PER_PAGE = 30
ITEMS_PER_PAGE = 50


@dataclass(frozen=True)
class Run:
    row: Execution

    @property
    def badge(self) -> Badge:
        return execution_badge(self.row)

    @property
    def is_running(self) -> bool:
        return self.row.status == ExecutionStatus.RUNNING

    @property
    def lock_until(self) -> datetime:
        return self.row.heartbeat_at + timedelta(minutes=LOCK_TIMEOUT_MINUTES)

    @property
    def took(self) -> timedelta | None:
        return self.row.completed_at - self.row.started_at if self.row.completed_at else None


@require_GET
def executions(request: HttpRequest) -> HttpResponse:
    page = keyset(Execution.objects.all(), request.GET, by="started_at", size=PER_PAGE)
    context = {**head(request, "executions"), "page": page, "runs": [Run(row) for row in page]}
    return render(request, "notes/executions.html", context)


@require_GET
def execution(request: HttpRequest, execution_id: str) -> HttpResponse:
    row = get_object_or_404(Execution, execution_id=named(execution_id, 100))
    mine = Candidate.objects.select_related("creator").filter(claimed_by=row.execution_id)
    counts = dict(mine.order_by().values_list("status").annotate(n=Count("pk")))
    show = request.GET.get("show", "") if request.GET.get("show") in CandidateStatus.values else ""
    page = keyset(mine.filter(status=show) if show else mine, request.GET, size=ITEMS_PER_PAGE)
    context: dict[str, Any] = {
        **head(request, "executions"),
        "run": Run(row),
        "execution": row,
        "show": show,
        "page": page,
        "lines": [Line(one) for one in page],
        "counts": [
            (value, badges.find("candidate", value), counts[value])
            for value in CandidateStatus.values
            if counts.get(value)
        ],
        "known": sum(counts.values()),
        # Asked for again by a later execution, under which they stand now.
        "moved_on": max(row.items_claimed - sum(counts.values()), 0),
        "failed_ids": [one.note_id for one in page if one.status == CandidateStatus.FAILED],
    }
    return render(request, "notes/execution.html", context)


OPEN = Badge(pgettext_lazy("alert", "Open"), "bad", "s-bad")
LASTING = Badge(pgettext_lazy("alert", "Met, not long enough"), "warn", "s-hold")
NEVER = Badge(pgettext_lazy("alert", "Not triggered"), "ok", "s-ok")
CLOSED = Badge(pgettext_lazy("alert", "Resolved"), "ok", "s-ok")
ALERTS_PER_PAGE = 20
MOST_OPEN = 100


@dataclass(frozen=True)
class Watch:
    """A condition as it is now; `since` while it holds and has not lasted long enough."""

    condition: Condition
    alert: Alert | None
    since: datetime | None
    was_open: bool

    @property
    def badge(self) -> Badge:
        if self.alert is not None:
            return OPEN
        if self.condition.holds:
            return LASTING
        return CLOSED if self.was_open else NEVER


@require_GET
def alerts(request: HttpRequest) -> HttpResponse:
    shown = head(request, "alerts")
    open_ = list(Alert.objects.open().filter(source=SOURCE)[:MOST_OPEN])
    by_key = {alert.key: alert for alert in open_}
    found = conditions(shown["now"])
    since = dict(Watched.objects.values_list("key", "since"))
    past = Alert.objects.past().filter(source=SOURCE)
    was_open = set(past.filter(key__in=[one.key for one in found]).values_list("key", flat=True).distinct())
    page = keyset(past, request.GET, by="opened_at", size=ALERTS_PER_PAGE)
    # An alert keeps the words of its notification; those of a known condition are shown in the reader's language.
    titles = {one.key: one.title for one in found}
    context = {
        **shown,
        "watches": [Watch(one, by_key.get(one.key), since.get(one.key), one.key in was_open) for one in found],
        "is_open": OPEN,
        "others": [alert for alert in open_ if alert.key not in {one.key for one in found}],
        "page": page,
        "past": [(alert, titles.get(alert.key, alert.title)) for alert in page],
    }
    return render(request, "notes/alerts.html", context)
