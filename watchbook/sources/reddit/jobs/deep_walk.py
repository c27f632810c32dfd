"""Whole listings, a share of the communities a day, each at least weekly: what visits missed, and what came back."""

from __future__ import annotations

from django.db.models import F

from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.reddit import options
from watchbook.sources.reddit.jobs.incremental import finish
from watchbook.sources.reddit.jobs.visiting import visit, visit_all
from watchbook.sources.reddit.models import CommunityCache
from watchbook.sources.reddit.store import communities

# A sixth of them a day keeps the promise of a week even when a day fails.
SHARE = 6


def walk_share(ctx: JobContext, detailed: bool = False) -> Outcome:
    """Those walked longest ago. Ones that were never visited have nothing to compare with yet, and ones that refuse
    would take the place of others day after day."""
    if not options.is_live():
        return NOTHING_TO_DO
    rows = CommunityCache.objects.active().filter(refusals_in_row=0).exclude(last_complete_at=None)
    count = -(-rows.count() // SHARE)
    chosen = list(rows.order_by(F("deep_walked_at").asc(nulls_first=True), "community_name")[:count])
    if not chosen:
        return NOTHING_TO_DO
    planner = communities.Planner(ctx.now)
    reports = visit_all(ctx, chosen, lambda row: visit(ctx, row, planner, is_deep=True))
    return finish(ctx, reports, detailed=detailed)
