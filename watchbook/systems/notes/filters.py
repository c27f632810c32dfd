"""The lists of candidates, notes, keywords and creators: filters and columns that pages, exports and API share."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from django.db.models import Q
from django.db.models.functions import Lower
from django.db.models.lookups import Contains
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.kit import badges
from watchbook.kit.lists import Changes, Choice, Column, Days, Flag, List, Search, Text, by_time
from watchbook.kit.lists.filters import Options
from watchbook.systems.notes.models import (
    CandidateStatus,
    Creator,
    Keyword,
    Note,
    NoteType,
    Presence,
    SearchSort,
    SearchType,
)

KEYWORDS_OFFERED = 200


def keywords() -> Options:
    found = Keyword.objects.order_by("pk").values_list("keyword", flat=True)[:KEYWORDS_OFFERED]
    return [(word, word) for word in found]


def creators() -> Options:
    return [(str(row.pk), row.title) for row in Creator.objects.order_by("pk")[:KEYWORDS_OFFERED]]


def _states() -> Options:
    return [(state, badges.find("candidate", state).text) for state in CandidateStatus.values]


def _title_or_id(text: str) -> Q:
    # Not icontains: where titles are compared byte by byte it distinguishes A and a.
    return Q(note_id=text) | Q(Contains(Lower("title"), text.lower()))


def _count(name: str, note: Note) -> int | None:
    return (note.counts.get(name) or {}).get("value")


KEYWORD = Choice("keyword", _("Keyword"), "source_keyword", choices=keywords, is_open=True, counted=False)
CANDIDATES = List(
    "candidates",
    filters=(
        Search("q", _("Title or full ID"), where=_title_or_id),
        Choice("status", _("State"), "status", choices=_states),
        KEYWORD,
        Choice("creator", _("Creator"), "creator_id", choices=creators, counted=False),
        Days("days", pgettext_lazy("candidate", "Found"), "created_at"),
    ),
    orders=by_time("created_at"),
    columns=tuple(
        map(
            Column,
            (
                "note_id", "platform", "title", "note_url", "status", "source_keyword", "retry_count",
                "last_error_code", "last_error_reason", "last_error_message", "published_at", "queued_at",
                "created_at", "updated_at",
            ),
        )
    ),
    changes=Changes("updated_at", "updated_at"),
)  # fmt: skip
# In a state they stand by the time that they came into the queue, which has an index.
CANDIDATES_IN_STATE = replace(CANDIDATES, orders=by_time("queued_at"))

NOTES = List(
    "notes",
    filters=(
        Search("q", _("Search notes"), columns=("title", "content", "author_name", "note_id")),
        KEYWORD,
        Choice("kind", _("Type"), "note_type", choices=NoteType.choices),
        Text("author", _("Author ID"), "author_id"),
        Days("days", _("Collected"), "collected_at"),
    ),
    orders=by_time("collected_at"),
    columns=(
        *map(
            Column,
            (
                "note_id", "platform", "note_type", "title", "content", "author_id", "author_name", "tags",
                "source_keyword", "published_at", "edited_at", "collected_at", "note_url",
            ),
        ),
        *(
            Column(f"{name}_count", partial(_count, name))
            for name in ("liked", "collected", "comment", "share")
        ),
    ),
    changes=Changes("collected_at", "collected_at"),
)  # fmt: skip


ACTIVE, PAUSED, FAILING = "active", "paused", "failing"
_IN_STATE = {
    ACTIVE: Q(is_active=True, last_error=""),
    FAILING: Q(is_active=True) & ~Q(last_error=""),
    PAUSED: Q(is_active=False),
}
STATE = Choice(
    "state", _("State"), where=lambda state: _IN_STATE[state],
    choices=(
        (ACTIVE, pgettext_lazy("keyword", "Active")),
        (FAILING, pgettext_lazy("keyword", "Failing")),
        (PAUSED, pgettext_lazy("keyword", "Paused")),
    ),
)  # fmt: skip
KEYWORDS = List(
    "keywords",
    filters=(
        Search("q", _("Search keywords"), columns=("keyword",)),
        STATE,
        Choice("sort", _("Search order"), "sort", choices=SearchSort.choices, counted=False),
        Choice("note_type", _("Type"), "note_type", choices=SearchType.choices, counted=False),
        Days("days", pgettext_lazy("keyword", "Added"), "created_at"),
    ),
    orders=by_time("created_at"),
    columns=tuple(
        map(
            Column,
            (
                "id", "keyword", "platform", "is_active", "sort", "note_type", "time_range", "every_minutes",
                "last_search_at", "next_search_at", "found_count", "last_error", "created_at",
            ),
        )
    ),
)  # fmt: skip

CREATORS = List(
    "creators",
    filters=(
        Search("q", _("Search creators"), columns=("label", "name")),
        STATE,
        Flag("gap", _("Possible gap"), where=lambda _on: Q(possible_gap=True)),
        Days("days", pgettext_lazy("keyword", "Added"), "created_at"),
    ),
    orders=by_time("created_at"),
    columns=tuple(
        map(
            Column,
            (
                "id", "title", "label", "name", "author_hash", "platform", "is_active", "every_minutes",
                "last_check_at", "last_success_at", "next_check_at", "found_count", "possible_gap", "gap_count",
                "gap_at", "last_error", "created_at",
            ),
        )
    ),
)  # fmt: skip

COMMENTS = List(
    "note_comments",
    filters=(
        Search("q", _("Search comments"), columns=("content", "author_name")),
        Text("note", _("Note ID"), "note__note_id"),
        Choice("presence", _("State"), "presence", choices=Presence.choices),
        Text("author", _("Author ID"), "author_id"),
        Days("days", pgettext_lazy("candidate", "Found"), "first_read_at"),
    ),
    orders=by_time("first_read_at"),
    columns=(
        Column("note_id", "note.note_id"),
        *map(
            Column,
            (
                "comment_id", "parent_id", "content", "author_id", "author_name", "published_at", "first_read_at",
                "last_read_at", "presence", "version",
            ),
        ),
        Column("liked_count", lambda row: (row.liked or {}).get("value")),
    ),
    changes=Changes("changed_at", "changed_at"),
)  # fmt: skip
