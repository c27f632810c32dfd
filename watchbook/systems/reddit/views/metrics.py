"""The page with metrics per hour and day, request budget and limits, and monitors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy
from django.views.decorators.http import require_GET

from watchbook.base.clock import SHANGHAI
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.overview import recent_runs
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.formatting import number_text, span_text
from watchbook.systems.reddit import actions, options
from watchbook.systems.reddit.models import CommunityCache, CrawlMetrics
from watchbook.systems.reddit.views.charts import HEAT_DAYS, day_charts, heat_chart, hour_charts, hours_of
from watchbook.systems.reddit.views.page_header import page_context

DAYS = 30
DAYS_LISTED = 14
API_CALLS = "reddit.api_calls"


@dataclass(frozen=True)
class Usage:
    """Requests, budget and cache hit rate of today. None means no data."""

    requests: int
    budget: int
    calls: int | None
    limit: int
    alert_above: int
    calls_at: datetime | None
    hit_rate: float | None
    min_rate: float
    hit_hour: CrawlMetrics | None
    new_per_request: float | None

    @property
    def hit_percent(self) -> int | None:
        return None if self.hit_rate is None else round(100 * self.hit_rate)

    @property
    def least_percent(self) -> int:
        return round(100 * self.min_rate)

    @property
    def is_cold(self) -> bool:
        return self.hit_rate is not None and self.hit_rate < self.min_rate


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    shown = page_context(request, "metrics")
    now = shown["now"]
    rows = _rows(now)
    hours = hours_of(rows, now)
    days = actions.days(DAYS)
    runs = latest_runs()
    described = [row for row in rows if row.described_at is not None]
    crawled = [row for row in rows if row.successful_crawls + row.empty_crawls + row.failed_crawls]
    context: dict[str, Any] = {
        **shown,
        "monitors": monitors(runs),
        "usage": _usage(rows, runs.get(API_CALLS), now),
        "hours": hour_charts(hours),
        "hour_count": len(hours),
        "heat": heat_chart(rows, now),
        "last": described[-1] if described else None,
        "crawled": crawled[-1] if crawled else None,
        "days": day_charts(days),
        "day_count": len(days),
        "listed": days[::-1][:DAYS_LISTED],
        "has_pool": CommunityCache.objects.exists(),
    }
    return render(request, "reddit/metrics.html", context)


def _rows(now: datetime) -> list[CrawlMetrics]:
    """Return the hours of the last 7 days, oldest first."""
    first = now.astimezone(SHANGHAI).date() - timedelta(days=HEAT_DAYS - 1)
    return list(CrawlMetrics.objects.filter(metric_date__gte=first).order_by("metric_date", "metric_hour"))


def _usage(rows: Sequence[CrawlMetrics], run: JobRun | None, now: datetime) -> Usage:
    today = [row for row in rows if row.metric_date == now.astimezone(SHANGHAI).date()]
    requests, new = sum(row.requests for row in today), sum(row.total_new_posts for row in today)
    calls = run.progress.get("requests") if run is not None and run.state == State.DONE else None
    read = next((row for row in reversed(rows) if row.cache_reads), None)
    return Usage(
        requests=requests,
        budget=options.DAILY_BUDGET.value,
        calls=calls if isinstance(calls, int) else None,
        limit=options.RATE_LIMIT.value,
        alert_above=options.API_THRESHOLD.value,
        calls_at=run.finished_at if run is not None else None,
        hit_rate=read.cache_hits / read.cache_reads if read else None,
        min_rate=options.CACHE_HIT_THRESHOLD.value,
        hit_hour=read,
        new_per_request=new / requests if requests else None,
    )


Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Monitor:
    """A monitor with its last result. `finding` is empty before the first run."""

    title: str
    badge: Badge
    finding: str
    threshold: str
    measured_at: datetime | None
    alert: Alert | None


@dataclass(frozen=True)
class _Kind:
    """Kind of monitor. `key` is the key of the alert, `job` the name of the job."""

    key: str
    job: str
    title: Any
    finding: Callable[[Figures], str]
    threshold: Callable[[], str]


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _calls(figures: Figures) -> str:
    return ngettext(
        "%(n)s request in the last minute", "%(n)s requests in the last minute", int(figures["requests"])
    ) % {"n": number_text(figures["requests"])}


def _calls_threshold() -> str:
    given = {"n": number_text(options.API_THRESHOLD.value), "limit": number_text(options.RATE_LIMIT.value)}
    return _("more than %(n)s; the limit is %(limit)s") % given


def _cache(figures: Figures) -> str:
    if not figures["reads"]:
        return _("no reads in the last 2 hours")
    given = {"rate": _percent(figures["hits"] / figures["reads"]), "reads": number_text(figures["reads"])}
    return _("%(rate)s of %(reads)s reads in the last 2 hours") % given


def _cache_threshold() -> str:
    return _("below %(rate)s, with at least 10 reads") % {"rate": _percent(options.CACHE_HIT_THRESHOLD.value)}


def _warm(figures: Figures) -> str:
    given = {"warm": number_text(figures["warm"]), "total": number_text(figures["total"])}
    return _("%(warm)s of %(total)s communities crawled at least once") % given


def _warm_threshold() -> str:
    return _("more than 10% of communities have a late first crawl")


def _crawls(figures: Figures) -> str:
    if figures["minutes"] < 0:
        return _("no crawl yet")
    return _("last crawl %(span)s earlier") % {"span": span_text(figures["minutes"] * 60)}


def _crawls_threshold() -> str:
    return _("communities are due, but no crawl succeeded for %(span)s") % {
        "span": span_text(options.STALE_MINUTES.value * 60)
    }


KINDS = (
    _Kind("api_calls", "reddit.api_calls", pgettext_lazy("monitor", "Requests per minute"), _calls, _calls_threshold),
    _Kind("cache_health", "reddit.cache_health", pgettext_lazy("monitor", "Cache hit rate"), _cache, _cache_threshold),
    _Kind("warmup", "reddit.warmup_metrics", pgettext_lazy("monitor", "First crawls"), _warm, _warm_threshold),
    _Kind("crawls", "reddit.crawler_health", pgettext_lazy("monitor", "Late crawls"), _crawls, _crawls_threshold),
)


def latest_runs() -> dict[str, JobRun]:
    """Return the latest run of each monitor by job name."""
    return {name: runs[0] for name, runs in recent_runs([kind.job for kind in KINDS], 1).items() if runs}


def monitors(runs: Mapping[str, JobRun]) -> list[Monitor]:
    alerts = _last_alerts()
    return [_monitor(kind, runs.get(kind.job), alerts.get(f"reddit.{kind.key}")) for kind in KINDS]


def _last_alerts() -> dict[str, Alert]:
    keys = [f"reddit.{kind.key}" for kind in KINDS]
    newest = Alert.objects.filter(key__in=keys).values("key").annotate(last=Max("pk")).order_by()
    found = Alert.objects.filter(pk__in=[row["last"] for row in newest])
    return {alert.key: alert for alert in found}


def _monitor(kind: _Kind, run: JobRun | None, alert: Alert | None) -> Monitor:
    is_done = run is not None and run.state == State.DONE
    return Monitor(
        str(kind.title),
        _badge(run, alert),
        kind.finding(run.progress) if run is not None and is_done else "",
        kind.threshold(),
        run.finished_at if run is not None else None,
        alert,
    )


def _badge(run: JobRun | None, alert: Alert | None) -> Badge:
    if alert is not None and alert.live_slot:
        return badges.find("alert", alert.level)
    if run is None:
        return badges.find("health", "never")
    return badges.find("health", "failed" if run.state == State.FAILED else "healthy")
