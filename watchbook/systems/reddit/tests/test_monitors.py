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
from watchbook.systems.reddit import actions
from watchbook.systems.reddit.cli import group
from watchbook.systems.reddit.fetch import rate_limit
from watchbook.systems.reddit.models import CommunityCache, CrawlDay, CrawlMetrics, PostHot, PostRaw
from watchbook.systems.reddit.store.metrics import percentile


@pytest.fixture(autouse=True)
def empty_cache(db):
    cache.clear()
    yield
    cache.clear()


def read(scanner, name="webdev"):
    with clock.set_to(scanner.now):
        return actions.newest(name)


def hit_rate():
    row = CrawlMetrics.objects.order_by("-metric_date", "-metric_hour").first()
    return row.cache_hits, row.cache_reads, row.cache_hit_rate


def test_reads_use_cache_then_hot_then_full_store(scanner):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A lantern", "Copper.")
    scanner.crawl("webdev")
    assert [item["source_post_id"] for item in read(scanner)] == [post]  # hot
    assert hit_rate() == (1, 1, 1.0)
    PostHot.objects.all().delete()
    assert read(scanner)  # cache
    assert hit_rate() == (2, 2, 1.0)
    cache.clear()
    assert [item["content"] for item in read(scanner)] == ["Copper."]  # cold
    assert hit_rate() == (2, 3, pytest.approx(2 / 3))


def test_batch_crawl_writes_only_the_cache(scanner):
    scanner.add("webdev")
    post = scanner.world.post("webdev", "A lantern", "Copper.")
    run = scanner.run("reddit.batch", detailed=True)
    assert [line["outcome"] for line in run.progress["communities"]] == ["ok"]
    assert (PostRaw.objects.count(), PostHot.objects.count()) == (0, 0)
    row = scanner.community("webdev")
    assert (row.posts_cached, row.last_seen_post_id, row.success_hit) == (1, None, 0)
    assert [item["source_post_id"] for item in read(scanner)] == [post]
    request = scanner.site.log.last("/r/webdev/top")
    assert (request.params["t"], request.params["limit"]) == ("month", "100")


@pytest.mark.parametrize("mode", ["incremental", "batch", "low-quality"])
def test_crawl_command_accepts_a_name_in_every_mode(scanner, mode):
    scanner.add("webdev", "python")
    scanner.world.post("webdev", "A lantern")
    words = ["crawl", "r/webdev", "--mode", mode, "--now", scanner.now.isoformat(), "--json"]
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    assert (result.exit_code, [line["community"] for line in json.loads(result.stdout)["communities"]]) == (
        0,
        ["r/webdev"],
    )
    words[1] = "r/unknown"
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (1, "unknown_community")


def test_detailed_crawl_updates_the_metrics_of_the_hour(scanner):
    scanner.add("webdev")
    scanner.crawl("webdev")
    scanner.wait(minutes=2)
    scanner.world.post("webdev", "A lantern")
    scanner.crawl("webdev")
    assert CrawlMetrics.objects.get().valid_posts_24h == 1


def test_batch_crawl_is_off_by_default(scanner, monkeypatch):
    from watchbook.systems.reddit.jobs.crawl import is_batch_wanted

    assert not is_batch_wanted(scanner.now)
    monkeypatch.setenv("REDDIT_BATCH_CRAWL", "on")
    assert is_batch_wanted(scanner.now)


def test_low_activity_communities_are_crawled_oldest_first(scanner):
    scanner.add("one", "two", "empty", "busy")
    for name in ("one", "two"):
        scanner.world.post(name, "Lantern")
    scanner.run("reddit.incremental")
    CommunityCache.objects.filter(community_name="r/busy").update(avg_valid_posts=50)
    CommunityCache.objects.update(next_due=scanner.now + timedelta(days=3))
    scanner.wait(hours=7)
    assert scanner.run("reddit.low_quality").outcome == "nothing_to_do"
    scanner.wait(hours=2)
    run = scanner.run("reddit.low_quality", detailed=True)
    assert [line["community"] for line in run.progress["communities"]] == ["r/empty", "r/one", "r/two"]
    assert scanner.community("empty").empty_hit == 2  # zero items, both times
    assert scanner.community("one").empty_hit == 0  # zero new ones is not empty


