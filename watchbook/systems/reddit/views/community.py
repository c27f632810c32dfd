"""The page of one community: tier, crawl results, gaps, charts and newest posts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Avg, Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext
from django.views.decorators.http import require_GET

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.stream.models import StreamEntry
from watchbook.kit import formatting
from watchbook.kit.charts import Chart, Series, bars, lines
from watchbook.kit.charts.svg import Value, shown
from watchbook.kit.paging import keyset
from watchbook.systems.reddit import actions, options
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.fetch import outage as outages
from watchbook.systems.reddit.health import community_health
from watchbook.systems.reddit.jobs.crawl import full_name
from watchbook.systems.reddit.models import CommentListing, CommunityCache, CommunityPool, CommunityPriority, PostRaw
from watchbook.systems.reddit.pool import NAME
from watchbook.systems.reddit.records import community_path
from watchbook.systems.reddit.schedule import TIERS
from watchbook.systems.reddit.store.crawls import AVERAGE_SPAN
from watchbook.systems.reddit.views.charts import day_index, last_days, start_of
from watchbook.systems.reddit.views.page_header import (
    community_badge,
    community_or_404,
    inactive_text,
    outcome_text,
    page_context,
    priority_text,
    tier_text,
)
from watchbook.systems.reddit.views.posts import post_rows

DAYS = 28
# Fewer than in the list of posts: on phones the rest of the page is below them.
POSTS = 15
LOG = 20
# Kinds of activity in the log: icon and tone.
LOGGED = {
    "posted": ("plus", "ok"),
    "commented": ("chats", "ok"),
    "gap": ("s-warn", "warn"),
    "comment_gap": ("s-warn", "warn"),
    "inactive": ("s-bad", "bad"),
}


@dataclass(frozen=True)
class TierRow:
    """One tier of the table, and whether the community belongs to it."""

    title: str
    posts: str
    every: str
    is_here: bool


@dataclass(frozen=True)
class CommunityCharts:
    """Charts of a community; None without data."""

    posts: Chart | None
    scores: Chart | None
    period: str = ""
    short: str = ""


@dataclass(frozen=True)
class LogRow:
    """An activity entry with its icon and colour."""

    occurred_at: datetime
    kind: str
    data: dict[str, Any]
    icon: str
    tone: str


@require_GET
def community(request: HttpRequest, name: str) -> HttpResponse:
    try:
        row = community_or_404(name)
    except Http404:
        if NAME.fullmatch(name) and actions.posts().filter(subreddit=full_name(name)).exists():
            # Removed from the list: its stored posts stay.
            return redirect(f"{reverse('reddit:posts')}?{urlencode({'community': name})}")
        raise
    path = community_path(row.community_name)
    if request.path != path:
        return redirect(path)
    context_of_page = page_context(request, "communities")
    now = context_of_page["now"]
    posts = actions.posts().filter(subreddit=row.community_name)
    page = keyset(posts, request.GET, by="created_at", size=POSTS)
    pool_row = CommunityPool.objects.filter(name=row.community_name).first()
    listing = threads.listing_of(row)
    context: dict[str, Any] = {
        **context_of_page,
        "row": row,
        "path": path,
        "health": community_health(row, outages.current(), now, listing),
        **_comments(row, listing),
        "badge": community_badge(row, now),
        "tier": tier_text(row.quality_tier),
        "pool_row": pool_row,
        "priority_text": priority_text(pool_row.tier if pool_row else ""),
        "priorities": CommunityPriority.choices,
        "tags": ", ".join(pool_row.categories) if pool_row else "",
        "outcome": outcome_text(row.last_outcome),
        "reason": "" if row.is_active else inactive_text(row),
        "tier_rows": _tier_rows(row),
        "averaged_from": _averaged_from(row),
        "is_adaptive": options.SCHEDULER.value == "adaptive",
        "log": _log(request, row),
        "charts": _days(row, now),
        "page": page,
        "post_rows": post_rows(page.items),
    }
    return render(request, "reddit/community.html", context)


def _comments(row: CommunityCache, listing: CommentListing | None) -> dict[str, Any]:
    """What the page says of comments: on or off, by which switch, and the last outcome."""
    chosen = listing.is_on if listing else None
    comments = {
        "is_on": threads.is_crawled(listing),
        "chosen": "default" if chosen is None else "on" if chosen else "off",
        "by_default": options.COMMENTS.value,
        "outcome": outcome_text(listing.last_outcome) if listing else "",
        "cost": threads.estimated_requests(row),
        "budget": options.DAILY_BUDGET.value,
    }
    return {"listing": listing, "comments": comments}


def _tier_rows(row: CommunityCache) -> list[TierRow]:
    found = []
    for key, tier in TIERS.items():
        least, most = int(tier.threshold_min), tier.threshold_max
        posts = _("from %(n)s") % {"n": least} if most is None else _("%(a)s to %(b)s") % {"a": least, "b": most}
        every = pgettext("duration", "%(n)s h") % {"n": tier.frequency_hours}
        found.append(TierRow(tier_text(key), posts, every, key == row.quality_tier))
    return found


def _averaged_from(row: CommunityCache) -> datetime | None:
    """Return the start of the average: 7 days before the last crawl, or the first complete day."""
    if row.covered_from is None or row.last_crawled_at is None:
        return None
    return max(row.covered_from, row.last_crawled_at - AVERAGE_SPAN)


def _log(request: HttpRequest, row: CommunityCache) -> list[LogRow]:
    """Return the activity entries of the community."""
    entries = StreamEntry.objects.visible_to(viewer_scopes(request.user))
    own = entries.filter(source="reddit", kind__in=list(LOGGED), object_id=row.community_name)
    return [LogRow(row.occurred_at, row.kind, row.data, *LOGGED[row.kind]) for row in own.newest_first()[:LOG]]


def _days(row: CommunityCache, now: datetime) -> CommunityCharts:
    """Return charts of posts and scores per day of posting, in one query."""
    if row.covered_from is None:
        return CommunityCharts(None, None)
    first = formatting.local(row.covered_from).date()
    days = [day for day in last_days(DAYS, now) if day >= first] or last_days(1, now)
    rows = (
        PostRaw.objects.current()
        .filter(subreddit=row.community_name, created_at__gte=start_of(days[0]))
        .annotate(place=day_index(days, "created_at"))
        .values_list("place")
        .annotate(posts=Count("pk"), score=Avg("score"), comments=Avg("num_comments"))
        .order_by()
    )
    found = {place: (posts, score, comments) for place, posts, score, comments in rows}
    return CommunityCharts(
        _posts_chart(days, [found.get(place, (0,))[0] for place in range(len(days))]),
        _scores_chart(days, found) if found else None,
        _period(len(days)),
        _period(shown("s", len(days))),
    )


def _period(count: int) -> str:
    return ngettext("%(n)s day", "%(n)s days", count) % {"n": count}


def _posts_chart(days: Sequence[date], counts: Sequence[Value]) -> Chart:
    label = _("Posts per day, %(n)s in total.") % {"n": formatting.number_text(sum(count or 0 for count in counts))}
    return bars(days, [Series(pgettext("chart", "posts"), counts, "sys-reddit")], label=label, place="half")


def _scores_chart(days: Sequence[date], found: dict[int, Any]) -> Chart:
    """Return the chart of average score and comments, from the first day with posts."""
    places = range(min(found), len(days))
    scores: list[Value] = [round(found[place][1], 1) if place in found else None for place in places]
    comments: list[Value] = [round(found[place][2], 1) if place in found else None for place in places]
    series = [
        Series(pgettext("chart", "score"), scores, "c-h5"),
        Series(pgettext("chart", "comments"), comments, "c-h3"),
    ]
    best = max(value for value in scores if value is not None)
    label = _("Average score and comments of each day's posts; highest average score %(n)s.") % {
        "n": formatting.number_text(best)
    }
    return lines([days[place] for place in places], series, label=label, place="half")
