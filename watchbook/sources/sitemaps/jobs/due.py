"""Which monitors are due: one run each, never two at one host at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.core.jobs.errors import GiveUp
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.notify.outbox import deliver_due
from watchbook.sources.sitemaps.models import MonitorTask
from watchbook.sources.sitemaps.store.slots import leave_slot

CHECK_JOB = "sitemaps.check"
BATCH = 5000


def anything_due(now: datetime) -> bool:
    return MonitorTask.objects.due(now).exists()


def enqueue_due(ctx: JobContext) -> Outcome:
    """Put a run into the queue for every monitor whose time has come."""
    found = MonitorTask.objects.due(ctx.now).order_by("next_check_at").only("pk", "host", "next_check_at")
    due = list(found[:BATCH])
    runs = [run_for(monitor) for monitor in due]
    made = {run.key for run in queue.enqueue_many(runs)}
    known = {run.key: monitor for run, monitor in zip(runs, due, strict=True) if run.key not in made}
    left = _leave_ended(ctx, known)
    return Outcome("done" if made or left else "nothing_to_do", {"enqueued": len(made), "broken_off": left})


def _leave_ended(ctx: JobContext, known: Mapping[str, MonitorTask]) -> int:
    """Monitors that are still due though the run of their slot has ended: it crashed its workers, or was cancelled."""
    left = 0
    for run in JobRun.objects.filter(key__in=list(known)).exclude(state__in=[State.QUEUED, State.RUNNING]):
        with ctx.writing():
            left += leave_slot(known[run.key].pk, known[run.key].next_check_at, run, ctx.now)
    return left


def run_for(monitor: MonitorTask) -> JobRun:
    """The slot is part of the key: however often it is found due, it is one run."""
    return queue.new_run(
        CHECK_JOB,
        {"monitor_id": str(monitor.pk)},
        key=f"{CHECK_JOB}:{monitor.pk}@{monitor.next_check_at:%Y%m%dT%H%M%S.%f}",
        exclusive=f"sitemaps-host:{monitor.host}",
    )


def run_due_now(now: datetime) -> dict[str, Any]:
    """Check everything that is due here and now, and deliver what is due: the command, and tests in virtual time."""
    tally: Counter[str] = Counter()
    for monitor in list(MonitorTask.objects.due(now).order_by("next_check_at", "pk")[:BATCH]):
        try:
            run = runner.run_now(CHECK_JOB, {"monitor_id": str(monitor.pk)}, exclusive=f"sitemaps-host:{monitor.host}")
        except GiveUp:
            continue  # another process checks this host; it stays due
        if run.outcome == "nothing_to_do":
            continue
        tally["checked"] += 1
        tally["http_request_count"] += run.http_request_count
        tally[run.progress.get("result", "failed") if run.state == State.DONE else "failed"] += 1
    deliver_due(now)
    names = ("checked", "changed", "unchanged", "degraded", "suspect", "failed", "http_request_count")
    return {name: tally[name] for name in names}
