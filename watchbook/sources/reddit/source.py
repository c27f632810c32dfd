"""Reddit: a pool of communities, every post in every version, and what it cost."""

from __future__ import annotations

from watchbook.core.registry import Job, SearchKind, Source
from watchbook.core.schedule import cron, every

ROOM = "watchbook.sources.reddit"

CRAWLING = (
    Job(
        name="reddit.incremental",
        title="Crawl communities that are due",
        run=f"{ROOM}.jobs.incremental:crawl_due",
        schedule=cron("0,30 * * * *"),
        lease_seconds=300,
        celery_names=("tasks.crawler.crawl_seed_communities_incremental",),
    ),
    Job(
        # Between the half hours: the adaptive schedule would lose by waiting what it wins by choosing.
        name="reddit.due",
        title="Crawl communities that became due",
        run=f"{ROOM}.jobs.incremental:crawl_due",
        wanted=f"{ROOM}.jobs.incremental:anything_due",
        schedule=every(minutes=1),
        lease_seconds=300,
    ),
    Job(
        name="reddit.community",
        title="Crawl a community",
        run=f"{ROOM}.jobs.incremental:crawl_community",
        lease_seconds=300,
        by_hand=False,
        celery_names=("tasks.crawler.crawl_community",),
    ),
    Job(
        name="reddit.batch",
        title="Fill the cache of all communities",
        run=f"{ROOM}.jobs.batch:crawl_batch",
        wanted=f"{ROOM}.jobs.batch:is_wanted",
        schedule=cron("0,30 * * * *"),
        lease_seconds=300,
        celery_names=("tasks.crawler.crawl_seed_communities",),
    ),
    Job(
        name="reddit.warmup",
        title="Warm the cache up",
        run=f"{ROOM}.jobs.batch:crawl_batch",
        wanted=f"{ROOM}.jobs.batch:is_wanted",
        schedule=cron("0 */2 * * *"),
        lease_seconds=300,
    ),
    Job(
        name="reddit.low_quality",
        title="Catch up with quiet communities",
        run=f"{ROOM}.jobs.low_quality:crawl_low_quality",
        schedule=cron("0 */4 * * *"),
        lease_seconds=300,
        celery_names=("tasks.crawler.crawl_low_quality_communities",),
    ),
    Job(
        name="reddit.recheck",
        title="Look posts up again",
        run=f"{ROOM}.jobs.recheck:recheck_posts",
        wanted=f"{ROOM}.jobs.recheck:anything_to_recheck",
        schedule=every(minutes=10),
        lease_seconds=300,
    ),
    Job(
        name="reddit.deep_walk",
        title="Read whole listings",
        run=f"{ROOM}.jobs.deep_walk:walk_share",
        schedule=cron("30 2 * * *"),
        lease_seconds=300,
    ),
)
WATCHING = (
    Job(
        name="reddit.warmup_metrics",
        title="Watch the warm-up",
        run=f"{ROOM}.jobs.monitors:monitor_warmup",
        queue="monitoring_queue",
        schedule=cron("*/15 * * * *"),
        celery_names=("tasks.monitoring.monitor_warmup_metrics",),
    ),
    Job(
        name="reddit.daily_metrics",
        title="Sum up the day",
        run=f"{ROOM}.jobs.daily:generate_daily",
        queue="monitoring_queue",
        schedule=cron("0 0 * * *"),
        celery_names=("tasks.metrics.generate_daily",),
    ),
    Job(
        name="reddit.api_calls",
        title="Watch the calls per minute",
        run=f"{ROOM}.jobs.monitors:monitor_api_calls",
        queue="monitoring_queue",
        schedule=cron("* * * * *"),
        celery_names=("tasks.monitoring.monitor_api_calls",),
    ),
    Job(
        name="reddit.cache_health",
        title="Watch the cache",
        run=f"{ROOM}.jobs.monitors:monitor_cache_health",
        queue="monitoring_queue",
        schedule=cron("*/5 * * * *"),
        celery_names=("tasks.monitoring.monitor_cache_health",),
    ),
    Job(
        name="reddit.crawler_health",
        title="Watch the crawls",
        run=f"{ROOM}.jobs.monitors:monitor_crawler_health",
        queue="monitoring_queue",
        schedule=cron("*/15 * * * *"),
        celery_names=("tasks.monitoring.monitor_crawler_health",),
    ),
)
KEEPING = (
    Job(
        name="reddit.clean_hot",
        title="Forget expired hot posts",
        run=f"{ROOM}.jobs.keeping:cleanup_expired_posts_hot",
        queue="cleanup_queue",
        schedule=cron("0 */6 * * *"),
        celery_names=("tasks.maintenance.cleanup_expired_posts_hot",),
    ),
    Job(
        name="reddit.honor_deletions",
        title="Honour deletions",
        run=f"{ROOM}.jobs.keeping:honor_deletions",
        wanted=f"{ROOM}.jobs.keeping:deletions_honored",
        queue="maintenance_queue",
        schedule=cron("15 4 * * *"),
        celery_names=("tasks.maintenance.honor_deletions",),
    ),
)

SOURCE = Source(
    slug="reddit",
    title="Reddit",
    icon="community",
    order=30,
    home_url="reddit:communities",
    jobs=(*CRAWLING, *WATCHING, *KEEPING),
    search_kinds=(SearchKind("reddit_post", "Reddit posts"),),
    stream_kinds=(
        ("posted", "New post"),
        ("edited", "Post edited"),
        ("removed", "Post removed"),
        ("restored", "Post restored"),
        ("gap", "Possible gap"),
        ("inactive", "Community set inactive"),
    ),
    audit_kinds=(
        ("reddit.blanked", "Texts of deleted posts blanked"),
        ("reddit.pool_loaded", "Community pool loaded"),
        ("reddit.switched", "Community switched on or off"),
        ("reddit.wished", "Wish for a community changed"),
    ),
    card=f"{ROOM}.card:card",
    clip=f"{ROOM}.clip:clip",
)
