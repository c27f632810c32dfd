"""Runs and audits, and what operators start."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Schema
from ninja.responses import Status

from watchbook.core.api.gate import staff
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.jobs.api import STARTED, started
from watchbook.sources.nga import actions, finding
from watchbook.sources.nga.api.router import router
from watchbook.sources.nga.api.shapes import (
    AuditFloorOut,
    AuditFloorPage,
    AuditOut,
    AuditPage,
    AuditThreadOut,
    AuditThreadPage,
    AuditWhole,
    CrawlOut,
    CrawlPage,
    CrawlThreadPage,
    run_out,
    run_thread_out,
)
from watchbook.sources.nga.counting import NOTHING, run_sums
from watchbook.sources.nga.models import (
    CrawlRun,
    CrawlRunThread,
    FloorRepair,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
)

# Of one audit; the lists beside it have them all.
TOPICS_LISTED, FLOORS_LISTED = 200, 1000
LARGEST = 2**63 - 1


class FloorsQuery(PageQuery):
    tid: int | None = None
    status: Literal[""] | FloorRepair = ""


class CrawlIn(Schema):
    fid: int | None = None


class AuditIn(Schema):
    repair: bool = False


@router.get("/runs", response=CrawlPage)
def runs(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """Every run, newest first: what it looked at, what was new, what failed, how many requests it made."""
    found = keyset(CrawlRun.objects.select_related("forum"), page, by="-id")
    sums = run_sums([run.pk for run in found["items"]])
    return found | {"items": [run_out(run, sums.get(run.pk, NOTHING)) for run in found["items"]]}


@router.get("/runs/{int:run_id}", response=CrawlOut)
def run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """One run with its counters."""
    found = get_object_or_404(CrawlRun.objects.select_related("forum"), pk=min(run_id, LARGEST))
    return run_out(found, run_sums([found.pk]).get(found.pk, NOTHING))


@router.get("/runs/{int:run_id}/threads", response=CrawlThreadPage)
def run_threads(request: HttpRequest, run_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """What a run did to each thread (topic), in the order in which it read them."""
    found = get_object_or_404(CrawlRun, pk=min(run_id, LARGEST))
    rows = CrawlRunThread.objects.filter(crawl_run=found).select_related("thread")
    return keyset(rows, page, by="id", make=run_thread_out)


@router.get("/audits", response=AuditPage)
def audits(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """Every audit of missing floors with its counters, newest first."""
    return keyset(ThreadFloorAuditRun.objects.all(), page, by="-id", make=AuditOut.of)


@router.get("/audits/{int:audit_id}", response=AuditWhole)
def audit(request: HttpRequest, audit_id: int) -> dict[str, Any]:
    """One audit with its first 200 topics and 1,000 floors; the lists beside it have them all."""
    found = _audit(audit_id)
    topics = found.threads.order_by("pk")[:TOPICS_LISTED]
    floors = found.posts.order_by("pk")[:FLOORS_LISTED]
    return AuditWhole.of(
        found,
        threads=[AuditThreadOut.of(row) for row in topics],
        floors=[AuditFloorOut.of(row) for row in floors],
    )


@router.get("/audits/{int:audit_id}/threads", response=AuditThreadPage)
def audit_threads(request: HttpRequest, audit_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """The threads (topics) of an audit that lack floors, with what a repair did."""
    rows = ThreadFloorAuditThread.objects.filter(audit_run=_audit(audit_id))
    return keyset(rows, page, by="id", make=AuditThreadOut.of)


@router.get("/audits/{int:audit_id}/floors", response=AuditFloorPage)
def audit_floors(request: HttpRequest, audit_id: int, page: Query[FloorsQuery]) -> dict[str, Any]:
    """The missing floors of an audit; `tid` keeps one topic, `status` one outcome."""
    rows = ThreadFloorAuditPost.objects.filter(audit_run=_audit(audit_id))
    if page.tid is not None:
        rows = rows.filter(source_thread_id=min(max(page.tid, 0), LARGEST))
    if page.status:
        rows = rows.filter(repair_status=page.status)
    return keyset(rows, page, by="id", make=AuditFloorOut.of)


def _audit(audit_id: int) -> ThreadFloorAuditRun:
    return get_object_or_404(ThreadFloorAuditRun, pk=min(audit_id, LARGEST))


@router.post("/crawl", auth=staff, response=STARTED)
def crawl(request: HttpRequest, body: CrawlIn) -> Status[dict[str, Any]]:
    """Put a crawl of one board, or of all, into the queue; the same one that waits or runs already is answered."""
    return started(actions.crawl_run(body.fid, request=request))


@router.post("/audit", auth=staff, response=STARTED)
def start_audit(request: HttpRequest, body: AuditIn) -> Status[dict[str, Any]]:
    """Put an audit into the queue, with `repair` one that asks for what is missing; the one at work is answered."""
    return started(actions.audit_run(repair=body.repair, request=request))


@router.post("/threads/{int:tid}/read", auth=staff, response=STARTED)
def read(request: HttpRequest, tid: int, fid: int | None = None) -> Status[dict[str, Any]]:
    """Put the reading of one thread (topic) into the queue; the one that waits or runs already is answered."""
    return started(actions.read_run(finding.thread(tid, fid), request=request))
