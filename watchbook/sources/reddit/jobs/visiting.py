"""One visit of one community: walk, then store. Many visits: a few at a time, until trouble that is about us."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from django.db import close_old_connections, connections
from django.db.models import F

from watchbook.base.web.counting import counted
from watchbook.core.jobs.context import JobContext
from watchbook.sources.reddit import options
from watchbook.sources.reddit.fetch import RedditTrouble, fetch_listing
from watchbook.sources.reddit.jobs.walking import FULL_PAGE, walk_new
from watchbook.sources.reddit.models import CommunityCache, FoundBy, Outcome, PostRaw
from watchbook.sources.reddit.records import Tally, VisitReport
from watchbook.sources.reddit.schedule import TIERS
from watchbook.sources.reddit.store import communities, metrics
from watchbook.sources.reddit.store.posts import Reading, store_posts
from watchbook.sources.reddit.store.visits import ABOUT_US, lock, store_visit

TOP_EVERY = timedelta(hours=24)
# Half of what a listing remembers.
MOVED_ON = 500


def visit(
    ctx: JobContext, community: CommunityCache, planner: communities.Planner, *, is_deep: bool = False
) -> VisitReport:
    """Read what is new and store it; then, once a day, the tier's own listing for scores and misses.

    A deep visit reads the whole listing, and so finds what others missed and what came back to its old place. A visit
    is deep, too, when the list has moved on so far that such posts would soon fall off its end.
    """
    is_deep = is_deep or _has_moved_on(community)
    walk = walk_new(community, page_size=FULL_PAGE if is_deep else _page_size(community, ctx), is_deep=is_deep)
    with ctx.writing():
        due = planner.next_due(community, ctx.now)
        report = store_visit(community.community_name, walk, next_due=due, now=ctx.now)
        if is_deep and report.outcome == Outcome.OK:
            CommunityCache.objects.filter(pk=community.pk).update(deep_walked_at=ctx.now)
    if report.outcome == Outcome.OK:
        refresh_top(ctx, community, report)
    return report


def _has_moved_on(community: CommunityCache) -> bool:
    since = community.deep_walked_at or community.covered_from
    if since is None:
        return False
    newer = PostRaw.objects.current().filter(subreddit=community.community_name, created_at__gt=since)
    return newer.count() >= MOVED_ON


def _page_size(community: CommunityCache, ctx: JobContext) -> int:
    """The tier's page size, or a full page where more posts than that are to be expected."""
    size = TIERS[community.quality_tier].limit
    if community.last_crawled_at is None:
        return size
    expected = community.rate * ((ctx.now - community.last_crawled_at) / timedelta(days=1))
    return FULL_PAGE if expected > size - 5 else size


def refresh_top(ctx: JobContext, community: CommunityCache, report: VisitReport) -> None:
    """Never read or moved here: the watermark. A listing by score says nothing about time."""
    tier = TIERS[community.quality_tier]
    last = community.top_read_at
    if tier.sort == "new" or (last is not None and ctx.now - last < TOP_EVERY):
        return
    with counted() as count:
        try:
            page = fetch_listing(community.subreddit, tier.sort, limit=tier.limit, time_filter=tier.time_filter)
        except RedditTrouble as trouble:
            report.outcome = trouble.outcome if trouble.outcome in ABOUT_US else report.outcome
            metrics.add_reading(Tally(), count.requests, ctx.now)
            return
        finally:
            report.http_request_count += count.requests
    with ctx.writing():
        lock(community.community_name)
        found = store_posts(page.posts, Reading(community.community_name, ctx.now, FoundBy.TOP, is_new_listing=False))
        CommunityCache.objects.filter(pk=community.pk).update(
            top_read_at=ctx.now, request_count=F("request_count") + count.requests
        )
        metrics.add_reading(found, count.requests, ctx.now)
    report.tally.add(found)


def visit_all(
    ctx: JobContext,
    due: Sequence[CommunityCache],
    one: Callable[[CommunityCache], VisitReport],
    *,
    claims: bool = True,
) -> list[VisitReport]:
    """Visit in batches, some at once; after trouble that is about us the rest is left for later.

    Visits claim their communities, so that two crawls share the work. Other readings leave due times alone.
    """
    reports: list[VisitReport] = []
    size = options.BATCH_SIZE.value
    for start in range(0, len(due), size):
        taken = due[start : start + size]
        batch = communities.claim(taken, ctx.now) if claims else taken
        done = _together(batch, one)
        reports += done
        if claims:
            seen = {report.community for report in done}
            communities.release([row.community_name for row in batch if row.community_name not in seen], ctx.now)
        ctx.report(visited=len(reports), new_posts=sum(report.tally.new for report in reports))
        if any(report.outcome in ABOUT_US for report in done):
            break  # nobody else would be answered either; what is left stays due
    return reports


def _together(batch: Sequence[CommunityCache], one: Callable[[CommunityCache], VisitReport]) -> list[VisitReport]:
    width = min(options.MAX_CONCURRENCY.value, len(batch))
    done: list[VisitReport] = []
    if width <= 1:
        for row in batch:
            done.append(one(row))
            if done[-1].outcome in ABOUT_US:
                break
        return done
    with ThreadPoolExecutor(width) as pool:
        # A copy of the context each: clock, request count and lease go along.
        waiting = [pool.submit(contextvars.copy_context().run, _in_thread, one, row) for row in batch]
        return [future.result() for future in waiting]


def _in_thread(one: Callable[[CommunityCache], VisitReport], row: CommunityCache) -> VisitReport:
    close_old_connections()
    try:
        return one(row)
    finally:
        connections.close_all()
