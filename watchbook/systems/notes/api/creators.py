"""Endpoints for followed creators, and the step of the workflow that checks them."""

from __future__ import annotations

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
from watchbook.systems.notes.actions import creators as actions
from watchbook.systems.notes.api.endpoints import delete, listed_in_envelope, patch, post, router
from watchbook.systems.notes.api.envelope import Call, answered, done
from watchbook.systems.notes.api.managed import queued
from watchbook.systems.notes.api.managed_schemas import DeletedAnswer, QueuedAnswer
from watchbook.systems.notes.api.schemas import Enveloped, EnvelopedList, NoteError
from watchbook.systems.notes.models import Creator
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
