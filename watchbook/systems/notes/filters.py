"""The lists of candidates and notes: filters and columns that pages, exports and API share."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from django.db.models import Q
from django.db.models.functions import Lower
from django.db.models.lookups import Contains
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from watchbook.kit import badges
from watchbook.kit.lists import Changes, Choice, Column, Days, List, Search, Text, by_time
from watchbook.kit.lists.filters import Options
from watchbook.systems.notes.models import CandidateStatus, Keyword, Note, NoteType

KEYWORDS_OFFERED = 200


def keywords() -> Options:
    found = Keyword.objects.order_by("pk").values_list("keyword", flat=True)[:KEYWORDS_OFFERED]
    return [(word, word) for word in found]


def _states() -> Options:
    return [(state, badges.find("candidate", state).text) for state in CandidateStatus.values]


def _title_or_id(text: str) -> Q:
    # Not icontains: where titles are compared byte by byte it tells A from a.
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
