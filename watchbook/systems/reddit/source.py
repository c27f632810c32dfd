"""Declaration of the Reddit system: jobs, search and activity kinds, home card."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy as _p

from watchbook.core.registry import (
    Colour,
    Example,
    Inbox,
    Job,
    Media,
    Recogniser,
    SearchKind,
    SettingsGroup,
    Source,
    Tool,
)
from watchbook.core.watching import cron, every
from watchbook.kit.badges import bad, off, ok, warn

PACKAGE = "watchbook.systems.reddit"

COMMUNITY_BADGES = {
    "on_time": ok(_p("community", "On time")),
    "overdue": warn(_p("community", "Late")),
    "possible_gap": warn(_p("community", "Possible gap")),
    "quiet": off(_p("community", "Quiet")),
    "inactive": bad(_p("community", "Inactive")),
    "removed": bad(_p("community", "Removed"), "trash"),
}
POST_BADGES = {"deleted": bad(_p("reddit_post", "Deleted by author"), "trash")}

CRAWL_JOBS = (
    Job(
        name="reddit.incremental",
        title="Crawl due communities",
        run=f"{PACKAGE}.jobs.crawl:crawl_due",
        schedule=cron("0,30 * * * *"),
        lease_seconds=300,
        celery_names=("tasks.crawler.crawl_seed_communities_incremental",),
    ),
    Job(
        # The adaptive schedule has due times between the half hours.
        name="reddit.due",
        title="Crawl newly due communities",
        run=f"{PACKAGE}.jobs.crawl:crawl_due",
        wanted=f"{PACKAGE}.jobs.crawl:anything_due",
        schedule=every(minutes=1),
        lease_seconds=300,
    ),
    Job(
        name="reddit.community",
        title="Crawl one community",
        run=f"{PACKAGE}.jobs.crawl:crawl_community",
        lease_seconds=300,
        by_hand=False,
        celery_names=("tasks.crawler.crawl_community",),
    ),
    Job(
        name="reddit.batch",
        title="Refresh the cache of all communities",
        run=f"{PACKAGE}.jobs.crawl:crawl_batch",
        wanted=f"{PACKAGE}.jobs.crawl:is_batch_wanted",
        schedule=cron("0,30 * * * *"),
        lease_seconds=300,
        celery_names=("tasks.crawler.crawl_seed_communities",),
    ),
    Job(
        name="reddit.warmup",
        title="Warm up the cache",
        run=f"{PACKAGE}.jobs.crawl:crawl_batch",
        wanted=f"{PACKAGE}.jobs.crawl:is_batch_wanted",
        schedule=cron("0 */2 * * *"),
        lease_seconds=300,
    ),
    Job(
        name="reddit.low_quality",
        title="Crawl low-activity communities",
        run=f"{PACKAGE}.jobs.crawl:crawl_low_quality",
        schedule=cron("0 */4 * * *"),
        lease_seconds=300,
        celery_names=("tasks.crawler.crawl_low_quality_communities",),
    ),
    Job(
        name="reddit.recheck",
        title="Recheck posts and comments",
        run=f"{PACKAGE}.jobs.recheck:recheck_posts",
        wanted=f"{PACKAGE}.jobs.recheck:anything_to_recheck",
        schedule=every(minutes=10),
        lease_seconds=300,
    ),
    Job(
        name="reddit.deep_walk",
        title="Run full scans",
        run=f"{PACKAGE}.jobs.crawl:scan_share",
        schedule=cron("30 2 * * *"),
        lease_seconds=300,
    ),
)
MONITOR_JOBS = (
    Job(
        name="reddit.warmup_metrics",
        title="Monitor first crawls",
        run=f"{PACKAGE}.jobs.monitors:monitor_warmup",
        queue="monitoring_queue",
        schedule=cron("*/15 * * * *"),
        celery_names=("tasks.monitoring.monitor_warmup_metrics",),
    ),
    Job(
        name="reddit.daily_metrics",
        title="Calculate daily metrics",
        run=f"{PACKAGE}.jobs.monitors:generate_daily",
        queue="monitoring_queue",
        schedule=cron("0 0 * * *"),
        celery_names=("tasks.metrics.generate_daily",),
    ),
    Job(
        name="reddit.api_calls",
        title="Monitor requests per minute",
        run=f"{PACKAGE}.jobs.monitors:monitor_api_calls",
        queue="monitoring_queue",
        schedule=cron("* * * * *"),
        celery_names=("tasks.monitoring.monitor_api_calls",),
    ),
    Job(
        name="reddit.cache_health",
        title="Monitor the cache",
        run=f"{PACKAGE}.jobs.monitors:monitor_cache_health",
        queue="monitoring_queue",
        schedule=cron("*/5 * * * *"),
        celery_names=("tasks.monitoring.monitor_cache_health",),
    ),
    Job(
        name="reddit.crawler_health",
        title="Monitor crawls",
        run=f"{PACKAGE}.jobs.monitors:monitor_crawler_health",
        queue="monitoring_queue",
        schedule=cron("*/15 * * * *"),
        celery_names=("tasks.monitoring.monitor_crawler_health",),
    ),
)
MAINTENANCE_JOBS = (
    Job(
        name="reddit.clean_hot",
        title="Delete expired hot posts",
        run=f"{PACKAGE}.jobs.monitors:cleanup_expired_posts_hot",
        queue="cleanup_queue",
        schedule=cron("0 */6 * * *"),
        celery_names=("tasks.maintenance.cleanup_expired_posts_hot",),
    ),
    Job(
        name="reddit.clean_crawls",
        title="Delete old crawl records",
        run=f"{PACKAGE}.jobs.monitors:delete_old_crawls",
        queue="cleanup_queue",
        schedule=cron("45 3 * * *"),
    ),
    Job(
        name="reddit.honor_deletions",
        title="Erase deleted posts and comments",
        run=f"{PACKAGE}.jobs.monitors:honor_deletions",
        wanted=f"{PACKAGE}.jobs.monitors:is_wanted_erase",
        queue="maintenance_queue",
        schedule=cron("15 4 * * *"),
        celery_names=("tasks.maintenance.honor_deletions",),
    ),
)
FIGURES = {
    "alert": _p("figure", "alert"),
    "comments": _p("figure", "comments"),
    "crawled": _p("figure", "crawled"),
    "day": _p("figure", "day"),
    "gaps": _p("figure", "gaps"),
    "hits": _p("figure", "hits"),
    "late": _p("figure", "late"),
    "minutes": _p("figure", "minutes"),
    "new_comments": _p("figure", "new comments"),
    "new_posts": _p("figure", "new posts"),
    "open": _p("figure", "open"),
    "posts": _p("figure", "posts"),
    "problem": _p("figure", "problem"),
    "reads": _p("figure", "reads"),
    "rechecked": _p("figure", "rechecked"),
    "removed": _p("figure", "removed"),
    "resolved": _p("figure", "resolved"),
    "threshold": _p("figure", "threshold"),
    "updated_comments": _p("figure", "updated comments"),
    "updated_posts": _p("figure", "updated posts"),
    "versions": _p("figure", "versions"),
    "waiting": _p("figure", "due"),
    "warm": _p("figure", "crawled once"),
}

TOOLS = (
    Tool(
        "reddit_communities",
        "GET /reddit/communities",
        "List the Reddit communities that are scanned, with tier, schedule and possible gaps.",
    ),
    Tool(
        "reddit_posts",
        "GET /reddit/posts",
        "List collected Reddit posts, filtered by community, author, words, score or date.",
    ),
    Tool(
        "reddit_comments",
        "GET /reddit/comments",
        "List collected Reddit comments, filtered by community, thread, author, words, score or date.",
    ),
    Tool(
        "reddit_thread",
        "GET /reddit/threads/{source_post_id}",
        "Get one Reddit thread: the post and its stored comments.",
    ),
    Tool(
        "reddit_post_versions",
        "GET /reddit/posts/{source_post_id}/versions",
        "List all versions of one Reddit post, with the time each was seen.",
    ),
)

SOURCE = Source(
    slug="reddit",
    title="Reddit",
    icon="community",
    order=30,
    colour=Colour("#b65079", "#d98bac"),
    badges={"community": COMMUNITY_BADGES, "reddit_post": POST_BADGES},
    figures=FIGURES,
    examples="reddit/_examples.html",
    home_url="reddit:communities",
    tools=TOOLS,
    settings=(
        SettingsGroup(
            "reddit",
            _p("settings", "Reddit access"),
            _p("settings", "Posts, edits and removals of communities"),
            "community",
            test=f"{PACKAGE}.actions:try_access",
            used=f"{PACKAGE}.health:last_access",
        ),
    ),
    jobs=(*CRAWL_JOBS, *MONITOR_JOBS, *MAINTENANCE_JOBS),
    search_kinds=(SearchKind("reddit_post", "Reddit posts"), SearchKind("reddit_comment", "Reddit comments")),
    secrets=f"{PACKAGE}.fetch.client:reencrypt_values",
    search_attributes=f"{PACKAGE}.store.posts:search_attributes",
    media=Media(visible=f"{PACKAGE}.store.files:visible_posts", switch=f"{PACKAGE}.options:MEDIA"),
    inbox=Inbox(words=f"{PACKAGE}.inbox:words", detail=f"{PACKAGE}.inbox:detail"),
    stream_kinds=(
        ("posted", "New post"),
        ("edited", "Post edited"),
        ("removed", "Post removed"),
        ("restored", "Post restored"),
        ("commented", "New comments"),
        ("comment_edited", "Comment edited"),
        ("comment_removed", "Comment removed"),
        ("comment_restored", "Comment restored"),
        ("gap", "Possible gap"),
        ("comment_gap", "Possible gap in comments"),
        ("inactive", "Community disabled automatically"),
    ),
    audit_kinds=(
        ("reddit.author_allowed", "Author stored again"),
        ("reddit.author_erased", "Everything of an author erased"),
        ("reddit.blanked", "Text of deleted posts or comments erased"),
        ("reddit.comments", "Comments of a community enabled or disabled"),
        ("reddit.imported", "Dump of posts or comments imported"),
        ("reddit.pool_loaded", "Communities imported"),
        ("reddit.removed", "Community removed"),
        ("reddit.tagged", "Community tags changed"),
        ("reddit.switched", "Community enabled or disabled"),
        ("reddit.wished", "Community priority changed"),
    ),
    health=f"{PACKAGE}.health:health",
    health_items=f"{PACKAGE}.health:items",
    card=f"{PACKAGE}.card:card",
    recogniser=Recogniser(
        read=f"{PACKAGE}.recognise:read",
        offer=f"{PACKAGE}.recognise:offer",
        add=f"{PACKAGE}.recognise:add",
        examples=(Example(_("Subreddit"), "r/gardening", "community", ("subreddit", "post")),),
    ),
    clip=f"{PACKAGE}.clip:clip",
    origins=f"{PACKAGE}.clip:origins",
    address=f"{PACKAGE}.clip:address",
)
