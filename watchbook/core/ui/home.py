"""What the home page shows, in a fixed number of queries: cards, items per day, open alerts, what changed lately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.alerts.models import Alert
from watchbook.core.stream.lines import Day, by_day
from watchbook.core.stream.models import StreamEntry
from watchbook.core.ui import moments, onboarding
from watchbook.core.ui.activity import activity
from watchbook.core.ui.cards import Card

LATEST = 10
ALERTS = 4


@dataclass(frozen=True)
class Desk:
    """A system and its card."""

    source: registry.Source
    card: Card


def home_page(request: HttpRequest) -> dict[str, Any]:
    now = clock.now()
    scopes = viewer_scopes(request.user)
    cards = desks(request)
    alerts = list(Alert.objects.open()[: ALERTS + 1])
    if len(alerts) <= ALERTS:
        # The bell in the top bar need not count again.
        request.alerts_open = len(alerts)  # type: ignore[attr-defined]
    steps = onboarding.steps(request, has_data=any(desk.card.number is not None for desk in cards))
    return {
        "now": now,
        "today": moments.heading_text(moments.today()),
        "desks": cards,
        "activity": activity(scopes, now),
        "alerts": alerts[:ALERTS],
        "has_more_alerts": len(alerts) > ALERTS,
        "days": latest(scopes),
        "steps": steps,
        "steps_done": sum(step.is_done for step in steps),
    }


def desks(request: HttpRequest) -> list[Desk]:
    return [Desk(source, _card(source, request)) for source in registry.sources() if source.home_url]


def _card(source: registry.Source, request: HttpRequest) -> Card:
    if source.card:
        made: Card = registry.load(source.card)(request)
        return made
    return Card(title=_(source.title), url=reverse(source.home_url), hint=_("This system keeps no figures."))


def latest(scopes: Sequence[str]) -> list[Day]:
    """The newest entries that this reader may see, by the reader's days."""
    return by_day(StreamEntry.objects.visible_to(scopes).newest_first()[:LATEST])
