"""The queue of record: putting runs in, claiming one, and taking back what a dead worker held.

A claim is one conditional UPDATE; the worker that changes the row holds it. The database's clock decides about leases,
so that workers with wrong clocks agree on who holds what.

Notifies workers of runs (an event in this process, or a Celery message), and records which processes are alive.

Messages are hints: after a lost one the scheduler finds the run again; a second one finds nothing to claim.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core import registry
from watchbook.core.jobs import options
from watchbook.core.jobs.models import JobRun, State, Worker

# How many ready rows a worker reads before it takes one.
WINDOW = 24


def enqueue(
    name: str,
    args: dict[str, Any] | None = None,
    *,
    key: str = "",
    exclusive: str = "",
    due_at: datetime | None = None,
    **columns: Any,
) -> JobRun | None:
    """Put one run into the queue. None when a run with this key is there already."""
    made = enqueue_many([new_run(name, args, key=key, exclusive=exclusive, due_at=due_at, **columns)])
    return made[0] if made else None


def new_run(
    name: str,
    args: dict[str, Any] | None = None,
    *,
    key: str = "",
    exclusive: str = "",
    due_at: datetime | None = None,
    **columns: Any,
) -> JobRun:
    job = registry.jobs()[name]
    now = clock.now()
    return JobRun(
        name=name,
        queue=job.queue,
        key=key or f"{name}:{uuid4()}",
        args=args or {},
        exclusive=exclusive,
        due_at=due_at or now,
        max_attempts=job.max_attempts,
        created_at=now,
        **columns,
    )


def enqueue_many(runs: Sequence[JobRun]) -> list[JobRun]:
    """Insert runs whose key is not there yet and wake workers after the commit. Returns the ones inserted."""

    keys = [run.key for run in runs]
    with transaction.atomic():
        before = set(JobRun.objects.filter(key__in=keys).values_list("key", flat=True))
        JobRun.objects.bulk_create(runs, ignore_conflicts=True, batch_size=500)
        made = list(JobRun.objects.filter(key__in=[key for key in keys if key not in before]))
        transaction.on_commit(lambda: send([run.pk for run in made]))
    return made


def exclusive_name(name: str) -> str:
    """Runs started by hand and by the schedule share it, so that they never run together."""
    return f"job:{name}"


def lease_seconds(job: registry.Job) -> float:
    """How long a claim holds without a sign of progress."""
    return job.lease_seconds * options.LEASE_FACTOR.value


class Ready(NamedTuple):
    """What must be known of a queued run to claim it."""

    pk: int
    name: str
    exclusive: str
    fence: int
    attempt: int


def claim(run: JobRun, owner: str, *, now: datetime | None = None) -> JobRun | None:
    """Take one queued run. None when another worker was first or its exclusive name is held."""
    ready = Ready(run.pk, run.name, run.exclusive, run.fence, run.attempt)
    return _take(ready, owner, now or clock.now())


# Claiming is what every run pays for: written out, because building it through the ORM costs more than answering it.
TAKEN = """
    state = 'running', owner = %s, fence = fence + 1, attempt = attempt + 1, lease_until = {lease_end},
    started_at = %s, finished_at = NULL, exclusive_slot = NULLIF(exclusive, ''), outcome = '', error = '',
    error_code = ''
