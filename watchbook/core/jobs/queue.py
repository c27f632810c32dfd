"""The queue of record: putting runs in, claiming one, and taking back what a dead worker held.

A claim is one conditional UPDATE; whoever changes the row holds it. Leases are judged by the database's clock, so that
workers with wrong clocks agree on who holds what.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from watchbook.base import clock
from watchbook.base.crash import crash_point
from watchbook.core import registry
from watchbook.core.jobs import options
from watchbook.core.jobs.models import JobRun, State

# How many ready rows a worker looks at before it takes one. A window, shuffled, keeps workers from racing for one row.
WINDOW = 20


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
    from watchbook.core.jobs import carrier  # the carrier sends what this module stores

    keys = [run.key for run in runs]
    with transaction.atomic():
        before = set(JobRun.objects.filter(key__in=keys).values_list("key", flat=True))
        JobRun.objects.bulk_create(runs, ignore_conflicts=True, batch_size=500)
        made = list(JobRun.objects.filter(key__in=[key for key in keys if key not in before]))
        transaction.on_commit(lambda: carrier.send([run.pk for run in made]))
    return made


def lease_seconds(job: registry.Job) -> float:
    """How long a claim holds without a sign of progress."""
    return job.lease_seconds * options.LEASE_FACTOR.value


def claim(run: JobRun, owner: str, *, now: datetime | None = None) -> JobRun | None:
    """Take one queued run. None when somebody else was first or its exclusive name is held."""
    now = now or clock.now()
    job = registry.jobs()[run.name]
    lease = timedelta(seconds=lease_seconds(job))
    try:
        with transaction.atomic():
            taken = JobRun.objects.filter(pk=run.pk, state=State.QUEUED, due_at__lte=now).update(
                state=State.RUNNING,
                owner=owner,
                fence=F("fence") + 1,
                attempt=F("attempt") + 1,
                lease_until=Now() + lease,
                started_at=now,
                finished_at=None,
                exclusive_slot=run.exclusive or None,
                outcome="",
                error="",
                error_code="",
            )
            if not taken:
                return None
            claimed = JobRun.objects.get(pk=run.pk)
    except IntegrityError:
        return None
    crash_point("job.claimed")
    return claimed


def claim_by_id(run_id: int, owner: str) -> JobRun | None:
    run = JobRun.objects.filter(pk=run_id, name__in=registry.jobs()).first()
    return claim(run, owner) if run else None


def claim_next(queues: Iterable[str], owner: str) -> JobRun | None:
    """Take the oldest ready run of these queues that this version of the program knows."""
    now = clock.now()
    held = JobRun.objects.filter(exclusive_slot__isnull=False).values("exclusive_slot")
    window = list(
        JobRun.objects.ready(now)
        .filter(queue__in=list(queues), name__in=list(registry.jobs()))
        .exclude(~Q(exclusive="") & Q(exclusive__in=held))
        .order_by("due_at", "id")
        .only("pk", "name", "exclusive")[:WINDOW]
    )
    if connection.vendor != "sqlite":
        # SQLite has one writer at a time and keeps the order; elsewhere workers would race for the same first row.
        random.shuffle(window)
    for run in window:
        claimed = claim(run, owner, now=now)
        if claimed is not None:
            return claimed
    return None


def requeue_expired() -> int:
    """Take back runs whose lease has ended. After the last attempt a run is failed and shown, not tried for ever."""
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
            error=f"The worker disappeared {run.attempt} times while doing this. It is not tried again by itself.",
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


def cancel(run_id: int) -> bool:
    """Cancel a run that has not started."""
    return bool(
        JobRun.objects.filter(pk=run_id, state=State.QUEUED).update(state=State.CANCELLED, finished_at=clock.now())
    )
