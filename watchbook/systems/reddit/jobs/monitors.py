"""Monitors that open and resolve alerts, and maintenance: expired hot posts, erasing, daily metrics."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Max, Sum
from django.utils.translation import gettext_noop as _

from watchbook.base.clock import SHANGHAI
from watchbook.base.text import Sentence
from watchbook.base.work import crash_point
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.reddit import options, records
from watchbook.systems.reddit.fetch import outage, rate_limit
from watchbook.systems.reddit.health import reason_of, remedy_of
from watchbook.systems.reddit.models import CommunityCache, CrawlMetrics
from watchbook.systems.reddit.store import comments, crawls, hot, metrics
from watchbook.systems.reddit.store.hot import erase_posts, next_to_erase
from watchbook.systems.reddit.store.metrics import hour_of

# A hit rate of fewer reads is not meaningful.
MIN_READS = 10
WARM_SHARE = 0.9
OUTAGE = "reddit.outage"


def monitor_api_calls(ctx: JobContext) -> Outcome:
    """Check the requests of all processes in the last minute."""
    calls, most = rate_limit.recent_request_count(), options.API_THRESHOLD.value
    title = Sentence(_("Close to Reddit's rate limit"))
    message = Sentence(
        _("%(calls)d requests in the last minute; the limit is %(limit)d."),
        {"calls": calls, "limit": options.RATE_LIMIT.value},
    )
    return _set_alert(ctx, "api_calls", calls > most, title, message, {"requests": calls, "threshold": most})


def monitor_cache_health(ctx: JobContext) -> Outcome:
    """Check the cache hit rate of this hour and the previous one."""
    rows = [hour_of(ctx.now), hour_of(ctx.now - timedelta(hours=1))]
    hits = reads = 0
    for day, hour in rows:
        found = CrawlMetrics.objects.filter(metric_date=day, metric_hour=hour)
        sums = found.aggregate(hits=Sum("cache_hits"), reads=Sum("cache_reads"))
        hits, reads = hits + (sums["hits"] or 0), reads + (sums["reads"] or 0)
    rate = hits / reads if reads else 1.0
    least = options.CACHE_HIT_THRESHOLD.value
    title = Sentence(_("Low cache hit rate for Reddit posts"))
    message = Sentence(_("The cache answered %(hits)d of %(reads)d reads."), {"hits": hits, "reads": reads})
    figures = {"hits": hits, "reads": reads, "threshold": least}
    is_bad = reads >= MIN_READS and rate < least
    return _set_alert(ctx, "cache_health", is_bad, title, message, figures)


def monitor_warmup(ctx: JobContext) -> Outcome:
    """Count communities whose first complete crawl is late."""
    active = CommunityCache.objects.active()
    total = active.count()
    cold = [
        row
        for row in active.filter(last_complete_at=None)
        if ctx.now - row.created_at > timedelta(hours=row.crawl_frequency_hours)
    ]
    warm = total - active.filter(last_complete_at=None).count()
    title = Sentence(_("First Reddit crawls are late"))
    message = Sentence(
        _("%(cold)d of %(total)d communities have no successful crawl yet."), {"cold": len(cold), "total": total}
    )
    figures = {"total": total, "warm": warm, "late": len(cold)}
    is_bad = options.is_live() and len(cold) > total * (1 - WARM_SHARE)
    return _set_alert(ctx, "warmup", is_bad, title, message, figures)


def monitor_crawler_health(ctx: JobContext) -> Outcome:
    """Check the minutes since the last successful crawl while communities are due."""
    active = CommunityCache.objects.active()
    newest = active.aggregate(at=Max("last_crawled_at"))["at"]
    stale = timedelta(minutes=options.STALE_MINUTES.value)
    waiting = active.filter(next_due__lt=ctx.now - stale).count()
    is_bad = options.is_live() and waiting > 0 and (newest is None or ctx.now - newest > stale)
    minutes = int((ctx.now - newest) / timedelta(minutes=1)) if newest else -1
    figures = {"minutes": minutes, "waiting": waiting}
    message = Sentence(_("No successful crawl for %(minutes)d minutes; %(waiting)d communities are due."), figures)
    return _set_alert(ctx, "crawls", is_bad, Sentence(_("Reddit crawls are late")), message, figures)


LATE_REMEDY = _("Check that a worker is running and that the request limit suits the number of communities.")


def _set_alert(
    ctx: JobContext, name: str, is_bad: bool, title: Sentence, message: Sentence, figures: Mapping[str, Any]
) -> Outcome:
    key = f"reddit.{name}"
    with ctx.writing():
        if is_bad:
            open_alert(
                key, level="P2", source="reddit", title=title, message=message, remedy=Sentence(LATE_REMEDY),
                link=records.METRICS,
            )  # fmt: skip
        else:
            resolve_alert(key, message)
    return Outcome("done", {**figures, "alert": "open" if is_bad else "resolved"})


def update_outage_alert() -> None:
    """Open the alert of an outage once, keep it up to date, and resolve it when a request has succeeded."""
    known = outage.current()
    if known is None:
        resolve_alert(OUTAGE, Sentence(_("Reddit can be read again.")))
        return
    reason, remedy = reason_of(known.outcome), remedy_of(known.outcome)
    open_alert(OUTAGE, level="P1", source="reddit", title=reason, message="", remedy=remedy, link=records.HOME)


def cleanup_expired_posts_hot(ctx: JobContext) -> Outcome:
    removed = 0
    while True:
        with ctx.writing():
            gone = hot.delete_expired(ctx.now)
        removed += gone
        if not gone:
            break
        ctx.report(removed=removed)
    return Outcome("done" if removed else "nothing_to_do", {"removed": removed})


def delete_old_crawls(ctx: JobContext) -> Outcome:
    """Delete rows of crawls after REDDIT_KEEP_CRAWLS_DAYS."""
    removed, before = 0, ctx.now - timedelta(days=options.KEEP_CRAWLS_DAYS.value)
    while True:
        with ctx.writing():
            gone = crawls.delete_old_crawls(before)
        removed += gone
        if not gone:
            break
        ctx.report(removed=removed)
    return Outcome("done" if removed else "nothing_to_do", {"removed": removed})


def is_wanted_erase(_now: datetime) -> bool:
    return options.HONOR_DELETIONS.value


def honor_deletions(ctx: JobContext) -> Outcome:
    """Erase posts and comments that were deleted by the author or removed.

    Does nothing if REDDIT_HONOR_DELETIONS is off.
    """
    if not options.HONOR_DELETIONS.value:
        return NOTHING_TO_DO
    posts = written = versions = 0
    while rows := next_to_erase():
        with ctx.writing():
            versions += erase_posts(rows, ctx.now)
        posts += len(rows)
        ctx.report(posts=posts)
    while gone := comments.next_to_erase():
        with ctx.writing():
            versions += comments.erase_comments(gone, ctx.now)
            crash_point("reddit.comments_erased")
        written += len(gone)
        ctx.report(comments=written)
    figures = {"posts": posts, "versions": versions, **({"comments": written} if written else {})}
    return Outcome("done" if posts or written else "nothing_to_do", figures)


def generate_daily(ctx: JobContext, day: str = "") -> Outcome:
    """Calculate the metrics of yesterday, or of a day given as 2026-03-02. A second run gives the same row."""
    chosen = date.fromisoformat(day) if day else ctx.now.astimezone(SHANGHAI).date() - timedelta(days=1)
    start = datetime.combine(chosen, time(0), tzinfo=SHANGHAI)
    with ctx.writing():
        row = metrics.store_day(chosen, start, start + timedelta(days=1))
    return Outcome("done", {"day": str(chosen), "requests": row.requests, "new_posts": row.total_new_posts})