def test_hours_and_day_are_calculated(scanner):
    scanner.add("webdev")
    scanner.world.post("webdev", "Old")
    scanner.crawl("webdev")
    scanner.wait(hours=1)
    scanner.world.post("webdev", "New")
    scanner.wait(minutes=20)
    scanner.crawl("webdev")
    hour = CrawlMetrics.objects.order_by("metric_hour").last()
    assert (hour.metric_hour, hour.successful_crawls, hour.total_new_posts) == (13, 1, 1)  # 05:20 UTC in Shanghai
    assert (hour.freshness_p50_seconds, hour.freshness_p95_seconds) == (1200, 1200)
    assert (hour.total_communities, hour.tier_assignments["tier3"], hour.valid_posts_24h) == (1, 1, 2)
    assert hour.new_posts_per_request == 1.0
    scanner.wait(hours=20)
    scanner.run("reddit.daily_metrics")
    day = CrawlDay.objects.get()
    assert (day.total_new_posts, day.requests, day.found_by_deep_walk) == (2, scanner.site.log.count(), 0)
    assert day.freshness_p50_seconds == 1200
    scanner.run("reddit.daily_metrics")
    assert CrawlDay.objects.count() == 1


def test_percentile_of_few_and_many_values():
    assert percentile([], 0.5) is None
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95.0


def open_alerts():
    return set(Alert.objects.open().values_list("key", flat=True))


def test_requests_per_minute_open_and_resolve_an_alert(scanner, monkeypatch):
    scanner.add("webdev")
    monkeypatch.setenv("MONITOR_API_THRESHOLD", "2")
    scanner.crawl("webdev")
    assert rate_limit.recent_request_count() == scanner.site.log.count() >= 2
    scanner.crawl("webdev")
    assert scanner.run("reddit.api_calls").progress["alert"] == "open"
    scanner.run("reddit.api_calls")
    assert open_alerts() == {"reddit.api_calls"}
    assert Alert.objects.count() == 1  # opened once
    with translation.override("zh-hans"):
        assert "上限为 60" in Alert.objects.get().message, "told by the worker, read in Chinese"
    monkeypatch.setenv("MONITOR_API_THRESHOLD", "55")
    scanner.run("reddit.api_calls")
    assert open_alerts() == set()


def test_low_hit_rate_opens_and_resolves_an_alert(scanner):
    scanner.add("webdev")
    scanner.run("reddit.incremental")
    for _ in range(9):
        read(scanner)
    assert scanner.run("reddit.cache_health").progress["alert"] == "resolved"  # too few reads to judge
    read(scanner)
    assert scanner.run("reddit.cache_health").progress == {"hits": 0, "reads": 10, "threshold": 0.7, "alert": "open"}
    scanner.wait(hours=3)
    scanner.run("reddit.cache_health")
    assert open_alerts() == set()


def test_late_first_crawls_open_an_alert(scanner):
    scanner.add("webdev")
    scanner.site.mishaps.fail = 1
    scanner.run("reddit.incremental")
    scanner.run("reddit.warmup_metrics")
    assert open_alerts() == set()  # the first promise has not passed yet
    scanner.wait(hours=7)
    scanner.run("reddit.warmup_metrics")
    assert open_alerts() == {"reddit.warmup"}
    scanner.site.mishaps.fail = 0
    scanner.run("reddit.incremental")
    scanner.run("reddit.warmup_metrics")
    assert open_alerts() == set()


def test_late_crawls_open_an_alert(scanner):
    scanner.add("webdev")
    scanner.run("reddit.incremental")
    scanner.wait(hours=26)
    scanner.run("reddit.crawler_health")
    assert open_alerts() == {"reddit.crawls"}
    scanner.run("reddit.incremental")
    scanner.run("reddit.crawler_health")
    assert open_alerts() == set()


def test_expired_hot_posts_are_deleted(scanner, monkeypatch):
    monkeypatch.setenv("HOT_CACHE_TTL_HOURS", "2")
    scanner.add("webdev")
    scanner.world.post("webdev", "Old")
    scanner.crawl("webdev")
    scanner.wait(hours=1)
    assert scanner.run("reddit.clean_hot").outcome == "nothing_to_do"
    scanner.wait(hours=2)
    assert scanner.run("reddit.clean_hot").progress == {"removed": 1}
    assert PostRaw.objects.count() == 1
    scanner.crawl("webdev")
    assert PostHot.objects.count() == 1  # seen again, hot again
