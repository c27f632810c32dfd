"""Job endpoints for operators, and the answer of every endpoint that queues a run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Query, Router
from ninja.responses import Status
from pydantic import Field

from watchbook.base import clock
from watchbook.base.logs import redact
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export
from watchbook.core.api.auth import is_staff_call, members, staff
from watchbook.core.api.errors import Invalid, NotFound
from watchbook.core.api.lists import MOST, DaysQuery, listed, show_held
from watchbook.core.api.schemas import Answer, Listing, Mirrored, said
from watchbook.core.jobs import actions, filters, overview
from watchbook.core.jobs.models import JobRun
from watchbook.kit.paging import InvalidCursor, decode_cursor, encode_cursor

router = Router(auth=staff)
# In the cursor of the list of jobs, so that it is refused elsewhere.
JOBS = "jobs"


class JobOut(Answer):
    """Background work, scheduled or on demand."""

    name: str
    celery_names: list[str] = said(
        "Other names of the job, for programs that send it through Celery; they work here, too."
    )
    title: str
    queue: str
    schedule: str | None = said("The schedule in words; null when the job runs on demand only.")
    last_run: datetime | None = said("When the last run began.")
    last_outcome: str | None
    next_run: datetime | None
    is_paused: bool


class JobList(Listing[JobOut]):
    """Jobs, in the order of the page."""


class JobQuery(DaysQuery):
    """The filters of the page; without a limit the list has all jobs."""

    limit: int = MOST
    since: str = Field("", description="First day or moment of the last run.")
    order: str = Field("", description="board, the default, name, newest, longest or next.")
    q: str = ""
    source: str = ""
    result: str = ""
    plan: str = Field("", description="scheduled, paused, off or on_demand.")


class RunError(Answer):
    """Reason why a run failed or is queued again."""

    code: str
    message: str


class RunOut(Answer):
    """One run of a job. Every endpoint that starts work returns it; `url` returns its current state."""

    row = JobRun

    id: int
    name: str = said("Name of the job.")
    url: str = said("Address of the run; for operators and for the user who started it.")
    queue: str
    state: str = said("queued, running, done, failed or cancelled.")
    outcome: str = said("Result in one word, defined by the job; empty until the run has ended.")
    attempt: int
    max_attempts: int
    progress: dict[str, Any] = said("Counters of the run so far.")
    error: RunError | None
    http_request_count: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


# What an endpoint declares that starts work; it answers `started(run)`.
STARTED = {202: RunOut}


def started(run: JobRun) -> Status[dict[str, Any]]:
    """A queued run; request its `url` for the progress."""
    return Status(202, run_out(run))


@router.get("/jobs", response=JobList)
def list_jobs(request: HttpRequest, page: Query[JobQuery]) -> Any:
    """List jobs with their last and next run, with the filters of the page."""
    now = clock.now()
    shown_jobs = show_held(filters.BOARD, overview.shown_lines(now), page)
    if file := export(request, shown_jobs):
        return file
    found = overview.listed(now, shown_jobs.page.items)
    start = _start(page.cursor, [job["name"] for job in found])
    shown = found[start : start + page.limit]
    is_end = start + page.limit >= len(found)
    return {"items": shown, "next": None if is_end else encode_cursor([JOBS, shown[-1]["name"]])}


def _start(cursor: str, names: list[str]) -> int:
    """Return the position after the job that the cursor names."""
    if not cursor:
        return 0
    try:
        kind, name = decode_cursor(cursor, 2)
        if kind != JOBS:
            raise InvalidCursor
        return names.index(name) + 1
    except (InvalidCursor, ValueError):
        raise Invalid("The cursor is not one that this list gave out.", code="bad_cursor") from None


@router.post("/jobs/{name}/run", response=STARTED)
def run_job(request: HttpRequest, name: str) -> Status[dict[str, Any]]:
    """Queue a run. If one is queued already, it is returned instead of a second one."""
    try:
        return started(actions.run_soon(name, user=person_of(request), request=request))
    except actions.ManualRunNotAllowed:
        raise NotFound from None


class RunPage(Mirrored[RunOut]):
    """Runs of jobs, newest first."""


class RunsQuery(DaysQuery):
    q: str = ""
    job: str = ""
    state: str = ""
    by_user: bool = False
    long: bool = False


@router.get("/jobs/runs", response=RunPage)
def list_runs(request: HttpRequest, page: Query[RunsQuery]) -> Any:
    """List the runs of all jobs, newest first, with the filters of the page."""
    return listed(request, filters.RUNS, filters.runs(), page, make=run_out)


@router.get("/jobs/runs/{int:run_id}", auth=members, response=RunOut)
def get_run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """Get one run with its state, counters and error. For operators and for the user who started it."""
    rows = JobRun.objects.all() if is_staff_call(request) else JobRun.objects.filter(requested_by=request.user.pk)
    return run_out(rows.get(pk=run_id))


def run_out(run: JobRun) -> dict[str, Any]:
    error = {"code": run.error_code, "message": redact.block(run.error)} if run.error else None
    return RunOut.of(run, url=f"{settings.PUBLIC_URL}/api/v1/jobs/runs/{run.pk}", error=error)
