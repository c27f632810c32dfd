"""Pages about background work, for operators: the board, one job, one run, and what can be done with them."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.base.logs import redact
from watchbook.core import registry
from watchbook.core.accounts.access import staff_required
from watchbook.core.jobs import actions, board
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.jobs.shown import ShownLine, ShownRun
from watchbook.core.ui.paging import keyset


@staff_required
@require_GET
def board_page(request: HttpRequest) -> HttpResponse:
    """What runs, what failed, what comes next."""
    now = clock.now()
    lines = [ShownLine(line, now) for line in board.lines(now)]
    shown = {
        **_live(now),
        "lines": lines,
        "failed": board.failed(lines, now),
        "is_paused": bool(lines) and all(line.is_paused for line in lines if line.job.schedule),
        "waiting": JobRun.objects.ready(now).count(),
    }
    return render(request, "jobs/board.html", shown)


@staff_required
@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The part of the board that is swapped while work goes on."""
    if not getattr(request, "htmx", False):
        return redirect("jobs")
    return render(request, "jobs/_running.html", _live(clock.now()))


def _live(now: Any) -> dict[str, Any]:
    shown = [ShownRun(run, now) for run in board.running()]
    return {"running": shown, "running_count": sum(run.state == State.RUNNING for run in shown), "counted_at": now}


@staff_required
@require_GET
def job_page(request: HttpRequest, name: str) -> HttpResponse:
    """One job and its runs."""
    now = clock.now()
    job = _job(name)
    runs = JobRun.objects.filter(name=name).select_related("requested_by")
    schedule = JobSchedule.objects.filter(name=name).first()
    page = keyset(runs, request.GET)
    shown = {
        "job": job,
        "title": _title(name),
        "schedule": schedule,
        "is_paused": schedule is not None and not schedule.is_enabled,
        "page": page,
        "runs": [ShownRun(run, now) for run in page],
        "now": now,
    }
    return render(request, "jobs/job.html", shown)


@staff_required
@require_GET
def run_page(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(JobRun.objects.select_related("requested_by"), pk=pk)
    args = json.dumps(redact.mapping(run.args), ensure_ascii=False, indent=2) if run.args else ""
    return render(request, "jobs/run.html", {"run": ShownRun(run, clock.now()), "args": args})


@staff_required
@require_GET
def run_live(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(JobRun.objects.select_related("requested_by"), pk=pk)
    if not getattr(request, "htmx", False):
        return redirect("job_run", pk=pk)
    response = render(request, "jobs/_run_now.html", {"run": ShownRun(run, clock.now())})
    if run.state not in (State.QUEUED, State.RUNNING):
        # The facts of an ended run stand outside the part that is swapped.
        response.headers["HX-Refresh"] = "true"
    return response


@staff_required
@require_POST
def run_now(request: HttpRequest, name: str) -> HttpResponse:
    try:
        run = actions.run_soon(name, user=request.user, request=request)
    except actions.NotByHand:
        raise Http404 from None
    messages.success(request, _("%(job)s is in the queue as run %(run)s.") % {"job": _title(name), "run": run.pk})
    return redirect("jobs")


@staff_required
@require_POST
def run_again(request: HttpRequest, pk: int) -> HttpResponse:
    old = get_object_or_404(JobRun, pk=pk)
    try:
        run = actions.run_again(old, user=request.user, request=request)
    except actions.NotByHand:
        raise Http404 from None
    messages.success(request, _("%(job)s is in the queue as run %(run)s.") % {"job": _title(old.name), "run": run.pk})
    return redirect("job_run", pk=run.pk)


@staff_required
@require_POST
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(JobRun, pk=pk)
    if actions.stop(run, request=request):
        messages.success(request, _("Run %(run)s is cancelled. What it stored so far stays.") % {"run": pk})
    else:
        messages.info(request, _("Run %(run)s had ended before.") % {"run": pk})
    return redirect("job_run", pk=pk)


@staff_required
@require_POST
def pause_one(request: HttpRequest, name: str) -> HttpResponse:
    _job(name)
    _pause(request, name)
    return redirect("job", name=name)


@staff_required
@require_POST
def pause_all(request: HttpRequest) -> HttpResponse:
    _pause(request, None)
    return redirect("jobs")


def _pause(request: HttpRequest, name: str | None) -> None:
    paused = request.POST.get("paused") == "1"
    actions.set_paused(paused, name, request=request)
    if paused:
        messages.success(request, _("The schedule is paused. What runs goes on; *Run now* still works."))
    else:
        messages.success(request, _("The schedule goes on."))


def _job(name: str) -> registry.Job:
    job = registry.jobs().get(name)
    if job is None:
        raise Http404
    return job


def _title(name: str) -> str:
    job = registry.jobs().get(name)
    return _(job.title) if job and job.title else name
