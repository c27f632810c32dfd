"""Notes: candidates become notes through locks, leases and an encrypted cookie pool."""

from __future__ import annotations

from watchbook.core.registry import Job, SearchKind, Source
from watchbook.core.schedule import cron, every

ROOM = "watchbook.sources.notes"

SOURCE = Source(
    slug="notes",
    title="Notes",
    icon="note",
    order=40,
    home_url="notes:candidates",
    jobs=(
        Job(
            name="notes.collect",
            title="Collect pending notes",
            run=f"{ROOM}.jobs.collect:collect_pending",
            wanted=f"{ROOM}.jobs.collect:anything_pending",
            schedule=every(minutes=5),
            lease_seconds=300,
            max_attempts=1,
        ),
        Job(
            name="notes.search",
            title="Search keywords for notes",
            run=f"{ROOM}.jobs.upkeep:search_due",
            wanted=f"{ROOM}.jobs.upkeep:any_keyword_due",
            schedule=every(minutes=5),
            lease_seconds=300,
        ),
        Job(
            name="notes.recover",
            title="Free locks that nobody holds any more",
            run=f"{ROOM}.jobs.upkeep:recover_locks",
            queue="maintenance_queue",
            schedule=every(minutes=15),
        ),
        Job(
            name="notes.watch",
            title="Watch cookies, success and backlog of notes",
            run=f"{ROOM}.jobs.watching:watch",
            queue="monitoring_queue",
            schedule=every(minutes=1),
        ),
        Job(
            name="notes.forget",
            title="Forget old uses of cookies",
            run=f"{ROOM}.jobs.upkeep:forget_leases",
            queue="cleanup_queue",
            schedule=cron("30 4 * * *"),
        ),
    ),
    search_kinds=(SearchKind("note", "Notes"),),
    stream_kinds=(("collected", "Note collected"),),
    audit_kinds=(
        ("notes.author_forgotten", "Notes of an author forgotten"),
        ("notes.breaker_closed", "Breaker closed by hand"),
        ("notes.cookie_added", "Cookie added"),
        ("notes.cookie_changed", "Limits of a cookie changed"),
        ("notes.cookie_disabled", "Cookie disabled"),
        ("notes.cookie_enabled", "Cookie enabled"),
        ("notes.cookie_probed", "Cookie tried"),
        ("notes.cookie_replaced", "Cookie replaced"),
        ("notes.cookie_reset", "Cookie reset"),
        ("notes.keys_rotated", "Cookie keys rotated"),
        ("notes.note_forgotten", "Note forgotten"),
    ),
    card=f"{ROOM}.card:card",
    clip=f"{ROOM}.clip:clip",
)
