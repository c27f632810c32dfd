"""Runs and audits, and what operators start."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Schema
from ninja.responses import Status

from watchbook.core.api.errors import Conflict
from watchbook.core.api.gate import staff
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.jobs.models import JobRun
from watchbook.sources.nga import actions, finding
from watchbook.sources.nga.api import shapes
from watchbook.sources.nga.api.router import router
from watchbook.sources.nga.api.shapes import fields, run_out, run_thread_out
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


@router.get("/runs")
def runs(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """Every run, newest first: what it looked at, what was new, what failed, how many requests it made."""
    found = keyset(CrawlRun.objects.select_related("forum"), page, by="-id")
    sums = run_sums([run.pk for run in found["items"]])
    return found | {"items": [run_out(run, sums.get(run.pk, NOTHING)) for run in found["items"]]}


@router.get("/runs/{int:run_id}")
def run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """One run with its counters."""
    found = get_object_or_404(CrawlRun.objects.select_related("forum"), pk=min(run_id, LARGEST))
    return run_out(found, run_sums([found.pk]).get(found.pk, NOTHING))


@router.get("/runs/{int:run_id}/threads")
def run_threads(request: HttpRequest, run_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """What a run did to each topic, in the order in which it read them."""
    found = get_object_or_404(CrawlRun, pk=min(run_id, LARGEST))
    rows = CrawlRunThread.objects.filter(crawl_run=found).select_related("thread")
    return keyset(rows, page, by="id", make=run_thread_out)


@router.get("/audits")
def audits(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """Every audit of missing floors with its counters, newest first."""
    return keyset(ThreadFloorAuditRun.objects.all(), page, by="-id", make=lambda row: fields(row, shapes.AUDIT))


@router.get("/audits/{int:audit_id}")
def audit(request: HttpRequest, audit_id: int) -> dict[str, Any]:
    """One audit with its first 200 topics and 1,000 floors; the lists beside it have them all."""
    found = _audit(audit_id)
    topics = found.threads.order_by("pk")[:TOPICS_LISTED]
    floors = found.posts.order_by("pk")[:FLOORS_LISTED]
    return fields(found, shapes.AUDIT) | {
        "threads": [fields(row, shapes.AUDIT_THREAD) for row in topics],
        "floors": [fields(row, shapes.AUDIT_POST) for row in floors],
    }


@router.get("/audits/{int:audit_id}/threads")
def audit_threads(request: HttpRequest, audit_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """The topics of an audit that lack floors, with what a repair did."""
    rows = ThreadFloorAuditThread.objects.filter(audit_run=_audit(audit_id))
    return keyset(rows, page, by="id", make=lambda row: fields(row, shapes.AUDIT_THREAD))


@router.get("/audits/{int:audit_id}/floors")
def audit_floors(request: HttpRequest, audit_id: int, page: Query[FloorsQuery]) -> dict[str, Any]:
    """The missing floors of an audit; `tid` keeps one topic, `status` one outcome."""
    rows = ThreadFloorAuditPost.objects.filter(audit_run=_audit(audit_id))
    if page.tid is not None:
        rows = rows.filter(source_thread_id=min(max(page.tid, 0), LARGEST))
    if page.status:
        rows = rows.filter(repair_status=page.status)
    return keyset(rows, page, by="id", make=lambda row: fields(row, shapes.AUDIT_POST))


def _audit(audit_id: int) -> ThreadFloorAuditRun:
    return get_object_or_404(ThreadFloorAuditRun, pk=min(audit_id, LARGEST))


@router.post("/crawl", auth=staff, response={202: dict[str, Any]})
def crawl(request: HttpRequest, body: CrawlIn) -> Status[dict[str, Any]]:
    """Put a crawl of one board, or of all, into the queue."""
    return _queued(actions.crawl_soon(body.fid, request=request))


@router.post("/audit", auth=staff, response={202: dict[str, Any]})
def start_audit(request: HttpRequest, body: AuditIn) -> Status[dict[str, Any]]:
    """Put an audit into the queue; with `repair` it asks the forum for what is missing."""
    return _queued(actions.audit_soon(repair=body.repair, request=request))


@router.post("/threads/{int:tid}/read", auth=staff, response={202: dict[str, Any]})
def read(request: HttpRequest, tid: int, fid: int | None = None) -> Status[dict[str, Any]]:
    """Put the reading of one topic into the queue."""
    return _queued(actions.read_soon(finding.thread(tid, fid), request=request))


def _queued(run: JobRun | None) -> Status[dict[str, Any]]:
    if run is None:
        raise Conflict("It waits or runs already.", code="already_queued")
    return Status(202, {"id": run.pk, "name": run.name, "state": run.state})
