"""Rechecks posts by ID after 2, 24 and 72 hours: finds edits, removals and new scores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from watchbook.base.work import counted
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch import ClientRefused, RedditError, fetch_by_id
from watchbook.systems.reddit.jobs.crawl import fail_with_outage, is_paused, refuse_while_paused
from watchbook.systems.reddit.jobs.monitors import update_outage_alert
from watchbook.systems.reddit.models import FoundBy, PostRaw
from watchbook.systems.reddit.parse import Listing
from watchbook.systems.reddit.records import Tally
from watchbook.systems.reddit.store import crawls, metrics
from watchbook.systems.reddit.store.posts import Reading, store_posts

IDS = 100
MAX_RECHECK_DELAY = timedelta(minutes=30)
MAX_REQUESTS = 100


def anything_to_recheck(now: datetime) -> bool:
    """Return True if 100 posts are due, or one is overdue: a request costs the same for 1 ID and for 100."""
    if not options.is_live() or is_paused(now):
        return False
    waiting = PostRaw.objects.to_recheck(now).values_list("recheck_due", flat=True)[:IDS]
    due = [moment for moment in waiting if moment is not None]
    return len(due) == IDS or (bool(due) and due[0] <= now - MAX_RECHECK_DELAY)


def recheck_posts(ctx: JobContext) -> Outcome:
    """Recheck due posts, 100 IDs per request, until none is due or a request fails."""
    if not options.is_live():
        return NOTHING_TO_DO
    refuse_while_paused(ctx)
    total, requests = Tally(), 0
    for _ in range(MAX_REQUESTS):
        due = list(PostRaw.objects.to_recheck(ctx.now).values_list("source_post_id", "subreddit")[:IDS])
        if not due:
            break
        with counted() as count:
            try:
                answer = fetch_by_id([post_id for post_id, _ in due])
            except RedditError as error:
                ctx.progress.update(problem=error.outcome, rechecked=requests * IDS)
                if isinstance(error, ClientRefused):
                    with ctx.writing():
                        update_outage_alert()
                    fail_with_outage(error.outcome)
                return Outcome("partly", {"problem": error.outcome, "rechecked": requests * IDS})
        requests += count.requests
        with ctx.writing():
            total.add(_store(ctx, due, answer, count.requests))
        ctx.report(requests=requests, updated_posts=total.updated)
    if requests:
        with ctx.writing():
            update_outage_alert()
    figures = {"requests": requests, "updated_posts": total.updated, "versions": total.versions}
    return Outcome("done", figures) if requests else NOTHING_TO_DO


def _store(ctx: JobContext, due: Sequence[tuple[str, str]], answer: Listing, requests: int) -> Tally:
    """Store the posts of all communities. A post that is not in the response is missing, not deleted."""
    home = dict(due)
    crawls.lock_all(home.values())
    posts = [post for post in answer.posts if post.post_id in home]
    reading = Reading("", ctx.now, FoundBy.NEW, is_new_listing=False, moves_recheck=True, by_post=home)
    total = store_posts(posts, reading)
    found = {post.post_id for post in posts}
    # If no post of a community is in the response, the community itself is unavailable: private or banned.
    answered = {home[post_id] for post_id in found}
    missing = [post_id for post_id in home if post_id not in found]
    crawls.record_missing([key for key in missing if home[key] in answered], ctx.now, counts=True)
    crawls.record_missing([key for key in missing if home[key] not in answered], ctx.now, counts=False)
    metrics.add_reading(total, requests, ctx.now)
    return total
