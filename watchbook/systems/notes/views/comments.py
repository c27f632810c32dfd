"""Comments of collected notes: the list of all, and the thread below one note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.core.accounts.exports import export
from watchbook.systems.notes import filters
from watchbook.systems.notes.models import CommentVersion, Note, NoteComment, NoteWatch
from watchbook.systems.notes.views import Figure, figure_of, head

# On the page of a note; the list shows all.
MOST_SHOWN = 300


@dataclass(frozen=True)
class CommentLine:
    row: NoteComment
    versions: Sequence[CommentVersion] = ()
    answers: list[CommentLine] = field(default_factory=list)

    @property
    def liked(self) -> Figure:
        return figure_of("liked", self.row.liked)


@require_GET
def comments(request: HttpRequest) -> HttpResponseBase:
    listing = filters.COMMENTS.show(NoteComment.objects.select_related("note"), request.GET)
    if file := export(request, listing):
        return file
    context = {**head(request, "notes"), "listing": listing, "page": listing.page, "rows": list(listing.page)}
    return render(request, "notes/comments.html", context)


def thread_of(note: Note, watch: NoteWatch | None) -> dict[str, Any]:
    """The comments of a note, oldest first, answers below theirs; two queries."""
    rows = list(note.comments.prefetch_related("versions").order_by("published_at", "pk")[:MOST_SHOWN])
    lines = {row.comment_id: CommentLine(row, sorted(row.versions.all(), key=lambda one: -one.number)) for row in rows}
    roots: list[CommentLine] = []
    for line in lines.values():
        above = lines.get(line.row.parent_id)
        (above.answers if above and above is not line else roots).append(line)
    _code, _colon, sentence = watch.comments_error.partition(": ") if watch else ("", "", "")
    return {"comments": roots, "comment_count": len(rows), "comments_error": _(sentence) if sentence else ""}
