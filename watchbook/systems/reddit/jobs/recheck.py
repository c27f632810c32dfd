"""Rechecks posts and comments by ID after 2, 24 and 72 hours: finds edits, removals and new scores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from watchbook.base.work import counted
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch import ClientRefused, RedditError, fetch_by_id
from watchbook.systems.reddit.jobs.crawl import fail_with_outage, is_paused, refuse_while_paused
from watchbook.systems.reddit.jobs.monitors import update_outage_alert
from watchbook.systems.reddit.models import FoundBy
from watchbook.systems.reddit.parse import Listing
from watchbook.systems.reddit.records import COMMENTS, POSTS, Tally
from watchbook.systems.reddit.store import metrics
from watchbook.systems.reddit.store.decide import Reading
from watchbook.systems.reddit.store.kinds import KINDS, ListingKind

IDS = 100
MAX_RECHECK_DELAY = timedelta(minutes=30)
MAX_REQUESTS = 100


def anything_to_recheck(now: datetime) -> bool:
    """Return True if 100 items are due, or one is overdue: a request costs the same for 1 ID and for 100."""
    if not options.is_live() or is_paused(now):
        return False
    return any(_is_worth_a_request(kind, now) for kind in KINDS)


def _is_worth_a_request(kind: ListingKind, now: datetime) -> bool:
    waiting = kind.rows().to_recheck(now).values_list("recheck_due", flat=True)[:IDS]
    due = [moment for moment in waiting if moment is not None]
    return len(due) == IDS or (bool(due) and due[0] <= now - MAX_RECHECK_DELAY)


def recheck_posts(ctx: JobContext) -> Outcome:
    """Recheck due posts, then due comments, 100 IDs per request, until none is due or a request fails."""
    if not options.is_live():
        return NOTHING_TO_DO
    refuse_while_paused(ctx)
    totals, requests = {kind.name: Tally() for kind in KINDS}, 0
    for kind in KINDS:
        while requests < MAX_REQUESTS and (due := kind.due(ctx.now, IDS)):
            with counted() as count:
                try:
                    answer = fetch_by_id([item_id for item_id, _ in due], prefix=kind.prefix)
                except RedditError as error:
                    return _failed(ctx, error, requests)
            requests += count.requests
            with ctx.writing():
                totals[kind.name].add(_store(ctx, kind, due, answer, count.requests))
            ctx.report(requests=requests, updated_posts=totals[POSTS].updated)
    if not requests:
        return NOTHING_TO_DO
    with ctx.writing():
        update_outage_alert()
    versions = sum(total.versions for total in totals.values())
    figures = {"requests": requests, "updated_posts": totals[POSTS].updated, "versions": versions}
    updated = totals[COMMENTS].updated
    return Outcome("done", {**figures, **({"updated_comments": updated} if updated else {})})


def _failed(ctx: JobContext, error: RedditError, requests: int) -> Outcome:
    ctx.progress.update(problem=error.outcome, rechecked=requests * IDS)
    if isinstance(error, ClientRefused):
        with ctx.writing():
            update_outage_alert()
        fail_with_outage(error.outcome)
    return Outcome("partly", {"problem": error.outcome, "rechecked": requests * IDS})


def _store(ctx: JobContext, kind: ListingKind, due: Sequence[tuple[str, str]], answer: Listing, requests: int) -> Tally:
    """Store the items of all communities. An item that is not in the response is missing, not deleted."""
    home = dict(due)
    kind.lock_all(home.values())
    items = [item for item in answer.items if item.item_id in home]
    reading = Reading("", ctx.now, FoundBy.NEW, is_new_listing=False, moves_recheck=True, by_id=home)
    total = kind.store(items, reading)
    found = {item.item_id for item in items}
    # If no item of a community is in the response, the community itself is unavailable: private or banned.
    answered = {home[item_id] for item_id in found}
    missing = [item_id for item_id in home if item_id not in found]
    kind.record_missing([key for key in missing if home[key] in answered], ctx.now, counts=True)
    kind.record_missing([key for key in missing if home[key] not in answered], ctx.now, counts=False)
    metrics.add_reading(total if kind.name == POSTS else Tally(), requests, ctx.now)
    return total
