"""What crawling found and cost, hour by hour and day by day; how near the limits it is; what the monitors say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from watchbook.base.clock import SHANGHAI
from watchbook.core.jobs.models import JobRun, State
from watchbook.sources.reddit import actions, options
from watchbook.sources.reddit.models import CommunityCache, CrawlMetrics
from watchbook.sources.reddit.views.drawing import HEAT_DAYS, day_charts, heat_chart, hour_charts, hours_of
from watchbook.sources.reddit.views.head import head
from watchbook.sources.reddit.views.monitors import last_runs, monitors

DAYS = 30
DAYS_LISTED = 14
API_CALLS = "reddit.api_calls"


@dataclass(frozen=True)
class Spent:
    """How near the limits today's crawling is. None: not measured."""

    requests: int
    budget: int
    calls: int | None
    limit: int
    alert_above: int
    calls_at: datetime | None
    hit_rate: float | None
    least_rate: float
    hit_hour: CrawlMetrics | None
    new_per_request: float | None

    @property
    def hit_percent(self) -> int | None:
        return None if self.hit_rate is None else round(100 * self.hit_rate)

    @property
    def least_percent(self) -> int:
        return round(100 * self.least_rate)

    @property
    def is_cold(self) -> bool:
        return self.hit_rate is not None and self.hit_rate < self.least_rate


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    shown = head(request, "metrics")
    now = shown["now"]
    rows = _rows(now)
    hours = hours_of(rows, now)
    days = actions.days(DAYS)
    runs = last_runs()
    described = [row for row in rows if row.described_at is not None]
    visited = [row for row in rows if row.successful_crawls + row.empty_crawls + row.failed_crawls]
    context: dict[str, Any] = {
        **shown,
        "monitors": monitors(runs),
        "spent": _spent(rows, runs.get(API_CALLS), now),
        "hours": hour_charts(hours),
        "hour_count": len(hours),
        "heat": heat_chart(rows, now),
        "last": described[-1] if described else None,
        "visited": visited[-1] if visited else None,
        "days": day_charts(days),
        "day_count": len(days),
        "listed": days[::-1][:DAYS_LISTED],
        "has_pool": CommunityCache.objects.exists(),
    }
    return render(request, "reddit/metrics.html", context)


def _rows(now: datetime) -> list[CrawlMetrics]:
    """At most a week of hours, oldest first."""
    first = now.astimezone(SHANGHAI).date() - timedelta(days=HEAT_DAYS - 1)
    return list(CrawlMetrics.objects.filter(metric_date__gte=first).order_by("metric_date", "metric_hour"))


def _spent(rows: Sequence[CrawlMetrics], run: JobRun | None, now: datetime) -> Spent:
    today = [row for row in rows if row.metric_date == now.astimezone(SHANGHAI).date()]
    requests, new = sum(row.requests for row in today), sum(row.total_new_posts for row in today)
    calls = run.progress.get("calls") if run is not None and run.state == State.DONE else None
    read = next((row for row in reversed(rows) if row.cache_reads), None)
    return Spent(
        requests=requests,
        budget=options.DAILY_BUDGET.value,
        calls=calls if isinstance(calls, int) else None,
        limit=options.RATE_LIMIT.value,
        alert_above=options.API_THRESHOLD.value,
        calls_at=run.finished_at if run is not None else None,
        hit_rate=read.cache_hits / read.cache_reads if read else None,
        least_rate=options.CACHE_HIT_THRESHOLD.value,
        hit_hour=read,
        new_per_request=new / requests if requests else None,
    )
