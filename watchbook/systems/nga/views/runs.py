"""Pages of runs, audits and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core.jobs import views as job_views
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.paging import keyset
from watchbook.systems.nga.actions import AUDIT
from watchbook.systems.nga.filters import NOTHING, run_sums
from watchbook.systems.nga.health import failure_text
from watchbook.systems.nga.models import (
    CrawlRun,
    CrawlRunResult,
    CrawlRunThread,
    FloorRepair,
    Thread,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadRepair,
)
from watchbook.systems.nga.models.runs import THREAD_FAILED
from watchbook.systems.nga.views.page_header import (
    ListPart,
    category_text,
    error_text,
    head,
    list_part,
    live_work,
    next_run,
    outcome_badge,
    own_title,
    repair_badge,
    trigger_text,
    whole,
)

PER_PAGE = 30
TOPICS_PER_PAGE = 50
FLOORS_PER_PAGE = 100
SHOWN = ("changed", "failed", "new")


@dataclass(frozen=True)
class Run:
    """A run and what its topics add up to."""

    run: CrawlRun
    sums: dict[str, int]

    @property
    def badge(self) -> Badge:
        if self.run.run_finished_at is None:
            # A run that was cut off is taken up by the next one; its row keeps no end.
            is_fresh = clock.now() - self.run.run_started_at < timedelta(hours=1)
            return badges.find("job", "running" if is_fresh else "recovered")
        if self.result and self.result.error_code and not self.result.is_list_complete and not self.sums["topics"]:
            return badges.find("job", "failed")
        is_partial = self.sums["failed"] or (self.result and self.result.error_code)
        return badges.find("job", "partly" if is_partial else "done")

    @property
    def result(self) -> CrawlRunResult | None:
        return getattr(self.run, "result", None)

    @property
    def failure(self) -> str:
        """Return why the run stopped, as a sentence; empty if nothing stopped it."""
        return failure_text(self.result) if self.result and self.result.error_code else ""

    @property
    def trigger(self) -> str:
        return trigger_text(self.run.run_trigger_text)

    @property
    def took(self) -> timedelta | None:
        return self.run.run_finished_at - self.run.run_started_at if self.run.run_finished_at else None


@dataclass(frozen=True)
class Entry:
    """The result of a run for one topic."""

    row: CrawlRunThread
    title: str
    badge: Badge
    failure: str


@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    shown = head(request, "runs")
    page = keyset(CrawlRun.objects.select_related("forum", "result"), request.GET, by="run_started_at", size=PER_PAGE)
    sums = run_sums([run.pk for run in page])
    rows = [Run(run, sums.get(run.pk, NOTHING)) for run in page]
    return render(request, "nga/runs.html", {**shown, "page": page, "runs": rows})


@require_GET
def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(CrawlRun.objects.select_related("forum", "result"), pk=pk)
    wanted = request.GET.get("show", "") if request.GET.get("show") in SHOWN else ""
    rows = CrawlRunThread.objects.filter(crawl_run=found)
    rows = rows.prefetch_related(Prefetch("thread", Thread.objects.with_mirrors()))
    page = list_part(_narrowed(rows, wanted), request.GET, size=TOPICS_PER_PAGE)
    context: dict[str, Any] = {
        **head(request, "runs", found.forum.source_forum_id),
        "run": Run(found, run_sums([found.pk]).get(found.pk, NOTHING)),
        "show": wanted,
        "page": page,
        "entries": [_entry(row) for row in page],
    }
    return render(request, "nga/run.html", context)


def _narrowed(rows: Any, wanted: str) -> Any:
    if wanted == "failed":
        return rows.filter(THREAD_FAILED)
    if wanted == "new":
        return rows.filter(new_post_count__gt=0)
    return rows.filter(change_detected_by_last_reply_at=True) if wanted == "changed" else rows


def _entry(row: CrawlRunThread) -> Entry:
    return Entry(row, own_title(row.thread), outcome_badge(row), error_text(row.error_summary))


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    return job_views.live_work(request, live_work(), home="nga:runs")


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
        """Return the number of failed topics by error category."""
        names = ("http", "parse", "db", "unknown")
        counted = [(category_text(name), getattr(self.run, f"failed_{name}_count")) for name in names]
        return [(text, count) for text, count in counted if count]


@dataclass(frozen=True)
class AuditEntry:
    """A topic or a floor of an audit with its state in words."""

    row: Any
    thread: Thread
    badge: Badge
    category: str
    failure: str
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
        "entries": [_audit_entry(row) for row in page],
    }
    return render(request, "nga/audit.html", context)


def _topics(request: HttpRequest, found: ThreadFloorAuditRun, status: str) -> ListPart[ThreadFloorAuditThread]:
    rows = ThreadFloorAuditThread.objects.filter(audit_run=found)
    rows = rows.prefetch_related(Prefetch("thread", Thread.objects.with_mirrors()))
    if status in ThreadRepair.values:
        rows = rows.filter(repair_status=status)
    return list_part(rows, request.GET, size=PER_PAGE)


def _floors(
    request: HttpRequest, found: ThreadFloorAuditRun, tid: int | None, status: str
) -> ListPart[ThreadFloorAuditPost]:
    rows = ThreadFloorAuditPost.objects.filter(audit_run=found).select_related("audit_thread")
    rows = rows.prefetch_related(Prefetch("audit_thread__thread", Thread.objects.with_mirrors()))
    if tid is not None:
        rows = rows.filter(source_thread_id=tid)
    if status in FloorRepair.values:
        rows = rows.filter(repair_status=status)
    return list_part(rows, request.GET, size=FLOORS_PER_PAGE)


def _audit_entry(row: Any) -> AuditEntry:
    thread = row.thread if isinstance(row, ThreadFloorAuditThread) else row.audit_thread.thread
    return AuditEntry(
        row=row,
        thread=thread,
        badge=repair_badge(row.repair_status),
        category=category_text(row.repair_error_category),
        failure=error_text(row.repair_error_summary),
        title=own_title(thread),
    )
