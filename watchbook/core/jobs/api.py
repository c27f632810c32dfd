"""Jobs over the API, for operators; and how every endpoint answers that puts a run into the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from watchbook.base import clock
from watchbook.base.logs import redact
from watchbook.core.api.answers import Answer, Listing, said
from watchbook.core.api.errors import NotFound
from watchbook.core.api.gate import is_staff_call, members, staff
from watchbook.core.jobs import actions, board
from watchbook.core.jobs.models import JobRun

router = Router(auth=staff)


class JobOut(Answer):
    """Something that is done by itself or on demand."""

    name: str
    celery_names: list[str] = said("Names under which other programs send it through Celery; they work here, too.")
    title: str
    queue: str
    schedule: str | None = said("In words; null when it is run on demand only.")
    last_run: datetime | None = said("When the last run began.")
    last_outcome: str | None
    next_run: datetime | None
    is_paused: bool


class JobList(Listing[JobOut]):
    """Every job, in one page."""


class RunError(Answer):
    """Why a run failed, or waits."""

    code: str
    message: str


class RunOut(Answer):
    """One run of a job: what every endpoint answers that starts work, and what its `url` answers later."""

    row = JobRun

    id: int
    name: str = said("The job.")
    url: str = said("Ask here how it goes; for operators, and for whoever started it.")
    queue: str
    state: str = said("queued, running, done, failed or cancelled.")
    outcome: str = said("How it ended, in a word of the job; empty before.")
    attempt: int
    max_attempts: int
    progress: dict[str, Any] = said("What it has counted so far.")
    error: RunError | None
    http_request_count: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


# What an endpoint declares that starts work; it answers `started(run)`.
STARTED = {202: RunOut}


def started(run: JobRun) -> Status[dict[str, Any]]:
    """It waits in the queue; its `url` tells how it goes."""
    return Status(202, run_out(run))


@router.get("/jobs", response=JobList)
def list_jobs(request: HttpRequest) -> dict[str, Any]:
    """Every job with its last and next run."""
    return {"items": board.listed(clock.now()), "next": None}


@router.post("/jobs/{name}/run", response=STARTED)
def run_job(request: HttpRequest, name: str) -> Status[dict[str, Any]]:
    """Put a run into the queue. A run that waits already is answered instead of a second one."""
    try:
        return started(actions.run_soon(name, user=request.user, request=request))
    except actions.NotByHand:
        raise NotFound from None


@router.get("/jobs/runs/{int:run_id}", auth=members, response=RunOut)
def get_run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """One run: its state, what it counted, why it failed. For operators, and for whoever started it."""
    rows = JobRun.objects.all() if is_staff_call(request) else JobRun.objects.filter(requested_by=request.user.pk)
    return run_out(rows.get(pk=run_id))


def run_out(run: JobRun) -> dict[str, Any]:
    error = {"code": run.error_code, "message": redact.block(run.error)} if run.error else None
    return RunOut.of(run, url=f"{settings.PUBLIC_URL}/api/v1/jobs/runs/{run.pk}", error=error)
