"""What other rooms ask of the system: the card on the home page, a change to file in the library."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.core.alerts.models import Alert
from watchbook.core.stream.clip import find_clip
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.sitemaps.card import card
from watchbook.systems.sitemaps.models import Status
from watchbook.systems.sitemaps.tests.builders import START, make_change, make_monitor

pytestmark = pytest.mark.django_db


class TestCard:
    @pytest.fixture
    def asked(self, rf, alice):
        request = rf.get("/")
        request.user = alice
        return request

    def test_new_user_sees_how_to_add_a_monitor(self, asked):
        made = card(asked)
        assert (made.number, made.action_url) == (None, reverse("add_source"))

    def test_changes_since_yesterday_of_the_viewers_own(self, asked, desk, bob):
        make_change(make_monitor(bob), START, added=["https://www.example.com/x"])
        with CaptureQueriesContext(connection) as queries:
            made = card(asked)
        assert len(queries) <= 4
        assert made.number == 1
        assert made.trend[-1] == 1
        assert [fact.name for fact in made.facts] == ["Last run", "Next run", "Monitors"]

    def test_badge_is_the_worst(self, asked, desk):
        assert card(asked).badge.text == "Healthy"
        make_monitor(asked.user, 7, status=Status.ERROR)
        assert card(asked).badge.tone == "bad"

    def test_alert_of_another_user_does_not_change_the_badge(self, asked, desk):
        Alert.objects.create(key="x", live_slot="x", level="P0", source="sitemaps", scope="user:0", title="x")
        assert card(asked).badge.text == "Healthy"


class TestClip:
    def test_clip_of_a_change_has_urls_and_source(self, desk, alice):
        monitor, record = desk
        made = find_clip("sitemap_change", str(record.pk), alice)
        assert made.title == "Example Shop: +2 −1 ~1"
        assert "<li>− https://www.example.com/sale</li>" in made.html
        assert (made.source_link, made.source_at) == (monitor.sitemap_url, record.created_at)

    def test_other_users_cannot_clip_a_change(self, desk, bob):
        assert find_clip("sitemap_change", str(desk[1].pk), bob) is None

    @pytest.mark.parametrize(("kind", "object_id"), [("sitemap_change", "nonsense"), ("other", "x")])
    def test_unknown_change_cannot_be_clipped(self, alice, kind, object_id):
        assert find_clip(kind, object_id, alice) is None

    def test_hostile_urls_are_text(self, alice):
        record = make_change(make_monitor(alice), START, added=["https://www.example.com/<script>"])
        assert "<script>" not in find_clip("sitemap_change", str(record.pk), alice).html

    def test_activity_entries_can_be_clipped(self, site, watch, alice):
        site.add("/a")
        w = watch()
        w.check()
        site.add("/b")
        w.check()
        told = StreamEntry.objects.get(kind="changed")
        made = find_clip(told.object_kind, told.object_id, alice)
        assert made is not None
        assert f"<li>+ {site.url}/b</li>" in made.html
