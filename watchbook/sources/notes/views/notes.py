"""Collected notes: the list, one note as it was read, and how one is forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext
from django.views.decorators.http import require_GET, require_http_methods

from watchbook.core.accounts.access import staff_required
from watchbook.core.ui.moments import span_text
from watchbook.core.ui.paging import keyset, with_values
from watchbook.sources.notes import actions, options
from watchbook.sources.notes.models import Candidate, Keyword, Note, NoteType
from watchbook.sources.notes.views.candidates import KEYWORDS_OFFERED
from watchbook.sources.notes.views.head import head, named
from watchbook.sources.notes.views.wanted import Wanted, wanted_of
from watchbook.sources.notes.views.words import COUNTS, Figure, figure_of

PER_PAGE = 30
TEASER = 200


@dataclass(frozen=True)
class Row:
    note: Note

    @property
    def title(self) -> str:
        return title_of(self.note)

    @property
    def teaser(self) -> str:
        return " ".join(self.note.content.split())[:TEASER] if self.note.title else ""

    @property
    def liked(self) -> Figure:
        return figure_of("liked", self.note.counts.get("liked"))

    @property
    def tags(self) -> list[str]:
        return [str(tag) for tag in self.note.tags[:4]]


@dataclass(frozen=True)
class Medium:
    """A picture or video: it is not fetched from elsewhere while somebody reads, its name leads to it."""

    name: str
    url: str
    facts: str


def title_of(note: Note) -> str:
    return note.title or " ".join(note.content.split())[:80] or note.note_id


@require_GET
def notes(request: HttpRequest) -> HttpResponse:
    wanted = wanted_of(request.GET, kind=tuple(NoteType.values))
    rows = Note.objects.filter(wanted.between("collected_at"))
    page = keyset(_narrowed(rows, wanted), request.GET, by="collected_at", size=PER_PAGE)
    context = {
        **head(request, "notes"),
        "wanted": wanted,
        "page": page,
        "rows": [Row(note) for note in page],
        "kinds": [
            (label, with_values(request.GET, kind="" if wanted.kind == value else value), wanted.kind == value)
            for value, label in NoteType.choices
        ],
        "without_author": with_values(request.GET, author=""),
        "keywords": list(Keyword.objects.order_by("pk").values_list("keyword", flat=True)[:KEYWORDS_OFFERED]),
    }
    return render(request, "notes/notes.html", context)


def _narrowed(rows: Any, wanted: Wanted) -> Any:
    if wanted.kind:
        rows = rows.filter(note_type=wanted.kind)
    if wanted.keyword:
        rows = rows.filter(source_keyword=wanted.keyword)
    return rows.filter(author_id=wanted.author) if wanted.author else rows


@require_GET
def note(request: HttpRequest, note_id: str) -> HttpResponse:
    found = get_object_or_404(Note, note_id=named(note_id, 64))
    meta = found.exec_meta if isinstance(found.exec_meta, dict) else {}
    context = {
        **head(request, "notes"),
        "note": found,
        "title": title_of(found),
        "lines": [line for line in found.content.split("\n") if line.strip()],
        "figures": [figure_of(name, found.counts.get(name)) for name in COUNTS],
        "media": [_medium(number, one) for number, one in enumerate(found.media, 1) if isinstance(one, dict)],
        "of_author": Note.objects.filter(author_id=found.author_id).count() if found.author_id else 0,
        "is_hashed": options.AUTHORS.value == "hashed",
        "adapter": str(meta.get("adapter") or ""),
        "request_id": str(meta.get("request_id") or ""),
        "candidate": Candidate.objects.filter(note_id=found.note_id).only("created_at").first(),
    }
    return render(request, "notes/note.html", context)


def _medium(number: int, one: dict[str, Any]) -> Medium:
    is_video = one.get("kind") == "video"
    name = pgettext("media", "Video %(n)s") if is_video else pgettext("media", "Picture %(n)s")
    facts = []
    if one.get("width") and one.get("height"):
        facts.append(f"{one['width']} × {one['height']}")
    if one.get("duration_ms"):
        facts.append(span_text(one["duration_ms"] / 1000))
    url = str(one.get("url") or "")
    is_safe = urlsplit(url).scheme in {"http", "https"}
    return Medium(name % {"n": number}, url if is_safe else "", pgettext("list", ", ").join(facts))


@staff_required
@require_http_methods(["GET", "POST"])
def forget(request: HttpRequest, note_id: str) -> HttpResponse:
    """Asked first, because it cannot be undone."""
    found = get_object_or_404(Note, note_id=named(note_id, 64))
    if request.method == "POST":
        return _forget(request, found)
    context = {
        **head(request, "notes"),
        "note": found,
        "title": title_of(found),
        "of_author": Note.objects.filter(author_id=found.author_id).count() if found.author_id else 0,
    }
    return render(request, "notes/forget.html", context)


def _forget(request: HttpRequest, found: Note) -> HttpResponse:
    if request.POST.get("what") == "author" and found.author_id:
        gone = actions.forget_author(found.author_id, user=request.user)
        messages.success(
            request, ngettext("%(n)s note is forgotten.", "%(n)s notes are forgotten.", gone) % {"n": gone}
        )
    else:
        actions.forget_note(found.note_id, user=request.user)
        messages.success(request, _("The note is forgotten."))
    return redirect("notes:notes")
