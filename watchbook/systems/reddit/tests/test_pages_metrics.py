"""Hours, days, limits and monitors."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.tests.pages import reader, text_of

pytestmark = pytest.mark.django_db

__all__ = ["reader"]


class TestMetrics:
    def test_metrics_page_shows_charts_and_monitors(self, scanner, reader, monkeypatch):
        scanner.add("webdev")
        scanner.world.post("webdev", "Old")
        scanner.crawl("webdev")
        scanner.wait(hours=1)
        scanner.world.post("webdev", "New")
        scanner.wait(minutes=20)
        scanner.crawl("webdev")
        with clock.set_to(scanner.now):
            actions.newest("webdev")
        for job in ("reddit.api_calls", "reddit.cache_health", "reddit.warmup_metrics", "reddit.crawler_health"):
            scanner.run(job)
        with clock.set_to(scanner.now):
            answer = reader.get("/reddit/metrics/")
        text = text_of(answer)
        assert [str(each.badge.text) for each in answer.context["monitors"]] == ["Healthy"] * 4
        assert "1 of 1 communities crawled at least once" in text
        assert "100% of 1 reads in the last 2 hours" in text
        charts = answer.context["hours"]
        assert all((charts.posts, charts.crawls, charts.freshness, charts.cache, answer.context["heat"]))
        assert answer.context["usage"].requests == scanner.site.log.count()

    def test_metrics_page_shows_open_alert(self, scanner, reader, monkeypatch):
        monkeypatch.setenv("MONITOR_API_THRESHOLD", "1")
        scanner.add("webdev", "golang")
        scanner.run("reddit.incremental")
        scanner.run("reddit.api_calls")
        text = text_of(reader.get("/reddit/metrics/"))
        assert "open since" in text
        assert "count--bad" in text

    def test_metrics_page_lists_days(self, scanner, reader):
        scanner.add("webdev")
        scanner.world.post("webdev", "Old")
        scanner.crawl("webdev")
        scanner.wait(hours=21)
        scanner.run("reddit.daily_metrics")
        with clock.set_to(scanner.now):
            answer = reader.get("/reddit/metrics/")
        assert [day.total_new_posts for day in answer.context["listed"]] == [1]
        assert answer.context["days"].posts is not None

    def test_empty_page_explains_the_first_step(self, reader):
        text = text_of(reader.get("/reddit/metrics/"))
        assert "No data yet" in text
        assert "Available after the first crawl." in text

    def test_metrics_page_query_count_is_bounded(self, scanner, reader):
        def count():
            with clock.set_to(scanner.now), CaptureQueriesContext(connection) as seen:
                assert reader.get("/reddit/metrics/").status_code == 200
            return len(seen)

        before = count()
        scanner.add("webdev")
        for _hour in range(5):
            scanner.crawl("webdev")
            scanner.wait(hours=1)
            scanner.run("reddit.api_calls")
        assert before <= count() <= 15
