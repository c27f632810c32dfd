"""The table of communities: state, tier, posts per day, crawls, last and next crawl; the list of crawls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import InvalidPage, Paginator
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.accounts.audit import export
from watchbook.core.stream.models import StreamEntry
from watchbook.kit.badges import Badge
from watchbook.kit.charts.svg import Value
from watchbook.systems.reddit import actions, filters, options
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, Crawl, CrawlDay, CrawlMetrics, PostRaw
from watchbook.systems.reddit.records import community_path
from watchbook.systems.reddit.schedule import TIERS
from watchbook.systems.reddit.views.charts import day_index, last_days, start_of
from watchbook.systems.reddit.views.page_header import (
    community_badge,
    inactive_text,
    outcome_text,
    page_context,
    priority_text,
    tier_text,
)
from watchbook.systems.reddit.views.selected import SelectedForm

PER_PAGE = 50
TREND_DAYS = 7


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    row: CommunityCache
    badge: Badge
    tier: str
    priority: str
    outcome: str
    reason: str
    trend: Sequence[Value]

    @property
    def path(self) -> str:
        return community_path(self.row.community_name)


@dataclass(frozen=True)
class Column:
    """A sortable column head; `order` is the order after a click."""

    title: str
    order: str
    aria: str
    is_number: bool = False


@require_GET
def communities(request: HttpRequest) -> HttpResponseBase:
    now = clock.now()
    listing = filters.COMMUNITIES.show(CommunityCache.objects.all(), request.GET)
    if file := export(request, listing):
        return file
    page = _page(filters.in_order(listing.rows, listing.order), request.GET.get("page", "1"))
    context = {
        **page_context(request, "communities"),
        "stats": _stats(now),
        "listing": listing,
        "page": page,
        "rows": rows_of(list(page.object_list), now),
        "columns": _columns(listing.order.name),
        "bulk_form": SelectedForm(),
    }
    return render(request, "reddit/communities.html", context)


@require_GET
def crawls(request: HttpRequest) -> HttpResponseBase:
    """The list of crawls with their outcome."""
    listing = filters.CRAWLS.show(Crawl.objects.all(), request.GET)
    if file := export(request, listing):
        return file
    context = {
        **page_context(request, "crawls"),
        "listing": listing,
        "page": listing.page,
        "crawls": [(row, community_path(row.community_name)) for row in listing.page.items],
        "keep_days": options.KEEP_CRAWLS_DAYS.value,
    }
    return render(request, "reddit/crawls.html", context)


def _page(found: QuerySet[CommunityCache], number: str) -> Any:
    """Return a numbered page: there are at most some thousand rows. Raise Http404 for other numbers."""
    if not number.isascii() or not number.isdigit() or len(number) > 6:
        raise Http404
    try:
        return Paginator(found, PER_PAGE).page(int(number))
    except InvalidPage:
        raise Http404 from None


def _columns(order: str) -> dict[str, Column]:
    titles = {
        "name": pgettext("column", "Community"),
        "posts": pgettext("column", "Posts per day"),
        "last": pgettext("column", "Last crawl"),
        "due": pgettext("column", "Next crawl"),
    }
    found = {}
    for name, title in titles.items():
        is_up, is_down = order == name, order == f"-{name}"
        # The first click sorts names and next crawls ascending, numbers and last crawls descending.
        other = f"-{name}" if is_up or (not is_down and name in ("posts", "last")) else name
        aria = "ascending" if is_up else "descending" if is_down else ""
        found[name] = Column(title, other, aria, is_number=name == "posts")
    return found


def _stats(now: datetime) -> dict[str, Any]:
    active = Q(is_active=True)
    overdue = active & Q(next_due__lt=now - actions.LATE_AFTER)
    counted = CommunityCache.objects.aggregate(
        total=Count("pk"),
        active=Count("pk", filter=active),
        inactive=Count("pk", filter=~active),
        overdue=Count("pk", filter=overdue),
        gap=Count("pk", filter=active & Q(possible_gap=True)),
        last_at=Max("last_crawled_at"),
        next_at=Min("next_due", filter=active),
        **{tier: Count("pk", filter=active & Q(quality_tier=tier)) for tier in TIERS},
    )
    today = now.astimezone(SHANGHAI).date()
    new = CrawlMetrics.objects.filter(metric_date=today).aggregate(new=Sum("total_new_posts"), cost=Sum("requests"))
    week = StreamEntry.objects.filter(source="reddit", kind="edited", occurred_at__gte=now - timedelta(days=7))
    return {
        **counted,
        "new_today": new["new"] or 0,
        "requests_today": new["cost"] or 0,
        "edits": week.count(),
        "day": CrawlDay.objects.order_by("-metric_date").first(),
    }


def rows_of(found: Sequence[CommunityCache], now: datetime) -> list[Row]:
    """Return table rows, with two queries for any number of communities."""
    names = [row.community_name for row in found]
    priorities = dict(CommunityPool.objects.filter(name__in=names).values_list("name", "tier"))
    trends = _trends(found, now)
    return [
        Row(
            row,
            community_badge(row, now),
            tier_text(row.quality_tier),
            priority_text(priorities.get(row.community_name, "")),
            outcome_text(row.last_outcome),
            "" if row.is_active else inactive_text(row),
            trends[row.community_name],
        )
        for row in found
    ]


def _trends(found: Sequence[CommunityCache], now: datetime) -> dict[str, Sequence[Value]]:
    """Return posts per day of posting; None for days without data."""
    days = last_days(TREND_DAYS, now)
    rows = (
        PostRaw.objects.current()
        .filter(subreddit__in=[row.community_name for row in found], created_at__gte=start_of(days[0]))
        .annotate(place=day_index(days, "created_at"))
        .values_list("subreddit", "place")
        .annotate(posts=Count("pk"))
        .order_by()
    )
    counts = {(name, place): posts for name, place, posts in rows}
    trends: dict[str, Sequence[Value]] = {}
    for row in found:
        known = row.covered_from
        is_known = [known is not None and start_of(day + timedelta(days=1)) > known for day in days]
        trends[row.community_name] = [
            counts.get((row.community_name, place), 0) if is_known[place] else None for place in range(len(days))
        ]
    return trends
