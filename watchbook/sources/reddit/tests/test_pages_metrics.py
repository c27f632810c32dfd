"""Hours, days, limits and monitors."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.tests.pages import reader, text_of

pytestmark = pytest.mark.django_db

__all__ = ["reader"]


class TestMetrics:
    def test_hours_are_drawn_and_monitors_say_what_they_found(self, desk, reader, monkeypatch):
        desk.add("webdev")
        desk.world.post("webdev", "Old")
        desk.crawl("webdev")
        desk.wait(hours=1)
        desk.world.post("webdev", "New")
        desk.wait(minutes=20)
        desk.crawl("webdev")
        with clock.set_to(desk.now):
            actions.newest("webdev")
        for job in ("reddit.api_calls", "reddit.cache_health", "reddit.warmup_metrics", "reddit.crawler_health"):
            desk.run(job)
        with clock.set_to(desk.now):
            answer = reader.get("/reddit/metrics/")
        text = text_of(answer)
        assert [str(each.badge.text) for each in answer.context["monitors"]] == ["Healthy"] * 4
        assert "1 of 1 communities were read at least once" in text
        assert "100% of 1 reads in the last two hours" in text
        charts = answer.context["hours"]
        assert all((charts.posts, charts.visits, charts.freshness, charts.cache, answer.context["heat"]))
        assert answer.context["spent"].requests == desk.site.log.count()

    def test_open_alert_is_shown_where_it_leads(self, desk, reader, monkeypatch):
        monkeypatch.setenv("MONITOR_API_THRESHOLD", "1")
        desk.add("webdev", "golang")
        desk.run("reddit.incremental")
        desk.run("reddit.api_calls")
        text = text_of(reader.get("/reddit/metrics/"))
        assert "open since" in text
        assert "count--bad" in text

    def test_days_are_summed_up(self, desk, reader):
        desk.add("webdev")
        desk.world.post("webdev", "Old")
        desk.crawl("webdev")
        desk.wait(hours=21)
        desk.run("reddit.daily_metrics")
        with clock.set_to(desk.now):
            answer = reader.get("/reddit/metrics/")
        assert [day.total_new_posts for day in answer.context["listed"]] == [1]
        assert answer.context["days"].posts is not None

    def test_nothing_yet(self, reader):
        text = text_of(reader.get("/reddit/metrics/"))
        assert "Nothing was measured yet" in text
        assert "The first crawl brings the first hour." in text

    def test_queries_are_few_whatever_was_measured(self, desk, reader):
        def count():
            with clock.set_to(desk.now), CaptureQueriesContext(connection) as seen:
                assert reader.get("/reddit/metrics/").status_code == 200
            return len(seen)

        before = count()
        desk.add("webdev")
        for _hour in range(5):
            desk.crawl("webdev")
            desk.wait(hours=1)
            desk.run("reddit.api_calls")
        assert before <= count() <= 13
