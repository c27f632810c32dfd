"""Jobs of notifications: send what is due, delete what is old."""

from __future__ import annotations

from datetime import datetime, timedelta

from watchbook.core.jobs.runner import JobContext, Outcome
from watchbook.core.notify import options, outbox
from watchbook.core.notify.models import Delivery, State
from watchbook.core.notify.outbox.deliver import anything_waits

BATCH = 500


def deliver_due(ctx: JobContext) -> Outcome:
    tally = outbox.deliver_due(width=options.THREADS.value, report=ctx.report)
    figures = tally.figures()
    return Outcome("done" if any(figures.values()) else "nothing_to_do", figures)


def anything_due(now: datetime) -> bool:
    return anything_waits(now)


def clean_old(ctx: JobContext) -> Outcome:
    """Delete finished deliveries that are older than the log keeps them; a digest after its members."""
    before = ctx.now - timedelta(days=options.KEEP_DAYS.value)
    decided = [State.SENT, State.FAILED, State.SKIPPED]
    removed = 0
    while True:
        old = Delivery.objects.filter(state__in=decided, created_at__lt=before).order_by("created_at")
        batch = list(old.values_list("pk", flat=True)[:BATCH])
        if not batch:
            return Outcome("done" if removed else "nothing_to_do", {"removed": removed})
        with ctx.writing():
            Delivery.objects.filter(pk__in=batch).delete()
        removed += len(batch)
        ctx.report(removed=removed)
