"""Library: workspaces, spaces, folders and pages."""

from __future__ import annotations

from watchbook.core.registry import Job, SearchKind, Source
from watchbook.core.schedule import cron

ROOM = "watchbook.library"

SOURCE = Source(
    slug="library",
    title="Library",
    icon="library",
    order=50,
    home_url="library:shelves",
    card=f"{ROOM}.card:card",
    jobs=(
        Job(
            name="library.migrate",
            title="Move files of the top level into a folder",
            run=f"{ROOM}.jobs.migrate:migrate",
            queue="maintenance_queue",
            max_attempts=10,
            by_hand=False,
        ),
        Job(
            name="library.rollback",
            title="Take a migration back",
            run=f"{ROOM}.jobs.rollback:roll_back",
            queue="maintenance_queue",
            max_attempts=10,
            by_hand=False,
        ),
        Job(
            name="library.empty_trash",
            title="Remove what was in the trash long enough",
            run=f"{ROOM}.jobs.trash:empty_trash",
            queue="cleanup_queue",
            schedule=cron("20 4 * * *"),
        ),
        Job(
            name="library.forget_steps",
            title="Forget autosaves that were joined",
            run=f"{ROOM}.jobs.trash:forget_steps",
            queue="cleanup_queue",
            schedule=cron("35 4 * * *"),
        ),
    ),
    search_kinds=(SearchKind("page", "Pages"),),
    stream_kinds=(("saved", "Page saved"),),
    audit_kinds=(
        ("library.archived", "Workspace or space archived"),
        ("library.channel", "Release channel switched"),
        ("library.exported", "Space exported"),
        ("library.flags", "Library feature switched"),
        ("library.member", "Workspace member changed"),
        ("library.migration", "Migration started"),
        ("library.migration_canceled", "Migration cancelled"),
        ("library.migration_paused", "Migration paused"),
        ("library.migration_resumed", "Migration resumed"),
        ("library.migration_retried", "Migration tried again"),
        ("library.migration_rollback", "Migration taken back"),
        ("library.place_deleted", "Workspace or space deleted"),
        ("library.place_purged", "Workspace or space deleted for good"),
        ("library.place_restored", "Workspace or space restored"),
        ("library.purged", "Pages removed for good"),
        ("library.shared", "Page shared by link"),
        ("library.space_member", "Space member changed"),
        ("library.unarchived", "Workspace or space brought back"),
        ("library.unshared", "Share link revoked"),
    ),
    scopes=f"{ROOM}.access:scopes_of",
)
