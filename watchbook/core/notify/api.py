"""Channel and delivery endpoints. Secrets in configurations are always masked."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status

from watchbook.core.accounts.access import person_of
from watchbook.core.api.errors import Conflict, Invalid, TooMany
from watchbook.core.api.lists import DaysQuery, PageQuery, keyset, listed
from watchbook.core.api.schemas import Answer, Listing, Mirrored, said
from watchbook.core.api.shell import refuses
from watchbook.core.notify import actions, filters, rules
from watchbook.core.notify.channels import BadConfig, NotReplayable, TooManyTests, Unreadable
from watchbook.core.notify.forms import RuleForm
from watchbook.core.notify.message import explain, message_id
from watchbook.core.notify.models import Delivery, NotificationChannel, State

router = Router()


class ChannelIn(Schema):
    name: str
    channel_type: str
    config: dict[str, Any]
    is_active: bool = True
    digest: str = "immediate"
    quiet_from: time | None = None
    quiet_until: time | None = None
    alert_level: str = ""


class ChannelPatch(Schema):
    name: str | None = None
    config: dict[str, Any] | None = None
    is_active: bool | None = None
    digest: str | None = None
    quiet_from: time | None = None
    quiet_until: time | None = None
    alert_level: str | None = None


class ChannelOut(Answer):
    """A channel: where Watchbook sends notifications."""

    row = NotificationChannel

    id: UUID
    name: str
    channel_type: str = said("Name of the type, for example webhook, email or telegram.")
    config: dict[str, Any] = said("Configuration of the channel; secrets are masked.")
    is_active: bool
    digest: str = said("immediate, hourly, daily or weekly.")
    quiet_from: time | None = said("Begin of the quiet hours in the time zone of the owner; null for none.")
    quiet_until: time | None = said("End of the quiet hours.")
    alert_level: str = said("P0, P1 or P2: the channel receives alerts of this level and higher; empty for none.")
    disabled_reason: str = said(
        "Reason why Watchbook disabled the channel; empty while it is enabled or when a user disabled it."
    )
    failure_count: int = said("Failed deliveries in a row.")
    last_test_at: datetime | None
    last_test_success: bool | None
    arrived_at: datetime | None = said("When the owner confirmed that a test arrived.")
    created_at: datetime
    updated_at: datetime


class ChannelMade(ChannelOut):
    """A channel with its new signing secret."""

    secret: str | None = said("The signing secret if one was created now. It is not returned again.")


class DeliveryOut(Answer):
    """One notification to one channel."""

    row = Delivery

    id: int
    channel_id: UUID
    message_id: str = said("The same for every attempt and replay, so that the endpoint can ignore duplicates.")
    event_id: str
    source: str
    kind: str
    subject: str
    link: str
    state: str = said("pending, sent, failed or skipped.")
    attempt: int
    next_at: datetime | None = said(
        "Time of the next attempt; null while it is part of a digest and once it is sent, failed or skipped."
    )
    sent_at: datetime | None
    last_status: int | None = said("HTTP status of the last attempt; null if there was no response.")
    error_code: str
    last_error: str
    sequence: int | None = said("Sequence number without gaps per channel; null before the first attempt.")
    created_at: datetime


class TestOut(Answer):
    """Result of a test notification."""

    success: bool
    status: int | None = said("HTTP status; null if there was no response.")
    error_code: str
    message: str
    delivery_id: int


class RuleIn(Schema):
    digest: str = ""
    minimum: int = 1
    only_paths: list[str] = []
    skip_paths: list[str] = []
    quiet_from: time | None = None
    quiet_until: time | None = None


class RuleOut(Answer):
    """How notifications about one item are sent."""

    thread: str
    title: str = said("Name of the item.")
    digest: str = said("immediate, hourly, daily or weekly; empty: as the channel.")
    minimum: int = said("Fewer pages in one check are in the inbox only; fewer matches wait for others.")
    only_paths: list[str] = said("Patterns with a star; empty: every path.")
    skip_paths: list[str] = said("Patterns with a star; they win over only_paths.")
    quiet_from: time | None = said("Begin of the quiet hours in the time zone of the owner; null for none.")
    quiet_until: time | None = said("End of the quiet hours.")
    would_send: int = said("Messages that each channel would have got in the last 7 days.")


class ChannelPage(Listing[ChannelOut]):
    """Channels, newest first."""


class DeliveryPage(Mirrored[DeliveryOut]):
    """Deliveries, newest first."""


class DeliveryQuery(DaysQuery):
    q: str = ""
    channel_id: UUID | None = None
    state: str = ""
    source: str = ""


def channel_out(channel: NotificationChannel) -> dict[str, Any]:
    return {name: getattr(channel, name) for name in ChannelOut.model_fields}


def delivery_out(delivery: Delivery) -> dict[str, Any]:
    own = {name: getattr(delivery, name) for name in DeliveryOut.model_fields if name != "message_id"}
    return own | {"message_id": message_id(delivery.event_id, delivery.channel_id)}


def _own(request: HttpRequest, channel_id: UUID) -> NotificationChannel:
    return get_object_or_404(NotificationChannel.objects.of(person_of(request)).select_related("user"), pk=channel_id)


def _refused(error: BadConfig) -> Invalid:
    inside = error.field not in ChannelIn.model_fields
    return Invalid(details=[{"field": f"config.{error.field}" if inside else error.field, "message": error.message}])


@router.get("/channels", response=ChannelPage)
def list_channels(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """List your channels. Secrets are never returned."""
    return keyset(NotificationChannel.objects.of(person_of(request)), page, by="-created_at", make=channel_out)


@router.post("/channels", response={201: ChannelMade})
def create_channel(request: HttpRequest, given: ChannelIn) -> Any:
    """Create a channel."""
    choices = given.dict(include={"is_active", "digest", "quiet_from", "quiet_until", "alert_level"})
    try:
        saved = actions.create(
            person_of(request),
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
    """Get one of your channels."""
    return channel_out(_own(request, channel_id))


@router.patch("/channels/{channel_id}", response=ChannelOut)
def change_channel(request: HttpRequest, channel_id: UUID, given: ChannelPatch) -> Any:
    """Change the given fields of a channel."""
    may_be_null = ("quiet_from", "quiet_until")
    chosen = given.dict(exclude_unset=True).items()
    choices = {name: value for name, value in chosen if value is not None or name in may_be_null}
    config = choices.pop("config", None)
    try:
        saved = actions.update(_own(request, channel_id), given=config, **choices)
    except BadConfig as error:
        raise _refused(error) from None
    return channel_out(saved.channel)


@router.delete("/channels/{channel_id}", response={204: None})
def delete_channel(request: HttpRequest, channel_id: UUID) -> Any:
    """Delete a channel."""
    actions.delete(_own(request, channel_id))
    return Status(204, None)


@router.post("/channels/{channel_id}/test", response=TestOut)
def test_channel(request: HttpRequest, channel_id: UUID) -> Any:
    """Send a test notification now and return the result."""
    try:
        tried = actions.send_test(_own(request, channel_id))
    except TooManyTests as error:
        raise TooMany(error.message, headers={"Retry-After": str(actions.TEST_SECONDS)}) from None
    return {
        "success": tried.state == State.SENT,
        "status": tried.last_status,
        "error_code": tried.error_code,
        "message": explain(tried.error_code, tried.last_status, tried.last_error),
        "delivery_id": tried.pk,
    }


@router.post("/channels/{channel_id}/secret", response=ChannelMade, openapi_extra=refuses(409))
def rotate_secret(request: HttpRequest, channel_id: UUID) -> Any:
    """Create a new signing secret. For 24 hours, messages are also signed with the old one."""
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
    """List the deliveries of your channels, newest first, with the filters of the page."""
    person = person_of(request)
    return listed(request, filters.log_of(person), filters.deliveries(person), page, make=delivery_out)


@router.post("/deliveries/{delivery_id}/replay", response=DeliveryOut, openapi_extra=refuses(409))
def replay(request: HttpRequest, delivery_id: int) -> Any:
    """Resend a notification with the same ID."""
    rows = Delivery.objects.seen_by(person_of(request)).filter(channel__account_slot=None)
    delivery = get_object_or_404(rows.select_related("channel__user"), pk=delivery_id)
    try:
        return delivery_out(actions.replay(delivery))
    except NotReplayable as error:
        raise Conflict(error.message, code=error.code) from None


def _subject(request: HttpRequest, thread: str) -> rules.Subject:
    found = rules.subject_of(thread, person_of(request))
    if found is None:
        raise Http404
    return found


def _rule_out(request: HttpRequest, subject: rules.Subject) -> dict[str, Any]:
    rule = rules.rule_of(subject.thread)
    own = {"thread": subject.thread, "title": subject.title, "digest": rule.digest, "minimum": rule.minimum}
    times = {"quiet_from": rule.quiet and rule.quiet.start, "quiet_until": rule.quiet and rule.quiet.until}
    paths = {"only_paths": list(rule.only_paths), "skip_paths": list(rule.skip_paths)}
    return own | paths | times | {"would_send": rules.preview(subject, rule, person_of(request))}


@router.get("/notification-rules/{thread}", response=RuleOut)
def get_rule(request: HttpRequest, thread: str) -> Any:
    """Get the rule of one of your items, for example saved-search:ID."""
    return _rule_out(request, _subject(request, thread))


@router.put("/notification-rules/{thread}", response=RuleOut)
def set_rule(request: HttpRequest, thread: str, given: RuleIn) -> Any:
    """Set how notifications about one of your items are sent."""
    subject = _subject(request, thread)
    _refuse_unused(subject, given)
    form = RuleForm(
        {
            **given.dict(exclude={"only_paths", "skip_paths"}),
            "only_paths": "\n".join(given.only_paths),
            "skip_paths": "\n".join(given.skip_paths),
        },
        subject=subject,
    )
    if not form.is_valid():
        raise Invalid(details=[{"field": name, "message": str(errors[0])} for name, errors in form.errors.items()])
    actions.set_rule(person_of(request), subject, form.rule())
    return _rule_out(request, subject)


def _refuse_unused(subject: rules.Subject, given: RuleIn) -> None:
    """Refuse what notifications about this item have no use for, instead of not storing it."""
    sent = [name for name in ("only_paths", "skip_paths") if getattr(given, name) and not subject.has_paths]
    if given.minimum != 1 and not subject.counted:
        sent.append("minimum")
    if sent:
        message = "notifications about this item have no paths and no counts to filter by"
        raise Invalid(details=[{"field": name, "message": message} for name in sent])
