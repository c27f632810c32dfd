"""The pool as a table: state, tier, posts a day, hits, last visit, when each is due. Any order, fifty a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import InvalidPage, Paginator
from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.base.text import clean_text, fold
from watchbook.core.stream.models import StreamEntry
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.charts.record import Value
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.models import CommunityCache, CommunityPool, CrawlDay, CrawlMetrics, PostRaw
from watchbook.sources.reddit.models.communities import FOLDED
from watchbook.sources.reddit.places import community_path
from watchbook.sources.reddit.schedule import TIERS
from watchbook.sources.reddit.views.days import last_days, place_in, start_of
from watchbook.sources.reddit.views.head import head
from watchbook.sources.reddit.views.words import community_badge, inactive_text, outcome_text, tier_text, wish_text

PER_PAGE = 50
TREND_DAYS = 7
STATES = ("overdue", "gap", "inactive")
# Names that a category adds to a search for words; a page of a list needs no more.
MOST_NAMED = 1000
ORDERS = {
    "name": F("community_name").asc(),
    "-name": F("community_name").desc(),
    "posts": F("rate").asc(),
    "-posts": F("rate").desc(),
    "last": F("last_crawled_at").asc(nulls_first=True),
    "-last": F("last_crawled_at").desc(nulls_last=True),
    "due": F("next_due").asc(),
    "-due": F("next_due").desc(),
}
USUAL = "-posts"


@dataclass(frozen=True)
class Row:
    """A community as a line of the table."""

    row: CommunityCache
    badge: Badge
    tier: str
    wish: str
    outcome: str
    reason: str
    trend: Sequence[Value]

    @property
    def path(self) -> str:
        return community_path(self.row.community_name)


@dataclass(frozen=True)
class Column:
    """A head of the table that sorts; `query` turns the order round."""

    title: str
    order: str
    aria: str
    is_number: bool = False


@require_GET
def communities(request: HttpRequest) -> HttpResponse:
    now = clock.now()
    words = clean_text(request.GET.get("q", ""))[:100].strip()
    tier, state = request.GET.get("tier", ""), request.GET.get("state", "")
    order = request.GET.get("order", "")
    order = order if order in ORDERS else USUAL
    found = _found(words, tier if tier in TIERS else "", state if state in STATES else "")
    page = _page(found.order_by(ORDERS[order], "pk"), request.GET.get("page", "1"))
    context = {
        **head(request, "communities"),
        "stats": _stats(now),
        "page": page,
        "rows": rows_of(list(page.object_list), now),
        "words": words,
        "tier": tier if tier in TIERS else "",
        "tiers": [(key, tier_text(key)) for key in TIERS],
        "state": state if state in STATES else "",
        "order": order,
        "columns": _columns(order),
        "is_narrow": bool(words or tier in TIERS or state in STATES),
    }
    return render(request, "reddit/communities.html", context)


def _found(words: str, tier: str, state: str) -> QuerySet[CommunityCache]:
    """By a part of the name, or by a category of the pool."""
    found = actions.communities(tier=tier, state=state)
    if not words:
        return found
    asked = fold(words).removeprefix("r/")
    pool = CommunityPool.objects.values_list("name", "categories")
    named = [name for name, categories in pool if any(asked in fold(str(one)) for one in categories)]
    is_named = Q(folded__contains=asked) | Q(community_name__in=named[:MOST_NAMED])
    return found.alias(folded=FOLDED).filter(is_named)


def _page(found: QuerySet[CommunityCache], number: str) -> Any:
    """A pool has at most some thousand rows, so pages have numbers. One that is not there is not there."""
    if not number.isascii() or not number.isdigit() or len(number) > 6:
        raise Http404
    try:
        return Paginator(found, PER_PAGE).page(int(number))
    except InvalidPage:
        raise Http404 from None


def _columns(order: str) -> dict[str, Column]:
    titles = {
        "name": pgettext("column", "Community"),
        "posts": pgettext("column", "Posts a day"),
        "last": pgettext("column", "Last visit"),
        "due": pgettext("column", "Next due"),
    }
    found = {}
    for name, title in titles.items():
        is_up, is_down = order == name, order == f"-{name}"
        # Names and due times begin at the front, figures and visits at the top.
        other = f"-{name}" if is_up or (not is_down and name in ("posts", "last")) else name
        aria = "ascending" if is_up else "descending" if is_down else ""
        found[name] = Column(title, other, aria, is_number=name == "posts")
    return found


def _stats(now: datetime) -> dict[str, Any]:
    active = Q(is_active=True)
    overdue = active & Q(next_due__lt=now - actions.OVERDUE_AFTER)
    counted = CommunityCache.objects.aggregate(
        total=Count("pk"),
        active=Count("pk", filter=active),
        inactive=Count("pk", filter=~active),
        overdue=Count("pk", filter=overdue),
        gaps=Count("pk", filter=active & Q(possible_gap=True)),
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
    """Two more queries for any number of them."""
    names = [row.community_name for row in found]
    wishes = dict(CommunityPool.objects.filter(name__in=names).values_list("name", "tier"))
    trends = _trends(found, now)
    return [
        Row(
            row,
            community_badge(row, now),
            tier_text(row.quality_tier),
            wish_text(wishes.get(row.community_name, "")),
            outcome_text(row.last_outcome),
            "" if row.is_active else inactive_text(row),
            trends[row.community_name],
        )
        for row in found
    ]


def _trends(found: Sequence[CommunityCache], now: datetime) -> dict[str, Sequence[Value]]:
    """Posts per day of their own time; None for days of which nothing is known."""
    days = last_days(TREND_DAYS, now)
    rows = (
        PostRaw.objects.current()
        .filter(subreddit__in=[row.community_name for row in found], created_at__gte=start_of(days[0]))
        .annotate(place=place_in(days, "created_at"))
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
