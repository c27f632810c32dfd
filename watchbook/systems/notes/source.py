"""Notes: candidates become notes through locks, leases and an encrypted cookie pool."""

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
    TokenScope,
    Tool,
)
from watchbook.core.watching import cron, every
from watchbook.kit.badges import bad, info, off, ok, warn

PACKAGE = "watchbook.systems.notes"

CANDIDATE_BADGES = {
    "pending": off(_p("candidate", "Pending"), "s-wait"),
    "processing": info(_p("candidate", "Processing"), "s-work"),
    "collected": ok(_p("candidate", "Collected")),
    "failed": bad(_p("candidate", "Failed")),
}
COOKIE_BADGES = {
    "active": ok(_p("cookie", "Active")),
    "cooling": warn(_p("cookie", "Cooling down"), "s-hold"),
    "invalid": off(_p("cookie", "Invalid")),
    "banned": bad(_p("cookie", "Banned")),
}
FIGURES = {
    "added": _p("figure", "added"),
    "breaker_open": _p("figure", "the circuit breaker is open"),
    "candidates_failed": _p("figure", "failed candidates"),
    "candidates_returned": _p("figure", "returned candidates"),
    "changed": _p("figure", "changed"),
    "claimed": _p("figure", "claimed"),
    "collected": _p("figure", "collected"),
    "creators": _p("figure", "creators"),
    "execution_id": _p("figure", "run ID"),
    "executions_timed_out": _p("figure", "timed-out runs"),
    "gaps": _p("figure", "possible gaps"),
    "held_by_another": _p("figure", "another run holds the lock"),
    "keywords": _p("figure", "keywords"),
    "leases": _p("figure", "expired leases"),
    "no_adapter": _p("figure", "no adapter is enabled"),
    "notes": _p("figure", "notes"),
    "reason": _p("figure", "reason"),
    "returned": _p("figure", "returned"),
    "runner_off": _p("figure", "the built-in runner is off"),
}

TOOLS = (
    Tool("notes", "GET /notes/sources", "List collected notes with title, author, text and source address."),
    Tool("note", "GET /notes/sources/{note_id}", "Read one note with its files, earlier versions and counts."),
)

