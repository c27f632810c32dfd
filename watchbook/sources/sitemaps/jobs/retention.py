"""Old snapshots, records and logs are forgotten in small batches; the newest snapshot always stays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from watchbook.base.store import blobs
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.sources.sitemaps import options
from watchbook.sources.sitemaps.models import ChangeRecord, MonitorTask, NotificationLog, SitemapCheck, SitemapSnapshot

BATCH = 500


def forget_old(ctx: JobContext) -> Outcome:
    """90, 90 and 30 days unless the operator says otherwise."""
    changes = ctx.now - timedelta(days=options.KEEP_CHANGES_DAYS.value)
    snapshots = ctx.now - timedelta(days=options.KEEP_SNAPSHOTS_DAYS.value)
    logs = ctx.now - timedelta(days=options.KEEP_LOGS_DAYS.value)
    referenced = ChangeRecord.objects.filter(new_snapshot=OuterRef("pk"))
    current = MonitorTask.objects.filter(current_snapshot=OuterRef("pk"))
    removed = {
        "notification_logs": _forget(ctx, NotificationLog.objects.filter(sent_at__lt=logs)),
        "change_records": _forget(ctx, ChangeRecord.objects.filter(created_at__lt=changes)),
        "checks": _forget(ctx, SitemapCheck.objects.filter(created_at__lt=changes)),
        # A snapshot that a kept record leads to stays with it.
        "snapshots": _forget(
            ctx, SitemapSnapshot.objects.filter(created_at__lt=snapshots).exclude(Exists(referenced) | Exists(current))
        ),
    }
    with ctx.writing():
        removed["blobs"] = blobs.sweep(_named_blobs())
    return Outcome("done" if any(removed.values()) else "nothing_to_do", removed)


def _forget(ctx: JobContext, rows: QuerySet[Any]) -> int:
    removed = 0
    while batch := list(rows.values_list("pk", flat=True)[:BATCH]):
        with ctx.writing():
            removed += rows.model.objects.filter(pk__in=batch).delete()[0]
        ctx.beat()
    return removed


def _named_blobs() -> set[str]:
    named = {entry["sha256"] for parts in SitemapSnapshot.objects.values_list("parts", flat=True) for entry in parts}
    for changes in ChangeRecord.objects.values_list("changes", flat=True).iterator(2000):
        if "manifest" in changes:
            named.add(changes["manifest"])
    return named
