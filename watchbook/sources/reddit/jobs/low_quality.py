"""Quiet communities that nobody visited for eight hours: caught up with, oldest first, fifty at most."""

from __future__ import annotations

from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.reddit import options
from watchbook.sources.reddit.jobs.incremental import finish, known
from watchbook.sources.reddit.jobs.visiting import visit, visit_all
from watchbook.sources.reddit.models import CommunityCache
from watchbook.sources.reddit.store import communities

MOST = 50


def crawl_low_quality(ctx: JobContext, detailed: bool = False, community: str = "") -> Outcome:
    """Those that are quiet, or a named one whether it is or not."""
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    rows = [known(community)] if community else list(CommunityCache.objects.low_quality(ctx.now)[:MOST])
    if not rows:
        return NOTHING_TO_DO
    planner = communities.Planner(ctx.now)
    return finish(ctx, visit_all(ctx, rows, lambda row: visit(ctx, row, planner)), detailed=detailed)
