"""Forum: an archive of NGA boards: topic lists, every floor, revisions, gaps."""

from __future__ import annotations

from watchbook.core.registry import Job, SearchKind, Source
from watchbook.core.schedule import cron, every

ROOM = "watchbook.sources.nga"

SOURCE = Source(
    slug="nga",
    title="Forum",
    icon="forum",
    order=10,
    home_url="nga:topics",
    jobs=(
        Job(
            name="nga.crawl",
            title="Crawl the boards",
            run=f"{ROOM}.jobs.crawl:crawl",
            schedule=every(hours=12),
            # A crashed run holds up the next one for no longer than this.
            lease_seconds=120,
        ),
        Job(
            name="nga.audit",
            title="Look for missing floors",
            run=f"{ROOM}.jobs.audit:audit",
            queue="maintenance_queue",
            schedule=cron("40 5 * * *"),
            lease_seconds=120,
        ),
        Job(
            name="nga.thread",
            title="Read one topic",
            run=f"{ROOM}.jobs.thread:read_thread",
            lease_seconds=120,
            by_hand=False,
        ),
        Job(
            name="nga.media",
            title="Keep pictures of posts",
            run=f"{ROOM}.jobs.media:keep_pictures",
            wanted=f"{ROOM}.jobs.media:is_wanted",
            schedule=every(hours=1),
            lease_seconds=120,
        ),
    ),
    search_kinds=(SearchKind("nga_thread", "Topics"),),
    stream_kinds=(
        ("new_topic", "New topic"),
        ("title_changed", "Title changed"),
        ("edited", "Floor edited"),
        ("deleted", "Floor deleted"),
        ("folded", "Floor folded"),
        ("gone", "Topic gone"),
    ),
    audit_kinds=(("nga.forum_added", "Board added"), ("nga.forum_changed", "Board changed")),
    card=f"{ROOM}.card:card",
    clip=f"{ROOM}.clip:clip",
    clip_kinds=("nga_post",),
)
