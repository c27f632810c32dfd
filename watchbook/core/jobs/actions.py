"""What a person does with jobs: run now, cancel, stop, try again, pause. Called by pages, API and commands alike."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.http import HttpRequest

from watchbook.base import clock
from watchbook.base.logs import request_id
from watchbook.core import registry
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun, JobSchedule, State


class ManualRunNotAllowed(LookupError):
    """There is no such job, or it is not one that a person starts."""


def check_by_hand(name: str) -> registry.Job:
    """The job that a person means, by its name or by the one that Celery knows it by."""
    job = registry.job_called(name)
    if job is None or not job.by_hand:
        raise ManualRunNotAllowed(name)
    return job


@transaction.atomic
def run_soon(name: str, *, user: User | None = None, request: HttpRequest | None = None) -> JobRun:
    """Put one run into the queue; one that waits already is enough and is given instead."""
    name = check_by_hand(name).name
    waiting = JobRun.objects.filter(
        name=name, state=State.QUEUED, exclusive=queue.exclusive_name(name), due_at__lte=clock.now()
    )
    run = waiting.order_by("pk").first()
    if run is None:
        run = queue.enqueue(
            name,
            exclusive=queue.exclusive_name(name),
            requested_by_id=user.pk if user else None,
            request_id=request_id(),
        )
    assert run is not None  # the key is random
    audit.record("job.started", actor=user, subject=name, request=request, run=run.pk)
    return run


@transaction.atomic
def run_again(run: JobRun, *, user: User | None = None, request: HttpRequest | None = None) -> JobRun:
    """A new run with the arguments of an ended one; the old row stays as it is."""
    if run.name not in registry.jobs():
        raise ManualRunNotAllowed(run.name)
    made = queue.enqueue(
        run.name,
        run.args,
        exclusive=run.exclusive,
        requested_by_id=user.pk if user else None,
        request_id=request_id(),
    )
    assert made is not None  # the key is random
    audit.record("job.started", actor=user, subject=run.name, request=request, run=made.pk)
    return made


@transaction.atomic
def run_many(names: Iterable[str], *, user: User | None = None, request: HttpRequest | None = None) -> list[JobRun]:
    """Put one run of each job into the queue."""
    return [run_soon(name, user=user, request=request) for name in names]


@transaction.atomic
def run_again_many(
    runs: Iterable[JobRun], *, user: User | None = None, request: HttpRequest | None = None
) -> list[JobRun]:
    """Run these again; runs of a job that no longer exists are skipped."""
    known = registry.jobs()
    return [run_again(run, user=user, request=request) for run in runs if run.name in known]


@transaction.atomic
def stop(run: JobRun, *, request: HttpRequest | None = None) -> bool:
    """End a run that waits or runs. Raising the fence makes its worker stop at its next step and write nothing more."""
    held = JobRun.objects.filter(pk=run.pk, state=State.RUNNING)
    is_stopped = queue.cancel(run.pk) or bool(
        held.update(
            state=State.CANCELLED, fence=F("fence") + 1, lease_until=None, exclusive_slot=None, finished_at=clock.now()
        )
    )
    if is_stopped:
        audit.record("job.stopped", subject=run.name, request=request, run=run.pk)
    return is_stopped


@transaction.atomic
def set_paused(paused: bool, name: str | None = None, *, request: HttpRequest | None = None) -> None:
    """Pause or resume the schedule of one job or of all. Current runs continue; running by hand stays possible."""
    now = clock.now()
    scheduled = {job.name: job.schedule for job in registry.jobs().values() if job.schedule}
    names = [name] if name else list(scheduled)
    known = set(JobSchedule.objects.filter(name__in=names).values_list("name", flat=True))
    for missing in set(names) & set(scheduled) - known:
        schedule = scheduled[missing]
        assert schedule is not None
        JobSchedule.objects.get_or_create(name=missing, defaults={"next_at": schedule.next_after(now)})
    JobSchedule.objects.filter(name__in=names).update(is_enabled=not paused)
    audit.record("job.paused" if paused else "job.resumed", subject=name or "*", request=request)


@transaction.atomic
def pause_many(names: Iterable[str], paused: bool, *, request: HttpRequest | None = None) -> None:
    """Pause or resume the schedules of these jobs."""
    for name in names:
        set_paused(paused, name, request=request)


def hand_back_rest() -> int:
    """At the end of a process: what its threads still hold goes back to the queue and is fenced off from them."""
    mine = f"worker@{socket.gethostname()}:{os.getpid()}:"
    held = list(JobRun.objects.filter(state=State.RUNNING, owner__startswith=mine).values_list("pk", flat=True))
    JobRun.objects.filter(pk__in=held, state=State.RUNNING, owner__startswith=mine).update(
        state=State.QUEUED,
        fence=F("fence") + 1,
        attempt=Greatest(F("attempt"), 1) - 1,
        due_at=clock.now(),
        lease_until=None,
        exclusive_slot=None,
        owner="",
        sent_at=None,
        outcome="recovered",
    )
    queue.send(held)
    return len(held)
