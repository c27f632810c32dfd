"""What a user does with channels and deliveries; pages and API call the same functions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import time as dt_time
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import cut
from watchbook.core.accounts import access, audit
from watchbook.core.accounts.models import User
from watchbook.core.notify import channels, message, rules
from watchbook.core.notify.channels import (
    BadConfig,
    ChannelKind,
    Listed,
    NotReplayable,
    TooManyTests,
    Unreadable,
    email,
)
from watchbook.core.notify.channels.webhook import new_secret
from watchbook.core.notify.models import Attempt, Delivery, Digest, Level, NotificationChannel, State
from watchbook.core.notify.outbox import Notification, enqueue, result

NAME_LENGTH = 255
EDITED = (
    "name",
    "is_active",
    "digest",
    "quiet_from",
    "quiet_until",
    "alert_level",
    "disabled_reason",
    "config",
    "secret",
    "updated_at",
)
TESTS, TEST_SECONDS = 10, 600
LISTS = 30


@dataclass(frozen=True)
class Saved:
    """A saved channel; `secret` is the new signing secret, shown this one time."""

    channel: NotificationChannel
    secret: str = ""


def own_channels(user: User, ids: Iterable[UUID | str]) -> list[NotificationChannel]:
    """Return the user's channels with these ids. Ids of other users' channels count as unknown; all are named."""
    wanted = list(dict.fromkeys(map(str, ids)))
    known = {str(channel.pk): channel for channel in NotificationChannel.objects.of(user)}
    if missing := [one[:64] for one in wanted if one not in known]:
        raise InvalidInput("channel_ids", _("These channels do not exist: %(ids)s.") % {"ids": ", ".join(missing)})
    return [known[one] for one in wanted]


def list_values(
    user: User, kind: ChannelKind, given: Mapping[str, Any], channel: NotificationChannel | None
) -> list[Listed]:
    """Ask the service what it offers for the field of `kind` that it can list. Raises NotifyError."""
    if not access.allow_use("channel-values", str(user.pk), most=LISTS, seconds=TEST_SECONDS):
        raise TooManyTests(_("Too many requests. Try again in 10 minutes."))
    return kind.list_values(given, channels.read(channel) if channel else {})


@transaction.atomic
def create(user: User, *, name: str, channel_type: str, given: Mapping[str, Any], **choices: Any) -> Saved:
    checked = channels.check(channel_type, given)
    channel = NotificationChannel(user=user, channel_type=channel_type)
    _apply(channel, user, name=name, **choices)
    channels.write(channel, checked)
    channel.save(force_insert=True)
    audit.record("channel.added", actor=user, subject=channel.name, type=channel_type, id=channel.pk)
    was_made = channel.is_signed and not given.get("secret")
    return Saved(channel, checked["secrets"][0] if was_made else "")


@transaction.atomic
def update(channel: NotificationChannel, *, given: Mapping[str, Any] | None = None, **choices: Any) -> Saved:
    """Change what is given and keep the rest. Enabling a channel that Watchbook disabled resets its failures."""
    _hold(channel)
    before = (channel.digest, channel.quiet_from, channel.quiet_until)
    was_off = not channel.is_active
    if given is not None:
        channels.write(channel, channels.check(channel.channel_type, given, _known(channel)))
        _reset_failures(channel)
    _apply(channel, channel.user, **choices)
    if was_off and channel.is_active:
        _enable(channel)
    channel.updated_at = clock.now()
    channel.save(update_fields=[*EDITED, *result.RESET])
    if (channel.digest, channel.quiet_from, channel.quiet_until) != before:
        enqueue.reschedule(channel)
    audit.record("channel.changed", actor=channel.user, subject=channel.name, id=channel.pk)
    return Saved(channel)


def _hold(channel: NotificationChannel) -> None:
    """Lock the row and read it again: changes by another user or by the sender are kept."""
    channel.refresh_from_db(from_queryset=NotificationChannel.objects.select_for_update())


def _known(channel: NotificationChannel) -> dict[str, Any]:
    try:
        return channels.read(channel)
    except Unreadable:
        # The key is lost. What is given now has to be complete; nothing old is overwritten before that was checked.
        return {}


def _apply(channel: NotificationChannel, user: User, **choices: Any) -> None:
    if "name" in choices:
        channel.name = cut(" ".join(str(choices["name"]).split()), NAME_LENGTH)  # one line: mails contain it
        if not channel.name:
            raise BadConfig("name", _("Enter a name for the channel."))
    if "is_active" in choices:
        channel.is_active = bool(choices["is_active"])
    if "digest" in choices:
        if choices["digest"] not in Digest.values:
            raise BadConfig("digest", _("Choose Immediately, Hourly, Daily or Weekly."))
        channel.digest = choices["digest"]
    if "quiet_from" in choices or "quiet_until" in choices:
        channel.quiet_from, channel.quiet_until = _quiet(
            choices.get("quiet_from", channel.quiet_from), choices.get("quiet_until", channel.quiet_until)
        )
    if "alert_level" in choices:
        level = choices["alert_level"] or ""
        if level and (level not in Level.values or not user.is_staff):
            raise BadConfig("alert_level", _("Only operators can receive server alerts."))
        channel.alert_level = level


def _quiet(start: dt_time | None, end: dt_time | None) -> tuple[dt_time | None, dt_time | None]:
    try:
        rules.quiet_of(start, end)
    except ValueError:
        raise BadConfig("quiet_from", _("Enter both times of the quiet hours, or none.")) from None
    return start, end


def _enable(channel: NotificationChannel) -> None:
    is_own = channel.config.get("email") == channel.user.email
    if channel.disabled_reason == email.UNSUBSCRIBED and not is_own:
        raise BadConfig("is_active", _("The recipient unsubscribed. Only the link in the last e-mail can undo this."))
    channel.disabled_reason = ""
    _reset_failures(channel)


def _reset_failures(channel: NotificationChannel) -> None:
    for name, value in result.RESET.items():
        setattr(channel, name, value)


@transaction.atomic
def delete(channel: NotificationChannel) -> None:
    audit.record("channel.removed", actor=channel.user, subject=channel.name, id=channel.pk)
    channel.delete()


@transaction.atomic
def rotate_secret(channel: NotificationChannel) -> str:
    """Create a new signing secret. For 24 hours both sign, so that the endpoint can change over."""
    if not channel.is_signed:
        raise BadConfig("channel_type", _("Only webhooks are signed."))
    _hold(channel)
    fresh = new_secret()
    channels.write(channel, channels.check(channel.channel_type, {"secret": fresh}, channels.read(channel)))
    channel.updated_at = clock.now()
    channel.save(update_fields=["secret", "config", "updated_at"])
    audit.record("channel.secret_rotated", actor=channel.user, subject=channel.name, id=channel.pk)
    return fresh


def send_test(channel: NotificationChannel) -> Delivery:
    """Send a test notification now, once, and store the result."""
    if not access.allow_use("channel-test", str(channel.user_id), most=TESTS, seconds=TEST_SECONDS):
        raise TooManyTests(_("Too many tests. Try again in 10 minutes."))
    delivery = Delivery(
        channel=channel, state=State.PENDING, attempt=1, created_at=clock.now(), **_test_columns(channel)
    )
    began = time.monotonic()
    sent = channels.send(channel, message.message_of(delivery))
    duration_ms = int((time.monotonic() - began) * 1000)
    now = clock.now()
    delivery.state = State.SENT if sent.ok else State.FAILED
    delivery.sent_at = now if sent.ok else None
    delivery.last_status, delivery.last_body = sent.status, sent.body
    delivery.error_code, delivery.last_error = sent.code, sent.message
    with transaction.atomic():
        delivery.save(force_insert=True)
        Attempt.objects.create(
            delivery=delivery, number=1, at=delivery.created_at, duration_ms=duration_ms, succeeded=sent.ok,
            status=sent.status, error_code=sent.code, error=sent.message,
        )  # fmt: skip
        channel.last_test_at, channel.last_test_success = now, sent.ok
        NotificationChannel.objects.filter(pk=channel.pk).update(last_test_at=now, last_test_success=sent.ok)
    return delivery


def confirm_test(channel: NotificationChannel, *, has_arrived: bool) -> None:
    """Keep what the owner says about the last test: accepted by the service and arrived are two facts."""
    channel.arrived_at = clock.now() if has_arrived else None
    NotificationChannel.objects.filter(pk=channel.pk).update(arrived_at=channel.arrived_at)


@transaction.atomic
def set_rule(user: User, subject: rules.Subject, rule: rules.Rule) -> None:
    """Keep the rule of an item and apply it to what is pending."""
    rules.store(subject.thread, rule)
    for channel in NotificationChannel.objects.filter(user=user, deliveries__reference=subject.thread).distinct():
        enqueue.reschedule(channel, subject.thread)
    audit.record("rule.changed", actor=user, subject=subject.title, thread=subject.thread)


def _test_columns(channel: NotificationChannel) -> dict[str, Any]:
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        text = _("This is a test of the channel %(name)s. If you can read this, the channel works.")
        notification = Notification(
            event_id=f"test:{uuid4()}",
            source="notify",
            kind="test",
            subject=_("Test from Watchbook"),
            text=text % {"name": channel.name},
            payload={"test": True},
            link=reverse("channel", args=[channel.pk]),
        )
    return notification.columns()


@transaction.atomic
def replay(delivery: Delivery) -> Delivery:
    """Resend it with the same ID and all attempts. A member of a digest is then sent separately."""
    decided = Delivery.objects.filter(pk=delivery.pk).exclude(state=State.PENDING).exclude(kind="test")
    changed = decided.update(
        state=State.PENDING, attempt=0, next_at=clock.now(), window_at=None, bundle=None, sent_at=None,
        error_code="", last_error="", last_status=None,
    )  # fmt: skip
    if not changed:
        raise NotReplayable(_("Only notifications that were sent, skipped or given up can be resent."))
    Delivery.objects.filter(bundle=delivery).exclude(state=State.PENDING).update(state=State.PENDING, sent_at=None)
    delivery.refresh_from_db()
    if delivery.payload.get("erased"):
        raise NotReplayable(_("The text of this notification was erased."))
    if not delivery.channel.is_active:
        raise NotReplayable(_("Enable the channel first."))
    # One attempt now; its result decides whether the channel works again.
    NotificationChannel.objects.filter(pk=delivery.channel_id).update(blocked_until=None)
    audit.record("delivery.replayed", actor=delivery.channel.user, subject=delivery.subject, id=delivery.pk)
    result.announce(delivery)
    return delivery


def replay_many(deliveries: Iterable[Delivery]) -> tuple[int, list[str]]:
    """Resend each delivery. Returns how many are pending now, and why others are not."""
    sent, refused = 0, []
    for delivery in deliveries:
        try:
            replay(delivery)
        except NotReplayable as error:
            refused.append(error.message)
        else:
            sent += 1
    return sent, refused
