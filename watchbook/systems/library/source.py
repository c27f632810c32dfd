"""Library: workspaces, spaces, folders and pages."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy as _p

from watchbook.core.registry import Colour, Inbox, Job, Owned, Roles, SearchKind, Source, Tool
from watchbook.core.watching import cron
from watchbook.kit.badges import ok, warn

PACKAGE = "watchbook.systems.library"

EDITOR_BADGES = {
    "saved": ok(_p("editor", "Saved")),
    "unsaved": warn(_p("editor", "Not saved yet"), "s-hold"),
}
FIGURES = {
    "foreign": _p("figure", "files of others kept"),
    "held": _p("figure", "kept"),
    "left_alone": _p("figure", "conflicts"),
    "left_out": _p("figure", "pages skipped"),
    "moved": _p("figure", "moved"),
    "notified": _p("figure", "notified"),
    "pages": _p("figure", "pages"),
    "removed": _p("figure", "removed"),
    "rolled_back": _p("figure", "rolled back"),
    "spaces": _p("figure", "spaces"),
    "unchanged": _p("figure", "unchanged"),
    "written": _p("figure", "written"),
}

TOOLS = (
    Tool("library_workspaces", "GET /library/workspaces", "List the library's workspaces that the user may read."),
    Tool("library_spaces", "GET /library/workspaces/{workspace_id}/spaces", "List the spaces of one workspace."),
    Tool("library_pages", "GET /library/spaces/{space_id}/pages", "List folders and pages of one space."),
    Tool("library_search", "GET /library/search", "Search library pages by words, space, tag, author and day."),
    Tool("library_page", "GET /library/pages/{page_id}", "Read one library page with its text and version."),
    Tool("library_page_versions", "GET /library/pages/{page_id}/versions", "List the versions of one library page."),
    Tool(
        "library_page_changes",
        "GET /library/pages/{page_id}/versions/{number}/changes",
        "Compare two versions of one library page.",
    ),
    Tool(
        "save_to_library",
        "POST /library/clip",
        "Save a collected item (topic, post, note, sitemap change) to a library space.",
    ),
)

OWNED = (
    Owned(
        "workspaces", _("Library workspaces without other members"), f"{PACKAGE}.ownership:private_titles",
        transfer=f"{PACKAGE}.ownership:transfer_private", delete=f"{PACKAGE}.ownership:delete_private",
    ),
    Owned(
        "shared_workspaces", _("Library workspaces without another owner"), f"{PACKAGE}.ownership:shared_titles",
        transfer=f"{PACKAGE}.ownership:transfer_shared", delete=f"{PACKAGE}.ownership:appoint_members", stays=True,
    ),
)  # fmt: skip
ROLES = Roles(
    places=f"{PACKAGE}.ownership:places",
    place=f"{PACKAGE}.ownership:place",
    role_of=f"{PACKAGE}.ownership:role_of",
    set_role=f"{PACKAGE}.ownership:set_role",
)

SOURCE = Source(
    slug="library",
    title="Library",
    icon="library",
    order=50,
    colour=Colour("#4479bd", "#7eabe2"),
    badges={"editor": EDITOR_BADGES},
    figures=FIGURES,
    clip_page="library:clip",
    share_page="library:save_address",
    home_url="library:overview",
    tools=TOOLS,
    card=f"{PACKAGE}.card:card",
    health=f"{PACKAGE}.health:health",
    jobs=(
        Job(
            name="library.migrate",
            title="Move top-level pages into a folder",
            run=f"{PACKAGE}.jobs.migrations:migrate",
            queue="maintenance_queue",
            max_attempts=10,
            by_hand=False,
        ),
        Job(
            name="library.rollback",
            title="Roll back migration",
            run=f"{PACKAGE}.jobs.migrations:roll_back",
            queue="maintenance_queue",
            max_attempts=10,
            by_hand=False,
        ),
        Job(
            name="library.empty_trash",
            title="Delete old trash",
            run=f"{PACKAGE}.jobs.pages:empty_trash",
            queue="cleanup_queue",
            schedule=cron("20 4 * * *"),
        ),
        Job(
            name="library.forget_steps",
            title="Delete old autosaves",
            run=f"{PACKAGE}.jobs.pages:delete_old_autosaves",
            queue="cleanup_queue",
            schedule=cron("35 4 * * *"),
        ),
        Job(
            name="library.clean_attachments",
            title="Delete unused attachments",
            run=f"{PACKAGE}.jobs.pages:clean_attachments",
            queue="cleanup_queue",
            schedule=cron("50 4 * * *"),
        ),
        Job(
            name="library.export",
            title="Export all spaces to a folder",
            run=f"{PACKAGE}.jobs.nightly:export_nightly",
            queue="maintenance_queue",
            schedule=cron("10 3 * * *"),
        ),
        Job(
            name="library.index",
            title="Index a space again",
            run=f"{PACKAGE}.jobs.pages:index_space",
            queue="maintenance_queue",
            by_hand=False,
        ),
        Job(
            name="library.remind_owners",
            title="Remind owners of pages that are no longer valid",
            run=f"{PACKAGE}.jobs.pages:remind_owners",
            queue="maintenance_queue",
            schedule=cron("30 6 * * *"),
        ),
    ),
    search_kinds=(SearchKind("page", "Pages"),),
    search_attributes=f"{PACKAGE}.store.publish:search_attributes",
    inbox=Inbox(detail=f"{PACKAGE}.inbox:detail"),
    stream_kinds=(
        ("approved", "Version approved"),
        ("commented", "Comment on a page"),
        ("saved", "Page saved"),
    ),
    audit_kinds=(
        ("library.approved_only", "Viewers see approved versions only: changed"),
        ("library.archived", "Workspace or space archived"),
        ("library.channel", "Release channel changed"),
        ("library.exported", "Space exported"),
        ("library.flags", "Library feature changed"),
        ("library.meta_cleared", "Page types and pins cleared"),
        ("library.member", "Workspace member changed"),
        ("library.migration", "Folder migration started"),
        ("library.migration_canceled", "Folder migration cancelled"),
        ("library.migration_paused", "Folder migration paused"),
        ("library.migration_resumed", "Folder migration resumed"),
        ("library.migration_retried", "Folder migration retried"),
        ("library.migration_rollback", "Folder migration rolled back"),
        ("library.place_deleted", "Workspace or space deleted"),
        ("library.place_purged", "Workspace or space deleted permanently"),
        ("library.place_restored", "Workspace or space restored"),
        ("library.properties", "Page properties changed"),
        ("library.purged", "Pages deleted permanently"),
        ("library.restricted", "Page restricted"),
        ("library.shared", "Page shared by link"),
        ("library.space_member", "Space member changed"),
        ("library.tag", "Tag renamed or merged"),
        ("library.unarchived", "Workspace or space unarchived"),
        ("library.unrestricted", "Page restriction removed"),
        ("library.unshared", "Share link revoked"),
    ),
    scopes=f"{PACKAGE}.access:scopes_of",
    owned=OWNED,
    roles=ROLES,
)
