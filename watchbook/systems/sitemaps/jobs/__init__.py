"""Jobs of the sitemaps system. Here: deleting old snapshots, changes and delivery logs in small batches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from watchbook.base.store import lists as sorted_lists
from watchbook.core.erase import erase
from watchbook.core.jobs.runner import JobContext, Outcome
from watchbook.systems.sitemaps import options
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask, NotificationLog, SitemapCheck, SitemapSnapshot

BATCH = 500


def delete_old(ctx: JobContext) -> Outcome:
    """Delete rows older than the retention options (default 90, 90 and 30 days)."""
    changes = ctx.now - timedelta(days=options.KEEP_CHANGES_DAYS.value)
    snapshots = ctx.now - timedelta(days=options.KEEP_SNAPSHOTS_DAYS.value)
    logs = ctx.now - timedelta(days=options.KEEP_LOGS_DAYS.value)
    referenced = ChangeRecord.objects.filter(new_snapshot=OuterRef("pk"))
    current = MonitorTask.objects.filter(current_snapshot=OuterRef("pk"))
    deleted = MonitorTask.objects.filter(deleted_at__lt=snapshots)
    removed = {
        "notification_logs": _delete(ctx, NotificationLog.objects.filter(sent_at__lt=logs)),
        "change_records": _delete(ctx, ChangeRecord.objects.filter(created_at__lt=changes)),
        "checks": _delete(ctx, SitemapCheck.objects.filter(created_at__lt=changes)),
        # With its snapshots, records, files and history.
        "monitors": _purge(ctx, deleted),
        # A snapshot that a kept record leads to stays with it.
        "snapshots": _delete(
            ctx, SitemapSnapshot.objects.filter(created_at__lt=snapshots).exclude(Exists(referenced) | Exists(current))
        ),
    }
    with ctx.writing():
        removed["blobs"] = sorted_lists.sweep(_named_blobs())
    return Outcome("done" if any(removed.values()) else "nothing_to_do", removed)


def _delete(ctx: JobContext, rows: QuerySet[Any]) -> int:
    removed = 0
    while batch := list(rows.values_list("pk", flat=True)[:BATCH]):
        with ctx.writing():
            if rows.model is ChangeRecord:
                erase("sitemap_change", batch)
            removed += rows.model.objects.filter(pk__in=batch).delete()[0]
        ctx.beat()
    return removed


def _purge(ctx: JobContext, deleted: QuerySet[MonitorTask]) -> int:
    """Delete monitors whose deletion can no longer be undone, and erase their changes from search and activity."""
    purged = 0
    for monitor in deleted.only("pk"):
        with ctx.writing():
            erase("sitemap_change", ChangeRecord.objects.filter(monitor_task=monitor).values_list("pk", flat=True))
            monitor.delete()
        ctx.beat()
        purged += 1
    return purged


def _named_blobs() -> set[str]:
    named = {entry["sha256"] for parts in SitemapSnapshot.objects.values_list("parts", flat=True) for entry in parts}
    for changes in ChangeRecord.objects.values_list("changes", flat=True).iterator(2000):
        if "manifest" in changes:
            named.add(changes["manifest"])
    return named
