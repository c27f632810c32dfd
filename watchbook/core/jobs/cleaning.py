"""Old finished runs are forgotten, the last run of every job stays; so are abandoned files and hosts asked no more."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Max

from watchbook.base.store.scratch import sweep_scratch
from watchbook.base.web.pace.database import forget_idle
from watchbook.core.jobs import options
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.core.jobs.models import JobRun, State

BATCH = 1000


def clean_old_runs(ctx: JobContext) -> Outcome:
    sweep_scratch()
    with ctx.writing():
        forget_idle()
    before = ctx.now - timedelta(days=options.KEEP_DAYS.value)
    newest = list(JobRun.objects.values("name").annotate(last=Max("pk")).values_list("last", flat=True))
    ended = [State.DONE, State.FAILED, State.CANCELLED]
    removed = 0
    while True:
        old = JobRun.objects.filter(state__in=ended, finished_at__lt=before).exclude(pk__in=newest)
        batch = list(old.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not batch:
            return Outcome("done" if removed else "nothing_to_do", {"removed": removed})
        with ctx.writing():
            removed += JobRun.objects.filter(pk__in=batch).delete()[0]
        ctx.report(removed=removed)
