"""The card of the Reddit system on the home page, in four queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.alerts.models import Alert
from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.cards import Card, Fact
from watchbook.core.ui.charts.record import Value
from watchbook.core.ui.templatetags.ui import when
from watchbook.sources.reddit import options, places
from watchbook.sources.reddit.models import CommunityCache, CrawlMetrics, PostRaw

DAYS = 14
SOURCE = "reddit"


def card(request: HttpRequest) -> Card:
    """New posts since yesterday, the trend of two weeks, and how the pool is."""
    now = clock.now()
    state = _state(now)
    if not state["total"]:
        is_operator = getattr(request.user, "is_staff", False)
        return Card(
            title="Reddit",
            url=places.HOME,
            hint=_("No communities yet. An operator loads a pool."),
            action_title=_("Load a pool") if is_operator else "",
            action_url=places.POOL if is_operator else "",
        )
    number = PostRaw.objects.filter(first_seen_at__gte=now - timedelta(days=1), version=1).count()
    return Card(
        title="Reddit",
        url=places.HOME,
        number=number,
        unit=ngettext("new post since yesterday", "new posts since yesterday", number),
        trend=_trend(now),
        badge=_badge(state),
        facts=_facts(state),
    )


def _state(now: datetime) -> dict[str, Any]:
    active = Q(is_active=True)
    return CommunityCache.objects.aggregate(
        total=Count("pk"),
        active=Count("pk", filter=active),
        overdue=Count("pk", filter=active & Q(next_due__lt=now - timedelta(hours=1))),
        gaps=Count("pk", filter=active & Q(possible_gap=True)),
        last_at=Max("last_crawled_at"),
        next_at=Min("next_due", filter=active),
    )


def _trend(now: datetime) -> Sequence[Value]:
    """New posts a day, oldest first; None where nothing was measured."""
    today = now.astimezone(SHANGHAI).date()
    first = today - timedelta(days=DAYS - 1)
    rows = CrawlMetrics.objects.filter(metric_date__gte=first).values_list("metric_date").order_by()
    found = dict(rows.annotate(new=Sum("total_new_posts")))
    return [found.get(first + timedelta(days=n)) for n in range(DAYS)]


def _badge(state: dict[str, Any]) -> Badge:
    level = Alert.objects.open().filter(source=SOURCE).values_list("level", flat=True).first()
    if level:
        return badges.find("health", level)
    if not options.is_live():
        return badges.find("health", "paused")
    if state["last_at"] is None:
        return badges.find("health", "never")
    if state["gaps"]:
        return badges.find("community", "possible_gap")
    return badges.find("community", "overdue") if state["overdue"] else badges.find("health", "healthy")


def _facts(state: dict[str, Any]) -> list[Fact]:
    facts = [Fact(_("Communities"), f"{state['active']:,}")]
    if state["last_at"]:
        facts.append(Fact(_("Last visit"), when(state["last_at"], "short")))
    if state["next_at"]:
        facts.append(Fact(_("Next visit"), when(state["next_at"], "short")))
    return facts
