"""Forgetting old entries of the stream."""

from __future__ import annotations

from datetime import timedelta

from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.stream import options
from watchbook.core.stream.models import StreamEntry

BATCH = 1000


def clean_old_entries(ctx: JobContext) -> Outcome:
    """From the oldest row on, until one is young enough."""
    if not options.KEEP_DAYS.value:
        return NOTHING_TO_DO
    before = ctx.now - timedelta(days=options.KEEP_DAYS.value)
    removed = 0
    while True:
        rows = list(StreamEntry.objects.order_by("pk").values_list("pk", "created_at")[:BATCH])
        old = [pk for pk, created_at in rows if created_at < before]
        if old:
            with ctx.writing():
                removed += StreamEntry.objects.filter(pk__in=old).delete()[0]
            ctx.report(removed=removed)
        if len(old) < BATCH:
            return Outcome("done", {"removed": removed}) if removed else NOTHING_TO_DO
