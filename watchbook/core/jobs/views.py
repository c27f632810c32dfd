"""Pages about background work, for operators: the board, one job, one run, and what can be done with them."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.base.logs import redact
from watchbook.core import registry
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.accounts.audit import export
from watchbook.core.health import Health, needing_attention
from watchbook.core.jobs import actions, filters, overview
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.jobs.overview import ShownRun


@staff_required
@require_GET
def board_page(request: HttpRequest) -> HttpResponseBase:
    """What runs, what failed, what comes next."""
    now = clock.now()
    lines = overview.shown_lines(now)
    listing = filters.BOARD.show_held(lines, request.GET)
    if file := export(request, listing):
        return file
    shown = {
        **_live(now),
        "listing": listing,
        "lines": listing.page.items,
        "failed": overview.failed_jobs(lines, now),
        "is_paused": bool(lines) and all(line.is_paused for line in lines if line.job.schedule),
        "waiting": JobRun.objects.ready(now).count(),
        "failing_sources": needing_attention(),
    }
    return render(request, "jobs/board.html", shown)


@staff_required
@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The part of the board that is replaced while jobs run."""
    if not getattr(request, "htmx", False):
        return redirect("jobs")
    return render(request, "jobs/_running.html", _live(clock.now()))


def live_work(request: HttpRequest, work: ShownRun | None, *, home: str, of: str = "") -> HttpResponse:
    """Render the run of a source, which its page requests every 2 seconds; reload the page when the run has ended."""
    if not getattr(request, "htmx", False):
        return redirect(home)
    if work is None:
        return HttpResponse(headers={"HX-Refresh": "true"})
    is_operator = bool(getattr(request.user, "is_staff", False))
    shown = {"work": work, "of": of, "now": clock.now(), "is_operator": is_operator, "live_url": request.path}
    return render(request, "jobs/_live_work.html", shown)


def _live(now: Any) -> dict[str, Any]:
    shown = [ShownRun(run, now) for run in overview.running_now()]
    return {"running": shown, "running_count": sum(run.state == State.RUNNING for run in shown), "counted_at": now}


@staff_required
@require_GET
def runs_page(request: HttpRequest) -> HttpResponseBase:
    """The runs of all jobs."""
    shown = filters.RUNS.show(filters.runs(), request.GET)
    if file := export(request, shown):
        return file
    now = clock.now()
    context = {"listing": shown, "page": shown.page, "runs": [ShownRun(run, now) for run in shown.page]}
    return render(request, "jobs/runs.html", context)


@staff_required
@require_GET
def job_page(request: HttpRequest, name: str) -> HttpResponseBase:
    """One job and its runs."""
    now = clock.now()
    job = _job(name)
    listing = filters.JOB_RUNS.show(filters.runs().filter(name=name), request.GET)
    if file := export(request, listing):
        return file
    schedule = JobSchedule.objects.filter(name=name).first()
    shown = {
        "job": job,
        "title": _title(name),
        "schedule": schedule,
        "is_paused": schedule is not None and not schedule.is_enabled,
        "listing": listing,
        "page": listing.page,
        "runs": [ShownRun(run, now) for run in listing.page],
        "now": now,
        "failing_sources": _failing_source(name),
    }
    return render(request, "jobs/job.html", shown)


@staff_required
@require_GET
def run_page(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(JobRun.objects.select_related("requested_by"), pk=pk)
    args = json.dumps(redact.mapping(run.args), ensure_ascii=False, indent=2) if run.args else ""
    shown = {"run": ShownRun(run, clock.now()), "args": args, "failing_sources": _failing_source(run.name)}
    return render(request, "jobs/run.html", shown)


def _failing_source(job: str) -> list[tuple[registry.Source, Health]]:
    """Return the source of a job with its health, if it needs attention. A built-in job belongs to no source."""
    source = registry.source_of_job(job)
    return needing_attention(slug=source.slug) if source else []


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
        run = actions.run_soon(name, user=person_of(request), request=request)
    except actions.ManualRunNotAllowed:
        raise Http404 from None
    messages.success(request, _("%(job)s is queued as run %(run)s.") % {"job": _title(name), "run": run.pk})
    return redirect("jobs")


@staff_required
@require_POST
def run_again(request: HttpRequest, pk: int) -> HttpResponse:
    old = get_object_or_404(JobRun, pk=pk)
    try:
        run = actions.run_again(old, user=person_of(request), request=request)
    except actions.ManualRunNotAllowed:
        raise Http404 from None
    messages.success(request, _("%(job)s is queued as run %(run)s.") % {"job": _title(old.name), "run": run.pk})
    return redirect("job_run", pk=run.pk)


@staff_required
@require_POST
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(JobRun, pk=pk)
    if actions.stop(run, request=request):
        messages.success(request, _("Run %(run)s cancelled. The data it stored is kept.") % {"run": pk})
    else:
        messages.info(request, _("Run %(run)s had already finished.") % {"run": pk})
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
        messages.success(request, _("Schedule paused. Current runs continue, and you can still select *Run now*."))
    else:
        messages.success(request, _("Schedule resumed."))


def _job(name: str) -> registry.Job:
    job = registry.jobs().get(name)
    if job is None:
        raise Http404
    return job


def _title(name: str) -> str:
    job = registry.jobs().get(name)
    return _(job.title) if job and job.title else name
