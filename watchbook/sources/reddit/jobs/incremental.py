"""The crawl of what is due, and of one community by name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.jobs.errors import GiveUp
from watchbook.sources.reddit import options
from watchbook.sources.reddit.jobs.visiting import visit, visit_all
from watchbook.sources.reddit.models import CommunityCache
from watchbook.sources.reddit.records import VisitReport
from watchbook.sources.reddit.store import communities, metrics


def anything_due(now: datetime) -> bool:
    """The minute's look: only the adaptive schedule has due times between the half hours."""
    if not options.is_live() or options.SCHEDULER.value != "adaptive":
        return False
    return CommunityCache.objects.due(now).exists()


def crawl_due(ctx: JobContext, force: bool = False, detailed: bool = False) -> Outcome:
    """Visit every community whose time has come; `force` visits all active ones, `detailed` tells of each."""
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    rows = CommunityCache.objects.active().order_by("next_due") if force else None
    due = list(rows if rows is not None else CommunityCache.objects.due(ctx.now))
    if not due:
        return NOTHING_TO_DO
    planner = communities.Planner(ctx.now)
    reports = visit_all(ctx, due, lambda row: visit(ctx, row, planner))
    return finish(ctx, reports, detailed=detailed)


def crawl_community(ctx: JobContext, community: str) -> Outcome:
    """Visit one community now, due or not, active or not."""
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    return finish(ctx, [visit(ctx, known(community), communities.Planner(ctx.now))], detailed=True)


def known(name: str) -> CommunityCache:
    """The community of this name; gives up when the pool has none."""
    row = CommunityCache.objects.named(full_name(name))
    if row is None:
        raise GiveUp(f"{full_name(name)} is not in the pool.", "unknown_community")
    return row


def full_name(name: str) -> str:
    """r/webdev, however it was written."""
    return f"r/{name.strip().strip('/').removeprefix('r/')}"


def finish(ctx: JobContext, reports: list[VisitReport], *, detailed: bool) -> Outcome:
    """Tiers follow from the new averages; the hour's row is brought up to date, for a person who waits at once."""
    with ctx.writing():
        names = [report.community for report in reports]
        communities.apply_assignments(communities.calculate_assignments(names), ctx.now)
        metrics.describe_hour(ctx.now, anew=detailed)
    return summary(reports, detailed=detailed)


def summary(reports: list[VisitReport], *, detailed: bool) -> Outcome:
    failed = sum(report.outcome not in ("ok", "empty") for report in reports)
    figures: dict[str, Any] = {
        "visited": len(reports),
        "new_posts": sum(report.tally.new for report in reports),
        "updated_posts": sum(report.tally.updated for report in reports),
        "gaps": sum(report.possible_gap for report in reports),
        "failed": failed,
    }
    if detailed:
        figures["communities"] = [report.as_json() for report in reports]
    if not reports:
        return Outcome("nothing_to_do", figures)
    return Outcome("partly" if failed else "done", figures)
