"""Looking for missing floors without a single request, and where wanted, fetching the pages that hold them."""

from __future__ import annotations

from typing import Any

from watchbook.base.crash import crash_point
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.sources.nga import options
from watchbook.sources.nga.errors import SiteTrouble
from watchbook.sources.nga.jobs.crawl import BY_HAND, is_scheduled
from watchbook.sources.nga.jobs.repair import Repair
from watchbook.sources.nga.models import FloorRepair, ThreadFloorAuditRun, ThreadFloorAuditThread
from watchbook.sources.nga.store.audits import RUN_COUNTERS, begin_audit, find_gaps, finish_audit, store_gaps


def audit(ctx: JobContext, repair: bool | None = None) -> Outcome:
    """Compare every topic's cursor with its floors. Without a word of the caller the operator's setting decides."""
    wants_repair = options.AUDIT_REPAIR.value if repair is None else repair
    with ctx.writing():
        run = begin_audit("cron" if is_scheduled(ctx) else BY_HAND, repair=wants_repair, now=ctx.now)
    _scan(ctx, run)
    crash_point("nga.audited")
    repairs = Repairs(ctx)
    if wants_repair:
        repairs.do(run)
    with ctx.writing():
        finish_audit(run, ctx.now)
    return Outcome("done", _figures(run, repairs))


def _scan(ctx: JobContext, run: ThreadFloorAuditRun) -> None:
    for looked_at, gaps in find_gaps():
        run.total_thread_count += looked_at
        with ctx.writing():
            store_gaps(run, gaps, ctx.now)
        ctx.report(topics=run.total_thread_count)


class Repairs:
    """The repairs of one audit, one reader of the site for each board."""

    def __init__(self, ctx: JobContext) -> None:
        self.ctx = ctx
        self.boards: dict[int, Repair] = {}
        self.trouble: SiteTrouble | None = None

    def do(self, run: ThreadFloorAuditRun) -> None:
        rows = run.threads.select_related("thread__forum").order_by("pk")
        for row in list(rows):
            wanted = list(row.posts.filter(repair_status=FloorRepair.MISSING).values_list("floor_number", flat=True))
            self._do(row, sorted(wanted))
        for board in self.boards.values():
            board.finish()

    def _do(self, row: ThreadFloorAuditThread, wanted: list[int]) -> None:
        board = self.boards.get(row.thread.forum_id)
        if wanted and self.trouble is None:
            if board is None:
                board = self.boards[row.thread.forum_id] = Repair(self.ctx, row.thread.forum)
            try:
                board.repair(row, wanted)
            except SiteTrouble as trouble:
                # The site as a whole is in trouble: the other topics wait for the next audit, with all their attempts.
                self.trouble = trouble
        Repair.conclude(self.ctx, row)

    @property
    def http_request_count(self) -> int:
        return sum(board.reader.http_request_count for board in self.boards.values())


def _figures(run: ThreadFloorAuditRun, repairs: Repairs) -> dict[str, Any]:
    figures: dict[str, Any] = {"audit_run_id": run.pk}
    figures |= {name: getattr(run, name) for name in RUN_COUNTERS}
    figures |= {"repair_enabled": run.repair_enabled, "http_request_count": repairs.http_request_count}
    if repairs.trouble is not None:
        figures["error"] = {"code": repairs.trouble.code, "message": str(repairs.trouble.message)}
    return figures