"""
# The fence that was read is part of the condition: where it holds, the row is as it was read.
TAKE = f"UPDATE job_runs SET {TAKEN} WHERE id = %s AND state = 'queued' AND fence = %s AND due_at <= %s"  # noqa: S608
# So many seconds from now by the database's own clock, in the form Django stores.
LEASE_END = {
    "sqlite": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', %s || ' seconds')",
    "postgresql": "STATEMENT_TIMESTAMP() + %s * INTERVAL '1 second'",
    "mysql": "DATE_ADD(CURRENT_TIMESTAMP(6), INTERVAL %s SECOND)",
}


def _take(run: Ready, owner: str, now: datetime) -> JobRun | None:
    lease = lease_seconds(registry.jobs()[run.name])
    moment = connection.ops.adapt_datetimefield_value(now)
    sql = TAKE.format(lease_end=LEASE_END[connection.vendor])
    try:
        with transaction.atomic() if run.exclusive else nullcontext(), connection.cursor() as cursor:
            cursor.execute(sql, [owner, lease, moment, run.pk, run.fence, moment])
            taken = JobRun.objects.get(pk=run.pk) if cursor.rowcount == 1 else None
    except IntegrityError:
        return None  # its exclusive name is held
    if taken is not None:
        crash_point("job.claimed")
    return taken


def claim_by_id(run_id: int, owner: str) -> JobRun | None:
    run = JobRun.objects.filter(pk=run_id, name__in=registry.jobs()).first()
    return claim(run, owner) if run else None


READY = """
    state = 'queued' AND due_at <= %s AND queue IN ({queues}) AND name IN ({names}) AND (
        exclusive = '' OR exclusive NOT IN (SELECT exclusive_slot FROM job_runs WHERE exclusive_slot IS NOT NULL)
    )
    ORDER BY due_at, id
"""


def claim_next(queues: Iterable[str], owner: str) -> JobRun | None:
    """Take the oldest ready run of these queues that this version of the program knows."""
    now = clock.now()
    if connection.vendor == "postgresql":
        return _pick(list(queues), owner, now)
    window = _ready(list(queues), list(registry.jobs()), now)
    # All workers see the same first rows: in order, every one but the first would lose its race for each.
    random.shuffle(window)
    for run in window:
        if (claimed := _take(run, owner, now)) is not None:
            return claimed
    return None


# PostgreSQL finds and takes in one statement: workers pass over what another is just taking.
# A claim need not wait for the disk: losing one in a crash of the database is a run that is claimed again, and every
# write of a run is bound to its owner and waits as usual. Waiting halves the claims per second.
PICK = f"""
    WITH unhurried AS (SELECT set_config('synchronous_commit', 'off', true)),
    picked AS (SELECT id FROM job_runs WHERE {READY} LIMIT 1 FOR UPDATE SKIP LOCKED)
    UPDATE job_runs SET {TAKEN} FROM picked, unhurried WHERE job_runs.id = picked.id RETURNING job_runs.*
