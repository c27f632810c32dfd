"""Tables, columns, keys, variables, task names, queues and schedules are those of the system's document."""

from __future__ import annotations

import pytest
from django.db import connection

from watchbook.core import registry
from watchbook.sources.reddit import options
from watchbook.sources.reddit.models import CommunityCache, CommunityPool, CrawlMetrics, PostHot, PostRaw
from watchbook.sources.reddit.schedule import TIERS

TABLES = {
    CommunityPool: ("community_pool", "name tier categories quality_score is_active"),
    CommunityCache: (
        "community_cache",
        "community_name last_crawled_at last_seen_post_id last_seen_created_at posts_cached avg_valid_posts "
        "quality_tier crawl_frequency_hours empty_hit success_hit failure_hit next_due is_active inactive_reason",
    ),
    PostRaw: (
        "posts_raw",
        "source source_post_id subreddit title content score num_comments created_at text_norm_hash version extra_data "
        "first_seen_at valid_from valid_to is_current removed_by_category author_deleted",
    ),
    PostHot: (
        "posts_hot",
        "source source_post_id subreddit title content score created_at expires_at extra_data",
    ),
    CrawlMetrics: (
        "crawl_metrics",
        "metric_date metric_hour cache_hit_rate valid_posts_24h total_communities successful_crawls empty_crawls "
        "failed_crawls avg_latency_seconds total_new_posts total_updated_posts total_duplicates tier_assignments "
        "requests gaps freshness_p50_seconds freshness_p95_seconds",
    ),
}
UNIQUE = {
    "community_pool": {"name"},
    "community_cache": {"community_name"},
    "posts_raw": {"source", "source_post_id", "text_norm_hash"},
    "posts_hot": {"source", "source_post_id"},
    "crawl_metrics": {"metric_date", "metric_hour"},
}
VARIABLES = {
    "CRAWLER_BATCH_SIZE": 12,
    "CRAWLER_MAX_CONCURRENCY": 2,
    "CRAWLER_POST_LIMIT": 100,
    "CRAWLER_TIME_FILTER": "month",
    "CRAWLER_SORT": "top",
    "HOT_CACHE_TTL_HOURS": 24,
    "REDDIT_CLIENT_ID": "",
    "REDDIT_CLIENT_SECRET": "",
    "REDDIT_RATE_LIMIT": 60,
    "REDDIT_RATE_LIMIT_WINDOW_SECONDS": 60,
    "REDDIT_REQUEST_TIMEOUT_SECONDS": 30,
    "REDDIT_MAX_CONCURRENCY": 10,
    "MONITOR_API_THRESHOLD": 55,
    "MONITOR_CACHE_HIT_THRESHOLD": 0.70,
    "MONITOR_CRAWL_STALE_MINUTES": 90,
}
# Task name -> queue and the crontabs of the document's beat schedule; None where it has none.
TASKS = {
    "tasks.crawler.crawl_community": ("crawler_queue", None),
    "tasks.crawler.crawl_seed_communities": ("crawler_queue", "0,30 * * * *"),
    "tasks.crawler.crawl_seed_communities_incremental": ("crawler_queue", "0,30 * * * *"),
    "tasks.crawler.crawl_low_quality_communities": ("crawler_queue", "0 */4 * * *"),
    "tasks.monitoring.monitor_warmup_metrics": ("monitoring_queue", "*/15 * * * *"),
    "tasks.monitoring.monitor_api_calls": ("monitoring_queue", "* * * * *"),
    "tasks.monitoring.monitor_cache_health": ("monitoring_queue", "*/5 * * * *"),
    "tasks.metrics.generate_daily": ("monitoring_queue", "0 0 * * *"),
    "tasks.maintenance.cleanup_expired_posts_hot": ("cleanup_queue", "0 */6 * * *"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
def test_the_tables_and_columns_are_those_of_the_document(model):
    table, columns = TABLES[model]
    assert model._meta.db_table == table
    with connection.cursor() as cursor:
        real = {column.name for column in connection.introspection.get_table_description(cursor, table)}
        keys = connection.introspection.get_constraints(cursor, table).values()
    assert set(columns.split()) <= real
    assert any(set(key["columns"]) == UNIQUE[table] for key in keys if key["unique"] and not key["primary_key"])


def test_the_variables_have_their_names_and_defaults(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    declared = {option.name: option for option in vars(options).values() if isinstance(option, options.Option)}
    assert {name: declared[name].value for name in VARIABLES} == VARIABLES
    assert "REDDIT_USER_AGENT" in declared


def test_task_names_queues_and_schedules():
    jobs = {name: job for job in registry.jobs().values() for name in job.celery_names}
    found = {name: (jobs[name].queue, jobs[name].schedule.cron if jobs[name].schedule else None) for name in TASKS}
    assert found == TASKS
    assert jobs["tasks.monitoring.monitor_crawler_health"].queue == "monitoring_queue"
    assert "tasks.maintenance.honor_deletions" in jobs
    # The document's second entry for the batch crawl, every two hours.
    assert str(registry.jobs()["reddit.warmup"].schedule) == "0 */2 * * *"


def test_celery_knows_the_names_and_routes():
    from watchbook.core.jobs.celery import configure

    app = configure()
    for name, (queue, _cron) in TASKS.items():
        assert name in app.tasks
        assert app.conf.task_routes[name] == {"queue": queue}


@pytest.mark.django_db(transaction=True)
def test_a_task_takes_its_arguments_in_order_as_other_programs_send_them():
    from watchbook.core.jobs.celery import configure
    from watchbook.core.jobs.models import JobRun

    task = configure().tasks["tasks.crawler.crawl_community"]
    run = JobRun.objects.get(pk=task("r/Entrepreneur"))
    assert (run.name, run.args) == ("reddit.community", {"community": "r/Entrepreneur"})


def test_the_tiers_are_those_of_the_document():
    rows = {key: (t.frequency_hours, t.sort, t.time_filter, t.limit, int(t.threshold_min)) for key, t in TIERS.items()}
    assert rows == {
        "tier1": (2, "new", "week", 50, 20),
        "tier2": (6, "top", "week", 80, 10),
        "tier3": (24, "top", "month", 100, 0),
    }
