"""Channels and deliveries for programs. Configurations are answered masked, always."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status

from watchbook.core.api.answers import Answer, Listing, said
from watchbook.core.api.document import refuses
from watchbook.core.api.errors import Conflict, Invalid, TooMany
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.notify import actions, senders
from watchbook.core.notify.errors import BadConfig, NotReplayable, TooManyTests, Unreadable
from watchbook.core.notify.models import Delivery, NotificationChannel, State

router = Router()


class ChannelIn(Schema):
    name: str
    channel_type: str
    config: dict[str, Any]
    is_active: bool = True
    digest: str = "immediate"
    alert_level: str = ""


class ChannelPatch(Schema):
    name: str | None = None
    config: dict[str, Any] | None = None
    is_active: bool | None = None
    digest: str | None = None
    alert_level: str | None = None


class ChannelOut(Answer):
    """Where notices go."""

    row = NotificationChannel

    id: UUID
    name: str
    channel_type: str = said("webhook, email or apprise.")
    config: dict[str, Any] = said("Secrets in it are masked.")
    is_active: bool
    digest: str = said("immediate, hourly or daily.")
    alert_level: str = said("P0, P1 or P2: alerts as grave as this or graver are told; empty for none.")
    disabled_reason: str = said("Why Watchbook switched it off; empty when a person did, or while it is on.")
    failure_count: int = said("Failures in a row, over all its notices.")
    last_test_at: datetime | None
    last_test_success: bool | None
    created_at: datetime
    updated_at: datetime


class ChannelMade(ChannelOut):
    """A channel and its signing secret, this one time."""

    secret: str | None = said("The signing secret, when one was made now; it is never shown again.")


class DeliveryOut(Answer):
    """One notice to one channel."""

    row = Delivery

    id: int
    channel_id: UUID
    message_id: str = said("The same in every attempt and every replay: receivers drop what they know.")
    event_id: str
    source: str
    kind: str
    subject: str
    link: str
    state: str = said("pending, sent, failed or skipped.")
    attempt: int
    next_at: datetime | None = said("Null while a digest carries it, and once its fate is decided.")
    sent_at: datetime | None
    last_status: int | None = said("The HTTP status of the last attempt; null when there was no answer.")
    error_code: str
    last_error: str
    sequence: int | None = said("Without gaps per channel; null before the first attempt.")
    created_at: datetime


class TestOut(Answer):
    """How a test notice went."""

    success: bool
    status: int | None = said("The HTTP status; null when there was no answer.")
    error_code: str
    message: str
    delivery_id: int


class ChannelPage(Listing[ChannelOut]):
    """Channels, newest first."""


class DeliveryPage(Listing[DeliveryOut]):
    """Deliveries, newest first."""


class DeliveryQuery(PageQuery):
    channel_id: UUID | None = None
    state: str = ""


def channel_out(channel: NotificationChannel) -> dict[str, Any]:
    return {name: getattr(channel, name) for name in ChannelOut.model_fields}


def delivery_out(delivery: Delivery) -> dict[str, Any]:
    own = {name: getattr(delivery, name) for name in DeliveryOut.model_fields if name != "message_id"}
    return own | {"message_id": senders.message_id(delivery.event_id, delivery.channel_id)}


def _own(request: HttpRequest, channel_id: UUID) -> NotificationChannel:
    return get_object_or_404(NotificationChannel.objects.of(request.user).select_related("user"), pk=channel_id)


def _refused(error: BadConfig) -> Invalid:
    inside = error.field not in ChannelIn.model_fields
    return Invalid(details=[{"field": f"config.{error.field}" if inside else error.field, "message": error.message}])


@router.get("/channels", response=ChannelPage)
def list_channels(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """Your channels; secrets are never shown."""
    return keyset(NotificationChannel.objects.of(request.user), page, by="-created_at", make=channel_out)


@router.post("/channels", response={201: ChannelMade})
def create_channel(request: HttpRequest, given: ChannelIn) -> Any:
    """A new channel of yours."""
    choices = given.dict(include={"is_active", "digest", "alert_level"})
    try:
        saved = actions.create(
            request.user,  # type: ignore[arg-type]
            name=given.name,
            channel_type=given.channel_type,
            given=given.config,
            **choices,
        )
    except BadConfig as error:
        raise _refused(error) from None
    return Status(201, channel_out(saved.channel) | {"secret": saved.secret or None})


@router.get("/channels/{channel_id}", response=ChannelOut)
def get_channel(request: HttpRequest, channel_id: UUID) -> Any:
    """One channel of yours."""
    return channel_out(_own(request, channel_id))


@router.patch("/channels/{channel_id}", response=ChannelOut)
def change_channel(request: HttpRequest, channel_id: UUID, given: ChannelPatch) -> Any:
    """Change what is given; the rest stays."""
    choices = {name: value for name, value in given.dict(exclude_unset=True).items() if value is not None}
    config = choices.pop("config", None)
    try:
        saved = actions.update(_own(request, channel_id), given=config, **choices)
    except BadConfig as error:
        raise _refused(error) from None
    return channel_out(saved.channel)


@router.delete("/channels/{channel_id}", response={204: None})
def delete_channel(request: HttpRequest, channel_id: UUID) -> Any:
    """Remove a channel."""
    actions.delete(_own(request, channel_id))
    return Status(204, None)


@router.post("/channels/{channel_id}/test", response=TestOut)
def test_channel(request: HttpRequest, channel_id: UUID) -> Any:
    """Send a test notice now and say how it went."""
    try:
        tried = actions.send_test(_own(request, channel_id))
    except TooManyTests as error:
        raise TooMany(error.message, headers={"Retry-After": str(actions.TEST_SECONDS)}) from None
    return {
        "success": tried.state == State.SENT,
        "status": tried.last_status,
        "error_code": tried.error_code,
        "message": senders.explain(tried.error_code, tried.last_status, tried.last_error),
        "delivery_id": tried.pk,
    }


@router.post("/channels/{channel_id}/secret", response=ChannelMade, openapi_extra=refuses(409))
def rotate_secret(request: HttpRequest, channel_id: UUID) -> Any:
    """A new signing secret; the old one is used beside it for a day."""
    channel = _own(request, channel_id)
    try:
        secret = actions.rotate_secret(channel)
    except BadConfig as error:
        raise _refused(error) from None
    except Unreadable as error:
        raise Conflict(error.message, code=error.code) from None
    return channel_out(channel) | {"secret": secret}


@router.get("/deliveries", response=DeliveryPage)
def list_deliveries(request: HttpRequest, page: Query[DeliveryQuery]) -> Any:
    """What was sent through your channels, or waits, newest first."""
    rows = Delivery.objects.seen_by(request.user).filter(channel__house_slot=None)
    if page.channel_id:
        rows = rows.filter(channel=page.channel_id)
    if page.state:
        if page.state not in State.values:
            raise Invalid(details=[{"field": "state", "message": f"one of {', '.join(State.values)}"}])
        rows = rows.filter(state=page.state)
    return keyset(rows.defer("payload", "html", "text", "last_body"), page, by="-id", make=delivery_out)


@router.post("/deliveries/{delivery_id}/replay", response=DeliveryOut, openapi_extra=refuses(409))
def replay(request: HttpRequest, delivery_id: int) -> Any:
    """Send a notice once more."""
    rows = Delivery.objects.seen_by(request.user).filter(channel__house_slot=None)
    delivery = get_object_or_404(rows.select_related("channel__user"), pk=delivery_id)
    try:
        return delivery_out(actions.replay(delivery))
    except NotReplayable as error:
        raise Conflict(error.message, code=error.code) from None
