"""Audits of missing floors: the list, one audit, its topics and its floors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.paging import keyset
from watchbook.sources.nga.actions import AUDIT
from watchbook.sources.nga.models import (
    FloorRepair,
    Thread,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadRepair,
)
from watchbook.sources.nga.views.head import head, next_run
from watchbook.sources.nga.views.paging import Stretch, stretch, whole
from watchbook.sources.nga.views.words import category_text, own_title, repair_badge, trigger_text, trouble_text

PER_PAGE = 30
FLOORS_PER_PAGE = 100


@dataclass(frozen=True)
class Audit:
    run: ThreadFloorAuditRun

    @property
    def badge(self) -> Badge:
        if self.run.run_finished_at is None:
            return badges.find("job", "running")
        if self.run.failed_thread_count or self.run.partial_thread_count:
            return badges.find("job", "partly")
        return badges.find("job", "done")

    @property
    def trigger(self) -> str:
        return trigger_text(self.run.run_trigger_text)

    @property
    def took(self) -> timedelta | None:
        return self.run.run_finished_at - self.run.run_started_at if self.run.run_finished_at else None

    @property
    def failures(self) -> list[tuple[str, int]]:
        """How many topics failed by what."""
        names = ("http", "parse", "db", "unknown")
        counted = [(category_text(name), getattr(self.run, f"failed_{name}_count")) for name in names]
        return [(text, count) for text, count in counted if count]


@dataclass(frozen=True)
class Line:
    """A topic or a floor of an audit with its state in words."""

    row: Any
    thread: Thread
    badge: Badge
    category: str
    trouble: str
    title: str = ""


@require_GET
def audits(request: HttpRequest) -> HttpResponse:
    page = keyset(ThreadFloorAuditRun.objects.all(), request.GET, by="pk", size=PER_PAGE)
    context = {
        **head(request, "audits"),
        "page": page,
        "audits": [Audit(run) for run in page],
        "next_audit_at": next_run(AUDIT),
    }
    return render(request, "nga/audits.html", context)


@require_GET
def audit(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(ThreadFloorAuditRun, pk=pk)
    tid, status = whole(request.GET.get("tid", "")), request.GET.get("status", "")
    show = "floors" if request.GET.get("show") == "floors" or tid is not None else "topics"
    page = _floors(request, found, tid, status) if show == "floors" else _topics(request, found, status)
    context: dict[str, Any] = {
        **head(request, "audits"),
        "audit": Audit(found),
        "show": show,
        "tid": tid,
        "status": status,
        "statuses": [
            (value, repair_badge(value)) for value in (FloorRepair if show == "floors" else ThreadRepair).values
        ],
        "page": page,
        "lines": [_line(row) for row in page],
    }
    return render(request, "nga/audit.html", context)


def _topics(request: HttpRequest, found: ThreadFloorAuditRun, status: str) -> Stretch[ThreadFloorAuditThread]:
    rows = ThreadFloorAuditThread.objects.filter(audit_run=found)
    rows = rows.prefetch_related(Prefetch("thread", Thread.objects.with_mirrors()))
    if status in ThreadRepair.values:
        rows = rows.filter(repair_status=status)
    return stretch(rows, request.GET, size=PER_PAGE)


def _floors(
    request: HttpRequest, found: ThreadFloorAuditRun, tid: int | None, status: str
) -> Stretch[ThreadFloorAuditPost]:
    rows = ThreadFloorAuditPost.objects.filter(audit_run=found).select_related("audit_thread")
    rows = rows.prefetch_related(Prefetch("audit_thread__thread", Thread.objects.with_mirrors()))
    if tid is not None:
        rows = rows.filter(source_thread_id=tid)
    if status in FloorRepair.values:
        rows = rows.filter(repair_status=status)
    return stretch(rows, request.GET, size=FLOORS_PER_PAGE)


def _line(row: Any) -> Line:
    thread = row.thread if isinstance(row, ThreadFloorAuditThread) else row.audit_thread.thread
    return Line(
        row=row,
        thread=thread,
        badge=repair_badge(row.repair_status),
        category=category_text(row.repair_error_category),
        trouble=trouble_text(row.repair_error_summary),
        title=own_title(thread),
    )
