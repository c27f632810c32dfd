"""Endpoints that recognise a text and add what was found."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, NoReturn
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import ConfigDict, Field

from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.api.errors import Conflict, Invalid, NotAllowed, TooMany
from watchbook.core.api.schemas import Answer, said
from watchbook.core.api.shell import refuses
from watchbook.core.sources import recognise
from watchbook.core.sources.recognise import Recognised, requests_per_day
from watchbook.core.sources.records import LONGEST, AddError, Found, Link, Offer
from watchbook.core.sources.views import own_channels

router = Router()


class TextIn(Schema):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=LONGEST)
    system: str = Field("", max_length=40)


class SourceIn(Schema):
    """Give `proof` from recognise, or `text` to take everything as it is offered."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field("", max_length=LONGEST)
    system: str = Field("", max_length=40)
    proof: str = Field("", max_length=100_000)
    picks: list[str] | None = Field(None, max_length=100)
    check_interval_minutes: int | None = None
    notify: list[str] | None = Field(None, max_length=10)
    channel_ids: list[UUID] = Field(default=[], max_length=50)
    name: str = Field("", max_length=200)


class ReadingOut(Answer):
    """One reading of the text."""

    system: str = said("Slug of the system, or search for a keyword.")
    kind: str = said("What it is: one of the words of the system, such as website or keyword.")
    title: str


class LinkOut(Answer):
    """Something that exists on this server."""

    title: str
    url: str


class PickOut(Answer):
    """One thing that can be watched."""

    value: str = said("Send it back in `picks`.")
    title: str
    detail: str
    requests: int = said("Requests of one check.")
    is_ticked: bool = said("True if it is added when `picks` is not given.")
    exists: LinkOut | None = said("Set if you watch it already.")


class PreviewItem(Answer):
    """One item that was read for the preview."""

    title: str
    detail: str
    url: str
    at: datetime | date | None


class RecognisedOut(ReadingOut):
    """What a text is, what can be watched there, and what it costs."""

    address: str
    hints: list[str] = said("How the text was read, where that is not obvious.")
    facts: list[str]
    picks: list[PickOut]
    items: list[PreviewItem] = said("Real items, read through the HTTP client.")
    problem: str = said("Why the preview is missing or incomplete; empty otherwise.")
    can_add: bool
    reason: str = said("Why nothing can be added; empty otherwise.")
    exists: LinkOut | None
    check_interval_minutes: int = said("Suggested frequency; 0 if it cannot be chosen.")
    notify: list[str] = said("Kinds of change that can be notified: new, changed, removed.")
    requests_per_day: int = said("Requests per day of the suggested choice.")
    requests_made: int = said("Requests that this preview sent, at most 12.")
    others: list[ReadingOut] = said("Other readings of the text; give `system` to choose one.")
    proof: str = said("Send it to POST /sources within 30 minutes, so that nothing is requested twice.")


class AddedOut(Answer):
    """A source that was added."""

    kind: str
    title: str
    url: str


class AddedList(Answer):
    """Everything that was added."""

    items: list[AddedOut]


@router.post("/sources/recognise", response=RecognisedOut, openapi_extra=refuses(409, 429))
def recognise_text(request: HttpRequest, body: TextIn) -> dict[str, Any]:
    """Recognise an address or a keyword and preview it. Nothing is added; at most 12 requests are sent."""
    user = person_of(request)
    try:
        recognised, found, offer = _offer(user, body.text, body.system)
    except AddError as error:
        _refuse(error)
    return _out(user, recognised, found, offer)


@router.post("/sources", response={201: AddedList}, openapi_extra=refuses(409, 429))
def add_source(request: HttpRequest, body: SourceIn) -> Status[dict[str, Any]]:
    """Add what was recognised: with the proof of the preview, or by the text alone as it is offered."""
    user = person_of(request)
    try:
        proof = body.proof or _proof(user, body)
        made = recognise.add(
            user,
            recognise.read_proof(user, proof),
            picks=body.picks,
            frequency=body.check_interval_minutes,
            notify=body.notify,
            channels=own_channels(user, body.channel_ids),
            name=body.name,
        )
    except AddError as error:
        _refuse(error)
    return Status(201, AddedList.of(None, items=[AddedOut.of(one) for one in made]))


def _offer(user: User, text: str, system: str) -> tuple[Recognised, Found, Offer]:
    recognised = recognise.recognise(text, system)
    if recognised.refusal or recognised.found is None:
        refusal = recognised.refusal
        raise AddError(refusal.message if refusal else "", refusal.code if refusal else "unknown")
    return recognised, recognised.found, recognise.make_offer(user, recognised.found)


def _proof(user: User, body: SourceIn) -> str:
    _recognised, found, offer = _offer(user, body.text, body.system)
    if not offer.can_add:
        reason = offer.why_not or offer.problem
        raise AddError(reason, offer.code or "invalid", url=offer.exists.url if offer.exists else "")
    return recognise.sign(user, found, offer)


def _out(user: User, recognised: Recognised, found: Found, offer: Offer) -> dict[str, Any]:
    proof = recognise.sign(user, found, offer)
    signed = recognise.read_proof(user, proof)
    return RecognisedOut.of(
        found,
        title=offer.title,
        hints=list(found.hints),
        facts=list(offer.facts),
        picks=[PickOut.of(pick, exists=_link(pick.exists)) for pick in offer.picks],
        items=[PreviewItem.of(item) for item in offer.items],
        problem=offer.problem,
        can_add=offer.can_add,
        reason=offer.why_not,
        exists=_link(offer.exists),
        check_interval_minutes=offer.frequency,
        notify=list(offer.notify),
        requests_per_day=requests_per_day(signed, signed.ticked, signed.frequency),
        requests_made=offer.requests_made,
        others=[ReadingOut.of(one) for one in recognised.others],
        proof=proof if offer.can_add else "",
    )


def _link(link: Link | None) -> dict[str, Any] | None:
    return LinkOut.of(link) if link else None


def _refuse(error: AddError) -> NoReturn:
    details = {"url": error.url} if error.url else None
    kinds = {"exists": Conflict, "not_allowed": NotAllowed, "too_many": TooMany}
    raise kinds.get(error.code, Invalid)(error.message, code=error.code, details=details) from None
