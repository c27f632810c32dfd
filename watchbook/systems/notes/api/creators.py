"""Endpoints for followed creators, and the step of the workflow that checks them.

Endpoints for comments of collected notes, and the step of the workflow that reads them.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query
from pydantic import Field

from watchbook.core.accounts.access import person_of
from watchbook.core.api.lists import DaysQuery, listed
from watchbook.core.api.schemas import Answer, said
from watchbook.systems.notes import fetch, filters
from watchbook.systems.notes.access import reading
from watchbook.systems.notes.actions import keywords as actions
from watchbook.systems.notes.api.envelope import Call, answered, delete, done, listed_in_envelope, patch, post, router
from watchbook.systems.notes.api.managed import queued
from watchbook.systems.notes.api.managed_schemas import DeletedAnswer, QueuedAnswer
from watchbook.systems.notes.api.schemas import CountOut, Enveloped, EnvelopedList, MirroredList, NoteError
from watchbook.systems.notes.jobs import comments as jobs
from watchbook.systems.notes.models import CommentVersion, Creator, NoteComment
from watchbook.systems.notes.parse.records import Count
from watchbook.systems.notes.validation import HolderBody, parse
from watchbook.systems.notes.validation.managed import CheckBody, CreatorBody, CreatorChange


class CreatorOut(Answer):
    """A creator whose new notes become candidates. The ID on the platform is encrypted and not shown."""

    row = Creator

    id: int
    title: str = said("The given name, or the masked name on the platform.")
    label: str
    name: str
    author_hash: str = said("Keyed hash; `author_id` of the notes of this creator where authors are hashed.")
    platform: str
    is_active: bool = said("False while the creator is paused.")
    every_minutes: int | None = said("Minutes between checks; null: as set for this server.")
    next_check_at: datetime
    last_check_at: datetime | None
    last_success_at: datetime | None
    last_error: str = said("Code and sentence of the last check, empty if it succeeded.")
    found_count: int = said("Candidates that this creator added.")
    possible_gap: bool = said("A check did not reach a known note, so notes may be missing.")
    gap_at: datetime | None
    gap_count: int
    created_at: datetime


class CreatorList(EnvelopedList[CreatorOut]):
    """Creators, newest first."""


class CreatorAnswer(Enveloped[CreatorOut]):
    """One creator."""


class CreatorAdded(Answer):
    """A creator, and whether it is new."""

    added: bool
    creator: CreatorOut


class CreatorAddedAnswer(Enveloped[CreatorAdded]):
    """Result of following a creator."""


class CheckedOut(Answer):
    """How the check of one creator went."""

    checked: bool = said("False if no creator is due.")
    creator_id: int = Field(default=0, description="Only if checked.")
    found: int = Field(default=0, description="Notes that were listed.")
    added: int = Field(default=0, description="Notes that became candidates.")
    possible_gap: bool = Field(default=False, description="The check did not reach a known note.")
    failure: NoteError | None = Field(default=None, description="Why the check ended early.")
    left: int = said("Creators that are still due.")
    stop: bool = said("True if the next creator would fail the same way; end the run.")


class CheckedAnswer(Enveloped[CheckedOut]):
    """Result of a check."""


class CreatorsQuery(DaysQuery):
    q: str = ""
    state: str = ""
    gap: str = ""


@router.get("/creators", auth=reading, response=CreatorList, exclude_unset=True)
def list_creators(request: HttpRequest, page: Query[CreatorsQuery]) -> Any:
    """List followed creators, newest first, with the filters of the page."""
    make = CreatorOut.of
    return listed_in_envelope(request, listed(request, filters.CREATORS, Creator.objects.all(), page, make=make))


@post("/creators", CreatorBody, CreatorAddedAnswer, 503)
def add_creator(request: HttpRequest) -> Any:
    """Follow a creator by profile address, short link or ID; one that is followed is changed and resumed."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        given = parse(CreatorBody, call.payload).given
        row, is_new = actions.add_creator(given.pop("creator"), user=person_of(request), **given)
        return done({"added": is_new, "creator": CreatorOut.of(row)})

    return answered(request, act)


@patch("/creators/{int:creator_id}", CreatorChange, CreatorAnswer)
def change_creator(request: HttpRequest, creator_id: int) -> Any:
    """Change name or frequency of a creator, or pause and resume it."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        row = actions.find_creator(creator_id)
        actions.change_creator(row, call.payload, user=person_of(request))
        return done(CreatorOut.of(row))

    return answered(request, act)


@delete("/creators/{int:creator_id}", DeletedAnswer)
def delete_creator(request: HttpRequest, creator_id: int) -> Any:
    """Stop following a creator. Candidates and notes that were found are kept."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        actions.delete_creator(actions.find_creator(creator_id), user=person_of(request))
        return done({"deleted": True})

    return answered(request, act)


@post("/creators/{int:creator_id}/check", CheckBody, QueuedAnswer, 404, 502)
def check_creator(request: HttpRequest, creator_id: int) -> Any:
    """Queue a check of a creator now. With `full` it reads the whole listing, which closes a gap."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        body = parse(CheckBody, call.payload)
        row = actions.find_creator(creator_id)
        fetch.adapter()
        return queued(actions.check_soon(row, full=body.full, user=person_of(request), request=request))

    return answered(request, act)


@post("/workflow/creators", HolderBody, CheckedAnswer, 409)
def check_next_creator(request: HttpRequest) -> Any:
    """Check the creator that is due longest, under the lock of a run of the workflow `creators`."""
    return answered(request, lambda call: done(actions.check_next(parse(HolderBody, call.payload).holder)))


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


class NoteCommentList(MirroredList[NoteCommentOut]):
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