"""  # noqa: S608


def _pick(queues: list[str], owner: str, now: datetime) -> JobRun | None:
    jobs = registry.jobs()
    sql = PICK.format(
        queues=_marks(queues),
        names=_marks(list(jobs)),
        # One value for all of them: PostgreSQL parses the statement again each time.
        lease_end="STATEMENT_TIMESTAMP() + (%s::jsonb ->> name)::float8 * INTERVAL '1 second'",
    )
    leases = json.dumps({job.name: lease_seconds(job) for job in jobs.values()})
    values = [now, *queues, *jobs, owner, leases, now]
    for _ in range(WINDOW):
        try:
            with transaction.atomic() if connection.in_atomic_block else nullcontext():
                taken = next(iter(JobRun.objects.raw(sql, values)), None)
        except IntegrityError:
            continue  # another worker took a run of the same exclusive name this moment: the next look passes over it
        if taken is not None:
            crash_point("job.claimed")
        return taken
    return None


def _ready(queues: list[str], names: list[str], now: datetime) -> list[Ready]:
    ready = READY.format(queues=_marks(queues), names=_marks(names))
    sql = f"SELECT id, name, exclusive, fence, attempt FROM job_runs WHERE {ready} LIMIT {WINDOW}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [connection.ops.adapt_datetimefield_value(now), *queues, *names])
        return [Ready(*row) for row in cursor.fetchall()]


def _marks(values: list[str]) -> str:
    return ", ".join(["%s"] * len(values))


def requeue_expired() -> int:
    """Requeue runs whose lease has ended. After the last attempt a run fails, and is not retried for ever."""
    now = clock.now()
    with transaction.atomic():
        expired = JobRun.objects.filter(state=State.RUNNING, lease_until__lt=Now())
        if connection.features.has_select_for_update_skip_locked:
            # A worker stopped inside a transaction holds its row; waiting for it would stop everybody's sweep.
            expired = expired.select_for_update(skip_locked=True)
        count = 0
        for run in list(expired.order_by("lease_until")[:500]):
            count += _take_back(run, now)
            crash_point("job.taken_back")
    return count


def _take_back(run: JobRun, now: datetime) -> int:
    same = JobRun.objects.filter(pk=run.pk, fence=run.fence, state=State.RUNNING)
    if run.attempt >= run.max_attempts:
        return same.update(
            state=State.FAILED,
            exclusive_slot=None,
            lease_until=None,
            finished_at=now,
            error_code="crashed",
            error=f"The worker stopped {run.attempt} times during this run. Watchbook does not retry it automatically.",
        )
    return same.update(
        state=State.QUEUED,
        exclusive_slot=None,
        lease_until=None,
        owner="",
        sent_at=None,
        due_at=now,
        outcome="recovered",
    )


def correct_far_ahead(now: datetime, longest: timedelta) -> int:
    """Correct runs that a clock which jumped ahead made wait, or leased, for longer than anything does."""
    waiting = JobRun.objects.filter(state=State.QUEUED, due_at__gt=now + longest)
    # A worker that still runs extends its lease itself.
    held = JobRun.objects.filter(state=State.RUNNING, lease_until__gt=Now() + longest)
    return waiting.update(due_at=now) + held.update(lease_until=Now() + timedelta(hours=1))


def cancel(run_id: int) -> bool:
    """Cancel a run that has not started."""
    return bool(
        JobRun.objects.filter(pk=run_id, state=State.QUEUED).update(state=State.CANCELLED, finished_at=clock.now())
    )


log = logging.getLogger(__name__)

# Rung when there may be work for the threads of this process.
bell = threading.Event()


def process_name(role: str) -> str:
    return f"{role}@{socket.gethostname()}:{os.getpid()}:{threading.get_ident() % 100_000}"


def send(run_ids: Sequence[int]) -> None:
    """Notify workers of runs. Never raises: a broker that is down is a delay, not a loss."""
    if not run_ids:
        return
    if not options.BROKER_URL.value:
        bell.set()
        return
    from watchbook.core.jobs.celery import send_run  # Celery is heavy, and not needed without a broker

    for run_id, queue in JobRun.objects.filter(pk__in=run_ids, state=State.QUEUED).values_list("pk", "queue"):
        JobRun.objects.filter(pk=run_id, state=State.QUEUED).update(sent_at=clock.now())
        crash_point("message.marked")
        try:
            send_run(run_id, queue)
        except Exception as error:  # kombu raises whatever its transport raises; the sweep sends again
            log.warning("broker did not take run %s: %s", run_id, type(error).__name__)
            JobRun.objects.filter(pk=run_id).update(sent_at=None)
            return
        crash_point("message.sent")


def send_unsent(limit: int = 500) -> int:
    """Send what is due and was never sent, and what the broker seems to have lost."""
    now = clock.now()
    lost = now - timedelta(seconds=options.RESEND_SECONDS.value)
    waiting = (
        JobRun.objects.ready(now)
        .filter(Q(sent_at=None) | Q(sent_at__lt=lost))
        .order_by("due_at", "id")
        .values_list("pk", flat=True)[:limit]
    )
    found = list(waiting)
    send(found)
    return len(found)


SAY_EVERY_SECONDS = 5.0
FORGET_AFTER = timedelta(minutes=10)
ALIVE_FOR = timedelta(seconds=30)

_said: dict[str, float] = {}


def report_alive(name: str, role: str, *, queues: str = "", threads: int = 1) -> None:
    if time.monotonic() - _said.get(name, -SAY_EVERY_SECONDS) < SAY_EVERY_SECONDS:
        return
    now = clock.now()
    if not Worker.objects.filter(name=name).update(seen_at=now):
        Worker.objects.create(name=name, role=role, queues=queues, threads=threads, seen_at=now, started_at=now)
        Worker.objects.filter(seen_at__lt=now - FORGET_AFTER).delete()
    _said[name] = time.monotonic()


def report_stopped(name: str) -> None:
    try:
        Worker.objects.filter(name=name).delete()
    except DatabaseError:
        pass  # the row expires


def count_alive(role: str) -> int:
    return Worker.objects.filter(role=role, seen_at__gte=clock.now() - ALIVE_FOR).count()
