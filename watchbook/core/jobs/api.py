"""Jobs over the API, for operators."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.responses import Status

from watchbook.base import clock
from watchbook.base.logs import redact
from watchbook.core.api.errors import NotFound
from watchbook.core.api.gate import staff
from watchbook.core.jobs import actions, board
from watchbook.core.jobs.models import JobRun

router = Router(auth=staff)


class JobOut(Schema):
    name: str
    title: str
    queue: str
    schedule: str | None
    last_run: str | None
    last_outcome: str | None
    next_run: str | None
    is_paused: bool


class JobList(Schema):
    items: list[JobOut]
    next: str | None = None


class RunOut(Schema):
    id: int
    name: str
    queue: str
    state: str
    outcome: str
    attempt: int
    max_attempts: int
    progress: dict[str, Any]
    error: dict[str, str] | None
    http_request_count: int
    created_at: str
    started_at: str | None
    finished_at: str | None


@router.get("/jobs", response=JobList)
def list_jobs(request: HttpRequest) -> dict[str, Any]:
    """Every job with its last and next run."""
    return {"items": board.listed(clock.now()), "next": None}


@router.post("/jobs/{name}/run", response={202: RunOut})
def run_job(request: HttpRequest, name: str) -> Status[dict[str, Any]]:
    """Put a run into the queue. A run that waits already is answered instead of a second one."""
    try:
        run = actions.run_soon(name, user=request.user, request=request)
    except actions.NotByHand:
        raise NotFound from None
    return Status(202, run_out(run))


@router.get("/jobs/runs/{int:run_id}", response=RunOut)
def get_run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """One run: its state, what it counted, why it failed."""
    return run_out(JobRun.objects.get(pk=run_id))


def run_out(run: JobRun) -> dict[str, Any]:
    return {
        "id": run.pk,
        "name": run.name,
        "queue": run.queue,
        "state": run.state,
        "outcome": run.outcome,
        "attempt": run.attempt,
        "max_attempts": run.max_attempts,
        "progress": run.progress,
        "error": {"code": run.error_code, "message": redact.block(run.error)} if run.error else None,
        "http_request_count": run.http_request_count,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
    }
