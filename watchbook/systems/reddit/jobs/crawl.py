"""The crawl jobs: due listings, one community, low-activity communities, full scans, refresh of the cache."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from django.db.models import F

from watchbook.base.work import counted
from watchbook.core.jobs.runner import NOTHING_TO_DO, GiveUp, JobContext, Outcome
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch import ClientRefused, RedditError, fetch_listing, outage
from watchbook.systems.reddit.health import reason_of, remedy_of
from watchbook.systems.reddit.jobs.crawl_community import crawl_each, crawl_one, new_items
from watchbook.systems.reddit.jobs.monitors import update_outage_alert
from watchbook.systems.reddit.models import CommentListing, CommunityCache, ListingState
from watchbook.systems.reddit.models import Outcome as Word
from watchbook.systems.reddit.models.comments import CommentListingQuerySet
from watchbook.systems.reddit.parse import PostRecord
from watchbook.systems.reddit.pool import community_name
from watchbook.systems.reddit.records import POSTS, CrawlReport
from watchbook.systems.reddit.store import communities, metrics
from watchbook.systems.reddit.store.hot import cache_posts


def anything_due(now: datetime) -> bool:
    """Return True if a listing is due. Only the adaptive schedule has due times between the half hours."""
    if not options.is_live() or options.SCHEDULER.value != "adaptive" or is_paused(now):
        return False
    return CommunityCache.objects.due(now).exists() or due_comments(now).exists()


def due_comments(now: datetime) -> CommentListingQuerySet:
    return CommentListing.objects.due(now, options.COMMENTS.value)


def is_paused(now: datetime) -> bool:
    """Return True during the pause after an outage."""
    known = outage.current()
    return known is not None and known.is_paused(now)


def refuse_while_paused(ctx: JobContext, *, is_forced: bool = False) -> None:
    """Give up with the reason of an outage, without a request. A user may end the pause."""
    if is_forced:
        outage.end_pause()
        return
    known = outage.current()
    if known is not None and known.is_paused(ctx.now):
        raise GiveUp(_explain(known.outcome, known.retry_at), known.outcome)


def _explain(outcome: str, retry_at: datetime) -> str:
    until = retry_at.isoformat(timespec="seconds")
    return f"{reason_of(outcome).english} {remedy_of(outcome).english} Next attempt: {until}."


def crawl_due(ctx: JobContext, force: bool = False, detailed: bool = False) -> Outcome:
    """Crawl all due listings; with `force` those of all active communities. `detailed` adds one report per listing."""
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    refuse_while_paused(ctx, is_forced=force)
    due = _active_listings() if force else [*CommunityCache.objects.due(ctx.now), *due_comments(ctx.now)]
    if not due:
        return NOTHING_TO_DO
    planner = communities.Planner(ctx.now)
    reports = crawl_each(ctx, due, lambda row: crawl_one(ctx, row, planner))
    return finish(ctx, reports, detailed=detailed)


def _active_listings() -> list[ListingState]:
    comments = CommentListing.objects.wanted(options.COMMENTS.value).order_by("next_due")
    return [*CommunityCache.objects.active().order_by("next_due"), *comments]


def crawl_community(ctx: JobContext, community: str) -> Outcome:
    """Crawl one community now, also if it is not due or not active, and its comments if they are on."""
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    refuse_while_paused(ctx, is_forced=ctx.run.requested_by_id is not None)
    row, planner = known(community), communities.Planner(ctx.now)
    comments = CommentListing.objects.wanted(options.COMMENTS.value).filter(community=row)
    reports: list[CrawlReport] = []
    for listing in (row, *comments):
        report = crawl_one(ctx, listing, planner)
        reports += [report] if report else []
        if report is None or report.outcome not in (Word.OK, Word.EMPTY):
            break  # what refuses posts refuses comments, too
    return finish(ctx, reports, detailed=True)


def known(name: str) -> CommunityCache:
    """Return the community with this name, or give up if it is not in the list."""
    row = CommunityCache.objects.named(full_name(name))
    if row is None:
        raise GiveUp(f"{full_name(name)} is not in the pool.", "unknown_community")
    return row


def full_name(name: str) -> str:
    """Return the name with prefix: r/webdev."""
    return community_name(name) or f"r/{name.strip().strip('/').removeprefix('r/')}"


def finish(ctx: JobContext, reports: list[CrawlReport], *, detailed: bool) -> Outcome:
    """Update tiers and the metrics of the hour; `detailed` skips the 10-minute limit of that update."""
    with ctx.writing():
        names = [report.community for report in reports]
        communities.apply_assignments(communities.calculate_assignments(names), ctx.now)
        metrics.describe_hour(ctx.now, force=detailed)
        update_outage_alert()
    result = summary(reports, detailed=detailed)
    stopped = next((report for report in reports if report.is_client_wide), None)
    if stopped is not None:
        ctx.progress.update(result.progress)
        fail_with_outage(stopped.outcome)
    return result


def fail_with_outage(outcome: str) -> None:
    """Fail the run with the reason of the outage. A used-up rate limit of this server is no outage."""
    known = outage.current()
    if known is not None:
        raise GiveUp(_explain(known.outcome, known.retry_at), known.outcome)
    raise GiveUp("The request limit of this server is used up. The rest stays due.", outcome)


def summary(reports: list[CrawlReport], *, detailed: bool) -> Outcome:
    failed = sum(report.outcome not in ("ok", "empty") for report in reports)
    figures: dict[str, Any] = {
        "crawled": len(reports),
        **new_items(reports),
        "updated_posts": sum(report.tally.updated for report in reports if report.listing == POSTS),
        "gaps": sum(report.possible_gap for report in reports),
        "failed": failed,
    }
    if detailed:
        figures["communities"] = [report.as_json() for report in reports]
    if not reports:
        return Outcome("nothing_to_do", figures)
    return Outcome("partly" if failed else "done", figures)


MOST = 50


def crawl_low_quality(ctx: JobContext, detailed: bool = False, community: str = "") -> Outcome:
    """Crawl up to 50 low-activity communities that were not crawled for 8 hours, or one named community."""
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    refuse_while_paused(ctx)
    rows = [known(community)] if community else list(CommunityCache.objects.low_quality(ctx.now)[:MOST])
    if not rows:
        return NOTHING_TO_DO
    planner = communities.Planner(ctx.now)
    return finish(ctx, crawl_each(ctx, rows, lambda row: crawl_one(ctx, row, planner)), detailed=detailed)


# One sixth per day scans each community weekly, even if one daily run fails.
SHARE = 6


def scan_share(ctx: JobContext, detailed: bool = False) -> Outcome:
    """Scan the listings whose last full scan is oldest, 1/6 of them per run.

    Listings without a complete crawl have nothing to compare with, and refusing ones would be chosen every day.
    """
    if not options.is_live():
        return NOTHING_TO_DO
    refuse_while_paused(ctx)
    chosen: list[ListingState] = [
        *_oldest_scans(CommunityCache.objects.active(), "community_name"),
        *_oldest_scans(CommentListing.objects.wanted(options.COMMENTS.value), "community_id"),
    ]
    if not chosen:
        return NOTHING_TO_DO
    planner = communities.Planner(ctx.now)
    reports = crawl_each(ctx, chosen, lambda row: crawl_one(ctx, row, planner, is_full=True))
    return finish(ctx, reports, detailed=detailed)


def _oldest_scans(listings: Any, name: str) -> list[ListingState]:
    rows = listings.filter(refusals_in_row=0).exclude(last_complete_at=None)
    return list(rows.order_by(F("deep_walked_at").asc(nulls_first=True), name)[: -(-rows.count() // SHARE)])


PAGE = 100


def is_batch_wanted(_now: datetime) -> bool:
    """Return True if REDDIT_BATCH_CRAWL is on. It is off by default, because the incremental crawl covers it."""
    return options.is_live() and options.BATCH_CRAWL.value


def crawl_batch(ctx: JobContext, detailed: bool = False, force_refresh: bool = False, community: str = "") -> Outcome:
    """Refresh the cache of all active communities, or of one named community.

    Every run refreshes; other programs send `force_refresh`, so it is accepted.
    """
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    refuse_while_paused(ctx)
    active = CommunityCache.objects.active().order_by("community_name")
    rows = [known(community)] if community else list(active)
    reports = crawl_each(ctx, rows, lambda row: fill_one(ctx, row), claims=False)
    return finish(ctx, reports, detailed=detailed)


def fill_one(ctx: JobContext, community: CommunityCache) -> CrawlReport:
    """Write the cache and `posts_cached` only; posts, last seen post and next crawl do not change."""
    began, outcome, posts, is_client_wide = time.monotonic(), str(Word.OK), [], False
    with counted() as count:
        try:
            posts = _read(community.subreddit)
        except RedditError as error:
            outcome, is_client_wide = error.outcome, isinstance(error, ClientRefused)
    report = CrawlReport(community.community_name, outcome if posts or outcome != Word.OK else str(Word.EMPTY))
    report.is_client_wide = is_client_wide
    report.http_request_count, report.duration_seconds = count.requests, time.monotonic() - began
    kept = cache_posts(community.community_name, posts) if posts else 0
    with ctx.writing():
        if posts:
            CommunityCache.objects.filter(pk=community.pk).update(posts_cached=kept, updated_at=ctx.now)
        metrics.add_crawl(report, ctx.now)
    return report


def _read(subreddit: str) -> list[PostRecord]:
    """Read up to CRAWLER_POST_LIMIT posts, page by page."""
    sort, wanted = options.SORT.value, options.POST_LIMIT.value
    span = options.TIME_FILTER.value if sort == "top" else ""
    found: dict[str, PostRecord] = {}
    after: str | None = None
    while len(found) < wanted:
        page = fetch_listing(subreddit, sort, limit=min(PAGE, wanted), after=after, time_filter=span)
        before = len(found)
        found |= {post.post_id: post for post in page.posts}
        after = page.after
        if after is None or len(found) == before:
            break
    return list(found.values())[:wanted]
