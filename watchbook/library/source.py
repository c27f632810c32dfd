"""Library: workspaces, spaces, folders and pages."""

from __future__ import annotations

from watchbook.core.registry import Job, SearchKind, Source

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
    ),
    search_kinds=(SearchKind("page", "Pages"),),
    stream_kinds=(("saved", "Page saved"),),
    audit_kinds=(
        ("library.channel", "Release channel switched"),
        ("library.flags", "Library feature switched"),
        ("library.member", "Workspace member changed"),
        ("library.migration", "Migration started"),
        ("library.migration_canceled", "Migration cancelled"),
        ("library.migration_paused", "Migration paused"),
        ("library.migration_resumed", "Migration resumed"),
        ("library.migration_retried", "Migration tried again"),
        ("library.migration_rollback", "Migration taken back"),
        ("library.shared", "Page shared by link"),
        ("library.space_member", "Space member changed"),
        ("library.unshared", "Share link revoked"),
    ),
    scopes=f"{ROOM}.access:scopes_of",
)
