"""The work that goes on now, swapped every two seconds: an execution with its own counts, or a run in the queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.shown import ShownRun
from watchbook.core.ui.moments import number_text
from watchbook.sources.notes.models import Candidate, CandidateStatus, Execution
from watchbook.sources.notes.rules import COLLECT_WORKFLOW
from watchbook.sources.notes.store.executions import oldest_heartbeat

JOBS = ("notes.collect", "notes.search")


@dataclass(frozen=True)
class Work:
    title: str
    state: str
    counts: list[tuple[str, str]] = field(default_factory=list)
    done: int = 0
    total: int = 0
    started_at: datetime | None = None
    heartbeat_at: datetime | None = None
    execution_id: str = ""


def live_work(now: datetime) -> Work | None:
    """The newest execution that gives signs of life, whoever runs it; else what waits for a worker."""
    alive = Execution.objects.exclude(slot=None).filter(heartbeat_at__gte=oldest_heartbeat(now))
    execution = alive.order_by("-started_at", "-pk").first()
    if execution is not None:
        return of_execution(execution)
    runs = JobRun.objects.live().filter(name__in=JOBS, due_at__lte=now).order_by("pk")[:10]
    found = sorted(runs, key=lambda run: run.state != State.RUNNING)
    return _of_run(ShownRun(found[0], now)) if found else None


def of_execution(row: Execution) -> Work:
    settled = row.items_processed + row.items_failed + row.items_returned
    held = Candidate.objects.filter(status=CandidateStatus.PROCESSING, processing_lock=row.execution_id).count()
    # What it gave back was queued anew after it began, and is for the next one.
    waiting = Candidate.objects.pending().filter(queued_at__lte=row.started_at).count()
    ahead = held + (waiting if row.workflow_name == COLLECT_WORKFLOW else 0)
    named = [
        (pgettext("items", "collected"), row.items_processed),
        (pgettext("items", "failed"), row.items_failed),
        (pgettext("items", "given back"), row.items_returned),
        (pgettext("items", "in hand"), held),
    ]
    title = _("Collecting notes") if row.workflow_name == COLLECT_WORKFLOW else row.workflow_name
    return Work(
        title=title,
        state="running",
        counts=[(what, number_text(count)) for what, count in named],
        done=settled,
        total=settled + ahead,
        started_at=row.started_at,
        heartbeat_at=row.heartbeat_at,
        execution_id=row.execution_id,
    )


def _of_run(run: ShownRun) -> Work:
    # Its counts are those of the execution that it has begun or will begin.
    counts = run.counts if run.name == "notes.search" else []
    return Work(title=run.title, state=run.badge_state, counts=counts, started_at=run.started_at)


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The page is loaded anew when the work has ended."""
    if not getattr(request, "htmx", False):
        return redirect("notes:executions")
    now = clock.now()
    work = live_work(now)
    if work is None:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "notes/_work.html", {"work": work, "now": now})
