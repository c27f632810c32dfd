"""People, and two made-up systems for the menu and the cards."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import get_resolver

from watchbook.base import clock
from watchbook.base.testing.people import alice, operator  # noqa: F401 - fixtures
from watchbook.core import registry
from watchbook.core.health import HEALTHY, Health
from watchbook.core.registry import Source
from watchbook.kit import badges, formatting
from watchbook.kit.badges import Card, Fact

FULL, EMPTY = "watchbook.desk.tests.conftest:full_card", "watchbook.desk.tests.conftest:empty_card"


def full_card(request):
    return Card(
        title="Tides",
        url="/alerts/",
        number=318,
        unit="readings since yesterday",
        days={formatting.today() - timedelta(days=ago): count for ago, count in ((3, 1), (2, 2), (0, 4))},
        badge=badges.find("health", "healthy"),
        health=Health(HEALTHY, last_success_at=clock.now()),
        facts=[Fact("Next run", "20:00")],
    )


def empty_card(request):
    return Card(
        title="Lights", url="/channels/", hint="No light yet.", action_title="Add a light", action_url="/channels/"
    )


@pytest.fixture
def systems(monkeypatch):
    # The addresses are those of the real systems; only menu and cards are made up.
    assert get_resolver().url_patterns
    found = (
        Source(slug="tides", title="Tides", icon="stream", order=1, home_url="alerts", card=FULL),
        Source(slug="lights", title="Lights", icon="bell", order=2, home_url="channels", card=EMPTY),
    )
    assert registry.jobs()  # remembered now: the made-up systems have none, and it is remembered once
    monkeypatch.setattr(registry, "sources", lambda: found)
    load, cards = registry.load, {FULL: full_card, EMPTY: empty_card}
    monkeypatch.setattr(registry, "load", lambda name: cards.get(name) or load(name))
    return found
