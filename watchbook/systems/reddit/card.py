"""The Reddit card on the home page, in four queries."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Sum
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.health import Health
from watchbook.kit.badges import CARD_DAYS, Card, Fact
from watchbook.kit.templatetags.kit import when
from watchbook.systems.reddit import records
from watchbook.systems.reddit.fetch import outage as outages
from watchbook.systems.reddit.health import of_rows
from watchbook.systems.reddit.health import rows as figures
from watchbook.systems.reddit.models import CrawlMetrics, FoundBy, PostRaw

SOURCE = "reddit"


def card(request: HttpRequest) -> Card:
    """Return the card: new posts since yesterday, the new posts per day and the state of the communities."""
    now = clock.now()
    state = figures(now)
    if not state["total"]:
        is_operator = getattr(request.user, "is_staff", False)
        return Card(
            title="Reddit",
            url=records.HOME,
            hint=_("No communities yet. An operator imports them."),
            action_title=_("Import communities") if is_operator else "",
            action_url=records.POOL if is_operator else "",
        )
    health = of_rows(state, outages.current(), now)
    seen = PostRaw.objects.filter(first_seen_at__gte=now - timedelta(days=1), version=1)
    number = seen.exclude(found_by=FoundBy.IMPORT).count()
    return Card(
        title="Reddit",
        url=records.HOME,
        number=number,
        unit=ngettext("new post since yesterday", "new posts since yesterday", number),
        days=_days(now),
        health=health,
        badge=health.badge(),
        facts=_facts(state, health),
    )


def _days(now: datetime) -> dict[date, int]:
    """Return new posts of each day that has figures."""
    first = now.astimezone(SHANGHAI).date() - timedelta(days=CARD_DAYS - 1)
    rows = CrawlMetrics.objects.filter(metric_date__gte=first).values_list("metric_date").order_by()
    return dict(rows.annotate(new=Sum("total_new_posts")))


def _facts(state: dict[str, Any], health: Health) -> list[Fact]:
    facts = [Fact(_("Communities"), f"{state['active']:,}")]
    if state["last_at"]:
        facts.append(Fact(_("Last crawl"), when(state["last_at"], "short")))
    if health.next_try_at:
        facts.append(Fact(_("Next crawl"), when(health.next_try_at, "short")))
    return facts
