"""One community: why it has its tier, what its visits found, its gaps, its days, its newest posts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Avg, Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext
from django.views.decorators.http import require_GET

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.stream.models import StreamEntry
from watchbook.core.ui import moments
from watchbook.core.ui.charts import Chart, Series, bars, lines
from watchbook.core.ui.charts.record import Value, shown
from watchbook.core.ui.paging import keyset
from watchbook.sources.reddit import actions, options
from watchbook.sources.reddit.models import CommunityCache, CommunityPool, PostRaw, Wish
from watchbook.sources.reddit.places import community_path
from watchbook.sources.reddit.schedule import TIERS
from watchbook.sources.reddit.store.visits import AVERAGED
from watchbook.sources.reddit.views.days import last_days, place_in, start_of
from watchbook.sources.reddit.views.head import community_or_404, head
from watchbook.sources.reddit.views.posts import lines_of
from watchbook.sources.reddit.views.words import (
    community_badge,
    inactive_text,
    outcome_text,
    tier_text,
    wish_text,
)

DAYS = 28
# Fewer than in the list of posts: on a phone the rest of the page stands below them.
POSTS = 15
LOG = 20
LOGGED = ("posted", "gap", "inactive")


@dataclass(frozen=True)
class Rung:
    """One tier of the ladder, and whether the community stands on it."""

    title: str
    posts: str
    every: str
    is_here: bool


@dataclass(frozen=True)
class Drawn:
    """The days of a community; a chart is None when nothing is known yet."""

    posts: Chart | None
    scores: Chart | None
    period: str = ""
    short: str = ""


@require_GET
def community(request: HttpRequest, name: str) -> HttpResponse:
    row = community_or_404(name)
    path = community_path(row.community_name)
    if request.path != path:
        return redirect(path)
    shown_head = head(request, "communities")
    now = shown_head["now"]
    posts = actions.posts(actions.PostFilter(community=row.community_name))
    page = keyset(posts, request.GET, by="created_at", size=POSTS)
    wished = CommunityPool.objects.filter(name=row.community_name).first()
    context: dict[str, Any] = {
        **shown_head,
        "row": row,
        "path": path,
        "badge": community_badge(row, now),
        "tier": tier_text(row.quality_tier),
        "wish": wished,
        "wish_text": wish_text(wished.tier if wished else ""),
        "wishes": Wish.choices,
        "outcome": outcome_text(row.last_outcome),
        "reason": "" if row.is_active else inactive_text(row),
        "ladder": _ladder(row),
        "averaged_from": _averaged_from(row),
        "is_adaptive": options.SCHEDULER.value == "adaptive",
        "log": _log(request, row),
        "drawn": _days(row, now),
        "page": page,
        "lines": lines_of(page.items),
    }
    return render(request, "reddit/community.html", context)


def _ladder(row: CommunityCache) -> list[Rung]:
    found = []
    for key, tier in TIERS.items():
        least, most = int(tier.threshold_min), tier.threshold_max
        posts = _("from %(n)s") % {"n": least} if most is None else _("%(a)s to %(b)s") % {"a": least, "b": most}
        every = pgettext("duration", "%(n)s h") % {"n": tier.frequency_hours}
        found.append(Rung(tier_text(key), posts, every, key == row.quality_tier))
    return found


def _averaged_from(row: CommunityCache) -> datetime | None:
    """Where the average begins: a week before the last visit, or where knowledge begins."""
    if row.covered_from is None or row.last_crawled_at is None:
        return None
    return max(row.covered_from, row.last_crawled_at - AVERAGED)


def _log(request: HttpRequest, row: CommunityCache) -> list[StreamEntry]:
    """What its visits found, as the stream tells it."""
    entries = StreamEntry.objects.visible_to(viewer_scopes(request.user))
    own = entries.filter(source="reddit", kind__in=LOGGED, object_id=row.community_name)
    return list(own.newest_first()[:LOG])


def _days(row: CommunityCache, now: datetime) -> Drawn:
    """Posts and scores by the day on which they were posted, from the first day that is known. One query."""
    if row.covered_from is None:
        return Drawn(None, None)
    first = moments.local(row.covered_from).date()
    days = [day for day in last_days(DAYS, now) if day >= first] or last_days(1, now)
    rows = (
        PostRaw.objects.current()
        .filter(subreddit=row.community_name, created_at__gte=start_of(days[0]))
        .annotate(place=place_in(days, "created_at"))
        .values_list("place")
        .annotate(posts=Count("pk"), score=Avg("score"), comments=Avg("num_comments"))
        .order_by()
    )
    found = {place: (posts, score, comments) for place, posts, score, comments in rows}
    return Drawn(
        _posts_chart(days, [found.get(place, (0,))[0] for place in range(len(days))]),
        _scores_chart(days, found) if found else None,
        _period(len(days)),
        _period(shown("s", len(days))),
    )


def _period(count: int) -> str:
    return ngettext("%(n)s day", "%(n)s days", count) % {"n": count}


def _posts_chart(days: Sequence[date], counts: Sequence[Value]) -> Chart:
    label = _("Posts per day, %(n)s in all.") % {"n": moments.number_text(sum(count or 0 for count in counts))}
    return bars(days, [Series(pgettext("chart", "posts"), counts, "sys-reddit")], label=label, place="half")


def _scores_chart(days: Sequence[date], found: dict[int, Any]) -> Chart:
    """Averages of the posts of each day, as last looked at, from the first day that has any."""
    places = range(min(found), len(days))
    scores: list[Value] = [round(found[place][1], 1) if place in found else None for place in places]
    comments: list[Value] = [round(found[place][2], 1) if place in found else None for place in places]
    series = [
        Series(pgettext("chart", "score"), scores, "c-h5"),
        Series(pgettext("chart", "comments"), comments, "c-h3"),
    ]
    best = max(value for value in scores if value is not None)
    label = _("Average score and comments of each day's posts; highest average score %(n)s.") % {
        "n": moments.number_text(best)
    }
    return lines([days[place] for place in places], series, label=label, place="half")
