"""Posts looked up again by id at 2, 24 and 72 hours: edits, removals and scores of what no listing shows any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from watchbook.base.web.counting import counted
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.reddit import options
from watchbook.sources.reddit.fetch import RedditTrouble, fetch_by_id
from watchbook.sources.reddit.models import FoundBy, PostRaw
from watchbook.sources.reddit.parse import Listing
from watchbook.sources.reddit.records import Tally
from watchbook.sources.reddit.store import looks, metrics
from watchbook.sources.reddit.store.posts import Reading, store_posts
from watchbook.sources.reddit.store.visits import lock_all

IDS = 100
LONGEST_WAIT = timedelta(minutes=30)
MOST_REQUESTS = 100


def anything_to_recheck(now: datetime) -> bool:
    """A full request's worth, or one that has waited long enough: ids cost the same alone and by the hundred."""
    if not options.is_live():
        return False
    waiting = PostRaw.objects.to_recheck(now).values_list("recheck_due", flat=True)[:IDS]
    due = [moment for moment in waiting if moment is not None]
    return len(due) == IDS or (bool(due) and due[0] <= now - LONGEST_WAIT)


def recheck_posts(ctx: JobContext) -> Outcome:
    """A hundred ids a request, until none is due or something is in the way."""
    if not options.is_live():
        return NOTHING_TO_DO
    total, requests = Tally(), 0
    for _ in range(MOST_REQUESTS):
        due = list(PostRaw.objects.to_recheck(ctx.now).values_list("source_post_id", "subreddit")[:IDS])
        if not due:
            break
        with counted() as count:
            try:
                answer = fetch_by_id([post_id for post_id, _ in due])
            except RedditTrouble as trouble:
                return Outcome("partly", {"trouble": trouble.outcome, "looked_at": requests * IDS})
        requests += count.requests
        with ctx.writing():
            total.add(_store(ctx, due, answer, count.requests))
        ctx.report(requests=requests, updated_posts=total.updated)
    figures = {"requests": requests, "updated_posts": total.updated, "versions": total.versions}
    return Outcome("done", figures) if requests else NOTHING_TO_DO


def _store(ctx: JobContext, due: Sequence[tuple[str, str]], answer: Listing, requests: int) -> Tally:
    """All communities at once. Who is not in the answer is missing, not deleted."""
    home = dict(due)
    lock_all(home.values())
    posts = [post for post in answer.posts if post.post_id in home]
    reading = Reading("", ctx.now, FoundBy.NEW, is_new_listing=False, moves_recheck=True, by_post=home)
    total = store_posts(posts, reading)
    found = {post.post_id for post in posts}
    # Where nothing of a community came back, the community is in the way: private, banned, or an ill answer.
    speaking = {home[post_id] for post_id in found}
    missing = [post_id for post_id in home if post_id not in found]
    looks.note_missing([key for key in missing if home[key] in speaking], ctx.now, counts=True)
    looks.note_missing([key for key in missing if home[key] not in speaking], ctx.now, counts=False)
    metrics.add_reading(total, requests, ctx.now)
    return total
