"""Sitemaps: people watch sitemaps; snapshots, differences, notices."""

from __future__ import annotations

from watchbook.core.registry import Job, SearchKind, Source
from watchbook.core.schedule import cron, every

ROOM = "watchbook.sources.sitemaps"

SOURCE = Source(
    slug="sitemaps",
    title="Sitemaps",
    icon="sitemap",
    order=20,
    home_url="sitemaps:monitors",
    jobs=(
        Job(
            name="sitemaps.due",
            title="Find monitors that are due",
            run=f"{ROOM}.jobs.due:enqueue_due",
            wanted=f"{ROOM}.jobs.due:anything_due",
            queue="monitoring_queue",
            schedule=every(seconds=30),
        ),
        Job(
            name="sitemaps.check",
            title="Check a sitemap",
            run=f"{ROOM}.jobs.check:check_monitor",
            queue="crawler_queue",
            lease_seconds=300,
            by_hand=False,
        ),
        Job(
            name="sitemaps.forget",
            title="Forget old snapshots and changes",
            run=f"{ROOM}.jobs.retention:forget_old",
            queue="cleanup_queue",
            schedule=cron("20 4 * * *"),
        ),
    ),
    search_kinds=(SearchKind("sitemap_change", "Sitemap changes"),),
    stream_kinds=(
        ("changed", "Sitemap changed"),
        ("error", "Sitemap cannot be read"),
        ("recovered", "Sitemap can be read again"),
    ),
    card=f"{ROOM}.card:card",
    clip=f"{ROOM}.clip:clip",
    delivery_changed=f"{ROOM}.store.notices:delivery_changed",
)
