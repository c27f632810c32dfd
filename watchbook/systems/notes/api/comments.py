"""Endpoints for comments of collected notes, and the step of the workflow that reads them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query
from pydantic import Field

from watchbook.core.api.lists import DaysQuery, listed
from watchbook.core.api.schemas import Answer, said
from watchbook.systems.notes import filters
from watchbook.systems.notes.access import reading
from watchbook.systems.notes.api.endpoints import listed_in_envelope, post, router
from watchbook.systems.notes.api.envelope import answered, done
from watchbook.systems.notes.api.schemas import CountOut, Enveloped, EnvelopedList, NoteError
from watchbook.systems.notes.jobs import comments as jobs
from watchbook.systems.notes.models import CommentVersion, NoteComment
from watchbook.systems.notes.parse.records import Count
from watchbook.systems.notes.validation import HolderBody, parse


class NoteCommentVersionOut(Answer):
    """An earlier text of a comment."""

    row = CommentVersion

    number: int
    content: str
    replaced_at: datetime


class NoteCommentOut(Answer):
    """A comment of a collected note."""

    note_id: str = said("ID of the note on the platform.")
    comment_id: str
    parent_id: str = said("The comment that it answers; empty for a comment on the note itself.")
    content: str
    author_id: str = said("Keyed hash, unless NOTES_AUTHORS is plain.")
    author_name: str = said("Masked, unless NOTES_AUTHORS is plain.")
    liked: CountOut
    published_at: datetime | None
    first_read_at: datetime
    last_read_at: datetime
    presence: str = said("there, missing (absent once) or gone (absent twice).")
    version: int
    versions: list[NoteCommentVersionOut] = said("Earlier texts, newest first.")


class NoteCommentList(EnvelopedList[NoteCommentOut]):
    """Comments, newest first."""


class CommentsReadOut(Answer):
    """How the reading of the comments of one note went."""

    checked: bool = said("False if no note is due.")
    note_id: str = Field(default="", description="Only if checked.")
    found: int = Field(default=0, description="Comments that were listed.")
    added: int = Field(default=0, description="New comments.")
    changed: int = Field(default=0, description="Comments with another text.")
    gone: int = Field(default=0, description="Comments that were absent a second time.")
    failure: NoteError | None = Field(default=None, description="Why the reading ended early.")
    left: int = said("Notes that are still due.")
    stop: bool = said("True if the next note would fail the same way; end the run.")


class CommentsReadAnswer(Enveloped[CommentsReadOut]):
    """Result of reading comments."""


class NoteCommentsQuery(DaysQuery):
    q: str = ""
    note: str = ""
    presence: str = ""
    author: str = ""


def _out(row: NoteComment) -> dict[str, Any]:
    versions = sorted(row.versions.all(), key=lambda one: -one.number)[:50]
    shown = [NoteCommentVersionOut.of(one) for one in versions]
    liked = row.liked or asdict(Count())
    return NoteCommentOut.of(row, note_id=row.note.note_id, liked=liked, versions=shown)


@router.get("/comments", auth=reading, response=NoteCommentList, exclude_unset=True)
def list_comments(request: HttpRequest, page: Query[NoteCommentsQuery]) -> Any:
    """List comments of collected notes, newest first, with the filters of the page."""
    rows = NoteComment.objects.select_related("note").prefetch_related("versions")
    return listed_in_envelope(request, listed(request, filters.COMMENTS, rows, page, make=_out))


@post("/workflow/comments", HolderBody, CommentsReadAnswer, 409)
def read_next_comments(request: HttpRequest) -> Any:
    """Read the comments of the note that is due longest, under the lock of a run of the workflow `comments`."""
    return answered(request, lambda call: done(jobs.step(parse(HolderBody, call.payload).holder)))
