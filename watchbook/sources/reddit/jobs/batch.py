"""The older batch crawl: the tier's or operator's listing of every community into the cache, and nowhere else."""

from __future__ import annotations

import time
from datetime import datetime

from watchbook.base.web.counting import counted
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.reddit import options
from watchbook.sources.reddit.fetch import RedditTrouble, fetch_listing
from watchbook.sources.reddit.jobs.incremental import finish, known
from watchbook.sources.reddit.jobs.visiting import visit_all
from watchbook.sources.reddit.models import CommunityCache
from watchbook.sources.reddit.models import Outcome as Word
from watchbook.sources.reddit.parse import PostRecord
from watchbook.sources.reddit.records import VisitReport
from watchbook.sources.reddit.store import communities, metrics
from watchbook.sources.reddit.store.reading import cache_posts

PAGE = 100


def is_wanted(_now: datetime) -> bool:
    """Off unless switched on: the incremental crawl covers it."""
    return options.is_live() and options.BATCH_CRAWL.value


def crawl_batch(ctx: JobContext, detailed: bool = False, force_refresh: bool = False, community: str = "") -> Outcome:
    """Fill the cache of all active communities, or of a named one.

    It always fills anew; `force_refresh` is what other programs send.
    """
    if not options.is_live():
        return NOTHING_TO_DO
    communities.sync_pool(ctx.now)
    active = CommunityCache.objects.active().order_by("community_name")
    rows = [known(community)] if community else list(active)
    reports = visit_all(ctx, rows, lambda row: fill_one(ctx, row), claims=False)
    return finish(ctx, reports, detailed=detailed)


def fill_one(ctx: JobContext, community: CommunityCache) -> VisitReport:
    """Cache and `posts_cached` only: neither posts nor watermark nor due time are touched."""
    began, outcome, posts = time.monotonic(), str(Word.OK), []
    with counted() as count:
        try:
            posts = _read(community.subreddit)
        except RedditTrouble as trouble:
            outcome = trouble.outcome
    report = VisitReport(community.community_name, outcome if posts or outcome != Word.OK else str(Word.EMPTY))
    report.http_request_count, report.duration_seconds = count.requests, time.monotonic() - began
    kept = cache_posts(community.community_name, posts) if posts else 0
    with ctx.writing():
        if posts:
            CommunityCache.objects.filter(pk=community.pk).update(posts_cached=kept, updated_at=ctx.now)
        metrics.add_visit(report, ctx.now)
    return report


def _read(subreddit: str) -> list[PostRecord]:
    """As many posts as the operator wants, a page at a time."""
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
