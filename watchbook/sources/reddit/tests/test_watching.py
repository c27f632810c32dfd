"""Cache, hot and cold reads; batch and catch-up; metrics; the four monitors; the clean-up."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from click.testing import CliRunner
from django.core.cache import cache
from django.utils import translation

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.cli import group
from watchbook.sources.reddit.fetch import turns
from watchbook.sources.reddit.models import CommunityCache, CrawlDay, CrawlMetrics, PostHot, PostRaw
from watchbook.sources.reddit.store.metrics import percentile


@pytest.fixture(autouse=True)
def empty_cache(db):
    cache.clear()
    yield
    cache.clear()


def read(desk, name="webdev"):
    with clock.set_to(desk.now):
        return actions.newest(name)


def hit_rate():
    row = CrawlMetrics.objects.order_by("-metric_date", "-metric_hour").first()
    return row.cache_hits, row.cache_reads, row.cache_hit_rate


def test_reads_go_from_cache_to_hot_to_cold_and_are_counted(desk):
    desk.add("webdev")
    post = desk.world.post("webdev", "A lantern", "Copper.")
    desk.crawl("webdev")
    assert [item["source_post_id"] for item in read(desk)] == [post]  # hot
    assert hit_rate() == (1, 1, 1.0)
    PostHot.objects.all().delete()
    assert read(desk)  # cache
    assert hit_rate() == (2, 2, 1.0)
    cache.clear()
    assert [item["content"] for item in read(desk)] == ["Copper."]  # cold
    assert hit_rate() == (2, 3, pytest.approx(2 / 3))


def test_the_batch_crawl_fills_the_cache_and_nothing_else(desk):
    desk.add("webdev")
    post = desk.world.post("webdev", "A lantern", "Copper.")
    run = desk.run("reddit.batch", detailed=True)
    assert [line["outcome"] for line in run.progress["communities"]] == ["ok"]
    assert (PostRaw.objects.count(), PostHot.objects.count()) == (0, 0)
    row = desk.community("webdev")
    assert (row.posts_cached, row.last_seen_post_id, row.success_hit) == (1, None, 0)
    assert [item["source_post_id"] for item in read(desk)] == [post]
    request = desk.site.log.last("/r/webdev/top")
    assert (request.params["t"], request.params["limit"]) == ("month", "100")


@pytest.mark.parametrize("mode", ["incremental", "batch", "low-quality"])
def test_every_mode_of_the_command_crawls_a_named_community(desk, mode):
    desk.add("webdev", "python")
    desk.world.post("webdev", "A lantern")
    words = ["crawl", "r/webdev", "--mode", mode, "--now", desk.now.isoformat(), "--json"]
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    assert (result.exit_code, [line["community"] for line in json.loads(result.stdout)["communities"]]) == (
        0,
        ["r/webdev"],
    )
    words[1] = "r/unknown"
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (1, "unknown_community")


def test_a_crawl_that_somebody_waits_for_leaves_the_hours_row_true(desk):
    desk.add("webdev")
    desk.crawl("webdev")
    desk.wait(minutes=2)
    desk.world.post("webdev", "A lantern")
    desk.crawl("webdev")
    assert CrawlMetrics.objects.get().valid_posts_24h == 1


def test_the_batch_crawl_is_off_unless_switched_on(desk, monkeypatch):
    from watchbook.sources.reddit.jobs.batch import is_wanted

    assert not is_wanted(desk.now)
    monkeypatch.setenv("REDDIT_BATCH_CRAWL", "on")
    assert is_wanted(desk.now)


def test_quiet_communities_are_caught_up_with_oldest_first(desk):
    desk.add("one", "two", "empty", "busy")
    for name in ("one", "two"):
        desk.world.post(name, "Lantern")
    desk.run("reddit.incremental")
    CommunityCache.objects.filter(community_name="r/busy").update(avg_valid_posts=50)
    CommunityCache.objects.update(next_due=desk.now + timedelta(days=3))
    desk.wait(hours=7)
    assert desk.run("reddit.low_quality").outcome == "nothing_to_do"
    desk.wait(hours=2)
    run = desk.run("reddit.low_quality", detailed=True)
    assert [line["community"] for line in run.progress["communities"]] == ["r/empty", "r/one", "r/two"]
    assert desk.community("empty").empty_hit == 2  # zero items, both times
    assert desk.community("one").empty_hit == 0  # zero new ones is not empty


def test_the_hours_and_the_day_are_summed_up(desk):
    desk.add("webdev")
    desk.world.post("webdev", "Old")
    desk.crawl("webdev")
    desk.wait(hours=1)
    desk.world.post("webdev", "New")
    desk.wait(minutes=20)
    desk.crawl("webdev")
    hour = CrawlMetrics.objects.order_by("metric_hour").last()
    assert (hour.metric_hour, hour.successful_crawls, hour.total_new_posts) == (13, 1, 1)  # 05:20 UTC in Shanghai
    assert (hour.freshness_p50_seconds, hour.freshness_p95_seconds) == (1200, 1200)
    assert (hour.total_communities, hour.tier_assignments["tier3"], hour.valid_posts_24h) == (1, 1, 2)
    assert hour.new_posts_per_request == 1.0
    desk.wait(hours=20)
    desk.run("reddit.daily_metrics")
    day = CrawlDay.objects.get()
    assert (day.total_new_posts, day.requests, day.found_by_deep_walk) == (2, desk.site.log.count(), 0)
    assert day.freshness_p50_seconds == 1200
    desk.run("reddit.daily_metrics")
    assert CrawlDay.objects.count() == 1


def test_percentiles_of_few_and_many():
    assert percentile([], 0.5) is None
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95.0


def open_alerts():
    return set(Alert.objects.open().values_list("key", flat=True))


def test_the_calls_per_minute_open_and_close_an_alert(desk, monkeypatch):
    desk.add("webdev")
    monkeypatch.setenv("MONITOR_API_THRESHOLD", "2")
    desk.crawl("webdev")
    assert turns.used_lately() == desk.site.log.count() >= 2
    desk.crawl("webdev")
    assert desk.run("reddit.api_calls").progress["alert"] == "open"
    desk.run("reddit.api_calls")
    assert open_alerts() == {"reddit.api_calls"}
    assert Alert.objects.count() == 1  # opened once
    with translation.override("zh-hans"):
        assert "上限为 60" in Alert.objects.get().message, "told by the worker, read in Chinese"
    monkeypatch.setenv("MONITOR_API_THRESHOLD", "55")
    desk.run("reddit.api_calls")
    assert open_alerts() == set()


def test_a_cold_cache_opens_an_alert_and_a_warm_one_closes_it(desk):
    desk.add("webdev")
    desk.run("reddit.incremental")
    for _ in range(9):
        read(desk)
    assert desk.run("reddit.cache_health").progress["alert"] == "closed"  # too few reads to judge
    read(desk)
    assert desk.run("reddit.cache_health").progress == {"hits": 0, "reads": 10, "threshold": 0.7, "alert": "open"}
    desk.wait(hours=3)
    desk.run("reddit.cache_health")
    assert open_alerts() == set()


def test_a_pool_that_does_not_warm_up_is_told(desk):
    desk.add("webdev")
    desk.site.mishaps.fail = 1
    desk.run("reddit.incremental")
    desk.run("reddit.warmup_metrics")
    assert open_alerts() == set()  # the first promise has not passed yet
    desk.wait(hours=7)
    desk.run("reddit.warmup_metrics")
    assert open_alerts() == {"reddit.warmup"}
    desk.site.mishaps.fail = 0
    desk.run("reddit.incremental")
    desk.run("reddit.warmup_metrics")
    assert open_alerts() == set()


def test_stale_crawls_are_told(desk):
    desk.add("webdev")
    desk.run("reddit.incremental")
    desk.wait(hours=26)
    desk.run("reddit.crawler_health")
    assert open_alerts() == {"reddit.crawls"}
    desk.run("reddit.incremental")
    desk.run("reddit.crawler_health")
    assert open_alerts() == set()


def test_expired_hot_posts_are_cleaned_up(desk, monkeypatch):
    monkeypatch.setenv("HOT_CACHE_TTL_HOURS", "2")
    desk.add("webdev")
    desk.world.post("webdev", "Old")
    desk.crawl("webdev")
    desk.wait(hours=1)
    assert desk.run("reddit.clean_hot").outcome == "nothing_to_do"
    desk.wait(hours=2)
    assert desk.run("reddit.clean_hot").progress == {"removed": 1}
    assert PostRaw.objects.count() == 1
    desk.crawl("webdev")
    assert PostHot.objects.count() == 1  # seen again, hot again
