"""Four conditions that open an alert once, keep it open while they hold, and close it by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Max, Sum
from django.utils.translation import gettext_noop as _

from watchbook.core.alerts.conditions import close_alert, open_alert
from watchbook.core.alerts.sentences import Sentence
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.sources.reddit import options, places
from watchbook.sources.reddit.fetch import turns
from watchbook.sources.reddit.models import CommunityCache, CrawlMetrics
from watchbook.sources.reddit.store.metrics import hour_of

# Fewer reads than this say nothing about a share.
LEAST_READS = 10
WARM_SHARE = 0.9


def monitor_api_calls(ctx: JobContext) -> Outcome:
    """Calls in the last minute, by all processes together."""
    calls, most = turns.used_lately(), options.API_THRESHOLD.value
    title = Sentence(_("Reddit is asked nearly as often as it allows"))
    message = Sentence(
        _("%(calls)d calls in the last minute; the limit is %(limit)d."),
        {"calls": calls, "limit": options.RATE_LIMIT.value},
    )
    return _judge(ctx, "api_calls", calls > most, title, message, {"calls": calls, "threshold": most})


def monitor_cache_health(ctx: JobContext) -> Outcome:
    """Share of reads that needed no cold store, in this hour and the one before."""
    rows = [hour_of(ctx.now), hour_of(ctx.now - timedelta(hours=1))]
    hits = reads = 0
    for day, hour in rows:
        found = CrawlMetrics.objects.filter(metric_date=day, metric_hour=hour)
        sums = found.aggregate(hits=Sum("cache_hits"), reads=Sum("cache_reads"))
        hits, reads = hits + (sums["hits"] or 0), reads + (sums["reads"] or 0)
    rate = hits / reads if reads else 1.0
    least = options.CACHE_HIT_THRESHOLD.value
    title = Sentence(_("Few reads of Reddit posts hit the cache"))
    message = Sentence(
        _("%(hits)d of %(reads)d reads came from the cache or the hot store."), {"hits": hits, "reads": reads}
    )
    figures = {"hits": hits, "reads": reads, "threshold": least}
    is_bad = reads >= LEAST_READS and rate < least
    return _judge(ctx, "cache_health", is_bad, title, message, figures)


def monitor_warmup(ctx: JobContext) -> Outcome:
    """Communities of the pool that were never read although their first promise has passed."""
    active = CommunityCache.objects.active()
    total = active.count()
    cold = [
        row
        for row in active.filter(last_complete_at=None)
        if ctx.now - row.created_at > timedelta(hours=row.crawl_frequency_hours)
    ]
    warm = total - active.filter(last_complete_at=None).count()
    title = Sentence(_("The Reddit pool does not warm up"))
    message = Sentence(_("%(cold)d of %(total)d communities were never read."), {"cold": len(cold), "total": total})
    figures = {"total": total, "warm": warm, "overdue": len(cold)}
    is_bad = options.is_live() and len(cold) > total * (1 - WARM_SHARE)
    return _judge(ctx, "warmup", is_bad, title, message, figures)


def monitor_crawler_health(ctx: JobContext) -> Outcome:
    """Minutes since the last visit that read anything, where something was due."""
    active = CommunityCache.objects.active()
    newest = active.aggregate(at=Max("last_crawled_at"))["at"]
    stale = timedelta(minutes=options.STALE_MINUTES.value)
    waiting = active.filter(next_due__lt=ctx.now - stale).count()
    is_bad = options.is_live() and waiting > 0 and (newest is None or ctx.now - newest > stale)
    minutes = int((ctx.now - newest) / timedelta(minutes=1)) if newest else -1
    figures = {"minutes": minutes, "waiting": waiting}
    message = Sentence(_("Nothing was read for %(minutes)d minutes; %(waiting)d communities wait."), figures)
    return _judge(ctx, "crawls", is_bad, Sentence(_("Reddit is not crawled")), message, figures)


def _judge(
    ctx: JobContext, name: str, is_bad: bool, title: Sentence, message: Sentence, figures: Mapping[str, Any]
) -> Outcome:
    key = f"reddit.{name}"
    with ctx.writing():
        if is_bad:
            open_alert(key, level="P2", source="reddit", title=title, message=message, link=places.METRICS)
        else:
            close_alert(key, message)
    return Outcome("done", {**figures, "alert": "open" if is_bad else "closed"})
