"""What the jobs page, the API and `jobs list` show of each job: its last runs, its next slot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from django.db.models import Q, Subquery, Value
from django.db.models.functions import Coalesce

from watchbook.core import registry
from watchbook.core.jobs.models import JobRun, JobSchedule, State

RUNS_SHOWN = 14
FAILED_SHOWN_FOR = timedelta(days=7)


@dataclass(frozen=True)
class Line:
    """One job. `runs` are its last ones, newest first."""

    job: registry.Job
    source: registry.Source | None
    runs: tuple[JobRun, ...]
    next_at: datetime | None
    is_paused: bool

    @property
    def last(self) -> JobRun | None:
        return self.runs[0] if self.runs else None

    @property
    def title(self) -> str:
        return self.job.title or self.job.name

    @property
    def last_seconds(self) -> float | None:
        return seconds_of(self.last) if self.last else None

    @property
    def durations(self) -> list[float]:
        """Oldest first, only of ended runs."""
        return [seconds for run in reversed(self.runs) if (seconds := seconds_of(run)) is not None]


def lines(now: datetime, *, runs: int = RUNS_SHOWN) -> list[Line]:
    """Every job; two queries whatever their number."""
    jobs = registry.jobs()
    ran = recent_runs(jobs, runs)
    slots = {row.name: row for row in JobSchedule.objects.filter(name__in=jobs)}
    owners = {job.name: source for source in registry.sources() for job in source.jobs}
    return [
        Line(
            job=job,
            source=owners.get(name),
            runs=tuple(ran[name]),
            next_at=_next_at(job, slots.get(name), now),
            is_paused=name in slots and not slots[name].is_enabled,
        )
        for name, job in jobs.items()
    ]


def recent_runs(names: Iterable[str], count: int) -> dict[str, list[JobRun]]:
    """The last started runs of each name, newest first, in one query that touches only them.

    A window function would read the whole history; a branch per name reads the end of its index.
    """
    wanted = Q(pk__in=[])
    for name in names:
        started = JobRun.objects.filter(name=name, started_at__isnull=False).order_by("-pk")
        edge = Coalesce(Subquery(started.values("pk")[count - 1 : count]), Value(0))
        wanted |= Q(name=name, started_at__isnull=False, pk__gte=edge)
    found: dict[str, list[JobRun]] = defaultdict(list)
    for run in JobRun.objects.filter(wanted).defer("args").order_by("-pk"):
        found[run.name].append(run)
    return found


def running() -> list[JobRun]:
    """What runs now, then what waits for a busy host, oldest first."""
    waiting = Q(state=State.QUEUED, error_code="later")
    shown = JobRun.objects.filter(Q(state=State.RUNNING) | waiting).select_related("requested_by")
    return list(shown.order_by("-state", "pk")[:50])


class _HasLast(Protocol):
    @property
    def last(self) -> JobRun | None: ...


L = TypeVar("L", bound=_HasLast)


def failed(shown: Iterable[L], now: datetime) -> list[L]:
    """Jobs whose last run failed lately and nothing has run since."""
    edge = now - FAILED_SHOWN_FOR
    return [
        line
        for line in shown
        if line.last and line.last.state == State.FAILED and line.last.finished_at and line.last.finished_at > edge
    ]


def listed(now: datetime) -> list[dict[str, Any]]:
    """For programs: name, queue, schedule, last_run, next_run."""
    return [
        {
            "name": line.job.name,
            "celery_names": list(line.job.celery_names),
            "title": line.title,
            "queue": line.job.queue,
            "schedule": str(line.job.schedule) if line.job.schedule else None,
            "last_run": _iso(line.last.started_at if line.last else None),
            "last_outcome": shown_state(line.last) if line.last else None,
            "next_run": _iso(line.next_at),
            "is_paused": line.is_paused,
        }
        for line in lines(now, runs=1)
    ]


def shown_state(run: JobRun) -> str:
    """A word of the badge vocabulary: the outcome of a run that is done, else its state."""
    if run.state == State.DONE:
        return run.outcome or "done"
    return "waiting" if run.state == State.QUEUED and run.error_code else run.state


def seconds_of(run: JobRun) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return max((run.finished_at - run.started_at).total_seconds(), 0.0)


def _next_at(job: registry.Job, slot: JobSchedule | None, now: datetime) -> datetime | None:
    if job.schedule is None or (slot is not None and not slot.is_enabled):
        return None
    return slot.next_at if slot is not None else job.schedule.next_after(now)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
