"""The scheduler creates runs for due jobs and queues expired ones again. Several can run."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

from django.db import DatabaseError, close_old_connections, connections, transaction

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core import registry
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.registry import Job, load

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
# A slot that is this much later than the next one was planned by a clock that jumped ahead.
SLACK = timedelta(hours=1)
# Daily slots are never further ahead, so that only rarer ones are computed again at every tick.
DAILY = timedelta(hours=25)
# No pause, backoff or lease is longer.
LONGEST_WAIT = timedelta(days=2)


def tick() -> None:
    make_due_runs(clock.now())
    queue.requeue_expired()
    queue.send_unsent()


def make_due_runs(now: datetime) -> int:
    """One run for each scheduled job whose slot has come; slots missed while no scheduler ran count as one."""
    scheduled = {job.name: job for job in registry.jobs().values() if job.schedule}
    known = {row.name: row for row in JobSchedule.objects.filter(name__in=scheduled)}
    made = corrected = 0
    for name, job in scheduled.items():
        row = known.get(name) or _first_slot(job, now)
        if row.is_enabled and row.next_at <= now:
            made += _make_run(job, row, now)
        elif _is_far_ahead(job, row, now):
            corrected += _correct_slot(job, row, now)
    if corrected:
        log.warning("schedules_corrected jobs=%d runs=%d", corrected, queue.correct_far_ahead(now, LONGEST_WAIT))
    return made


def _is_far_ahead(job: Job, row: JobSchedule, now: datetime) -> bool:
    """Whether no slot of the schedule explains this moment: the clock of the server was wrong."""
    assert job.schedule is not None
    if row.next_at <= now + SLACK or (job.schedule.cron and row.next_at <= now + DAILY):
        return False
    return row.next_at > job.schedule.next_after(now) + SLACK


def _correct_slot(job: Job, row: JobSchedule, now: datetime) -> int:
    assert job.schedule is not None
    same = JobSchedule.objects.filter(pk=row.pk, next_at=row.next_at)
    return same.update(next_at=job.schedule.next_after(now))


def _first_slot(job: Job, now: datetime) -> JobSchedule:
    assert job.schedule is not None
    row, _ = JobSchedule.objects.get_or_create(name=job.name, defaults={"next_at": job.schedule.next_after(now)})
    return row


def _make_run(job: Job, row: JobSchedule, now: datetime) -> int:
    with transaction.atomic():
        made = _take_slot(job, row, now)
        if made:
            crash_point("slot.taken")
    if made:
        crash_point("slot.made")
    return made


def _take_slot(job: Job, row: JobSchedule, now: datetime) -> int:
    assert job.schedule is not None
    slot = job.schedule.latest(row.next_at, now)
    mine = JobSchedule.objects.filter(pk=row.pk, next_at=row.next_at).update(
        next_at=job.schedule.next_after(now), last_slot_at=slot
    )
    if not mine:
        return 0
    waiting = JobRun.objects.filter(name=job.name, state=State.QUEUED, key__startswith=f"{job.name}@").exists()
    if waiting or job.is_off or not _is_wanted(job, now):
        return 0
    run = queue.enqueue(job.name, key=f"{job.name}@{slot:%Y-%m-%dT%H:%M:%SZ}", exclusive=f"job:{job.name}", due_at=slot)
    return 1 if run else 0


def _is_wanted(job: Job, now: datetime) -> bool:
    """Ask the job whether it has something to do. If that fails, the run starts and shows why; other jobs continue."""
    if not job.wanted:
        return True
    try:
        return bool(load(job.wanted)(now))
    except DatabaseError:
        raise
    except Exception:
        log.exception("%s could not say whether it is wanted", job.name)
        return True


def run_forever(stop: threading.Event, *, role: str) -> None:
    """Create due runs until asked to stop. While the database is unreachable, wait."""
    name = queue.process_name(role)
    try:
        while not stop.is_set():
            try:
                close_old_connections()
                queue.report_alive(name, role)
                tick()
            except DatabaseError as error:
                log.warning("tick waits for the database: %s", type(error).__name__)
            stop.wait(TICK_SECONDS)
        queue.report_stopped(name)
    finally:
        connections.close_all()