SOURCE = Source(
    slug="notes",
    title="Notes",
    icon="note",
    order=40,
    colour=Colour("#7660b6", "#aa99de"),
    token_scopes=(
        TokenScope(
            "notes",
            _("Notes API (notes)"),
            allowed=f"{PACKAGE}.access:may_work",
            holders=f"{PACKAGE}.access:allowed_users",
            set_allowed=f"{PACKAGE}.actions:set_user_allowed",
        ),
    ),
    badges={"candidate": CANDIDATE_BADGES, "cookie": COOKIE_BADGES},
    figures=FIGURES,
    home_url="notes:candidates",
    tools=TOOLS,
    settings=(
        SettingsGroup(
            "notes",
            _("Notes adapter"),
            _("How notes are searched and read"),
            "note",
            test=f"{PACKAGE}.views.cookies:try_adapter",
            used=f"{PACKAGE}.health:last_request",
        ),
    ),
    jobs=(
        Job(
            name="notes.collect",
            title="Collect pending notes",
            run=f"{PACKAGE}.jobs.collect:collect_pending",
            wanted=f"{PACKAGE}.jobs.collect:has_pending",
            schedule=every(minutes=5),
            lease_seconds=300,
            max_attempts=1,
        ),
        Job(
            name="notes.search",
            title="Search keywords for notes",
            run=f"{PACKAGE}.jobs.maintenance:search_due",
            wanted=f"{PACKAGE}.jobs.maintenance:any_keyword_due",
            schedule=every(minutes=5),
            lease_seconds=300,
        ),
        Job(
            name="notes.creators",
            title="Check creators for new notes",
            run=f"{PACKAGE}.jobs.creators:check_creators",
            wanted=f"{PACKAGE}.jobs.creators:any_creator_due",
            schedule=every(minutes=5),
            lease_seconds=300,
            max_attempts=1,
        ),
        Job(
            name="notes.comments",
            title="Read comments of notes",
            run=f"{PACKAGE}.jobs.comments:read_comments",
            wanted=f"{PACKAGE}.jobs.comments:any_comments_due",
            schedule=every(minutes=5),
            lease_seconds=300,
            max_attempts=1,
        ),
        Job(
            name="notes.read_again",
            title="Queue notes that are due again",
            run=f"{PACKAGE}.jobs.maintenance:queue_readings",
            wanted=f"{PACKAGE}.jobs.maintenance:any_note_due",
            queue="maintenance_queue",
            schedule=every(minutes=5),
        ),
        Job(
            name="notes.recover",
            title="Release expired locks",
            run=f"{PACKAGE}.jobs.maintenance:recover_locks",
            queue="maintenance_queue",
            schedule=every(minutes=15),
        ),
        Job(
            name="notes.watch",
            title="Check the alert conditions for notes",
            run=f"{PACKAGE}.jobs.maintenance:check_conditions",
            queue="monitoring_queue",
            schedule=every(minutes=1),
        ),
        Job(
            name="notes.forget",
            title="Delete old cookie usage records",
            run=f"{PACKAGE}.jobs.maintenance:delete_old_leases",
            queue="cleanup_queue",
            schedule=cron("30 4 * * *"),
        ),
    ),
    search_kinds=(
        SearchKind("note", "Notes"),
        SearchKind("note_creator", "Creators"),
        SearchKind("note_comment", "Comments of notes", ("comment",)),
    ),
    secrets=f"{PACKAGE}.store.creators:reencrypt_values",
    search_attributes=f"{PACKAGE}.store.documents:search_attributes",
    inbox=Inbox(key=f"{PACKAGE}.inbox:key", words=f"{PACKAGE}.inbox:words", detail=f"{PACKAGE}.inbox:detail"),
    stream_kinds=(
        ("collected", "Note collected"),
        ("edited", "Note edited"),
        ("gone", "Note deleted on the platform"),
        ("returned", "Note found again"),
    ),
    audit_kinds=(
        ("notes.author_notes_deleted", "Notes of an author deleted"),
        ("notes.access_allowed", "Notes work allowed"),
        ("notes.access_removed", "Notes work no longer allowed"),
        ("notes.breaker_closed", "Circuit breaker closed manually"),
        ("notes.cookie_added", "Cookie added"),
        ("notes.cookie_changed", "Cookie limits changed"),
        ("notes.cookie_disabled", "Cookie disabled"),
        ("notes.cookie_enabled", "Cookie enabled"),
        ("notes.cookie_probed", "Cookie tested"),
        ("notes.cookie_replaced", "Cookie replaced"),
        ("notes.cookie_reset", "Cookie reset"),
        ("notes.creator_added", "Creator added"),
        ("notes.creator_changed", "Creator changed"),
        ("notes.creator_deleted", "Creator deleted"),
        ("notes.keyword_added", "Keyword added"),
        ("notes.keyword_changed", "Keyword changed"),
        ("notes.keyword_deleted", "Keyword deleted"),
        ("notes.keys_rotated", "Cookie keys rotated"),
        ("notes.note_deleted", "Note deleted"),
    ),
    card=f"{PACKAGE}.card:card",
    recogniser=Recogniser(
        read=f"{PACKAGE}.recognise:read",
        offer=f"{PACKAGE}.recognise:offer",
        add=f"{PACKAGE}.recognise:add",
        examples=(
            Example(_p("notes", "Note"), "xiaohongshu.com/explore/…", "note", ("note", "short_link")),
            Example(_("Creator of notes"), "xiaohongshu.com/user/profile/…", "note", ("creator",)),
        ),
    ),
    media=Media(visible=f"{PACKAGE}.access:visible_notes", switch=f"{PACKAGE}.options:MEDIA"),
    clip=f"{PACKAGE}.clip:clip",
    origins=f"{PACKAGE}.clip:origins",
    address=f"{PACKAGE}.clip:address",
    health=f"{PACKAGE}.health:health",
    health_items=f"{PACKAGE}.health:items",
)
