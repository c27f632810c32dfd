"""Tables, columns, keys, variables, task names, queues and schedules are those of the system's document."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from watchbook.core import registry
from watchbook.systems.reddit import options
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, CrawlMetrics, PostHot, PostRaw
from watchbook.systems.reddit.schedule import TIERS
from watchbook.systems.reddit.tests.conftest import START

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
def test_tables_and_columns_match_the_seed(model):
    table, columns = TABLES[model]
    assert model._meta.db_table == table
    with connection.cursor() as cursor:
        real = {column.name for column in connection.introspection.get_table_description(cursor, table)}
        keys = connection.introspection.get_constraints(cursor, table).values()
    assert set(columns.split()) <= real
    assert any(set(key["columns"]) == UNIQUE[table] for key in keys if key["unique"] and not key["primary_key"])


def test_options_match_the_seed(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    declared = {option.name: option for option in vars(options).values() if isinstance(option, options.Option)}
    assert {name: declared[name].value for name in VARIABLES} == VARIABLES
    assert "REDDIT_USER_AGENT" in declared


def test_tasks_queues_and_schedules_match_the_seed():
    jobs = {name: job for job in registry.jobs().values() for name in job.celery_names}
    found = {name: (jobs[name].queue, jobs[name].schedule.cron if jobs[name].schedule else None) for name in TASKS}
    assert found == TASKS
    assert jobs["tasks.monitoring.monitor_crawler_health"].queue == "monitoring_queue"
    assert "tasks.maintenance.honor_deletions" in jobs
    # The document's second entry for the batch crawl, every two hours.
    assert str(registry.jobs()["reddit.warmup"].schedule) == "0 */2 * * *"


def test_celery_registers_names_and_routes():
    from watchbook.core.jobs.celery import configure

    app = configure()
    for name, (queue, _cron) in TASKS.items():
        assert name in app.tasks
        assert app.conf.task_routes[name] == {"queue": queue}


@pytest.mark.django_db(transaction=True)
def test_task_accepts_positional_arguments():
    from watchbook.core.jobs.celery import configure
    from watchbook.core.jobs.models import JobRun

    task = configure().tasks["tasks.crawler.crawl_community"]
    run = JobRun.objects.get(pk=task("r/Entrepreneur"))
    assert (run.name, run.args) == ("reddit.community", {"community": "r/Entrepreneur"})


def test_tiers_match_the_seed():
    rows = {key: (t.frequency_hours, t.sort, t.time_filter, t.limit, int(t.threshold_min)) for key, t in TIERS.items()}
    assert rows == {
        "tier1": (2, "new", "week", 50, 20),
        "tier2": (6, "top", "week", 80, 10),
        "tier3": (24, "top", "month", 100, 0),
    }


INSERTS = {
    "community_pool": "(name, categories, created_at, updated_at) VALUES ('r/plain', '[]', %s, %s)",
    "community_cache": (
        "(community_name, next_due, created_at, updated_at, inactive_reason, rate, possible_gap, gap_count,"
        " last_outcome, failures_in_row, refusals_in_row, request_count)"
        " VALUES ('r/plain', %s, %s, %s, '', 0, {false}, 0, '', 0, 0, 0)"
    ),
    "crawl_metrics": "(metric_date, metric_hour, tier_assignments) VALUES ('2026-03-02', 4, '{{}}')",
}
DEFAULTS = {
    "community_pool": {"tier": "medium", "quality_score": 0.0, "is_active": 1},
    "community_cache": {"quality_tier": "tier3", "crawl_frequency_hours": 24, "empty_hit": 0, "is_active": 1},
    "crawl_metrics": {"successful_crawls": 0, "cache_hit_rate": 0.0, "requests": 0},
}


@pytest.mark.sql
@pytest.mark.django_db
@pytest.mark.parametrize("table", INSERTS)
def test_database_sets_the_defaults_of_the_seed(table):
    statement = INSERTS[table].format(false="0" if connection.vendor != "postgresql" else "false")
    moment = connection.ops.adapt_datetimefield_value(START)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} {statement}", [moment] * statement.count("%s"))
        columns = DEFAULTS[table]
        cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")
        assert list(cursor.fetchone()) == list(columns.values())


@pytest.mark.sql
@pytest.mark.django_db
@pytest.mark.parametrize(
    "row",
    [
        lambda: CommunityPool(name="r/odd", tier="urgent"),
        lambda: CommunityCache(community_name="r/odd", quality_tier="tier9"),
        lambda: CrawlMetrics(metric_date=START.date(), metric_hour=24),
    ],
)
def test_database_refuses_values_outside_the_seed(row):
    with pytest.raises(IntegrityError), transaction.atomic():
        row().save()
