"""Finding what belongs to the reader. Somebody else's monitor is as unknown as one that never was."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from watchbook.core.jobs.models import JobRun
from watchbook.sources.sitemaps.jobs.due import CHECK_JOB
from watchbook.sources.sitemaps.models import ChangeRecord, ChangeType, MonitorTask, SitemapSnapshot

# Columns that may hold a thousand entries, and are shown on the page of one change or snapshot only.
LONG_COLUMNS = ("changes", "extras", "notes")


def own_monitors(request: HttpRequest) -> QuerySet[MonitorTask]:
    heads = MonitorTask.objects.of(request.user).select_related("current_snapshot")
    return heads.defer("current_snapshot__urls", "current_snapshot__notes")


def own_monitor(request: HttpRequest, monitor_id: UUID) -> MonitorTask:
    """With `change_count`, which the tabs of every page of a monitor show."""
    changed = ChangeRecord.objects.filter(monitor_task=OuterRef("pk"), change_type=ChangeType.CHANGED)
    counted = changed.order_by().values("monitor_task").annotate(number=Count("pk")).values("number")
    rows = own_monitors(request).annotate(change_count=Coalesce(Subquery(counted), 0))
    return get_object_or_404(rows, pk=monitor_id)


def own_change(request: HttpRequest, change_id: UUID) -> ChangeRecord:
    rows = ChangeRecord.objects.filter(monitor_task__in=MonitorTask.objects.of(request.user))
    return get_object_or_404(with_snapshots(rows), pk=change_id)


def with_snapshots(records: QuerySet[ChangeRecord]) -> QuerySet[ChangeRecord]:
    """Change records with their monitor and the heads of both snapshots."""
    heads = records.select_related("monitor_task", "old_snapshot", "new_snapshot")
    return heads.defer("old_snapshot__urls", "new_snapshot__urls", "old_snapshot__notes", "new_snapshot__notes")


def own_snapshot(request: HttpRequest, snapshot_id: UUID) -> SitemapSnapshot:
    rows = SitemapSnapshot.objects.filter(monitor_task__in=MonitorTask.objects.of(request.user))
    return get_object_or_404(rows.select_related("monitor_task"), pk=snapshot_id)


def live_run(monitor_id: UUID) -> JobRun | None:
    """The check of this monitor that waits or runs now. Ask before the monitor is read: a check may end between."""
    waiting = JobRun.objects.live().filter(name=CHECK_JOB)
    # A run that the schedule or a person asked for names the monitor in its key; one of a command in its arguments.
    mine = waiting.filter(Q(key__startswith=f"{CHECK_JOB}:{monitor_id}@") | Q(args__monitor_id=str(monitor_id)))
    return mine.order_by("-state", "pk").first()


def reader(request: HttpRequest) -> Any:
    """The account that asks; the login middleware lets nobody else in."""
    return cast(Any, request.user)
