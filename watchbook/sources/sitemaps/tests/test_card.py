"""The card on the home page."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.core.alerts.models import Alert
from watchbook.sources.sitemaps.card import card
from watchbook.sources.sitemaps.models import Status
from watchbook.sources.sitemaps.tests.desk import START, make_change, make_monitor

pytestmark = pytest.mark.django_db


class TestCard:
    @pytest.fixture
    def asked(self, rf, alice):
        request = rf.get("/")
        request.user = alice
        return request

    def test_a_new_desk_is_told_what_to_do(self, asked):
        made = card(asked)
        assert (made.number, made.action_url) == (None, reverse("sitemaps:add"))

    def test_changes_since_yesterday_of_the_viewers_own(self, asked, desk, bob):
        make_change(make_monitor(bob), START, added=["https://www.example.com/x"])
        with CaptureQueriesContext(connection) as queries:
            made = card(asked)
        assert len(queries) <= 4
        assert made.number == 1
        assert made.trend[-1] == 1
        assert [fact.name for fact in made.facts] == ["Last run", "Next run", "Monitors"]

    def test_the_badge_is_the_worst(self, asked, desk):
        assert card(asked).badge.text == "Healthy"
        make_monitor(asked.user, 7, status=Status.ERROR)
        assert card(asked).badge.tone == "bad"
        Alert.objects.create(key="x", live_slot="x", level="P0", source="sitemaps", title="x")
        assert card(asked).badge.text == "P0"
